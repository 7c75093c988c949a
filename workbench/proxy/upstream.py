"""HTTP to upstreams: requests go up, answers come piece by piece and decoded, every failure is a `Fault`."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import aiohttp
import httpx
from aiohttp.connector import Connection
from multidict import CIMultiDict
from yarl import URL

from workbench.config.settings import Upstream
from workbench.proxy.encodings import Decoder, DecodingError, decoder_for
from workbench.proxy.faults import BadFraming, Fault, Faulted, idle, of_exception, overdue, was_closed
from workbench.proxy.incoming import Pairs, first

# Less than the five seconds after which uvicorn, and so vLLM, closes an idle connection: a request that is
# sent just then would be lost.
_KEEP_ALIVE = 4.0
_LONGEST_HEADER = 64 << 10
_NOT_AT_ONCE = 0.05
_FAILURES = (aiohttp.ClientError, OSError, TimeoutError, ValueError)

# aiohttp warns of large bodies that block the loop while they are copied; ours are a client's request, whole.
warnings.filterwarnings("ignore", message="Sending a large body", category=ResourceWarning)


class _Response(aiohttp.ClientResponse):
    """An answer whose reader is told when its framing breaks.

    aiohttp (3.14) closes the connection then, and tells it only to whoever waits for a head: the reader of
    the body would wait for ever.
    """

    async def start(self, connection: Connection) -> Self:
        await super().start(connection)
        content, protocol = self.content, connection.protocol
        if content.is_eof() or protocol is None:
            return self

        def lost(closed: asyncio.Future[None] | None = None) -> None:
            if closed is not None and not closed.cancelled():
                closed.exception()  # looked at, or asyncio complains that nobody did
            if not content.is_eof() and content.exception() is None:
                content.set_exception(BadFraming(str(protocol.exception() or "")))

        closed = protocol.closed
        if closed is None:
            lost()
        else:
            closed.add_done_callback(lost)
            # The connection may be used again, for thousands of answers.
            content.on_eof(partial(_forget, closed, lost))
        return self


def _forget(closed: asyncio.Future[None], lost: Callable[[asyncio.Future[None]], None]) -> None:
    closed.remove_done_callback(lost)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long an upstream is waited for, in seconds: for a connection, for the next byte, for everything."""

    connect: float
    idle: float
    total: float


class _Deadline:
    """How long the next piece of a body is waited for.

    Our own: the HTTP library's counts bytes on the wire, of which the body may have nothing, and does not run
    at all where the library has lost track of the connection. One timer for all pieces, which looks when it
    is due whether there was one meanwhile: to set one anew for each would cost more than to read it.
    """

    def __init__(self, content: aiohttp.StreamReader, idle: float, until: float) -> None:
        self._content = content
        self._idle = idle
        self._until = until
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None  # the reader waits
        self._timer: asyncio.TimerHandle | None = None
        self.passed: Callable[[str, str], Fault] | None = None  # what to say of it

    async def next_piece(self) -> bytes:
        """What has come, at the end of the body nothing."""
        self._since = now = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_at(min(now + self._idle, self._until), self._look)
        try:
            return await self._content.readany()
        finally:
            self._since = None

    def _look(self) -> None:
        now = self._loop.time()
        due = min((now if self._since is None else self._since) + self._idle, self._until)
        if now < due or self._since is None:
            # Where nobody reads, a slow client is waited for, which has a limit of its own.
            self._timer = self._loop.call_at(max(due, now + _NOT_AT_ONCE), self._look)
            return
        self._timer = None
        self.passed = overdue if due == self._until else idle
        self._content.set_exception(TimeoutError())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Reply:
    """An upstream's answer: its head at once, its body piece by piece, decoded. All of it must have come when
    the loop's time is `until`."""

    def __init__(
        self, response: aiohttp.ClientResponse, upstream: Upstream, limits: Limits, until: float
    ) -> None:
        self._response = response
        self._upstream = upstream
        self._deadline = _Deadline(response.content, limits.idle, until)
        self.status = response.status
        self._peeked: list[bytes] = []
        self._coming: AsyncIterator[bytes] | None = None
        self.headers: Pairs = [
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.raw_headers
        ]

    @property
    def content_type(self) -> str:
        return (first(self.headers, "content-type") or "").partition(";")[0].strip().lower()

    async def peek(self, enough: Callable[[bytes], bool]) -> bytes:
        """How the body begins, up to where that is enough; `reads` gives it again."""
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

    async def _decoded(self) -> AsyncIterator[bytes]:
        """Each piece as it comes. Raises Faulted where the body breaks off, or does not go on."""
        deadline = self._deadline
        try:
            decoder: Decoder = decoder_for(first(self.headers, "content-encoding"))
            while raw := await deadline.next_piece():
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

    async def close(self) -> None:
        """Give the connection back, or close it when there is more to come: upstream stops working then."""
        self._deadline.stop()
        with contextlib.suppress(*_FAILURES):
            self._response.release()


