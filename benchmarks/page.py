"""The tables and charts of docs/performance.md, made from the JSON of measurements in docs/performance/.

    python -m benchmarks all --out docs/performance     measure (on a machine that does nothing else)
    python -m benchmarks page                           write the measurements into the page

The text of the page is written by people. The text between `<!-- made: … -->` and `<!-- end -->` is made
here, and a test compares it with the stored JSON: no number there is typed by hand. The words after `made:`
are a measurement and a part of it: `proxy results`, `proxy table 1`, `proxy chart`, `proxy circumstances`.
docs/performance/before.json has what an issue of this project measured before the proxy was made faster.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.charts import draw
from benchmarks.report import ROOT, Bars, Report, Result, goal_words, number, read_json

PAGE = ROOT / "docs" / "performance.md"
STORED = ROOT / "docs" / "performance"
BEFORE = STORED / "before.json"
OURS = "workbench"
_PART = re.compile(r"(<!-- made: ([^>]*) -->\n).*?(<!-- end -->)", re.DOTALL)


def made() -> dict[Path, str]:
    """Every file that is made from what is stored, with its text."""
    reports = stored()
    files = {STORED / f"{name}.svg": draw(report) for name, report in reports.items()}
    files[STORED / "before-and-after.svg"] = draw(before_and_after(reports))
    files[PAGE] = filled(PAGE.read_text(encoding="utf-8"), reports)
    return files


def stored() -> dict[str, Report]:
    return {path.stem: read_json(path) for path in sorted(STORED.glob("*.json")) if path != BEFORE}


def filled(text: str, reports: Mapping[str, Report]) -> str:
    def fill(found: re.Match[str]) -> str:
        return f"{found[1]}{part(found[2].split(), reports)}\n{found[3]}"

    return _PART.sub(fill, text)


def part(words: Sequence[str], reports: Mapping[str, Report]) -> str:
    """The text between two marks."""
    name, what, *more = words
    if name == "before":
        return _comparison(what, reports)
    if name not in reports:
        return f"*Not measured yet: `python -m benchmarks all --out docs/performance --only {name}`.*"
    report = reports[name]
    if what == "results":
        return markdown(("", "measured", "", "goal", ""), _results(report.results))
    if what == "table":
        table = report.tables[int(more[0]) - 1]
        title = f"{table.title}:\n\n" if table.title else ""
        return title + markdown(table.head, table.rows)
    if what == "chart":
        return f"![{report.title}](performance/{name}.svg)"
    assert what == "circumstances", words
    return circumstances(report)


def _results(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    words = {None: "", True: "reached", False: "**not reached**"}
    for one in results:
        yield one.name, number(one.value), one.unit, goal_words(one), words[one.reached]


def circumstances(report: Report) -> str:
    known = report.circumstances
    rounds = f"rounds: {known['rounds']}, " if known["rounds"] else ""
    told = (
        f"*Measured {known['when'][:10]}, {rounds}commit {known['commit']}, Python {known['python']}, "
        f"{known['cores']} cores ({known['processor']}), load before {known['load before']}.*"
    )
    quick = "**A quick run: these numbers only show that the program works.** "
    return f"{quick if known['quick'] else ''}{told}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]] | Iterator[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' + '---:|' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join(lines)


# -- before and after


def before_and_after(reports: Mapping[str, Report]) -> Report:
    then, now = json.loads(BEFORE.read_text(encoding="utf-8"))["relays"][OURS], _now(reports)
    report = Report("The proxy before and after, as ratio to a relay that only copies bytes")
    for goal in _goals():
        values = {"before": then[goal.name]} | ({"now": now[goal.name]} if goal.name in now else {})
        marked = "now" if "now" in values else "before"
        report.charts.append(Bars(goal.name, goal.unit, values, goal.goal, goal.more, marked))
    return report


def _comparison(what: str, reports: Mapping[str, Report]) -> str:
    if what == "chart":
        return "![The proxy before and after](performance/before-and-after.svg)"
    assert what == "table", what
    then, now = json.loads(BEFORE.read_text(encoding="utf-8"))["relays"], _now(reports)
    rows = [
        (
            goal.name,
            number(then[OURS][goal.name]),
            number(now[goal.name]) if goal.name in now else "",
            goal_words(goal),
            *(number(then[name][goal.name]) for name in then if name != OURS),
        )
        for goal in _goals()
    ]
    others = [f"{name}, before" for name in then if name != OURS]
    told = f"\n\n{circumstances(reports['proxy'])}" if now else ""
    return markdown(("", "before", "now", "goal", *others), rows) + told


def _goals() -> list[Result]:
    known = json.loads(BEFORE.read_text(encoding="utf-8"))
    return [Result(value=0, **one) for one in known["goals"]]


def _now(reports: Mapping[str, Report]) -> dict[str, float]:
    return {one.name: one.value for one in reports["proxy"].results} if "proxy" in reports else {}


def run(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks page",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(arguments)
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
    return 0
