"""HTTP/1 as clients speak it, some of them oddly: old versions, upgrade requests, endless headers,
connections half-closed by the client.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Sized
from typing import Any

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from workbench.proxy.client import DIRECT

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_BEGINNING = b"HTTP/1.1 "  # of every answer, whatever it will be
# Seconds before each byte that asks whether the client is still there. As many as `_BEGINNING` has; a chunk's
# length of more than 16 digits would be too long for some clients.
_ASK_AFTER = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 60.0)


class UntilClose(RequestResponseCycle):
    """For a client that knows HTTP/1.0 alone: no chunks, the body ends where the connection does."""

    async def send(self, message: Any) -> None:
        self.chunked_encoding = False
        if message["type"] == "http.response.body":
            self.expected_content_length = len(message.get("body", b""))  # so that uvicorn does not complain
        await super().send(message)


class DirectWrite:
    """Writes a piece of a streamed body as soon as it is there. ASGI's `send` is a coroutine, which only a
    task can run: waking one up for each piece costs more than the piece."""

    __slots__ = ("_cycle",)

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle

    def __call__(self, data: bytes) -> bool:
        """False if it must be sent as usual: the client is too slow, or has left, or gets no chunk
        lengths."""
        cycle = self._cycle
        if cycle.flow.write_paused or cycle.disconnected or cycle.response_complete:
            return False
        if not cycle.response_started or not cycle.chunked_encoding:
            return False
        cycle.transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True


class LastAnswer:
    """The transport of the last answer on a connection whose client sends no more.

    Such a client may wait for its answer, as netcat does, or it may have left. The two look the same, but a
    client that has left answers each byte with a reset. So bytes that every answer has are written ahead: the
    beginning of the status line, or a leading zero of the next chunk's length. After a reset the
    next one cannot be written, and the connection is lost.
    """

    def __init__(self, transport: asyncio.Transport, cycle: RequestResponseCycle, before: Sized) -> None:
        self._transport = transport
        self._cycle = cycle
        self._before = before  # answers that the client gets before this one
        self._ahead = 0  # bytes of the status line that the client has already
        self._pauses = deque(_ASK_AFTER)
        self._timer: asyncio.TimerHandle | None = None
        self._wait()

    def _wait(self) -> None:
        if self._pauses:
            self._timer = asyncio.get_running_loop().call_later(self._pauses.popleft(), self._ask)

    def _ask(self) -> None:
        if self._cycle.response_complete or self._transport.is_closing():
            return
        # Unwritten data shows the same.
        if not self._before and not self._transport.get_write_buffer_size():
            if not self._cycle.response_started:
                self._transport.write(_BEGINNING[self._ahead : self._ahead + 1])
                self._ahead += 1
            elif self._cycle.chunked_encoding:
                self._transport.write(b"0")
        self._wait()

    def write(self, data: bytes) -> None:
        self._transport.write(data[self._ahead :])
        self._ahead = 0

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self.stop()
        self._transport.close()

    def stop(self) -> None:
        """Ask no more."""
        self._pauses.clear()
        if self._timer is not None:
            self._timer.cancel()


class HalfClosing(HttpToolsProtocol):
    """A client that has sent its request may close its half of the connection: it still gets the answer."""

    running: RequestResponseCycle | None = None
    last: LastAnswer | None = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self.running = cycle
        super()._start_asgi_task(cycle, app)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Whether the connection stays open."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body:
            return False
        if self.last is None:
            cycle.keep_alive = False
            self.last = LastAnswer(self.transport, cycle, self.pipeline)
            cycle.transport = self.last  # type: ignore[assignment]
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self.last is not None:
            self.last.stop()
        # Of pipelined requests, uvicorn notifies only the last one, which has not begun yet.
        if self.running is not None and self.running is not self.cycle:
            self.running.disconnected = True
            self.running.message_event.set()
        super().connection_lost(exc)
        # They know this protocol, and each other: break the cycle, so that their memory is free at once.
        if self.cycle is not None:
            self.cycle.scope.pop("extensions", None)
        self.running = self.last = None


class Http1(HalfClosing):
    """Never anything but HTTP/1: a request to upgrade is ignored, as the standard allows.

    Java's client asks for HTTP/2 with every first request. The parser then stops before the body, and uvicorn
    would not go on.
    """

    piece = b""

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self.cycle is None or self.cycle.scope is not self.scope:
            return
        extensions: dict[str, Any] = {DIRECT: DirectWrite(self.cycle)}
        self.scope["extensions"] = extensions
        if self.scope.get("http_version") == "1.0":
            self.cycle.__class__ = UntilClose

    def data_received(self, data: bytes) -> None:
        self.piece = data
        super().data_received(data)

    def _should_upgrade(self) -> bool:
        return True  # so that uvicorn calls the method below

    def handle_websocket_upgrade(self) -> None:
        """Have the request parsed again, without the upgrade."""
        if self.scope["method"] == "CONNECT":
            self.send_400_response("This proxy does not serve other hosts.")
            return
        stopped = sys.exception()
        assert isinstance(stopped, httptools.HttpParserUpgrade)
        lines = [f"{self.scope['method']} ".encode() + self.url + b" HTTP/1.1"]
        lines += [b"%b: %b" % pair for pair in self.headers if pair[0] != b"upgrade"]
        rest = self.piece[stopped.args[0] :]
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(b"\r\n".join([*lines, b"", b""]) + rest)


def limited_to(most: int) -> type[HttpToolsProtocol]:
    """A protocol that closes the connection when headers get too long: uvicorn collects all of them before
    the application sees the first."""

    class Limited(Http1):
        in_head = False
        head_bytes = 0

        def on_message_begin(self) -> None:
            self.in_head, self.head_bytes = True, 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self.in_head = False
            super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.in_head:
                self.head_bytes += len(data)
                if self.head_bytes > most:
                    self.transport.write(_TOO_LARGE)
                    self.transport.close()

    return Limited
