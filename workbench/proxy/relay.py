"""The relays of an answer from upstream to the client: streamed (each read is recorded, converted and written
at once), as a message (converted in one go), or unchanged. A bug in the transformer makes none of them fail.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

from transformer.answer.events import error_in
from transformer.answer.leaks import hits
from transformer.answer.observations import observation
from transformer.answer.review import observed
from transformer.answer.stream import StreamTransformer, rescue
from transformer.jsontext import dumps
from transformer.sse import SSEDecoder
from transformer.upstreams import find_kind
from workbench.proxy.client import Heartbeat
from workbench.proxy.exchange import LONGEST_ERROR, Exchange
from workbench.proxy.faults import Fault, Faulted, is_about_model, of_answer, refused
from workbench.proxy.incoming import SERVED, SERVES, Pairs, first, headers_for_client
from workbench.proxy.upstream import Reply
from workbench.tape.format import End
from workbench.tape.recipe import Recipe
from workbench.text import json_object

_SSE: Pairs = [("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache")]
_DRAIN = 1.0  # seconds to wait for data after the end
LONGEST_MESSAGE = 1 << 30
_DEEPEST = 12  # levels of an answer that are searched for a model's text


_PLAIN = 1 << 20  # bytes of an answer; hardly any has more
_BLOCK = 64 << 10  # packing this much takes a third of a millisecond


class Reads:
    """Everything that came, in order. Beyond the usual size it is compressed: events resemble each other, and
    compressed they take a thirtieth of the space."""

    __slots__ = ("_new", "_packed", "_room", "_size")

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        self._new: list[bytes] = []
        self._size = 0
        self._room = _PLAIN

    def add(self, data: bytes) -> None:
        self._new.append(data)
        self._size += len(data)
        if self._size > self._room:
            self._packed.append(zlib.compress(b"".join(self._new), 1))
            self._new, self._size, self._room = [], 0, _BLOCK

    def __iter__(self) -> Iterator[bytes]:
        """The bytes; not in the pieces in which they came."""
        yield from map(zlib.decompress, self._packed)
        yield from self._new


class Converter:
    """`feed`, `finish` and `fail` as the transformer has them, and none of them ever raises.

    If the transformer fails, the rest of the answer goes on as plain text; if even that fails, the client is
    told so and the stream ends.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self.transformer: StreamTransformer = recipe.stream("findings")
        self.raw = self.transformer.setting.raw
        self._reads = Reads()
        self._rescued = False
        self._gave_up: dict[str, Any] | None = None  # the error that the client got instead of the rest

    def feed(self, data: bytes) -> bytes:
        if self._gave_up is not None:
            return b""
        if not self.raw:
            self._reads.add(data)  # for a rescue
        try:
            return self.transformer.feed(data)
        except Exception as error:
            return data if self.raw else self._rescue(error)

    def finish(self) -> bytes:
        return self._close(lambda transformer: transformer.finish())

    def fail(self, error: object) -> bytes:
        return self._close(lambda transformer: transformer.fail(error))

    def _close(self, close: Callable[[StreamTransformer], bytes]) -> bytes:
        if self._gave_up is not None:
            return b""
        try:
            return close(self.transformer)
        except Exception as error:
            return b"" if self.raw else self._rescue(error, close)

    def _rescue(self, error: Exception, close: Callable[[StreamTransformer], bytes] | None = None) -> bytes:
        try:
            if self._rescued:
                raise error
            self._rescued = True
            self.transformer, out = rescue(self.transformer, self._reads, error)
            return out + close(self.transformer) if close is not None else out
        except Exception as again:
            message = f"the workbench itself failed ({type(again).__name__}: {again}); please report it"
            self._gave_up = {"message": message, "type": "workbench_error", "param": None, "code": None}
            return self.transformer.give_up(self._gave_up)

    def close(self) -> None:
        """It is not needed any more: free its memory at once."""
        self.transformer.close()

    def begin(self) -> bytes:
        """What the client can have before upstream says anything."""
        return b"" if self._gave_up is not None else self.transformer.begin()

    def heartbeat(self) -> bytes:
        """What keeps a client waiting; nothing while it has only half of an event."""
        return b"" if self.transformer.half_sent else self.transformer.heartbeat

    @property
    def events(self) -> int:
        return self.transformer.events

    @property
    def goes_on(self) -> bool:
        """The end of the answer has not come."""
        return self._gave_up is None and self.transformer.goes_on

    @property
    def ended(self) -> bool:
        return self._gave_up is not None or self.transformer.ended

    @property
    def finished(self) -> bool:
        return self.transformer.finished

    @property
    def error(self) -> dict[str, Any] | None:
        return self._gave_up or self.transformer.error

    @property
    def said_nothing(self) -> bool:
        """Not one choice has come, so an error can still be an HTTP status."""
        whole = self.transformer.completion
        return not whole or not whole["choices"]

    @property
    def stays_empty(self) -> bool:
        """Not one event has come, nor would one at a clean end. A copy is asked: this one may still fail."""
        if self.events:
            return False
        copy = self.transformer.snapshot()
        copy.finish()
        return not copy.events

    @property
    def begun(self) -> bool:
        """The answer has begun; an event that cannot be understood does not count."""
        if self.raw:
            return self.events > 0
        return self.ended or (self.events > 0 and not self.said_nothing)

    def summary(self) -> dict[str, Any]:
        """For the tape's last line."""
        t = self.transformer
        recipe = self._recipe
        completion = t.completion  # built again each time
        seen = observed(completion, recipe.chat, recipe.dialect, recipe.policy)
        findings = Counter([*(found.code for found in t.findings), *(found.code for found in seen)])
        if self._gave_up is not None:
            findings["transformer-failed"] += 1
        return {"calls": t.calls, "findings": dict(findings), "usage": t.usage, **_answer(completion)}


