"""Whether throughput grows with the number of processes that serve.

    python -m benchmarks workers [--rounds 5]

`workbench serve --workers N` for N from 1 to the number of cores, converting roo-xml and recording. Upstream
is a process that sends blocks of events which are made once, and the clients only count bytes: what they take
from the cores is little beside what the proxy does, and it is told.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import orjson
import psutil
import uvloop

from benchmarks.load import TOOL, event, framed
from benchmarks.proxies import ROOT, cpu_seconds
from benchmarks.report import Bars, Program, Report, Table, number, progress, ratio
from tests.support.proxies import running_proxy

EVENTS = 100  # in a block
BLOCKS = 40
QUICK_BLOCKS = 4
STREAMS = 16
WANTED = 0.7  # of what as many processes alone would give
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_END = b"0\r\n\r\n"


async def serve_blocks(blocks: int) -> None:
    """An upstream that has nothing to do but to write."""
    block = framed(b"".join(event(f" word{number}") for number in range(EVENTS)))
    last = framed(event("", "stop") + b"data: [DONE]\n\n") + _END

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
                )
                await reader.readexactly(int(length.partition(b":")[2]))
                writer.write(_HEAD)
                for _ in range(blocks):
                    writer.write(block)
                    await writer.drain()
                writer.write(last)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def client(port: int) -> None:
    request = {
        "model": "m",
        "stream": True,
        "tools": [TOOL],
        "messages": [{"role": "user", "content": "Go."}],
    }
    body = orjson.dumps(request)
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


async def rate(port: int, blocks: int) -> float:
    """Events a second, of all streams together."""
    begin = time.perf_counter()
    await asyncio.gather(*[client(port) for _ in range(STREAMS)])
    return STREAMS * blocks * EVENTS / (time.perf_counter() - begin)


async def rounds(ports: dict[int, int], options: argparse.Namespace, blocks: int) -> dict[int, list[float]]:
    for port in ports.values():
        await asyncio.gather(
            *[client(port) for _ in range(4)]
        )  # caches and connections are warm from here on
    found: dict[int, list[float]] = {count: [] for count in ports}
    for number_ in range(options.rounds):
        for count, port in ports.items():
            progress(f"round {number_ + 1} of {options.rounds}: {count} workers")
            found[count].append(await rate(port, blocks))
    return found


def measure(options: argparse.Namespace) -> Report:
    blocks = QUICK_BLOCKS if options.quick else BLOCKS
    cores = os.cpu_count() or 1
    with ExitStack() as stack:
        command = [sys.executable, "-m", "benchmarks.workers", str(blocks)]
        source = stack.enter_context(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True))
        stack.callback(source.kill)
        assert source.stdout is not None
        url = f"http://127.0.0.1:{int(source.stdout.readline())}/v1"
        ports = {}
        for count in range(1, max(2, cores) + 1):
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="workbench-workers.")))
            proxy = stack.enter_context(running_proxy(home, url, "roo-xml", "-q", "--workers", str(count)))
            ports[count] = int(proxy.base.rsplit(":", 1)[1])
        begin = time.perf_counter()
        found = uvloop.run(rounds(ports, options, blocks))
        passed = time.perf_counter() - begin
        both = cpu_seconds(psutil.Process(source.pid)) + time.process_time()
    report = Report("Throughput of several processes")
    rates = {count: median(values) for count, values in found.items()}
    rows = [
        (str(count), number(value), f"{ratio(found[count], found[1]):.2f}") for count, value in rates.items()
    ]
    report.tables.append(Table("", ("workers", "events a second", "times one"), rows))
    most = max(count for count in found if count <= cores)
    if most > 1:
        grown = ratio(found[most], found[1])
        report.add(f"{most} workers on {cores} cores", grown, "times one", goal=WANTED * most, more=True)
    values = {f"{count} worker{'s' if count > 1 else ''}": value for count, value in rates.items()}
    report.charts.append(Bars("events a second", "", values))
    report.notes.append(f"Upstream and the clients took {both / passed * 100:.0f} % of one core.")
    return report


PROGRAM = Program("workers", __doc__, measure, rounds=5)

if __name__ == "__main__":
    uvloop.run(serve_blocks(int(sys.argv[1])))
