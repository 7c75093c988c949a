"""The pipeline of a stream: upstream's bytes in, the client's bytes out; and its rescue.

Should this package itself fail, the rest of the answer goes on as plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from transformer.answer.answer import Answer
from transformer.answer.choice import Choice
from transformer.answer.events import EventReader, error_in
from transformer.answer.setting import make_setting
from transformer.frontends.errorobjects import as_error
from transformer.frontends.frontend import Frontend
from transformer.journal import Journal, Keep
from transformer.jsontext import Object, parse_leniently
from transformer.parser.dialect import Dialect
from transformer.parser.machine import Machine
from transformer.policy import Policy
from transformer.provenance import SourceMap, resolve
from transformer.records import Delta, Finding, Ranges, Read, Record, Span
from transformer.sse import SSEDecoder
from transformer.upstreams.kind import Place, UpstreamKind

_EXCERPT = 120
_MOST_ROUNDS = 8  # in a read: a run of prose, and the event that ended it
_MANY = 2048  # bytes of a read in which a run of prose may begin and be of use


class StreamTransformer:
    """Converts one streamed answer. `feed` it bytes, then `finish` it, or `fail` it if upstream broke.

    Where nothing is to be converted (no tools, `tool_choice: "none"`, a dialect without calls) the
    bytes go on as they come; the records are made anyway.
    """

    def __init__(
        self,
        dialect: str | Dialect,
        tools: Iterable[Any] | None = None,
        policy: Policy | Mapping[str, Any] | None = None,
        request: Mapping[str, Any] | None = None,
        ids: Callable[[int], str] | None = None,
        now: float = 0,
        records: Keep = "all",
        frontend: str | Frontend = "chat",
        upstream: str | UpstreamKind = "openai",
    ) -> None:
        self.setting = make_setting(dialect, tools, policy, request, ids, now, frontend, upstream)
        self._journal = Journal(records)
        self._decoder = SSEDecoder()
        self._answer = Answer(self.setting, self._journal)
        self._reader = EventReader(self._answer, self._journal)
        self._received = 0

    def begin(self) -> bytes:
        """What the client may have before upstream says anything; else it comes with the first `feed`."""
        self._answer.client.open()
        return self._answer.client.take()

    @property
    def heartbeat(self) -> bytes:
        """What keeps a silent client waiting, once it has what `begin` gives."""
        return self._answer.client.heartbeat

    def feed(self, chunk: bytes) -> bytes:
        """More of upstream's bytes; returns what the client gets now."""
        self._journal.read += 1
        if self._journal.all:
            self._journal.reads.append(Read(self._journal.read, self._received, self._received + len(chunk)))
        size = len(chunk)
        self._received += size
        reader, decoder = self._reader, self._decoder
        run = reader.run
        if run is not None and decoder.rests and run.take_one(chunk):  # as with most reads
            self._journal.event += 1
            decoder.skip(size)
        elif self.setting.raw and self._journal.keep == "none":
            return chunk
        elif (run is None and size < _MANY) or chunk.find(b"\n\n") == size - 2:
            self._read(chunk)
        else:
            self._take(chunk)
        own = self._answer.client.take()
        return chunk if self.setting.raw else own

    def _take(self, data: bytes) -> None:
        """Processes one read: prose events of a run in one go, others one by one."""
        reader, decoder = self._reader, self._decoder
        for _ in range(_MOST_ROUNDS):
            run = reader.run
            if run is not None and decoder.rests:
                taken = reader.take_run(run, data)
                decoder.skip(taken)
                if taken == len(data):
                    return
                data = data[taken:]
            end = data.find(b"\n\n") + 2
            if not 1 < end < len(data) or not reader.may_run:
                break
            self._read(data[:end])
            data = data[end:]
        self._read(data)

    def _read(self, data: bytes) -> None:
        for frame in self._decoder.feed(data):
            self._reader.event(frame)

    def finish(self) -> bytes:
        """A clean end of the stream."""
        self._flush()
        self._reader.end()
        if self._answer.choices:
            self._answer.end()
        elif not self.setting.raw or not self._received:
            self._nothing_came()
        own = self._answer.client.take()
        return b"" if self.setting.raw else own

    def fail(self, error: object) -> bytes:
        """Upstream broke: what was held back leaves, then an error, unless the answer is whole already."""
        half = self.half_sent
        self._flush()
        self._reader.let_go()
        held = self._answer.client.take()
        self._answer.break_off(error)
        own = self._answer.client.take() if self.setting.raw else held + self._answer.client.take()
        return b"\n\n" + own if own and half else own

    def give_up(self, error: object) -> bytes:
        """Only an error and the end: for the caller, when nothing else works any more."""
        client = self._answer.client
        client.take()
        client.error(as_error(error, "upstream_error"))
        client.done()
        return client.take()

    def _flush(self) -> None:
        for frame in self._decoder.flush():
            self._reader.event(frame)

    def _nothing_came(self) -> None:
        """An empty answer is never a success; a body that is not SSE is shown as far as it goes."""
        if self._answer.ended:
            return
        body = b"\n".join(self._decoder.stray)
        if body and self._reader.whole(body):
            return
        error: Any = "upstream sent an empty answer"
        if body:
            excerpt = body[:_EXCERPT].decode("utf-8", "replace")
            self._journal.found("not-sse", count=self._decoder.lost, excerpt=excerpt)
            obj = parse_leniently(body).value
            reported = error_in(obj) if isinstance(obj, dict) else None
            error = reported or f"upstream did not answer with a stream of events but with: {excerpt}"
        self._journal.found("empty-answer")
        self._answer.tell_error(as_error(error, "upstream_error"))

    # -- what is known about it

    @property
    def records(self) -> list[Record]:
        return self._journal.records.items

    @property
    def reads(self) -> list[Read]:
        """The pieces in which the bytes came; only with records="all"."""
        return self._journal.reads.items

    @property
    def findings(self) -> list[Finding]:
        return self._journal.findings.items

    @property
    def completion(self) -> Object | None:
        """The answer so far as one chat.completion; None where no records are kept."""
        if self._journal.keep == "none":
            return None
        self._reader.settle()
        client, choices = self._answer.client, self._answer.choices
        whole = client.metadata | {"object": "chat.completion"}
        whole["choices"] = [choices[index].completed() for index in sorted(choices)]
        if client.last_usage is not None:
            whole["usage"] = client.last_usage
        return whole

    @property
    def message(self) -> Object | None:
        """The answer so far as one object of the client's API; None where no records are kept."""
        completion = self.completion
        return None if completion is None else self._answer.client.whole(completion)

    @property
    def unaccounted(self) -> int:
        """Characters that came and are neither emitted nor markup nor named in a finding; 0 at the end."""
        return sum(choice.unaccounted for choice in self._answer.choices.values())

    @property
    def goes_on(self) -> bool:
        """Neither `ended` nor `finished`, which is asked for every read."""
        answer = self._answer
        return not answer.ended and not answer.finished and not self._reader.finished

    @property
    def ended(self) -> bool:
        """The answer is over; nothing upstream may still send changes it."""
        return self._answer.ended

    @property
    def finished(self) -> bool:
        """The answer is whole; only its usage may still come."""
        return self._answer.finished or self._reader.finished

    @property
    def place(self) -> Place | None:
        """Where upstream's own conversation goes on, as far as the answer has told; None: it keeps none."""
        return self._reader.place

    @property
    def events(self) -> int:
        """How many events have come as a whole."""
        return self._journal.event + 1

    @property
    def calls(self) -> int:
        """How many calls the client was told of, upstream's own ones included."""
        return sum(choice.calls for choice in self._answer.choices.values())

    @property
    def usage(self) -> Object | None:
        """The last usage that upstream reported, as OpenAI counts it."""
        waiting = self._answer.usage
        return self._answer.client.last_usage if waiting is None else waiting["usage"]

    @property
    def error(self) -> Object | None:
        """The error that this answer ended with, as the client gets it."""
        return self._answer.error

    @property
    def half_sent(self) -> bool:
        """The client has only the beginning of an event, so nothing else may be written to it now."""
        return self.setting.raw and not self._decoder.idle

    @property
    def sources(self) -> Mapping[tuple[int, str], SourceMap]:
        """By choice and channel: where each character of the text is; only with records="all"."""
        return self._answer.sources

    def bytes_of(self, span: Span) -> Ranges:
        """The upstream bytes that a span stands for; only with records="all"."""
        source = self.sources.get((span.choice, span.channel), SourceMap())
        return resolve(span, source, self._journal.events.items)

    def close(self) -> None:
        """It is not needed any more. Its parts refer to each other in cycles: without this their memory is
        freed only by the next full garbage collection, for which a busy server seldom has time."""
        self._answer.close()

    def snapshot(self) -> StreamTransformer:
        """A copy to come back to; texts and records are shared with it, not copied."""
        self._reader.settle()
        twin = StreamTransformer.__new__(StreamTransformer)
        twin.setting = self.setting
        twin._journal = self._journal.clone()
        twin._decoder = self._decoder.clone()
        twin._answer = self._answer.clone(twin._journal)
        twin._reader = self._reader.clone(twin._answer, twin._journal)
        twin._received = self._received
        return twin

    def restore(self, snapshot: StreamTransformer) -> None:
        """Back to where `snapshot` was taken; it stays good for another time."""
        self.__dict__.update(snapshot.snapshot().__dict__)