def _answer(completion: Any) -> dict[str, Any]:
    """The whole answer, as far as one came, for the tape's last line."""
    return {"answer": completion} if completion and completion.get("choices") else {}


class Relay:
    """One way to relay an answer."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.client = exchange.client
        self.upstream = exchange.outgoing.upstream.name

    async def run(self) -> None:
        """Runs to the end of the answer, or until the task is cancelled because the client has left."""
        try:
            with self.exchange.interruptible():
                await self.relay()
        except Faulted as broken:
            await self.fail(broken.fault)

    async def relay(self) -> None:
        """Relays the whole answer. Raises Faulted if upstream gives none, or not all of it."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any]:
        """What the tape's last line says about the answer."""
        return {}

    async def fail(self, fault: Fault) -> None:
        """Tell the client, as far as that is still possible, and the tape."""
        self.exchange.note_fault(fault)
        if self.client.started:
            await self.break_off(fault)
        else:
            await self.exchange.answer_fault(fault)
        self.exchange.end("error", self.summary() | _status_of(fault), fault.error)

    async def break_off(self, fault: Fault) -> None:
        """After the headers were sent. By default the body is not ended: the server hangs up, which a client
        notices."""

    async def pass_on(self, reply: Reply) -> Fault | None:
        """Status, headers and bytes as they come. A refusal by upstream is a fault, which the client has been
        told when this returns."""
        exchange = self.exchange
        head = bytearray()
        await self.client.start(reply.status, _unchanged_headers(reply))
        async for data in reply.reads():
            exchange.recording.read(exchange.clock(), data)
            head += data[: LONGEST_ERROR - len(head)]
            await self.client.write(data, "proxy" if exchange.recipe is not None else None)
        await self.client.end()
        if reply.status < 400:
            self.passed_on(bytes(head))
            return None
        fault = refused(reply.status, bytes(head), self.upstream)
        exchange.note_fault(fault)
        return fault

    def passed_on(self, head: bytes) -> None:
        """Called with what went to the client unchanged, as far as it is inspected."""

    async def refuse(self, reply: Reply, raw: bool) -> None:
        """Upstream refused. Where nothing is converted (`raw`), its answer goes on as it is."""
        if not raw or self.client.started or not 400 <= reply.status < 600:
            raise Faulted(await self.exchange.refusal(reply))
        fault = await self.pass_on(reply)
        assert fault is not None
        self.exchange.end("error", self.summary() | _status_of(fault), fault.error)

    def empty(self) -> Fault:
        return Fault(
            502, f"the upstream {self.upstream} sent an empty answer. Its log may say why.", code="empty"
        )


def _status_of(fault: Fault) -> dict[str, Any]:
    """For the tape's last line: the client may have been told 200 long before."""
    return {} if fault.answered is None else {"status": fault.answered}


