"""HTTP/1.1 to servers: connections that are used again, requests, and answers whose body is handed over piece
by piece as it comes.

Our own, on the parser that the server has anyway. A general client's layers between a socket and its reader
(buffers, futures, a task to wake up) cost more per chunk of a stream than its conversion.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import re
import socket
import ssl
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple, cast
from urllib.parse import quote, unquote, urlsplit

import aiohappyeyeballs
import certifi
import httptools

# Less than the five seconds after which uvicorn, and so vLLM, closes an idle connection: a request that is
# sent just then would be lost.
_KEEP_ALIVE = 4.0
_LONGEST_HEAD = 64 << 10
_MOST_WAITING = 256 << 10  # unread bytes of a body, before the server has to wait
_NEXT_ADDRESS = 0.25  # seconds until another address of the same host is tried as well
_DEFAULT_PORT = {"http": 80, "https": 443}
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_PRINTABLE = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


class HttpError(Exception):
    """There is no answer, or no more of it."""


class BadUrl(HttpError):
    """No server can be reached at this URL."""


class NotConnected(HttpError):
    """There is no connection; `error` says why."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class ConnectTimeout(HttpError):
    """There is no connection after the time for one."""


class HungUp(HttpError):
    """The connection was closed before an answer. `began`: a part of its head had come; `reused`: earlier
    requests were answered over it."""

    def __init__(self, error: Exception | None = None, *, began: bool = False, reused: bool = False) -> None:
        super().__init__(str(error or ""))
        self.error = error
        self.began = began
        self.reused = reused


class BadHead(HttpError):
    """The data that came instead of an answer is not HTTP."""


class BadFraming(HttpError):
    """In the middle of a body something came that is not HTTP."""


class Incomplete(HttpError):
    """The connection was closed in the middle of a body."""


class Answer:
    """One answer: its head has come, its body is coming. Data that came before an error is read first."""

    __slots__ = (
        "_connection", "_error", "_loop", "_take", "_waiter", "headers", "heard", "over", "parts", "reused",
        "size", "status",
    )  # fmt: skip

    def __init__(self, connection: Connection, reused: bool) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.reused = reused  # the connection, which had answered another request before
        self.over = False  # the whole body has come
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self.heard = self._loop.time()  # when a piece last came, or was last waited for
        self.parts: list[bytes] = []  # data that was not handed over yet; `size` bytes in all
        self.size = 0
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._take: Callable[[bytes], bool] | None = None

    @property
    def waiting(self) -> bool:
        """A reader waits for the next piece."""
        return self._waiter is not None

    async def read(self) -> bytes:
        """The data that has come; empty at the end of the body."""
        while not self.parts:
            if self._error is not None:
                raise self._error
            if self.over:
                return b""
            await self._wait()
        data = self._joined()
        self._connection.resume()
        return data

    async def pump(self, take: Callable[[bytes], bool]) -> None:
        """Hand over each piece as soon as it comes, until `take` returns False, the body ends or something
        goes wrong: `read` goes on from there."""
        if not self.parts and not self.over and self._error is None:
            self._take = take
            try:
                await self._wait()
            finally:
                self._take = None

    async def _wait(self) -> None:
        self.heard = self._loop.time()
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _joined(self) -> bytes:
        parts, self.parts, self.size = self.parts, [], 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def hand_over(self) -> None:
        """Hand over what one read of the socket brought."""
        parts = self.parts
        if parts:
            self.heard = self._loop.time()
            if self._take is not None:
                # As `_joined`, spelled out: it runs for every piece of every stream.
                self.parts, self.size = [], 0
                try:
                    data = parts[0] if len(parts) == 1 else b"".join(parts)
                    if self._take(data) and not self.over and self._error is None:
                        return
                except Exception as error:
                    self._error = error
            elif self.size > _MOST_WAITING:
                self._connection.pause()
        elif not self.over and self._error is None:
            return
        self._take = None
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def fail(self, error: Exception) -> None:
        """Nothing more comes, for this reason."""
        if self._error is None and not self.over:
            self._error = error
            self.hand_over()

    def close(self) -> None:
        """The rest is not wanted: the server notices that its connection is closed, and stops working."""
        if not self.over:
            self._connection.close()


