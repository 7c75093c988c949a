"""The comparison on the screen opens where the two differ first."""

from __future__ import annotations

import pytest

from tests.support.project import SAMPLES
from tests.support.screens import text_of
from workbench.replay.player import Player
from workbench.tape.format import read_tape
from workbench.tape.recipe import Wishes
from workbench.ui.app import CompareApp

TAPE = read_tape(SAMPLES / "roo-xml" / "unclosed-parameter.jsonl")


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_it_opens_at_the_first_divergence(size: tuple[int, int]):
    players = [Player(TAPE.header), Player(TAPE.header, Wishes(switches={"malformed": "repair"}))]
    for player in players:
        player.add(TAPE.lines)
    app = CompareApp(players[0], players[1], ("as it was", "repaired"))
    async with app.run_test(size=size) as pilot:
        for _ in range(200):
            if "finish_reason: tool_calls" in text_of(app):
                break
            await pilot.pause(0.02)
        shown = text_of(app)
        assert "they differ first in message" in shown and "finish_reason: tool_calls" in shown
        await pilot.press("3")
        await pilot.pause()
        assert "path: src/main.py" in text_of(app)
        await pilot.press("escape")
    assert app.return_value == 0
