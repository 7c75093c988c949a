"""What the proxy costs a stream, beside a relay that only copies bytes and beside what people use instead.

    python -m benchmarks proxy [--rounds 5] [--only nginx mitmdump] [--peers]

Each load of a round goes through every relay that is installed, one after the other; what counts is the ratio
to the copying relay within that round, and of the rounds the median: a busy machine slows all alike. The
requests offer a tool; `workbench serve` converts roo-xml and records. GOALS has what is wanted.
CPU of a paced chunk is counted while all streams run; what a request costs beside that is a row of its own.
In these loads upstream and the clients are one Python process, which is slower than the copying relay; what a
relay can carry when neither holds it up (blocks.py) is a table of its own, and beside the peers that counts.
`workers` is the same with `--workers 2`, whose clients and upstream need cores as well.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

import psutil
import uvloop

from benchmarks import blocks
from benchmarks.blocks import capacity
from benchmarks.load import Load, Measured, measure, upstream
from benchmarks.proxies import (
    HOW_TO_INSTALL,
    cpu_seconds,
    installed,
    resident_bytes,
    running,
    settled_cpu,
)
from benchmarks.report import Bars, Program, Report, Table, number, progress, ratio

FAST = {1: Load(1, 20_000), 16: Load(16, 1_250), 64: Load(64, 320)}
PACED = {"4 x 100/s": Load(4, 500, 0.01), "64 x 25/s": Load(64, 125, 0.04)}
FIRST = Load(1, 1)
FIRSTS = 40
BASE, OURS = "relay", "workbench"
# (measurement, whether more is better, the goal as ratio to the copying relay)
GOALS = {
    "chunks/s, 1 stream": (True, 0.7),
    "chunks/s, 16 streams": (True, 0.7),
    "chunks/s, 64 streams": (True, 0.5),
    "p50, 4 x 100/s": (False, 2.0),
    "p99, 4 x 100/s": (False, 3.0),
    "p50, 64 x 25/s": (False, 2.0),
    "p99, 64 x 25/s": (False, 4.0),
    "CPU, fast": (False, 4.0),
    "CPU, paced": (False, 4.0),
    "first byte": (False, 5.0),
}
TOLD = (*GOALS, "CPU, request")
CAPACITY = {1: "capacity, 1 stream", 16: "capacity, 16 streams", 64: "capacity, 64 streams"}
CARRIED_FOR = 1.5  # seconds, about
MOST_MEMORY = 80  # MB
# How many times the throughput of these is wanted, in the same run.
FASTER = {"mitmdump": 5.0, "litellm": 30.0}


@dataclass
class Relay:
    """One relay under test: where it listens, and what each round gave."""

    name: str
    port: int
    process: psutil.Process
    rounds: list[dict[str, float]] = field(default_factory=list)
    carried: list[dict[str, float]] = field(default_factory=list)  # events a second, in each round
    _spent: dict[str, tuple[float, int]] = field(default_factory=dict)  # CPU seconds, chunks

    async def carry(self, streams: int) -> None:
        """Its throughput for streams that come as fast as they are read."""
        await settled_cpu(self.process)  # what it still writes for the previous load is not part of this one
        self.carried[-1][CAPACITY[streams]] = await capacity(self.port, streams, CARRIED_FOR)

    def begin_round(self) -> None:
        self.rounds.append({})
        self._spent.clear()

    async def first_byte(self) -> None:
        values = self.rounds[-1]
        before = await settled_cpu(self.process)
        values["first byte"] = median([(await measure(self.port, FIRST)).begun * 1e3 for _ in range(FIRSTS)])
        values["CPU, request"] = (await settled_cpu(self.process) - before) / FIRSTS * 1e3

    async def fast(self, streams: int) -> None:
        spent, measured = await self._measured(FAST[streams])
        self.rounds[-1][f"chunks/s, {streams} stream{'s' if streams > 1 else ''}"] = measured.rate
        self._spend("CPU, fast", spent, measured.chunks)

    async def paced(self, pace: str) -> None:
        await settled_cpu(self.process)
        measured = await measure(self.port, PACED[pace], self._cpu)
        for percent in (50, 99):
            self.rounds[-1][f"p{percent}, {pace}"] = measured.percentile(percent)
        self._spend("CPU, paced", measured.each * measured.chunks, measured.chunks)

    def _spend(self, what: str, cpu: float, chunks: int) -> None:
        """CPU seconds of this many chunks; shown per ten thousand, over all such loads of the round."""
        before = self._spent.get(what, (0.0, 0))
        self._spent[what] = spent = before[0] + cpu, before[1] + chunks
        self.rounds[-1][what] = spent[0] / spent[1] * 1e4

    def _cpu(self) -> float:
        return cpu_seconds(self.process)

    async def _measured(self, load: Load) -> tuple[float, Measured]:
        before = await settled_cpu(self.process)
        measured = await measure(self.port, load)
        return await settled_cpu(self.process) - before, measured


LOADS: dict[str, Callable[[Relay], Awaitable[None]]] = {
    "first byte": Relay.first_byte,
    **{f"{streams} as fast as possible": partial(Relay.fast, streams=streams) for streams in FAST},
    **{pace: partial(Relay.paced, pace=pace) for pace in PACED},
}


async def through_all(options: argparse.Namespace) -> tuple[list[Relay], dict[str, float]]:
    """Every relay, all of them in each round; and the memory of each at the end, in MB."""
    names = [name for name in installed() if not options.only or name in (BASE, *options.only)]
    server, port = await upstream()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="workbench-bench.")))
        relays = []
        for name in names:
            # The event loop must go on while a relay starts: it may ask upstream whether it is there.
            started = await asyncio.to_thread(stack.enter_context, running(name, folder, port))
            relays.append(Relay(name, *started))
            await measure(started[0], Load(10, 50))  # caches and connections are warm from here on
        for at in range(options.rounds):
            for relay in relays:
                relay.begin_round()
            # Other work of the machine comes in bursts: a load goes through all relays within seconds.
            for name, load in LOADS.items():
                for relay in relays:
                    progress(f"round {at + 1} of {options.rounds}: {name}, {relay.name}")
                    await load(relay)
        memory = {relay.name: resident_bytes(relay.process) / 1e6 for relay in relays}
    server.close()
    await carried_by_all(relays, options.rounds)
    return relays, memory


async def carried_by_all(relays: Sequence[Relay], rounds: int) -> None:
    """Each relay again, in front of the other upstream."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="workbench-bench.")))
        source, _ = stack.enter_context(blocks.upstream())
        for relay in relays:
            started = await asyncio.to_thread(stack.enter_context, running(relay.name, folder, source))
            relay.port, relay.process = started
            await capacity(relay.port, 4, 0.2)
        for at in range(rounds):
            for relay in relays:
                relay.carried.append({})
            for streams in CAPACITY:
                for relay in relays:
                    progress(f"capacity, round {at + 1} of {rounds}: {streams}, {relay.name}")
                    await relay.carry(streams)


