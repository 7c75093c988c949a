"""The listener: a socket that says why it cannot be had, with limits for what comes in through it."""

from __future__ import annotations

import errno
import socket
import sys

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from workbench.errors import UserError

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at the address. Raises UserError with what to do."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, proto)
    except OSError as error:
        raise UserError(f"cannot listen on {host!r}: {error.strerror or error}") from None
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(address)
        # Asked now and not later: two proxies may both bind with SO_REUSEADDR, only one can listen.
        sock.listen(2048)
    except OSError as error:
        sock.close()
        raise UserError(_why(error, host, port)) from None
    return sock


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} is taken; another workbench may be running. Stop it, or choose another port with "
            "--port (0 takes any that is free)"
        )
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights than you have; choose one above 1023 with --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is no address of this machine"
    return f"cannot listen on {host} port {port}: {error.strerror or error}"


def url_of(sock: socket.socket, host: str) -> str:
    """The URL to paste into a client."""
    port = sock.getsockname()[1]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown and not shown.startswith('[') else shown}:{port}/v1"


class Http1(HttpToolsProtocol):
    """Never anything but HTTP/1: a wish for another protocol is overheard, as the standard allows.

    Java's client asks for HTTP/2 with every first request. The parser then stops before the body, which
    uvicorn would leave at that.
    """

    piece = b""

    def data_received(self, data: bytes) -> None:
        self.piece = data
        super().data_received(data)

    def _should_upgrade(self) -> bool:
        return True  # uvicorn leaves everything to the method below

    def handle_websocket_upgrade(self) -> None:
        """Have the request read anew, without the wish."""
        if self.scope["method"] == "CONNECT":
            self.send_400_response("This is no proxy for other hosts.")
            return
        stopped = sys.exception()
        assert isinstance(stopped, httptools.HttpParserUpgrade)
        lines = [f"{self.scope['method']} ".encode() + self.url + b" HTTP/1.1"]
        lines += [b"%b: %b" % pair for pair in self.headers if pair[0] != b"upgrade"]
        rest = self.piece[stopped.args[0] :]
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(b"\r\n".join([*lines, b"", b""]) + rest)


def limited_to(most: int) -> type[HttpToolsProtocol]:
    """A protocol that hangs up when headers go on and on: they are collected before anybody sees them."""

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
