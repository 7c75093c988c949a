"""The stream screen: the exchanges of a library, and the selected one."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Static

from workbench.analysis.filters import FilterError
from workbench.analysis.variants.changes import Change, PolicySwitch, Switch, switched, switches
from workbench.demo.launch import Tips
from workbench.errors import UserError
from workbench.files import save
from workbench.library.index import delete_tape, fill_in
from workbench.library.summary import Row
from workbench.library.tapefiles import is_real_file
from workbench.replay.lines import Tail
from workbench.replay.marks import Mark, Marks
from workbench.replay.player import Pane, Player
from workbench.replay.sources import tape_replayable
from workbench.tape.recipe import Wishes
from workbench.text import date_and_time
from workbench.ui.background import in_background
from workbench.ui.display import content
from workbench.ui.follow import Follow
from workbench.ui.opentape import OpenTape
from workbench.ui.proxywatch import LATER, SOON, ProxyWatch, UpstreamState
from workbench.ui.screens.compare import Sides
from workbench.ui.screens.exchange import ExchangeScreen
from workbench.ui.screens.held import HeldBar
from workbench.ui.screens.replay import ReplayScreen
from workbench.ui.screens.session import SessionScreen
from workbench.ui.screens.view import Choice, ListScreen, Picked, files_of
from workbench.ui.widgets.bars import FILTER, NOTE, PLACE, KeyBar, Question
from workbench.ui.widgets.exchanges import Catalogue, Entry, ExchangeList
from workbench.ui.widgets.exchangetable import Judged, is_side, short_session
from workbench.ui.widgets.exchangeview import ExchangeView
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.statusline import Part, StatusLine, proxy_parts

_POLL = 0.3  # seconds between looks at the index
_ASK, _FIND = 0.7, 2.0  # seconds until a proxy is asked again, and until one is looked for again
_SLICE = 0.012
_WHOLE = -1  # the step of a mark that is about the whole exchange


def _note_of(tape: Path) -> str:
    """The user's note about an exchange as a whole."""
    mark = Marks(tape).at(_WHOLE)
    return mark.note if mark is not None else ""


def _fill_in(library: Path) -> None:
    with suppress(sqlite3.Error, OSError):  # it cannot be written: the columns stay as they are
        fill_in(library)


