"""The ways of an answer from upstream to the client: streamed (each read is recorded, converted and
written on at once), whole (the message is converted in one go), or passed on as it is. A bug in the
converter cannot make any of them fail.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

from transformer.answer.chunks import dumps
from transformer.answer.events import error_in
from transformer.answer.rescue import rescue
from transformer.answer.review import observed
from transformer.answer.stream import StreamTransformer
from transformer.sse import DONE
from workbench.proxy.exchange import LONGEST_ERROR, Exchange, Heartbeat, answer_fault, read_all, refused
from workbench.proxy.faults import Fault, of_answer
from workbench.proxy.incoming import Pairs, downward, first
from workbench.proxy.upstream import Faulted, Reply
from workbench.tape.format import End
from workbench.tape.recipe import Recipe
from workbench.text import json_object


class Converter:
    """`feed`, `finish` and `fail` as the transformer has them, and none of them ever raises.

    Should the transformer fail, the rest of the answer goes on as plain text; should even that fail, the
    client is told so and the stream ends.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self.transformer: StreamTransformer = recipe.stream("findings")
        self.raw = self.transformer.setting.raw
        self._reads: list[bytes] = []
        self._rescued = False
        self._gave_up: dict[str, Any] | None = None  # the error that the client got instead of the rest

    def feed(self, data: bytes) -> bytes:
        if self._gave_up is not None:
            return b""
        if not self.raw:
            # Kept for a rescue; it is no more than what the transformer itself keeps of the answer.
            self._reads.append(data)
        try:
            return self.transformer.feed(data)
        except Exception as error:
            return data if self.raw else self._rescue(error)

    def finish(self) -> bytes:
        return self._close(lambda transformer: transformer.finish())

    def fail(self, error: object) -> bytes:
        return self._close(lambda transformer: transformer.fail(error))

    def _close(self, way: Callable[[StreamTransformer], bytes]) -> bytes:
        if self._gave_up is not None:
            return b""
        try:
            return way(self.transformer)
        except Exception as error:
            return b"" if self.raw else self._rescue(error, way)

    def _rescue(self, error: Exception, way: Callable[[StreamTransformer], bytes] | None = None) -> bytes:
        try:
            if self._rescued:
                raise error
            self._rescued = True
            self.transformer, out = rescue(self.transformer, self._reads, error)
            return out + way(self.transformer) if way is not None else out
        except Exception as again:
            message = f"the workbench itself failed ({type(again).__name__}: {again}); please report it"
            self._gave_up = {"message": message, "type": "workbench_error", "param": None, "code": None}
            return b"data: " + dumps({"error": self._gave_up}) + b"\n\n" + DONE

    # -- what the relay asks

    @property
    def events(self) -> int:
        return self.transformer.events

    @property
    def ended(self) -> bool:
        return self._gave_up is not None or self.transformer.ended

    @property
    def half_sent(self) -> bool:
        return self.transformer.half_sent

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
        twin = self.transformer.snapshot()
        twin.finish()
        return not twin.events

    @property
    def begun(self) -> bool:
        """What came so far says how this will go on; an event that nobody understands does not."""
        if self.raw:
            return self.events > 0
        return self.ended or (self.events > 0 and not self.said_nothing)

    def summary(self) -> dict[str, Any]:
        """For the tape's last line."""
        t = self.transformer
        recipe = self._recipe
        seen = observed(t.completion, recipe.request, recipe.dialect, recipe.policy)
        findings = Counter([*(found.code for found in t.findings), *(found.code for found in seen)])
        if self._gave_up is not None:
            findings["transformer-failed"] += 1
        return {"calls": t.calls, "findings": dict(findings), "usage": t.usage}


_SSE: Pairs = [("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache")]
_DRAIN = 1.0  # seconds for what upstream sends behind the end


