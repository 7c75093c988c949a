"""One connection of the scripted upstream: its requests, and the steps of their answers as socket calls."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

from tests.support.upstream.answers import (
    Answer,
    Close,
    Finish,
    Flood,
    Framing,
    Gate,
    Head,
    Pause,
    Raw,
    Reset,
    Send,
    Step,
)

LONGEST_HEAD = 1 << 20
GATE_POLL = 0.005  # an event of another thread cannot wake a loop


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    at: float  # time.monotonic()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class Gone:
    """A client that went away before its answer was over."""

    request: Seen
    at: float  # time.monotonic()


class Host(Protocol):
    """What a connection tells, and asks, the upstream it belongs to."""

    def choose(self, seen: Seen) -> Answer: ...
    def gate(self, name: str) -> threading.Event: ...
    def note(self, *, gone: Gone | None = None, accepted: int = 0, connections: int = 0) -> None: ...


class Watch(asyncio.StreamReaderProtocol):
    """Tells at once when the client has left, also while nothing is read or written."""

    def __init__(self, handle: Callable[[Connection], None], host: Host) -> None:
        self._gone = asyncio.Event()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            handle(Connection(host, reader, writer, self._gone))

        super().__init__(asyncio.StreamReader(limit=LONGEST_HEAD), connected)

    def eof_received(self) -> bool | None:
        self._gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone.set()
        super().connection_lost(exc)


class Connection:
    """One client: request after request, each with its answer."""

    def __init__(
        self,
        host: Host,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        gone: asyncio.Event,
    ) -> None:
        self._host = host
        self._reader = reader
        self._writer = writer
        self._gone = gone
        self._framing: Framing = "close"
        self._over = False  # we hang up, not the client
        # drain() returns when the kernel has everything, not when asyncio's own buffer has room. Its TLS
        # takes a limit of 0 for "always full" and might never return.
        if writer.get_extra_info("sslcontext") is None:
            writer.transport.set_write_buffer_limits(0)
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def run(self) -> None:
        self._host.note(connections=1)
        try:
            # A client that leaves between two requests, or in the middle of one, is not reported.
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._exchange():
                    pass
        finally:
            self._writer.transport.abort()
            self._host.note(connections=-1)

    async def _exchange(self) -> bool:
        """Whether the connection is still of use."""
        seen = await self._request()
        answering = asyncio.ensure_future(self._answer(self._host.choose(seen)))
        leaving = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if answering.done() or self._over:
                return await answering and seen.header("connection") != "close"
            raise ConnectionError
        except ConnectionError:
            self._host.note(gone=Gone(seen, time.monotonic()))
            return False
        finally:
            answering.cancel()
            leaving.cancel()

    async def _request(self) -> Seen:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = [(key, value.strip()) for key, _, value in (line.partition(":") for line in lines)]
        fields = {key.lower(): value for key, value in headers}
        if fields.get("transfer-encoding", "").lower() == "chunked":
            body = await self._chunks()
        else:
            body = await self._reader.readexactly(int(fields.get("content-length", 0)))
        return Seen(method, path, headers, body, time.monotonic())

    async def _chunks(self) -> bytes:
        body = b""
        while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readuntil(b"\r\n")
        return body

    async def _answer(self, answer: Answer) -> bool:
        for step in answer.steps:
            if isinstance(step, Finish | Close | Reset):
                return await self._end(step)
            await self._do(step)
        await self._gone.wait()
        # Not the end of an answer but of a client's patience.
        raise ConnectionError

    async def _do(self, step: Step) -> None:
        match step:
            case Head():
                await self._head(step)
            case Raw(data):
                await self._write(data)
            case Send(data):
                await self._write(self._framed(data))
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Gate(key):
                event = self._host.gate(key) if isinstance(key, str) else key
                while not event.is_set():
                    await asyncio.sleep(GATE_POLL)
            case Flood(size, piece):
                for _ in range(0, size, len(piece)):
                    await self._write(self._framed(piece))
                    self._host.note(accepted=len(piece))

    async def _head(self, head: Head) -> None:
        self._framing = head.framing
        lines = [f"HTTP/1.1 {head.status} {_phrase(head.status)}"]
        lines += [f"{key}: {value}" for key, value in head.headers]
        if head.framing == "chunked":
            lines.append("transfer-encoding: chunked")
        elif head.framing == "close":
            lines.append("connection: close")
        else:
            lines.append(f"content-length: {head.framing}")
        await self._write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def _framed(self, data: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(data), data) if self._framing == "chunked" and data else data

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()
        await asyncio.sleep(0)

    async def _end(self, step: Finish | Close | Reset) -> bool:
        if isinstance(step, Finish) and self._framing == "chunked":
            await self._write(b"0\r\n\r\n")
        if isinstance(step, Finish) and self._framing != "close":
            return True
        self._over = True
        if isinstance(step, Reset):
            linger = struct.pack("ii", 1, 0)
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._writer.transport.abort()
        else:
            self._writer.close()
            with suppress(ConnectionError):
                await self._writer.wait_closed()
        return False


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Status"