class StreamScreen(ExchangeScreen):
    """Live: the newest exchange is open, others can be chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "breakpoints", "Hold at", id="intercept.breakpoints", show=False,
                tooltip="Hold answers at a breakpoint, before their clients get them"),
        Binding("H", "held", "Held", id="intercept.held", show=False,
                tooltip="The answers that are held: read them, edit them, let them go, drop them"),
        Binding("n", "next(1)", "Next finding", id="exchange.next",
                tooltip="Next finding or search match; in the list: next exchange with a problem"),
        Binding("N", "next(-1)", "Previous", id="exchange.previous", show=False,
                tooltip="Previous finding or search match; in the list: previous exchange with a problem"),
        Binding("D", "dialect", "Dialect", id="stream.dialect", show=False,
                tooltip="Another dialect for the running proxy, from the next request on"),
        Binding("P", "policy", "Policy", id="stream.policy", show=False,
                tooltip="Another policy for the running proxy, from the next request on"),
        Binding("s", "session", "Conversation", id="stream.session",
                tooltip="The conversation as a person reads it: the calls beside their results, live"),
        Binding("F", "follow", "Follow", id="stream.follow",
                tooltip="Show each new exchange as it begins; moving yourself stops it"),
        Binding("S", "follow_session", "Follow session", id="stream.follow-session", show=False,
                tooltip="Follow the exchanges of this session only"),
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
        self._status = StatusLine()
        self.held_bar = HeldBar(library, self._is_any_held)
        self._proxy = ProxyWatch(library)
        self._well = True  # nothing is wrong with the proxy
        self._trouble = Static("", id="trouble", markup=False)
        self._trouble.display = False
        self._searched = self._asked_in = self._list
        self._looking = False  # tapes are being searched for the filter
        self._filling = False  # the index is being filled with what an older version did not write
        self.follow = Follow()
        # By tape: the row that was selected when its replay was opened, and the step at which that was left.
        self._left_at: dict[Path, tuple[int | None, int]] = {}

    @property
    def parts(self) -> tuple[RowPane, ...]:
        return (self._list, *self.view.panes)

    def compose_body(self) -> ComposeResult:
        yield self._status
        yield self._trouble
        yield self.held_bar
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
        self._watch_proxy()
        self._watch_health()

    def _is_any_held(self) -> bool:
        return any(row.state == "running" and "answer-held" in row.findings for row in self.catalogue.rows)

    def action_breakpoints(self) -> None:
        self.held_bar.choose_breakpoints(self.ask)

    def action_held(self) -> None:
        self.held_bar.open(self.view.tape.path)

    def serving(self, url: str) -> None:
        """The URL at which clients find the proxy; empty when it does not run any more."""
        self._url = url
        self._show_status()

    def trouble(self, sentence: str) -> None:
        """What is wrong with the proxy now, in a line of its own; empty when nothing is."""
        self._trouble.update(content(f"✖ {sentence}" if sentence else ""))
        self._trouble.display = bool(sentence)
        self._well = not sentence
        self._show_status()

    def _show_newer(self) -> None:
        newer = f"{self._list.newer} new ↑" if self._list.newer else ""
        self._list.say_below(self.catalogue.said, newer)

    # -- the proxy

    @work(group="proxy", exit_on_error=False)
    async def _watch_proxy(self) -> None:
        """Its current state, while this screen exists."""
        while True:
            state = await self._proxy.look()
            self._show_status()
            await asyncio.sleep(_ASK if state is not None else _FIND)

    @work(group="proxy", exit_on_error=False)
    async def _watch_health(self) -> None:
        """What is wrong with a proxy that was started elsewhere. One started here has its own supervisor."""
        while True:
            if not self._url:
                self.trouble(await self._proxy.trouble())
            await asyncio.sleep(SOON if not self._well or self._proxy.state is None else LATER)

    def on_unmount(self) -> None:
        self.workers.cancel_group(self, "proxy")

    @property
    def _upstream(self) -> UpstreamState | None:
        """The one that answered the selected exchange, else the default one."""
        state, chosen = self._proxy.state, self._list.chosen
        return (
            state.upstream(chosen.row.upstream if chosen is not None else None) if state is not None else None
        )

    def _show_status(self) -> None:
        parts = proxy_parts(self._proxy.state, self._upstream, self._url, self._well)
        self._status.tell(parts, self._following())

    def _following(self) -> tuple[Part, ...]:
        others, session = self.follow.others, self.follow.session
        if not self.follow.on:
            return (Part("F follows", "dim", "F", "follow", rank=1),)
        more, short = f"{others} more {'runs' if others == 1 else 'run'}", f"+{others}"
        what = f"▶ following {short_session(session)}" if session else "▶ following"
        return (
            Part(more if others else "", "warning", short if others else "", rank=4, room=11, short_room=2),
            Part(what, "good", "▶", "follow", rank=1),
        )

    def on_status_line_chosen(self, event: StatusLine.Chosen) -> None:
        actions = {"dialect": self.action_dialect, "policy": self.action_policy}
        actions.get(event.action, self._turn_following)()

    def _turn_following(self) -> None:
        if self.follow.on:
            self._stop_following()
        else:
            self.action_follow()

    def action_dialect(self) -> None:
        upstream = self._changeable()
        if upstream is not None:
            self._choose_value(upstream, switches(upstream.header)[0])

    def action_policy(self) -> None:
        """Which switch, then which value."""
        upstream = self._changeable()
        if upstream is None:
            return
        listed = switches(upstream.header)[1:]
        choices = [Choice(f"{switch.key} = {switch.now}", switch.about) for switch in listed]
        was = "policy" in upstream.changed
        if was:
            choices.insert(0, Choice("as configured", "undo what was changed here"))

        def chosen(picked: Picked | None) -> None:
            if picked is None:
                return
            if was and not picked.number:
                self._change(upstream.name, None, upstream.changed["policy"], "the policy as configured")
            else:
                self._choose_value(upstream, listed[picked.number - was])

        about = f"of {upstream.name}, from the next request on; enter chooses"
        self.app.push_screen(ListScreen("policy", about, choices), chosen)

    def _changeable(self) -> UpstreamState | None:
        upstream = self._upstream
        if upstream is None:
            state = self._proxy.state
            why = "which upstream? choose an exchange of it" if state is not None else "no proxy runs here"
            self.notify(why, severity="warning", timeout=3)
        return upstream

    def _choose_value(self, upstream: UpstreamState, switch: PolicySwitch) -> None:
        def take(value: str) -> None:
            """Raises UserError where there is no such value."""
            header = switched(upstream.header, [Switch(switch.key, value)])
            self._change(upstream.name, header["dialect"], header["policy"], f"{switch.key} = {value}")

        if not switch.values:
            self.ask(Question(f"{switch.key} = ", switch.about), lambda text: take(text.strip()), switch.now)
            return
        was = upstream.changed.get(switch.key)
        choices = [
            Choice(value, "as configured" if value == was else "", value == switch.now)
            for value in switch.values
        ]
        at = switch.values.index(switch.now) if switch.now in switch.values else 0

        def chosen(picked: Picked | None) -> None:
            if picked is not None and switch.values[picked.number] != switch.now:
                take(switch.values[picked.number])

        about = f"of {upstream.name}, from the next request on"
        self.app.push_screen(ListScreen(f"{switch.key}: {switch.about}", about, choices, chosen=at), chosen)

    @work(group="change")
    async def _change(
        self, upstream: str, dialect: str | None, policy: Mapping[str, Any] | None, said: str
    ) -> None:
        try:
            await self._proxy.change(upstream, dialect, policy)
        except UserError as error:
            self.notify(error.message, severity="error", timeout=6)
            return
        self._show_status()
        self.notify(f"{said}, from the next request on", timeout=3)

    # -- a guide for new users

    def guide(self, tips: Tips) -> None:
        """Show a line that says what to do next, and put the cursor on the fault; it stays there."""
        self._tips = tips
        self.follow.off()
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
            self._fill_in()
        self._go_on_following()
        if not self.catalogue.rows:
            self._say_waiting(f"nothing is recorded in {self.library} yet")

    def _fill_in(self) -> None:
        """Rows of an older version lack columns of the list: they are read from the tapes, once."""
        if not self._filling and self.catalogue.unfilled:
            self._filling = True
            in_background(self, lambda: _fill_in(self.library), lambda _: None)

    def _show_list(self, entries: list[Entry]) -> None:
        text = self.catalogue.text
        looks = text and self.catalogue.undecided
        fits_none = "no exchange fits; f changes the filter" if text else ""
        self._list.empty = "no exchange fits so far" if looks else fits_none
        self._list.name_list(f"Exchanges: {text}" if text else "Exchanges")
        self._list.order = self.catalogue.order
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
        """The filter's conditions are not in the index: each tape is read once, in slices."""
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
        while tail.advance(_SLICE) and tail.has_more:
            await asyncio.sleep(0)
        if text == self.catalogue.text:
            self.catalogue.decide(row, tail)
        await asyncio.sleep(0)

    def on_row_pane_moved(self, event: RowPane.Moved) -> None:
        """The user has moved, in the list or in a pane; at the end of a pane following continues."""
        if event.pane is not self._list:
            if not event.pane.follow:
                self._stop_following()
            return
        self._stop_following()
        self._show_newer()
        if self._show_chosen():
            self.did("exchange")

    def on_exchange_list_replaced(self) -> None:
        self._show_newer()
        self._show_chosen()

    def _show_chosen(self) -> bool:
        """The selected exchange in the panes; False where it is there already."""
        chosen = self._list.chosen
        if chosen is None or self._shows(chosen):
            return False
        self._open(chosen)
        return True

    def _open(self, chosen: Judged) -> None:
        self.view.open(Tail(self.library / chosen.row.path), chosen.row.state == "running")
        self._list.note = _note_of(self.library / chosen.row.path) if chosen.row.marked else ""

    # -- following

    def action_follow(self) -> None:
        """Of all sessions."""
        self.follow.all()
        self._begin_following("following: each new exchange is shown as it begins")

    def action_follow_session(self) -> None:
        chosen = self._list.chosen
        session = chosen.row.session if chosen is not None else None
        if session is None:
            self.notify("this exchange belongs to no session; F follows all", timeout=3)
            return
        self.follow.only(session)
        self._begin_following(f"following the session {session}")

    def _begin_following(self, said: str) -> None:
        if self.tape.at is not None:
            self.view.pause()  # it was paused
        for pane in self.view.panes:
            pane.action_last()
        newest = next((one.row for one in self.catalogue.listed if self._is_followed(one.row)), None)
        if newest is not None:
            self._follow_to(newest.path)
        self._show_following()
        self.notify(said, timeout=2)
        self.did("follow")

    def _is_followed(self, row: Row) -> bool:
        return self.follow.session in (None, row.session)

    def _stop_following(self) -> None:
        if self.follow.on:
            self.follow.off()
            self._show_following()

    def _go_on_following(self) -> None:
        """To the next exchange, when it is time. Not while something lies over this screen, or it is paused:
        a user who comes back must find what was there."""
        path = self.tape.path
        shown = path.relative_to(self.library).as_posix() if path is not None else None
        goes = self.follow.goes([entry.row for entry in self.catalogue.listed], shown, monotonic())
        if goes is not None and shown is not None and self.is_current and self.tape.at is None:
            self._follow_to(goes)
        self._show_following()

    def _follow_to(self, path: str) -> None:
        if self._list.follow_to(path):
            self._show_chosen()
            self._show_newer()

    def _show_following(self) -> None:
        self.set_class(self.follow.on, "-following")
        if self._list.watched != self.follow.on:
            self._list.watched = self.follow.on
            self._list.show()
        self._show_status()

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

    def action_next(self, way: int) -> None:
        """In the list: the next exchange that went wrong."""
        if self.focused is not self._list or self._search:
            super().action_next(way)
        elif not self._list.next_bad(way):
            self.notify("no exchange in this list went wrong", timeout=2)

    def on_exchange_list_sorted(self, event: ExchangeList.Sorted) -> None:
        self.catalogue.sort_by(event.order)
        self._poll()

    def on_exchange_list_wanted(self, event: ExchangeList.Wanted) -> None:
        tape = self.library / event.row.path
        match event.deed:
            case "mark":
                self._note(tape, "" if Marks(tape).at(_WHOLE) is None else None)
            case "compare":
                self._choose_for_comparison(event.row)
            case "note":
                self.ask(NOTE, lambda text: self._note(tape, text), _note_of(tape))
            case "export":
                self._export(tape)
            case "delete":
                when = date_and_time(event.row.started)
                sure = Question(f"delete the exchange of {when}? ", "enter deletes its tape, escape keeps it")
                self.ask(sure, lambda _: self._delete(event.row))

    def _choose_for_comparison(self, row: Row) -> None:
        """The newest two that were chosen count."""
        chosen = self._list.compared
        if row.path in chosen:
            chosen.remove(row.path)
            said = "not compared"
        else:
            chosen[:] = [*chosen, row.path][-2:]
            said = "= compares the two" if len(chosen) == 2 else "chosen: c on another one, then = compares"
        self._list.show()
        self._list.refresh()
        self.notify(said, timeout=2)

    def compared(self, player: Player) -> Sides:
        """The two that were chosen; one that was chosen and the selected one; else where it comes from."""
        here = self.tape.path
        chosen = [self.library / path for path in self._list.compared]
        if len(chosen) == 1 and here is not None and here not in chosen:
            chosen.append(here)
        if len(chosen) != 2:
            return super().compared(player)
        titles = [self._title_of(path) for path in chosen]
        return Sides(chosen[0], chosen[1], (titles[0], titles[1]))

    def _title_of(self, tape: Path) -> str:
        rows = (row for row in self.catalogue.rows if self.library / row.path == tape)
        return next((f"{date_and_time(row.started)} {row.id}" for row in rows), tape.name)

    def _note(self, tape: Path, note: str | None) -> None:
        """Mark an exchange as a whole, with a note perhaps; None: not any more. Raises UserError."""
        marks = Marks(tape)
        if note is None:
            marks.remove(_WHOLE)
        else:
            marks.put(Mark(_WHOLE, note.strip()))
        try:
            marks.save()
        except UserError as error:
            self.notify(error.message, severity="error", timeout=6)
            return
        self._list.note = note or ""
        self._list.show()
        self.notify("not marked any more" if note is None else "marked: it is kept", timeout=2)
        self._poll()

    def _export(self, tape: Path) -> None:
        files = files_of(self.app)
        if files.path is not None:
            self._write(tape, files.path)
            return

        def chosen(text: str) -> None:
            files.choose(text)
            assert files.path is not None
            self._write(tape, files.path)

        self.ask(PLACE, chosen, files.suggested)

    def _write(self, tape: Path, folder: Path) -> None:
        try:
            path = save(tape.read_bytes(), tape.stem, folder, ".jsonl")
        except OSError as error:
            self.notify(f"no file could be written: {error}", severity="error")
            return
        self.notify(f"written to {path}; workbench replay opens it", timeout=6)

    def _delete(self, row: Row) -> None:
        delete_tape(self.library, row.path)
        self.notify("deleted", timeout=2)
        self._poll()

    def action_unfold(self) -> None:
        self.catalogue.unfold()
        self._poll()

    def action_open(self, view: str) -> None:
        if view != "help":
            self._stop_following()  # the user comes back to this exchange
        if view == "detail" and self.focused is self._list:
            if self.player is not None:
                self.look_at(self.view.panes[Pane.MACHINE])
        else:
            super().action_open(view)

    def action_session(self) -> None:
        chosen = self._list.chosen
        if chosen is None:
            return
        here = chosen.row

        def now() -> list[tuple[Path, bool]]:
            rows = self._rows_of_session(here)
            return [(self.library / row.path, row.state == "running") for row in rows]

        self.app.push_screen(SessionScreen([], self.tape.path, now), self._chosen)
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
            selected = self.view.selected_step()
            known = self._left_at.get(path)
            # If the cursor has not moved here since, continue where the replay was left.
            at = known[1] if known is not None and known[0] == selected else selected
            screen = ReplayScreen([replayable], at=at, library=self.library, changes=changes)

            def left(_: None) -> None:
                self._left_at[path] = (selected, screen.model.step)

            self.app.push_screen(screen, left)
            self.did("replay")

    def _rows_of_session(self, here: Row) -> list[Row]:
        """The exchanges of a session, the oldest first; of side requests only the one that was selected."""
        # A filter may hide the request that has a call's result.
        same = [
            row
            for row in self.catalogue.rows
            if row.session == here.session and (row.id == here.id or not is_side(row))
        ]
        return sorted(same, key=lambda row: row.started)

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
        tapes = [tape for row in rows if is_real_file(tape := self.library / row.path)]
        if tapes:
            from workbench.ui.screens.trial import TrialScreen  # imports the whole lab, which few users open

            screen = TrialScreen(self.library, tapes)
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
