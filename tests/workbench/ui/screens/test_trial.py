"""A try from the screen: ways to ask are chosen, the table fills, a cell leads to its exchanges."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.support.project import SAMPLES
from tests.support.screens import paste, until_seen
from tests.support.tiers import exhaustive
from workbench.analysis.filters import fits_exchange, parse
from workbench.demo.traffic import UnreliableModel, answer_on, asked_last
from workbench.library.query import Library
from workbench.tape.format import read_tape
from workbench.ui.app import WorkbenchApp
from workbench.ui.screens.trial import TrialScreen

TAPES = [SAMPLES / "roo-xml" / "good-read.jsonl", SAMPLES / "qwen3-coder" / "good-two-calls.jsonl"]


@pytest.mark.usefixtures("templates_are_tried_here")
async def test_a_try_and_its_exchanges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Another way to ask is added, the table fills, and a cell leads to its exchanges in the list."""
    monkeypatch.chdir(tmp_path)
    if not exhaustive():  # lab/test_trials.py has the intervals; to import scipy takes longer than this
        monkeypatch.setattr("workbench.lab.statistics.has_scipy", lambda: False)
    threads: list[threading.Thread] = []
    monkeypatch.setattr("workbench.ui.screens.trial.load", lambda: threads.append(threading.current_thread()))
    Path("careful.jinja").write_bytes((SAMPLES / "careful.jinja").read_bytes())
    tapes = [read_tape(tape) for tape in TAPES]
    answers = {asked_last(tape.header["request"]): answer_on(tape) for tape in tapes}
    async with UnreliableModel(answers) as model:
        monkeypatch.setenv("WORKBENCH_UPSTREAM", model.url)
        app, results = WorkbenchApp(tmp_path / "library"), list[str | None]()
        async with app.run_test(size=(120, 32)) as pilot:
            screen = TrialScreen(tmp_path / "library", TAPES)
            app.push_screen(screen, results.append)
            await until_seen(pilot, "2 requests, 10 times")
            await pilot.press("e")
            await until_seen(pilot, "nothing was sent yet")
            await pilot.press("n", "n", "n")
            await until_seen(pilot, "2 requests, 5 times")
            await pilot.press("space", "down", "a")
            await until_seen(pilot, "another way built-in")
            await paste(pilot, "dialect=no")
            await pilot.press("p", "e", "enter")
            await until_seen(pilot, "there is no dialect 'nope'")
            await pilot.press(*["backspace"] * 4)
            await paste(pilot, "auto temperature=")
            await pilot.press("1", "enter")
            await until_seen(pilot, "built-in dialect=auto tem…")
            await pilot.press("ctrl+r")
            await until_seen(pilot, "all trials are done")
            await pilot.press("tab", "right", "end")
            text = await until_seen(pilot, "▸ built-in dialect=auto tempe…")
            assert "valid call" in text and "answers as wanted, by case" in text
            await pilot.press("enter")
            await pilot.pause()
        assert threads and threading.main_thread() not in threads, "the screen does not wait for an import"
        made = screen.made
        assert made is not None and len(made.outcomes) == 20
        assert made.plan.variants[1].dialect == "auto" and made.plan.variants[1].body == {"temperature": 1}
        told = f'try:{made.id} variant:="built-in dialect=auto temperature=1" case:=good-two-calls'
        assert results == [told]
    with Library(tmp_path / "library") as library:
        found = [row.path for row in library.rows() if fits_exchange(parse(told), row, tmp_path / "library")]
    wanted = [one.tape for one in made.in_order if (one.case, one.variant) == (1, 1)]
    assert sorted(found) == sorted(wanted) and len(wanted) == 5
