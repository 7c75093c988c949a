"""What the proxy is measured against: relays that pass bytes on and do nothing else.

    python benchmarks/relays.py tcp|http UPSTREAM_PORT

`tcp` copies between two sockets, which is the least that any proxy costs. `http` is made of the parts of the
proxy (uvicorn, aiohttp) without its transformer and its recorder. Prints its port.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from typing import cast

import aiohttp
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route


class Copy(asyncio.Protocol):
    """One direction of a connection through the `tcp` relay; `other` is the way back."""

    def __init__(self, port: int | None = None, other: Copy | None = None) -> None:
        self._port = port
        self._other = other
        self._early: list[bytes] = []
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's only lacks the class
        if self._port is not None:
            self._opening = asyncio.ensure_future(self._open(self._port))

    async def _open(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        _, self._other = await loop.create_connection(lambda: Copy(other=self), "127.0.0.1", port)
        for data in self._early:
            self.data_received(data)

    def data_received(self, data: bytes) -> None:
        if self._other is None or self._other.transport is None:
            self._early.append(data)
        else:
            self._other.transport.write(data)

    def pause_writing(self) -> None:
        if self._other is not None and self._other.transport is not None:
            self._other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self._other is not None and self._other.transport is not None:
            self._other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._other is not None and self._other.transport is not None:
            self._other.transport.close()


async def tcp(upstream: int) -> None:
    server = await asyncio.get_running_loop().create_server(
        lambda: Copy(upstream), "127.0.0.1", 0, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def http(upstream: int) -> None:
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def relay(request: Request) -> StreamingResponse:
        url = f"http://127.0.0.1:{upstream}{request.url.path}"
        answer = await session.post(url, data=await request.body())

        async def reads() -> AsyncIterator[bytes]:
            async for data in answer.content.iter_any():
                yield data
            answer.release()

        return StreamingResponse(reads(), answer.status, media_type=answer.headers["content-type"])

    app = Starlette(routes=[Route("/{path:path}", relay, methods=["POST"])])
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listener.getsockname()[1], flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve([listener])


if __name__ == "__main__":
    uvloop.run({"tcp": tcp, "http": http}[sys.argv[1]](int(sys.argv[2])))
