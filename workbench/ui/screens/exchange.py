"""What all screens share that show one exchange: the parts, where to look, searching, copying, and the
views that open over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.notifications import SeverityLevel
from textual.screen import Screen

from workbench.analysis.explain.bytes import explain_byte
from workbench.analysis.explain.rows import explain_row
from workbench.analysis.explain.trace import Remedy
from workbench.analysis.variants.changes import Change
from workbench.files import save
from workbench.replay.player import Pane, Player
from workbench.ui.screens.detail import DetailScreen, DifferenceScreen, WhyScreen
from workbench.ui.screens.request import RequestScreen, Resent
from workbench.ui.screens.table import TableScreen
from workbench.ui.screens.view import HelpScreen
from workbench.ui.widgets.bars import SEARCH, PaneTabs, PromptBar, Question
from workbench.ui.widgets.exchangeview import ExchangeView
from workbench.ui.widgets.panes import TapePane
from workbench.ui.widgets.rowpane import RowPane, first_match, texts_of


class ViewOpener:
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
            why = explain_byte(player, byte)
        elif step is not None:
            why = explain_row(player, *player.place(step))
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


_WIDE, _MIDDLE = 160, 100


class ExchangeScreen(Screen[None]):
    """It reads tapes and nothing else: whatever happens here cannot cut anybody's stream."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "proof", "Proof", id="exchange.proof", tooltip="Go to the row that proves the verdict"),
        Binding("n", "next(1)", "Next finding", id="exchange.next",
                tooltip="The next finding, or the next match of a search"),
        Binding("N", "next(-1)", "Previous", id="exchange.previous", show=False,
                tooltip="The previous finding, or the previous match of a search"),
        Binding("enter", "open('detail')", "Detail", id="exchange.detail",
                tooltip="Everything about this row; in the list: into the exchange"),
        Binding("w", "open('why')", "Why", id="exchange.why",
                tooltip="In words: what happened at this row, and what would have made it a call"),
        Binding("r", "open('request')", "Request", id="exchange.request",
                tooltip="What the client sent and what went upstream; edit it and send it again"),
        Binding("t", "open('table')", "Table", id="exchange.table", tooltip="The dialect's transition table"),
        Binding("question_mark", "open('help')", "Help", id="exchange.help", key_display="?",
                tooltip="What can be done here"),
        Binding("slash", "search", "Search", id="exchange.search", key_display="/",
                tooltip="Search in this pane"),
        Binding("escape", "back", "Back", id="exchange.back", show=False,
                tooltip="Forget the search, leave zoom"),
        Binding("y", "copy", "Copy", id="exchange.copy", show=False,
                tooltip="Copy the selected text, else the selected row"),
        Binding("Y", "save", "To file", id="exchange.save", show=False,
                tooltip="Write all rows of this pane to a file"),
        Binding("z", "zoom", "Zoom", id="exchange.zoom", tooltip="Give this pane the whole screen, or back"),
        Binding("tab", "turn(1)", "Next part", id="exchange.turn", show=False,
                tooltip="To the next part of the screen"),
        Binding("shift+tab", "turn(-1)", "Previous part", id="exchange.turn-back", show=False,
                tooltip="To the previous part of the screen"),
        Binding("1", "focus_on('upstream')", "Upstream", id="exchange.upstream", show=False,
                tooltip="To what upstream sent"),
        Binding("2", "focus_on('machine')", "Machine", id="exchange.machine", show=False,
                tooltip="To how the parser moved"),
        Binding("3", "focus_on('client')", "Client", id="exchange.client", show=False,
                tooltip="To what the client got"),
    ]  # fmt: skip

    def __init__(self, view: ExchangeView, first_digit: int) -> None:
        super().__init__()
        self.library: Path | None = None  # where a request that is sent again ends up
        self.view = view
        self._tabs = PaneTabs(first=first_digit)
        self._prompt = PromptBar()
        self._opener = ViewOpener(self)
        self._search = ""
        self._said = ("", 0.0)  # what was told last, and until when it is seen
        self._searched: RowPane = view.panes[0]
        self._asked_in: RowPane = view.panes[0]  # where the focus goes when the prompt closes

    @property
    def parts(self) -> tuple[RowPane, ...]:
        """What tab goes round in."""
        return self.view.panes

    @property
    def player(self) -> Player | None:
        return self.view.player

    def on_mount(self) -> None:
        self._tabs.show_names([part.NAME for part in self.parts])
        self.begin()

    def begin(self) -> None:
        """Whatever a screen does first. Textual calls on_mount of every class: none could replace it."""

    def on_resize(self, event: Resize) -> None:
        width = event.size.width
        self.set_class(width >= _WIDE, "-wide")
        self.set_class(_MIDDLE <= width < _WIDE, "-middle")
        self.set_class(width < _MIDDLE, "-narrow")
        self._show_focused()

    def did(self, action: str) -> None:
        """Somebody used this: a guide may want to know."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Whoever holds a key down is told once. What is said is never markup: it may quote a stream."""
        now, last = monotonic(), self._said
        if message == last[0] and now < last[1]:
            return
        self._said = message, now + (timeout or 0)
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)

    # -- where to look

    def action_focus_on(self, name: str) -> None:
        self.look_at(next(part for part in self.parts if part.id == name))

    def action_turn(self, way: int) -> None:
        """The parts in a circle; those that are not seen right now included."""
        at = next((at for at, part in enumerate(self.parts) if part is self.focused), -1)
        self.look_at(self.parts[(at + way) % len(self.parts)])
        self.did("pane")

    def on_pane_tabs_chosen(self, event: PaneTabs.Chosen) -> None:
        event.stop()
        self.look_at(self.parts[event.number])

    def look_at(self, part: RowPane) -> None:
        self._show(part)
        self.set_focus(part)  # at once: the next key may be in the queue already

    def on_descendant_focus(self) -> None:
        self._show_focused()

    def _show_focused(self) -> None:
        focused = self.focused
        if isinstance(focused, RowPane):
            self._show(focused)

    def _show(self, part: RowPane) -> None:
        """Where there is no room for all, this is the part that is seen."""
        for number, other in enumerate(self.parts):
            other.set_class(other is part, "-current")
            if other is part:
                self._tabs.choose(number)
        self.shown(part)

    def shown(self, part: RowPane) -> None:
        """A part of the screen has come to the front."""

    def action_zoom(self) -> None:
        self.toggle_class("-zoomed")
        self.did("zoom")

    def action_back(self) -> None:
        if self._prompt.display:
            self._prompt.action_close()
            return
        self.leave()

    def leave(self) -> None:
        """Escape, when nothing is being typed: back to the plain screen."""
        self.forget_search()
        self.remove_class("-zoomed")

    def forget_search(self) -> None:
        self._search = ""
        self.workers.cancel_group(self, "search")

    # -- what can be taken along

    def action_copy(self) -> None:
        pane, selected = self.focused, self.get_selected_text()
        if selected:
            text = selected
        elif isinstance(pane, RowPane) and 0 <= pane.cursor < pane.count():
            text = pane.text(pane.cursor)
        else:
            return
        # Half a character (a lone surrogate) is not to be had in UTF-8.
        self.app.copy_to_clipboard(text.encode("utf-8", "backslashreplace").decode())
        self.notify(f"copied {len(text):,} characters", timeout=2)

    def action_save(self) -> None:
        if isinstance(self.focused, RowPane) and self.focused.count():
            self._save(self.focused)

    @work(exclusive=True, group="save")
    async def _save(self, pane: RowPane) -> None:
        rows = [text async for _, text in texts_of(pane, range(pane.count()))]
        try:
            path = save("\n".join(rows), str(pane.id))
        except OSError as error:
            self.notify(f"no file could be written: {error}", severity="error", markup=False)
            return
        self.notify(f"written to {path}", timeout=6, markup=False)

    # -- views

    def action_open(self, view: str) -> None:
        getattr(self._opener, view)()

    def on_row_pane_opened(self, event: RowPane.Opened) -> None:
        event.stop()
        self.action_open("detail")

    def attempt(self, changes: Sequence[Change]) -> None:
        """See what a change leads to."""
        raise NotImplementedError

    def resent(self, id: str) -> None:
        """A request was sent again; the new exchange has this id."""
        self.notify("sent; the new exchange is in the library", timeout=4)

    def action_proof(self) -> None:
        if self.view.go_to_proof():
            self.did("proof")
        else:
            self.notify("there is nothing to prove", timeout=2)

    # -- searching

    def action_search(self) -> None:
        if isinstance(self.focused, RowPane):
            self._searched = self.focused
            self.ask(SEARCH, self._search)

    def ask(self, question: Question, text: str = "") -> None:
        if isinstance(self.focused, RowPane):
            self._asked_in = self.focused
        self._prompt.ask(question, text)

    def on_prompt_bar_entered(self, event: PromptBar.Entered) -> None:
        event.stop()
        self.answered(event.purpose, event.text)

    def answered(self, purpose: str, text: str) -> None:
        """Something was typed into the line at the bottom."""
        self._prompt.action_close()
        self._search = text
        if text:
            self._find(1)

    def on_prompt_bar_closed(self, event: PromptBar.Closed) -> None:
        event.stop()
        self.look_at(self._asked_in)

    def action_next(self, way: int) -> None:
        """The next match while there is a search, else the next finding."""
        if self._search:
            self._find(way)
        elif self.go_to_finding(way):
            self.did("finding")
        else:
            self.notify("there is no finding in this exchange", timeout=2)

    def go_to_finding(self, way: int) -> bool:
        return self.view.go_to_finding(way)

    @work(exclusive=True, group="search")
    async def _find(self, way: int) -> None:
        pane, wanted, before = self._searched, self._search, self._searched.cursor
        found = await first_match(pane, pane.circle(way), wanted)
        if found is None:
            self.notify(f"no {wanted!r} in this pane", timeout=2, markup=False)
            return
        if (found - before) * way <= 0:
            self.notify("the search went round", timeout=2)
        pane.go(found)
        self.did("search")