class StreamRelay:
    """One streamed answer of a chat, from upstream's head to the client's end."""

    def __init__(self, exchange: Exchange) -> None:
        assert exchange.recipe is not None
        self._exchange = exchange
        self._client = exchange.client
        self._converter = Converter(exchange.recipe)
        self._headers: Pairs = _SSE
        self._head = bytearray()  # how it began, as long as it may be no stream at all
        self._pending: list[bytes] = []  # what the client does not have yet
        self._pulse = Heartbeat(
            self._client, self._begin_late, lambda: not self._converter.half_sent, exchange.settings.heartbeat
        )

    async def run(self) -> None:
        exchange = self._exchange
        try:
            with exchange.interruptible():
                self._pulse.due_in(exchange.settings.silence)
                how = await self._relay()
                exchange.end(how, self._converter.summary(), self._converter.error)
        except Faulted as broken:
            await self._fail(broken.fault)
        except asyncio.CancelledError:
            exchange.end("cancelled", self._converter.summary(), exchange.why_cancelled)
            raise
        finally:
            self._pulse.stop()

    async def _relay(self) -> End:
        reply = await self._exchange.open()
        if not 200 <= reply.status < 300:
            raise Faulted(await refused(self._exchange, reply))
        self._headers = _stream_headers(reply)
        if not self._client.started:
            self._pulse.due_in(self._exchange.settings.head_wait)
        reads = reply.reads()
        async for data in reads:
            await self._take(data)
            if self._converter.ended and not self._converter.raw:
                await self._end()
                await self._drain(reads)
                return "done"
        await self._finish()
        return "done" if self._converter.ended else "eof"

    async def _take(self, data: bytes) -> None:
        exchange = self._exchange
        exchange.recording.read(exchange.clock(), data)
        self._pending.append(self._converter.feed(data))
        if not self._client.started or not self._converter.events:
            self._head += data[: LONGEST_ERROR - len(self._head)]
        if self._client.started:
            await self._write_on()
        elif self._converter.begun:
            self._check_error()
            await self._begin()

    def _check_error(self) -> None:
        """An error instead of an answer still gets a status of its own."""
        if self._converter.error is not None and self._converter.said_nothing:
            body = dumps({"error": self._converter.error})
            raise Faulted(of_answer(502, body, self._exchange.outgoing.upstream.name))

    async def _begin(self) -> None:
        """The client's headers, and what has waited for them; the pulse may be at it at the same time."""
        if not self._client.started:
            await self._client.start(200, self._headers)
        await self._write_on()
        self._pulse.due_in(self._exchange.settings.heartbeat)

    async def _write_on(self) -> None:
        data = b"".join(self._pending)
        self._pending = []
        try:
            await self._client.write(data)
        except asyncio.CancelledError:
            # It did not go out, a client was too slow for it: an error event must not take its place.
            self._pending.insert(0, data)
            raise

    def _begin_late(self) -> asyncio.Future[None]:
        """Nothing came that says how this will end: the client must not wait any longer."""

        async def begin() -> None:
            await self._begin()
            await self._client.comment(lambda: not self._converter.half_sent)

        return asyncio.ensure_future(begin())

    async def _finish(self) -> None:
        if self._client.started and self._converter.raw and self._converter.stays_empty:
            raise Faulted(self._no_stream())
        out = self._converter.finish()
        nothing = self._converter.said_nothing if not self._converter.raw else not self._converter.events
        if nothing and not self._client.started:
            raise Faulted(self._no_stream())
        self._pending.append(out)
        await self._begin()
        await self._end()

    async def _end(self) -> None:
        await self._pulse.rest()
        await self._client.end()

    def _no_stream(self) -> Fault:
        name = self._exchange.outgoing.upstream.name
        if not self._head.strip():
            return Fault(502, f"the upstream {name} sent an empty answer. Its log may say why.", code="empty")
        what = "a whole message" if self._head.lstrip()[:1] == b"{" else "something else"
        if self._converter.events:
            what = "events that are no part of an answer"
        why = f'answered with {what} where a stream of events was asked for ("stream": true)'
        return of_answer(502, bytes(self._head), name, why=why)

    async def _drain(self, reads: AsyncIterator[bytes]) -> None:
        """The client has its answer; what else comes is for the tape, as far as it comes soon."""
        try:
            async with asyncio.timeout(_DRAIN):
                async for data in reads:
                    self._exchange.recording.read(self._exchange.clock(), data)
                    self._converter.feed(data)
        except (TimeoutError, Faulted):
            pass

    async def _fail(self, fault: Fault) -> None:
        exchange = self._exchange
        await self._pulse.rest()
        exchange.note_fault(fault)
        if not self._client.started:
            await answer_fault(exchange, fault)
        else:
            await self._break_off(fault)
        exchange.end("error", self._converter.summary(), fault.error)

    async def _break_off(self, fault: Fault) -> None:
        """The headers are out: what is held back goes, then an error, unless a call is complete (SPEC 3)."""
        self._pending.append(self._converter.fail(fault.error))
        await self._write_on()
        await self._client.end()


def _stream_headers(reply: Reply) -> Pairs:
    kept = [pair for pair in downward(reply.headers) if pair[0] not in ("content-type", "cache-control")]
    return [*kept, *_SSE]


_LONGEST = 1 << 30


