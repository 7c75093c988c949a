"""Long mixed traffic through a real `workbench serve`: is memory flat, is everything released?

    python -m benchmarks soak [--minutes 10] [--clients 12]

Good, malformed, cut, reset, stalled and abandoned streams, big values, slow clients, many at once, in three
dialects. Samples the proxy's memory and descriptors, then opens every tape. Everything is on loopback, and
the traffic is bounded by pauses between the exchanges.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import aiohttp

from benchmarks.report import Lines, Program, Report, Table, progress
from benchmarks.traffic import DIALECTS, KINDS, exchange, script
from tests.support.proxies import Proxy, running_proxy
from tests.support.upstream.server import ScriptedUpstream

PAUSE = 0.5  # seconds, at most, between two exchanges of a client
BURST = 20  # exchanges at once, now and then
MOST_GROWTH, MOST_MORE = 1.10, 6.0  # of the memory's median: times, or MB, whichever is more
SPARE = 4  # descriptors that may be open at rest beyond those at the beginning
KEPT_ALIVE = 8  # seconds after which an idle connection is closed, on either side
REST = 40  # seconds for all that was open to be closed


@dataclass(slots=True)
class Soak:
    """The state of a run."""

    proxy: Proxy
    ends: float = 0.0
    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)  # MB, one a second
    descriptors: list[int] = field(default_factory=list)

    async def client(self, session: aiohttp.ClientSession, seed: int) -> None:
        """One exchange after the other, until the time is over."""
        dice = random.Random(seed)
        names, weights = list(KINDS), [kind.weight for kind in KINDS.values()]
        while time.monotonic() < self.ends:
            many = BURST if dice.random() < 0.005 else 1
            drawn = dice.choices(names, weights, k=many)
            await asyncio.gather(*[self.one(session, name, dice.choice(DIALECTS)) for name in drawn])
            await asyncio.sleep(dice.uniform(0, PAUSE))

    async def one(self, session: aiohttp.ClientSession, name: str, dialect: str) -> None:
        trouble = await exchange(session, self.proxy.url, name, dialect)
        self.done[name] += 1
        if trouble:
            self.wrong.append(trouble)

    async def watch(self) -> None:
        """A sample a second."""
        while (now := time.monotonic()) < self.ends:
            self.memory.append(resident(self.proxy.process.pid))
            self.descriptors.append(open_files(self.proxy.process.pid))
            progress(
                f"{(self.ends - now) / 60:.1f} minutes left: {self.done.total()} exchanges, "
                f"{len(self.wrong)} wrong, {self.memory[-1]:.1f} MB, {self.descriptors[-1]} descriptors"
            )
            await asyncio.sleep(1)


def resident(pid: int) -> float:
    """Megabytes of memory that a process has."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def settings(url: str) -> str:
    """One upstream a dialect, chosen by the name of the model; no tape is deleted, however many there are."""
    return 'keep_bytes = "1 TiB"\n' + "\n".join(
        f'[upstreams.{dialect}]\nurl = "{url}"\ndialect = "{dialect}"\nserves = ["{dialect}"]\n'
        for dialect in DIALECTS
    )


async def run(soak: Soak, clients: int) -> None:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        watch = asyncio.create_task(soak.watch())
        await asyncio.gather(*[soak.client(session, seed) for seed in range(clients)])
        await watch


def at_rest(pid: int, wanted: int, seconds: float) -> int:
    """How many descriptors are open without requests: after that time, or once few enough."""
    ends = time.monotonic() + seconds
    while open_files(pid) > wanted and time.monotonic() < ends:
        time.sleep(0.5)
    return open_files(pid)


