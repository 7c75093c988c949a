"""Interception: a breakpoint holds an answer before the bytes that hit it reach the client, until a person
lets it go, edits it or drops it, or until its time is over.

Upstream is read on meanwhile, so that the whole answer can be looked at; the client gets heartbeats. An edit
takes the place of what upstream sent, before that is converted: what the client gets comes from the
transformer either way. An answer is held at most once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from transformer.answer.conformance import Conformance
from transformer.answer.stream import StreamTransformer
from transformer.answer.whole import MessageTransformer
from transformer.findings import note
from transformer.jsontext import parse_leniently
from transformer.records import Delta, Event, Record, Transition
from workbench.breakpoints import (
    WINDOW,
    Breakpoint,
    CalledTools,
    Calling,
    HeldLong,
    HeldMuch,
    Matching,
    Part,
    parse,
    record_text,
)
from workbench.errors import UserError
from workbench.patterns import TooSlow
from workbench.proxy.client import Heartbeat
from workbench.proxy.exchange import Exchange
from workbench.proxy.faults import Fault, Faulted
from workbench.proxy.relay import LONGEST_MESSAGE, Converter, MessageRelay, Relay, StreamRelay, relay_for
from workbench.proxy.upstream import Reply
from workbench.tape.format import Release
from workbench.tape.recipe import Recipe
from workbench.text import json_object

LIMIT = 300.0  # default limit on how long an answer is held, in seconds
_COMMENT = b": held\n\n"  # has no meaning in any client's API, anywhere in an answer


@dataclass(frozen=True, slots=True)
class Hit:
    """The breakpoint, and what happens."""

    breakpoint: Breakpoint
    words: str


class Watch:
    """Converts the answer again, with all records, and looks at each of them. It never raises."""

    def __init__(self, breakpoints: Sequence[Breakpoint], recipe: Recipe) -> None:
        self._breakpoints = breakpoints
        self._recipe = recipe
        self._stream: StreamTransformer | None = None
        self._conformance: Conformance | None = None
        self._taken = 0
        self._texts: dict[object, str] = {}  # the last characters of the texts so far
        self._bytes = b""
        self._called = CalledTools()
        self._held_since: float | None = None

    def feed(self, data: bytes, t: float) -> Hit | None:
        """One read of a stream, at a time."""
        try:
            if self._stream is None:
                self._stream = self._recipe.stream("all")
                self._conformance = Conformance(self._stream.setting)
            self._stream.feed(data)
            return self._hit(self._stream, data, t)
        except Exception:  # a bug of ours must not hold up the answer
            return None

    def finish(self, t: float) -> Hit | None:
        """The end of a stream."""
        try:
            if self._stream is None:
                return None
            self._stream.finish()
            return self._hit(self._stream, b"", t, over=True)
        except Exception:
            return None

    def whole(self, body: bytes, t: float) -> Hit | None:
        """An answer in one piece."""
        value = json_object(body)
        if value is None:
            return self.feed(body, t) or self.finish(t)
        try:
            message = self._recipe.message("all")
            self._conformance = Conformance(message.setting, streamed=False)
            message.convert(value, body)
            return self._hit(message, body, t, over=True)
        except Exception:
            return None

    def _hit(
        self,
        transformer: StreamTransformer | MessageTransformer,
        data: bytes,
        t: float,
        over: bool = False,
    ) -> Hit | None:
        records = list(self._new(transformer.records, over))
        texts = list(self._new_texts(records, data))
        names = list(self._new_names(records))
        held = transformer.unaccounted
        most = max((held, *(record.held for record in records if isinstance(record, Transition))))
        was_held, self._held_since = self._held_since, (self._held_since or t) if held else None
        for one in self._breakpoints:
            words = _words(one, records, texts, names)
            if isinstance(one, HeldMuch) and most > one.characters:
                words = one.said(most)
            if isinstance(one, HeldLong) and was_held is not None and t - was_held > one.seconds:
                words = one.said(held, t - was_held)
            if words is not None:
                return Hit(one, words)
        return None

    def _new(self, records: Sequence[Record], over: bool) -> Iterator[Record]:
        """New records, and how upstream's own events conform to clients' rules. Some of that is known only at
        the end."""
        assert self._conformance is not None
        fresh = records[self._taken :]
        self._taken = len(records)
        for record in fresh:
            if isinstance(record, Delta) and record.kind == "native":
                yield self._conformance.named(record)
            else:
                yield record
            if isinstance(record, Event):
                yield from self._conformance.event(record)
        if over:
            yield from self._conformance.end()

    def _new_texts(self, records: Iterable[Record], data: bytes) -> Iterator[tuple[Part, str, int]]:
        """The new text of each part, after the end of its earlier text, and where the new text begins."""
        if not any(isinstance(one, Matching) for one in self._breakpoints):
            return
        before, self._bytes = self._bytes, (self._bytes + data)[-WINDOW:]
        if data:
            yield (
                "upstream",
                (before + data).decode("utf-8", "replace"),
                len(before.decode("utf-8", "replace")),
            )
        for record in records:
            if isinstance(record, Event):
                for key, text in _said(record):
                    yield self._grown("upstream", key, text)
            elif isinstance(record, Transition):
                yield "machine", record_text(record), 0
                yield self._grown("machine", (record.span.choice, record.span.channel), record.text)
            elif isinstance(record, Delta):
                yield "client", record_text(record), 0
                yield self._grown("client", (record.choice, record.kind, record.call), record.text)
            else:
                yield "machine", record_text(record), 0

    def _grown(self, part: Part, key: object, text: str) -> tuple[Part, str, int]:
        before = self._texts.get((part, key), "")
        self._texts[part, key] = (before + text)[-WINDOW:]
        return part, before + text, len(before)

    def _new_names(self, records: Iterable[Record]) -> Iterator[str]:
        """The tools that are called; those of calls that upstream makes itself stand in its events."""
        for record in records:
            if (name := self._called.of_record(record)) is not None:
                yield name
            elif isinstance(record, Event) and b'"tool_calls"' in record.data:
                yield from (text for key, text in _said(record) if key[1] == "name")


def _words(
    one: Breakpoint, records: Sequence[Record], texts: Sequence[tuple[Part, str, int]], names: Sequence[str]
) -> str | None:
    if isinstance(one, Calling):
        return one.of_names(names)
    if isinstance(one, Matching):
        return next((words for text in texts if (words := _matched(one, *text)) is not None), None)
    return next((words for record in records if (words := one.of_record(record)) is not None), None)


def _matched(one: Matching, part: Part, text: str, new: int) -> str | None:
    if part not in one.parts:
        return None
    try:
        found = next((m[0] for m in one.regex.finditer(text) if m[0] and m.end() > new), None)
    except TooSlow:
        return None
    return None if found is None else one.said(found, part)


def _said(event: Event) -> Iterator[tuple[tuple[int, str, int], str]]:
    """The texts of one of upstream's events: by choice, field and call."""
    value = parse_leniently(event.data).value
    choices = value.get("choices") if isinstance(value, dict) else None
    for at, choice in enumerate(choices if isinstance(choices, list) else ()):
        said = choice.get("delta") or choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(said, dict):
            continue
        for name in ("content", "reasoning", "reasoning_content"):
            if isinstance(text := said.get(name), str):
                yield (at, name, -1), text
        calls = said.get("tool_calls")
        for number, call in enumerate(calls if isinstance(calls, list) else ()):
            function = call.get("function") if isinstance(call, dict) else None
            for name in ("name", "arguments"):
                if isinstance(function, dict) and isinstance(text := function.get(name), str) and text:
                    yield (at, name, int(call.get("index") or number)), text


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a held answer; `keep` and `reads` where the client gets something else."""

    how: Release
    keep: int | None = None
    reads: tuple[str, ...] = ()


_WHY: Mapping[Release, str] = {
    "unchanged": "a person let it go",
    "limit": "not decided in time",
    "left": "the client went away",
    "stopped": "the proxy was stopped",
}


@dataclass(eq=False)
class Hold:
    """One answer that waits. `keep` is how many reads had come before the one that hit the breakpoint."""

    exchange: Exchange
    hit: Hit
    keep: int
    limit: float
    on_end: Callable[[Hold], None]
    check: Callable[[int, Sequence[bytes]], str | None]  # why an edit cannot be made
    since: float = field(default_factory=time.monotonic)
    arriving: bool = True  # upstream still sends
    decision: Decision | None = None

    def __post_init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.decided: asyncio.Future[Decision] = loop.create_future()
        self._timer = loop.call_later(self.limit, self.decide, Decision("limit"))
        self.exchange.recording.hold(self.exchange.clock(), str(self.hit.breakpoint), self.hit.words)
        found = note("answer-held", breakpoint=str(self.hit.breakpoint), what=self.hit.words)
        self.exchange.note(found.code, found.level, found.message)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.since

    def shown(self) -> dict[str, Any]:
        """For a viewer."""
        return {
            "id": self.exchange.recording.id,
            "path": str(self.exchange.recording.path),
            "breakpoint": str(self.hit.breakpoint),
            "message": self.hit.words,
            "seconds": round(self.seconds, 3),
            "left": round(max(0.0, self.limit - self.seconds), 3),
            "arriving": self.arriving,
            "keep": self.keep,
        }

    def decide(self, decision: Decision) -> None:
        """Only the first decision counts."""
        if self.decision is not None:
            return
        self.decision = decision
        self._timer.cancel()
        exchange = self.exchange
        exchange.recording.release(
            exchange.clock(), decision.how, self.seconds, decision.keep, decision.reads
        )
        if decision.how in ("edited", "dropped"):
            found = note(f"answer-{decision.how}")
        else:
            found = note("answer-released", why=_WHY[decision.how])
        exchange.note(found.code, found.level, found.message)
        self.decided.set_result(decision)
        self.on_end(self)


class Intercept:
    """The breakpoints of a running proxy, and the answers that are held."""

    def __init__(self, standing: Sequence[str] = ()) -> None:
        self._standing = [parse(text) for text in standing]
        self.breakpoints: Sequence[Breakpoint] = self._standing
        self.limit = LIMIT
        self.held: dict[str, Hold] = {}

    def set(self, texts: Sequence[str], limit: float | None) -> None:
        """From the next answer on. UserError: one of them is not a breakpoint."""
        self.breakpoints = [parse(text) for text in texts]
        if limit is not None:
            self.limit = limit

    def reset(self) -> None:
        """Back to those of the command line; held answers are let go."""
        self.breakpoints, self.limit = self._standing, LIMIT
        self.let_go()

    def let_go(self) -> None:
        for hold in list(self.held.values()):
            hold.decide(Decision("unchanged"))

    def hold(
        self,
        exchange: Exchange,
        hit: Hit,
        keep: int,
        check: Callable[[int, Sequence[bytes]], str | None],
    ) -> Hold:
        held = Hold(exchange, hit, keep, self.limit, self._end, check)
        self.held[exchange.recording.id] = held
        return held

    def _end(self, hold: Hold) -> None:
        self.held.pop(hold.exchange.recording.id, None)

    def relay(self, exchange: Exchange) -> Relay:
        """The relay for an answer; a holding one only if breakpoints are set."""
        recipe = exchange.recipe
        if not self.breakpoints or recipe is None:
            return relay_for(exchange)
        relay = HeldStream if exchange.outgoing.incoming.wants_stream else HeldMessage
        return relay(exchange, recipe, self)

    # -- what a person decides; UserError says why that is not possible

    def release(self, id: str) -> None:
        self._of(id).decide(Decision("unchanged"))

    def drop(self, id: str) -> None:
        hold = self._of(id)
        hold.decide(Decision("dropped", hold.keep))

    def edit(self, id: str, keep: int, reads: Sequence[str]) -> None:
        hold = self._of(id)
        if hold.arriving:
            raise UserError("upstream is still sending this answer; it can be edited when all of it is here")
        problem = hold.check(keep, [read.encode("utf-8", "replace") for read in reads])
        if problem is not None:
            raise UserError(problem)
        hold.decide(Decision("edited", keep, tuple(reads)))

    def _of(self, id: str) -> Hold:
        if id not in self.held:
            raise UserError("this answer is not held; it may have been let go when its time was over")
        return self.held[id]


def _dropped(hold: Hold) -> Fault:
    """A status that clients do not take for a passing one: they must not retry automatically."""
    message = f"the answer was dropped by a person at the workbench (breakpoint {hold.hit.breakpoint})"
    return Fault(422, message, "workbench_dropped", "dropped", permanent=True, is_noted=True)


_ALREADY = "the client has the beginning of this answer already; only what comes after it can be edited"


class HeldStream(StreamRelay):
    """A streamed answer that may be held."""

    def __init__(self, exchange: Exchange, recipe: Recipe, intercept: Intercept) -> None:
        super().__init__(exchange, recipe)
        self._recipe = recipe
        self._intercept = intercept
        self._watch = Watch(intercept.breakpoints, recipe)
        self._hold: Hold | None = None
        self._reads: list[bytes] = []
        self._sent: list[bytes] = []  # what the client has of the answer
        self._half = False  # it has only the beginning of an event
        self._writing: asyncio.Future[None] | None = None
        every = exchange.settings.heartbeat
        self._heartbeat = Heartbeat(self.client, self._begin_late, self.beat, every)

    @property
    def _waits(self) -> bool:
        return self._hold is not None and self._hold.decision is None

    def beat(self) -> bytes:
        if not self._waits:
            return super().beat()
        return b"" if self._half else _COMMENT

    # -- holding

    @property
    def _goes_well(self) -> bool:
        return False  # each piece is checked before it goes on

    async def _take(self, data: bytes) -> None:
        if self._hold is None:
            self._half = self._converter.transformer.half_sent
            self._look(self._watch.feed(data, self.exchange.clock()))
        self._reads.append(data)
        await super()._take(data)

    async def _finish(self) -> None:
        if self._hold is None:
            self._look(self._watch.finish(self.exchange.clock()))
        await super()._finish()

    def _look(self, hit: Hit | None) -> None:
        if hit is not None:
            hold = self._intercept.hold(self.exchange, hit, len(self._reads), self._why_not)
            hold.decided.add_done_callback(lambda _: self._go_on(hold))
            self._hold = hold

    async def _write_pending(self) -> None:
        if not self._waits:
            self._sent += self._pending
            await super()._write_pending()

    # -- going on

    def _go_on(self, hold: Hold) -> None:
        """The user has decided while upstream may still send."""
        assert hold.decision is not None
        if hold.decision.how == "dropped":
            self._replace(hold.keep, ())
            if hold.arriving:  # else the task that waits for the decision goes on with it
                self.exchange.interrupt(_dropped(hold))
        elif hold.arriving and self.client.started and not self.client.over:
            self._writing = asyncio.ensure_future(self._write_pending())

    def _made_of(self, keep: int, reads: Sequence[bytes]) -> tuple[Converter, bytes]:
        converter = Converter(self._recipe)
        return converter, b"".join(map(converter.feed, (*self._reads[:keep], *reads)))

    def _why_not(self, keep: int, reads: Sequence[bytes]) -> str | None:
        converter, out = self._made_of(keep, reads)
        whole = out + converter.finish()
        return None if whole.startswith(b"".join(self._sent)) else _ALREADY

    def _replace(self, keep: int, reads: Sequence[bytes]) -> None:
        """The answer differs from its first change on; what the client already has stays."""
        self._converter, out = self._made_of(keep, reads)
        self._pending = [out[sum(map(len, self._sent)) :]]

    async def _settle(self) -> bool:
        """The whole answer is here: wait for the user's decision. True: the answer was edited."""
        hold = self._hold
        if hold is None:
            return False
        hold.arriving = False
        await asyncio.wait([hold.decided])
        if self._writing is not None:
            await self._writing
        decision = hold.decision
        assert decision is not None
        if decision.how == "dropped":
            raise Faulted(_dropped(hold))
        if decision.how == "edited":
            assert decision.keep is not None
            self._replace(decision.keep, [read.encode("utf-8", "replace") for read in decision.reads])
            self._pending.append(self._converter.finish())
        await self._write_pending()
        return decision.how == "edited"

    async def _end(self) -> None:
        await self._settle()
        await super()._end()

    async def relay(self) -> None:
        try:
            await super().relay()
        except asyncio.CancelledError:
            self._abandon()
            raise

    def _abandon(self) -> None:
        if self._hold is not None:
            self._hold.decide(Decision("left" if self.exchange.client_left else "stopped"))

    async def break_off(self, fault: Fault) -> None:
        """A dropped answer ends with an error, whatever the client has of it, even a complete call."""
        if self._hold is None or self._hold.decision is None or self._hold.decision.how != "dropped":
            await super().break_off(fault)
            return
        self._pending.append(self._converter.transformer.give_up(fault.error))
        await self._write_pending()
        await self.client.end()

    async def fail(self, fault: Fault) -> None:
        """Upstream broke while the answer is held: what came is still to be decided on."""
        if self._waits:
            try:
                if await self._settle():
                    await super()._end()
                    self.exchange.end("done", self.summary())
                    return
            except asyncio.CancelledError:
                self._abandon()
                raise
            except Faulted as dropped:
                fault = dropped.fault
        await super().fail(fault)


