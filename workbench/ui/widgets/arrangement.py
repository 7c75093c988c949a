"""How the rows of an exchange are laid out: side by side or each pane alone, folded, filtered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from textual.app import App

from workbench.replay.alignment import Alignment
from workbench.replay.outline import Outline, RowFilter, parse_filter
from workbench.replay.player import Pane
from workbench.ui.widgets.tapepane import LineScroll, TapePane


@dataclass(slots=True)
class LayoutChoices:
    """The user's choices, while the program runs."""

    aligned: bool = True
    folds: bool = True


_LAYOUTS: WeakKeyDictionary[App[Any], LayoutChoices] = WeakKeyDictionary()


def layout_of(app: App[Any]) -> LayoutChoices:
    """Those that all screens of an application share."""
    return _LAYOUTS.setdefault(app, LayoutChoices())


class Arrangement:
    """Gives the panes of a view their lines."""

    def __init__(self, panes: Sequence[TapePane]) -> None:
        self.panes = panes
        self.choices = LayoutChoices()
        self.wanted: RowFilter | None = None
        self.alignment: Alignment | None = None
        self._opened: frozenset[int] = frozenset()  # the first lines of the runs that the user unfolded
        self._together = LineScroll(*panes)
        self._made: tuple[object, ...] = ()

    def use(self, choices: LayoutChoices) -> None:
        self.choices = choices
        self.check()

    @property
    def aligned(self) -> bool:
        """A pane that fills the screen has nothing beside it."""
        return self.choices.aligned and sum(pane.display for pane in self.panes) > 1

    # -- a tape

    def show(self, alignment: Alignment | None) -> None:
        """The lines of another tape."""
        if alignment is not self.alignment:
            self.alignment, self._opened = alignment, frozenset()
            for pane in self.panes:
                pane.scroll.line, pane.scroll.on_fold, pane.scroll.top = -1, False, 0
            self.check()

    def catch_up(self) -> None:
        """Process new rows, so that there is little to do when they are drawn."""
        for outline in {id(one): one for one in self._outlines()}.values():
            outline.alignment.catch_up()
            outline.catch_up()

    def _outlines(self) -> list[Outline]:
        return [pane.scroll.outline for pane in self.panes if pane.scroll.outline is not None]

    def check(self) -> None:
        """Rebuild the lines if they are to change."""
        aligned = self.aligned
        made = (self.alignment, aligned, self.choices.folds, self.wanted, self._opened)
        if made != self._made:
            self._made = made
            self._make(aligned)

    def _make(self, aligned: bool) -> None:
        lines = [(pane, self._selected_line(pane), pane.scroll) for pane in self.panes]
        focused = next((one for one in lines if one[0].has_focus), lines[Pane.MACHINE])
        follow, on_fold = focused[0].follow, focused[2].on_fold
        if aligned:
            self._together.show(self._outline(None))
        for pane, line, before in lines:
            scroll = self._together if aligned else LineScroll(pane)
            if not aligned:
                scroll.show(self._outline(pane.PANE))
                self._select(scroll, line, pane.follow, before.on_fold)
            pane.scroll = scroll
            self._stand(pane, scroll)
        if aligned:
            self._together.top = focused[2].top
            self._select(self._together, focused[1], follow, on_fold)
        for pane in self.panes:
            pane.show()

    def _stand(self, pane: TapePane, scroll: LineScroll) -> None:
        if scroll.line >= 0 and not scroll.shared:
            pane.stand_at(scroll.line, pane.follow)

    def _selected_line(self, pane: TapePane) -> int:
        """Of the row that is selected; not all panes have one on the line that goes through them."""
        alignment, row = self.alignment, pane.cursor
        if alignment is None or not 0 <= row < len(alignment.line_of[pane.PANE]):
            return -1
        line = pane.scroll.line
        return line if 0 <= line < len(alignment) and pane.has_focus else alignment.line_of[pane.PANE][row]

    def _select(self, scroll: LineScroll, line: int, follow: bool, on_fold: bool) -> None:
        """The same line as before; where it is not shown any more, the one after it."""
        shown = scroll.shown
        if line < 0 or shown is None or not len(shown):
            return
        scroll.line, scroll.on_fold = line, False
        entry = shown.entry(min(shown.number_of(line), len(shown) - 1))
        if not entry.start <= line < entry.end:
            line = entry.start
        scroll.select(line, follow=follow, on_fold=on_fold and entry.folded)

    def _outline(self, pane: Pane | None) -> Outline | None:
        if self.alignment is None:
            return None
        return Outline(
            self.alignment, pane=pane, wanted=self.wanted, folds=self.choices.folds, opened=self._opened
        )

    # -- what the user wants

    def align(self) -> bool:
        """Toggle side by side; returns the new state."""
        self.choices.aligned = not self.choices.aligned
        self.check()
        return self.choices.aligned

    def fold_all(self) -> bool:
        """Toggle folding; returns the new state."""
        self.choices.folds = not self.choices.folds
        self._opened = frozenset()
        self.check()
        return self.choices.folds

    def fold_run(self, pane: TapePane) -> bool:
        """Unfold the run that is selected, or fold it again; False: this is not a part of one."""
        outline, line = pane.scroll.outline, pane.scroll.line
        run = outline.run_of(line) if outline is not None and line >= 0 else None
        if run is None:
            return False
        if not self.choices.folds:
            self.choices.folds = True
        self._opened = self._opened ^ {run}
        self.check()
        return True

    def filter_by(self, text: str) -> None:
        """UserError when it cannot be understood."""
        self.wanted = parse_filter(text)
        self.check()

    @property
    def words(self) -> str:
        """What is hidden, in a few words."""
        return f"only {self.wanted.text}" if self.wanted is not None else ""