class StreamRelay(Relay):
    """One streamed answer of a chat, from upstream's head to the client's end."""

    def __init__(self, exchange: Exchange, recipe: Recipe) -> None:
        super().__init__(exchange)
        self._converter = Converter(recipe)
        exchange.held_back = lambda: self._converter.transformer.unaccounted
        self._headers: Pairs = _SSE
        self._head = bytearray()  # how it began, while it may turn out not to be a stream
        self._pending: list[bytes] = []  # what the client does not have yet
        self._heartbeat = Heartbeat(self.client, self._begin_late, self.beat, exchange.settings.heartbeat)

    async def run(self) -> None:
        try:
            await super().run()
        except asyncio.CancelledError:
            self.exchange.end("cancelled", self.summary(), self.exchange.why_cancelled)
            raise
        finally:
            self._heartbeat.stop()
            self._let_go()

    def _let_go(self) -> None:
        """Parts that refer to each other in cycles would stay in memory until a full garbage collection."""
        self._converter.close()
        self.exchange.held_back = None
        del self._heartbeat

    async def relay(self) -> None:
        self._heartbeat.due_in(self.exchange.settings.silence)
        reply = await self.exchange.ask()
        if not 200 <= reply.status < 300:
            await self._heartbeat.finish()
            await self.refuse(reply, self._converter.raw)
            return
        how = await self._stream(reply)
        if not self._converter.transformer.setting.frontend.relays:
            self.exchange.answer = self._converter.transformer.message
        self.exchange.place = self._converter.transformer.place
        self.exchange.end(how, self.summary(), self._converter.error)

    def summary(self) -> dict[str, Any]:
        return self._converter.summary()

    def beat(self) -> bytes:
        """What keeps the client waiting."""
        return self._converter.heartbeat()

    async def _stream(self, reply: Reply) -> End:
        exchange, converter = self.exchange, self._converter
        self._headers = _stream_headers(reply)
        if not self.client.started:
            self._heartbeat.due_in(exchange.settings.head_wait)
        reads = reply.reads()
        async for data in reads:
            await self._take(data)
            if self._goes_well:
                await reply.pump(self._take_now)
                await self._write_pending()
            if converter.ended and not converter.raw:
                await self._end()
                await self._drain(reads)
                return "done"
            if converter.finished and not converter.raw:
                await self._take_rest(reads)
                break
        await self._finish()
        return "done" if converter.ended else "eof"

    async def _take_rest(self, reads: AsyncIterator[bytes]) -> None:
        """The answer is whole; its usage may still come, or not."""
        try:
            async with asyncio.timeout(_DRAIN):
                async for data in reads:
                    await self._take(data)
        except (TimeoutError, Faulted):
            pass

    async def _take(self, data: bytes) -> None:
        """One read: on the tape, through the transformer, to the client."""
        exchange, converter = self.exchange, self._converter
        exchange.recording.read(exchange.clock(), data)
        self._pending.append(converter.feed(data))
        if not self.client.started or not converter.events:
            self._head += data[: LONGEST_ERROR - len(self._head)]
        if self.client.started:
            await self._write_pending()
        elif converter.begun:
            self._check_error()
            await self._begin()

    @property
    def _goes_well(self) -> bool:
        """The answer has begun and its end has not come: there is nothing to decide for the next piece."""
        converter = self._converter
        begun = self.client.started and self.client.direct is not None and converter.events > 0
        return begun and converter.goes_on

    def _take_now(self, data: bytes) -> bool:
        """As `_take`, while the socket is being read. False if it cannot go on like that: data that the
        client does not have yet is pending."""
        exchange, converter = self.exchange, self._converter
        t = exchange.clock()
        out = converter.feed(data)
        if not out or not self.client.carry(t, data, out):
            exchange.recording.read(t, data)
            if out:
                self._pending.append(out)
                return False
        return converter.goes_on

    def _check_error(self) -> None:
        """An error instead of an answer can still have its own HTTP status."""
        if self._converter.error is not None and self._converter.said_nothing:
            raise Faulted(of_answer(502, dumps({"error": self._converter.error}), self.upstream))

    async def _begin(self) -> None:
        """The client's headers, and what has waited for them; the heartbeat may do so at the same time."""
        await self.client.start(200, self._headers)
        await self._write_pending()
        self._heartbeat.due_in(self.exchange.settings.heartbeat)

    def _begin_late(self) -> asyncio.Future[None]:
        """Nothing has come yet that decides about the status, but the client must not wait any longer."""

        async def begin() -> None:
            self._pending.append(self._converter.begin())
            await self._begin()
            await self.client.beat(self.beat)

        return asyncio.ensure_future(begin())

    async def _write_pending(self) -> None:
        data = b"".join(self._pending)
        self._pending = []
        try:
            await self.client.write(data)
        except asyncio.CancelledError:
            # It was not written because the client was too slow: an error event must not take its place.
            self._pending.insert(0, data)
            raise

    async def _finish(self) -> None:
        """Upstream's body has ended, and the transformer has not seen the end of an answer."""
        converter = self._converter
        if self.client.started and converter.raw and converter.stays_empty:
            raise Faulted(self._not_a_stream())
        out = converter.finish()
        nothing = converter.said_nothing if not converter.raw else not converter.events
        if nothing and not self.client.started:
            if self.exchange.chat is not None:
                self._check_error()
            raise Faulted(self._not_a_stream())
        self._pending.append(out)
        await self._begin()
        await self._end()

    async def _end(self) -> None:
        await self._heartbeat.finish()
        await self.client.end()

    def _not_a_stream(self) -> Fault:
        if not self._head.strip():
            return self.empty()
        what = "a whole message" if self._head.lstrip()[:1] == b"{" else "something else"
        if self._converter.events:
            what = "events that are not part of an answer"
        why = f'answered with {what} where a stream of events was asked for ("stream": true)'
        return of_answer(502, bytes(self._head), self.upstream, why=why)

    async def _drain(self, reads: AsyncIterator[bytes]) -> None:
        """The client has its answer; further data is for the tape, if it comes soon."""
        try:
            async with asyncio.timeout(_DRAIN):
                async for data in reads:
                    self.exchange.recording.read(self.exchange.clock(), data)
                    self._converter.feed(data)
        except (TimeoutError, Faulted):
            pass

    async def fail(self, fault: Fault) -> None:
        await self._heartbeat.finish()
        await super().fail(fault)

    async def break_off(self, fault: Fault) -> None:
        """Sends what is held back, then an error event, unless a call is complete."""
        self._pending.append(self._converter.fail(fault.error))
        await self._write_pending()
        await self.client.end()


