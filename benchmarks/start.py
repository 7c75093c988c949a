"""What a start costs, in CPU seconds: `--help`, `serve` until its first answer, the screen with its list.

    python -m benchmarks start [--rounds 5]

User and system time of the process itself, which says the same on a busy machine as on a quiet one. Beside
them are a bare interpreter and one that imports Textual. The tests do not measure this: they compare which
modules `--help` imports.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil

from benchmarks.report import ROOT, Bars, Program, Report, Table, interleaved, number, ratio
from tests.support.libraries import make_library
from tests.support.proxies import running_proxy
from tests.support.terminal import Terminal

BARE = "python -c pass"
SHOWN = "read_file"  # the call in that exchange
GOALS = {"workbench --help": 0.3, "serve, first answer": 1.0, "the screen, a list and an exchange": 1.5}


def of_command(*arguments: str) -> float:
    """A command until its end."""
    before = of_children()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return of_children() - before


def of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def so_far(process: int) -> float:
    used = psutil.Process(process).cpu_times()
    return float(used.user + used.system)


def of_serve() -> float:
    """The proxy, until a client has its first answer: an error, since there is no upstream."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_proxy(Path(folder), "http://127.0.0.1:9/v1") as proxy,
    ):
        body = b'{"model": "m", "messages": [{"role": "user", "content": "Hello"}]}'
        try:
            urlopen(Request(f"{proxy.url}/chat/completions", body, {"content-type": "application/json"}))
        except HTTPError as answer:
            answer.read()
        return so_far(proxy.process.pid)


def of_screen() -> float:
    """The screen, until it lists an exchange and shows its text; its proxy is another process."""
    with tempfile.TemporaryDirectory() as folder:
        library = make_library(Path(folder), ["roo-xml/good-read"])
        arguments = ("--library", str(library), "--port", "0", "--upstream", "http://127.0.0.1:9/v1")
        with Terminal(Path(folder), *arguments) as screen:
            screen.wait_for(SHOWN)
            return so_far(screen.process.pid)


def measured(options: argparse.Namespace) -> Report:
    ways = {
        BARE: lambda: of_command("-c", "pass"),
        "import textual.app": lambda: of_command("-c", "import textual.app"),
        "workbench --help": lambda: of_command("-m", "workbench", "--help"),
        "serve, first answer": of_serve,
        "the screen, a list and an exchange": of_screen,
    }
    found = interleaved(options.rounds, ways)
    report = Report("What a start costs, in seconds of the processor")
    rows = []
    for name, times in found.items():
        middle = median(times)
        report.add(name, middle, "s CPU", goal=GOALS.get(name))
        report.charts.append(Bars(name, "s CPU", {"measured": middle}, GOALS.get(name), marked="measured"))
        rows.append((name, number(middle), number(ratio(times, found[BARE]))))
    report.tables.append(Table("Beside a bare interpreter", ("", "s CPU", "times bare"), rows))
    report.data = {"seconds": found}
    return report


PROGRAM = Program("start", __doc__, measured, 5)
