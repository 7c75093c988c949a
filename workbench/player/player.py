"""A tape as far as it is known, with everything that its lines lead to."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import orjson

from transformer import Delta, Event, Finding, MessageTransformer, Span, StreamTransformer, Transition
from transformer.records import Ranges, Record
from workbench.errors import UserError
from workbench.player.panes import Pane, Rows
from workbench.recipe import Recipe, Wishes, make_recipe
from workbench.tape import Line

# A streamed answer; one that came whole; nothing to convert (another endpoint, an error).
Mode: TypeAlias = Literal["stream", "message", "plain"]
Item: TypeAlias = int | Record | Line  # what a row stands for: a read's number, a record, a line of the tape


@dataclass(frozen=True, slots=True)
class Held:
    """What upstream has sent and the client has not got, at some step."""

    characters: int
    since: float  # when the first of them came
    state: str  # of the machine that holds them
    channel: str


class Player:
    """Feed it a tape's lines; read rows from it.

    What a row's number refers to: in the upstream pane a read, in the machine pane a record (a transition or
    a finding), in the client pane a record (a delta); below zero, `~number` is one of `lines`: something that
    is on the tape itself (a status, a heartbeat, a finding of the proxy, the end).
    """

    def __init__(self, header: Mapping[str, Any], wishes: Wishes | None = None) -> None:
        self.header = header
        self.problem: str | None = None
        self.mode: Mode = "plain"
        self.data = bytearray()  # all that upstream sent
        self.times = array("d")  # of the reads
        self.starts = array("q")  # of the reads, in `data`
        self.rows_of_reads = array("q")  # in the upstream pane
        self.held = array("q")  # characters held back once a read has been worked on
        self._held_from = array("q")  # the read with which that began
        self.records: list[Record] = []
        self.lines: list[Line] = []
        self.panes = (Rows(), Rows(), Rows())
        self.panes_of_steps = bytearray()
        self.end: Line | None = None
        self.status: dict[str, int] = {}  # by side
        self.now = 0.0  # the time of the last line
        self.difference: int | None = None  # the first byte the client got that today's code would not send
        self._recipe = self._make_recipe(wishes or Wishes())
        self._stream: StreamTransformer | None = None
        self._message: MessageTransformer | None = None
        self._whole: dict[str, Any] | None = None  # what it made
        self._made = bytearray()  # what should have been sent, as far as it is not compared yet
        self._sent = bytearray()
        self._compared = 0
        self._events: list[int] = []  # where each event ends in `data`
        self.call_of_event: dict[int, int] = {}  # the call that an event has text of

    # -- what is known

    @property
    def steps(self) -> int:
        return len(self.panes_of_steps)

    @property
    def reads(self) -> int:
        return len(self.times)

    @property
    def complete(self) -> bool:
        return self.end is not None

    @property
    def dialect(self) -> str:
        return str(self.header.get("dialect"))

    @property
    def findings(self) -> list[Finding]:
        source = self._stream or self._message
        return list(source.findings) if source is not None else []

    @property
    def completion(self) -> dict[str, Any] | None:
        """The answer so far, as a client would have put it together."""
        return self._stream.completion if self._stream is not None else self._whole

    @property
    def unaccounted(self) -> int:
        source = self._stream or self._message
        return source.unaccounted if source is not None else 0

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

    def bytes_of(self, item: Item) -> Ranges:
        """The upstream bytes behind a row."""
        if isinstance(item, int):
            return ((self.starts[item], self.read_end(item)),)
        if isinstance(item, Event):
            return ((item.start, item.end),)
        span = None if isinstance(item, Line) else item.span
        return self._resolved(span) if span is not None else ()

    def _resolved(self, span: Span) -> Ranges:
        source = self._stream or self._message
        if source is None:
            return ()
        if span.channel:
            return source.bytes_of(span)
        event = self.event(span.event)
        return () if event is None else ((event.start, event.end),)

    def event(self, number: int) -> Event | None:
        source = self._stream or self._message
        events = source._journal.events.items if source is not None else []
        return events[number] if 0 <= number < len(events) else None

    def events_in(self, number: int) -> list[Event]:
        """The events that a read has a part of."""
        source = self._stream or self._message
        if source is None:
            return []
        events = source._journal.events.items
        start, end = self.starts[number], self.read_end(number)
        found = []
        for at in range(bisect_right(self._events, start), len(events)):
            if events[at].start >= end:
                break
            found.append(events[at])
        return found

    def held_at(self, step: int) -> Held | None:
        """What was held back once a step had been made."""
        rows = self.panes[Pane.UPSTREAM]
        at = rows.known_at(step) - 1
        while at >= 0 and rows.refs[at] < 0:
            at -= 1
        read = rows.refs[at] if at >= 0 else -1
        if read < 0 or not self.held[read]:
            return None
        last = self._last_transition(step)
        state, channel = ("", "") if last is None else (last.to, last.span.channel)
        return Held(self.held[read], self.times[self._held_from[read]], state, channel)

    def _last_transition(self, step: int) -> Transition | None:
        rows = self.panes[Pane.MACHINE]
        for at in range(rows.known_at(step) - 1, -1, -1):
            ref = rows.refs[at]
            if ref >= 0 and isinstance(record := self.records[ref], Transition):
                return record
        return None

    # -- more of the tape

    def add(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.now = max(self.now, line.t)
            kind = line.kind
            if kind == "read":
                self._read(line.t, line.data)
            elif kind == "sent":
                self._was_sent(line)
            elif kind == "status":
                self._status(line)
            elif kind == "end":
                self._end(line)
            else:
                self._line(Pane.MACHINE if "finding" in line.value else Pane.UPSTREAM, line)

    def _line(self, pane: Pane, line: Line) -> None:
        self.lines.append(line)
        self._row(pane, ~(len(self.lines) - 1))

    def _row(self, pane: Pane, ref: int) -> None:
        self.panes[pane].add(ref, len(self.panes_of_steps))
        self.panes_of_steps.append(pane)

    def _status(self, line: Line) -> None:
        side, status = line.value.get("side"), line.value.get("status")
        if isinstance(side, str) and isinstance(status, int):
            self.status[side] = status
        self._line(Pane.CLIENT if side == "client" else Pane.UPSTREAM, line)

    def _read(self, t: float, data: bytes) -> None:
        if not self.times:
            self._choose_mode(data)
        self.times.append(t)
        self.starts.append(len(self.data))
        self.data += data
        self.rows_of_reads.append(len(self.panes[Pane.UPSTREAM]))
        self._row(Pane.UPSTREAM, len(self.times) - 1)
        if self._stream is not None:
            self._made += self._safely(lambda stream: stream.feed(data))
            self._collect()
            self._compare()
        elif self._message is not None:
            self._convert_whole()
        self._note_held()

    def _note_held(self) -> None:
        """How much is held back now, and since which read something is."""
        goes_on = bool(self.held) and self.held[-1] > 0
        self._held_from.append(self._held_from[-1] if goes_on else len(self.held))
        self.held.append(self.unaccounted)

    def _choose_mode(self, data: bytes) -> None:
        """What kind of answer this is; its first bytes tell where the header does not."""
        refused = not 200 <= self.status.get("upstream", 200) < 300
        if self._recipe is None or self.header.get("kind") == "relay" or refused:
            return
        if data.lstrip()[:1] == b"{" and self.header.get("stream") is not True:
            self.mode, self._message = "message", self._recipe.message("all")
        else:
            self.mode, self._stream = "stream", self._recipe.stream("all")

    def _convert_whole(self) -> None:
        """A whole answer is one read; one that came in several on an old tape is tried again with each."""
        assert self._message is not None and self._recipe is not None
        try:
            value = orjson.loads(self.data)
        except orjson.JSONDecodeError:
            return
        if isinstance(value, dict):
            self._whole = self._message.convert(value, bytes(self.data))
            self._collect()

    def _safely(self, work: Any) -> bytes:
        """A failure of the transformer is something to show, never something to crash on."""
        try:
            return bytes(work(self._stream))
        except Exception as error:
            self.problem = self.problem or f"the transformer failed: {type(error).__name__}: {error}"
            return b""

    def _collect(self) -> None:
        """New records become rows."""
        source = self._stream or self._message
        assert source is not None
        all_records = source.records
        for number in range(len(self.records), len(all_records)):
            record = all_records[number]
            self.records.append(record)
            if isinstance(record, Delta):
                self._row(Pane.CLIENT, number)
            elif isinstance(record, Event):
                self._events.append(record.end)
            else:
                if record.call is not None and isinstance(record, Transition):
                    self.call_of_event[record.event] = record.call
                self._row(Pane.MACHINE, number)

    def _was_sent(self, line: Line) -> None:
        if "by" in line.value or self.mode == "plain":
            self._line(Pane.CLIENT, line)
        elif self.mode == "stream":
            self._sent += line.data
            self._compare()

    def _compare(self) -> None:
        """What was sent then against what would be sent today."""
        size = min(len(self._made), len(self._sent))
        if not size or self.difference is not None:
            return
        made, sent = self._made[:size], self._sent[:size]
        if made != sent:
            self.difference = self._compared + next(at for at in range(size) if made[at] != sent[at])
            return
        self._compared += size
        del self._made[:size]
        del self._sent[:size]

    def _end(self, line: Line) -> None:
        self.end = line
        how = line.value.get("end")
        if self._stream is not None and how != "cancelled" and self.status.get("client", 200) < 300:
            error = line.value.get("error") or "no reason is on the tape"
            self._made += self._safely(
                lambda stream: stream.fail(error) if how == "error" else stream.finish()
            )
            self._collect()
            self._compare()
            has_sent = self._compared or self._sent
            if self.difference is None and has_sent and len(self._made) != len(self._sent):
                self.difference = self._compared
        self._line(Pane.UPSTREAM, line)

    def _make_recipe(self, wishes: Wishes) -> Recipe | None:
        try:
            return make_recipe(self.header, wishes)
        except UserError as error:
            self.problem = error.message
            return None

    # -- where rows are

    def place(self, step: int) -> tuple[Pane, int]:
        """The pane and the row of a step."""
        pane = Pane(self.panes_of_steps[step])
        return pane, bisect_left(self.panes[pane].steps, step)
