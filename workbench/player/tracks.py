"""The tracks of a tape: its reads, records and lines as rows of three panes, in the order of steps."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TypeAlias

from transformer import Transition
from transformer.records import Record
from workbench.player.panes import Pane, Rows
from workbench.tape import Line

Item: TypeAlias = int | Record | Line  # what a row stands for: a read's number, a record, a line of the tape


@dataclass(frozen=True, slots=True)
class Held:
    """What upstream has sent and the client has not got, at some step."""

    characters: int
    since: float  # when the first of them came
    state: str  # of the machine that holds them
    channel: str


class Tracks:
    """What can be asked of a tape without knowing how its rows came about.

    What a row's number refers to: in the upstream pane a read, in the machine pane a record (a transition or
    a finding), in the client pane a record (a delta); below zero, `~number` is one of `lines`: something that
    is on the tape itself (a status, a heartbeat, a finding of the proxy, the message of an answer that came
    whole, the end).
    """

    def __init__(self) -> None:
        self.data = bytearray()  # all that upstream sent
        self.times = array("d")  # of the reads
        self.starts = array("q")  # of the reads, in `data`
        self.rows_of_reads = array("q")  # in the upstream pane
        self.rows_of_moves = array("q")  # of the transitions, in the machine pane
        self.held = array("q")  # characters held back once a read has been worked on
        self._held_from = array("q")  # the read with which that began
        self._worked = array("q")  # steps with which all that had come was worked on
        self._left = array("q")  # characters held back then
        self.records: list[Record] = []
        self.lines: list[Line] = []
        self.panes = (Rows(), Rows(), Rows())
        self.panes_of_steps = bytearray()
        self.end: Line | None = None
        self.now = 0.0  # the time of the last line

    @property
    def steps(self) -> int:
        return len(self.panes_of_steps)

    @property
    def reads(self) -> int:
        return len(self.times)

    @property
    def complete(self) -> bool:
        return self.end is not None

    def rows(self, pane: Pane) -> Rows:
        return self.panes[pane]

    def read(self, number: int) -> bytes:
        """One read, exactly."""
        return bytes(self.data[self.starts[number] : self.read_end(number)])

    def read_end(self, number: int) -> int:
        return self.starts[number + 1] if number + 1 < len(self.starts) else len(self.data)

    def read_at(self, byte: int) -> int:
        """The read that a byte came in."""
        return max(0, bisect_right(self.starts, byte) - 1)

    def step_of_read(self, number: int) -> int:
        """The step with which a read came."""
        return self.panes[Pane.UPSTREAM].steps[self.rows_of_reads[number]]

    def item(self, pane: Pane, row: int) -> Item:
        """What a row stands for: a read's number, a record, or a line of the tape."""
        ref = self.panes[pane].refs[row]
        if ref < 0:
            return self.lines[~ref]
        return ref if pane is Pane.UPSTREAM else self.records[ref]

    def time(self, item: Item) -> float:
        if isinstance(item, Line):
            return item.t
        number = item if isinstance(item, int) else item.read
        return self.times[number] if 0 <= number < len(self.times) else self.now

    def place(self, step: int) -> tuple[Pane, int]:
        """The pane and the row of a step."""
        pane = Pane(self.panes_of_steps[step])
        return pane, bisect_left(self.panes[pane].steps, step)

    def last_read(self, step: int) -> int:
        """The last read that had come when a step had been made; -1: none."""
        return bisect_left(self.rows_of_reads, self.panes[Pane.UPSTREAM].known_at(step)) - 1

    def known_bytes(self, step: int) -> int:
        """How much upstream had sent when a step had been made."""
        read = self.last_read(step)
        return self.read_end(read) if read >= 0 else 0

    def held_at(self, step: int) -> Held | None:
        """What was held back once a step had been made."""
        read = self.last_read(step)
        if read < 0:
            return None
        last = self.last_transition(step)
        characters = self._characters_held(step, last)
        if not characters:
            return None
        state, channel = ("", "") if last is None else (last.to, last.span.channel)
        return Held(characters, self.times[self._first_held(read)], state, channel)

    def _first_held(self, read: int) -> int:
        """The read with which what is held began to be; one that ends it still has it from before."""
        if self.held[read]:
            return self._held_from[read]
        return self._held_from[read - 1] if read and self.held[read - 1] else read

    def _characters_held(self, step: int, last: Transition | None) -> int:
        """In the middle of the work its last move says it; before the first one it is as it was."""
        done = bisect_right(self._worked, step)
        since = self._worked[done - 1] if done else -1
        if last is not None and self._move_row(step) >= self.panes[Pane.MACHINE].known_at(since):
            return last.held
        return self._left[done - 1] if done else 0

    def last_transition(self, step: int) -> Transition | None:
        """The last move of a machine; its `to` is the state that the answer is in."""
        row = self._move_row(step)
        if row < 0:
            return None
        record = self.records[self.panes[Pane.MACHINE].refs[row]]
        assert isinstance(record, Transition)
        return record

    def _move_row(self, step: int) -> int:
        """The row of that move; -1: there was none."""
        at = bisect_left(self.rows_of_moves, self.panes[Pane.MACHINE].known_at(step)) - 1
        return self.rows_of_moves[at] if at >= 0 else -1

    # -- more of it

    def _came(self, t: float, data: bytes) -> None:
        """A read."""
        self.times.append(t)
        self.starts.append(len(self.data))
        self.data += data
        self.rows_of_reads.append(len(self.panes[Pane.UPSTREAM]))
        self._row(Pane.UPSTREAM, len(self.times) - 1)

    def _note_work(self, characters: int) -> None:
        """All that has come is worked on, and so much is held back now."""
        self._worked.append(self.steps - 1)
        self._left.append(characters)

    def _note_held(self, *, moves: bool) -> None:
        """How much is held back behind a read, and since which one.

        `moves`: the client got something with this read. What is held then is not what was held before: text
        whose last character is always undecided flows all the same.
        """
        goes_on = bool(self.held) and self.held[-1] > 0 and not moves
        self._held_from.append(self._held_from[-1] if goes_on else len(self.held))
        self.held.append(self._left[-1] if self._left else 0)

    def _record(self, pane: Pane, record: Record) -> None:
        if isinstance(record, Transition):
            self.rows_of_moves.append(len(self.panes[pane]))
        self.records.append(record)
        self._row(pane, len(self.records) - 1)

    def _line(self, pane: Pane, line: Line) -> None:
        self.lines.append(line)
        self._row(pane, ~(len(self.lines) - 1))

    def _row(self, pane: Pane, ref: int) -> None:
        self.panes[pane].add(ref, len(self.panes_of_steps))
        self.panes_of_steps.append(pane)