class HeldMessage(MessageRelay):
    """An answer in one piece that may be held: the client simply waits."""

    def __init__(self, exchange: Exchange, recipe: Recipe, intercept: Intercept) -> None:
        super().__init__(exchange, recipe)
        self._intercept = intercept
        self._reply: Reply | None = None

    async def relay(self) -> None:
        exchange = self.exchange
        self._reply = reply = await exchange.ask()
        if not 200 <= reply.status < 300:
            await self.refuse(reply, self._recipe.message("none").setting.raw)
            return
        came = await exchange.read_whole(reply, LONGEST_MESSAGE)
        body = self._converted(came, reply)
        hit = Watch(self._intercept.breakpoints, self._recipe).whole(came, exchange.clock())
        if hit is not None:
            body = await self._decided(hit, body)
        await self.client.answer(reply.status, self._headers(reply), body)
        exchange.end("done", self._summary)

    async def _decided(self, hit: Hit, body: bytes) -> bytes:
        hold = self._intercept.hold(self.exchange, hit, 0, self._why_not)
        hold.arriving = False
        try:
            await asyncio.wait([hold.decided])
        except asyncio.CancelledError:
            hold.decide(Decision("left" if self.exchange.client_left else "stopped"))
            raise
        assert hold.decision is not None and self._reply is not None
        if hold.decision.how == "dropped":
            self._summary = {}
            raise Faulted(_dropped(hold))
        if hold.decision.how == "edited":
            edited = [read.encode("utf-8", "replace") for read in hold.decision.reads]
            return self._converted(b"".join(edited), self._reply)
        return body

    def _why_not(self, keep: int, reads: Sequence[bytes]) -> str | None:
        assert self._reply is not None
        if keep:
            return "an answer in one piece is edited as a whole: keep is 0"
        try:
            self._converted(b"".join(reads), self._reply)
        except Faulted as broken:
            return broken.fault.message
        return None


def read_wish(body: Mapping[str, Any]) -> tuple[int, list[str]]:
    """An edit as requested by a viewer."""
    keep, reads = body.get("keep", 0), body.get("reads")
    if type(keep) is not int or keep < 0 or not isinstance(reads, list):
        raise UserError('an edit is {"keep": how many reads stay, "reads": [the texts that come instead]}')
    if not all(isinstance(read, str) for read in reads):
        raise UserError("reads is a list of texts")
    return keep, reads
