"""Everything that is no chat: passed on as it is."""

from __future__ import annotations

from workbench.proxy.exchange import Exchange
from workbench.proxy.faults import Fault
from workbench.proxy.headers import Pairs, downward, first
from workbench.proxy.replies import answer_fault, refused
from workbench.proxy.wire import Faulted, Reply


class AsItIs:
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
