"""One exchange: what all the parts that work on a client's request have to know of it, the client's end of
it (what is written there is written once, in order, and recorded), and answers that go out in one
piece.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.types import Receive, Send

from workbench.config.settings import Settings, Upstream
from workbench.proxy.faults import Fault, of_answer
from workbench.proxy.incoming import Incoming, Pairs, downward, encoded, first
from workbench.proxy.upstream import Faulted, Reply, UpstreamClient
from workbench.recording.recording import Recording
from workbench.tape.format import End, Side
from workbench.tape.recipe import Recipe

COMMENT = b": the workbench is waiting for upstream\n\n"


class ClientRecording(Protocol):
    """The part of a recording that a client needs."""

    def status(self, t: float, side: Side, status: int, headers: Pairs) -> None: ...
    def sent(self, t: float, data: bytes, by: str | None = None) -> None: ...


class Client:
    """Headers once, then pieces, then the end. A piece is recorded when it has gone out."""

    def __init__(self, send: Send, recording: ClientRecording, clock: Callable[[], float]) -> None:
        self._send = send
        self._recording = recording
        self._clock = clock
        self._lock = asyncio.Lock()
        self.status: int | None = None
        self.over = False  # nothing more is to be written
        self._last_write = clock()

    @property
    def started(self) -> bool:
        return self.status is not None

    @property
    def quiet_for(self) -> float:
        """Seconds since something was last written."""
        return self._clock() - self._last_write

    async def start(self, status: int, headers: Pairs) -> None:
        async with self._lock:
            if self.status is None:
                await self._start(status, headers)

    async def _start(self, status: int, headers: Pairs) -> None:
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": encoded(headers)})
        self._recording.status(self._clock(), "client", status, headers)

    async def write(self, data: bytes, by: str | None = None) -> None:
        if data:
            async with self._lock:
                await self._write(data, by)

    async def _write(self, data: bytes, by: str | None) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        self._last_write = self._clock()
        self._recording.sent(self._last_write, data, by)

    async def end(self) -> None:
        async with self._lock:
            # Said before it is done: from here on the server reports the end of the request as "client gone".
            self.over = True
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def answer(self, status: int, headers: Pairs, body: bytes, by: str | None = None) -> None:
        """A whole answer in one go."""
        async with self._lock:
            length = [] if status in (204, 304) else [("content-length", str(len(body)))]
            await self._start(status, [*headers, *length])
            self.over = True
            await self._send({"type": "http.response.body", "body": body, "more_body": False})
            if body:
                self._recording.sent(self._clock(), body, by)

    async def comment(self, allowed: Callable[[], bool]) -> None:
        """A line that says nothing, unless somebody is writing anyway or an event is half sent."""
        if not self._lock.locked() and not self.over and allowed():
            await self.write(COMMENT, "heartbeat")


class Heartbeat:
    """Keeps a silent stream alive: first it begins the answer when that can wait no longer, then it comments.

    A timer and no task: most streams end before it is ever due.
    """

    def __init__(
        self,
        client: Client,
        begin: Callable[[], asyncio.Future[None]],
        free: Callable[[], bool],
        every: float,
    ) -> None:
        self._client = client
        self._begin = begin
        self._free = free
        self._every = every
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._beat: asyncio.Future[None] | None = None
        self._over = False

    def due_in(self, seconds: float) -> None:
        self._clear()
        if not self._over:
            self._timer = self._loop.call_later(seconds, self._due)

    def _due(self) -> None:
        self._timer = None
        if self._client.over:
            return
        if not self._client.started:
            self._beat = self._begin()
        else:
            rest = self._every - self._client.quiet_for
            if rest > 0.001:
                self.due_in(rest)
                return
            self._beat = asyncio.ensure_future(self._client.comment(self._free))
        self.due_in(self._every)

    def _clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def rest(self) -> None:
        """No beat comes any more, and one that is being written is out."""
        self._over = True
        self._clear()
        if self._beat is not None:
            await asyncio.wait([self._beat])

    def stop(self) -> None:
        """No beat comes any more, nor does one that is due just now: nobody is there to get it."""
        self._over = True
        self._clear()
        if self._beat is not None:
            self._beat.cancel()


async def gone(receive: Receive) -> None:
    """Returns when the client has left (or has all of its answer)."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def nobody(message: object) -> None:
    """Where a client would be: a resend is written for the tape alone."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The request as it goes up."""

    upstream: Upstream
    method: str
    url: str
    headers: Pairs
    body: bytes


@dataclass(slots=True, eq=False)
class Exchange:
    """From the client's request to the end of its answer."""

    settings: Settings
    wire: UpstreamClient
    incoming: Incoming
    outgoing: Outgoing
    recipe: Recipe | None  # None: relayed as it is
    recording: Recording
    client: Client
    clock: Callable[[], float]  # seconds since it began
    gone: bool = False  # the client left
    interrupted: Fault | None = None  # we have to stop
    task: asyncio.Task[None] | None = None
    reply: Reply | None = None
    ended: bool = False
    found: Counter[str] = field(default_factory=Counter)

    async def open(self) -> Reply:
        """Send the request up; what comes back is on the tape from its head on."""
        out = self.outgoing
        self.reply = await self.wire.send(out.upstream, out.method, out.url, out.headers, out.body)
        self.recording.status(self.clock(), "upstream", self.reply.status, self.reply.headers)
        return self.reply

    async def close(self) -> None:
        if self.reply is not None:
            await self.reply.close()

    def note(self, code: str, level: str, message: str, where: str = "proxy") -> None:
        """A finding of the proxy's own; the transformer's are in its summary."""
        self.found[code] += 1
        self.recording.finding(self.clock(), code, level, message, where)

    def note_fault(self, fault: Fault) -> None:
        self.note("upstream-fault", "error", fault.message)
        for code, level, message in fault.findings:
            self.note(code, level, message)

    def end(self, how: End, summary: dict[str, Any] | None = None, error: object = None) -> None:
        """The tape's last line; only the first one counts."""
        if self.ended:
            return
        self.ended = True
        told = dict(summary or {})
        told["findings"] = dict(self.found + Counter(told.get("findings") or {}))
        if error is not None:
            told["error"] = error
        self.recording.end(self.clock(), how, **told)

    # -- from outside

    def leave(self) -> None:
        """The client went away: nobody needs the rest."""
        if not self.client.over:
            self.gone = True
            self._cancel()

    def interrupt(self, fault: Fault) -> None:
        """End it now, with an error for the client."""
        if not self.client.over and self.interrupted is None:
            self.interrupted = fault
            self._cancel()

    def _cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()

    @property
    def why_cancelled(self) -> str:
        return "the client went away" if self.gone else "the proxy was stopped"

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """While work on it goes on: being stopped is a fault to tell the client; that it left is none."""
        try:
            yield
        except asyncio.CancelledError:
            if self.interrupted is None or self.gone:
                raise
            if self.task is not None:
                self.task.uncancel()
            raise Faulted(self.interrupted) from None


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
