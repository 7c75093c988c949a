"""The statistics of a try: intervals that contain what is true, differences called at the stated level."""

from __future__ import annotations

import random
import sys

import pytest

from tests.support.tiers import exhaustive
from workbench.lab.outcomes import Outcome
from workbench.lab.plan import Case, Plan, Variant
from workbench.lab.report import lines
from workbench.lab.statistics import LEVEL, MISSING, Rate, mean, means_differ, rate, rates_differ, tabulate

CASE = Case("case", {"messages": []}, "roo-xml")
RUNS = 200 if exhaustive() else 120


def simulated(chance: random.Random, failing: tuple[float, ...], times: int) -> tuple[Plan, list[Outcome]]:
    """A try in which each variant fails at a known rate."""
    plan = Plan((CASE,), tuple(Variant(str(at)) for at in range(len(failing))), times)
    outcomes = []
    for trial in plan.trials:
        good = chance.random() >= failing[trial.variant]
        malformed = () if good else ("truncated-call",)
        seconds = chance.gauss(1.0, 0.1)
        told = Outcome(
            trial.number, 0, trial.variant, "", "", True, good, good, False, malformed, seconds=seconds
        )
        outcomes.append(told)
    return plan, outcomes


def test_rates_of_10_and_40_percent_are_found_and_told_apart():
    chance, inside, called = random.Random(17), [0, 0], 0
    for _ in range(RUNS):
        rates = []
        for at, failing in enumerate((0.4, 0.1)):
            found = rate(sum(chance.random() >= failing for _ in range(60)), 60)
            assert found.interval is not None
            inside[at] += found.interval.low <= 1 - failing <= found.interval.high
            rates.append(found)
        difference = rates_differ(rates[0], rates[1])
        called += difference is not None and difference.called
    assert all(count >= 0.92 * RUNS for count in inside), "intervals of 95 %"
    assert called >= 0.9 * RUNS, "the difference is nearly always called"


def test_equal_rates_are_seldom_told_apart():
    chance = random.Random(4)
    called = 0
    for _ in range(RUNS):
        rates = [rate(sum(chance.random() >= 0.3 for _ in range(40)), 40) for _ in range(2)]
        difference = rates_differ(rates[0], rates[1])
        called += difference is not None and difference.called
    assert called <= LEVEL * RUNS


def test_several_equal_variants_are_seldom_told_apart_in_any_rate():
    chance, called = random.Random(5), 0
    for _ in range(25):
        table = tabulate(*simulated(chance, (0.3, 0.3, 0.3, 0.3), 25))
        called += any(found["valid"].called for found in table.differences[1:])
    assert called <= 25 * LEVEL + 2


@pytest.mark.exhaustive  # quick: the three above, of rates and of whole tables, over fewer seeds
def test_whole_tables_over_many_seeds():
    """As a user gets them: 10 % and 40 % are told apart, equal rates are not, at the stated level."""
    runs, called, told, inside = 400, 0, 0, 0
    for seed in range(runs):
        table = tabulate(*simulated(random.Random(seed), (0.4, 0.1), 60))
        rates = [row.values["valid"] for row in table.rows]
        for found, failing in zip(rates, (0.4, 0.1), strict=True):
            assert found.interval is not None
            inside += found.interval.low <= 1 - failing <= found.interval.high
        told += table.differences[1]["valid"].called
        same = tabulate(*simulated(random.Random(-1 - seed), (0.3, 0.3), 60))
        called += same.differences[1]["valid"].called
    assert inside >= 0.93 * 2 * runs, "intervals of 95 %"
    assert told >= 0.95 * runs
    assert called <= LEVEL * runs


def test_means_that_are_equal_and_means_that_are_not():
    chance = random.Random(6)
    sides = [[chance.gauss(10, 2) for _ in range(30)] for _ in range(2)]
    same, other = means_differ(sides[0], sides[1]), means_differ(sides[0], [value + 5 for value in sides[1]])
    assert same is not None and not same.called
    assert other is not None and other.called
    found = mean(sides[0])
    assert found.interval is not None and found.value is not None
    assert found.interval.low < found.value < found.interval.high
    assert mean([]).value is None and mean([3]).interval is None
    assert means_differ([1, 1], [2, 2]) is None, "nothing varies, so nothing is said"


def test_a_table_counts_what_was_answered():
    plan = Plan((CASE,), (Variant("a"), Variant("b")), 2)
    outcomes = [
        Outcome(0, 0, 0, "", "", True, True, True, level="good", seconds=1.0),
        Outcome(1, 0, 1, "", "", False, sentence="no answer from upstream"),
        Outcome(2, 0, 1, "", "", True, False, False, True, ("malformed-call",), seconds=2.0),
    ]
    table = tabulate(plan, outcomes)
    assert (table.done, table.planned) == (3, 4)
    assert table.rows[1].unanswered == 1 and table.rows[1].values["valid"] == rate(0, 1)
    assert table.rows[0].codes["malformed-call"] == rate(0, 1)
    assert table.problems == {"no answer from upstream": 1}
    assert [cell.good.hits for cell in table.cells[0]] == [1, 0]


def test_without_scipy_there_are_counts_and_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workbench.lab.statistics.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    plan, outcomes = simulated(random.Random(1), (0.0, 1.0), 20)
    table = tabulate(plan, outcomes)
    assert table.rows[1].values["valid"] == Rate(0, 20) and not table.called
    shown = "\n".join(lines(table))
    assert MISSING in shown and "against" not in shown
