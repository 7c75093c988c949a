"""What a start costs, in CPU seconds: `--help`, `serve` until its first answer, the screen with its list.

    python -m benchmarks start [--rounds 5]

User and system time of the process itself, which says the same on a busy machine as on a quiet one. Beside
them stand a bare interpreter and one that imports Textual; the last column is the ratio to the bare one. The
tests do not measure this: they compare which modules `--help` imports.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from benchmarks.report import table  # noqa: E402
from tests.support.libraries import make_library  # noqa: E402
from tests.support.proxies import running_proxy  # noqa: E402
from tests.support.terminal import Terminal  # noqa: E402

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
    """The proxy, until a client has its first answer: that there is no upstream there."""
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks start")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    found: dict[str, list[float]] = {}
    measures: dict[str, Callable[[], float]] = {
        "python -c pass": lambda: of_command("-c", "pass"),
        "import textual.app": lambda: of_command("-c", "import textual.app"),
        "workbench --help": lambda: of_command("-m", "workbench", "--help"),
        "serve, first answer": of_serve,
        "the screen, a list and an exchange": of_screen,
    }
    for _ in range(rounds):
        for name, measure in measures.items():
            found.setdefault(name, []).append(measure())
    bare = median(found["python -c pass"])
    rows, good = [], True
    for name, times in found.items():
        middle, goal = median(times), GOALS.get(name)
        good = good and (goal is None or middle <= goal)
        rows.append((name, f"{middle:.2f} s", f"{goal:.1f} s" if goal else "", f"{middle / bare:.0f}"))
    print(table(("", "CPU", "goal", "times bare"), rows))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
