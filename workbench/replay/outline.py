"""The lines of an alignment that are shown: all, or some kinds only; long runs of prose and data folded.

The first level of a run and its last ones stay visible; those between them are one line with a count. So a
growing stream is seen to grow, and the parser's moves are close together, however much text there is.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate
from operator import sub
from typing import NamedTuple

from workbench.errors import UserError
from workbench.replay.alignment import ALONE, EMPTY, SILENT, Alignment, Kind
from workbench.replay.player import Pane

_LAST = 2  # levels at the end of a run that are never folded: new text is seen
_FEWEST = 6  # fewest lines that are worth a fold
_NAMES = {
    "read": Kind.READ, "transition": Kind.TRANSITION, "markup": Kind.MARKUP, "prose": Kind.PROSE,
    "data": Kind.DATA, "held": Kind.HELD, "call": Kind.CALL, "delta": Kind.DELTA, "finding": Kind.FINDING,
    "tape": Kind.TAPE,
}  # fmt: skip
_SHOWN = 40  # characters of a word that is not understood
_DIGITS = 9
# A line with one of these says more than the prose or the data beside it.
_NOTABLE = Kind.TRANSITION | Kind.MARKUP | Kind.CALL | Kind.FINDING | Kind.TAPE


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which lines are wanted: of these kinds, not of those, of one call; and the words that say so."""

    wanted: int
    unwanted: int
    call: int | None
    text: str

    def takes(self, alignment: Alignment, line: int) -> bool:
        kind = alignment.kinds[line]
        if self.wanted and not kind & self.wanted:
            return False
        if kind & self.unwanted and not kind & _NOTABLE & ~self.unwanted:
            return False
        return self.call is None or self._belongs(alignment, line)

    def _belongs(self, alignment: Alignment, line: int) -> bool:
        if alignment.calls[line] != EMPTY:
            return alignment.calls[line] == self.call
        row, player = alignment.cells[Pane.UPSTREAM][line], alignment.player
        item = player.item(Pane.UPSTREAM, row) if row >= 0 else None
        if not isinstance(item, int):
            return False
        start, end = alignment.range_of(line)
        events = (event for event in player.events_in(item) if start < event.end and event.start < end)
        return any(player.call_of(event.number) == self.call for event in events)


def parse_filter(text: str) -> RowFilter | None:
    """`transitions findings call:2 -prose`; None: everything is wanted. UserError: it makes no sense."""
    wanted = unwanted = 0
    call = None
    for word in text.lower().replace(",", " ").split():
        name, _, number = word.partition(":")
        if name == "call" and number:
            if not (number.isdecimal() and number.isascii() and 0 < len(number) <= _DIGITS and int(number)):
                raise UserError(
                    f"call:{number[:_SHOWN]} is not a call: they are counted from 1, as in call:2"
                )
            call = int(number) - 1
            continue
        kind = _kind(word.removeprefix("-"))
        if kind is None:
            raise UserError(
                f"{word[:_SHOWN]!r} is not a kind of row; there are {', '.join(_NAMES)} and call:2"
            )
        if word.startswith("-"):
            unwanted |= kind
        else:
            wanted |= kind
    if not wanted and not unwanted and call is None:
        return None
    return RowFilter(wanted, unwanted, call, " ".join(text.split()))


def _kind(word: str) -> Kind | None:
    """The kind of a name, also in the plural, or of its prefix."""
    found = [kind for name, kind in _NAMES.items() if len(word) > 1 and f"{name}s".startswith(word)]
    return found[0] if len(found) == 1 else None


class Entry(NamedTuple):
    """What one line of the screen shows: the lines from `start` on, before `end`. More than one is a fold."""

    start: int
    end: int

    @property
    def folded(self) -> bool:
        return self.end - self.start > 1


