"""What replaying costs: how soon a long tape is seen, what a step in it takes, and how much memory it needs.

    python -m benchmarks replay [--rounds 3] [--reads 100000] [--steps 20]

Two tapes are made, one of 100 reads and one of 100 000, alike except for their length: prose, calls and some
malformed calls, with what was sent, as the recorder writes them. The real program opens the long one in a
pseudo-terminal: the time until its first rows are on the screen, and its memory once all of it is read. Then
the application runs in this process on each of them: from a key to the last frame that it led to, near the
start, in the middle, backwards at the end, and at random places. Processor time is compared: a busy machine
delays everything.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.load import event
from benchmarks.report import ROOT, Bars, Program, Report, Table, number, progress
from benchmarks.stepping import SIZE, Cost, step_through
from tests.support.terminal import Program as Terminal
from transformer import StreamTransformer
from workbench.replay.lines import Tail
from workbench.replay.sources import tokens
from workbench.tape.format import dump_line, end_line, make_header, read_line, sent_line, status_line
from workbench.tape.recipe import Wishes, make_recipe

SHORT = 100
FIRST_FRAME = 0.5  # seconds
LONGEST_STEP = 0.05  # seconds
MOST_COST = 3.0  # times a step in the short tape
MOST_MEMORY = 10.0  # times the file
ROWS = b"HTTP 200"  # the first row of a tape
TOOL = {
    "type": "function",
    "function": {"name": "read_file", "parameters": {"type": "object", "properties": {"path": {}}}},
}
PROSE = "Let me look at the file before I change anything, so that the tests keep passing. "
CALL = "\n\n<read_file>\n<path>src/module_{}/main.py</path>\n</read_file>\n\n"
BROKEN = "\n\n<read_file>\n<path>src/module_{}/main.py\n</read_file>\n\n"
# `workbench replay FILE`, with the moment at which the application begins to run.
SCREEN = """
import sys, time
sys.path[0] = {root!r}
from workbench.ui.app import ReplayApp  # noqa: E402

begin = ReplayApp.run

def noted(self, *args, **more):
    with open({log!r}, "w") as log:
        print(time.perf_counter(), file=log)
    return begin(self, *args, **more)

ReplayApp.run = noted
from workbench.cli.main import main  # noqa: E402
sys.argv = ["workbench", "replay", {tape!r}]
main()
"""
PLAY = """
import sys
sys.path[0] = {root!r}
from pathlib import Path
from benchmarks.replay import play  # noqa: E402
play(Path({tape!r}))
"""


# The tapes


def pieces(malformed: bool) -> Iterator[str]:
    """What a model writes, token by token: every 20th call is malformed."""
    for at in count():
        call = BROKEN if malformed and at % 20 == 1 else CALL
        yield from tokens(PROSE + call.format(at))


def write_tape(path: Path, reads: int, *, malformed: bool = True) -> Path:
    header = make_header(
        "made for a benchmark", "roo-xml", policy={"calls": "all", "after_call": "keep"}, model="m", ids="x",
        now=0, request={"model": "m", "stream": True, "tools": [TOOL]}, kind="chat", stream=True,
    )  # fmt: skip
    stream: StreamTransformer = make_recipe(header, Wishes()).stream("none")
    text = pieces(malformed)
    with path.open("wb") as file:
        file.write(dump_line(header))
        for side in ("upstream", "client"):
            file.write(dump_line(status_line(0.1, side, 200, [("content-type", "text/event-stream")])))
        for at in range(reads):
            t, data = 0.2 + at / 50, event(next(text))
            file.write(dump_line(read_line(t, data)))
            if sent := stream.feed(data):
                file.write(dump_line(sent_line(t, sent)))
        t = 0.2 + reads / 50
        file.write(dump_line(sent_line(t, stream.finish())) + dump_line(end_line(t, "eof")))
    return path


# The first frame, and memory


@dataclass(frozen=True, slots=True)
class Opened:
    """Seconds until the first rows were drawn, since the application and since the process began; and
    once all was read: seconds since then, bytes of memory."""

    first: float
    process: float
    loaded: float
    memory: int


def open_once(folder: Path, tape: Path, reads: int) -> Opened:
    log = folder / "begun"
    code = SCREEN.format(root=str(ROOT), log=str(log), tape=str(tape))
    begin = perf_counter()
    with Terminal(folder, size=SIZE, command=("-c", code)) as screen:
        screen.until(lambda: ROWS in screen.raw, "the first rows", 60)
        seen = perf_counter()
        run = float(log.read_text())
        whole = re.compile(rf"(?:{reads}|{reads:,}) reads".encode())
        screen.until(lambda: whole.search(screen.raw), "all of it", 300)
        loaded = perf_counter()
        return Opened(seen - run, seen - begin, loaded - run, resident(screen.process.pid))


def resident(pid: int | str = "self") -> int:
    """Bytes of memory that a process has now."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def play(tape: Path) -> None:
    """In its own process: prints how much memory playing a tape takes."""
    before, tail = resident(), Tail(tape)
    while tail.advance(60) and tail.has_more:
        pass
    assert tail.player is not None and tail.player.complete
    print(f"grown by {resident() - before} bytes", flush=True)


