"""All measurements one after the other, with their JSON and charts in one folder, and one table at the end.

    python -m benchmarks all --out DIR [--quick] [--only NAME…] [--skip NAME…]

Each runs in a process of its own, so that none inherits memory from the previous one. With `--out
docs/performance` and `python -m benchmarks page` after it, docs/performance.md has the new numbers. The exit
code is 1 when a goal was missed or a program failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from benchmarks.__main__ import NAMES
from benchmarks.report import ROOT, Report, columns, read_json


def run(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    rows, good = [], True
    for name in (one for one in given.only or NAMES if one not in given.skip):
        print(f"\n=== {name}\n", flush=True)
        begun = monotonic()
        report = _run_one(name, given.out.resolve(), given.quick)
        rows.append((name, *_summed_up(report), f"{(monotonic() - begun) / 60:.1f}"))
        good = good and report is not None and not report.missed
    print()
    print(
        columns(("", "goals reached", "minutes"), [(name, reached, took) for name, reached, _, took in rows])
    )
    for name, _, missed, _ in rows:
        if missed:
            print(f"\n{name}: {missed}")
    return int(not good)


def _run_one(name: str, out: Path, quick: bool) -> Report | None:
    """None if the program failed: numbers of an older run must not be used instead."""
    stored = out / f"{name}.json"
    stored.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks", name, "--json", str(stored)]
    command += ["--svg", str(out / f"{name}.svg"), *(["--quick"] if quick else [])]
    subprocess.run(command, cwd=ROOT, check=False)
    return read_json(stored) if stored.exists() else None


def _summed_up(report: Report | None) -> tuple[str, str]:
    """How many goals were reached, and which were missed."""
    if report is None:
        return "failed", "it ended without a result"
    goals = [one for one in report.results if one.goal is not None]
    missed = report.missed
    return f"{len(goals) - len(missed)} of {len(goals)}", "not reached: " * bool(missed) + "; ".join(missed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks all",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="for NAME.json and NAME.svg")
    parser.add_argument("--quick", action="store_true", help="smaller and fewer, in each of them")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=[], help="these")
    parser.add_argument("--skip", nargs="+", choices=NAMES, default=[], help="all but these")
    return parser
