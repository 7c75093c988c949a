"""The player: a tape as far as it is known, with everything that its lines lead to.

Its reads, records and lines are rows of three panes in the order of steps; rows are numbers only, so that a
hundred thousand of them need little memory. Each row knows the bytes, the events and the call that it comes
from.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Literal, TypeAlias

from transformer.answer.chunks import dumps
from transformer.answer.conformance import Check, Conformance
from transformer.answer.stream import StreamTransformer
from transformer.answer.whole import MessageTransformer
from transformer.jsontext import begins_object, object_in
from transformer.provenance import SourceMap
from transformer.records import Delta, Event, Finding, Ranges, Record, Span, Transition
from workbench.errors import UserError
from workbench.replay.answers import Comparison, Difference
from workbench.tape.format import Line
from workbench.tape.recipe import Recipe, Wishes, make_recipe


class Pane(IntEnum):
    """Where a row is shown."""

    UPSTREAM = 0
    MACHINE = 1
    CLIENT = 2


class Rows:
    """One pane. A row refers to something by its number: see `Player` for what that is.

    `steps` says at which step each row became known; it only ever grows.
    """

    __slots__ = ("refs", "steps")

    def __init__(self) -> None:
        self.refs = array("q")
        self.steps = array("q")

    def __len__(self) -> int:
        return len(self.refs)

    def add(self, ref: int, step: int) -> None:
        self.refs.append(ref)
        self.steps.append(step)

    def known_at(self, step: int) -> int:
        """How many rows there are once `step` has been made."""
        return bisect_right(self.steps, step)

    def after(self, step: int) -> int | None:
        """The next step that makes a row here."""
        at = bisect_right(self.steps, step)
        return self.steps[at] if at < len(self.steps) else None

    def before(self, step: int) -> int | None:
        """The last step before this one that made a row here."""
        at = bisect_left(self.steps, step) - 1
        return self.steps[at] if at >= 0 else None


_NONE = -1


class EventCalls:
    """By the number of the event; the first call that an event has a part of counts, and stays."""

    __slots__ = ("_calls", "_steps")

    def __init__(self) -> None:
        self._calls = array("q")
        self._steps = array("q")

    def add(self, event: int, call: int, step: int) -> None:
        if event < 0 or self.knows(event):
            return
        missing = event + 1 - len(self._calls)
        if missing > 0:
            self._calls.extend([_NONE] * missing)
            self._steps.extend([_NONE] * missing)
        self._calls[event], self._steps[event] = call, step

    def knows(self, event: int) -> bool:
        return 0 <= event < len(self._calls) and self._calls[event] != _NONE

    def call_of(self, event: int, step: int) -> int | None:
        return self._calls[event] if self.knows(event) and self._steps[event] <= step else None


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


Transformer: TypeAlias = StreamTransformer | MessageTransformer
_PLACES = 4096  # spans whose bytes are remembered: some screens full


class Provenance(Tracks):
    """What the transformer that made the rows can tell about them."""

    def __init__(self) -> None:
        super().__init__()
        self._stream: StreamTransformer | None = None
        self._message: MessageTransformer | None = None
        self._events = array("q")  # where each event ends in `data`, or a longer one before it
        self._events_known = array("q")  # the step with which each event was whole
        self._rails = EventCalls()
        self._places: dict[Span, Ranges] = {}

    @property
    def _source(self) -> Transformer | None:
        return self._stream or self._message

    @property
    def findings(self) -> list[Finding]:
        source = self._source
        return list(source.findings) if source is not None else []

    @property
    def unaccounted(self) -> int:
        source = self._source
        return source.unaccounted if source is not None else 0

    # -- bytes

    def bytes_of(self, item: Item) -> Ranges:
        """The upstream bytes behind a row."""
        if isinstance(item, int):
            return ((self.starts[item], self.read_end(item)),)
        if isinstance(item, Event):
            return ((item.start, item.end),)
        if isinstance(item, Delta) and item.kind in ("native", "other"):
            event = self.event(item.event)
            return () if event is None else ((event.start, event.end),)
        span = None if isinstance(item, Line) else item.span
        return self._resolved(span) if span is not None else ()

    def bytes_at(self, step: int) -> Ranges:
        """The upstream bytes behind the row that a step made."""
        return self.bytes_of(self.item(*self.place(step))) if step >= 0 else ()

    def _resolved(self, span: Span) -> Ranges:
        source = self._source
        if source is None:
            return ()
        if span.channel:
            return self._located(source, span)
        event = self.event(span.event)
        return () if event is None else ((event.start, event.end),)

    def _located(self, source: Transformer, span: Span) -> Ranges:
        """Finding bytes means reading the JSON of events again, and a screen asks for the same ones often."""
        found = self._places.get(span)
        if found is None:
            if len(self._places) >= _PLACES:
                self._places.clear()
            found = self._places[span] = source.bytes_of(span)
        return found

    # -- events and calls

    def event(self, number: int) -> Event | None:
        source = self._source
        events = source._journal.events.items if source is not None else []
        return events[number] if 0 <= number < len(events) else None

    @property
    def sources(self) -> Mapping[tuple[int, str], SourceMap]:
        """By choice and channel: in which string of which event each character of the text stands."""
        if self._stream is not None:
            return self._stream._answer.sources
        return self._message._sources if self._message is not None else {}

    def call_of(self, event: int, step: int | None = None) -> int | None:
        """The call that an event has text of, as far as that was known at a step; None means: now."""
        return self._rails.call_of(event, self.steps if step is None else step)

    def events_in(self, number: int, step: int | None = None) -> list[Event]:
        """The events that a read has a part of and that were whole at a step; None means: now."""
        source = self._source
        if source is None:
            return []
        events = source._journal.events.items
        start, end = self.starts[number], self.read_end(number)
        found = []
        for at in range(bisect_right(self._events, start), len(events)):
            if events[at].start >= end or (step is not None and self._events_known[at] > step):
                break
            if events[at].end > start:
                found.append(events[at])
        return found

    # -- more of it

    def _saw_event(self, event: Event, since: int) -> None:
        """One that is whole since a step. Lines that were taken apart are events inside the one before."""
        self._events.append(max(event.end, self._events[-1] if self._events else 0))
        self._events_known.append(since)

    def _belongs(self, step: Transition, call: int) -> None:
        """The events that a step's text came in; a marker may have begun some events before."""
        self._rails.add(step.event, call, self.steps)
        if self._rails.knows(step.event - 1):
            return
        for start, _ in self._resolved(step.span)[:1]:
            for number in range(bisect_right(self._events, start), step.event):
                self._rails.add(number, call, self.steps)


