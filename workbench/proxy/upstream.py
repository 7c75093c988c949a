"""HTTP to upstreams: requests go up, answers come piece by piece and decoded, every failure is a `Fault`."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
import zlib
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

import aiohttp
import brotli
import httpx
import zstandard
from aiohttp.connector import Connection
from httpx_aiohttp import AiohttpTransport

from workbench.config.settings import Upstream
from workbench.proxy.faults import BadFraming, Fault, Faulted, idle, of_exception, overdue, was_closed
from workbench.proxy.incoming import Pairs, encoded, first


class DecodingError(ValueError):
    """The bytes are not what the header says they are."""


class Decoder(Protocol):
    def decode(self, data: bytes) -> bytes:
        """As much as can be read by now."""
        ...

    def flush(self) -> bytes:
        """What is left at the end. Raises DecodingError where the end is missing."""
        ...


class Identity:
    """Nothing to do."""

    def decode(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


class Zlib:
    """gzip and deflate. By deflate servers mean either of two formats; its first two bytes tell which one."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._inflate = zlib.decompressobj(bits)
        self._head = b""

    def decode(self, data: bytes) -> bytes:
        out = []
        try:
            while data:
                if self._inflate.eof:
                    # A gzip file may have several members, one after the other.
                    self._inflate = zlib.decompressobj(self._bits)
                out.append(self._inflated(data))
                data = self._inflate.unused_data
        except zlib.error as error:
            raise DecodingError(str(error)) from None
        return b"".join(out)

    def _inflated(self, data: bytes) -> bytes:
        if len(self._head) >= 2:
            return self._inflate.decompress(data)
        head, self._head = self._head, self._head + data[:2]
        try:
            return self._inflate.decompress(data)
        except zlib.error:
            if self._bits != zlib.MAX_WBITS:
                raise
        self._bits = -zlib.MAX_WBITS
        self._inflate = zlib.decompressobj(self._bits)
        return self._inflate.decompress(head + data)

    def flush(self) -> bytes:
        if self._head and not self._inflate.eof:
            raise DecodingError("the compressed answer ends too early")
        return b""


class Brotli:
    def __init__(self) -> None:
        self._state: Any = brotli.Decompressor()
        self._fed = False

    def decode(self, data: bytes) -> bytes:
        self._fed = True
        try:
            return bytes(self._state.process(data))
        except brotli.error as error:
            raise DecodingError(str(error)) from None

    def flush(self) -> bytes:
        if self._fed and not self._state.is_finished():
            raise DecodingError("the compressed answer ends too early")
        return b""


class Zstandard:
    def __init__(self) -> None:
        self._state: Any = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)

    def decode(self, data: bytes) -> bytes:
        try:
            return bytes(self._state.decompress(data))
        except zstandard.ZstdError as error:
            raise DecodingError(str(error)) from None

    def flush(self) -> bytes:
        return b""


def decoder_for(encoding: str | None) -> Decoder:
    """For the value of a Content-Encoding header. Raises DecodingError for one that nobody asked for."""
    name = (encoding or "").strip().lower()
    if name in ("", "identity"):
        return Identity()
    if name in ("gzip", "x-gzip"):
        return Zlib(16 + zlib.MAX_WBITS)
    if name == "deflate":
        return Zlib(zlib.MAX_WBITS)
    if name == "br":
        return Brotli()
    if name == "zstd":
        return Zstandard()
    raise DecodingError(f"it is encoded as {name!r}, though identity was asked for")


# Less than the five seconds after which uvicorn, and so vLLM, closes an idle connection: a request that is
# sent just then would be lost.
_KEEP_ALIVE = 4.0
_LONGEST_HEADER = 64 << 10
_FAILURES = (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError, TimeoutError, ValueError)

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


