"""The outcomes counted: rates and means with intervals, and whether a difference is more than chance.

All formulas are scipy's, the optional extra `lab`. Without it there are only the counts, without intervals or
conclusions: half a statistic would look like a whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from itertools import chain
from math import isnan
from typing import Any
from warnings import catch_warnings, simplefilter

from workbench.lab.outcomes import Outcome
from workbench.lab.plan import Plan

LEVEL = 0.05
CONFIDENCE = 1 - LEVEL
MISSING = (
    "intervals, and whether a difference is more than chance, need scipy: "
    "pip install 'toolcall-workbench[lab]'"
)
METHOD = (
    "Intervals of rates are Wilson's, those of means Student's, each of 95 %. Every variant is compared with "
    "the first one, for each measure: rates by Fisher's exact test, means by Welch's test, both two-sided. A "
    "difference is called more than chance where p is at most 5 %, divided by the number of such comparisons "
    "where there are several variants (Bonferroni). Requests that got no answer are counted apart."
)


def has_scipy() -> bool:
    return find_spec("scipy") is not None


def load() -> None:
    """Imports what the first table needs, if installed: this takes a second or more."""
    if has_scipy():
        import scipy.stats  # noqa: F401


@dataclass(frozen=True, slots=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Rate:
    """`hits` out of `of`."""

    hits: int
    of: int
    interval: Interval | None = None

    @property
    def value(self) -> float | None:
        return self.hits / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Mean:
    value: float | None
    of: int
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """Between a variant and the first one; `called`: it is more than chance, at the stated level."""

    p: float
    called: bool


def rate(hits: int, of: int) -> Rate:
    return Rate(hits, of, _wilson(hits, of) if of and has_scipy() else None)


@lru_cache(maxsize=4096)  # a table is rebuilt after each answer, and most of its rates are unchanged
def _wilson(hits: int, of: int) -> Interval:
    from scipy.stats import binomtest

    found = binomtest(hits, of).proportion_ci(CONFIDENCE, method="wilson")
    return Interval(float(found.low), float(found.high))


def mean(values: Sequence[float]) -> Mean:
    """Its interval needs two values; where all are the same it is that value."""
    if not values:
        return Mean(None, 0)
    average = sum(values) / len(values)
    if len(values) < 2 or not has_scipy():
        return Mean(average, len(values))
    if min(values) == max(values):
        return Mean(average, len(values), Interval(average, average))
    from scipy.stats import sem, t

    low, high = t.interval(CONFIDENCE, len(values) - 1, loc=average, scale=sem(values))
    # Tokens and seconds are never below zero, whatever an unbounded distribution says.
    return Mean(average, len(values), Interval(max(0.0, float(low)), float(high)))


def rates_differ(first: Rate, other: Rate, comparisons: int = 1) -> Difference | None:
    """Fisher's exact test; None where there is nothing to test with."""
    if not first.of or not other.of or not has_scipy():
        return None
    return _called(_fisher(first.hits, first.of, other.hits, other.of), comparisons)


@lru_cache(maxsize=4096)
def _fisher(hits: int, of: int, other_hits: int, other_of: int) -> float:
    from scipy.stats import fisher_exact

    table = [[hits, of - hits], [other_hits, other_of - other_hits]]
    return float(fisher_exact(table).pvalue)


def means_differ(first: Sequence[float], other: Sequence[float], comparisons: int = 1) -> Difference | None:
    """Welch's test; None where there is nothing to test with."""
    if min(len(first), len(other)) < 2 or not has_scipy():
        return None
    if min(first) == max(first) and min(other) == max(other):
        return None  # neither varies: there is no randomness to compare the difference with
    from scipy.stats import ttest_ind

    with catch_warnings():
        # For values that hardly differ, such as the tokens of one request; an undefined result is nan.
        simplefilter("ignore", RuntimeWarning)
        p = float(ttest_ind(first, other, equal_var=False).pvalue)
    return None if isnan(p) else _called(p, comparisons)


def _called(p: float, comparisons: int) -> Difference:
    return Difference(p, p <= LEVEL / max(1, comparisons))


# -- the table


@dataclass(frozen=True, slots=True)
class Measure:
    """What is counted of each outcome: for a rate whether it holds (None: not counted), else a number."""

    key: str
    title: str
    about: str
    holds: Callable[[Outcome], bool | None] | None = None
    number: Callable[[Outcome], float] | None = None
    good: bool | None = None  # whether more is better; None: neither
    unit: str = ""