# -- the rescue

_Part = tuple[int, str]  # a choice and a channel of it
_END = 1 << 62
_ALL = [(0, _END)]


def rescue(
    broken: StreamTransformer, reads: Iterable[bytes], error: object
) -> tuple[StreamTransformer, bytes]:
    """A transformer that converts nothing and goes on where `broken` failed, and what is to be sent now.

    `reads` is everything that came, however it is cut, the piece at which it failed included. What the client
    has already is not sent again; what was held back is sent as it was written.
    """
    broken._reader.settle()
    for choice in broken._answer.choices.values():
        for machine in choice._machines.values():
            _deliver(choice, machine)
    out = broken._answer.client.take()
    plain = _plain(broken)
    failed_at = broken._journal.event
    after = []
    for read in reads:
        plain._received += len(read)
        for frame in plain._decoder.feed(read):
            if plain._journal.event >= failed_at:
                after.append(frame)
            else:
                plain._reader.event(frame)
    plain._journal.read = broken._journal.read
    _carry_over(broken, plain)
    plain._journal.found("transformer-failed", reason=f"{type(error).__name__}: {error}")
    _send_rest(plain, _open(broken))
    for frame in after:
        plain._reader.event(frame)
    return plain, out + plain._answer.client.take()


def _deliver(choice: Choice, machine: Machine | None) -> None:
    """What a machine had found out before it failed is still valid."""
    if machine is not None:
        with suppress(Exception):
            choice._deliver(machine)