def tell_memory(samples: list[float], report: Report) -> None:
    fifth = max(1, len(samples) // 5)
    early, late = median(samples[fifth : 2 * fifth] or samples), median(samples[-fifth:])
    goal = max(early * MOST_GROWTH, early + MOST_MORE)
    report.add("memory in the last fifth", late, "MB", goal=round(goal, 1))
    report.notes.append(f"memory in the second fifth: {early:.1f} MB; at most: {max(samples):.1f} MB")
    report.charts.append(Lines("Memory while it runs", "minutes", "MB", {"memory": _line(samples)}, goal))


def _line(samples: Sequence[float]) -> list[tuple[float, float]]:
    """Ten medians, by minutes: a chart of each second has more points than a line can show."""
    part = max(1, len(samples) // 10)
    slices = [samples[at : at + part] for at in range(0, len(samples) - part + 1, part)]
    return [(round((at + 1) * part / 60, 2), median(one)) for at, one in enumerate(slices)]


def tell_end(soak: Soak, report: Report) -> None:
    """Problems of the exchanges, the end of the process, its log and its tapes."""
    code = soak.proxy.stop()
    log = soak.proxy.log.read_text(errors="replace")
    report.add("exchanges that went wrong", len(soak.wrong), goal=0)
    report.notes += soak.wrong[:20]
    report.add("the proxy's exit code", code, goal=0)
    report.add("failures in the proxy's log", log.count("Traceback"), goal=0)
    if "Traceback" in log:
        report.notes.append(f"the proxy's log: {log[-2000:]}")
    troubles = damaged(soak.proxy, soak.done.total(), report)
    report.add("tapes that are missing or damaged", len(troubles), goal=0)
    report.notes += troubles[:20]


def damaged(proxy: Proxy, exchanges: int, report: Report) -> list[str]:
    """What is wrong with the tapes, now that the proxy has ended."""
    files = list(proxy.library.glob("tapes/*/*.jsonl"))
    tapes = proxy.tapes()
    ends = Counter(tape.end.value["end"] if tape.end else "none" for tape in tapes)
    size = sum(path.stat().st_size for path in files) / 1e6
    report.notes.append(f"{len(files)} tapes of {exchanges} exchanges, {size:.0f} MB; ended {dict(ends)}")
    troubles = [f"a tape: {tape.problem}" for tape in tapes if tape.problem]
    troubles += [
        f"a tape lost lines: {tape.end.value}" for tape in tapes if tape.end and tape.end.value.get("lost")
    ]
    if not len(tapes) == len(files) == exchanges:
        troubles.append(f"{exchanges} exchanges, {len(files)} tapes, {len(tapes)} of which open")
    return troubles


def measured(options: argparse.Namespace) -> Report:
    minutes = options.minutes / 20 if options.quick else options.minutes
    report = Report(f"{minutes:g} minutes of mixed traffic from {options.clients} clients")
    with (
        tempfile.TemporaryDirectory(prefix="workbench-soak.") as folder,
        ScriptedUpstream() as upstream,
        running_proxy(Path(folder), None, toml=settings(upstream.url)) as proxy,
    ):
        upstream.answer_with(script)
        soak = Soak(proxy)
        # The first exchange opens files that stay open: the library, the log.
        asyncio.run(warm_up(soak))
        before = at_rest(proxy.process.pid, 0, KEPT_ALIVE)
        soak.ends = time.monotonic() + minutes * 60
        asyncio.run(run(soak, options.clients))
        after = at_rest(proxy.process.pid, before, REST)
        report.add("descriptors left open", after - before, goal=SPARE)
        report.notes.append(f"descriptors at rest: {before}; at most: {max(soak.descriptors)}")
        tell_memory(soak.memory, report)
        files = {"descriptors": _line(soak.descriptors)}
        report.charts.append(Lines("Descriptors while it runs", "minutes", "open", files))
        tell_end(soak, report)
    rows = [(name, f"{count}") for name, count in soak.done.most_common()]
    report.tables.append(Table("Exchanges", ("kind", "count"), rows))
    return report


async def warm_up(soak: Soak) -> None:
    async with aiohttp.ClientSession() as session:
        await soak.one(session, "good", DIALECTS[0])


def own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=12)


PROGRAM = Program("soak", __doc__, measured, options=own_options)