MEASURES: tuple[Measure, ...] = (
    Measure("valid", "valid call", "at least one call, and the client can use the answer",
            holds=lambda outcome: outcome.valid, good=True),
    Measure("expected", "as expected", "the expected tool was called, or nothing where nothing was to be",
            holds=lambda outcome: outcome.expected, good=True),
    Measure("malformed", "malformed", "a call was meant and written wrong, even where it could be repaired",
            holds=lambda outcome: bool(outcome.malformed), good=False),
    Measure("leaked", "leaked", "markers of a call reached the client as text",
            holds=lambda outcome: outcome.leaked, good=False),
    Measure("prompt_tokens", "tokens in", "tokens of the request",
            number=lambda outcome: outcome.prompt_tokens, good=False),
    Measure("completion_tokens", "tokens out", "tokens of the answer",
            number=lambda outcome: outcome.completion_tokens),
    Measure("seconds", "seconds", "until the answer was over", number=lambda outcome: outcome.seconds,
            good=False, unit="s"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cell:
    """One variant, over all cases or in one of them."""

    trials: int
    answered: int
    values: Mapping[str, Rate | Mean]
    codes: Mapping[str, Rate]  # malformed, by the code of the finding; the same codes in all cells
    good: Rate

    @property
    def unanswered(self) -> int:
        return self.trials - self.answered


@dataclass(frozen=True, slots=True)
class Table:
    """`rows` by variant, `cells` by case and variant; `differences` by variant and measure."""

    plan: Plan
    rows: tuple[Cell, ...]
    cells: tuple[tuple[Cell, ...], ...]
    differences: tuple[Mapping[str, Difference], ...]
    done: int
    planned: int
    estimated: bool = False  # at least one server did not count its tokens
    problems: Mapping[str, int] = field(default_factory=dict)  # why requests were not answered

    @property
    def called(self) -> list[tuple[int, Measure]]:
        """The differences that are more than chance: variant and measure."""
        return [
            (variant, measure)
            for variant, found in enumerate(self.differences)
            for measure in MEASURES
            if (told := found.get(measure.key)) is not None and told.called
        ]


def tabulate(plan: Plan, outcomes: Sequence[Outcome]) -> Table:
    """The table of the outcomes so far."""
    by_variant = [[one for one in outcomes if one.variant == at] for at in range(len(plan.variants))]
    codes = sorted(set(chain.from_iterable(one.malformed for one in outcomes)))
    problems: dict[str, int] = {}
    for outcome in outcomes:
        if not outcome.answered:
            problems[outcome.sentence] = problems.get(outcome.sentence, 0) + 1
    return Table(
        plan,
        tuple(_cell(found, codes) for found in by_variant),
        tuple(
            tuple(_cell([one for one in found if one.case == case], codes) for found in by_variant)
            for case in range(len(plan.cases))
        ),
        tuple(
            {} if not at else _differences(by_variant[0], found, len(by_variant) - 1)
            for at, found in enumerate(by_variant)
        ),
        len(outcomes),
        len(plan.trials),
        any(outcome.estimated for outcome in outcomes if outcome.answered),
        problems,
    )


def _cell(outcomes: Sequence[Outcome], codes: Sequence[str]) -> Cell:
    answered = [outcome for outcome in outcomes if outcome.answered]
    return Cell(
        len(outcomes),
        len(answered),
        {measure.key: _value(measure, answered) for measure in MEASURES},
        {code: rate(sum(code in one.malformed for one in answered), len(answered)) for code in codes},
        rate(sum(outcome.good for outcome in outcomes), len(outcomes)),
    )


def _value(measure: Measure, answered: Sequence[Outcome]) -> Rate | Mean:
    if measure.number is not None:
        return mean([measure.number(outcome) for outcome in answered])
    held = _held(measure, answered)
    return rate(sum(held), len(held))


def _held(measure: Measure, answered: Sequence[Outcome]) -> list[bool]:
    assert measure.holds is not None
    return [held for outcome in answered if (held := measure.holds(outcome)) is not None]


def _differences(
    first: Sequence[Outcome], other: Sequence[Outcome], comparisons: int
) -> Mapping[str, Difference]:
    found: dict[str, Any] = {}
    sides = [[outcome for outcome in side if outcome.answered] for side in (first, other)]
    for measure in MEASURES:
        if measure.number is not None:
            numbers = [[measure.number(outcome) for outcome in side] for side in sides]
            told = means_differ(numbers[0], numbers[1], comparisons)
        else:
            held = [_held(measure, side) for side in sides]
            rates = [Rate(sum(side), len(side)) for side in held]
            told = rates_differ(rates[0], rates[1], comparisons)
        if told is not None:
            found[measure.key] = told
    return found
