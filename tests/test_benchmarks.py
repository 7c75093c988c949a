"""What the benchmarks have in common: what a report says, how it is stored and drawn, the options of all."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.__main__ import NAMES
from benchmarks.charts import draw
from benchmarks.page import filled, made
from benchmarks.report import (
    Bars,
    Lines,
    Program,
    Report,
    Result,
    Table,
    interleaved,
    number,
    ratio,
    read_json,
    text,
    to_json,
)
from tests.support.tiers import each_row

WHOLE = Report(
    "A <title>",
    [Result("fast enough", 2.0, "ms", 3.0), Result("often enough", 5, "", 9, more=True), Result("told", 1.5)],
    [Table("Numbers", ("name", "ms"), (("one", "1"), ("two | three", "23")))],
    [
        Bars("Bars & goals", "ms", {"ours": 2.0, "theirs": 400.0}, 3.0, marked="ours"),
        Bars("No goal", "", {"none": 0.0}),
        Lines("Growth", "bytes", "ms", {"a": [(1_000, 1.0), (1_000_000, 0.0)]}, 4.0),
        Lines("Two", "reads", "ms", {"a": [(1, 1.0)], "b": [(1, 2.0)]}),
    ],
)


@each_row("program", NAMES)
def test_every_program_has_the_same_options(program: str) -> None:
    made = import_module(f"benchmarks.{program}").PROGRAM
    assert made.name == program
    options = {option for action in made.parser()._actions for option in action.option_strings}
    assert {"--help", "--quick", "--json", "--svg"} <= options
    assert ("--rounds" in options) == (made.rounds is not None)


def test_a_goal_is_reached_from_its_own_side() -> None:
    assert [one.reached for one in WHOLE.results] == [True, False, None]
    assert WHOLE.missed == ["often enough"]
    assert "NOT REACHED: often enough" in text(WHOLE)
    assert "reached" not in text(Report("nothing is wanted", [Result("told", 1.0)]))


def test_a_stored_report_is_the_same_again(tmp_path: Path) -> None:
    (tmp_path / "stored.json").write_text(to_json(WHOLE), encoding="utf-8")
    again = read_json(tmp_path / "stored.json")
    assert to_json(again) == to_json(WHOLE)
    assert draw(again) == draw(WHOLE)


@each_row("report", [WHOLE, Report("without charts", WHOLE.results)], ids=lambda report: report.title)
def test_charts_are_whole(report: Report) -> None:
    root = ElementTree.fromstring(draw(report))
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert report.title in words
    assert {chart.title for chart in report.drawn()} <= {*words}


def test_ratios_are_taken_within_a_round() -> None:
    found = interleaved(3, {"base": iter((1.0, 10.0, 2.0)).__next__, "ours": iter((2.0, 30.0, 4.0)).__next__})
    assert ratio(found["ours"], found["base"]) == 2.0


@each_row(
    "value, shown",
    [(0, "0"), (0.0, "0.00"), (0.0123, "0.012"), (1.234, "1.23"), (56.78, "56.8"), (1234.5, "1,234")],
)
def test_numbers_have_the_digits_that_count(value: float, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize("value, code", [(1.0, 0), (5.0, 1)])
def test_the_exit_code_says_whether_goals_were_reached(
    value: float, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(options: argparse.Namespace) -> Report:
        assert (options.rounds, options.quick) == (1, True)
        return Report("measured", [Result("it", value, "s", 2.0)])

    files: Sequence[str] = ("--json", str(tmp_path / "it.json"), "--svg", str(tmp_path / "it.svg"))
    assert Program("it", "doc", measure, 5).run(["--quick", *files]) == code
    stored = read_json(tmp_path / "it.json")
    assert stored.circumstances["rounds"] == 1 and stored.circumstances["quick"] is True
    assert (tmp_path / "it.svg").read_text(encoding="utf-8") == draw(stored)
    assert "measured" in capsys.readouterr().out


def test_the_performance_page_is_what_its_stored_measurements_give() -> None:
    for path, wanted in made().items():
        assert path.read_text(encoding="utf-8") == wanted, f"{path.name}: see python -m benchmarks page"


def test_what_was_not_measured_is_said() -> None:
    page = "before <!-- made: proxy chart -->\nold\n<!-- end --> after"
    assert "Not measured yet" in filled(page, {})
    assert "old" not in filled(page, {})
