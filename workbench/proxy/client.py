"""The client's end of an exchange: what is written there is written once, in order, and recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from starlette.types import Receive, Send

from workbench.proxy.headers import Pairs, encoded
from workbench.tape import Side

COMMENT = b": the workbench is waiting for upstream\n\n"


class Tracks(Protocol):
    """The part of a recording that a client needs."""

    def status(self, t: float, side: Side, status: int, headers: Pairs) -> None: ...
    def sent(self, t: float, data: bytes, by: str | None = None) -> None: ...


class Client:
    """Headers once, then pieces, then the end. A piece is recorded when it has gone out."""

    def __init__(self, send: Send, recording: Tracks, clock: Callable[[], float]) -> None:
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


class Pulse:
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