class Connection(asyncio.Protocol):
    """A connection to a server: one request at a time. The parser calls its `on_` methods."""

    def __init__(self, idle: list[Connection]) -> None:
        self._idle = idle  # where it waits for the next request
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._paused = False
        self._asked = 0

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    # -- a request

    async def ask(self, head: bytes, body: bytes, without_body: bool) -> Answer:
        """Returns with the head of the answer. `without_body` is for HEAD, whose answers have none."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._parser = httptools.HttpResponseParser(self)
        # Lenient: some servers write only line feeds, some put spaces after the length of a chunk.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._without_body = without_body
        self._headed = self._keep = self._until_closed = False
        self._head_bytes = self._header_bytes = 0
        self._head: asyncio.Future[None] = self._loop.create_future()
        self._answer = answer = Answer(self, self._asked > 0)
        self._asked += 1
        try:
            if self._transport is None or self._transport.is_closing():
                raise HungUp(reused=answer.reused)
            self._transport.write(head)
            if body:
                self._transport.write(body)
            await self._head
        except BaseException:
            self.close()
            raise
        return answer

    def pause(self) -> None:
        if self.usable and not self._paused:
            assert self._transport is not None
            self._transport.pause_reading()
            self._paused = True

    def resume(self) -> None:
        if self._paused:
            self._paused = False
            if self.usable:
                assert self._transport is not None
                self._transport.resume_reading()

    def close(self) -> None:
        """At once: unwritten data is of no use any more."""
        self._answer = None
        self._leave_idle()
        if self._transport is not None:
            self._transport.abort()

    def _leave_idle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        with contextlib.suppress(ValueError):
            self._idle.remove(self)

    # -- what the transport says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's only lacks the class

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:  # there was no request
            self.close()
            return
        if not self._headed:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._break(answer, BadFraming() if self._headed else BadHead())
            return
        if self._headed:
            answer.hand_over()
            if answer.over:
                self._finish()
        elif self._head_bytes > _LONGEST_HEAD:
            self._break(answer, BadHead())

    def _break(self, answer: Answer, error: HttpError) -> None:
        """The data cannot be read; after the end of a body this does not matter."""
        self.close()
        if answer.over:
            answer.hand_over()
        elif self._headed:
            answer.fail(error)
        elif not self._head.done():
            self._head.set_exception(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave_idle()
        answer, self._answer = self._answer, None
        if answer is None:
            return
        if not self._headed:
            if not self._head.done():
                self._head.set_exception(HungUp(exc, began=self._head_bytes > 0, reused=answer.reused))
        elif self._until_closed and exc is None:
            answer.over = True
            answer.hand_over()
        else:
            answer.fail(Incomplete())

    def _finish(self) -> None:
        """The answer is whole: the connection is free for the next request, or of no further use."""
        self._answer = None
        self.resume()
        if (
            not self._keep
            or not self.usable
            or self._transport is None
            or self._transport.get_write_buffer_size()
        ):
            self.close()
        else:
            self._idle.append(self)
            self._timer = self._loop.call_later(_KEEP_ALIVE, self.close)

    # -- what the parser says

    def on_message_begin(self) -> None:
        if self._headed:  # an unsolicited second answer: it does not belong to the next request
            self._keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._answer is None or self._headed:
            return
        self._header_bytes += len(name) + len(value)
        if not _NAME.fullmatch(name) or _CONTROL.search(value) or self._header_bytes > _LONGEST_HEAD:
            raise BadHead
        self._answer.headers.append((name, value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        answer = self._answer
        if answer is None or self._headed:
            return
        answer.status = self._parser.get_status_code()
        if 100 <= answer.status < 200:
            return  # the answer itself is still to come
        self._headed = True
        named = {name.lower(): value.lower() for name, value in answer.headers}
        coded = named.get(b"transfer-encoding")
        chunked = coded is not None and coded.rpartition(b",")[2].strip() == b"chunked"
        empty = self._without_body or answer.status in (204, 304)
        self._until_closed = (
            not empty and not chunked and (coded is not None or b"content-length" not in named)
        )
        self._keep = self._parser.should_keep_alive() and not self._until_closed and not self._without_body
        if self._without_body:
            answer.over = True
        if not self._head.done():
            self._head.set_result(None)

    def on_body(self, data: bytes) -> None:
        answer = self._answer
        if answer is not None and not answer.over:  # `hand_over` follows
            answer.parts.append(data)
            answer.size += len(data)

    def on_message_complete(self) -> None:
        if self._answer is not None and self._headed:
            self._answer.over = True
        elif self._answer is not None:
            self._answer.headers.clear()


class Address(NamedTuple):
    """Where a request goes, and how it says so."""

    secure: bool
    host: str
    port: int
    named: str  # as the header Host has it
    target: str
    authorization: str | None  # of a URL with a user in it


@lru_cache(maxsize=256)
def address_of(url: str) -> Address:
    """Raises BadUrl."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna" if not (parts.hostname or "").isascii() else "ascii")
        port = parts.port or _DEFAULT_PORT[parts.scheme]
    except (ValueError, KeyError):
        raise BadUrl from None
    if not host:
        raise BadUrl
    name = host.decode()
    named = f"[{name}]" if ":" in name else name
    if port != _DEFAULT_PORT[parts.scheme]:
        named = f"{named}:{port}"
    target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_PRINTABLE)
    user = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        user = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Address(parts.scheme == "https", name, port, named, target, user)


