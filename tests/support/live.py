"""The stream screen on a library of sample tapes, and short names for what tests look at."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.screens import until
from workbench.replay.player import Pane
from workbench.ui.app import WorkbenchApp
from workbench.ui.screens.stream import StreamScreen
from workbench.ui.widgets.bars import PromptBar
from workbench.ui.widgets.exchanges import ExchangeList
from workbench.ui.widgets.tapepane import TapePane

SAMPLES = ("roo-xml/unclosed-call", "roo-xml/good-read", "kimi-k2/missing-id")


class Driver:
    """The running application, and short names for what tests look at."""

    def __init__(self, app: WorkbenchApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> StreamScreen:
        screen = self.app.screen
        assert isinstance(screen, StreamScreen)
        return screen

    @property
    def list(self) -> ExchangeList:
        return self.screen.query_one(ExchangeList)

    def pane(self, pane: Pane) -> TapePane:
        return next(one for one in self.screen.query(TapePane) if one.PANE is pane)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Into the line at the bottom, then enter."""
        self.screen.query_one(PromptBar).query_one(Input).value = text
        await self.press("enter")

    async def anew(self) -> None:
        """The newest exchange, chosen in the list and completely read; earlier changes are undone."""
        screen = self.screen
        screen.forget_search()
        screen.look_at(self.list)
        self.list.go(0)
        await self.until(lambda: (player := screen.player) and player.complete, "the tape is read")
        for pane in Pane:
            self.pane(pane).action_last()
        await self.pilot.pause()

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        await until(self.pilot, condition, what)

    def text(self, widget: Any) -> str:
        """What a widget shows, line by line."""
        return "\n".join(widget.render_line(y).text for y in range(widget.size.height))


@asynccontextmanager
async def driving(library: Path, size: tuple[int, int] = (160, 24)) -> AsyncIterator[Driver]:
    app = WorkbenchApp(library)
    async with app.run_test(size=size) as pilot:
        driver = Driver(app, pilot)
        await driver.until(lambda: isinstance(app.screen, StreamScreen), "the stream screen")
        await driver.until(lambda: driver.screen.player is not None, "a tape is open")
        await driver.until(lambda: driver.pane(Pane.UPSTREAM).count(), "its rows are there")
        yield driver
