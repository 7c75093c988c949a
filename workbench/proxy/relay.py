"""The relay of a streamed answer: each read is recorded, converted and written on at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from transformer.answer.chunks import dumps
from workbench.proxy.client import Pulse
from workbench.proxy.converter import Converter
from workbench.proxy.exchange import Exchange
from workbench.proxy.faults import Fault, of_answer
from workbench.proxy.headers import Pairs, downward
from workbench.proxy.replies import LONGEST_ERROR, answer_fault, refused
from workbench.proxy.wire import Faulted, Reply
from workbench.tape import End

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
        self._pulse = Pulse(
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
