"""The application: which screen is shown, and what all of them share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.notifications import SeverityLevel
from textual.screen import Screen

from workbench.config.reading import read_settings
from workbench.config.settings import Flags, default_library
from workbench.demo.launch import Demo
from workbench.errors import UserError
from workbench.proxy.process import ChildError, ProcessExit
from workbench.replay.player import Player
from workbench.replay.sources import Compose, Replayable
from workbench.text import say, visible_text
from workbench.ui.display import LONGEST, ControlFilter
from workbench.ui.screens.compare import CompareScreen
from workbench.ui.screens.edit import RewriteScreen
from workbench.ui.screens.problem import ProblemScreen, proxy_died, running_answers
from workbench.ui.screens.replay import ReplayScreen
from workbench.ui.screens.stream import StreamScreen
from workbench.ui.screens.view import FilesFolder
from workbench.ui.supervisor import ProxySupervisor


class WorkbenchApp(App[int]):
    """The inspector: a library, and perhaps the proxy that writes it."""

    TITLE = "workbench"
    CSS_PATH: ClassVar = ["styles.tcss", "views.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+q", "quit", "Quit", id="app.quit", tooltip="Leave the workbench"),
    ]
    CONTROL_FILTER: ClassVar = ControlFilter()

    def __init__(self, library: Path) -> None:
        super().__init__()
        self._library = library
        self.files = FilesFolder()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Screens and widgets use this, too. A message may quote a stream, a file or the name of a folder: it
        is made safe here, where that cannot be forgotten, and it is never markup."""
        said, head = (visible_text(text[:LONGEST]) for text in (message, title))
        super().notify(said, title=head, severity=severity, timeout=timeout, markup=False)

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        """The screens that are seen through the topmost one.

        Textual counts the next one even if it is completely covered, and redraws both at each tick: below a
        question a running exchange has 20 ticks a second.
        """
        seen_through = self.screen.styles.background.a < 1
        return super()._background_screens if seen_through else []

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Whatever is drawn passes these, titles, tooltips and the palette included."""
        return [*super().get_line_filters(), self.CONTROL_FILTER]

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Everything that has a key can be found by its name, too."""
        yield from super().get_system_commands(screen)
        for active in screen.active_bindings.values():
            binding = active.binding
            if binding.id and not binding.system and binding.description:
                act = partial(self.run_action, binding.action, active.node)
                yield SystemCommand(binding.description, binding.tooltip or binding.key, act)

    def on_mount(self) -> None:
        self.begin()  # Textual calls the on_mount of every class; a subclass could not override it

    def begin(self) -> None:
        """The first screen."""
        self.show_library(self._library)

    def show_library(self, library: Path) -> StreamScreen:
        screen = StreamScreen(library)
        self.push_screen(screen)
        return screen


class _Leave(Exception):
    """The user wants to go."""