class WholeAnswer:
    """One chat whose client wants its answer in one piece."""

    def __init__(self, exchange: Exchange) -> None:
        assert exchange.recipe is not None
        self._exchange = exchange
        self._recipe: Recipe = exchange.recipe
        self._summary: dict[str, Any] = {}
        self._collected_stream = False

    async def run(self) -> None:
        try:
            with self._exchange.interruptible():
                await self._carry_out()
        except Faulted as broken:
            await self._fail(broken.fault)

    async def _carry_out(self) -> None:
        exchange = self._exchange
        reply = await exchange.open()
        if not 200 <= reply.status < 300:
            raise Faulted(await refused(exchange, reply))
        body = self._converted(await read_all(exchange, reply, _LONGEST), reply)
        await exchange.client.answer(reply.status, self._headers(reply), body)
        exchange.end("done", self._summary)

    async def _fail(self, fault: Fault) -> None:
        self._exchange.note_fault(fault)
        await answer_fault(self._exchange, fault)
        self._exchange.end("error", self._summary, fault.error)

    def _converted(self, body: bytes, reply: Reply) -> bytes:
        """The client's body. Raises Faulted where upstream's is no answer."""
        if reply.content_type == "text/event-stream":
            return self._collected(body)
        value = json_object(body)
        name = self._exchange.outgoing.upstream.name
        if not body.strip():
            raise Faulted(
                Fault(502, f"the upstream {name} sent an empty answer. Its log may say why.", code="empty")
            )
        if value is None:
            raise Faulted(of_answer(502, body, name, why="answered with something that is no JSON object"))
        if error_in(value) is not None or not isinstance(value.get("choices"), list):
            raise Faulted(of_answer(502, body, name, why="answered with JSON that is no message"))
        return self._message(value, body)

    def _message(self, value: dict[str, Any], body: bytes) -> bytes:
        message = self._recipe.message("findings")
        try:
            converted = message.convert(value, body)
        except Exception as error:  # a bug of ours never costs the user the answer
            text = f"the workbench itself failed ({type(error).__name__}: {error})"
            self._exchange.note("transformer-failed", "error", f"{text}; the answer went on as it came")
            return body
        recipe = self._recipe
        seen = observed(converted, recipe.request, recipe.dialect, recipe.policy)
        self._summary = {
            "calls": _calls_in(converted),
            "findings": dict(Counter([*(found.code for found in message.findings), *(s.code for s in seen)])),
            "usage": converted.get("usage"),
        }
        if "error" in converted and "choices" not in converted:
            raise Faulted(of_answer(502, dumps(converted), self._exchange.outgoing.upstream.name))
        return body if message.setting.raw else dumps(converted)

    def _collected(self, body: bytes) -> bytes:
        """Some servers stream whatever they are asked: the client gets the message all the same."""
        converter = Converter(self._recipe)
        if converter.raw:
            return body
        self._collected_stream = True
        converter.feed(body)
        converter.finish()
        self._summary = converter.summary()
        if converter.error is not None:
            name = self._exchange.outgoing.upstream.name
            raise Faulted(of_answer(502, dumps({"error": converter.error}), name))
        return dumps(converter.transformer.completion)

    def _headers(self, reply: Reply) -> Pairs:
        kept = downward(reply.headers)
        if self._collected_stream:
            kept = [pair for pair in kept if pair[0] != "content-type"]
            kept.append(("content-type", "application/json"))
        return kept


def _calls_in(message: dict[str, Any]) -> int:
    choices = message.get("choices") or []
    messages = [choice.get("message") for choice in choices if isinstance(choice, dict)]
    return sum(len(said.get("tool_calls") or ()) for said in messages if isinstance(said, dict))


class PassThrough:
    """Any other request: status, headers and bytes go on unchanged."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def run(self) -> None:
        try:
            with self._exchange.interruptible():
                await self._relay()
        except Faulted as broken:
            await self._fail(broken.fault)

    async def _relay(self) -> None:
        exchange, client = self._exchange, self._exchange.client
        reply = await exchange.open()
        if not 200 <= reply.status < 600:
            raise Faulted(await refused(exchange, reply))
        await client.start(reply.status, _relayed_headers(reply))
        async for data in reply.reads():
            exchange.recording.read(exchange.clock(), data)
            await client.write(data)
        await client.end()
        exchange.end("eof")

    async def _fail(self, fault: Fault) -> None:
        exchange = self._exchange
        exchange.note_fault(fault)
        if not exchange.client.started:
            await answer_fault(exchange, fault)
        # Otherwise the body stays without its end: the server hangs up, and so the client knows.
        exchange.end("error", error=fault.error)


def _relayed_headers(reply: Reply) -> Pairs:
    """With the length, where the body goes on byte for byte; without a body it is the length of another."""
    length = first(reply.headers, "content-length")
    if length is None or first(reply.headers, "content-encoding") or reply.status in (204, 304):
        return downward(reply.headers)
    return [*downward(reply.headers), ("content-length", length)]
