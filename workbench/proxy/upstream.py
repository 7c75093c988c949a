"""HTTP to upstreams: requests go up, answers come piece by piece and decoded, every failure is a `Fault`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from workbench.config.settings import Upstream
from workbench.proxy.encodings import Decoder, DecodingError, Identity, decoder_for
from workbench.proxy.faults import Fault, Faulted, idle, of_exception, overdue, was_closed
from workbench.proxy.http1 import Answer, Connections, HttpError
from workbench.proxy.incoming import Pairs, first

_NOT_AT_ONCE = 0.05
_FAILURES = (HttpError, OSError, TimeoutError, ValueError)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long an upstream is waited for, in seconds: for a connection, for the next byte, for everything."""

    connect: float
    idle: float
    total: float


class _Deadline:
    """Timeout for the next piece of a body.

    One timer, rechecked when due, since rearming it per piece would cost more than reading the piece.
    """

    def __init__(self, answer: Answer, idle: float, until: float) -> None:
        self._answer = answer
        self._idle = idle
        self._until = until
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self.passed: Callable[[str, str], Fault] | None = None  # makes the fault, once it has passed

    def start(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_at(min(self._loop.time() + self._idle, self._until), self._look)

    def _look(self) -> None:
        now, answer = self._loop.time(), self._answer
        due = min((answer.heard if answer.waiting else now) + self._idle, self._until)
        if now < due or not answer.waiting:
            # Nothing is being read: we wait for a slow client, which has its own timeout.
            self._timer = self._loop.call_at(max(due, now + _NOT_AT_ONCE), self._look)
            return
        self._timer = None
        self.passed = overdue if due == self._until else idle
        answer.fail(TimeoutError())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Reply:
    """An upstream's answer: its head at once, its body piece by piece, decoded. All of it must have come by
    the loop's time `until`."""

    def __init__(self, answer: Answer, upstream: Upstream, limits: Limits, until: float) -> None:
        self._answer = answer
        self._upstream = upstream
        self._deadline = _Deadline(answer, limits.idle, until)
        self.status = answer.status
        self._peeked: list[bytes] = []
        self._coming: AsyncIterator[bytes] | None = None
        self._decoder: Decoder | None = None
        self.headers: Pairs = [
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in answer.headers
        ]

    @property
    def content_type(self) -> str:
        return (first(self.headers, "content-type") or "").partition(";")[0].strip().lower()

    async def peek(self, enough: Callable[[bytes], bool]) -> bytes:
        """The beginning of the body, until that is enough; `reads` gives it again."""
        head = b"".join(self._peeked)
        while not enough(head) and (data := await anext(self._pieces(), None)) is not None:
            self._peeked.append(data)
            head += data
        return head

    def _pieces(self) -> AsyncIterator[bytes]:
        if self._coming is None:
            self._coming = self._decoded()
        return self._coming

    async def reads(self) -> AsyncIterator[bytes]:
        """Each piece as it comes. Raises Faulted where the body breaks off, or does not go on."""
        while self._peeked:
            yield self._peeked.pop(0)
        async for data in self._pieces():
            yield data

    async def pump(self, take: Callable[[bytes], bool]) -> None:
        """Deliver each piece synchronously while possible and `take` returns True; `reads` gives the
        rest, and the end."""
        if not self._peeked and isinstance(self._decoder, Identity):
            await self._answer.pump(take)

    async def _decoded(self) -> AsyncIterator[bytes]:
        """Each piece as it comes. Raises Faulted where the body breaks off, or does not go on."""
        deadline, answer = self._deadline, self._answer
        deadline.start()
        try:
            self._decoder = decoder = decoder_for(first(self.headers, "content-encoding"))
            while raw := await answer.read():
                data = decoder.decode(raw)
                if data:
                    yield data
            if data := decoder.flush():
                yield data
        except DecodingError as error:
            message = f"the answer of the upstream {self._upstream.name} cannot be read: {error}."
            raise Faulted(Fault(502, message, code="encoding", permanent=True)) from None
        except _FAILURES as error:
            where = self._upstream.name, self._upstream.url
            passed = deadline.passed
            raise Faulted(passed(*where) if passed else of_exception(error, *where)) from error
        finally:
            deadline.stop()

    def close(self) -> None:
        """Give the connection back, or close it when there is more to come: upstream stops working then."""
        self._deadline.stop()
        self._answer.close()
        self._coming = None  # it refers to this reply, and would keep it in memory


class UpstreamClient:
    """Requests to all upstreams."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._connections = Connections(limits.connect)

    def prepare(self, upstream: Upstream) -> None:
        """Preparations that the first request need not wait for."""
        if upstream.url.startswith("https:"):
            self._connections.prepare_tls()

    async def send(self, upstream: Upstream, method: str, url: str, headers: Pairs, body: bytes) -> Reply:
        """A request; returns with the head of the answer. Raises Faulted when there is none."""
        limits = self._limits
        until = asyncio.get_running_loop().time() + limits.total
        try:
            async with asyncio.timeout(min(limits.connect + limits.idle, limits.total)):
                answer = await self._head(method, url, headers, body)
            return Reply(answer, upstream, limits, until)
        except _FAILURES as error:
            raise Faulted(of_exception(error, upstream.name, upstream.url)) from error

    async def _head(self, method: str, url: str, headers: Pairs, body: bytes) -> Answer:
        """Retries on a new connection if the old one was closed before a byte of the answer had come: the
        server had closed it while idle, or was restarted, and has not seen this request."""
        try:
            return await self._connections.ask(method, url, headers, body)
        except HttpError as error:
            if not was_closed(error):
                raise
        return await self._connections.ask(method, url, headers, body, anew=True)

    async def reachable(self, upstream: Upstream, url: str, headers: Pairs, timeout: float) -> str | None:
        """Why an upstream cannot be reached, or None. Any answer will do, an error as well."""
        try:
            async with asyncio.timeout(timeout):
                reply = await self.send(upstream, "GET", url, headers, b"")
                reply.close()
        except Faulted as broken:
            return broken.fault.message
        except TimeoutError:
            return f"the upstream {upstream.name} does not answer within {timeout:g} s"
        return None

    def close(self) -> None:
        self._connections.close()
