"""A long time of mixed traffic through a real `workbench serve`: is memory flat, is everything given back?

    python benchmarks/soak.py [--minutes 10] [--clients 12]

Good, malformed, cut, reset, stalled and abandoned streams, big values, slow clients, many at once, in three
dialects. Samples the proxy's memory and descriptors, then opens every tape. Exit code 1 when something is
wrong. Everything is on loopback, and the traffic is bounded by pauses between the exchanges.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import aiohttp

# A benchmark beside this one has the name of the package and would hide it.
ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from benchmarks.traffic import DIALECTS, KINDS, exchange, script  # noqa: E402
from tests.support.proxies import Proxy, running_proxy  # noqa: E402
from tests.support.upstream.server import ScriptedUpstream  # noqa: E402

PAUSE = 0.5  # seconds, at most, between two exchanges of a client
BURST = 20  # exchanges at once, now and then
MOST_GROWTH, MOST_MORE = 1.10, 6.0  # of the memory's median: times, or MB, whichever is more
SPARE = 4  # descriptors that may be open at rest, more than at the beginning
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
            print(f"wrong: {trouble}", flush=True)

    async def watch(self, every: float) -> None:
        """A sample a second, a line of the table now and then."""
        began = shown = time.monotonic()
        print(f"{'minutes':>8}{'exchanges':>11}{'wrong':>7}{'MB':>8}{'descriptors':>13}")
        while (now := time.monotonic()) < self.ends:
            self.memory.append(resident(self.proxy.process.pid))
            self.descriptors.append(open_files(self.proxy.process.pid))
            if now - shown >= every:
                shown = now
                print(
                    f"{(now - began) / 60:8.1f}{self.done.total():11}{len(self.wrong):7}"
                    f"{self.memory[-1]:8.1f}{self.descriptors[-1]:13}",
                    flush=True,
                )
            await asyncio.sleep(1)


def resident(pid: int) -> float:
    """Megabytes of memory that a process has."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def settings(url: str) -> str:
    """One upstream a dialect, chosen by the name of the model."""
    return "\n".join(
        f'[upstreams.{dialect}]\nurl = "{url}"\ndialect = "{dialect}"\nserves = ["{dialect}"]\n'
        for dialect in DIALECTS
    )


async def run(soak: Soak, minutes: float, clients: int) -> None:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        watch = asyncio.create_task(soak.watch(minutes * 3))
        await asyncio.gather(*[soak.client(session, seed) for seed in range(clients)])
        await watch


def at_rest(pid: int, wanted: int, seconds: float) -> int:
    """How many descriptors are open when nobody asks for anything: after that time, or once few enough."""
    ends = time.monotonic() + seconds
    while open_files(pid) > wanted and time.monotonic() < ends:
        time.sleep(0.5)
    return open_files(pid)


def leaked(soak: Soak, before: int) -> list[str]:
    after = at_rest(soak.proxy.process.pid, before, REST)
    most = max(soak.descriptors)
    print(f"descriptors at rest: {before} at the beginning, {after} at the end; most {most}")
    return [f"{after - before} descriptors are still open"] if after > before + SPARE else []


def memory_grew(samples: list[float]) -> list[str]:
    fifth = max(1, len(samples) // 5)
    early, late = median(samples[fifth : 2 * fifth] or samples), median(samples[-fifth:])
    print(
        f"memory: {early:.1f} MB in the second fifth, {late:.1f} MB in the last; most {max(samples):.1f} MB"
    )
    return [] if late <= max(early * MOST_GROWTH, early + MOST_MORE) else ["memory grew"]


def ended_badly(soak: Soak) -> list[str]:
    """What is wrong with the exchanges, the end of the process, its log and its tapes."""
    code = soak.proxy.stop()
    log = soak.proxy.log.read_text(errors="replace")
    troubles = [f"{len(soak.wrong)} exchanges went wrong"] if soak.wrong else []
    troubles += [f"the proxy's exit code is {code}"] if code else []
    troubles += [f"the proxy's log: {log[-2000:]}"] if "Traceback" in log else []
    return troubles + damaged(soak.proxy, soak.done.total())


def damaged(proxy: Proxy, exchanges: int) -> list[str]:
    """What is wrong with the tapes, now that the proxy has ended."""
    files = list(proxy.library.glob("tapes/*/*.jsonl"))
    tapes = proxy.tapes()
    ends = Counter(tape.end.value["end"] if tape.end else "none" for tape in tapes)
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"tapes: {len(files)} of {exchanges} exchanges, {size:.0f} MB; ended {dict(ends)}")
    troubles = [f"a tape: {tape.problem}" for tape in tapes if tape.problem]
    troubles += [
        f"a tape lost lines: {tape.end.value}" for tape in tapes if tape.end and tape.end.value.get("lost")
    ]
    if not len(tapes) == len(files) == exchanges:
        troubles.append(f"{exchanges} exchanges, {len(files)} tapes, {len(tapes)} of which open")
    return troubles[:20]


def main(minutes: float, clients: int) -> int:
    with (
        tempfile.TemporaryDirectory(prefix="workbench-soak.") as folder,
        ScriptedUpstream() as upstream,
        running_proxy(Path(folder), None, toml=settings(upstream.url)) as proxy,
    ):
        upstream.answer_with(script)
        soak = Soak(proxy)
        # The first exchange opens what stays open: the library, the log.
        asyncio.run(warm_up(soak))
        before = at_rest(proxy.process.pid, 0, KEPT_ALIVE)
        soak.ends = time.monotonic() + minutes * 60
        asyncio.run(run(soak, minutes, clients))
        troubles = leaked(soak, before) + memory_grew(soak.memory) + ended_badly(soak)
    print("exchanges:", dict(soak.done.most_common()))
    print("\n".join(troubles) or "flat, nothing leaked, no tape damaged")
    return int(bool(troubles))


async def warm_up(soak: Soak) -> None:
    async with aiohttp.ClientSession() as session:
        await soak.one(session, "good", DIALECTS[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=12)
    sys.exit(main(**vars(parser.parse_args())))