class Outline:
    """`pane`: only lines on which that one has a row; `wanted`: only lines that pass the filter."""

    def __init__(
        self,
        alignment: Alignment,
        *,
        pane: Pane | None = None,
        wanted: RowFilter | None = None,
        folds: bool = True,
        opened: frozenset[int] = frozenset(),
    ) -> None:
        """`opened` are first lines of runs that are not folded."""
        self.alignment = alignment
        self.pane = pane
        self.wanted = wanted
        self.folds = folds
        self.opened = opened
        self.version = 0  # changes when lines were added or changed
        # The numbers of the lines that are shown; None: of all. Places below are positions in this array.
        self._lines: array[int] | None = None if pane is None and wanted is None else array("q")
        self._known = 0  # lines of levels that do not change any more
        self._known_places = 0
        self._levels = 0  # of those
        self._seen = -1
        self._starts, self._ends = array("q"), array("q")  # of the folds
        self._run = ALONE
        self._run_line = 0  # the first line of the run that is not over
        self._first = 0  # where its second level begins
        self._places: list[int] = []  # where its last levels begin

    # -- more lines

    def catch_up(self) -> None:
        """Look at the lines that came since. The last level may still change: it is never folded."""
        alignment = self.alignment
        levels = alignment.levels
        if self._seen == alignment.known and self._known_places <= len(self):
            return
        self._seen = alignment.known
        self.version += 1
        if self._lines is not None:
            del self._lines[self._known_places :]
        for number in range(self._levels, len(levels) - 1):
            start, end = levels[number], levels[number + 1]
            place = self._known_places
            self._known_places = place + self._take(start, end)
            if self._known_places > place:
                self._go_on(alignment.runs[number], place, start)
            self._known = end
        self._levels = max(self._levels, len(levels) - 1)
        self._take(self._known, len(alignment))

    def _take(self, start: int, end: int) -> int:
        """Add the wanted lines of a level; returns how many."""
        lines = self._lines
        if lines is None:
            return end - start
        taken = [line for line in range(start, end) if self._takes(line)]
        # The cause of a line is shown with it.
        if taken and taken[0] > start and self._has_row(start):
            taken.insert(0, start)
        lines.extend(taken)
        return len(taken)

    def _takes(self, line: int) -> bool:
        return self._has_row(line) and (self.wanted is None or self.wanted.takes(self.alignment, line))

    def _has_row(self, line: int) -> bool:
        return self.pane is None or self.alignment.cells[self.pane][line] >= 0

    def _go_on(self, run: int, place: int, line: int) -> None:
        """A level whose first line has this place: it goes on with the run, or ends it."""
        if self._goes_on(run):
            self._run = max(self._run, run)
            if self._first == EMPTY:
                self._first = place
            self._places = [*self._places[1 - _LAST :], place]
            return
        fold = self._fold_of_run(self._places)
        if fold is not None:
            self._starts.append(fold[0])
            self._ends.append(fold[1])
        self._run, self._run_line, self._first, self._places = run, line, EMPTY, [place]

    def _goes_on(self, run: int) -> bool:
        """Whether a level belongs to the run before it. One that leads to nothing belongs to any."""
        return ALONE not in (run, self._run) and (run in (self._run, SILENT) or self._run == SILENT)

    def _fold_of_run(self, places: list[int]) -> tuple[int, int] | None:
        """The fold of the current run, if these are the places of its last levels."""
        if not self.folds or self._run == ALONE or self._first == EMPTY or self._run_line in self.opened:
            return None
        end = places[-_LAST] if len(places) >= _LAST else self._first
        return (self._first, end) if end - self._first >= _FEWEST else None

    def _fold_at_end(self) -> tuple[int, int] | None:
        """The same of a run that may go on with the last level."""
        runs = self.alignment.runs
        more = self._known_places < len(self) and bool(runs) and self._goes_on(runs[-1])
        return self._fold_of_run([*self._places, self._known_places] if more else self._places)

    # -- places

    def __len__(self) -> int:
        return len(self.alignment) if self._lines is None else len(self._lines)

    def line_at(self, place: int) -> int:
        return place if self._lines is None else self._lines[place]

    def place_of(self, line: int) -> int:
        """Of a line, or of the next one that is shown."""
        return line if self._lines is None else bisect_left(self._lines, line)

    def run_of(self, line: int) -> int | None:
        """The first line of the run that a line belongs to; None: it is not a part of one."""
        alignment = self.alignment
        number = bisect_right(alignment.levels, line) - 1
        run, first = ALONE, None
        # Silent levels belong to the run before them: it is found from its beginning.
        at = number
        while at >= 0 and alignment.runs[at] != ALONE:
            if run in (ALONE, SILENT):
                run = alignment.runs[at]
            elif alignment.runs[at] not in (run, SILENT):
                break
            first = alignment.levels[at]
            at -= 1
        return first

    def shown(self, lines: int, selected: int | None) -> Shown:
        """What is visible when this many lines are known; a selected line is never inside a fold."""
        return Shown(self, lines, selected)

    def folds_upto(self, count: int) -> tuple[array[int], array[int]]:
        """The folds when this many places are known: their starts and their ends."""
        number = bisect_left(self._starts, count)
        starts, ends = self._starts[:number], self._ends[:number]
        if number == len(self._starts) and (fold := self._fold_at_end()) is not None:
            starts.append(fold[0])
            ends.append(fold[1])
        if starts:
            end = min(ends[-1], self._before_last(count))
            if end - starts[-1] < _FEWEST:
                del starts[-1], ends[-1]
            else:
                ends[-1] = end
        return starts, ends

    def _before_last(self, count: int) -> int:
        """The place of the last levels that are known."""
        if not count:
            return 0
        levels = self.alignment.levels
        number = bisect_right(levels, self.line_at(count - 1))
        return self.place_of(levels[max(0, number - _LAST)])


