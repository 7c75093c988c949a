"""The stream screen: the exchanges of a library, and the selected one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Footer, Static

from workbench.demo.tips import Tips
from workbench.errors import UserError
from workbench.filters import FilterError
from workbench.library import Row
from workbench.player import Pane, Player, Tail
from workbench.ui.catalogue import Catalogue
from workbench.ui.display import content
from workbench.ui.judging import is_side
from workbench.ui.opening import Opener
from workbench.ui.savedfile import save
from workbench.ui.searching import first_match, texts_of
from workbench.ui.widgets.exchanges import Entry, ExchangeList, Judged
from workbench.ui.widgets.exchangeview import ExchangeView
from workbench.ui.widgets.panetabs import PaneTabs
from workbench.ui.widgets.promptbar import PromptBar, Purpose
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.tapepane import TapePane

_POLL = 0.3  # seconds between looks at the index
_SLICE = 0.012
_WIDE, _MIDDLE = 160, 100


class StreamScreen(Screen[None]):
    """It reads tapes and nothing else: whatever happens here cannot cut anybody's stream."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "proof", "Why", id="stream.proof", tooltip="Go to the row that proves the verdict"),
        Binding("n", "next(1)", "Next finding", id="stream.next",
                tooltip="The next finding, or the next match of a search"),
        Binding("N", "next(-1)", "Previous", id="stream.previous", show=False,
                tooltip="The previous finding, or the previous match of a search"),
        Binding("enter", "open('detail')", "Detail", id="stream.detail",
                tooltip="Everything about this row; in the list: into the exchange"),
        Binding("r", "open('request')", "Request", id="stream.request",
                tooltip="What the client sent and what went upstream; edit it and send it again"),
        Binding("t", "open('table')", "Table", id="stream.table", tooltip="The dialect's transition table"),
        Binding("s", "open('chain')", "Session", id="stream.session",
                tooltip="The session's calls beside their results"),
        Binding("question_mark", "open('help')", "Help", id="stream.help", key_display="?",
                tooltip="What can be done here"),
        Binding("slash", "search", "Search", id="stream.search", key_display="/",
                tooltip="Search in this pane"),
        Binding("f", "filter", "Filter", id="stream.filter", tooltip="Show only some exchanges"),
        Binding("escape", "back", "Back", id="stream.back", show=False,
                tooltip="Forget the search, leave zoom"),
        Binding("y", "copy", "Copy", id="stream.copy", show=False,
                tooltip="Copy the selected text, else the selected row"),
        Binding("Y", "save", "To file", id="stream.save", show=False,
                tooltip="Write all rows of this pane to a file"),
        Binding("u", "unfold", "Unfold", id="stream.unfold", show=False,
                tooltip="Show side requests such as titles, or fold them away"),
        Binding("space", "pause", "Pause", id="stream.pause", tooltip="Freeze the view; traffic goes on"),
        Binding("z", "zoom", "Zoom", id="stream.zoom", tooltip="Give this pane the whole screen, or back"),
        Binding("tab", "turn(1)", "Next part", id="stream.turn", show=False,
                tooltip="To the next part of the screen"),
        Binding("shift+tab", "turn(-1)", "Previous part", id="stream.turn-back", show=False,
                tooltip="To the previous part of the screen"),
        Binding("0", "focus_on('exchanges')", "Exchanges", id="stream.exchanges", show=False,
                tooltip="To the list of exchanges"),
        Binding("1", "focus_on('upstream')", "Upstream", id="stream.upstream", show=False,
                tooltip="To what upstream sent"),
        Binding("2", "focus_on('machine')", "Machine", id="stream.machine", show=False,
                tooltip="To how the parser moved"),
        Binding("3", "focus_on('client')", "Client", id="stream.client", show=False,
                tooltip="To what the client got"),
    ]  # fmt: skip

    def __init__(self, library: Path) -> None:
        super().__init__()
        self.library = library
        self._url = ""
        self._tips: Tips | None = None
        self._catalogue = Catalogue(library)
        self._search = ""
        self._awaited: str | None = None  # an exchange to be selected when it is in the list
        self._opener = Opener(self)
        self._list = ExchangeList()
        self.view = ExchangeView()
        self._tabs = PaneTabs(first=0)
        self._tip = Static("", id="tip", markup=False)
        self._prompt = PromptBar()
        self._searched: RowPane = self._list
        self._asked_in: ExchangeList | TapePane = self._list  # where the focus goes when the prompt closes
        self._looking = False  # into tapes, for the filter

    def compose(self) -> ComposeResult:
        yield self._tabs
        with Horizontal(id="body"):
            yield self._list
            yield self.view
        yield self._tip
        yield self._prompt
        yield Footer()

    def on_mount(self) -> None:
        self._tip.display = False
        if self._tips is not None:
            self._show_tip()
        self._tabs.show_names([str(part.NAME) for part in self._parts])
        self._list.focus()
        self._poll()
        self.set_interval(_POLL, self._poll)

    def on_resize(self, event: Resize) -> None:
        width = event.size.width
        self.set_class(width >= _WIDE, "-wide")
        self.set_class(_MIDDLE <= width < _WIDE, "-middle")
        self.set_class(width < _MIDDLE, "-narrow")
        self._show_focused()

    @property
    def player(self) -> Player | None:
        return self.view.player

    def serving(self, url: str) -> None:
        """A proxy runs: where clients find it. Empty: it does not any more."""
        self._url = url
        self._show_newer()

    def _show_newer(self) -> None:
        newer = f"{self._list.newer} new ↑" if self._list.newer else ""
        self._list.border_subtitle = content(" · ".join(part for part in (newer, self._url) if part))

    # -- a guide for somebody who is new here

    def guide(self, tips: Tips) -> None:
        """A line that says what to do next; and the cursor goes to the fault."""
        self._tips = tips
        self.view.prove = True

    def did(self, action: str) -> None:
        if self._tips is not None:
            self._tips.did(action)
            self._show_tip()

    def _show_tip(self) -> None:
        assert self._tips is not None
        self._tip.update(content(self._tips.line))
        self._tip.display = True

    # -- the list

    def _poll(self) -> None:
        """The index, when it has changed; a library that does not exist yet comes with the first exchange."""
        try:
            entries = self._catalogue.poll()
        except UserError as error:
            self._say_waiting(error.message)
            return
        if entries is not None:
            self._show_list(entries)
        if not self._catalogue.rows:
            self._say_waiting(f"nothing is recorded in {self.library} yet")

    def _show_list(self, entries: list[Entry]) -> None:
        text = self._catalogue.text
        self._list.empty = "no exchange fits; f changes the filter" if text else ""
        self._list.border_title = content(f"Exchanges: {text}" if text else "Exchanges")
        self._list.show_entries(entries)
        if self._awaited is not None:
            self._choose_awaited()
        self._show_newer()
        if (chosen := self._list.chosen) is not None and self._shows(chosen):
            self.view.set_running(chosen.row.state == "running")
        if self._catalogue.undecided and not self._looking:
            self._look_into_tapes()

    def _say_waiting(self, why: str) -> None:
        if self.view.tail is None:
            where = f"clients use {self._url} (workbench connect says how)" if self._url else why
            self.view.bar.say("info", "waiting for the first exchange", where)

    @work(group="filter")
    async def _look_into_tapes(self) -> None:
        """What the filter asks for is not in the index: each tape is read once, in slices."""
        self._looking = True
        try:
            while self._catalogue.undecided:
                await self._look_into(self._catalogue.undecided.pop(0))
        finally:
            self._looking = False

    async def _look_into(self, row: Row) -> None:
        text, tail = self._catalogue.text, Tail(self.library / row.path)
        while tail.advance(_SLICE) and tail.behind:
            await asyncio.sleep(0)
        if text == self._catalogue.text:
            self._catalogue.decide(row, tail)
        await asyncio.sleep(0)

    def on_row_pane_moved(self, event: RowPane.Moved) -> None:
        chosen = self._list.chosen
        if event.pane is not self._list or chosen is None:
            return
        self._show_newer()
        if not self._shows(chosen):
            first = self.view.tail is None
            self.view.open(self.library / chosen.row.path, chosen.row.state == "running")
            if not first:
                self.did("exchange")

    def on_row_pane_stepped(self, event: RowPane.Stepped) -> None:
        if event.pane is not self._list:
            self.did("step")

    def _shows(self, chosen: Judged) -> bool:
        return self.view.tail is not None and self.view.tail.path == self.library / chosen.row.path

    # -- where to look

    @property
    def _parts(self) -> tuple[ExchangeList | TapePane, ...]:
        return (self._list, *self.view.panes)

    def action_focus_on(self, name: str) -> None:
        self._look_at(next(part for part in self._parts if part.id == name))

    def action_turn(self, way: int) -> None:
        """The parts in a circle; those that are not seen right now included."""
        at = next((at for at, part in enumerate(self._parts) if part is self.focused), -1)
        self._look_at(self._parts[(at + way) % len(self._parts)])
        self.did("pane")

    def on_pane_tabs_chosen(self, event: PaneTabs.Chosen) -> None:
        event.stop()
        self._look_at(self._parts[event.number])

    def _look_at(self, part: ExchangeList | TapePane) -> None:
        self._show(part)
        self.set_focus(part)  # at once: the next key may be in the queue already

    def on_descendant_focus(self) -> None:
        self._show_focused()

    def _show_focused(self) -> None:
        focused = self.focused
        if isinstance(focused, ExchangeList | TapePane):
            self._show(focused)

    def _show(self, part: ExchangeList | TapePane) -> None:
        """Where there is no room for all, this is the part that is seen."""
        for number, other in enumerate(self._parts):
            other.set_class(other is part, "-current")
            if other is part:
                self._tabs.choose(number)
        self.set_class(part is self._list, "-on-list")

    def action_zoom(self) -> None:
        self.toggle_class("-zoomed")
        self.did("zoom")

    def action_pause(self) -> None:
        self.view.pause()
        self.did("pause")

    def action_back(self) -> None:
        if self._prompt.display:
            self._prompt.action_close()
            return
        self._search = ""
        self.workers.cancel_group(self, "search")
        self.remove_class("-zoomed")

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

    def action_unfold(self) -> None:
        self._catalogue.unfold()
        self._poll()

    def action_open(self, view: str) -> None:
        if view == "detail" and self.focused is self._list:
            self._enter_exchange()
        else:
            getattr(self._opener, view)()

    def on_row_pane_opened(self, event: RowPane.Opened) -> None:
        if event.pane is self._list:
            self._enter_exchange()
        else:
            self._opener.detail()

    def _enter_exchange(self) -> None:
        """From the list into what is selected there."""
        if self.player is not None:
            self._look_at(self.view.panes[Pane.MACHINE])

    def session_tapes(self) -> list[Path]:
        """The tapes of the selected exchange's session, the oldest first."""
        chosen = self._list.chosen
        if chosen is None:
            return []
        here = chosen.row
        # A filter may hide the request that has a call's result.
        same = [
            row
            for row in self._catalogue.rows
            if row.session == here.session and (row.id == here.id or not is_side(row))
        ]
        return [self.library / row.path for row in sorted(same, key=lambda row: row.started)]

    def choose(self, tape: Path) -> None:
        """Select an exchange by its tape."""
        if not self._list.choose(str(tape.relative_to(self.library))):
            self.notify("the filter hides this exchange; f changes it", timeout=4)

    def choose_when_there(self, id: str) -> None:
        """Select an exchange that is about to begin."""
        self._awaited = id

    def _choose_awaited(self) -> None:
        for at, entry in enumerate(self._list.entries):
            if isinstance(entry, Judged) and entry.row.id == self._awaited:
                self._awaited = None
                self._list.go(at)
                return

    def action_proof(self) -> None:
        if self.view.go_to_proof():
            self.did("proof")
        else:
            self.notify("there is nothing to prove", timeout=2)

    # -- searching and filtering

    def action_search(self) -> None:
        if isinstance(self.focused, RowPane):
            self._searched = self.focused
            self._ask("search", self._search)

    def action_filter(self) -> None:
        self._ask("filter", self._catalogue.text)

    def _ask(self, purpose: Purpose, text: str) -> None:
        if isinstance(self.focused, ExchangeList | TapePane):
            self._asked_in = self.focused
        self._prompt.ask(purpose, text)

    def on_prompt_bar_entered(self, event: PromptBar.Entered) -> None:
        event.stop()
        if event.purpose == "filter":
            self._filter_by(event.text)
            return
        self._search = event.text
        self._prompt.action_close()
        if event.text:
            self._find(1)

    def on_prompt_bar_closed(self, event: PromptBar.Closed) -> None:
        event.stop()
        self._look_at(self._asked_in)

    def action_next(self, way: int) -> None:
        """The next match while there is a search, else the next finding."""
        if self._search:
            self._find(way)
        elif self.view.go_to_finding(way):
            self.did("finding")
        else:
            self.notify("there is no finding in this exchange", timeout=2)

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

    def _filter_by(self, text: str) -> None:
        try:
            self._catalogue.filter_by(text)
        except FilterError as error:
            self._prompt.complain(error.message)
            return
        self._asked_in = self._list
        self._prompt.action_close()
        self._poll()
        self.did("filter")