def _stream_headers(reply: Reply) -> Pairs:
    kept = headers_for_client(reply.headers)
    return [*(pair for pair in kept if pair[0] not in ("content-type", "cache-control")), *_SSE]


class MessageRelay(Relay):
    """One chat whose client wants its answer in one piece."""

    def __init__(self, exchange: Exchange, recipe: Recipe) -> None:
        super().__init__(exchange)
        self._recipe = recipe
        self._summary: dict[str, Any] = {}
        self._was_stream = False

    async def relay(self) -> None:
        exchange = self.exchange
        reply = await exchange.ask()
        if not 200 <= reply.status < 300:
            await self.refuse(reply, self._recipe.message("none").setting.raw)
            return
        body = self._converted(await exchange.read_whole(reply, LONGEST_MESSAGE), reply)
        await self.client.answer(reply.status, self._headers(reply), body)
        exchange.end("done", self._summary)

    def summary(self) -> dict[str, Any]:
        return self._summary

    def _converted(self, body: bytes, reply: Reply) -> bytes:
        """The client's body. Raises Faulted where upstream's is not an answer."""
        if reply.content_type == "text/event-stream":
            return self._collected(body)
        if not body.strip():
            raise Faulted(self.empty())
        value = json_object(body)
        if value is None:
            raise self._useless(body, "something that is not a JSON object")
        kind = find_kind(self._recipe.upstream)
        answer = kind.whole(value)
        if answer is None and (error_in(value) is not None or not isinstance(value.get("choices"), list)):
            if not kind.relays:
                body = self._collected_error(body)
            raise self._useless(body, "JSON that is not a message")
        return self._message(value, body)

    def _collected_error(self, body: bytes) -> bytes:
        """An error in the words of its kind of upstream, as OpenAI says it."""
        transformer = self._recipe.stream("none")
        transformer.feed(body)
        transformer.finish()
        return dumps({"error": transformer.error}) if transformer.error is not None else body

    def _useless(self, body: bytes, what: str) -> Faulted:
        return Faulted(of_answer(502, body, self.upstream, why=f"answered with {what}"))

    def _message(self, value: dict[str, Any], body: bytes) -> bytes:
        recipe = self._recipe
        message = recipe.message("findings")
        try:
            converted = message.convert(value, body)
        except Exception as error:  # a bug of ours never costs the user the answer
            text = f"the workbench itself failed ({type(error).__name__}: {error})"
            if not message.setting.frontend.relays:  # a chat's answer is not understood there
                raise Faulted(
                    Fault(500, f"{text}; please report it", "workbench_error", permanent=True)
                ) from None
            self.exchange.note("transformer-failed", "error", f"{text}; the answer went on as it came")
            return body
        self.exchange.place = message.place
        whole = message.completion or {}
        seen = observed(whole, recipe.chat, recipe.dialect, recipe.policy)
        self._summary = {
            "calls": _calls_in(whole),
            "findings": dict(
                Counter([*(found.code for found in message.findings), *(one.code for one in seen)])
            ),
            "usage": whole.get("usage"),
            **_answer(whole),
        }
        if "error" in whole and "choices" not in whole:
            raise Faulted(of_answer(502, dumps(whole), self.upstream))
        self.exchange.answer = converted
        return body if message.setting.raw else dumps(converted)

    def _collected(self, body: bytes) -> bytes:
        """Some servers always stream: the client gets a message anyway."""
        converter = Converter(self._recipe)
        if converter.raw:
            return body
        self._was_stream = True
        converter.feed(body)
        converter.finish()
        self.exchange.place = converter.transformer.place
        self._summary = converter.summary()
        if converter.error is not None:
            raise Faulted(of_answer(502, dumps({"error": converter.error}), self.upstream))
        self.exchange.answer = converter.transformer.message
        return dumps(self.exchange.answer)

    def _headers(self, reply: Reply) -> Pairs:
        kept = headers_for_client(reply.headers)
        if not self._was_stream:
            return kept
        return [*(pair for pair in kept if pair[0] != "content-type"), ("content-type", "application/json")]


