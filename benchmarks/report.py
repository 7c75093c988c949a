"""What all programs here have in common: their options, how rounds are compared, and how results are
reported.

A program measures and makes a `Report`. `Program` gives it its options and tells the report: tables for
people, with each goal and whether it was reached; the same as JSON for other programs (`--json`); charts as
SVG (`--svg`). The JSON holds everything that is shown, so that a page can be made from it later. The exit
code is 1 when a goal was missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Result:
    """One number; it is judged where there is a goal."""

    name: str
    value: float
    unit: str = ""
    goal: float | None = None
    more: bool = False  # more is better

    @property
    def reached(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value >= self.goal if self.more else self.value <= self.goal


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers beside each other; the first column has words, the others are right-aligned."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Bars:
    """A chart: one bar for each name. `marked` is the one that the chart is about; none: all are."""

    title: str
    unit: str
    values: Mapping[str, float]
    goal: float | None = None
    more: bool = False
    marked: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """A chart of one quantity over another. A value is expected to stay below `limit`."""

    title: str
    x: str
    y: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    limit: float | None = None


Chart: TypeAlias = Bars | Lines
_KINDS: dict[str, type[Bars] | type[Lines]] = {"bars": Bars, "lines": Lines}


@dataclass(slots=True)
class Report:
    """What a program found out. `data` is for other programs: nothing of it is shown."""

    title: str
    results: list[Result] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    circumstances: dict[str, Any] = field(default_factory=dict)

    def add(
        self, name: str, value: float, unit: str = "", *, goal: float | None = None, more: bool = False
    ) -> None:
        self.results.append(Result(name, value, unit, goal, more))

    @property
    def missed(self) -> list[str]:
        return [result.name for result in self.results if result.reached is False]

    def drawn(self) -> list[Chart]:
        """Its charts; where it has none, each result beside its goal."""
        return self.charts or [
            Bars(one.name, one.unit, {"measured": one.value}, one.goal, one.more, "measured")
            for one in self.results
        ]


def number(value: float) -> str:
    """With as many digits as are significant."""
    size = abs(value)
    if isinstance(value, int) or size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 0.1 or not size:
        return f"{value:.2f}"
    return f"{value:.2g}"


def goal_words(result: Result) -> str:
    return "" if result.goal is None else f"{'≥' if result.more else '≤'} {result.goal:g}"


# -- for people


def text(report: Report) -> str:
    parts = [report.title]
    parts += [f"{one.title}\n{columns(one.head, one.rows)}" for one in report.tables]
    if report.results:
        parts.append(columns(RESULTS_HEAD, result_rows(report.results)))
    parts += report.notes
    missed = report.missed
    if any(result.goal is not None for result in report.results):
        parts.append(f"NOT REACHED: {'; '.join(missed)}" if missed else "reached")
    return "\n\n".join(parts)


RESULTS_HEAD = ("", "measured", "unit", "goal", "")


def result_rows(results: Sequence[Result]) -> list[tuple[str, ...]]:
    words = {None: "", True: "reached", False: "NOT REACHED"}
    return [(one.name, number(one.value), one.unit, goal_words(one), words[one.reached]) for one in results]


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """As wide as they need; the first one to the left, the others to the right."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    lines = []
    for row in (head, *rows):
        first, *others = (
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return "\n".join(lines)


# -- for programs


def to_json(report: Report) -> str:
    value = {
        "title": report.title,
        "circumstances": report.circumstances,
        "reached": not report.missed,
        "results": [asdict(one) | {"reached": one.reached} for one in report.results],
        "tables": [asdict(one) for one in report.tables],
        "charts": [{"kind": type(one).__name__.lower(), **asdict(one)} for one in report.charts],
        "notes": report.notes,
        "data": report.data,
    }
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


_OF_RESULT = ("name", "value", "unit", "goal", "more")


def read_json(path: Path) -> Report:
    value = json.loads(path.read_text(encoding="utf-8"))
    return Report(
        value["title"],
        [
            Result(one["name"], one["value"], one["unit"], one["goal"], one["more"])
            for one in value["results"]
        ],
        [Table(**one) for one in value["tables"]],
        [_KINDS[one.pop("kind")](**one) for one in value["charts"]],
        value["notes"],
        value["data"],
        value["circumstances"],
    )


def circumstances(name: str, rounds: int | None, quick: bool) -> dict[str, Any]:
    """What a later reader of the numbers has to know: above all whether the machine was busy."""
    return {
        "benchmark": name,
        "rounds": rounds,
        "quick": quick,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load before": round(os.getloadavg()[0], 1),
    }


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


# -- rounds


def interleaved(rounds: int, ways: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Every way once in each round: a machine that is busy for a while slows all of them alike."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for at in range(rounds):
        for name, measure in ways.items():
            progress(f"round {at + 1} of {rounds}: {name}")
            found[name].append(measure())
    return found


def ratio(ours: Sequence[float], base: Sequence[float]) -> float:
    """The median of the ratios within the rounds."""
    return float(median(one / other for one, other in zip(ours, base, strict=True)))


def progress(words: str) -> None:
    """What is being measured right now, for a user who waits at a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{words}", end="", file=sys.stderr, flush=True)


# -- the command line


@dataclass(frozen=True, slots=True)
class Program:
    """One measurement. `rounds` is None where there is nothing to repeat; `options` adds some of its own."""

    name: str
    doc: str | None
    measure: Callable[[argparse.Namespace], Report]
    rounds: int | None = None
    options: Callable[[argparse.ArgumentParser], None] | None = None

    def parser(self) -> argparse.ArgumentParser:
        made = argparse.ArgumentParser(
            prog=f"python -m benchmarks {self.name}",
            description=self.doc,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if self.rounds is not None:
            made.add_argument(
                "--rounds", type=int, help=f"default {self.rounds}; the median of them counts; 1 with --quick"
            )
        made.add_argument(
            "--quick", action="store_true", help="smaller and fewer: whether it works, not how fast it is"
        )
        made.add_argument("--json", type=Path, metavar="FILE", help="write everything here")
        made.add_argument("--svg", type=Path, metavar="FILE", help="write a chart here")
        if self.options is not None:
            self.options(made)
        return made

    def run(self, arguments: Sequence[str]) -> int:
        """The exit code: 1 when a goal was missed."""
        from benchmarks.charts import draw

        given = self.parser().parse_args(arguments)
        if self.rounds is not None:
            given.rounds = given.rounds or (1 if given.quick else self.rounds)
        known = circumstances(self.name, getattr(given, "rounds", None), given.quick)
        report = self.measure(given)
        report.circumstances = known
        progress("")
        print(text(report))
        if given.json:
            given.json.write_text(to_json(report), encoding="utf-8")
        if given.svg:
            given.svg.write_text(draw(report), encoding="utf-8")
        return int(bool(report.missed))
