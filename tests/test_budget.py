"""The hot path does not grow unseen: calls of functions are counted, which no busy machine can change."""

from __future__ import annotations

import json

import pytest

from benchmarks.counts import BUDGET, calls_of_request, of_dialect, over_budget
from benchmarks.transformer import measured

STORED = json.loads(BUDGET.read_text(encoding="utf-8"))


def test_the_budget_knows_every_dialect() -> None:
    assert set(STORED) == {*measured(), "request"}


@pytest.mark.parametrize("dialect", ["roo-xml", "qwen3-coder", "kimi-k2", "hermes"])
def test_a_delta_costs_no_more_than_it_did(dialect: str) -> None:
    assert over_budget({dialect: of_dialect(dialect)}, STORED) == [], "see benchmarks/counts.py"


def test_a_request_costs_no_more_than_it_did() -> None:
    assert over_budget({"request": {"calls": calls_of_request()}}, STORED) == [], "see benchmarks/counts.py"


def test_more_than_the_budget_is_told() -> None:
    twice = {"request": {"calls": STORED["request"]["calls"] * 2}}
    assert over_budget(twice, STORED)
    assert over_budget({"unknown": {"calls": 5}}, STORED)