def _as_sent(headers: Pairs) -> CIMultiDict[str]:
    """aiohttp writes UTF-8, so what came as UTF-8 goes on as the same bytes."""

    def text(value: str) -> str:
        if value.isascii():
            return value
        try:
            return value.encode("latin-1").decode()
        except UnicodeDecodeError:
            return value

    return CIMultiDict([(name, text(value)) for name, value in headers])


# Whether the request that this task is sending goes over a connection that an earlier one has used.
_reused: ContextVar[bool] = ContextVar("reused", default=False)


async def _note_reuse(*_: object) -> None:
    _reused.set(True)


class UpstreamClient:
    """The connections to all upstreams. Made of aiohttp alone: what httpx puts around it costs a chunk more
    than to convert it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._ssl = httpx.create_ssl_context()
        self._sessions: dict[bool, aiohttp.ClientSession] = {}  # by whether connections are used again

    def _session(self, reuse: bool) -> aiohttp.ClientSession:
        """Made when there is an event loop, which is when somebody asks."""
        if reuse not in self._sessions:
            connections: dict[str, Any] = (
                {"keepalive_timeout": _KEEP_ALIVE} if reuse else {"force_close": True}
            )
            self._sessions[reuse] = self._make_session(connections)
        return self._sessions[reuse]

    def _make_session(self, connections: dict[str, Any]) -> aiohttp.ClientSession:
        # No limit: each stream holds a connection for minutes, and a request in a queue looks like a stall.
        connector = aiohttp.TCPConnector(limit=0, ssl=self._ssl, **connections)
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_note_reuse)
        return aiohttp.ClientSession(
            connector=connector,
            response_class=_Response,
            trace_configs=[trace],
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            # No limit here: ours are around each wait. This one would set a timer for every read.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._limits.connect),
            skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
        )

    async def send(self, upstream: Upstream, method: str, url: str, headers: Pairs, body: bytes) -> Reply:
        """A request; returns with the head of the answer. Raises Faulted when there is none."""
        limits = self._limits
        until = asyncio.get_running_loop().time() + limits.total
        try:
            async with asyncio.timeout(min(limits.connect + limits.idle, limits.total)):
                response = await self._head(method, URL(url), _as_sent(headers), body or None)
            return Reply(response, upstream, limits, until)
        except _FAILURES as error:
            raise Faulted(of_exception(error, upstream.name, upstream.url)) from error

    async def _head(
        self, method: str, url: URL, headers: CIMultiDict[str], body: bytes | None
    ) -> aiohttp.ClientResponse:
        """Once more on a new connection, where the old one was closed before a byte of the answer had come:
        the server had hung up while nobody used it, or was restarted, and has not seen this request."""
        _reused.set(False)
        ask = partial(aiohttp.ClientSession.request, allow_redirects=False, data=body, headers=headers)
        try:
            return await ask(self._session(True), method, url)
        except _FAILURES as error:
            if not (_reused.get() and was_closed(error)):
                raise
        return await ask(self._session(False), method, url)

    async def reachable(self, upstream: Upstream, url: str, headers: Pairs, timeout: float) -> str | None:
        """Why an upstream cannot be reached, or None. Any answer will do, an error as well."""
        try:
            async with asyncio.timeout(timeout):
                reply = await self.send(upstream, "GET", url, headers, b"")
                await reply.close()
        except Faulted as broken:
            return broken.fault.message
        except TimeoutError:
            return f"the upstream {upstream.name} does not answer within {timeout:g} s"
        return None

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()
