"""What the screen costs in processor seconds: tapes and lists that are opened, a key that changes the pane.

    python -m benchmarks opening [--rounds 3]

Each is measured in a process of its own, with the real application without a terminal: a tape of 22 MB, one
of 100 000 reads, a library of 5 000 exchanges, and a tab between panes. Beside a tape is the cost of reading
its file and of the transformer alone: the rest is the screen's.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from benchmarks.load import event
from benchmarks.report import ROOT, Bars, Program, Report, Table, number, progress
from benchmarks.transformer import WRITE
from transformer import StreamTransformer
from workbench.library.index import rebuild
from workbench.tape.format import (
    TapeReader,
    dump_line,
    end_line,
    make_header,
    read_line,
    sent_line,
    status_line,
)
from workbench.tape.recipe import Wishes, make_recipe
from workbench.ui.app import WorkbenchApp
from workbench.ui.screens.stream import StreamScreen

SIZE = (200, 50)
TAPE = 22_000_000  # bytes
READS = 100_000
EXCHANGES = 5_000
TABS = 20
# Processor seconds, and for the first rows seconds on the clock.
FIRST, TAPE_DONE, ROWS_DONE, LIST_OPEN, TAB = 0.5, 10.0, 3.0, 1.0, 0.06


# -- what is opened


def words() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"word{number} "


def long_value() -> Iterator[str]:
    """A model writes a file, without ever ending it."""
    yield "I'll write it.\n\n"
    yield "<write_to_file>\n<path>a.py</path>\n<content>\n"
    number = 0
    while True:
        number += 1
        yield f"line {number} of"
        yield " the file\n"


def write_tape(path: Path, pieces: Iterator[str], *, reads: int = 1 << 60, size: int = 1 << 60) -> None:
    """A tape with an event in each read, until it has this many events or bytes."""
    stream = StreamTransformer("roo-xml", tools=[WRITE], ids=lambda number: f"call_{number}", now=0)
    header = make_header("made for a benchmark", "roo-xml", started=1_790_000_000.0, ids="x", now=0,
                         model="m", kind="chat", stream=True, tools=[WRITE])  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(dump_line(header) + dump_line(status_line(0.1, "upstream", 200)))
        number = 0
        while number < reads and file.tell() < size:
            number += 1
            data = event(next(pieces))
            file.write(dump_line(read_line(number / 100, data)))
            if sent := stream.feed(data):
                file.write(dump_line(sent_line(number / 100, sent)))
        file.write(dump_line(sent_line(number / 100, stream.finish())))
        file.write(dump_line(end_line(number / 100, "done")))


def write_exchanges(library: Path, count: int) -> None:
    """Short ones, twenty to a session."""
    folder = library / "tapes" / "2026-11-16"
    folder.mkdir(parents=True)
    for at in range(count):
        header = make_header(
            "made for a benchmark", "roo-xml", started=1_790_000_000.0 + at, ids="x", now=0, model="m",
            kind="chat", stream=True, session=f"s{at // 20}",
        )  # fmt: skip
        lines = (
            status_line(0.1, "upstream", 200), read_line(0.2, event("Hello")), sent_line(0.2, event("Hello")),
            end_line(0.3, "done", reads=1),
        )  # fmt: skip
        tape = dump_line(header) + b"".join(dump_line(line) for line in lines)
        (folder / f"{at:06}.jsonl").write_bytes(tape)
    rebuild(library)


# -- measuring, each in a process of its own


def read_alone(path: Path) -> None:
    """What the lines of a tape take."""
    before = process_time()
    reader = TapeReader()
    with path.open("rb") as file:
        while data := file.read(1 << 14):
            reader.feed(data)
    print(process_time() - before)


def transform_alone(path: Path) -> None:
    """What the transformer takes for upstream's bytes, with no more records than the proxy has."""
    reader = TapeReader()
    reads = [line.data for line in reader.feed(path.read_bytes()) if line.kind == "read"]
    assert reader.header is not None
    before = process_time()
    stream = make_recipe(reader.header, Wishes()).stream("findings")
    for data in reads:
        stream.feed(data)
    stream.finish()
    print(process_time() - before)


def open_tape(library: Path) -> None:
    """The newest of a library: seconds to its first rows, processor seconds to its last, rows, megabytes."""

    async def measure() -> None:
        app = WorkbenchApp(library)
        async with app.run_test(size=SIZE):
            began, used, first = perf_counter(), process_time(), 0.0
            while True:
                await asyncio.sleep(0.002)
                screen = app.screen
                player = screen.player if isinstance(screen, StreamScreen) else None
                if player is None or player.steps < SIZE[1]:
                    continue
                first = first or perf_counter() - began
                if player.complete:
                    break
            print(first, process_time() - used, player.steps, _memory())

    asyncio.run(measure())