class Connections:
    """Connections to all servers. They are reused for a few seconds."""

    def __init__(self, connect_timeout: float) -> None:
        self._timeout = connect_timeout
        self._idle: dict[tuple[bool, str, int], list[Connection]] = {}
        self._tls: ssl.SSLContext | None = None

    def prepare_tls(self) -> ssl.SSLContext:
        """Reading the certificates takes a while; the first request need not wait for it."""
        if self._tls is None:
            file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
            if file or folder:
                self._tls = ssl.create_default_context(cafile=file or None, capath=folder or None)
            else:
                self._tls = ssl.create_default_context(cafile=certifi.where())
        return self._tls

    async def ask(
        self, method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes, *, anew: bool = False
    ) -> Answer:
        """A request; returns with the head of its answer. `anew`: on a new connection."""
        address = address_of(url)
        head = _head(method, address, headers, body)
        connection = None if anew else self._known(address)
        if connection is None:
            connection = await self._connect(address)
        return await connection.ask(head, body, method == "HEAD")

    def _known(self, address: Address) -> Connection | None:
        idle = self._idle.get((address.secure, address.host, address.port), [])
        while idle:
            connection = idle.pop()
            if connection.usable:
                return connection
        return None

    async def _connect(self, address: Address) -> Connection:
        idle = self._idle.setdefault((address.secure, address.host, address.port), [])
        try:
            async with asyncio.timeout(self._timeout):
                return await self._connected(address, idle)
        except TimeoutError:
            raise ConnectTimeout from None
        except (ssl.SSLError, socket.gaierror):
            raise
        except OSError as error:
            raise NotConnected(error) from error

    async def _connected(self, address: Address, idle: list[Connection]) -> Connection:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        sock = await aiohappyeyeballs.start_connection(
            found, happy_eyeballs_delay=_NEXT_ADDRESS, interleave=1, loop=loop
        )
        tls = self.prepare_tls() if address.secure else None
        try:
            _, connection = await loop.create_connection(
                lambda: Connection(idle), sock=sock, ssl=tls, server_hostname=address.host if tls else None
            )
        except BaseException:
            sock.close()
            raise
        return connection

    def close(self) -> None:
        for idle in self._idle.values():
            for connection in list(idle):
                connection.close()


def _head(method: str, address: Address, headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    lines = [f"{method} {address.target} HTTP/1.1".encode(), b"host: " + address.named.encode()]
    authorized = False
    for name, value in headers:
        if name != "host":
            lines.append(name.encode("latin-1") + b": " + _bytes(value))
        authorized = authorized or name == "authorization"
    if address.authorization is not None and not authorized:
        lines.append(b"authorization: " + address.authorization.encode())
    if body or method in ("POST", "PUT", "PATCH"):
        lines.append(b"content-length: %d" % len(body))
    head = b"\r\n".join([*lines, b"", b""])
    if head.count(b"\n") != len(lines) + 1 or head.count(b"\r") != len(lines) + 1:
        raise ValueError("a header has a line break in it")
    return head


def _bytes(value: str) -> bytes:
    """A header's value as it came; one of our own settings may have any letter."""
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode()
