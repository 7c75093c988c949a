"""Cause beside effect: the rows of the three panes on common lines.

A *level* is what happened because of one read, or of one event where a read brought several: what came, the
parser's moves and findings beside it, what the client got beside those. It is as high as the longest of its
three columns; the others have empty cells there. A delta is beside the last move that led to it, or lower.

Lines are only ever added. What was known at a step is a part of them whose cells never move, so going back
costs the same as going on.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from enum import IntFlag, auto

from transformer.records import Delta, Effect, Event, Finding, Span, Transition
from workbench.replay.player import Item, Pane, Player
from workbench.replay.rowindex import RowIndex
from workbench.tape.format import Line

EMPTY = -1  # a cell without a row; a line without an event, or without a call
REST = -2  # instead of an event: the bytes of a read after its last whole event
_UPSTREAM, _MACHINE, _CLIENT = map(int, Pane)
_REACH = 64  # moves of a level that are searched for the cause of a delta


class Kind(IntFlag):
    """What is on a line; lines store it as a plain number, since flags are slow."""

    READ = auto()
    TRANSITION = auto()  # the parser changed its state
    MARKUP = auto()
    PROSE = auto()
    DATA = auto()
    HELD = auto()
    CALL = auto()  # a call began, got its name or was completed
    DELTA = auto()
    FINDING = auto()
    TAPE = auto()  # a line of the tape itself: a status, a heartbeat, the end


# Runs: 0 is never folded, 1 leads to nothing. Levels of the same number can be folded together.
ALONE, SILENT = 0, 1
_CONTENT, _REASONING, _OTHER, _BYTES, _CALLS = range(2, 7)
_CHOICE = 1 << 20
_QUIET = Effect.PROSE | Effect.ARGUMENT | Effect.HELD
_CALL = Effect.BEGINS | Effect.NAMES | Effect.COMPLETES | Effect.CUTS | Effect.GIVES_UP
_KINDS_OF_EFFECTS = (
    (Effect.PROSE, Kind.PROSE),
    (Effect.ARGUMENT, Kind.DATA),
    (Effect.HELD, Kind.HELD),
    (Effect.MARKUP, Kind.MARKUP),
    (_CALL, Kind.CALL),
)
_READ, _TRANSITION, _FINDING, _TAPE = map(int, (Kind.READ, Kind.TRANSITION, Kind.FINDING, Kind.TAPE))
_PROSE, _DATA, _DELTA = map(int, (Kind.PROSE, Kind.DATA, Kind.DELTA))
_DELTA_PROSE, _DELTA_DATA, _DELTA_CALL = _DELTA | _PROSE, _DELTA | _DATA, _DELTA | int(Kind.CALL)


class Alignment(RowIndex):
    """`cells` are, for each pane, the row on each line; `line_of` is, for each pane, the line of each row."""

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self.cells = (array("q"), array("q"), array("q"))
        self.line_of = (array("q"), array("q"), array("q"))
        self.events = array("q")  # of each line: the event there, if a read has several
        self.kinds = array("q")  # of each line
        self.calls = array("q")  # of each line: a call that its moves or deltas belong to
        self.levels = array("q")  # the first line of each
        self.runs = array("q")  # of each level: which others it can be folded with
        self._ends = array("q")  # of each row of upstream: the line after its last one
        self._free = [0, 0, 0]  # of each pane: the first line of the level that has room
        self._causes: list[tuple[Span, int]] = []  # the moves of the level, and their lines
        self._caused = 0  # of those, how many led to deltas before
        self._event = 0  # the next one that has no line
        self._parts: list[int] = []  # events of the read that have no line yet, the next one last
        self._worked = EMPTY  # the last step of the work on that read
        self._effects: dict[Effect, tuple[int, bool]] = {}  # kinds; whether it can be folded

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self.kinds)

    # -- what was known

    def catch_up_to(self, step: int) -> None:
        """Look at the rows up to a step, and at those that come from the same read."""
        last = min(self.player.worked_after(step), self.player.steps - 1)
        if self.known <= last:
            self.catch_up(last + 1 - self.known)

    def lines_at(self, upstream: int, machine: int, client: int) -> int:
        """How many lines there are when each pane has this many rows."""
        ends = self._ends
        lines = ends[min(upstream, len(ends)) - 1] if upstream and ends else 0
        for pane, count in ((_MACHINE, machine), (_CLIENT, client)):
            places = self.line_of[pane]
            if count and places:
                lines = max(lines, places[min(count, len(places)) - 1] + 1)
        return lines

    def level_of(self, line: int) -> tuple[int, int]:
        """The first line of a line's level, and the one after its last."""
        number = bisect_right(self.levels, line)
        first = self.levels[number - 1] if number else 0
        return first, self.levels[number] if number < len(self.levels) else len(self)

    def rows_in(self, pane: Pane, start: int, end: int) -> tuple[int, int]:
        """The rows of a pane that begin on these lines: the first, and the one after the last."""
        places = self.line_of[pane]
        return bisect_left(places, start), bisect_left(places, end)

    def row_by(self, pane: Pane, line: int, count: int) -> int:
        """The row of a pane on a line, or else the last one before it; `count`: how many are known."""
        row = self.cells[pane][line] if 0 <= line < len(self) else EMPTY
        if 0 <= row < count:
            return row
        return min(bisect_right(self.line_of[pane], line), count) - 1

    def range_of(self, line: int) -> tuple[int, int]:
        """The bytes of upstream on a line."""
        player = self.player
        row, number = self.cells[_UPSTREAM][line], self.events[line]
        ref = player.panes[_UPSTREAM].refs[row] if row >= 0 else EMPTY
        if ref < 0:
            return 0, 0
        start, end = player.starts[ref], player.read_end(ref)
        if number == EMPTY:
            return start, end
        if line > self.line_of[_UPSTREAM][row]:
            start = self._end_before(line, start)
        event = player.event(number)
        return start, end if event is None else max(start, event.end)

    def _end_before(self, line: int, start: int) -> int:
        """Where the event before a line ends; between the two there may be lines without one."""
        while line > 0:
            line -= 1
            event = self.player.event(self.events[line])
            if event is not None:
                return max(start, event.end)
        return start

    # -- more rows

    def _look(self, step: int, item: Item) -> None:
        pane = self.player.panes_of_steps[step]
        if pane == _UPSTREAM:
            self._place_rest()
            self._add_upstream(step, item)
        else:
            self._add_effect(pane, item)
        if step == self._worked:
            self._place_rest()

    def _add_upstream(self, step: int, item: Item) -> None:
        row = len(self.line_of[_UPSTREAM])
        parts = self._parts_of(item) if isinstance(item, int) else []
        self.line_of[_UPSTREAM].append(len(self))
        self._ends.append(0)
        if len(parts) < 2:
            self._begin_level(row, EMPTY, SILENT if isinstance(item, int) else ALONE)
            return
        self._worked = self.player.worked_after(step)
        self._begin_level(row, parts[0], SILENT)
        self._parts = parts[:0:-1]

    def _parts_of(self, read: int) -> list[int]:
        """The events that became whole with a read, if there are several; then what is left of its bytes."""
        player = self.player
        end = player.read_end(read)
        first = number = self._event
        event = player.event(number)
        last = 0
        while event is not None and event.end <= end:
            last = max(last, event.end)
            number += 1
            event = player.event(number)
        self._event = number
        if number - first < 2:
            return []
        return [*range(first, number), *((REST,) if last < end else ())]

    def _place_rest(self) -> None:
        """Events that led to nothing have a line as well."""
        while self._parts:
            self._begin_level(len(self._ends) - 1, self._parts.pop(), SILENT)

    def _begin_level(self, row: int, event: int, run: int) -> None:
        line = len(self)
        self.levels.append(line)
        self.runs.append(run)
        self._add_line()
        self._free = [line + 1, line, line]
        self._causes, self._caused = [], 0
        if row >= 0:
            self.cells[_UPSTREAM][line] = row
            self.events[line] = event
            self.kinds[line] = _READ if run else _TAPE
            self._ends[row] = line + 1

    def _add_line(self) -> None:
        for column in self.cells:
            column.append(EMPTY)
        self.events.append(EMPTY)
        self.calls.append(EMPTY)
        self.kinds.append(0)

    def _add_effect(self, pane: int, item: Item) -> None:
        if not self.levels or _is_heartbeat(item):  # nothing that came has led to it
            self._begin_level(EMPTY, EMPTY, ALONE)
        elif self._parts and not isinstance(item, int | Line | Event):
            while self._parts and EMPTY < self._parts[-1] <= item.event:
                self._begin_level(len(self._ends) - 1, self._parts.pop(), SILENT)
        at = self._free[pane]
        if isinstance(item, Delta) and item.span is not None and self._causes:
            at = max(at, self._line_of_cause(item.span))
        while len(self) <= at:
            self._add_line()
        self.cells[pane][at] = len(self.line_of[pane])
        self.line_of[pane].append(at)
        self._free[pane] = at + 1
        if isinstance(item, Transition):
            self._causes.append((item.span, at))
        self._describe(at, item)

    def _line_of_cause(self, span: Span) -> int:
        """The line of the last move of this level that has a part of the same characters.

        Moves are not in the order of the characters: some are read again.
        """
        line = EMPTY
        for at in range(self._caused, min(len(self._causes), self._caused + _REACH)):
            cause, place = self._causes[at]
            if cause.start < span.end and span.start < cause.end and _is_same_text(cause, span):
                line, self._caused = place, at
        return line

    def _describe(self, line: int, item: Item) -> None:
        """What the line has, and with which others its level can be folded."""
        kind, run, call = self._kind_of(item)
        self.kinds[line] |= kind
        if call is not None and self.calls[line] == EMPTY:
            self.calls[line] = call
        before = self.runs[-1]
        if run not in (before, SILENT):
            self.runs[-1] = run if before == SILENT else ALONE

    def _kind_of(self, item: Item) -> tuple[int, int, int | None]:
        """What it is, what it can be folded with, and its call."""
        if isinstance(item, Transition):
            return self._kind_of_move(item)
        if isinstance(item, Delta):
            return _kind_of_delta(item)
        if isinstance(item, Finding):
            return _FINDING, ALONE, item.call
        assert isinstance(item, Line)
        if item.finding is not None:
            return _FINDING, ALONE, None
        own = item.kind == "sent" and item.by is None
        return (_DELTA, _BYTES, None) if own else (_TAPE, ALONE, None)

    def _kind_of_move(self, item: Transition) -> tuple[int, int, int | None]:
        if item.policy and item.state == item.to:  # what the policy drops leads to nothing
            return _PROSE if item.call is None else _DATA, SILENT, item.call
        known = self._effects.get(item.effect)
        if known is None:  # there are few combinations of them
            known = self._effects[item.effect] = _kinds_of(item.effect), not item.effect & ~_QUIET
        kind, quiet = known
        if item.state != item.to:
            return kind | _TRANSITION, ALONE, item.call
        if not quiet:
            return kind, ALONE, item.call
        if kind & _DATA:
            return kind, _data(item.span.choice, item.call), item.call
        if kind & _PROSE:
            channel = _CONTENT if item.span.channel == "content" else _REASONING
            return kind, item.span.choice * _CHOICE + channel, item.call
        return kind, SILENT, item.call


def _kinds_of(effect: Effect) -> int:
    return sum(int(kind) for flag, kind in _KINDS_OF_EFFECTS if effect & flag)


def _kind_of_delta(item: Delta) -> tuple[int, int, int | None]:
    run, kind = item.choice * _CHOICE, item.kind
    if kind == "content":
        return _DELTA_PROSE, run + _CONTENT, item.call
    if kind == "reasoning":
        return _DELTA_PROSE, run + _REASONING, item.call
    if kind == "arguments" or (kind == "native" and item.call is not None):
        return _DELTA_DATA, _data(item.choice, item.call), item.call
    if kind == "other":
        return _DELTA, run + _OTHER, item.call
    return (_DELTA_CALL if kind == "call" else _DELTA), ALONE, item.call


def _data(choice: int, call: int | None) -> int:
    return choice * _CHOICE + _CALLS + (0 if call is None else call + 1)


def _is_same_text(one: Span, other: Span) -> bool:
    return one.choice == other.choice and one.channel == other.channel


def _is_heartbeat(item: Item) -> bool:
    return isinstance(item, Line) and item.kind == "sent" and item.data.startswith(b":")
