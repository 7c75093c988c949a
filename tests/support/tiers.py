"""Two tiers of tests: the quick one by default, and with `pytest --exhaustive` every cut, sample and step.

The quick tier has every behaviour. It tries it on fewer of the cuts, samples and random examples that should
make no difference, always on the same ones. A test that is marked `exhaustive` is a variation of one that is
not; a comment at the mark says of which.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import update_wrapper
from typing import Any, TypeVar

import pytest
from _pytest.mark import ParameterSet

T = TypeVar("T")

# How much the exhaustive tier tries, so that all of it takes about a quarter of an hour on two cores.
EXAMPLES = {"quick": 6, "exhaustive": 100}  # of a property that hypothesis tries
CUTS = {"quick": 2, "exhaustive": 60}  # in two, of one stream; of a short one all
MORE = 10  # at most this many times the rows of the quick tier
_exhaustive = False


def choose(exhaustive: bool) -> None:
    """Which tier this is; said once, before any test module is imported."""
    global _exhaustive  # noqa: PLW0603
    _exhaustive = exhaustive


def exhaustive() -> bool:
    return _exhaustive


def some(rows: Iterable[T], count: int) -> list[T]:
    """This many of the rows in the quick tier, `MORE` times as many in the other, or all if there are fewer.

    The first one, and others at even distances.
    """
    every = list(rows)
    wanted = count * (MORE if _exhaustive else 1)
    if len(every) <= wanted:
        return every
    return [every[at * len(every) // wanted] for at in range(wanted)]


def cuts() -> int:
    """In how many places a stream is cut in two."""
    return CUTS["exhaustive" if _exhaustive else "quick"]


def only_exhaustive(rows: Sequence[Any], quick: Sequence[Any], arguments: int = 1) -> list[Any]:
    """Rows for `parametrize`, of which the quick tier has only these. A row holds this many arguments."""
    assert all(row in rows for row in quick), quick
    return [row if row in quick else _marked(row if arguments > 1 else (row,)) for row in rows]


def _marked(values: tuple[Any, ...]) -> ParameterSet:
    return pytest.param(*values, marks=pytest.mark.exhaustive)


def each(rows: Iterable[T], check: Callable[[T], object]) -> None:
    """Check all rows in one test. A failure names its row and does not keep the others from being checked."""
    every = list(rows)
    assert every, "there are no rows"
    failures: list[BaseException] = []
    for row in every:
        try:
            check(row)
        except (Exception, pytest.fail.Exception) as failure:
            failure.add_note(f"row: {row!r:.1000}")
            failures.append(failure)
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(every)} rows fail", failures)


def each_row(
    names: str | Sequence[str], values: Iterable[Any], ids: Iterable[str] | Callable[[Any], str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, but all rows are one test, which names the rows that fail.

    For pytest a row costs more than most of these checks. For tests that share nothing between
    their rows: fixtures are made once for all of them.
    """
    arguments = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    single = isinstance(names, str) and len(arguments) == 1  # a row is its only value
    every = list(values)
    called = list(ids) if ids is not None and not callable(ids) else [""] * len(every)
    cases = [
        (name, case)
        for name, value in zip(called, every, strict=True)
        if (case := _case(value, single)) is not None
    ]
    assert all(len(case) == len(arguments) for _, case in cases), names

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def all_rows(**others: Any) -> None:
            each(cases, lambda case: test(**others, **dict(zip(arguments, case[1], strict=True))))

        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        update_wrapper(all_rows, test)
        all_rows.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return all_rows

    return decorate


def _case(value: Any, single: bool) -> Sequence[Any] | None:
    """The values of a row; None where only the other tier has it."""
    if isinstance(value, ParameterSet):
        assert {mark.name for mark in value.marks} <= {"exhaustive"}, value.marks
        return value.values if exhaustive() or not value.marks else None
    return (value,) if single else tuple(value)