class Shown:
    """The lines of an outline as they are on the screen at one moment, in order: `entry(0)` is the first."""

    def __init__(self, outline: Outline, lines: int, selected: int | None) -> None:
        self.outline = outline
        self._count = outline.place_of(min(lines, len(outline.alignment)))
        self._starts, self._ends = outline.folds_upto(self._count)
        if selected is not None:
            self._open(selected)
        self._hidden = array("q", accumulate(size - 1 for size in map(sub, self._ends, self._starts)))

    def _open(self, line: int) -> None:
        """The level of a selected line must not vanish in a fold: the fold becomes two, before it and after
        it."""
        place = self.outline.place_of(line)
        at = bisect_right(self._starts, place) - 1
        if at < 0 or place >= self._ends[at]:
            return
        first, last = (self.outline.place_of(one) for one in self.outline.alignment.level_of(line))
        start, end = self._starts[at], self._ends[at]
        pieces = [piece for piece in ((start, first), (last, end)) if piece[1] - piece[0] >= _FEWEST]
        self._starts[at : at + 1] = array("q", [piece[0] for piece in pieces])
        self._ends[at : at + 1] = array("q", [piece[1] for piece in pieces])

    def __len__(self) -> int:
        return self._count - (self._hidden[-1] if self._hidden else 0)

    def entry(self, number: int) -> Entry:
        at = bisect_right(range(len(self._starts)), number, key=self._number_of) - 1
        line_at = self.outline.line_at
        if at >= 0 and self._number_of(at) == number:
            return Entry(line_at(self._starts[at]), line_at(self._ends[at] - 1) + 1)
        line = line_at(number + (self._hidden[at] if at >= 0 else 0))
        return Entry(line, line + 1)

    def number_of(self, line: int) -> int:
        """The number of the entry with a line; of the next one if the line is not shown."""
        place = self.outline.place_of(line)
        at = bisect_right(self._starts, place) - 1
        if at >= 0 and place < self._ends[at]:
            return self._number_of(at)
        return place - (self._hidden[at] if at >= 0 else 0)

    def _number_of(self, fold: int) -> int:
        return self._starts[fold] - (self._hidden[fold - 1] if fold else 0)
