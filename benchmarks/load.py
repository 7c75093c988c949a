"""Streams through a relay, with the time of each chunk: its upstream and its clients in one process.

Each chunk carries the moment at which upstream wrote it, so the client that reads it knows how long it took.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns

import orjson

_STAMP = re.compile(rb"@(\d+)@")
_CUT = re.compile(rb"\r\n[0-9a-f]+\r\n(?!\r\n)")  # between two chunks, which may be in the middle of a stamp
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_APART = 0.618  # of a gap between the starts of two streams: however many there are, they are spread evenly
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TOOL = {
    "type": "function",
    "function": {
        "name": "write",
        "parameters": {"type": "object", "properties": {"content": {"type": "string"}}},
    },
}


@dataclass(frozen=True, slots=True)
class Load:
    """This many streams at once, of this many chunks each; `gap` seconds between two chunks, 0 for none."""

    streams: int
    chunks: int
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What a load gave: how long it took in all, and how long each chunk was under way.

    Only the chunks that upstream wrote when all streams had begun: a burst of requests is another question,
    which `begun` answers.
    """

    seconds: float
    begun: float  # seconds until every stream had its first chunk
    chunks: int
    delays: list[float]  # milliseconds
    each: float = 0.0  # what a chunk cost while all streams ran

    def percentile(self, percent: float) -> float:
        return sorted(self.delays)[min(len(self.delays) - 1, int(len(self.delays) * percent / 100))]

    @property
    def rate(self) -> float:
        return self.chunks / self.seconds


def event(text: str, finish: str | None = None) -> bytes:
    choice = {
        "index": 0,
        "delta": {"content": text} if text else {},
        "logprobs": None,
        "finish_reason": finish,
    }
    chunk = {
        "id": "chatcmpl-7c1",
        "object": "chat.completion.chunk",
        "created": 1790000000,
        "model": "qwen3-coder-30b",
        "choices": [choice],
    }
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def framed(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def upstream() -> tuple[asyncio.Server, int]:
    """A server that streams as the request's body says; and its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                if length is None:  # a peer asks which models there are
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                body = orjson.loads(await reader.readexactly(int(length[1])))
                await answer(writer, body["seed"], body["top_p"])
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    return server, server.sockets[0].getsockname()[1]


_started = itertools.count()


async def answer(writer: asyncio.StreamWriter, chunks: int, gap: float) -> None:
    """Paced streams are not in step: what many models write does not come at the same moment. Each chunk has
    its time from the start: counted from the one before, streams that were held up once would be in step from
    then on, and a slow relay would get another load than a fast one."""
    writer.write(_HEAD)
    loop = asyncio.get_running_loop()
    begun = loop.time() + gap * (next(_started) * _APART % 1)
    for number in range(chunks):
        if gap:
            await asyncio.sleep(begun + gap * (number + 1) - loop.time())
        elif number % 20 == 0:
            await asyncio.sleep(0)  # upstream shares its loop with the clients
        writer.write(framed(event(f"@{perf_counter_ns()}@ word")))
        await writer.drain()
    writer.write(framed(event("", "stop") + b"data: [DONE]\n\n") + b"0\r\n\r\n")
    await writer.drain()


class Steady:
    """The time in which all streams run: from the last one's first chunk to the first one's last. What is
    measured there, at its begin and at its end, belongs to chunks alone; requests are another question."""

    def __init__(self, load: Load, look: Callable[[], float]) -> None:
        self._load = load
        self._look = look
        self._before = look()
        self._first = 0
        self._values: list[float] = []
        self._at: list[int] = []

    def heard(self, chunks: int) -> None:
        """A stream has this many chunks by now."""
        begun = chunks == 1
        self._first += begun
        if (begun and self._first == self._load.streams) or (
            chunks == self._load.chunks and len(self._at) == 1
        ):
            self._values.append(self._look())
            self._at.append(perf_counter_ns())

    def each(self, arrived: list[list[tuple[int, int]]]) -> float:
        """What one chunk of that time cost; where there was no such time, one of all."""
        if len(self._at) < 2:
            return (self._look() - self._before) / sum(map(len, arrived))
        start, end = self._at
        chunks = sum(start <= read <= end for one in arrived for _, read in one)
        return (self._values[1] - self._values[0]) / chunks


async def measure(port: int, load: Load, look: Callable[[], float] | None = None) -> Measured:
    """The load, sent through the relay at this port; `look` gives what it has cost so far."""
    start = perf_counter_ns()
    steady = None if look is None else Steady(load, look)
    arrived = await asyncio.gather(*[client(port, load, steady) for _ in range(load.streams)])
    end = perf_counter_ns()
    for one in arrived:
        assert len(one) == load.chunks, f"{len(one)} of {load.chunks} chunks arrived"
    begun = max(one[0][1] for one in arrived)
    chunks = [pair for one in arrived for pair in one]
    counted = [pair for pair in chunks if pair[0] >= begun or not load.gap]
    # In a relay that is too slow, streams never all run at once: then every chunk counts.
    delays = [(read - wrote) / 1e6 for wrote, read in counted or chunks]
    each = 0.0 if steady is None else steady.each(arrived)
    return Measured((end - start) / 1e9, (begun - start) / 1e9, load.streams * load.chunks, delays, each)


async def client(port: int, load: Load, steady: Steady | None = None) -> list[tuple[int, int]]:
    """When each chunk was written, and when it was read."""
    # Fields that any proxy leaves alone tell upstream what to do.
    request = {"model": "m", "stream": True, "seed": load.chunks, "top_p": load.gap, "tools": [TOOL]}
    body = orjson.dumps({**request, "messages": [{"role": "user", "content": "Go on."}]})
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    times: list[tuple[int, int]] = []
    rest = b""
    while not rest.endswith(b"0\r\n\r\n"):
        data = await reader.read(1 << 16)
        now = perf_counter_ns()
        if not data:
            break
        rest = _CUT.sub(b"", rest + data)
        end = 0
        for stamp in _STAMP.finditer(rest):
            times.append((int(stamp[1]), now))
            end = stamp.end()
            if steady is not None:
                steady.heard(len(times))
        rest = rest[end:]
    writer.close()
    return times
