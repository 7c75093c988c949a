"""The line above the panes: what is to be said of the exchange, and what it is doing now."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from workbench.ui.display import content

_COLOURS = {"error": "$text-error", "warning": "$text-warning", "good": "$text-success", "info": "$text"}
_SIGNS = {"error": "✖", "warning": "▲", "good": "✔", "info": "●", "running": "◌"}


class VerdictBar(Static):
    """Two lines: the verdict, and numbers."""

    def __init__(self) -> None:
        super().__init__(id="verdict", markup=False)

    def say(self, level: str, sentence: str, facts: str, alarm: str = "") -> None:
        """`alarm` is for what needs attention now: text that is held back, a view that is paused."""
        first = content(f"{_SIGNS.get(level, '●')} {sentence}").stylize(_COLOURS.get(level, "$text"))
        first = first.stylize("bold")
        second = content(facts).stylize("$text-muted")
        if alarm:
            second = Content.assemble(content(alarm).stylize("bold $text-warning"), "  ", second)
        # Its height is fixed: no reason to lay out the whole screen anew, twenty times a second.
        self.update(Content("\n").join([first, second]), layout=False)
