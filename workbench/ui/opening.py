"""The views that open over an exchange, with what comes back from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.player.panes import Pane
from workbench.ui.screens.detail import DetailScreen
from workbench.ui.screens.difference import DifferenceScreen
from workbench.ui.screens.help import HelpScreen
from workbench.ui.screens.request import RequestScreen, Resent
from workbench.ui.screens.table import TableScreen
from workbench.ui.screens.why import WhyScreen
from workbench.ui.widgets.tapepane import TapePane
from workbench.why.bytes import why_byte
from workbench.why.rows import why_row
from workbench.why.why import Remedy

if TYPE_CHECKING:
    from workbench.ui.screens.exchange import ExchangeScreen


class Opener:
    """Opens a view for what is selected now."""

    def __init__(self, screen: ExchangeScreen) -> None:
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
            self._screen.view.show_row(*place)

    def request(self) -> None:
        screen, player = self._screen, self._screen.player
        if player is not None:
            screen.app.push_screen(RequestScreen(player, screen.library), self._resent)
            screen.did("request")

    def _resent(self, resent: Resent | None) -> None:
        if resent is not None:
            self._screen.resent(resent.id)

    def table(self) -> None:
        screen, player = self._screen, self._screen.player
        if player is not None and player.steps:
            machine = screen.view.panes[Pane.MACHINE]
            rows = player.rows(Pane.MACHINE)
            now = player.steps - 1 if screen.view.at is None else screen.view.at
            step = rows.steps[machine.cursor] if 0 <= machine.cursor < len(rows) else now
            screen.app.push_screen(TableScreen(player, step), self._go_to)
            screen.did("table")

    def _go_to(self, step: int | None) -> None:
        if step is not None:
            self._screen.view.go_to(step)

    def why(self) -> None:
        """Of the byte that was gone to, else of the selected row."""
        screen, player = self._screen, self._screen.player
        if player is None:
            return
        byte, step = screen.view.byte, screen.view.selected_step()
        if byte is not None:
            why = why_byte(player, byte)
        elif step is not None:
            why = why_row(player, *player.place(step))
        else:
            screen.notify("nothing has happened yet", timeout=2)
            return
        screen.app.push_screen(WhyScreen(why), self._try)
        screen.did("why")

    def _try(self, remedy: Remedy | None) -> None:
        if remedy is not None:
            self._screen.attempt(remedy.changes)

    def difference(self) -> None:
        """What was sent then and what would be sent today, from where they part."""
        screen, player = self._screen, self._screen.player
        found = player.difference if player is not None else None
        if player is None or found is None:
            never = screen.view.path is None or (player is not None and "variant_of" in player.header)
            said = "this was never sent" if never else "today's code sends exactly what is on the tape"
            screen.notify(said, timeout=3)
            return
        if found.read >= 0:
            screen.view.go_to(player.rows(Pane.UPSTREAM).steps[player.rows_of_reads[found.read]])
        screen.app.push_screen(DifferenceScreen(found))

    def help(self) -> None:
        self._screen.app.push_screen(HelpScreen(self._screen))
        self._screen.did("help")
