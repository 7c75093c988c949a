"""The help screen: what the keys do in the place where you are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from workbench.ui.screens.view import ViewScreen
from workbench.ui.widgets.factsheet import FactSheet
from workbench.ui.widgets.textpane import TextPane

_PANES = (
    ("Upstream", "what the model's server sent, read by read, exactly as it came"),
    ("Machine", "how the parser moved: state → state, the rule, the text that caused it; and findings"),
    ("Client", "what the client got: text, calls, arguments, the end"),
)
_TOGETHER = (
    "The three move together: the row you select lights up the rows and the very characters of the others "
    "that it comes from or led to."
)
_SIGNS = (
    ("✖ ▲ ●", "an error, a warning, something to know"),
    ("✔ ◌", "all went well; still running"),
    ("1▌", "belongs to call 1: its colour and number run through all panes"),
    ("+12 held", "12 characters are held back, because it is not decided yet what they are"),
    ("↵ ⇥ ␍", "a line feed, a tab, a carriage return in the text"),
    ("\\x1b", "in reverse: a character that would steer the terminal, shown instead of obeyed"),
    ("♥", "a comment to the client, so that it keeps waiting while upstream is silent"),
    ("[3c 70]", "in a dump: the bytes that the selected row comes from"),
)


class HelpScreen(ViewScreen[None]):
    """Made from the bindings that are active on the screen below, so it cannot say anything else."""

    def __init__(self, below: Screen[Any]) -> None:
        super().__init__()
        self.below = below
        self.sheet = sheet_of(below)
        self.text = TextPane("Help", id="help")
        self.panes = (self.text,)

    def begin(self) -> None:
        self.text.show_document(self.sheet)
        self.say(f"help: {_place(self.below)}", "escape goes back")

    def action_help(self) -> None:
        self.action_back()


def sheet_of(screen: Screen[Any]) -> FactSheet:
    sheet = FactSheet()
    about = getattr(screen, "HELP", "")
    if about:
        sheet.heading("What you see").paragraph(about)
    for heading, keys in groups(screen):
        sheet.heading(heading)
        for key, said in keys:
            sheet.fact(key, said)
    sheet.heading("The three panes")
    for name, said in _PANES:
        sheet.fact(name, said)
    sheet.paragraph(_TOGETHER)
    sheet.heading("Signs")
    for sign, said in _SIGNS:
        sheet.fact(sign, said)
    return sheet


def groups(screen: Screen[Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The active bindings by where they come from, the nearest first; one line for all keys of an action."""
    found: dict[DOMNode, dict[str, tuple[list[str], Binding]]] = {}
    for active in screen.active_bindings.values():
        actions = found.setdefault(active.node, {})
        keys, _ = actions.setdefault(active.binding.action, ([], active.binding))
        keys.append(screen.app.get_key_display(active.binding))
    for node, actions in found.items():
        lines = [
            (" ".join(dict.fromkeys(keys)), _said(binding))
            for keys, binding in actions.values()
            if not binding.system and _said(binding)
        ]
        if lines:
            yield _heading(node), lines


def _said(binding: Binding) -> str:
    name, tip = binding.description, binding.tooltip
    return f"{name}: {tip}" if name and tip and name != tip else name or tip


def _heading(node: DOMNode) -> str:
    if isinstance(node, App):
        return "Keys everywhere"
    if isinstance(node, Screen):
        return "Keys of this screen"
    title = (getattr(node, "NAME", "") or node.border_title) if isinstance(node, Widget) else None
    return f"Keys in the part “{title}”" if title else "Keys in this part"


def _place(screen: Screen[Any]) -> str:
    return screen.title or type(screen).__name__.removesuffix("Screen").lower()