# A streamed answer; one that came whole; nothing to convert (another endpoint, an error).
Mode: TypeAlias = Literal["stream", "message", "plain"]


class Player(Provenance):
    """Feed it a tape's lines; read rows from it.

    Among its records are `Check`s, which are on no tape and say how upstream's own events and calls suit
    clients.
    """

    def __init__(self, header: Mapping[str, Any], wishes: Wishes | None = None) -> None:
        super().__init__()
        self.header = header
        self.problem: str | None = None
        self.mode: Mode = "plain"
        self.status: dict[str, int] = {}  # by side
        self._recipe = self._make_recipe(wishes or Wishes())
        self._blank = True  # nothing has come that could tell what it is
        self._whole: dict[str, Any] | None = None  # what it made
        self.whole_at: int | None = None  # the step before which an answer in one piece was all there
        self._next_try = 0  # how much of a body that is not whole yet is to be read again
        self._conformance: Conformance | None = None
        self._taken = 0  # records of the transformer
        self._comparison = Comparison()

    # -- what is known

    @property
    def dialect(self) -> str:
        return str(self.header.get("dialect"))

    @property
    def completion(self) -> dict[str, Any] | None:
        """The answer so far, as a client would have put it together."""
        return self._stream.completion if self._stream is not None else self._whole

    @property
    def difference(self) -> Difference | None:
        """Where what the client got is not what today's code would send."""
        return self._comparison.difference

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

    def _status(self, line: Line) -> None:
        side, status = line.value.get("side"), line.value.get("status")
        if isinstance(side, str) and isinstance(status, int):
            self.status[side] = status
        if side == "client":
            self._read_whole()
        self._line(Pane.CLIENT if side == "client" else Pane.UPSTREAM, line)

    def _read(self, t: float, data: bytes) -> None:
        if self._blank:
            self._choose_mode(data)
        self._came(t, data)
        sent = len(self.panes[Pane.CLIENT])
        if (stream := self._stream) is not None:
            made = self._safely(lambda: stream.feed(data))
            if not self._collected:
                self._comparison.made(made, self.reads - 1)
            self._collect(self.steps - 1)
        elif len(self.data) >= self._next_try:
            # A whole answer is one read. One that came in several is not to be parsed with each of them.
            self._next_try = 2 * len(self.data)
            self._read_whole()
        self._note_held(moves=len(self.panes[Pane.CLIENT]) > sent)

    def _choose_mode(self, data: bytes) -> None:
        """What kind of answer this is; its first bytes tell where the header does not.

        A stream, as long as there is nothing but blanks: some servers send them to keep a connection open.
        """
        self._blank = not data.removeprefix(BOM_UTF8).strip()
        refused = not 200 <= self.status.get("upstream", 200) < 300
        if self._recipe is None or self.header.get("kind") == "relay" or refused:
            return
        if begins_object(data) and self.header.get("stream") is not True:
            self.mode, self._stream, self._message = "message", None, self._recipe.message("all")
            self._conformance = Conformance(self._message.setting, streamed=False)
        elif self._stream is None:
            self.mode, self._stream = "stream", self._recipe.stream("all")
            self._conformance = Conformance(self._stream.setting)

    @property
    def _collected(self) -> bool:
        """Upstream streamed to a client that had not asked for it: that one got a message."""
        asked = self.header.get("stream") is not False
        return self._stream is not None and not asked and not self._stream.setting.raw

    def _read_whole(self) -> None:
        """Converts an answer that came in one piece, as soon as it is whole."""
        message = self._message
        if message is None or self._whole is not None:
            return
        data = bytes(self.data)
        value = object_in(data, repair=True)
        if value is None:
            return

        self.whole_at = self.steps

        def convert() -> bytes:
            self._whole = value  # if that fails, the client got it as it came
            self._whole = message.convert(value, data)
            return data if message.setting.raw else dumps(self._whole)

        self._comparison.made(self._safely(convert), self.reads - 1)
        self._collect(self.steps)

    def _safely(self, work: Callable[[], bytes]) -> bytes:
        """A failure of the transformer is something to show, never something to crash on."""
        try:
            return work()
        except Exception as error:
            self.problem = self.problem or f"the transformer failed: {type(error).__name__}: {error}"
            return b""

    def _collect(self, since: int) -> None:
        """New records become rows; `since` is the step with which what they come from was there."""
        source = self._stream or self._message
        assert source is not None and self._conformance is not None
        all_records = source.records
        for number in range(self._taken, len(all_records)):
            record = all_records[number]
            if isinstance(record, Event):
                self._saw_event(record, since)
                self._show_checks(self._conformance.event(record))
            elif isinstance(record, Delta):
                self._record(Pane.CLIENT, self._named(record) if record.kind == "native" else record)
            else:
                if record.call is not None and isinstance(record, Transition):
                    self._belongs(record, record.call)
                self._record(Pane.MACHINE, record)
        self._taken = len(all_records)
        self._note_work(self.unaccounted)

    def _show_checks(self, checks: Iterable[Check]) -> None:
        for check in checks:
            self._record(Pane.MACHINE, check)

    def _named(self, delta: Delta) -> Delta:
        """The transformer passes on a call of upstream's own unread; what it says is shown all the same."""
        assert self._conformance is not None
        native = self._conformance.natives.get(delta.choice)
        if native is None:
            return delta
        self._rails.add(delta.event, native.call, self.steps)
        return replace(delta, call=native.call, text=native.text)

    def _was_sent(self, line: Line) -> None:
        own = "by" not in line.value and self.mode != "plain"
        if own:
            self._read_whole()
            self._comparison.sent(line.data)
        if not own or self.mode == "message" or self._collected:
            self._line(Pane.CLIENT, line)

    def _end(self, line: Line) -> None:
        self.end = line
        how = line.value.get("end")
        if self.status.get("client", 200) < 300:
            if how != "cancelled":
                self._conclude(how == "error", line.value.get("error") or "no reason is on the tape")
            else:
                self._read_whole()  # what was all there, in however many reads
            if self._conformance is not None:
                self._show_checks(self._conformance.end(cut=how in ("cancelled", "error")))
        self._line(Pane.UPSTREAM, line)

    def _conclude(self, broke: bool, error: Any) -> None:
        """The last of what should have been sent, and whether anything is left over."""
        if (stream := self._stream) is not None:
            made = self._safely(lambda: stream.fail(error) if broke else stream.finish())
            whole = self._safely(lambda: dumps(stream.completion)) if self._collected else made
            self._comparison.made(whole, self.reads - 1)
            self._collect(self.steps)
        elif self._message is not None:
            self._read_whole()
        self._comparison.end()

    def _make_recipe(self, wishes: Wishes) -> Recipe | None:
        try:
            return make_recipe(self.header, wishes)
        except UserError as error:
            self.problem = error.message
            return None
