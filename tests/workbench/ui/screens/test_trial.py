"""A try from the screen: prompts are chosen, the table fills, a prompt leads to its exchanges."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.project import SAMPLES
from tests.support.screens import text_of
from workbench.demo.unreliable import UnreliableModel, answer_on, asked_last
from workbench.tape.format import read_tape
from workbench.ui.app import WorkbenchApp
from workbench.ui.screens.trial import TrialScreen

TAPE = SAMPLES / "roo-xml" / "good-read.jsonl"


async def shows(pilot: Pilot[int], wanted: str) -> str:
    for _ in range(600):
        if wanted in (text := text_of(pilot.app)):
            return text
        await pilot.pause(0.03)
    raise AssertionError(f"{wanted!r} is not on the screen:\n{text_of(pilot.app)}")


async def test_a_try_and_its_exchanges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("careful.jinja").write_bytes((SAMPLES / "careful.jinja").read_bytes())
    tape = read_tape(TAPE)
    async with UnreliableModel({asked_last(tape.header["request"]): answer_on(tape)}) as model:
        monkeypatch.setenv("WORKBENCH_UPSTREAM", model.url)
        app, results = WorkbenchApp(tmp_path / "library"), list[str | None]()
        async with app.run_test(size=(120, 40)) as pilot:
            screen = TrialScreen(tmp_path / "library", [TAPE])
            app.push_screen(screen, results.append)
            await shows(pilot, "1 request, 10 times")
            await pilot.press("e")
            await shows(pilot, "nothing was sent yet")
            await pilot.press("n", "n", "n")
            await shows(pilot, "1 request, 5 times")
            await pilot.press("space", "down", "down", "space")
            await pilot.press("ctrl+r")
            text = await shows(pilot, "all trials are done")
            assert "built-in" in text and "careful" in text and "valid call" in text
            await pilot.press("e")
            await pilot.pause()
    assert screen.made is not None and len(screen.made.outcomes) == 10
    assert results == [f"try:{screen.made.id} prompt:careful"]
