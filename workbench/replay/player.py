"""The player: a tape as far as it is known, with everything that its lines lead to.

Its reads, records and lines are rows of three panes in the order of steps; rows are numbers only, so that a
hundred thousand of them need little memory. Each row knows the bytes, the events and the call that it comes
from.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial
from typing import Any, Literal, TypeAlias

from transformer.answer.conformance import Check, Conformance
from transformer.answer.stream import StreamTransformer
from transformer.answer.whole import MessageTransformer
from transformer.jsontext import begins_object, dumps
from transformer.provenance import SourceMap
from transformer.records import Delta, Event, Finding, Level, Ranges, Record, Span, Transition
from workbench.errors import UserError
from workbench.replay.sentdifference import SentComparison, SentDifference
from workbench.tape.format import Line
from workbench.tape.recipe import Recipe, Wishes, make_recipe
from workbench.text import json_object


class Pane(IntEnum):
    """Where a row is shown."""

    UPSTREAM = 0
    MACHINE = 1
    CLIENT = 2


# A streamed answer; one that came whole; nothing to convert (another endpoint, an error).
Mode: TypeAlias = Literal["stream", "message", "plain"]
Item: TypeAlias = int | Record | Line  # what a row represents: a read's number, a record, a line of the tape

LEVELS: tuple[Level, ...] = ("error", "warning", "info")  # the worst first
_NONE = -1
_NOWHERE = -2  # the event of text that comes from an edit: none that upstream sent
_MOST_SPANS = 4096  # whose bytes are remembered: several screens full


@dataclass(frozen=True, slots=True)
class Held:
    """Characters that upstream has sent and the client has not got, at some step."""

    characters: int
    since: float  # when the first of them came
    state: str  # of the machine that holds them
    channel: str


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


class EventIndex:
    """The events by number: where each ends, since which step it is whole, which call it has text of."""

    __slots__ = ("_call_steps", "_calls", "_ends", "_events", "_whole_since")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._ends = array("q")  # in upstream's bytes: of the event, or of a longer one before it
        self._whole_since = array("q")
        self._calls = array("q")
        self._call_steps = array("q")  # the step with which the call was known

    def __len__(self) -> int:
        return len(self._events)

    def get(self, number: int) -> Event | None:
        return self._events[number] if 0 <= number < len(self._events) else None

    def add(self, event: Event, since: int) -> None:
        """One that is whole since a step. Lines that were taken apart are events inside the one before."""
        self._events.append(event)
        self._ends.append(max(event.end, self._ends[-1] if self._ends else 0))
        self._whole_since.append(since)
        self._calls.append(_NONE)
        self._call_steps.append(_NONE)

    def ending_after(self, byte: int) -> int:
        """The number of the first event that ends after a byte."""
        return bisect_right(self._ends, byte)

    def between(self, start: int, end: int, step: int | None) -> list[Event]:
        """The events with a byte in the range that were whole at a step; None means: now."""
        found = []
        for number in range(self.ending_after(start), len(self._events)):
            event = self._events[number]
            if event.start >= end or (step is not None and self._whole_since[number] > step):
                break
            if event.end > start:
                found.append(event)
        return found

    def set_call(self, number: int, call: int, step: int) -> None:
        """The first call that an event has a part of counts, and stays."""
        if 0 <= number < len(self._calls) and self._calls[number] == _NONE:
            self._calls[number], self._call_steps[number] = call, step

    def call_of(self, number: int, step: int) -> int | None:
        if not 0 <= number < len(self._calls) or self._calls[number] == _NONE:
            return None
        return self._calls[number] if self._call_steps[number] <= step else None


class FindingSteps:
    """The steps with which something was found, in order: all of them, and those of each level."""

    __slots__ = ("_by_level", "all")

    def __init__(self) -> None:
        self.all = array("q")
        self._by_level: Mapping[Level, array[int]] = {level: array("q") for level in LEVELS}

    def of(self, level: Level) -> array[int]:
        return self._by_level[level]

    def add(self, step: int, level: object) -> None:
        """On a tape the level of a finding may be anything."""
        self.all.append(step)
        self._by_level[next((known for known in LEVELS if known == level), "info")].append(step)


class HeldHistory:
    """How many characters were held back: after each read, and whenever all that had come was worked on."""

    __slots__ = ("_left", "_since", "_worked", "after_reads")

    def __init__(self) -> None:
        self.after_reads = array("q")
        self._since = array("q")  # the read with which the hold began
        self._worked = array("q")  # steps with which all that had come was worked on
        self._left = array("q")  # characters held back then

    def add_work(self, step: int, characters: int) -> None:
        self._worked.append(step)
        self._left.append(characters)

    def add_read(self, *, flows: bool) -> None:
        """How much is held after a read, and since which one.

        `flows`: the client got something with this read. Then the held text is not the text held before: text
        whose last character is always undecided flows anyway.
        """
        goes_on = bool(self.after_reads) and self.after_reads[-1] > 0 and not flows
        self._since.append(self._since[-1] if goes_on else len(self.after_reads))
        self.after_reads.append(self._left[-1] if self._left else 0)

    def worked_at(self, step: int) -> tuple[int, int]:
        """The last step up to this one with which all was worked on, and the characters held then."""
        done = bisect_right(self._worked, step)
        return (self._worked[done - 1], self._left[done - 1]) if done else (_NONE, 0)

    def worked_after(self, step: int) -> int:
        """The last step of the work on what came with a step; that one, where nothing was to be done."""
        done = bisect_left(self._worked, step)
        return self._worked[done] if done < len(self._worked) else step

    def first_read(self, read: int) -> int:
        """The read with which the hold began; a read that ends a hold still counts it."""
        if self.after_reads[read]:
            return self._since[read]
        return self._since[read - 1] if read and self.after_reads[read - 1] else read


class Player:
    """Feed it a tape's lines; read rows from it.

    What a row's number refers to: in the upstream pane a read, in the machine pane a record (a transition or
    a finding), in the client pane a record (a delta); below zero, `~number` is one of `lines`: something that
    is on the tape itself (a status, a heartbeat, a finding of the proxy, the message of an answer that came
    whole, the end). Among the records are `Check`s, which are on no tape and say how upstream's own events
    and calls conform to clients' rules.

    Every query costs a bisection at most, however long the tape is.
    """

    def __init__(self, header: Mapping[str, Any], wishes: Wishes | None = None) -> None:
        self.header = header
        self.problem: str | None = None
        self.mode: Mode = "plain"
        self.status: dict[str, int] = {}  # by side
        self.end: Line | None = None
        self.now = 0.0  # the time of the last line
        self.edited = False  # a person changed the answer while it was held: the rest comes from that
        self.whole_at: int | None = None  # the step before which an answer in one piece was complete

        self.data = bytearray()  # all that upstream sent
        self.times = array("d")  # of the reads
        self.starts = array("q")  # of the reads, in `data`
        self.records: list[Record] = []
        self.lines: list[Line] = []

        self.panes = (Rows(), Rows(), Rows())
        self.panes_of_steps = bytearray()
        self.rows_of_reads = array("q")  # in the upstream pane
        self.rows_of_transitions = array("q")  # in the machine pane
        self.finding_steps = FindingSteps()
        self._seconds = array("d")  # of the steps
        self._clock = 0.0

        self._events = EventIndex()
        self._held = HeldHistory()
        self._ranges: dict[Span, Ranges] = {}

        self._recipe = self._make_recipe(wishes or Wishes())
        self._stream: StreamTransformer | None = None
        self._message: MessageTransformer | None = None
        self._whole: dict[str, Any] | None = None  # what an answer in one piece became
        self._conformance: Conformance | None = None
        self._comparison = SentComparison()
        self._opening = b""  # what the client was sent before upstream said anything
        self._dropped = False  # by a user: held-back text is dropped with the rest
        self._body: bytes | None = None  # of a message that a person changed
        self._blank = True  # nothing has come that could tell what it is
        self._next_try = 0  # the size at which an incomplete body is parsed again
        self._taken = 0  # records of the transformer

    def _make_recipe(self, wishes: Wishes) -> Recipe | None:
        try:
            return make_recipe(self.header, wishes)
        except UserError as error:
            self.problem = error.message
            return None

    # -- the answer

    @property
    def dialect(self) -> str:
        return str(self.header.get("dialect"))

    @property
    def complete(self) -> bool:
        return self.end is not None

    @property
    def completion(self) -> dict[str, Any] | None:
        """The answer so far, as a client would have put it together."""
        return self._stream.completion if self._stream is not None else self._whole

    @property
    def difference(self) -> SentDifference | None:
        """Where what the client got differs from what today's code would send."""
        return self._comparison.difference

    @property
    def findings(self) -> list[Finding]:
        transformer = self._transformer
        return list(transformer.findings) if transformer is not None else []

    @property
    def unaccounted(self) -> int:
        transformer = self._transformer
        return transformer.unaccounted if transformer is not None and not self._dropped else 0

    @property
    def sources(self) -> Mapping[tuple[int, str], SourceMap]:
        """By choice and channel: in which string of which event each character of the text is."""
        transformer = self._transformer
        return transformer.sources if transformer is not None else {}

    @property
    def _transformer(self) -> StreamTransformer | MessageTransformer | None:
        return self._stream or self._message

    # -- rows and steps

    @property
    def steps(self) -> int:
        return len(self.panes_of_steps)

    def rows(self, pane: Pane) -> Rows:
        return self.panes[pane]

    def item(self, pane: Pane, row: int) -> Item:
        """What a row represents: a read's number, a record, or a line of the tape."""
        ref = self.panes[pane].refs[row]
        if ref < 0:
            return self.lines[~ref]
        return ref if pane is Pane.UPSTREAM else self.records[ref]

    def place(self, step: int) -> tuple[Pane, int]:
        """The pane and the row of a step."""
        pane = Pane(self.panes_of_steps[step])
        return pane, bisect_left(self.panes[pane].steps, step)

    def time(self, item: Item) -> float:
        """When something happened, as the tape has it."""
        if isinstance(item, Line):
            return item.t
        number = item if isinstance(item, int) else item.read
        return self.times[number] if 0 <= number < len(self.times) else self.now

    def seconds(self, step: int) -> float:
        """When a step happened, 0 before the first one. It never goes back, whatever times a tape has.

        A machine's moves take no time: they happen when the read comes that leads to them.
        """
        return self._seconds[step] if step >= 0 else 0.0

    def step_at(self, seconds: float) -> int:
        """The last step that had happened by then; -1: none."""
        return bisect_right(self._seconds, seconds) - 1

    def last_transition(self, step: int) -> Transition | None:
        """The last move of a machine; its `to` is the state that the answer is in."""
        number = self._transitions_known(step) - 1
        return self.transition(number) if number >= 0 else None

    def transition(self, number: int) -> Transition:
        """A move of a machine, by its number among all of them."""
        record = self.records[self.panes[Pane.MACHINE].refs[self.rows_of_transitions[number]]]
        assert isinstance(record, Transition)
        return record

    def _transitions_known(self, step: int) -> int:
        """How many moves there are once a step has been made."""
        return bisect_left(self.rows_of_transitions, self.panes[Pane.MACHINE].known_at(step))

    # -- reads

    @property
    def reads(self) -> int:
        return len(self.times)

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

    def last_read(self, step: int) -> int:
        """The last read that had come when a step had been made; -1: none."""
        return bisect_left(self.rows_of_reads, self.panes[Pane.UPSTREAM].known_at(step)) - 1

    def worked_after(self, step: int) -> int:
        """The last step of the work on the read that came with a step."""
        return self._held.worked_after(step)

    def known_bytes(self, step: int) -> int:
        """How much upstream had sent when a step had been made."""
        read = self.last_read(step)
        return self.read_end(read) if read >= 0 else 0

    # -- what is held back

    @property
    def held(self) -> array[int]:
        """By read: the characters that were held back once it had been worked on."""
        return self._held.after_reads

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
        return Held(characters, self.times[self._held.first_read(read)], state, channel)

    def _characters_held(self, step: int, last: Transition | None) -> int:
        """While a read is being processed, its last move says it; before the first move it is unchanged."""
        worked, characters = self._held.worked_at(step)
        moved = self._transitions_known(step) > self._transitions_known(worked)
        return last.held if last is not None and moved else characters

    # -- where a row comes from

    @property
    def events(self) -> int:
        """How many events have come as a whole."""
        return len(self._events)

    def event(self, number: int) -> Event | None:
        return self._events.get(number)

    def events_in(self, read: int, step: int | None = None) -> list[Event]:
        """The events that a read has a part of and that were whole at a step; None means: now."""
        return self._events.between(self.starts[read], self.read_end(read), step)

    def call_of(self, event: int, step: int | None = None) -> int | None:
        """The call that an event has text of, as far as that was known at a step; None means: now."""
        return self._events.call_of(event, self.steps if step is None else step)

    def bytes_at(self, step: int) -> Ranges:
        """The upstream bytes that the row of a step comes from."""
        return self.bytes_of(self.item(*self.place(step))) if step >= 0 else ()

    def bytes_of(self, item: Item) -> Ranges:
        """The upstream bytes that a row comes from."""
        if isinstance(item, int):
            return ((self.starts[item], self.read_end(item)),)
        if isinstance(item, Event):
            return ((item.start, item.end),)
        if isinstance(item, Delta) and item.kind in ("native", "other"):
            return self._bytes_of_event(item.event)
        span = None if isinstance(item, Line) else item.span
        return self._bytes_of_span(span) if span is not None else ()

    def _bytes_of_event(self, number: int) -> Ranges:
        event = self._events.get(number)
        return () if event is None else ((event.start, event.end),)

    def _bytes_of_span(self, span: Span) -> Ranges:
        """Finding bytes means reading the JSON of events again, and a screen asks for the same ones often."""
        transformer = self._transformer
        if transformer is None or span.event == _NOWHERE:
            return ()
        if not span.channel:
            return self._bytes_of_event(span.event)
        found = self._ranges.get(span)
        if found is None:
            if len(self._ranges) >= _MOST_SPANS:
                self._ranges.clear()
            found = self._ranges[span] = transformer.bytes_of(span)
        return found

    # -- more of the tape

    def add(self, lines: Iterable[Line]) -> None:
        for line in lines:
            t, kind = line.t, line.kind
            self.now = max(self.now, t)
            if kind == "read":
                self._add_read(t, line.data)
            elif kind == "sent":
                self._add_sent(line)
            elif kind == "status":
                self._add_status(line)
            elif kind == "end":
                self._add_end(line)
            elif kind in ("hold", "release"):
                self._dropped = line.released == "dropped"
                self._show_line(Pane.CLIENT, line)
                if (replacement := line.replacement) is not None:
                    self._replace(*replacement)
            else:
                self._show_line(Pane.UPSTREAM if line.finding is None else Pane.MACHINE, line)

    def _add_read(self, t: float, data: bytes) -> None:
        if self._blank:
            self._choose_mode(data)
        self._show_read(t, data)
        client = self.panes[Pane.CLIENT].refs
        sent = len(client)
        if (stream := self._stream) is not None:
            try:
                made = stream.feed(data)
            except Exception as error:
                made = self._failed(error)
            if not self._collected:
                self._comparison.made(made, len(self.times) - 1)
            self._show_records(len(self.panes_of_steps) - 1)
        elif len(self.data) >= self._next_try:
            # A whole answer is usually one read. One that came in several must not be parsed with each of
            # them.
            self._next_try = 2 * len(self.data)
            self._convert_whole()
        self._held.add_read(flows=len(client) > sent)

    def _add_sent(self, line: Line) -> None:
        own = line.by is None and self.mode != "plain"
        if own:
            if self._message is not None:
                self._convert_whole()
            self._comparison.sent(line.data)
        elif line.by is None and not self.reads:
            self._opening += line.data
        if not own or self.mode == "message" or self._collected:
            self._show_line(Pane.CLIENT, line)

    def _add_status(self, line: Line) -> None:
        side, status = line.side, line.status
        if side and isinstance(status, int):
            self.status[side] = status
        if side == "client":
            self._convert_whole()
        self._show_line(Pane.CLIENT if side == "client" else Pane.UPSTREAM, line)

    def _add_end(self, line: Line) -> None:
        self.end = line
        how = line.ended
        if self.status.get("client", 200) < 300:
            if how != "cancelled":
                self._conclude(how == "error", line.error or "no reason is on the tape")
            else:
                self._convert_whole()  # it was complete, in however many reads
            if self._conformance is not None:
                self._show_checks(self._conformance.end(cut=how in ("cancelled", "error")))
        self._show_line(Pane.UPSTREAM, line)

    # -- converting it again

    def _choose_mode(self, data: bytes) -> None:
        """What kind of answer this is; its first bytes tell where the header does not.

        A stream, while there is nothing but blanks: some servers send them to keep a connection open.
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
            self._comparison.sent(self._opening)
            self._conformance = Conformance(self._stream.setting)

    @property
    def _collected(self) -> bool:
        """Upstream streamed to a client that had not asked for it: the client got a message."""
        asked = self.header.get("stream") is not False
        return self._stream is not None and not asked and not self._stream.setting.raw

    def _convert_whole(self) -> None:
        """Converts an answer that came in one piece, as soon as it is whole."""
        message = self._message
        if message is None or self._whole is not None:
            return
        data = bytes(self.data) if self._body is None else self._body
        value = json_object(data, "replace")
        if value is None:
            return
        self.whole_at = self.steps

        def convert() -> bytes:
            self._whole = value  # if that fails, the client got it as it came
            sent = message.convert(value, data)
            self._whole = message.completion
            return data if message.setting.raw else dumps(sent)

        self._comparison.made(self._safely(convert), self.reads - 1)
        self._show_records(self.steps)

    def _replace(self, keep: int, reads: Sequence[bytes]) -> None:
        """The client gets the answer as the user edited it: the first reads stay, others are replaced."""
        self.edited = True
        recipe, stream = self._recipe, self._stream
        assert recipe is not None or (stream is None and self._message is None)
        if recipe is None:
            return
        if stream is not None:
            new = recipe.stream("all")
            kept = map(self.read, range(min(keep, self.reads)))
            head = b"".join(self._safely(partial(new.feed, data)) for data in kept)
            self._stream, self._taken = new, len(new.records)
            self._conformance = _seen_by(Conformance(new.setting), new.records)
            made = head + b"".join(self._safely(partial(new.feed, data)) for data in reads)
            if not self._collected:
                self._comparison.remade(made, self.reads - 1)
            self._show_records(self.steps)
        elif self._message is not None:
            self._message, self._whole, self._taken = recipe.message("all"), None, 0
            self._conformance = Conformance(self._message.setting, streamed=False)
            self._comparison.remade(b"", self.reads - 1)
            self._body = b"".join(reads)
            self._convert_whole()

    def _conclude(self, broke: bool, error: Any) -> None:
        """The last of what should have been sent, and whether anything is left over."""
        if (stream := self._stream) is not None:
            close = stream.give_up if self._dropped else stream.fail
            made = self._safely(lambda: close(error) if broke else stream.finish())
            whole = self._safely(lambda: dumps(stream.message)) if self._collected else made
            self._comparison.made(whole, self.reads - 1)
            self._show_records(self.steps)
        elif self._message is not None:
            self._convert_whole()
        self._comparison.end()

    def _safely(self, work: Callable[[], bytes]) -> bytes:
        """A failure of the transformer must be shown, and must never crash the player."""
        try:
            return work()
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> bytes:
        self.problem = self.problem or f"the transformer failed: {type(error).__name__}: {error}"
        return b""

    # -- more rows

    def _show_records(self, since: int) -> None:
        """New records become rows; `since` is the step with which their source was there."""
        transformer = self._transformer
        assert transformer is not None and self._conformance is not None
        new = transformer.records[self._taken :]
        self._taken += len(new)
        machine, client, edited = Pane.MACHINE, Pane.CLIENT, self.edited
        for record in new:
            if isinstance(record, Event):
                if not edited:
                    self._events.add(record, since)
                self._show_checks(self._conformance.event(record))
            elif isinstance(record, Delta):
                delta = self._named(record) if record.kind == "native" else record
                self._show_record(client, self._placed(delta) if edited else delta)
            elif edited:
                self._show_record(machine, self._placed(record))
            else:
                if record.call is not None and isinstance(record, Transition):
                    self._set_calls(record, record.call)
                self._show_record(machine, record)
        self._held.add_work(self.steps - 1, self.unaccounted)

    def _named(self, delta: Delta) -> Delta:
        """The transformer passes on a call of upstream's own unread; its content is shown anyway."""
        assert self._conformance is not None
        named = self._conformance.named(delta)
        if named.call is not None and not self.edited:
            self._events.set_call(delta.event, named.call, self.steps)
        return named

    def _set_calls(self, transition: Transition, call: int) -> None:
        """The events that a transition's text came in; a marker may have begun some events before."""
        step, last = self.steps, transition.event
        self._events.set_call(last, call, step)
        if self._events.call_of(last - 1, step) is not None:
            return
        for start, _ in self._bytes_of_span(transition.span)[:1]:
            for number in range(self._events.ending_after(start), last):
                self._events.set_call(number, call, step)

    def _placed(self, record: Delta | Transition | Finding) -> Delta | Transition | Finding:
        """Text from an edit has no place in what upstream sent."""
        if not self.edited:
            return record
        span = None if record.span is None else replace(record.span, event=_NOWHERE)
        return replace(record, read=self.reads - 1, event=_NOWHERE, span=span)  # type: ignore[arg-type]

    def _show_checks(self, checks: Iterable[Check]) -> None:
        for check in checks:
            self._show_record(Pane.MACHINE, self._placed(check))

    def _show_read(self, t: float, data: bytes) -> None:
        self._clock = max(self._clock, t)
        self.starts.append(len(self.data))
        self.data += data
        self.rows_of_reads.append(len(self.panes[Pane.UPSTREAM].refs))
        self._add_row(Pane.UPSTREAM, len(self.times))
        self.times.append(t)

    def _show_record(self, pane: Pane, record: Record) -> None:
        if isinstance(record, Transition):
            self.rows_of_transitions.append(len(self.panes[pane].refs))
        elif isinstance(record, Finding):
            self.finding_steps.add(self.steps, record.level)
        records = self.records
        self._add_row(pane, len(records))
        records.append(record)

    def _show_line(self, pane: Pane, line: Line) -> None:
        self._clock = max(self._clock, line.t)
        if pane is Pane.MACHINE:  # a finding of the proxy
            self.finding_steps.add(self.steps, line.level)
        self.lines.append(line)
        self._add_row(pane, ~(len(self.lines) - 1))

    def _add_row(self, pane: Pane, ref: int) -> None:
        rows, steps = self.panes[pane], self.panes_of_steps
        rows.refs.append(ref)
        rows.steps.append(len(steps))
        steps.append(pane)
        self._seconds.append(self._clock)


def _seen_by(conformance: Conformance, records: Iterable[Record]) -> Conformance:
    """A checker that has already seen these events."""
    for record in records:
        if isinstance(record, Event):
            conformance.event(record)
    return conformance