def open_list(library: Path) -> None:
    """Processor seconds from nothing to a list that can be moved in."""

    async def measure() -> None:
        used = process_time()
        app = WorkbenchApp(library)
        async with app.run_test(size=SIZE) as pilot:
            while not (isinstance(app.screen, StreamScreen) and app.screen.catalogue.rows):
                await asyncio.sleep(0.002)
            await pilot.press("down")
            await pilot.pause()
            print(process_time() - used)

    asyncio.run(measure())


def switch_panes(library: Path) -> None:
    """Processor seconds of a key that selects another row, and of one that goes to another pane."""

    async def measure() -> None:
        app = WorkbenchApp(library)
        async with app.run_test(size=SIZE) as pilot:
            while not (
                isinstance(app.screen, StreamScreen) and app.screen.player and app.screen.player.complete
            ):
                await asyncio.sleep(0.02)
            await pilot.pause(1)
            costs = []
            for keys in (("2", "down", "up"), ("1", "tab", "shift+tab")):
                await pilot.press(*keys)
                await pilot.pause(0.2)
                used = process_time()
                for _ in range(TABS // 2):
                    for key in keys[1:]:
                        await pilot.press(key)
                        await pilot.pause()
                costs.append((process_time() - used) / TABS)
            print(*costs)

    asyncio.run(measure())


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def _apart(name: str, path: Path) -> list[float]:
    """What one of the functions above prints."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.opening", name, str(path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return [float(number) for number in done.stdout.split()]


# -- the figures


class Tape:
    """One that is opened again in each round."""

    def __init__(self, folder: Path, name: str, pieces: Iterator[str], **until: int) -> None:
        self.name = name
        self.library = folder / name
        self._path = self.library / "tapes" / "2026-11-16" / "000001.jsonl"
        write_tape(self._path, pieces, **until)
        rebuild(self.library)
        self._rounds: list[list[float]] = []

    def round(self) -> None:
        alone = [*_apart("read_alone", self._path), *_apart("transform_alone", self._path)]
        self._rounds.append(alone + _apart("open_tape", self.library))

    def tell(self, report: Report) -> tuple[str, ...]:
        """Its row of the table; what is judged goes into the report."""
        read, alone, first, used, rows, memory = (
            median(column) for column in zip(*self._rounds, strict=True)
        )
        size, each = self._path.stat().st_size / 1e6, used / rows * 100_000
        report.add(f"{self.name}: first rows", first, "s", goal=FIRST)
        report.add(f"{self.name}: all rows", used, "s CPU", goal=TAPE_DONE)
        report.add(f"{self.name}: 100 000 rows", each, "s CPU", goal=ROWS_DONE)
        parts = {"its file read": read, "transformer alone": alone, "on the screen": used}
        report.charts.append(
            Bars(f"{self.name}, all of it", "s CPU", parts, TAPE_DONE, marked="on the screen")
        )
        times = used / (read + alone)
        return self.name, f"{rows:,.0f}", *map(number, (size, read, alone, used, times, memory))


def measured(options: argparse.Namespace) -> Report:
    part = 10 if options.quick else 1
    report = Report("What the screen costs when something is opened")
    with tempfile.TemporaryDirectory(prefix="workbench-bench.") as name:
        folder = Path(name)
        tapes = [
            Tape(folder, "a file that is written", long_value(), size=TAPE // part),
            Tape(folder, "words", words(), reads=READS // part),
        ]
        exchanges = EXCHANGES // part
        write_exchanges(folder / "many", exchanges)
        keys, opened = [], []
        for at in range(options.rounds):
            progress(f"round {at + 1} of {options.rounds}")
            for tape in tapes:
                tape.round()
            keys.append(_apart("switch_panes", tapes[1].library))
            opened += _apart("open_list", folder / "many")
        rows = [tape.tell(report) for tape in tapes]
    head = ("a tape", "rows", "MB", "its file read", "transformer", "on the screen", "× both", "MB of memory")
    report.tables.append(Table("Tapes, in seconds of the processor", head, rows))
    row, tab = (median(column) for column in zip(*keys, strict=True))
    report.add(f"a list of {exchanges:,} exchanges", median(opened), "s CPU", goal=LIST_OPEN)
    report.add("a key that selects another row", row * 1000, "ms CPU")
    report.add("a key that goes to another pane", tab * 1000, "ms CPU", goal=TAB * 1000)
    report.charts.append(
        Bars(f"A list of {exchanges:,} exchanges", "s CPU", {"measured": median(opened)}, LIST_OPEN)
    )
    both = {"another row": row * 1000, "another pane": tab * 1000}
    report.charts.append(Bars("A key", "ms CPU", both, TAB * 1000, marked="another pane"))
    return report


PROGRAM = Program("opening", __doc__, measured, 3)
_APART = {one.__name__: one for one in (read_alone, transform_alone, open_tape, open_list, switch_panes)}

if __name__ == "__main__":
    _APART[sys.argv[1]](Path(sys.argv[2]))
