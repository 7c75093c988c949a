"""The list of what can be replayed: by folder, each with its sign, its name, what is in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby

from rich.style import Style
from textual.strip import Strip

from workbench.sources.opening import Opening
from workbench.ui.display import strip_of
from workbench.ui.widgets.groupedpane import GroupedPane
from workbench.ui.widgets.rowpane import RowPane
from workbench.verdicts.kinds import SIGNS

UNKNOWN = "·"  # nobody has looked into it yet
PROBLEMS = ("error", "warning")
_NAMED = "files"  # the group of what was named on its own
_LONGEST_NAME = 34


class OpeningList(GroupedPane):
    """A row is the name of a folder, or the number of an opening."""

    def __init__(self, openings: Sequence[Opening]) -> None:
        super().__init__(id="openings")
        self.openings = openings
        self.entries: list[str | int] = []
        self.set_reactive(RowPane.follow, False)
        self._names = min(_LONGEST_NAME, max((len(one.title) for one in openings), default=0))
        self._levels: dict[int, str] = {}  # as they are counted
        self._tallies: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def show_numbers(self, numbers: Sequence[int], chosen: int | None = None) -> None:
        """These openings and no others. What is selected stays selected, as long as it is among them."""
        chosen = self.chosen if chosen is None else chosen
        entries: list[str | int] = []
        for folder, group in groupby(numbers, key=self._folder):
            entries += [folder, *group]
        self.entries = entries
        self.count_levels()
        at = entries.index(chosen) if chosen in entries else min(1, len(entries) - 1)
        moved = not entries or entries[at] != chosen
        self.set_reactive(RowPane.cursor, at)
        self.show()
        if moved:
            self.post_message(self.Moved(self, at))

    def count_levels(self) -> None:
        """How many of each there are, by folder, as far as that is known."""
        self._levels.clear()
        self._tallies.clear()
        for number in self.entries:
            if isinstance(number, int):
                self.count_level(number)

    def count_level(self, number: int) -> None:
        """One of them is known, or known better than before."""
        appraisal, counts = self.openings[number].appraisal, self._tallies[self._folder(number)]
        counts[self._levels.get(number, "")] -= number in self._levels
        self._levels[number] = level = appraisal.level if appraisal is not None else ""
        counts[level] += 1

    def _folder(self, number: int) -> str:
        return self.openings[number].folder or _NAMED

    @property
    def chosen(self) -> int | None:
        entry = self.entries[self.cursor] if 0 <= self.cursor < len(self.entries) else None
        return entry if isinstance(entry, int) else None

    def in_sight(self) -> list[int]:
        """The openings whose rows can be seen, the selected one first."""
        seen = [one for one in self.entries[self.top : self.top + self.size.height] if isinstance(one, int)]
        return seen if self.chosen is None else [self.chosen, *seen]

    def level(self, row: int) -> str:
        entry = self.entries[row]
        appraisal = self.openings[entry].appraisal if isinstance(entry, int) else None
        return appraisal.level if appraisal is not None else ""

    # -- rows

    def count(self) -> int:
        return len(self.entries)

    def is_heading(self, row: int) -> bool:
        return isinstance(self.entries[row], str)

    def draw(self, row: int, width: int) -> Strip:
        entry = self.entries[row]
        pieces = self._heading(entry) if isinstance(entry, str) else self._opening(row, entry, width)
        return strip_of(pieces, width, self.look("plain"))

    def _heading(self, folder: str) -> list[tuple[str, Style]]:
        counts = self._tallies[folder]
        pieces = [(f"─ {folder} ", self.look("strong")), (f"{counts.total()} ", self.look("dim"))]
        for level in PROBLEMS:
            if counts[level]:
                pieces.append((f" {SIGNS[level]} {counts[level]}", self.look(level)))
        return pieces

    def _opening(self, row: int, number: int, width: int) -> list[tuple[str, Style]]:
        opening, level = self.openings[number], self.level(row)
        room = max(8, min(self._names, 2 * width // 5))
        title = opening.title if len(opening.title) <= room else f"{opening.title[: room - 1]}…"
        looks = (*PROBLEMS, "good", "info")
        sign = SIGNS.get(level, "✖" if opening.problem else UNKNOWN)
        return [
            (f" {sign} ", self.look(level if level in looks else "error" if opening.problem else "dim")),
            (f"{title:{room}}  ", self.look("bright")),
            (opening.about, self.look("dim")),
        ]

    def text(self, row: int) -> str:
        entry = self.entries[row]
        return (
            entry if isinstance(entry, str) else f"{self.openings[entry].title}: {self.openings[entry].about}"
        )