class Reply:
    """An upstream's answer: its head at once, its body piece by piece, decoded. All of it must have come when
    the loop's time is `until`."""

    def __init__(self, response: httpx.Response, upstream: Upstream, limits: Limits, until: float) -> None:
        self._response = response
        self._upstream = upstream
        self._limits = limits
        self._until = until
        self._loop = asyncio.get_running_loop()
        self.status = response.status_code
        self.headers: Pairs = [
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers.raw
        ]

    @property
    def content_type(self) -> str:
        return (first(self.headers, "content-type") or "").partition(";")[0].strip().lower()

    async def reads(self) -> AsyncIterator[bytes]:
        """Each piece as it comes. Raises Faulted where the body breaks off, or does not go on."""
        try:
            decoder: Decoder = decoder_for(first(self.headers, "content-encoding"))
            pieces = self._response.aiter_raw()
            while (raw := await self._next(pieces)) is not None:
                data = decoder.decode(raw)
                if data:
                    yield data
            if data := decoder.flush():
                yield data
        except DecodingError as error:
            message = f"the answer of the upstream {self._upstream.name} cannot be read: {error}."
            raise Faulted(Fault(502, message, code="encoding", permanent=True)) from None
        except _FAILURES as error:
            raise Faulted(of_exception(error, self._upstream.name, self._upstream.url)) from error

    async def _next(self, pieces: AsyncIterator[bytes]) -> bytes | None:
        """A deadline of our own: the HTTP library's counts bytes on the wire, of which the body may have
        nothing, and does not run at all where the library has lost track of the connection."""
        now = self._loop.time()
        late = min(now + self._limits.idle, self._until)
        try:
            async with asyncio.timeout_at(late) as deadline:
                return await anext(pieces, None)
        except TimeoutError:
            if not deadline.expired():
                raise
            where = self._upstream.name, self._upstream.url
            raise Faulted(overdue(*where) if late == self._until else idle(*where)) from None

    async def close(self) -> None:
        """Give the connection back, or close it when there is more to come: upstream stops working then."""
        with contextlib.suppress(*_FAILURES):
            await self._response.aclose()


# Whether the request that this task is sending goes over a connection that an earlier one has used.
_reused: ContextVar[bool] = ContextVar("reused", default=False)


async def _note_reuse(*_: object) -> None:
    _reused.set(True)


class UpstreamClient:
    """The connections to all upstreams."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._ssl = httpx.create_ssl_context()
        self._client = self._make_client(keepalive_timeout=_KEEP_ALIVE)
        self._fresh = self._make_client(force_close=True)  # never uses a connection twice

    def _make_client(self, **connections: Any) -> httpx.AsyncClient:
        session = partial(self._session, connections)
        return httpx.AsyncClient(transport=AiohttpTransport(verify=self._ssl, client=session))

    def _session(self, connections: dict[str, Any]) -> aiohttp.ClientSession:
        # No limit: each stream holds a connection for minutes, and a request in a queue looks like a stall.
        connector = aiohttp.TCPConnector(limit=0, ssl=self._ssl, **connections)
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_note_reuse)
        return aiohttp.ClientSession(
            connector=connector,
            response_class=_Response,
            trace_configs=[trace],
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
        )

    async def send(self, upstream: Upstream, method: str, url: str, headers: Pairs, body: bytes) -> Reply:
        """A request; returns with the head of the answer. Raises Faulted when there is none."""
        limits = self._limits
        timeouts = {"connect": limits.connect, "read": limits.idle, "write": limits.idle, "pool": None}
        until = asyncio.get_running_loop().time() + limits.total
        try:
            request = httpx.Request(
                method, url, headers=encoded(headers), content=body, extensions={"timeout": timeouts}
            )
            async with asyncio.timeout(min(limits.connect + limits.idle, limits.total)):
                response = await self._head(request)
            return Reply(response, upstream, limits, until)
        except _FAILURES as error:
            raise Faulted(of_exception(error, upstream.name, upstream.url)) from error

    async def _head(self, request: httpx.Request) -> httpx.Response:
        """Once more on a new connection, where the old one was closed before a byte of the answer had come:
        the server had hung up while nobody used it, or was restarted, and has not seen this request."""
        _reused.set(False)
        try:
            return await self._client.send(request, stream=True)
        except _FAILURES as error:
            if not (_reused.get() and was_closed(error)):
                raise
        return await self._fresh.send(request, stream=True)

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
        await self._client.aclose()
        await self._fresh.aclose()
