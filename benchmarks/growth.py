"""Whether a chunk costs the same in a long stream, among many streams, and beside many tapes; also memory.

    python -m benchmarks growth [--rounds 3] [--only bytes|streams|tapes]

The real proxy, converting roo-xml and recording: one stream of 1 KB to 100 MB; 1 to 64 streams of the same
chunks; a library of 0 to 100 000 tapes. Each gives the CPU time of a chunk, the most memory that the process
had meanwhile, and its memory afterwards. The cost of a chunk is that of the second half of a stream: what a
stream costs less what one of half its length costs, in turns, so that requests cancel out. Growth is judged
within a round: the largest size beside the median of all sizes for a chunk, and beside the smallest size for
memory.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil
import uvloop

from benchmarks.load import Load, event, framed, measure, upstream
from benchmarks.proxies import resident_bytes, settled_cpu
from benchmarks.report import Lines, Program, Report, Table, number, progress
from tests.support.proxies import Proxy, running_proxy
from workbench.library.index import INDEX, Index
from workbench.library.tapefiles import new_id, tape_path

CHUNK = len(framed(event("@1234567890123456@ word")))
BYTES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
STREAMS = (1, 4, 16, 64)
TAPES = (0, 1_000, 10_000, 100_000)
SIZES = {"bytes": BYTES, "streams": STREAMS, "tapes": TAPES}
WORDS = {"bytes": "bytes of a stream", "streams": "streams at once", "tapes": "tapes in the library"}
MOST_CPU = 1.5  # times the usual cost of a chunk
MOST_MEMORY = 1.25  # times the memory at the smallest size
MOST_A_BYTE = 0.6  # bytes of memory for a byte of a stream, while it runs
_TOGETHER = 64 * 320  # chunks, however many streams they come in
_REQUESTS = 50
_ENOUGH, _MOST_STREAMS = 4_000, 300  # chunks: short streams are repeated until there are this many
_TURNS = 3
_QUIET = 0.5  # seconds
_LINKS = 30_000
_LOOK = 0.02  # seconds between two samples of the memory


class Point(NamedTuple):
    """One size: CPU microseconds of a chunk and of a request; MB at most meanwhile, and afterwards."""

    size: int
    chunk: float
    request: float
    peak: float
    after: float


async def point(proxy: Proxy, size: int, load: Load) -> Point:
    process, port = psutil.Process(proxy.process.pid), int(proxy.base.rsplit(":", 1)[1])
    await measure(port, Load(4, 50))
    request = await _spent(process, port, Load(1, 1), _REQUESTS) / _REQUESTS
    total = load.chunks * load.streams
    repeats = max(1, min(_MOST_STREAMS // load.streams, _ENOUGH // total))
    turns = _TURNS if repeats >= _TURNS else 1
    half = Load(load.streams, load.chunks // 2)
    more = 0.0
    async with _watched(process) as memory:
        for _ in range(turns):
            more -= await _spent(process, port, half, repeats // turns)
            more += await _spent(process, port, load, repeats // turns)
        await asyncio.sleep(_QUIET)  # memory is given back in a quiet moment
    chunks = (load.chunks - half.chunks) * load.streams * (repeats // turns) * turns
    return Point(size, max(0.0, more) / chunks * 1e6, request * 1e6, max(memory), memory[-1])


async def _spent(process: psutil.Process, port: int, load: Load, repeats: int) -> float:
    """CPU seconds of a load, repeated this many times."""
    before = await settled_cpu(process)
    for _ in range(repeats):
        await measure(port, load)
    return await settled_cpu(process) - before


@asynccontextmanager
async def _watched(process: psutil.Process) -> AsyncIterator[list[float]]:
    """The process's memory in MB, sampled repeatedly; the last sample is after all the work."""
    seen = [resident_bytes(process) / 1e6]

    async def watch() -> None:
        while True:
            await asyncio.sleep(_LOOK)
            seen.append(resident_bytes(process) / 1e6)

    watching = asyncio.ensure_future(watch())
    try:
        yield seen
    finally:
        watching.cancel()
        seen.append(resident_bytes(process) / 1e6)


def fill(library: Path, count: int) -> None:
    """More tapes: the first one again and again, with a row in the index for each."""
    first = next(library.glob("tapes/*/*.jsonl"))
    with sqlite3.connect(library / INDEX) as db:
        db.row_factory = sqlite3.Row
        row = dict(db.execute("SELECT * FROM tapes").fetchone())
    rows = []
    for at in range(count):
        id = new_id()
        path = tape_path(float(row["started"]) - at * 5, id)
        (library / path).parent.mkdir(parents=True, exist_ok=True)
        if at % _LINKS:
            os.link(first, library / path)
        else:  # the number of a file's names is limited
            first = Path(shutil.copy(first, library / path))
        rows.append(row | {"id": id, "path": path})
    index = Index(library)
    for at in range(0, len(rows), 10_000):
        index.put(rows[at : at + 10_000])
    index.close()


