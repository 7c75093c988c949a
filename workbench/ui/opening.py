"""The views that open over the stream screen, and what comes back from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.player import Pane
from workbench.ui.screens.chain import ChainScreen
from workbench.ui.screens.detail import DetailScreen
from workbench.ui.screens.help import HelpScreen
from workbench.ui.screens.request import RequestScreen, Resent
from workbench.ui.screens.table import TableScreen
from workbench.ui.widgets.tapepane import TapePane

if TYPE_CHECKING:
    from workbench.ui.screens.stream import StreamScreen


class Opener:
    """Opens a view for what is selected now."""

    def __init__(self, screen: StreamScreen) -> None:
        self._screen = screen

    def detail(self) -> None:
        """Of the selected row of the focused pane, or of the machine pane."""
        screen, player = self._screen, self._screen.player
        focused = screen.focused
        pane = focused if isinstance(focused, TapePane) else screen.view.panes[Pane.MACHINE]
        if player is not None and 0 <= pane.cursor < pane.count():
            screen.app.push_screen(DetailScreen(player, pane.PANE, pane.cursor), self._select)
            screen.did("detail")

    def _select(self, place: tuple[Pane, int] | None) -> None:
        if place is not None:
            pane, row = place
            self._screen.set_focus(self._screen.view.panes[pane])
            self._screen.view.panes[pane].go(row)

    def request(self) -> None:
        screen, player = self._screen, self._screen.player
        if player is not None:
            screen.app.push_screen(RequestScreen(player, screen.library), self._resent)
            screen.did("request")

    def _resent(self, resent: Resent | None) -> None:
        """The new exchange is selected as soon as it is in the list."""
        if resent is not None:
            self._screen.choose_when_there(resent.id)

    def table(self) -> None:
        screen, player = self._screen, self._screen.player
        if player is not None and player.steps:
            machine = screen.view.panes[Pane.MACHINE]
            rows = player.rows(Pane.MACHINE)
            step = rows.steps[machine.cursor] if 0 <= machine.cursor < len(rows) else player.steps - 1
            screen.app.push_screen(TableScreen(player, step), self._go_to)
            screen.did("table")

    def _go_to(self, step: int | None) -> None:
        if step is not None:
            self._screen.view.go_to(step)

    def chain(self) -> None:
        screen = self._screen
        tapes = screen.session_tapes()
        if tapes:
            here = screen.view.tail.path if screen.view.tail is not None else None
            screen.app.push_screen(ChainScreen(tapes, here), self._choose)
            screen.did("session")

    def _choose(self, tape: Path | None) -> None:
        if tape is not None:
            self._screen.choose(tape)

    def help(self) -> None:
        self._screen.app.push_screen(HelpScreen(self._screen))
        self._screen.did("help")
