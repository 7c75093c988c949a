"""What all screens share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandPalette
from textual.constants import MAX_FPS
from textual.screen import Screen

from tests.support.libraries import make_library
from tests.support.live import driving
from workbench.replay.player import Pane
from workbench.ui.app import WorkbenchApp
from workbench.ui.screens.problem import running_answers
from workbench.ui.widgets.tapepane import TapePane

FRAME = 1 / MAX_FPS  # seconds


@pytest.mark.usefixtures("every_frame")
@pytest.mark.parametrize("cover", [lambda: running_answers(1), CommandPalette], ids=["question", "palette"])
async def test_what_changes_below_another_screen_is_not_drawn_until_it_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cover: Any
):
    """Else a terminal far away gets 200 KB in a second while a question waits."""
    panes = count_calls(monkeypatch, TapePane, "render_lines")
    frames = count_calls(monkeypatch, WorkbenchApp, "_display")
    async with driving(make_library(tmp_path, ["roo-xml/good-read"]), (120, 40)) as driver:
        below, pane = driver.screen, driver.pane(Pane.CLIENT)
        over: Screen[Any] = cover()
        await driver.app.push_screen(over)
        await driver.pilot.pause(6 * FRAME)
        panes.clear()
        frames.clear()
        for number in range(5):
            below.view.bar.say("info", f"number {number}", "")
            pane.go(number)
            await driver.pilot.pause(1.2 * FRAME)
        assert not panes
        assert not frames or isinstance(over, CommandPalette), "the palette has a cursor that blinks"
        over.dismiss()
        await driver.until(lambda: pane in panes, "what changed is drawn")


def count_calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[object]:
    """Whose method was called, each time."""
    called: list[object] = []
    method = getattr(owner, name)

    def noting(self: Any, *arguments: Any) -> Any:
        called.append(self)
        return method(self, *arguments)

    monkeypatch.setattr(owner, name, noting)
    return called