class Growth:
    """Each of the three questions, at one size. A library is filled once, and kept for the next round."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._homes: dict[int, Path] = {}

    async def bytes(self, size: int) -> Point:
        with running_proxy(self._new(), self._url, "roo-xml", "-q") as proxy:
            return await point(proxy, size, Load(1, max(4, size // CHUNK)))

    async def streams(self, size: int) -> Point:
        with running_proxy(self._new(), self._url, "roo-xml", "-q") as proxy:
            return await point(proxy, size, Load(size, _TOGETHER // size))

    async def tapes(self, size: int) -> Point:
        if size not in self._homes:
            self._homes[size] = await self._filled(size)
        with running_proxy(self._homes[size], self._url, "roo-xml", "-q") as proxy:
            return await point(proxy, size, Load(16, 1_250))

    async def _filled(self, count: int) -> Path:
        home = self._new()
        with running_proxy(home, self._url, "roo-xml", "-q") as proxy:
            await measure(int(proxy.base.rsplit(":", 1)[1]), Load(1, 20))
            proxy.tapes(1)
        fill(proxy.library, count)
        return home

    def _new(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._folder))


async def grown(options: argparse.Namespace) -> dict[str, list[list[Point]]]:
    """Of each question a list of rounds, each with a point for every size."""
    names = [options.only] if options.only else list(SIZES)
    server, port = await upstream()
    found: dict[str, list[list[Point]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="workbench-growth.") as folder:
        growth = Growth(f"http://127.0.0.1:{port}/v1", Path(folder))
        for at in range(options.rounds):
            for name in names:
                sizes = SIZES[name][:-1] if options.quick else SIZES[name]
                points = []
                for size in sizes:
                    progress(f"round {at + 1} of {options.rounds}: {size:,} {WORDS[name]}")
                    points.append(await getattr(growth, name)(size))
                found[name].append(points)
    server.close()
    return found


def reported(found: Mapping[str, Sequence[Sequence[Point]]]) -> Report:
    report = Report("Whether a chunk of a stream costs more where there is more of anything")
    for name, rounds in found.items():
        points = [_middle(same) for same in zip(*rounds, strict=True)]
        usual, first = median(one.chunk for one in points), points[0]
        words = WORDS[name]
        report.add(
            f"CPU of a chunk, by {words}",
            median(one[-1].chunk / median(point.chunk for point in one) for one in rounds),
            "× the median",
            goal=MOST_CPU,
        )
        report.add(
            f"memory afterwards, by {words}",
            median(one[-1].after / one[0].after for one in rounds),
            "× the smallest",
            goal=MOST_MEMORY,
        )
        if name == "bytes":
            # The text of an answer stays in memory until its end is on the tape, which has all of it.
            grown = median((one[-1].peak - one[0].peak) * 1e6 / one[-1].size for one in rounds)
            report.add("memory meanwhile, by bytes of a stream", grown, "bytes a byte", goal=MOST_A_BYTE)
        else:
            peaks = median(one[-1].peak / one[0].peak for one in rounds)
            report.add(f"memory meanwhile, by {words}", peaks, "× the smallest", goal=MOST_MEMORY)
        report.tables.append(_table(words, points))
        chunks = {"chunk": [(one.size, one.chunk) for one in points]}
        report.charts.append(Lines(f"CPU, by {words}", words, "µs CPU a chunk", chunks, usual * MOST_CPU))
        memory = {
            "at most": [(one.size, one.peak) for one in points],
            "afterwards": [(one.size, one.after) for one in points],
        }
        report.charts.append(Lines(f"Memory, by {words}", words, "MB", memory, first.peak * MOST_MEMORY))
        report.data[name] = [[point._asdict() for point in one] for one in rounds]
    return report


def _middle(points: Sequence[Point]) -> Point:
    chunk, request, peak, after = (median(column) for column in list(zip(*points, strict=True))[1:])
    return Point(points[0].size, chunk, request, peak, after)


def _table(words: str, points: Sequence[Point]) -> Table:
    head = (words, "µs CPU a chunk", "µs CPU a request", "MB at most", "MB afterwards")
    rows = [(f"{one.size:,}", *(number(value) for value in one[1:])) for one in points]
    return Table(words.capitalize(), head, rows)


def measured(options: argparse.Namespace) -> Report:
    return reported(uvloop.run(grown(options)))


def own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", choices=list(SIZES), help="one of the three")


PROGRAM = Program("growth", __doc__, measured, 3, own_options)
