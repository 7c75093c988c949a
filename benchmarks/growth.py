"""Whether a chunk costs the same in a long stream, among many streams, and beside many tapes.

    python -m benchmarks growth [--quick] [--json FILE] [--svg FILE]

The real proxy, converting roo-xml and recording: one stream of 1 KB to 100 MB; 1 to 64 streams of the same
chunks; a library of 0 to 100 000 tapes. Each gives the CPU time of a chunk and the memory of the process
afterwards. What a request costs is spread over the chunks of its stream, so it is subtracted: it is measured
with streams of one chunk, at each size of the library.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil
import uvloop

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from benchmarks.load import Load, event, framed, measure, upstream  # noqa: E402
from benchmarks.proxies import resident_bytes, settled_cpu  # noqa: E402
from benchmarks.report import lines, table, write_json  # noqa: E402
from tests.support.proxies import Proxy, running_proxy  # noqa: E402
from workbench.library.index import INDEX, Index  # noqa: E402
from workbench.library.tapefiles import new_id, tape_path  # noqa: E402

CHUNK = len(framed(event("@1234567890123456@ word")))
BYTES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
STREAMS = (1, 4, 16, 64)
TAPES = (0, 1_000, 10_000, 100_000)
_TOGETHER = 64 * 320  # chunks, however many streams they come in
_REQUESTS = 30
_MOST = 1.5  # times as much as in the middle is growth; the smallest are mostly a request


class Point(NamedTuple):
    """One size: CPU microseconds of a chunk and of a request, memory in MB."""

    size: int
    chunk: float
    request: float
    memory: float


async def point(proxy: Proxy, size: int, load: Load) -> Point:
    process, port = psutil.Process(proxy.process.pid), int(proxy.base.rsplit(":", 1)[1])
    await measure(port, Load(4, 50))
    begin = await settled_cpu(process)
    for _ in range(_REQUESTS):
        await measure(port, Load(1, 1))
    request = (await settled_cpu(process) - begin) / _REQUESTS
    begin = await settled_cpu(process)
    measured = await measure(port, load)
    spent = await settled_cpu(process) - begin - request * load.streams
    return Point(size, max(spent, 0) / measured.chunks * 1e6, request * 1e6, resident_bytes(process) / 1e6)


def fill(library: Path, count: int) -> None:
    """More tapes: the first one again and again, with a row in the index for each."""
    first = next(library.glob("tapes/*/*.jsonl"))
    with sqlite3.connect(library / INDEX) as db:
        db.row_factory = sqlite3.Row
        row = dict(db.execute("SELECT * FROM tapes").fetchone())
    rows = []
    for number in range(count):
        id = new_id()
        path = tape_path(float(row["started"]) - number * 5, id)
        (library / path).parent.mkdir(parents=True, exist_ok=True)
        os.link(first, library / path)
        rows.append(row | {"id": id, "path": path})
    index = Index(library)
    for at in range(0, len(rows), 10_000):
        index.put(rows[at : at + 10_000])
    index.close()


async def by_bytes(url: str, folder: Path, sizes: tuple[int, ...]) -> list[Point]:
    found = []
    for size in sizes:
        with running_proxy(_new(folder), url, "roo-xml", "-q") as proxy:
            found.append(await point(proxy, size, Load(1, max(1, size // CHUNK))))
    return found


async def by_streams(url: str, folder: Path) -> list[Point]:
    found = []
    for streams in STREAMS:
        with running_proxy(_new(folder), url, "roo-xml", "-q") as proxy:
            found.append(await point(proxy, streams, Load(streams, _TOGETHER // streams)))
    return found


async def by_tapes(url: str, folder: Path, counts: tuple[int, ...]) -> list[Point]:
    found = []
    for count in counts:
        home = _new(folder)
        with running_proxy(home, url, "roo-xml", "-q") as proxy:
            await measure(int(proxy.base.rsplit(":", 1)[1]), Load(1, 20))
            proxy.tapes(1)
        fill(proxy.library, count)
        with running_proxy(home, url, "roo-xml", "-q") as proxy:
            found.append(await point(proxy, count, Load(16, 1_250)))
    return found


def _new(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))


async def main(options: argparse.Namespace) -> int:
    server, port = await upstream()
    url = f"http://127.0.0.1:{port}/v1"
    with tempfile.TemporaryDirectory(prefix="workbench-growth.") as name:
        folder = Path(name)
        found = {
            "bytes of a stream": await by_bytes(url, folder, BYTES[:-1] if options.quick else BYTES),
            "streams at once": await by_streams(url, folder),
            "tapes in the library": await by_tapes(url, folder, TAPES[:-1] if options.quick else TAPES),
        }
    server.close()
    grown = []
    for what, points in found.items():
        head = (what, "µs CPU a chunk", "µs CPU a request", "MB")
        rows = [(f"{p.size:,}", f"{p.chunk:.1f}", f"{p.request:.0f}", f"{p.memory:.0f}") for p in points]
        print(table(head, rows), end="\n\n")
        usual = median(one.chunk for one in points)
        if points[-1].chunk > usual * _MOST:
            grown.append(what)
    print(f"grows with: {', '.join(grown)}" if grown else "flat")
    if options.json:
        write_json(options.json, {what: [p._asdict() for p in points] for what, points in found.items()})
    if options.svg:
        series = {what: [(p.size, p.chunk, p.memory) for p in points] for what, points in found.items()}
        options.svg.write_text(lines(series, "µs CPU a chunk", "MB"), encoding="utf-8")
    return int(bool(grown))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="without the largest sizes")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--svg", type=Path, help="write a chart here")
    sys.exit(uvloop.run(main(parser.parse_args())))