def _plain(broken: StreamTransformer) -> StreamTransformer:
    setting = broken.setting
    plain = StreamTransformer(setting.dialect, records="all", upstream=setting.upstream)
    policy = replace(setting.policy, channels=())
    plain.setting = plain._answer.setting = replace(setting, policy=policy)
    plain._answer.client = broken._answer.client.clone()  # shapes remember its metadata
    return plain


def _open(broken: StreamTransformer) -> dict[_Part, list[tuple[int, int]]]:
    """Undecided text of each channel; the client has all the rest, or it is markup, or a finding names it."""
    found = {}
    for index, choice in broken._answer.choices.items():
        for channel, machine in choice._machines.items():
            found[index, channel] = [(choice._offsets[channel], _END)] if machine is None else _held(machine)
    return found


def _held(machine: Machine) -> list[tuple[int, int]]:
    """Whitespace that waits for what follows it, maybe with markup after it; and the end of what came."""
    waiting = [(piece.start, piece.start + len(piece.text)) for piece in machine.prose._spaces]
    rest = machine.held - sum(end - start for start, end in waiting)
    return [*waiting, (machine.received - rest, _END)]


def _carry_over(broken: StreamTransformer, plain: StreamTransformer) -> None:
    """What the client knows of each choice, so that nothing is said twice and the finish is true."""
    plain._answer.client = broken._answer.client.clone()
    plain._journal.findings = broken._journal.findings.clone()
    plain._answer.ended, plain._answer.finished = broken._answer.ended, broken._answer.finished
    for index, old in broken._answer.choices.items():
        new = plain._answer.choice(index)
        new.client, new.said, new._ids = plain._answer.client, old.said, old._ids
        new.calls, new.complete, new.next_index = old.calls, old.complete, old.next_index
        new._natives = dict(old._natives)


def _send_rest(plain: StreamTransformer, open_parts: dict[_Part, list[tuple[int, int]]]) -> None:
    for record in plain.records:
        if not isinstance(record, Delta) or record.span is None or not record.span.channel:
            continue
        span, choice = record.span, plain._answer.choices[record.span.choice]
        for start, end in open_parts.get((span.choice, span.channel), _ALL):
            new = record.text[max(0, start - span.start) : max(0, end - span.start)]
            if new:
                choice.client.text(choice.index, choice.fields(span.channel), new)
