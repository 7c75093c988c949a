"""Whether throughput grows with the number of processes that serve.

    python -m benchmarks workers [--rounds 5]

`workbench serve --workers N` on N cores, for N from 1 to their number, converting roo-xml and recording; and
one worker that may use all of them: the thread that writes its tapes takes a little of a second one. Upstream
and the clients (blocks.py) have no cores of their own, so what they take is missing where all are in use; it
is reported.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil
import uvloop

from benchmarks.blocks import capacity, upstream
from benchmarks.proxies import cpu_seconds, settled_cpu
from benchmarks.report import Bars, Program, Report, Table, number, progress, ratio
from tests.support.proxies import Proxy, running_proxy
from workbench.text import counted

CARRIED_FOR, QUICK = 2.0, 0.3  # seconds, about: a burst would be over before its tapes are written
STREAMS = 64  # the system shares connections out by chance: of a few, one worker gets most
WANTED = 0.7  # of what as many processes alone would give


class Serving(NamedTuple):
    """Some workers on some cores."""

    workers: int
    cores: int

    @property
    def words(self) -> str:
        return f"{counted(self.workers, 'worker')}, {counted(self.cores, 'core')}"


async def rounds(proxies: Mapping[Serving, Proxy], options: argparse.Namespace) -> dict[Serving, list[float]]:
    seconds = QUICK if options.quick else CARRIED_FOR
    for proxy in proxies.values():
        await capacity(port_of(proxy), 4, 0.2)  # caches and connections are warm from here on
    found: dict[Serving, list[float]] = {serving: [] for serving in proxies}
    for at in range(options.rounds):
        for serving, proxy in proxies.items():
            progress(f"round {at + 1} of {options.rounds}: {serving.words}")
            for one in proxies.values():
                await settled_cpu(psutil.Process(one.process.pid))  # all tapes are written
            found[serving].append(await capacity(port_of(proxy), STREAMS, seconds))
    return found


def port_of(proxy: Proxy) -> int:
    return int(proxy.base.rsplit(":", 1)[1])


def keep_to(proxy: Proxy, cores: int) -> None:
    """All threads that it has may use the first of the cores only, where the system can be told so."""
    process = psutil.Process(proxy.process.pid)
    if hasattr(os, "sched_setaffinity"):
        for one in (process, *process.children(recursive=True)):
            for thread in one.threads():
                os.sched_setaffinity(thread.id, range(cores))


def measure(options: argparse.Namespace) -> Report:
    cores = max(2, os.cpu_count() or 1)
    ways = [Serving(1, 1), Serving(1, cores), *(Serving(count, count) for count in range(2, cores + 1))]
    with ExitStack() as stack:
        source, process = stack.enter_context(upstream())
        url = f"http://127.0.0.1:{source}/v1"
        proxies = {}
        for way in ways:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="workbench-workers.")))
            serving = running_proxy(home, url, "roo-xml", "-q", "--workers", str(way.workers))
            proxies[way] = stack.enter_context(serving)
            keep_to(proxies[way], way.cores)
        found = uvloop.run(rounds(proxies, options))
        both = cpu_seconds(process) + time.process_time()
    report = Report("Throughput of several processes")
    rates = {way: median(values) for way, values in found.items()}
    grown = {way: ratio(values, found[ways[0]]) for way, values in found.items()}
    rows = [(way.words, number(rates[way]), f"{grown[way]:.2f}") for way in ways]
    report.tables.append(Table("", ("", "events a second", "times one on one core"), rows))
    most = ways[-1]
    report.add(most.words, grown[most], "times one on one", goal=WANTED * cores, more=True)
    report.charts.append(Bars("events a second", "", {way.words: rates[way] for way in ways}))
    report.notes.append(f"Upstream and the clients took {both:.1f} s of the processor in all.")
    return report


PROGRAM = Program("workers", __doc__, measure, rounds=5)
