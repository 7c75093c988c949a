"""What the tests rely on: a row that fails is named, and the others are still checked."""

from __future__ import annotations

import inspect

import pytest

from tests.support.cost import calls_made, grows_evenly, lines_run
from tests.support.tiers import each_row, exhaustive


def test_every_row_is_checked_and_those_that_fail_are_named():
    seen: list[tuple[int, str]] = []

    @each_row("number, word", [(1, "a"), (2, "b"), (3, "c")], ids=["one", "two", "three"])
    def check(number: int, word: str) -> None:
        seen.append((number, word))
        assert number == 2

    with pytest.raises(ExceptionGroup, match="2 of 3 rows fail") as failed:
        check()
    assert seen == [(1, "a"), (2, "b"), (3, "c")]
    notes = [note for error in failed.value.exceptions for note in error.__notes__ if note.startswith("row")]
    assert notes == ["row: ('one', (1, 'a'))", "row: ('three', (3, 'c'))"]


def test_fixtures_are_left_to_pytest_and_decorators_can_stand_on_each_other():
    seen: list[tuple[int, int, str]] = []

    @each_row("one", [1, 2])
    @each_row(("two",), [(3,), (4,)])
    def check(one: int, two: int, other: str) -> None:
        seen.append((one, two, other))

    assert list(inspect.signature(check).parameters) == ["other"]
    check(other="x")
    assert seen == [(1, 3, "x"), (1, 4, "x"), (2, 3, "x"), (2, 4, "x")]


def test_a_row_of_the_other_tier_is_left_out():
    seen: list[int] = []

    @each_row("number", [1, pytest.param(2, marks=pytest.mark.exhaustive)])
    def check(number: int) -> None:
        seen.append(number)

    check()
    assert seen == ([1, 2] if exhaustive() else [1])


def test_work_that_grows_with_the_square_is_found():
    def square(size: int) -> None:
        for _ in range(size):
            sum(range(size))

    assert grows_evenly(lambda size: sum(range(size * 100)), 100)
    assert not grows_evenly(square, 40)
    assert calls_made(lambda: [len("x") for _ in range(50)]) >= 50
    assert lines_run(lambda: square(50)) >= 50
