"""What all screens that show one exchange share: the parts, where to look, searching, copying, and the
views that open over it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.geometry import Size
from textual.notifications import SeverityLevel
from textual.screen import Screen

from workbench.analysis.explain.rows import explain_row
from workbench.analysis.explain.trace import Explanation, Remedy
from workbench.analysis.variants.changes import Change
from workbench.errors import UserError
from workbench.files import save
from workbench.replay.player import Pane, Player
from workbench.text import counted
from workbench.ui.background import in_slices
from workbench.ui.screens.compare import Sides, open_comparison, origin_sides
from workbench.ui.screens.detail import DetailScreen, DifferenceScreen, WhyScreen
from workbench.ui.screens.request import RequestScreen, Resent
from workbench.ui.screens.table import TableScreen
from workbench.ui.screens.view import HelpScreen, files_of
from workbench.ui.widgets.bars import PLACE, ROWS, SEARCH, PaneTabs, PromptBar, Question
from workbench.ui.widgets.exchangeview import ExchangeView
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.search import PaneSearch
from workbench.ui.widgets.tapepane import TapePane

_WIDE, _MIDDLE = 160, 100


class ExchangeScreen(Screen[None]):
    """It reads tapes and nothing else: whatever happens here cannot interrupt a stream."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "proof", "Proof", id="exchange.proof", tooltip="Go to the row that proves the verdict"),
        Binding("n", "next(1)", "Next finding", id="exchange.next",
                tooltip="Next finding or search match"),
        Binding("N", "next(-1)", "Previous", id="exchange.previous", show=False,
                tooltip="Previous finding or search match"),
        Binding("enter", "open('detail')", "Detail", id="exchange.detail",
                tooltip="Everything about this row; in the list: into the exchange"),
        Binding("w", "open('why')", "Why", id="exchange.why",
                tooltip="In words: what happened at this row, and what would have made it a call"),
        Binding("r", "open('request')", "Request", id="exchange.request",
                tooltip="What the client sent and what went upstream; edit it and send it again"),
        Binding("equals_sign", "open('compare')", "Compare", id="exchange.compare", show=False,
                key_display="=",
                tooltip="Two exchanges beside each other: those chosen with c, or this and its origin"),
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
        self.library: Path | None = None  # the library that gets a request that is sent again
        self.view = view
        self._tabs = PaneTabs(first=first_digit)
        self._prompt = PromptBar()
        self._search = ""
        self._finder: PaneSearch | None = None  # what the last search found
        self._said = ("", 0.0)  # the last notification, and until when it is shown
        self._front: RowPane | None = None  # the part that was shown last
        self._searched: RowPane = view.panes[0]
        self._asked_in: RowPane = view.panes[0]  # where the focus goes when the prompt closes
        self._answered: Callable[[str], None] = self._search_for  # called with the typed text
        self._views: dict[str, Callable[[], None]] = {
            "detail": self._open_detail,
            "why": self._open_why,
            "request": self._open_request,
            "table": self._open_table,
            "help": self._open_help,
            "difference": self._open_difference,
            "compare": self._open_compare,
        }

    @property
    def is_current(self) -> bool:
        """Whether it is drawn. Not below the palette either: Textual would draw all of it at each tick."""
        return self.is_active

    @property
    def parts(self) -> tuple[RowPane, ...]:
        """The parts of the screen, in the order of tab."""
        return self.view.panes

    @property
    def player(self) -> Player | None:
        return self.view.player

    def compose(self) -> ComposeResult:
        # Before it has any content: otherwise everything would be styled twice.
        self.update_classes(self.classes_at(self.app.size), update=False)
        yield from self.compose_body()

    def compose_body(self) -> ComposeResult:
        raise NotImplementedError

    def on_mount(self) -> None:
        self._tabs.show_names([part.NAME for part in self.parts])
        self.begin()

    def begin(self) -> None:
        """What a screen does first. Textual calls the on_mount of every class, so none overrides another."""

    def on_resize(self, event: Resize) -> None:
        self.update_classes(self.classes_at(event.size))
        self._show_focused()

    def classes_at(self, size: Size) -> dict[str, bool]:
        """How much room there is, for the style sheet."""
        middle, wide = size.width >= _MIDDLE, size.width >= _WIDE
        return {"-wide": wide, "-middle": middle and not wide, "-narrow": not middle}

    def did(self, action: str) -> None:
        """The user did this; a guide may want to know."""

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """A key that is held down is answered once. A message is never markup: it may quote a stream."""
        now, last = monotonic(), self._said
        if message == last[0] and now < last[1]:
            return
        self._said = message, now + (timeout or 0)
        super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)

    # -- where to look

    def action_focus_on(self, name: str) -> None:
        self.look_at(next(part for part in self.parts if part.id == name))

    def action_turn(self, way: int) -> None:
        """The parts in a circle, hidden ones included."""
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
        """If there is room for one part only, this is the one that is shown."""
        if part is self._front:
            return
        self._front = part
        for number, other in enumerate(self.parts):
            other.set_class(other is part, "-current", update=self.one_at_a_time)
            if other is part:
                self._tabs.choose(number)
        self.shown(part)

    @property
    def one_at_a_time(self) -> bool:
        """Only then does the style depend on the part; asking the style sheet costs more than drawing."""
        return self.has_class("-narrow") or self.has_class("-zoomed")

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
        self._search, self._finder = "", None
        self.workers.cancel_group(self, "search")
        for part in self.parts:
            part.pattern = None
            part.say_found("")
            part.show()

    # -- copying and saving

    def action_copy(self) -> None:
        pane, selected = self.focused, self.get_selected_text()
        if selected:
            text = selected
        elif isinstance(pane, RowPane) and 0 <= pane.cursor < pane.count():
            text = pane.copied(pane.cursor)
        else:
            return
        # A lone surrogate, which is half a character, cannot be written in UTF-8.
        self.app.copy_to_clipboard(text.encode("utf-8", "backslashreplace").decode())
        self.notify(f"copied {counted(len(text), 'character')}", timeout=2)

    def action_save(self) -> None:
        pane, files = self.focused, files_of(self.app)
        if not isinstance(pane, RowPane) or not pane.count():
            return
        if files.path is not None:
            self._save(pane, files.path)
            return

        def chosen(text: str) -> None:
            files.choose(text)
            assert files.path is not None
            self._save(pane, files.path)

        self.ask(PLACE, chosen, files.suggested)

    @work(exclusive=True, group="save")
    async def _save(self, pane: RowPane, folder: Path) -> None:
        whole: str | bytes | None = pane.whole()
        if whole is None:
            rows = in_slices(range(pane.count()))  # fewer, if another tape is opened meanwhile
            whole = "\n".join([pane.text(row) async for row in rows if row < pane.count()])
        try:
            path = save(whole, str(pane.id), folder)
        except OSError as error:
            self.notify(f"no file could be written: {error}", severity="error")
            return
        self.notify(f"written to {path}", timeout=6)

    # -- views

    def action_open(self, view: str) -> None:
        """Open a view for what is selected now."""
        self._views[view]()

    def on_row_pane_opened(self, event: RowPane.Opened) -> None:
        event.stop()
        self.action_open("detail")

    def _open_detail(self) -> None:
        """Of the selected row of the focused pane, or of the machine pane."""
        player, pane = self.player, self.view.chosen_pane
        if player is not None and 0 <= pane.cursor < pane.count():
            self.app.push_screen(DetailScreen(player, pane.PANE, pane.cursor), self._select)
            self.did("detail")

    def _select(self, place: tuple[Pane, int] | None) -> None:
        if place is not None:
            self.view.show_row(*place)

    def _open_request(self) -> None:
        if self.player is not None:
            self.app.push_screen(RequestScreen(self.player, self.library), self._note_resent)
            self.did("request")

    def _note_resent(self, resent: Resent | None) -> None:
        if resent is not None:
            self.resent(resent.id)

    def resent(self, id: str) -> None:
        """A request was sent again; the new exchange has this id."""
        self.notify("sent; the new exchange is in the library", timeout=4)

    def _open_table(self) -> None:
        """At the selected row of the machine pane."""
        player = self.player
        if player is None or not player.steps:
            return
        row, rows = self.view.panes[Pane.MACHINE].cursor, player.rows(Pane.MACHINE)
        now = player.steps - 1 if self.view.tape.at is None else self.view.tape.at
        step = rows.steps[row] if 0 <= row < len(rows) else now
        self.app.push_screen(TableScreen(player, step), self._go_to_use)
        self.did("table")

    def _go_to_use(self, step: int | None) -> None:
        if step is not None:
            self.view.go_to(step)

    def _open_why(self) -> None:
        why = self.explanation()
        if why is not None:
            self.app.push_screen(WhyScreen(why), self._try)
            self.did("why")

    def explanation(self) -> Explanation | None:
        """Of the selected row; None, with a notice, where there is nothing to explain."""
        step = self.view.selected_step()
        if self.player is not None and step is not None:
            return explain_row(self.player, *self.player.place(step))
        if self.player is not None:
            self.notify("nothing has happened yet", timeout=2)
        return None

    def _try(self, remedy: Remedy | None) -> None:
        if remedy is not None:
            self.attempt(remedy.changes)

    def attempt(self, changes: Sequence[Change]) -> None:
        """See what a change leads to."""
        raise NotImplementedError

    def _open_compare(self) -> None:
        if (player := self.player) is not None:
            try:
                open_comparison(self, self.compared(player))
            except UserError as error:
                self.notify(error.message, severity="warning", timeout=5)

    def compared(self, player: Player) -> Sides:
        """The exchanges to compare; UserError says why there are none."""
        return origin_sides(self.library, player)

    def _open_difference(self) -> None:
        """What was sent when recorded and what would be sent today, from where they differ."""
        player = self.player
        found = player.difference if player is not None else None
        if player is None or found is None:
            never = self.view.tape.path is None or (player is not None and "variant_of" in player.header)
            said = "this was never sent" if never else "today's code sends exactly what is on the tape"
            self.notify(said, timeout=3)
            return
        if found.read >= 0:
            self.view.go_to(player.step_of_read(found.read))
        self.app.push_screen(DifferenceScreen(found))

    def _open_help(self) -> None:
        self.app.push_screen(HelpScreen(self))
        self.did("help")

    def action_proof(self) -> None:
        if self.view.go_to_proof():
            self.did("proof")
        else:
            self.notify("there is nothing to prove", timeout=2)

    # -- asking

    def ask(self, question: Question, answered: Callable[[str], None], text: str = "") -> None:
        """In the line at the bottom. A UserError of `answered` is shown beside what was typed."""
        if isinstance(self.focused, RowPane):
            self._asked_in = self.focused
        self._answered = answered
        self._prompt.ask(question, text)

    def on_prompt_bar_entered(self, event: PromptBar.Entered) -> None:
        event.stop()
        try:
            self._answered(event.text)
        except UserError as error:
            self._prompt.complain(error.message)
        else:
            self._prompt.action_close()

    def on_prompt_bar_closed(self, event: PromptBar.Closed) -> None:
        event.stop()
        self.look_at(self._asked_in)

    def on_tape_pane_asked(self, event: TapePane.Asked) -> None:
        """Asks which rows are wanted; the view needs no input for anything else."""
        event.stop()
        wanted = self.view.arrangement.wanted
        self.ask(ROWS, self.view.filter_rows, wanted.text if wanted is not None else "")

    # -- searching

    def action_search(self) -> None:
        if isinstance(self.focused, RowPane):
            self._searched = self.focused
            self.ask(SEARCH, self._search_for, self._search)

    def _search_for(self, text: str) -> None:
        self._search = text
        if text:
            self._find(1)

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
        finder = self._finder
        if finder is None or not finder.is_for(pane, wanted):
            finder = self._finder = PaneSearch(pane, wanted)
        self._show_found(pane, f"“{wanted}” searching …")
        await finder.look()
        found = finder.nearest(before, way)
        if found is None:
            self._show_found(pane, f"“{wanted}” is not here")
            self.notify(f"no {wanted!r} in this pane", timeout=2)
            return
        if (found - before) * way <= 0:
            self.notify("the search wrapped around", timeout=2)
        pane.go(found)
        self._show_found(pane, finder.place(found))
        self.did("search")

    def _show_found(self, pane: RowPane, place: str) -> None:
        for part in self.parts:
            part.pattern = self._finder.pattern if part is pane and self._finder is not None else None
            part.say_found(place if part is pane else "")
            part.show()