class LiveApp(WorkbenchApp):
    """With a proxy of its own, or the one that already runs for this library."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Q", "keep", "Leave the proxy running", id="app.keep", show=False,
                tooltip="Leave the screen; the proxy goes on, and workbench shows it again"),
    ]  # fmt: skip

    def __init__(self, flags: Flags) -> None:
        super().__init__(Path())
        self._supervisor = ProxySupervisor(flags, self._ask)
        self.farewell = ""  # printed when the screen is closed

    def begin(self) -> None:
        self._live()

    @work(group="proxy")
    async def _live(self) -> None:
        with suppress(_Leave):
            settings = await self._supervisor.settings()
            screen = self.show_library(self._supervisor.library(settings))
            if settings is not None:
                await self._supervisor.supervise(settings, screen)

    async def _ask(self, problem: ProblemScreen) -> str:
        choice = await self.push_screen_wait(problem)
        if choice == "quit":
            self.exit(0)
            raise _Leave
        return str(choice)

    # -- leaving

    async def action_quit(self) -> None:
        """A problem that is shown has its own way to quit; and a key pressed twice asks only once."""
        if not isinstance(self.screen, ProblemScreen):
            self._leave()

    def action_keep(self) -> None:
        """A proxy that was not started here goes on anyway."""
        self.farewell = self._supervisor.release()
        self.exit(0)

    @work(group="leave", exclusive=True)
    async def _leave(self) -> None:
        """One key press must not cut off an answer that a client waits for."""
        count = await self._supervisor.running_answers()
        choice = await self.push_screen_wait(running_answers(count)) if count != 0 else "cut"
        if choice == "keep":
            self.action_keep()
        elif choice == "cut":
            self.exit(0)

    async def on_unmount(self) -> None:
        await self._supervisor.stop()


class DemoApp(WorkbenchApp):
    """With a scripted model: opens on one broken exchange, then live traffic comes."""

    def __init__(self, demo: Demo) -> None:
        super().__init__(demo.library)
        self._demo = demo

    def begin(self) -> None:
        screen = self.show_library(self._library)
        screen.guide(self._demo.tips)
        self._go_live(screen)

    @work(group="proxy")
    async def _go_live(self, screen: StreamScreen) -> None:
        try:
            child = await self._demo.go_live()
            while child is not None and child.url is not None:
                screen.serving(child.url)
                death = await child.ended()
                screen.serving("")
                if child.stopping or not await self._wants_it_again(death):
                    return
                await child.restart()
        except ChildError as error:
            await self._wants_it_again(error.exit or ProcessExit(1, (str(error),)))

    async def _wants_it_again(self, death: ProcessExit) -> bool:
        choice = await self.push_screen_wait(proxy_died(death))
        if choice == "quit":
            self.exit(0)
        return choice in ("restart", "port")  # the demo uses a free port anyway


class ReplayApp(WorkbenchApp):
    """Saved streams, step by step: the first one, or whichever is picked; or a text that is pasted."""

    def __init__(
        self,
        replayables: Sequence[Replayable],
        *,
        pick: bool = False,
        compose: Compose | None = None,
        marks_folder: Path | None = None,
    ) -> None:
        super().__init__(Path())
        self._marks_folder = marks_folder
        self._replayables = list(replayables)
        self._pick = pick
        self._compose = compose

    def begin(self) -> None:
        if self._compose is not None:
            self._paste(self._compose)
        else:
            screen = ReplayScreen(self._replayables, pick=self._pick, marks_folder=self._marks_folder)
            self.push_screen(screen)

    @work(group="paste")
    async def _paste(self, compose: Compose) -> None:
        """Asks until there is a text that can be played."""
        text: str | None = ""
        while text is not None:
            title = f"paste or type what the model wrote in {compose.dialect}"
            text = await self.push_screen_wait(RewriteScreen(title, text))
            try:
                replayable = compose.make(text) if text is not None else None
            except UserError as error:
                self.notify(error.message, severity="error", timeout=6)
                continue
            if replayable is None:
                self.exit(0)
            else:
                replayables = [*self._replayables, replayable]
                self.push_screen(ReplayScreen(replayables, len(self._replayables), pasted=True))
            return


class CompareApp(WorkbenchApp):
    """Two exchanges beside each other, and nothing else."""

    def __init__(self, left: Player, right: Player, titles: Sequence[str]) -> None:
        super().__init__(Path())
        self._compared = left, right, titles

    def begin(self) -> None:
        self.push_screen(CompareScreen(*self._compared), lambda _: self.exit(0))


def run_compare(left: Player, right: Player, titles: Sequence[str]) -> int:
    return CompareApp(left, right, titles).run() or 0


def run_live(flags: Flags) -> int:
    app = LiveApp(flags)
    code = app.run() or 0
    if app.farewell:
        say(app.farewell)
    return code


def run_attached(library: Path) -> int:
    return WorkbenchApp(library).run() or 0


def run_replay(
    replayables: Sequence[Replayable], *, pick: bool = False, compose: Compose | None = None
) -> int:
    app = ReplayApp(replayables, pick=pick, compose=compose, marks_folder=_marks_folder())
    return app.run() or 0


def _marks_folder() -> Path:
    """In the library's folder: a tape outside a library may be in a repository."""
    try:
        return read_settings(Flags()).library / "marks"
    except UserError:
        return default_library() / "marks"


def run_demo(demo: Demo) -> int:
    async def run() -> int:
        async with demo:
            return await DemoApp(demo).run_async() or 0

    return asyncio.run(run())
