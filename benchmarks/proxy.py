"""What the proxy costs a stream, beside a relay that only copies bytes and beside what people use instead.

    python -m benchmarks proxy [--rounds 5] [--json FILE] [--svg FILE] [--peers]

The same load goes through every relay that is installed, all of them in turns within a round; what counts
is the ratio to the copying relay within that round, and of the rounds the median: a busy machine slows all
alike. The requests offer a tool; `workbench serve` converts roo-xml and records. GOALS has what is wanted.
CPU of a paced chunk is counted while all streams run; what a request costs beside that is a row of its own.
`workers` is the same with `--workers 2`, whose clients and upstream need cores as well.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil
import uvloop

# This file's own folder would hide the package of the same name.
ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from benchmarks.load import Load, Measured, measure, upstream  # noqa: E402
from benchmarks.proxies import (  # noqa: E402
    HOW_TO_INSTALL,
    cpu_seconds,
    installed,
    resident_bytes,
    running,
    settled_cpu,
)
from benchmarks.report import bars, table, write_json  # noqa: E402

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

    async def round(self) -> None:
        values: dict[str, float] = {}
        before = await settled_cpu(self.process)
        values["first byte"] = median([(await measure(self.port, FIRST)).begun * 1e3 for _ in range(FIRSTS)])
        values["CPU, request"] = (await settled_cpu(self.process) - before) / FIRSTS * 1e3
        cpu = chunks = 0.0
        for streams, load in FAST.items():
            spent, measured = await self._measured(load)
            values[f"chunks/s, {streams} stream{'s' if streams > 1 else ''}"] = measured.rate
            cpu, chunks = cpu + spent, chunks + measured.chunks
        values["CPU, fast"] = cpu / chunks * 1e4
        cpu = chunks = 0.0
        for pace, load in PACED.items():
            await settled_cpu(self.process)
            measured = await measure(self.port, load, self._cpu)
            values[f"p50, {pace}"], values[f"p99, {pace}"] = measured.percentile(50), measured.percentile(99)
            cpu, chunks = cpu + measured.each * measured.chunks, chunks + measured.chunks
        values["CPU, paced"] = cpu / chunks * 1e4
        self.rounds.append(values)

    def _cpu(self) -> float:
        return cpu_seconds(self.process)

    async def _measured(self, load: Load) -> tuple[float, Measured]:
        before = await settled_cpu(self.process)
        measured = await measure(self.port, load)
        return await settled_cpu(self.process) - before, measured


async def main(options: argparse.Namespace) -> int:
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
        for number in range(options.rounds):
            for relay in relays:
                print(
                    f"round {number + 1} of {options.rounds}: {relay.name}",
                    end="    \r",
                    file=sys.stderr,
                    flush=True,
                )
                await relay.round()
        memory = {relay.name: resident_bytes(relay.process) / 1e6 for relay in relays}
    server.close()
    return tell(relays, memory, options)


def tell(relays: list[Relay], memory: dict[str, float], options: argparse.Namespace) -> int:
    base = next(relay for relay in relays if relay.name == BASE)
    ratios = {
        relay.name: {
            what: median(
                ours[what] / theirs[what] for ours, theirs in zip(relay.rounds, base.rounds, strict=True)
            )
            for what in TOLD
        }
        for relay in relays
    }
    head = ["ratio to the relay", *(relay.name for relay in relays), "wanted"]
    rows = [
        [what, *(f"{ratios[relay.name][what]:.2f}" for relay in relays), f"{'>=' if more else '<='} {goal:g}"]
        for what, (more, goal) in GOALS.items()
    ]
    rows.append(["CPU, request", *(f"{ratios[relay.name]['CPU, request']:.2f}" for relay in relays), ""])
    rows.append(["memory, MB", *(f"{memory[relay.name]:.0f}" for relay in relays), f"<= {MOST_MEMORY}"])
    print(table(head, rows))
    missed = [
        what
        for what, (more, goal) in GOALS.items()
        if (ratios[OURS][what] < goal if more else ratios[OURS][what] > goal)
    ]
    if memory[OURS] > MOST_MEMORY:
        missed.append("memory")
    rates = [what for what in GOALS if what.startswith("chunks/s")]
    for name, wanted in FASTER.items():
        if name in ratios:
            times = {what: ratios[OURS][what] / ratios[name][what] for what in rates}
            told = ", ".join(f"{value:.1f} ({what.partition(', ')[2]})" for what, value in times.items())
            print(f"times the throughput of {name}: {told}; wanted {wanted:g}")
            missed += [f"{what}, beside {name}" for what, value in times.items() if value < wanted]
    print(f"not reached: {', '.join(missed)}" if missed else "all reached")
    if options.json:
        medians = {r.name: {what: median(one[what] for one in r.rounds) for what in TOLD} for r in relays}
        write_json(
            options.json,
            {"ratios": ratios, "medians": medians, "memory_mb": memory, "rounds": options.rounds},
        )
    if options.svg:
        groups = {what: {name: values[what] for name, values in ratios.items()} for what in GOALS}
        options.svg.write_text(
            bars("As ratio to a relay that only copies bytes", groups, "x"), encoding="utf-8"
        )
    return int(bool(missed))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", help="these relays, and the copying one")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--svg", type=Path, help="write a chart here")
    parser.add_argument("--peers", action="store_true", help="say how to install what it is measured beside")
    return parser.parse_args()


if __name__ == "__main__":
    asked = arguments()
    if asked.peers:
        print(HOW_TO_INSTALL)
        sys.exit(0)
    sys.exit(uvloop.run(main(asked)))
