"""Streams as fast as they are read: upstream is a process that writes prepared events, and the clients only
count bytes. So the relay between them is measured.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import psutil
import uvloop

from benchmarks.load import TOOL, event, framed

EVENTS = 100  # in a block, each a chunk of HTTP as servers send it
_ROOT = Path(__file__).resolve().parent.parent
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_END = b"0\r\n\r\n"


async def serve() -> None:
    """Upstream. The request's field `seed`, which any relay leaves alone, says how many blocks it sends."""
    block = b"".join(framed(event(f" word{number}")) for number in range(EVENTS))
    last = framed(event("", "stop") + b"data: [DONE]\n\n") + _END

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                _, found, length = head.partition(b"content-length:")
                if not found:  # a peer asks which models there are
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                asked = orjson.loads(await reader.readexactly(int(length.split(b"\r\n")[0])))
                writer.write(_HEAD)
                for _ in range(asked["seed"]):
                    writer.write(block)
                    await writer.drain()
                writer.write(last)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def upstream() -> Iterator[tuple[int, psutil.Process]]:
    """Its port, and its process."""
    command = [sys.executable, "-m", "benchmarks.blocks"]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), psutil.Process(process.pid)
        finally:
            process.kill()


async def client(port: int, blocks: int) -> None:
    request = {"model": "m", "stream": True, "seed": blocks, "tools": [TOOL]}
    body = orjson.dumps({**request, "messages": [{"role": "user", "content": "Go."}]})
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    tail = b""
    while not tail.endswith(_END):
        data = await reader.read(1 << 18)
        assert data, "the answer has no end"
        tail = (tail + data)[-len(_END) :]
    writer.close()


async def rate(port: int, streams: int, blocks: int) -> float:
    """Events a second, of all streams together."""
    begin = time.perf_counter()
    await asyncio.gather(*[client(port, blocks) for _ in range(streams)])
    return streams * blocks * EVENTS / (time.perf_counter() - begin)


async def capacity(port: int, streams: int, seconds: float) -> float:
    """The same, with streams so long that it takes about this many seconds: for short ones the requests would
    be most of the work."""
    blocks = 1
    while True:
        found = await rate(port, streams, blocks)
        wanted = int(found * seconds / streams / EVENTS)
        if wanted < 2 * blocks:
            return found
        blocks = wanted
        await asyncio.sleep(0.3)  # until the shorter ones are written, too


if __name__ == "__main__":
    uvloop.run(serve())
