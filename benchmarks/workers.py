"""Whether throughput grows with the number of processes that serve.

    python -m benchmarks workers [--rounds 5]

`workbench serve --workers N` for N from 1 to the number of cores, converting roo-xml and recording. Upstream
and the clients (blocks.py) take little of the cores compared with the proxy, and that is reported.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import uvloop

from benchmarks.blocks import rate, upstream
from benchmarks.proxies import cpu_seconds
from benchmarks.report import Bars, Program, Report, Table, number, progress, ratio
from tests.support.proxies import running_proxy

BLOCKS = 40
QUICK_BLOCKS = 4
STREAMS = 16
WANTED = 0.7  # of what as many processes alone would give


async def rounds(ports: dict[int, int], options: argparse.Namespace, blocks: int) -> dict[int, list[float]]:
    for port in ports.values():
        await rate(port, 4, blocks)  # caches and connections are warm from here on
    found: dict[int, list[float]] = {count: [] for count in ports}
    for number_ in range(options.rounds):
        for count, port in ports.items():
            progress(f"round {number_ + 1} of {options.rounds}: {count} workers")
            found[count].append(await rate(port, STREAMS, blocks))
    return found


def measure(options: argparse.Namespace) -> Report:
    blocks = QUICK_BLOCKS if options.quick else BLOCKS
    cores = os.cpu_count() or 1
    with ExitStack() as stack:
        source, process = stack.enter_context(upstream())
        url = f"http://127.0.0.1:{source}/v1"
        ports = {}
        for count in range(1, max(2, cores) + 1):
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="workbench-workers.")))
            proxy = stack.enter_context(running_proxy(home, url, "roo-xml", "-q", "--workers", str(count)))
            ports[count] = int(proxy.base.rsplit(":", 1)[1])
        begin = time.perf_counter()
        found = uvloop.run(rounds(ports, options, blocks))
        passed = time.perf_counter() - begin
        both = cpu_seconds(process) + time.process_time()
    report = Report("Throughput of several processes")
    rates = {count: median(values) for count, values in found.items()}
    rows = [
        (str(count), number(value), f"{ratio(found[count], found[1]):.2f}") for count, value in rates.items()
    ]
    report.tables.append(Table("", ("workers", "events a second", "times one"), rows))
    most = max(count for count in found if count <= cores)
    if most > 1:
        grown = ratio(found[most], found[1])
        report.add(f"{most} workers on {cores} cores", grown, "times one", goal=WANTED * most, more=True)
    values = {f"{count} worker{'s' if count > 1 else ''}": value for count, value in rates.items()}
    report.charts.append(Bars("events a second", "", values))
    report.notes.append(f"Upstream and the clients took {both / passed * 100:.0f} % of one core.")
    return report


PROGRAM = Program("workers", __doc__, measure, rounds=5)