def growth(folder: Path, tape: Path) -> int:
    with Terminal(folder, command=("-c", PLAY.format(root=str(ROOT), tape=str(tape)))) as program:
        assert program.exit_code(300) == 0, program.state()
        found = re.search(rb"grown by (\d+) bytes", program.raw)
        assert found is not None, program.state()
        return int(found[1])


# Judging


def tell_steps(short: dict[str, list[Cost]], long: dict[str, list[Cost]], report: Report) -> None:
    rows, ratios, walls = [], {}, {}
    for place, costs in long.items():
        ratios[place] = _middle(costs, "cpu") / max(_middle(short[place], "cpu"), 1e-9)
        walls[place] = _middle(costs, "wall") * 1000
        cells = [number(value) for one in (short[place], costs) for value in _span(one)]
        rows.append((place, *cells, number(ratios[place])))
    heads = [f"{which}: {what}" for which in ("short", "long") for what in ("ms", "at most", "ms CPU")]
    report.tables.append(Table("A step, until it is drawn", ("a step", *heads, "times the CPU"), rows))
    report.add("a step in the long tape", max(ratios.values()), "× short tape", goal=MOST_COST)
    report.add("a step until it is drawn", max(walls.values()), "ms", goal=LONGEST_STEP * 1000)
    report.charts.append(Bars("CPU of a step in the long tape", "× short tape", ratios, MOST_COST))
    report.charts.append(Bars("A step until it is drawn", "ms", walls, LONGEST_STEP * 1000))


def _middle(costs: Sequence[Cost], what: str) -> float:
    return float(median(getattr(cost, what) for cost in costs))


def _span(costs: Sequence[Cost]) -> tuple[float, float, float]:
    """Median and maximum milliseconds, and those of the processor."""
    most = max(cost.wall for cost in costs)
    return _middle(costs, "wall") * 1000, most * 1000, _middle(costs, "cpu") * 1000


def tell_opening(folder: Path, tape: Path, reads: int, rounds: int, report: Report) -> None:
    size, runs = tape.stat().st_size, []
    for at in range(rounds):
        progress(f"round {at + 1} of {rounds}: opening")
        runs.append(open_once(folder, tape, reads))
    rows = [
        (f"round {at}", *map(number, (run.process, run.first, run.loaded, run.memory / 1e6)))
        for at, run in enumerate(runs, 1)
    ]
    heads = ("", "first rows after the start, s", "after the application's, s", "all of it, s", "memory, MB")
    report.tables.append(Table(f"A tape of {reads:,} reads, {size / 1e6:.0f} MB", heads, rows))
    first, grown = median(run.first for run in runs), growth(folder, tape) / size
    report.add("first rows of the long tape", first, "s", goal=FIRST_FRAME)
    report.add("memory for the long tape", grown, "× its file", goal=MOST_MEMORY)
    report.charts.append(Bars("First rows of the long tape", "s", {"measured": first}, FIRST_FRAME))
    report.charts.append(Bars("Memory for the long tape", "× its file", {"measured": grown}, MOST_MEMORY))


def measured(options: argparse.Namespace) -> Report:
    reads, steps = options.reads, options.steps
    if options.quick:
        reads, steps = reads // 20, max(3, steps // 4)
    report = Report("What replaying costs: opening a long tape, and a step in it")
    with tempfile.TemporaryDirectory(prefix="workbench-bench.") as name:
        folder = Path(name)
        short, long = write_tape(folder / "short.jsonl", SHORT), write_tape(folder / "long.jsonl", reads)
        tell_opening(folder, long, reads, options.rounds, report)
        progress("steps")
        costs = [asyncio.run(step_through(tape, steps)) for tape in (short, long)]
    tell_steps(*costs, report)
    return report


def own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reads", type=int, default=100_000, help="of the long tape; default 100000")
    parser.add_argument("--steps", type=int, default=20, help="that are timed at each place; default 20")


PROGRAM = Program("replay", __doc__, measured, 3, own_options)
