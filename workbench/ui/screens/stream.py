"""The stream screen: the exchanges of a library, and the selected one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Static

from workbench.analysis.filters import FilterError
from workbench.analysis.variants.changes import Change
from workbench.demo.launch import Tips
from workbench.errors import UserError
from workbench.library.summary import Row
from workbench.replay.lines import Tail
from workbench.replay.player import Pane
from workbench.replay.sources import tape_replayable
from workbench.tape.recipe import Wishes
from workbench.ui.display import content
from workbench.ui.opentape import OpenTape
from workbench.ui.screens.exchange import ExchangeScreen
from workbench.ui.screens.replay import ReplayScreen
from workbench.ui.screens.session import SessionScreen
from workbench.ui.screens.trial import TrialScreen
from workbench.ui.widgets.bars import FILTER, KeyBar
from workbench.ui.widgets.exchanges import Catalogue, Entry, ExchangeList, Judged, is_side
from workbench.ui.widgets.exchangeview import ExchangeView
from workbench.ui.widgets.rowpane import RowPane

_POLL = 0.3  # seconds between looks at the index
_SLICE = 0.012


class StreamScreen(ExchangeScreen):
    """Live: the newest exchange is open, others can be chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "session", "Session", id="stream.session",
                tooltip="The session's calls beside their results"),
        Binding("p", "replay", "Replay", id="stream.replay",
                tooltip="Step through this exchange, forwards and backwards, even while it still runs"),
        Binding("T", "try", "Try prompts", id="stream.try", show=False,
                tooltip="Send the marked exchanges, or this one, again with several prompts"),
        Binding("f", "filter", "Filter", id="stream.filter", tooltip="Show only some exchanges"),
        Binding("u", "unfold", "Unfold", id="stream.unfold", show=False,
                tooltip="Show side requests such as titles, or fold them away"),
        Binding("space", "pause", "Pause", id="stream.pause", tooltip="Freeze the view; traffic goes on"),
        Binding("0", "focus_on('exchanges')", "Exchanges", id="stream.exchanges", show=False,
                tooltip="To the list of exchanges"),
    ]  # fmt: skip

    def __init__(self, library: Path) -> None:
        self.tape = OpenTape()
        super().__init__(ExchangeView(self.tape), first_digit=0)
        self.library: Path = library
        self._url = ""
        self._tips: Tips | None = None
        self.catalogue = Catalogue(library)
        self._awaited: str | None = None  # an exchange to be selected when it is in the list
        self._list = ExchangeList()
        self._tip = Static("", id="tip", markup=False)
        self._trouble = Static("", id="trouble", markup=False)
        self._trouble.display = False
        self._searched = self._asked_in = self._list
        self._looking = False  # into tapes, for the filter

    @property
    def parts(self) -> tuple[RowPane, ...]:
        return (self._list, *self.view.panes)

    def compose(self) -> ComposeResult:
        yield self._trouble
        yield self._tabs
        with Horizontal(id="body"):
            yield self._list
            yield self.view
        yield self._tip
        yield self._prompt
        yield KeyBar()

    def begin(self) -> None:
        self._tip.display = False
        if self._tips is not None:
            self._show_tip()
        self.set_focus(self._list)  # at once: the proof may be found before a message is worked on
        self._poll()
        self.set_interval(_POLL, self._poll)

    def serving(self, url: str) -> None:
        """The URL at which clients find the proxy; empty when it does not run any more."""
        self._url = url
        self._show_newer()

    def trouble(self, sentence: str) -> None:
        """What is wrong with the proxy now, in a line of its own; empty when nothing is."""
        self._trouble.update(content(f"✖ {sentence}" if sentence else ""))
        self._trouble.display = bool(sentence)

    def _show_newer(self) -> None:
        newer = f"{self._list.newer} new ↑" if self._list.newer else ""
        self._list.say_below(self.catalogue.said, newer, self._url)

    # -- a guide for new users

    def guide(self, tips: Tips) -> None:
        """Show a line that says what to do next, and put the cursor on the fault."""
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
            entries = self.catalogue.poll()
        except UserError as error:
            self._say_waiting(error.message)
            return
        if entries is not None:
            self._show_list(entries)
        if not self.catalogue.rows:
            self._say_waiting(f"nothing is recorded in {self.library} yet")

    def _show_list(self, entries: list[Entry]) -> None:
        text = self.catalogue.text
        looks = text and self.catalogue.undecided
        fits_none = "no exchange fits; f changes the filter" if text else ""
        self._list.empty = "no exchange fits so far" if looks else fits_none
        self._list.border_title = content(f"Exchanges: {text}" if text else "Exchanges")
        self._list.show_entries(entries)
        if self._awaited is not None:
            self._choose_awaited()
        self._show_newer()
        if (chosen := self._list.chosen) is not None and self._shows(chosen):
            self.view.set_running(chosen.row.state == "running")
        if self.catalogue.undecided and not self._looking:
            self._look_into_tapes()

    def _say_waiting(self, why: str) -> None:
        if self.tape.source is None:
            where = f"clients use {self._url} (workbench connect says how)" if self._url else why
            self.view.bar.say("info", "waiting for the first exchange", where)

    @work(group="filter")
    async def _look_into_tapes(self) -> None:
        """What the filter asks for is not in the index: each tape is read once, in slices."""
        self._looking = True
        try:
            while self.catalogue.undecided:
                await self._look_into(self.catalogue.undecided.pop(0))
                self._show_newer()
        finally:
            self._looking = False
            self._show_newer()

    async def _look_into(self, row: Row) -> None:
        text, tail = self.catalogue.text, Tail(self.library / row.path)
        while tail.advance(_SLICE) and tail.behind:
            await asyncio.sleep(0)
        if text == self.catalogue.text:
            self.catalogue.decide(row, tail)
        await asyncio.sleep(0)

    def on_row_pane_moved(self, event: RowPane.Moved) -> None:
        chosen = self._list.chosen
        if event.pane is not self._list or chosen is None:
            return
        self._show_newer()
        if not self._shows(chosen):
            first = self.tape.source is None
            self.view.open(Tail(self.library / chosen.row.path), chosen.row.state == "running")
            if not first:
                self.did("exchange")

    def on_row_pane_stepped(self, event: RowPane.Stepped) -> None:
        if event.pane is not self._list:
            self.did("step")

    def _shows(self, chosen: Judged) -> bool:
        return self.tape.path == self.library / chosen.row.path

    def shown(self, part: RowPane) -> None:
        self.set_class(part is self._list, "-on-list", update=self.one_at_a_time)

    def action_pause(self) -> None:
        self.view.pause()
        self.did("pause")

    def action_unfold(self) -> None:
        self.catalogue.unfold()
        self._poll()

    def action_open(self, view: str) -> None:
        if view == "detail" and self.focused is self._list:
            if self.player is not None:
                self.look_at(self.view.panes[Pane.MACHINE])
        else:
            super().action_open(view)

    def action_session(self) -> None:
        tapes = self.session_tapes()
        if tapes:
            self.app.push_screen(SessionScreen(tapes, self.tape.path), self._chosen)
            self.did("session")

    def _chosen(self, tape: Path | None) -> None:
        if tape is not None:
            self.choose(tape)

    def action_replay(self) -> None:
        """Step through it from the selected row on, even while the answer still comes."""
        self._replay()

    def attempt(self, changes: Sequence[Change]) -> None:
        self._replay(changes)

    def _replay(self, changes: Sequence[Change] = ()) -> None:
        path = self.tape.path
        if path is not None and self.player is not None:
            replayable = tape_replayable(path, path.name, "", Wishes())
            at = self.view.selected_step()
            self.app.push_screen(ReplayScreen([replayable], at=at, library=self.library, changes=changes))
            self.did("replay")

    def session_tapes(self) -> list[Path]:
        """The tapes of the selected exchange's session, the oldest first."""
        chosen = self._list.chosen
        if chosen is None:
            return []
        here = chosen.row
        # A filter may hide the request that has a call's result.
        same = [
            row
            for row in self.catalogue.rows
            if row.session == here.session and (row.id == here.id or not is_side(row))
        ]
        return [self.library / row.path for row in sorted(same, key=lambda row: row.started)]

    def choose(self, tape: Path) -> None:
        """Select an exchange by its tape."""
        if not self._list.choose(str(tape.relative_to(self.library))):
            self.notify("the filter hides this exchange; f changes it", timeout=4)

    def resent(self, id: str) -> None:
        """The new exchange is selected as soon as it is in the list."""
        self._awaited = id

    def _choose_awaited(self) -> None:
        for at, entry in enumerate(self._list.entries):
            if isinstance(entry, Judged) and entry.row.id == self._awaited:
                self._awaited = None
                self._list.go(at)
                return

    # -- filtering

    def action_try(self) -> None:
        chosen = self._list.chosen
        marked = [row for row in self.catalogue.rows if row.marked and row.kind != "relay"]
        rows = marked or ([chosen.row] if chosen is not None else [])
        if rows:
            screen = TrialScreen(self.library, [self.library / row.path for row in rows])
            self.app.push_screen(screen, self._show_tried)

    def _show_tried(self, text: str | None) -> None:
        if text is not None:
            self._filter_by(text)

    def action_filter(self) -> None:
        self.ask(FILTER, self._filter_by, self.catalogue.text)

    def _filter_by(self, text: str) -> None:
        try:
            self.catalogue.filter_by(text)
        except FilterError as error:
            raise UserError(error.message) from None
        self._asked_in = self._list
        self._poll()
        self.did("filter")