def _calls_in(message: dict[str, Any]) -> int:
    choices = message.get("choices") or []
    messages = [choice.get("message") for choice in choices if isinstance(choice, dict)]
    return sum(len(said.get("tool_calls") or ()) for said in messages if isinstance(said, dict))


class UnchangedRelay(Relay):
    """Any other request: status, headers and bytes go on unchanged."""

    async def relay(self) -> None:
        exchange = self.exchange
        reply = await exchange.ask()
        if not 200 <= reply.status < 600 or self._nobody_serves(reply):
            raise Faulted(self._with_advice(await exchange.refusal(reply)))
        fault = await self.pass_on(reply)
        exchange.end("eof", error=None if fault is None else fault.error)

    def _nobody_serves(self, reply: Reply) -> bool:
        """An address that upstream does not know."""
        return self.exchange.outgoing.incoming.method == "POST" and reply.status in (404, 405, 501)

    def _with_advice(self, fault: Fault) -> Fault:
        """The paths that are served, or the setting that would make us serve this one."""
        path = self.exchange.outgoing.incoming.path
        if is_about_model(fault) and path in SERVED:
            return fault
        advice = f"{SERVES}; anything else goes to upstream as it is."
        if path in SERVED:
            advice = f"If this server has no /v1{path}: with speaks = [] for it, the workbench serves that."
        return replace(fault, message=f"{fault.message} {advice}", original=None)

    def passed_on(self, head: bytes) -> None:
        """A model's calls as text are a sign that they should have been converted."""
        incoming = self.exchange.outgoing.incoming
        if incoming.method != "POST" or incoming.json is None or b"<" not in head:
            return
        text = text_in_body(head)
        answer = {"choices": [{"message": {"role": "assistant", "content": text}}]}
        tools = incoming.json.get("tools")
        request = {"tools": tools, "messages": []} if tools else None
        seen = next((one for one in observed(answer, request) if one.code == "leaked-markers"), None)
        if seen is None:
            return
        dialect = next((hit.mark.dialect for hit in hits(text) if hit.start == seen.start), "markup")
        why = f"POST {incoming.path} is passed on unchanged, only chats are converted"
        found = observation("leaked-markers", found=dialect, why=why)
        self.exchange.note(found.code, found.level, found.message)


_SAID = frozenset({"text", "content", "delta", "response", "output_text", "reasoning_content", "thinking"})


def text_in_body(body: bytes) -> str:
    """A model's text in an answer of any API: the texts of a JSON body, or of the events of a stream."""
    whole = json_object(body)
    if whole is not None:
        return "\n".join(_texts(whole))
    events = (json_object(data) for data, *_ in SSEDecoder().feed(body))
    return "".join(text for event in events if event is not None for text in _texts(event))


def _texts(value: Any, key: str = "", depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        if key in _SAID:
            yield value
    elif depth < _DEEPEST:
        items = value.items() if isinstance(value, dict) else ((key, item) for item in _items(value))
        for name, item in items:
            yield from _texts(item, name, depth + 1)


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _unchanged_headers(reply: Reply) -> Pairs:
    """With the length if the body goes on byte for byte; an answer without a body has the length of
    another."""
    length = first(reply.headers, "content-length")
    if length is None or first(reply.headers, "content-encoding") or reply.status in (204, 304):
        return headers_for_client(reply.headers)
    return [*headers_for_client(reply.headers), ("content-length", length)]


def relay_for(exchange: Exchange) -> Relay:
    """The relay for the answer to this request."""
    if exchange.recipe is None:
        return UnchangedRelay(exchange)
    relay = StreamRelay if exchange.outgoing.incoming.wants_stream else MessageRelay
    return relay(exchange, exchange.recipe)
