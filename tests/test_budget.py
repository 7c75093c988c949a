"""The hot path does not grow unseen: calls of functions are counted, which no busy machine can change."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet
from textual.widget import Widget

from benchmarks.counts import (
    BUDGET,
    calls_of_request,
    of_dialect,
    of_list,
    of_recording,
    of_tape,
    over_budget,
)
from benchmarks.transformer import measured
from tests.support.libraries import make_library
from tests.support.tiers import each_row
from workbench.ui.app import WorkbenchApp

STORED = json.loads(BUDGET.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def only_what_is_new_is_collected() -> None:
    """What objects stay is asked of the collector, ten times; what other tests left is none of it."""
    gc.collect()
    gc.freeze()


def test_the_budget_knows_every_dialect() -> None:
    assert set(STORED) == {*measured(), "request", "recording", "tape", "list"}


@each_row("dialect", ["roo-xml", "qwen3-coder", "kimi-k2", "hermes"])
def test_a_delta_costs_no_more_than_it_did(dialect: str) -> None:
    assert over_budget({dialect: of_dialect(dialect)}, STORED) == [], "see benchmarks/counts.py"


def test_a_request_costs_no_more_than_it_did() -> None:
    assert over_budget({"request": {"calls": calls_of_request()}}, STORED) == [], "see benchmarks/counts.py"


def test_recording_costs_no_more_than_it_did() -> None:
    assert over_budget({"recording": of_recording()}, STORED) == [], "see benchmarks/counts.py"


def test_a_tape_and_a_list_cost_no_more_than_they_did() -> None:
    assert over_budget({"tape": of_tape(), "list": of_list()}, STORED) == [], "see benchmarks/counts.py"


async def test_going_to_another_pane_makes_nothing_and_asks_the_style_sheet_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the two, widgets and styles, the time of such a key press was made."""
    made, styled = [], []
    app = WorkbenchApp(make_library(tmp_path, ("roo-xml/unclosed-parameter",)))
    async with app.run_test(size=(200, 50)) as pilot:
        await pilot.pause()
        await pilot.press("1", "2")
        await pilot.pause()
        make, style = Widget.__init__, Stylesheet.apply

        def making(self: Widget, *args: Any, **options: Any) -> None:
            made.append(type(self).__name__)
            make(self, *args, **options)

        def styling(self: Stylesheet, node: Any, **options: Any) -> None:
            styled.append(node)
            style(self, node, **options)

        monkeypatch.setattr(Widget, "__init__", making)
        monkeypatch.setattr(Stylesheet, "apply", styling)
        await pilot.press("3")
        await pilot.pause()
        assert app.focused is not None and app.focused.id == "client"
    assert made == []
    # The pane that is left and the one that is gone to, with the looks of their rows.
    assert len({id(node) for node in styled}) <= 80, len(styled)


def test_more_than_the_budget_is_told() -> None:
    twice = {"request": {"calls": STORED["request"]["calls"] * 2}}
    assert over_budget(twice, STORED)
    assert over_budget({"unknown": {"calls": 5}}, STORED)
