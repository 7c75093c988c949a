"""HTTP to upstreams: requests go up, answers come piece by piece and decoded, every failure is a `Fault`."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
import zlib
from collections.abc import AsyncIterator
from typing import Any, Protocol

import aiohttp
import brotli
import httpx
import zstandard
from httpx_aiohttp import AiohttpTransport

from workbench.config.settings import Upstream
from workbench.proxy.faults import Fault, Faulted, of_exception
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


class Reply:
    """An upstream's answer: its head at once, its body piece by piece, decoded."""

    def __init__(self, response: httpx.Response, upstream: Upstream) -> None:
        self._response = response
        self._upstream = upstream
        self.status = response.status_code
        self.headers: Pairs = [
            (name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers.raw
        ]

    @property
    def content_type(self) -> str:
        return (first(self.headers, "content-type") or "").partition(";")[0].strip().lower()

    async def reads(self) -> AsyncIterator[bytes]:
        """Each piece as it comes. Raises Faulted where the body breaks off."""
        try:
            decoder: Decoder = decoder_for(first(self.headers, "content-encoding"))
            async for raw in self._response.aiter_raw():
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

    async def close(self) -> None:
        """Give the connection back, or close it when there is more to come: upstream stops working then."""
        with contextlib.suppress(*_FAILURES):
            await self._response.aclose()


class UpstreamClient:
    """The connections to all upstreams."""

    def __init__(self, connect_timeout: float, idle_timeout: float) -> None:
        self._timeout = {
            "connect": connect_timeout, "read": idle_timeout, "write": idle_timeout, "pool": None,
        }  # fmt: skip
        self._ssl = httpx.create_ssl_context()
        self._client = httpx.AsyncClient(transport=AiohttpTransport(verify=self._ssl, client=self._session))

    def _session(self) -> aiohttp.ClientSession:
        # No limit: each stream holds a connection for minutes, and a request in a queue looks like a stall.
        connector = aiohttp.TCPConnector(limit=0, ssl=self._ssl, keepalive_timeout=_KEEP_ALIVE)
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
        )

    async def send(
        self,
        upstream: Upstream,
        method: str,
        url: str,
        headers: Pairs,
        body: bytes,
        timeout: float | None = None,
    ) -> Reply:
        """A request; returns with the head of the answer. Raises Faulted when there is none."""
        timeouts = self._timeout if timeout is None else dict.fromkeys(self._timeout, timeout)
        try:
            request = httpx.Request(
                method, url, headers=encoded(headers), content=body, extensions={"timeout": timeouts}
            )
            return Reply(await self._client.send(request, stream=True), upstream)
        except _FAILURES as error:
            raise Faulted(of_exception(error, upstream.name, upstream.url)) from error

    async def reachable(self, upstream: Upstream, url: str, headers: Pairs, timeout: float) -> str | None:
        """Why an upstream cannot be reached, or None. Any answer will do, an error as well."""
        try:
            async with asyncio.timeout(timeout):
                reply = await self.send(upstream, "GET", url, headers, b"", timeout)
                await reply.close()
        except Faulted as broken:
            return broken.fault.message
        except TimeoutError:
            return f"the upstream {upstream.name} does not answer within {timeout:g} s"
        return None

    async def close(self) -> None:
        await self._client.aclose()