def reported(relays: Sequence[Relay], memory: Mapping[str, float]) -> Report:
    base = next(relay for relay in relays if relay.name == BASE)
    ratios = {
        relay.name: {
            what: ratio([one[what] for one in relay.rounds], [one[what] for one in base.rounds])
            for what in TOLD
        }
        for relay in relays
    }
    report = Report("What the proxy costs a stream, as ratio to a relay that only copies bytes")
    carried = {
        relay.name: {what: median(one[what] for one in relay.carried) for what in CAPACITY.values()}
        for relay in relays
    }
    report.tables.append(_beside_each_other(ratios, memory))
    report.tables.append(_capacities(carried))
    if OURS in ratios:
        for what, (more, goal) in GOALS.items():
            report.add(what, ratios[OURS][what], "× relay", goal=goal, more=more)
        report.add("memory", memory[OURS], "MB", goal=MOST_MEMORY)
        for name, wanted in FASTER.items():
            if name in ratios:
                peer = next(relay for relay in relays if relay.name == name)
                ours = next(relay for relay in relays if relay.name == OURS)
                for what in CAPACITY.values():
                    times = ratio([one[what] for one in ours.carried], [one[what] for one in peer.carried])
                    report.add(f"{what}, beside {name}", times, f"× {name}", goal=wanted, more=True)
    for what in TOLD:
        more, goal = GOALS.get(what, (False, None))
        values = {name: found[what] for name, found in ratios.items()}
        report.charts.append(Bars(what, "× relay", values, goal, more, OURS))
    for what in CAPACITY.values():
        own = {name: found[what] / 1e3 for name, found in carried.items() if name != BASE}
        report.charts.append(Bars(what, "1,000 events a second", own, more=True, marked=OURS))
    report.charts.append(Bars("memory", "MB", dict(memory), MOST_MEMORY, marked=OURS))
    report.data = {
        "ratios": ratios,
        "medians": {
            one.name: {what: median(found[what] for found in one.rounds) for what in TOLD} for one in relays
        },
        "carried": carried,
        "memory_mb": dict(memory),
    }
    return report


def _beside_each_other(ratios: Mapping[str, Mapping[str, float]], memory: Mapping[str, float]) -> Table:
    names = list(ratios)
    rows = [
        [what, *(number(ratios[name][what]) for name in names), f"{'≥' if more else '≤'} {goal:g}"]
        for what, (more, goal) in GOALS.items()
    ]
    rows.append(["CPU, request", *(number(ratios[name]["CPU, request"]) for name in names), ""])
    rows.append(["memory, MB", *(number(memory[name]) for name in names), f"≤ {MOST_MEMORY}"])
    return Table("As ratio to the copying relay", ["", *names, "goal"], rows)


def _capacities(carried: Mapping[str, Mapping[str, float]]) -> Table:
    rows = [[what, *(f"{found[what]:,.0f}" for found in carried.values())] for what in CAPACITY.values()]
    return Table("Events a second where neither upstream nor the clients hold it up", ["", *carried], rows)


def measured(options: argparse.Namespace) -> Report:
    if options.peers:
        print(HOW_TO_INSTALL)
        raise SystemExit(0)
    return reported(*uvloop.run(through_all(options)))


def own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="*", help="these relays, and the copying one")
    parser.add_argument("--peers", action="store_true", help="say how to install what it is measured beside")


PROGRAM = Program("proxy", __doc__, measured, 5, own_options)
