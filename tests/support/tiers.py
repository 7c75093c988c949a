"""Two tiers of tests: the quick one by default, and with `pytest --exhaustive` every cut, sample and step.

The quick tier has every behaviour. It tries it on fewer of the cuts, samples and random examples that should
make no difference, always on the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest
from _pytest.mark import ParameterSet

T = TypeVar("T")

EXAMPLES = {"quick": 20, "exhaustive": 250}  # of a property that hypothesis tries
_exhaustive = False


def choose(exhaustive: bool) -> None:
    """Which tier this is; said once, before any test module is imported."""
    global _exhaustive  # noqa: PLW0603
    _exhaustive = exhaustive


def exhaustive() -> bool:
    return _exhaustive


def some(rows: Iterable[T], count: int) -> list[T]:
    """All rows, or so many of them in the quick tier: the first one, and others at even distances."""
    every = list(rows)
    if _exhaustive or len(every) <= count:
        return every
    return [every[at * len(every) // count] for at in range(count)]


def only_exhaustive(rows: Sequence[Any], quick: Sequence[Any], arguments: int = 1) -> list[Any]:
    """Rows for `parametrize`, of which the quick tier has only these. A row holds so many arguments."""
    assert all(row in rows for row in quick), quick
    return [row if row in quick else _marked(row if arguments > 1 else (row,)) for row in rows]


def _marked(values: tuple[Any, ...]) -> ParameterSet:
    return pytest.param(*values, marks=pytest.mark.exhaustive)


def each(rows: Iterable[T], check: Callable[[T], object]) -> None:
    """Check all rows in one test. A failure names its row and does not keep the others from being checked."""
    every = list(rows)
    assert every, "there are no rows"
    failures: list[Exception] = []
    for row in every:
        try:
            check(row)
        except Exception as failure:
            failure.add_note(f"row: {row}")
            failures.append(failure)
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(every)} rows fail", failures)
