"""The comparison of two exchanges: prompt, message, calls and rows, opened where they first differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from workbench.analysis.compare import Aligned, Comparison, Section, compare
from workbench.replay.player import Player
from workbench.ui.background import in_background
from workbench.ui.display import content, sign_of
from workbench.ui.screens.view import ViewScreen, pane_bindings
from workbench.ui.widgets.diffview import Difference, Pair, folded
from workbench.ui.widgets.document import FactSheet
from workbench.ui.widgets.textpane import TextPane

_NAMES = ("Prompt", "Message", "Calls", "Machine", "Client")


class CompareScreen(ViewScreen[None]):
    """Opens the part in which the two differ first."""

    TITLE = "two exchanges"
    HELP = (
        "Left one exchange, right the other: what the model was asked, what it answered, the calls, how the "
        "parser moved, what the client got. − is only on the left, + only on the right. The part in which "
        "they differ first is the one that is opened."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "fold", "Fold equal", id="compare.fold", tooltip="Show only what differs, or all lines"),
        *pane_bindings(*_NAMES),
    ]

    def __init__(self, left: Player, right: Player, titles: Sequence[str]) -> None:
        super().__init__()
        self.left, self.right = left, right
        self.titles = tuple(titles)
        self.comparison: Comparison | None = None
        self.folds = True
        self.panes = tuple(TextPane(name, id=f"compare-{name.lower()}") for name in _NAMES)

    def compose_body(self) -> ComposeResult:
        with Container(id="view-body"):
            yield from self.panes

    def begin(self) -> None:
        self.say("comparing …")
        in_background(self, lambda: compare(self.left, self.right), self._fill)

    def _fill(self, found: Comparison) -> None:
        self.comparison = found
        told = [
            f"{sign} {title}: {sign_of(judged.level)} {judged.sentence}"
            for sign, title, judged in zip("−+", self.titles, found.verdicts, strict=True)
        ]
        self.say(found.sentence, "   ".join(told), "good" if found.first is None else "")
        self._show()
        if found.first is not None:
            self.action_pane(found.first[0])

    def _show(self) -> None:
        if self.comparison is None:
            return
        for pane, section in zip(self.panes, self.comparison.sections, strict=True):
            self._show_section(pane, section)

    def _show_section(self, pane: TextPane, section: Section) -> None:
        if not section.lines:
            pane.show_document(FactSheet().paragraph("On neither side there is anything.", "dim"))
            return
        lines = [_pair(line) for line in section.lines]
        pane.show_document(Difference(folded(lines) if self.folds and not section.same else lines))
        pane.border_title = content(
            "the same on both sides" if section.same else f"{self.titles[0]} − │ + {self.titles[1]}"
        )

    def action_fold(self) -> None:
        self.folds = not self.folds
        self._show()


def _pair(line: Aligned) -> Pair:
    return Pair(line.kind, line.left, line.right)
