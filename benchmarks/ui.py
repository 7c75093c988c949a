"""How long a user waits at the screen while a long tape is read, and what the screen takes from the proxy.

    python -m benchmarks ui [--rounds 3]

The real program runs in a pseudo-terminal. It opens a tape of 100 000 reads: the time from the key to its
first rows, then, while the rest is read, from a typed character to its echo, and the longest pause of the
event loop by a probe inside the process; beside them the same when idle. Then four streams of
100 chunks/s run through `workbench serve`, in turns with and without a screen that follows one. What opening
costs the processor is measured by `python -m benchmarks opening`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter, sleep
from typing import NamedTuple

import uvloop

from benchmarks.load import Load, Measured, event, measure, upstream
from benchmarks.report import ROOT, Bars, Program, Report, Table, number, progress
from tests.support.proxies import running_proxy
from tests.support.terminal import Program as Terminal
from transformer import StreamTransformer
from workbench.library.index import rebuild
from workbench.tape.format import dump_line, end_line, make_header, read_line, sent_line, status_line

READS = 100_000
LIVE = Load(4, 800, 0.01)
SIZE = (200, 50)
FIRST_FRAME = 0.5  # seconds
LONGEST_WAIT = 0.05  # seconds that loading may hold up a key
MOST_DELAY = 3.0  # times what the proxy adds without a screen
MOST_CORES = 1.0
# Characters that are nowhere else on the screen, so that their echo is recognised.
ECHOES = [chr(code) for code in range(0x0400, 0x0450)]
PROBE = """
import asyncio, sys, time
sys.path[0] = {root!r}
from pathlib import Path
from workbench.ui.app import WorkbenchApp  # noqa: E402

async def watch():
    with open({log!r}, "w", buffering=1) as log:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            if now - last > 0.004:
                print(last, now - last, file=log)
            last = now

shown = WorkbenchApp(Path({library!r}))
begin = shown.begin

def probed():
    shown.watching = asyncio.ensure_future(watch())
    begin()

shown.begin = probed
shown.run()
"""


def write_tapes(library: Path, long: int) -> None:
    """A short one, which is the newest, and the long one."""
    folder = library / "tapes" / "2026-11-16"
    folder.mkdir(parents=True)
    for name, reads, started in (("short", 20, 1_790_000_100.0), ("long", long, 1_790_000_000.0)):
        stream = StreamTransformer("roo-xml", ids=lambda number: f"call_{number}", now=0)
        header = make_header("made for a benchmark", "roo-xml", started=started, ids="x", now=0, model="m",
                             kind="chat", stream=True)  # fmt: skip
        with (folder / f"{name}.jsonl").open("wb") as file:
            file.write(dump_line(header) + dump_line(status_line(0.1, "upstream", 200)))
            for number in range(reads):
                data = event(f"{name}{number} ")
                file.write(dump_line(read_line(number / 100, data)))
                if sent := stream.feed(data):
                    file.write(dump_line(sent_line(number / 100, sent)))
            file.write(dump_line(sent_line(reads / 100, stream.finish())))
            file.write(dump_line(end_line(reads / 100, "done")))
    rebuild(library)


# A long tape


class Opened(NamedTuple):
    """Seconds until its first rows and until its last, of a key's echo when idle and at most while it loads,
    and of the event loop's longest pause in each."""

    first: float
    loaded: float
    idle: float
    busy: float
    calm: float
    pause: float

    @property
    def held_up(self) -> float:
        """How long loading held up a key."""
        return self.busy - self.idle


def open_long(folder: Path, rounds: int, reads: int) -> list[Opened]:
    write_tapes(folder / "library", reads)
    found = []
    for at in range(rounds):
        progress(f"a tape of {reads:,} reads, round {at + 1} of {rounds}")
        found.append(open_once(folder, reads))
    return found


