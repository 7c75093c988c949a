"""Answers that come or go in one piece: an upstream's refusal, a whole body, a fault for the client."""

from __future__ import annotations

from workbench.proxy.exchange import Exchange
from workbench.proxy.faults import Fault, of_answer
from workbench.proxy.headers import downward, first
from workbench.proxy.wire import Reply

LONGEST_ERROR = 1 << 20
_NOT_OF_A_FAULT = ("content-type", "location", "x-should-retry")


async def refused(exchange: Exchange, reply: Reply) -> Fault:
    """An answer that is none: upstream's status and what its body says."""
    body = await read_all(exchange, reply, LONGEST_ERROR)
    name = exchange.outgoing.upstream.name
    where = first(reply.headers, "location")
    if 300 <= reply.status < 400 and where is not None:
        message = f"the upstream {name} redirects to {where}. Put that address into its url."
        return Fault(502, message, code="redirect", permanent=True)
    if not 400 <= reply.status < 600:  # no status that says to a client what it has to do
        return of_answer(502, body, name, why=f"answered with status {reply.status}")
    return of_answer(reply.status, body, name)


async def read_all(exchange: Exchange, reply: Reply, limit: int) -> bytes:
    """The whole body, one read on the tape however it came; what is beyond the limit is left."""
    parts: list[bytes] = []
    size = 0
    try:
        async for data in reply.reads():
            parts.append(data)
            size += len(data)
            if size > limit:
                break
    finally:
        body = b"".join(parts)
        if body:
            exchange.recording.read(exchange.clock(), body)
    return body


async def answer_fault(exchange: Exchange, fault: Fault) -> None:
    """An HTTP answer that says what went wrong; upstream's own headers (Retry-After) go with it."""
    kept = [] if exchange.reply is None else downward(exchange.reply.headers)
    headers = [pair for pair in kept if pair[0] not in _NOT_OF_A_FAULT]
    if fault.permanent:
        headers.append(("x-should-retry", "false"))
    await exchange.client.answer(
        fault.status, [*headers, ("content-type", "application/json")], fault.body, "proxy"
    )
