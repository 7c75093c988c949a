"""The replay screen with a tape in it, and short names for what tests look at."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.screens import text_of, told_by, until
from workbench.files import samples_dir
from workbench.replay.player import Pane, Player
from workbench.replay.sources import Compose, replayables_of
from workbench.tape.recipe import Wishes
from workbench.ui.app import ReplayApp
from workbench.ui.screens.replay import ReplayScreen
from workbench.ui.widgets.bars import PromptBar
from workbench.ui.widgets.tapepane import TapePane


class Replayer:
    """The running application."""

    def __init__(self, app: ReplayApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> ReplayScreen:
        screen = self.app.screen
        assert isinstance(screen, ReplayScreen), screen
        return screen

    @property
    def player(self) -> Player:
        player = self.screen.player
        assert player is not None
        return player

    @property
    def step(self) -> int:
        return self.screen.model.step

    def pane(self, pane: Pane) -> TapePane:
        return self.screen.view.panes[pane]

    def item(self) -> Any:
        """What happened with the step of the cursor."""
        return self.player.item(*self.player.place(self.step))

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    @property
    def prompt(self) -> PromptBar:
        """The line at the bottom that asks for something."""
        return self.screen.query_one(PromptBar)

    async def type(self, text: str) -> None:
        """Into the line at the bottom, then enter."""
        self.prompt.query_one(Input).value = text
        await self.press("enter")

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        await until(self.pilot, condition, what)

    @property
    def text(self) -> str:
        return text_of(self.app)

    @property
    def told(self) -> str:
        """What the notifications say."""
        return told_by(self.app)

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Names and arguments in the message that the client ends up with."""
        calls = self.message.get("tool_calls") or []
        return [(call["function"]["name"], call["function"]["arguments"]) for call in calls]

    @property
    def message(self) -> dict[str, Any]:
        answer = self.player.completion
        assert answer is not None
        message: dict[str, Any] = answer["choices"][0]["message"]
        return message

    async def anew(self, number: int = 0) -> None:
        """A tape is opened again, at its first step; earlier changes are undone."""
        self.app.clear_notifications()
        model = self.screen.model
        while model.breakpoints:
            model.remove_breakpoint(0)
        self.screen.open_number(number, at=0)
        self.screen.look_at(self.pane(Pane.MACHINE))
        await self.replay()

    async def replay(self) -> ReplayScreen:
        """Back on the replay screen, with a tape that is all read."""
        await self.until(lambda: isinstance(self.app.screen, ReplayScreen), "the replay screen")
        await self.until(lambda: self.screen.player is not None, "a tape is open")
        await self.until(lambda: (tape := self.screen.view.tape.source) and not tape.has_more, "it is read")
        await self.until(lambda: not self.screen.model.trying, "the change is made")
        await self.pilot.pause()
        return self.screen


@asynccontextmanager
async def replaying(
    *files: str | Path,
    size: tuple[int, int] = (120, 26),
    pick: bool = False,
    compose: Compose | None = None,
    **wishes: Any,
) -> AsyncIterator[Replayer]:
    replayables = replayables_of([str(file) for file in files], Wishes(**wishes), None, None) if files else []
    app = ReplayApp(replayables, pick=pick, compose=compose)
    async with app.run_test(size=size, notifications=True) as pilot:
        replayer = Replayer(app, pilot)
        if not pick and compose is None:
            await replayer.replay()
        yield replayer


def tape(folder: Path, sample: str) -> Path:
    """A tape of one's own that is the same as a sample."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(samples_dir() / f"{sample}.jsonl", folder / f"{sample.replace('/', '-')}.jsonl"))