def tell_opened(rounds: list[Opened], reads: int, report: Report) -> None:
    """The median of the rounds counts: a busy machine may delay anything once."""
    heads = (
        "ms",
        "first rows",
        "all rows",
        "echo, idle",
        "echo, loading, at most",
        "pause, idle",
        "pause, loading",
    )
    rows = [(f"round {at}", *(number(value * 1000) for value in one)) for at, one in enumerate(rounds, 1)]
    report.tables.append(Table(f"A tape of {reads:,} reads", heads, rows))
    first = median(one.first for one in rounds)
    held_up = median(one.held_up for one in rounds) * 1000
    report.add("first rows of a long tape", first, "s", goal=FIRST_FRAME)
    # A user waits for keys; the loop's pause, the machine's own included, tells where to look.
    report.add("a key held up while it is read", held_up, "ms", goal=LONGEST_WAIT * 1000)
    report.charts.append(Bars("First rows of a long tape", "s", {"measured": first}, FIRST_FRAME))
    idle, busy = (median(getattr(one, what) for one in rounds) * 1000 for what in ("idle", "busy"))
    echo = {"idle, median": idle, "while it is read, at most": busy}
    goal = idle + LONGEST_WAIT * 1000
    report.charts.append(
        Bars("From a key to its echo", "ms", echo, round(goal, 1), marked="while it is read, at most")
    )


def open_once(folder: Path, reads: int) -> Opened:
    library, log = folder / "library", folder / "pauses"
    code = PROBE.format(root=str(ROOT), log=str(log), library=str(library))
    with Terminal(folder, size=SIZE, command=("-c", code)) as screen:
        screen.until(lambda: b"short19" in screen.raw, "the short tape")
        echoes(screen, ECHOES[:1])  # the first time costs more, whatever is going on
        sleep(0.5)
        start = perf_counter()
        idle = echoes(screen, ECHOES[1:12])
        sleep(0.5)  # nothing is left to be drawn
        begin, before = perf_counter(), len(screen.raw)
        screen.press("down")
        screen.until(lambda: re.search(rb"long\d", screen.raw), "the first rows of the long tape", 60)
        first = perf_counter() - begin
        busy = echoes(screen, ECHOES[12:63])
        # How many rows the client's pane has: it is told when all of them are there.
        whole = f" {reads + 3} ".encode()
        screen.until(lambda: screen.raw.find(whole, before) >= 0, "all of it", 120)
        loaded = perf_counter()
    calm, pause = _longest(log, start, begin), _longest(log, begin, loaded)
    return Opened(first, loaded - begin, median(idle), max(busy), calm, pause)


def _longest(log: Path, begin: float, end: float) -> float:
    """The longest pause that the probe noted in this time."""
    pauses = [tuple(map(float, line.split())) for line in log.read_text().splitlines()]
    return max((gap for at, gap in pauses if begin < at < end), default=0.0)


def echoes(screen: Terminal, characters: list[str]) -> list[float]:
    """Seconds from each character typed into the search line until it is drawn. Not of the first one: that
    waits for the line to open, which takes as long when nothing is going on."""
    times = []
    screen.press("/")
    drawn(screen, b"Close", len(screen.raw))  # the footer of a line that has the focus
    for character in characters:
        begin, before = perf_counter(), len(screen.raw)
        screen.write(character)
        drawn(screen, character.encode(), before)
        times.append(perf_counter() - begin)
        sleep(0.05)
    screen.press("escape")
    return times[1:]


def drawn(screen: Terminal, text: bytes, since: int) -> None:
    screen.until(lambda: screen.raw.find(text, since) >= 0, f"{text!r} on the screen", 60)


# Live streams


