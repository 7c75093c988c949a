"""The client's end of an exchange: what is written there is written once, in order, and recorded. While
upstream says nothing, a heartbeat keeps the connection alive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import Receive, Send

from workbench.proxy.incoming import Pairs, encoded
from workbench.recording.recording import Recording

# The extension of ASGI's scope by which our server offers to write a piece of a body at once.
DIRECT = "workbench.direct"


class Client:
    """Headers once, then pieces, then the end. A piece is recorded when it has gone out."""

    def __init__(self, send: Send, recording: Recording, clock: Callable[[], float]) -> None:
        self._send = send
        self._recording = recording
        self._clock = clock
        self._lock = asyncio.Lock()
        self.direct: Callable[[bytes], bool] | None = None  # writes a piece at once, or returns False
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
        """Status and headers, unless they have gone out already."""
        async with self._lock:
            if self.status is None:
                await self._start(status, headers)

    async def _start(self, status: int, headers: Pairs) -> None:
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": encoded(headers)})
        self._recording.status(self._clock(), "client", status, headers)

    async def write(self, data: bytes, by: str | None = None) -> None:
        """A piece of the body; `by` says who made it when the transformer did not."""
        if data:
            async with self._lock:
                await self._send({"type": "http.response.body", "body": data, "more_body": True})
                self._last_write = self._clock()
                self._recording.sent(self._last_write, data, by)

    def carry(self, t: float, data: bytes, out: bytes) -> bool:
        """Writes `out`, the conversion of what came at `t`, at once. False if that is not possible: nothing
        was written or recorded."""
        if self.direct is None or self._lock.locked() or not self.direct(out):
            return False
        self._last_write = now = self._clock()
        self._recording.carried(t, data, now, out)
        return True

    async def end(self) -> None:
        """The end of the body."""
        async with self._lock:
            # Set before the write: from here on the server reports the end of the request as "client gone".
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

    async def beat(self, heartbeat: Callable[[], bytes]) -> None:
        """Send a heartbeat, unless something is being written anyway; `heartbeat` makes its bytes."""
        if not self._lock.locked() and not self.over:
            await self.write(heartbeat(), "heartbeat")


class Heartbeat:
    """Keeps a silent stream alive: first it begins the answer when that cannot wait any longer, then it
    beats.

    A timer and not a task: most streams end before it is ever due.
    """

    def __init__(
        self,
        client: Client,
        begin: Callable[[], asyncio.Future[None]],
        heartbeat: Callable[[], bytes],
        every: float,
    ) -> None:
        self._client = client
        self._begin = begin
        self._heartbeat = heartbeat
        self._every = every
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Future[None] | None = None
        self._over = False

    def due_in(self, seconds: float) -> None:
        """Set the timer, instead of the one that may be set."""
        self._clear()
        if not self._over:
            self._timer = self._loop.call_later(seconds, self.beat)

    def beat(self) -> None:
        """The timer: begin the answer, or write something if nothing was written for long enough."""
        self._timer = None
        if self._client.over:
            return
        if not self._client.started:
            self._writing = self._begin()
        else:
            rest = self._every - self._client.quiet_for
            if rest > 0.001:
                self.due_in(rest)
                return
            self._writing = asyncio.ensure_future(self._client.beat(self._heartbeat))
        self.due_in(self._every)

    def _clear(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def finish(self) -> None:
        """From now on nothing is written here; what is being written has gone out."""
        self._over = True
        self._clear()
        if self._writing is not None:
            await asyncio.wait([self._writing])

    def stop(self) -> None:
        """From now on nothing is written here, and a pending write is dropped: the client is gone."""
        self._over = True
        self._clear()
        if self._writing is not None:
            self._writing.cancel()


async def disconnected(receive: Receive) -> None:
    """Returns when the client has left, or has all of its answer."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def no_client(message: object) -> None:
    """The `send` of an exchange without a client: a resend is written for the tape alone."""
