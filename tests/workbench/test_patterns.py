"""Expressions that others wrote cannot freeze us."""

from __future__ import annotations

import pytest

from tests.support.tiers import each_row
from workbench.errors import UserError
from workbench.patterns import Pattern, TooSlow


@each_row("source", ["(a+)+$", "(a|aa)+$", "(a*)*b", r"(\w+\s?)+!", "(?:a?){60}a{60}b"])
def test_it_is_given_up_in_time(source: str):
    pattern = Pattern(source)
    try:
        list(pattern.finditer("a" * 5_000 + "?"))
    except TooSlow:
        assert pattern.given_up
    if pattern.given_up:
        assert list(pattern.finditer("aaaa")) == []


def test_the_classic_one_is_too_slow():
    with pytest.raises(TooSlow):
        list(Pattern("(a|aa)+$").finditer("a" * 5_000 + "?"))


def test_ordinary_ones_find():
    assert [match[0] for match in Pattern("src/[a-z]+").finditer("src/main and src/b")] == [
        "src/main",
        "src/b",
    ]
    assert [match.start() for match in Pattern("^b").finditer("a\nb")] == [2]


@each_row("source", ["(", "[a", "a" * 2_000, "*", "(?P<a>x)(?P<a>"])
def test_what_is_not_one_is_told(source: str):
    with pytest.raises(UserError, match="regular expression"):
        Pattern(source)


@each_row("source", ["(?:(?:a{1000}){1000}){1000}", "(?:a{1000}){1000}" * 20, "((a[)]{999}){999}){9}"])
def test_what_would_take_minutes_to_compile_is_too_large(source: str):
    with pytest.raises(UserError, match="too large"):
        Pattern(source)


def test_fixed_repetitions_of_the_usual_size_are_taken():
    assert [one[0] for one in Pattern(r"\d{4}-\d{2}|(?:ab){300}").finditer("on 2026-11 " + "ab" * 300)]