async def watch_live(folder: Path, rounds: int) -> tuple[dict[str, list[Measured]], list[float]]:
    server, port = await upstream()
    ways: dict[str, list[Measured]] = {"direct": [], "proxy": [], "with a screen": []}
    cores = []
    url = f"http://127.0.0.1:{port}/v1"
    with ExitStack() as stack:
        # The event loop must go on while the proxy starts: it asks upstream whether it is there.
        proxy = await asyncio.to_thread(stack.enter_context, running_proxy(folder, url, "roo-xml"))
        through = int(proxy.base.rsplit(":", 1)[1])
        await measure(through, Load(4, 50))
        for at in range(rounds):
            progress(f"live streams, round {at + 1} of {rounds}")
            ways["direct"].append(await measure(port, LIVE))
            ways["proxy"].append(await measure(through, LIVE))
            watched, used = await with_screen(folder, proxy.library, through)
            ways["with a screen"].append(watched)
            cores.append(used)
    server.close()
    return ways, cores


def tell_live(ways: dict[str, list[Measured]], cores: list[float], report: Report) -> None:
    # All rounds in one: a stall comes about once in a hundred chunks, so the p99 of a single round jumps.
    pooled = {way: sorted(delay for one in found for delay in one.delays) for way, found in ways.items()}
    p99 = {way: delays[int(len(delays) * 0.99)] for way, delays in pooled.items()}
    rows = [
        (way, number(median(pooled[way])), number(p99[way]), number(p99[way] - p99["direct"])) for way in ways
    ]
    title = f"{LIVE.streams} streams, a chunk every {LIVE.gap * 1000:.0f} ms each"
    report.tables.append(Table(title, ("ms", "p50", "p99", "added to p99"), rows))
    # Both over what the machine takes anyway; less than that is noise.
    alone = max(p99["proxy"] - p99["direct"], 0.1 * p99["direct"])
    added = (p99["with a screen"] - p99["direct"]) / alone
    report.add("delay of a chunk with a screen", added, "× the proxy alone", goal=MOST_DELAY)
    report.add("cores that the screen uses", max(cores), goal=MOST_CORES)
    report.charts.append(Bars("p99 of a chunk, live", "ms", p99, marked="with a screen"))
    report.charts.append(Bars("Cores that the screen uses", "", {"measured": max(cores)}, MOST_CORES))


class Screen(Terminal):
    """Another process reads what it draws, so that this one measures nothing but the streams."""

    @property
    def output(self) -> Path:
        return self.home / "output"

    def read_output(self) -> None:
        with self.output.open("wb") as file:
            subprocess.run(["cat"], stdin=self.master, stdout=file, stderr=subprocess.DEVNULL, check=False)


async def with_screen(folder: Path, library: Path, port: int) -> tuple[Measured, float]:
    """The load while a screen follows its newest stream; and how many cores that screen used."""
    screen = await asyncio.to_thread(Screen, folder, "attach", "--library", str(library), size=SIZE)
    with screen:
        async with asyncio.timeout(20):
            while b"Upstream" not in screen.output.read_bytes():
                await asyncio.sleep(0.1)
        running = asyncio.ensure_future(measure(port, LIVE))
        await asyncio.sleep(1)
        screen.press("g")  # the list's first exchange is the newest
        await asyncio.sleep(0.5)
        begin, used, drawn = monotonic(), _cpu(screen.process.pid), screen.output.stat().st_size
        measured = await running
        cores = (_cpu(screen.process.pid) - used) / (monotonic() - begin)
        assert screen.output.stat().st_size - drawn > 20_000, "the screen did not follow"
    return measured, cores


def _cpu(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(options: argparse.Namespace) -> Report:
    report = Report("How long somebody waits at the screen, and what the screen takes from the proxy")
    reads = READS // 10 if options.quick else READS
    with tempfile.TemporaryDirectory(prefix="workbench-bench.") as name:
        tell_opened(open_long(Path(name) / "long", options.rounds, reads), reads, report)
        tell_live(*uvloop.run(watch_live(Path(name), options.rounds)), report)
    return report


PROGRAM = Program("ui", __doc__, measured, 3)
