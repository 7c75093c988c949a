"""The stream screen: exchanges, and the three panes of the selected one."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Footer, Static

from transformer import DIALECTS, Finding
from workbench.demo.tips import Tips
from workbench.errors import UserError
from workbench.filters import FilterError
from workbench.player import Held, Pane, Player, Tail
from workbench.player.links import linked
from workbench.tape import Line
from workbench.ui.catalogue import Catalogue
from workbench.ui.display import content
from workbench.ui.searching import first_match
from workbench.ui.widgets.clientpane import ClientPane
from workbench.ui.widgets.exchanges import ExchangeList
from workbench.ui.widgets.machinepane import MachinePane
from workbench.ui.widgets.promptbar import PromptBar
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.tapepane import TapePane
from workbench.ui.widgets.upstreampane import UpstreamPane
from workbench.ui.widgets.verdictbar import VerdictBar
from workbench.verdicts import Verdict, facts_of_player, proof, verdict

_POLL = 0.3  # seconds between looks at the index
_FRAME = 1 / 20
_SLICE = 0.012  # seconds of reading in a frame, while there is more to read
_WIDE, _MIDDLE = 160, 100
_JUDGE = 0.5  # seconds between verdicts on an answer that still grows
_HOLDS = 0.5  # seconds of held-back text before it is worth a word


class StreamScreen(Screen[None]):
    """Live is the end of a tape that still grows: the screen reads tapes and nothing else."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "proof", "Why", id="stream.proof", tooltip="Go to the row that proves the verdict"),
        Binding("n", "next(1)", "Next finding", id="stream.next",
                tooltip="The next finding, or the next match of a search"),
        Binding("N", "next(-1)", "Previous", id="stream.previous", show=False,
                tooltip="The previous finding, or the previous match of a search"),
        Binding("slash", "search", "Search", id="stream.search", key_display="/",
                tooltip="Search in this pane"),
        Binding("f", "filter", "Filter", id="stream.filter", tooltip="Show only some exchanges"),
        Binding("escape", "back", "Back", id="stream.back", show=False,
                tooltip="Forget the search, leave zoom"),
        Binding("y", "copy", "Copy", id="stream.copy", show=False, tooltip="Copy the selected row"),
        Binding("space", "pause", "Pause", id="stream.pause", tooltip="Freeze the view; traffic goes on"),
        Binding("z", "zoom", "Zoom", id="stream.zoom", tooltip="Give this pane the whole screen, or back"),
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
        self.tail: Tail | None = None
        self.paused_at: int | None = None
        self._url = ""
        self._tips: Tips | None = None
        self._prove = False  # go to the proof as soon as there is one
        self._verdict: Verdict | None = None
        self._judged_at, self._judged_steps = 0.0, -1
        self._catalogue = Catalogue(library)
        self._search = ""
        self._prompt = PromptBar()
        self._tip = Static("", id="tip", markup=False)
        self._list = ExchangeList()
        self._bar = VerdictBar()
        self._panes: tuple[TapePane, ...] = (UpstreamPane(), MachinePane(), ClientPane())
        self._searched: RowPane = self._list

    def compose(self) -> ComposeResult:
        with Horizontal(id="body"):
            yield self._list
            with Vertical(id="exchange"):
                yield self._bar
                with Horizontal(id="panes"):
                    yield from self._panes
        yield self._tip
        yield self._prompt
        yield Footer()

    def on_mount(self) -> None:
        self._tip.display = False
        if self._tips is not None:
            self._show_tip()
        self._list.focus()
        self._poll()
        self.set_interval(_POLL, self._poll)
        self.set_interval(_FRAME, self._frame)

    def on_resize(self, event: Resize) -> None:
        width = event.size.width
        self.set_class(width >= _WIDE, "-wide")
        self.set_class(_MIDDLE <= width < _WIDE, "-middle")
        self.set_class(width < _MIDDLE, "-narrow")
        self._show_focused()

    @property
    def player(self) -> Player | None:
        return self.tail.player if self.tail is not None else None

    def serving(self, url: str) -> None:
        """A proxy runs: where clients find it."""
        self._url = url
        self._list.border_subtitle = content(url)

    def guide(self, tips: Tips) -> None:
        """For somebody who is new here: a line that says what to do next, and the cursor on the fault."""
        self._tips = tips
        self._prove = True

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
            if self.tail is None:
                where = (
                    f"clients use {self._url} (workbench connect opencode)" if self._url else error.message
                )
                self._bar.say("info", "waiting for the first exchange", where)
            return
        if entries is not None:
            self._list.show_entries(entries)
            self._list.border_title = self._list_title()
            if self._catalogue.undecided:
                self._look_into_tapes()

    def _list_title(self) -> Content:
        text = self._catalogue.text
        return content(f"Exchanges: {text}" if text else "Exchanges")

    @work(exclusive=True, group="filter")
    async def _look_into_tapes(self) -> None:
        """What the filter asks for is not in the index: each tape is read once, in slices."""
        for row in list(self._catalogue.undecided):
            tail = Tail(self.library / row.path)
            while tail.advance(_SLICE) and tail.behind:
                await asyncio.sleep(0)
            self._catalogue.decide(row, tail)
            await asyncio.sleep(0)

    def on_row_pane_moved(self, event: RowPane.Moved) -> None:
        event.stop()
        if event.pane is self._list:
            self._open_chosen()
        elif isinstance(event.pane, TapePane):
            self._light(event.pane, event.row)

    def _open_chosen(self) -> None:
        chosen = self._list.chosen
        if chosen is None:
            return
        path = self.library / chosen.row.path
        if self.tail is None or self.tail.path != path:
            self.open(path)

    def open(self, path: Path) -> None:
        """Show another tape; its first rows at once, the rest in slices."""
        gc.unfreeze()  # the tape before may go
        self.tail = Tail(path)
        self.paused_at, self._verdict = None, None
        self.tail.advance(0.05)
        for pane in self._panes:
            pane.play(self.player)
        self._tell()
        if self.tail.behind:
            self._load(self.tail)

    @work(exclusive=True, group="load")
    async def _load(self, tail: Tail) -> None:
        """The rest of a long tape, a slice at a time; keys and frames come in between."""
        while tail is self.tail and tail.behind:
            tail.advance(_SLICE)
            # A long tape's records live as long as it is shown: looking through them for garbage again and
            # again would be the longest pause of all.
            gc.freeze()
            await asyncio.sleep(0)

    # -- the panes

    def _frame(self) -> None:
        """Read on and draw; never for long, so that a key press never waits."""
        tail = self.tail
        if tail is None or (not tail.advance(_SLICE) and not self._still_growing()):
            return
        for pane in self._panes:
            if pane.player is not tail.player:
                pane.play(tail.player)
            elif self.paused_at is None:
                pane.grown()
            self._subtitle(pane)
        self._tell()

    def _still_growing(self) -> bool:
        return self.player is not None and not self.player.complete

    def _subtitle(self, pane: TapePane) -> None:
        fresh = f" · {pane.fresh} new ↓" if pane.fresh else ""
        pane.border_subtitle = f"{pane.count()}{fresh}"

    def _light(self, pane: TapePane, row: int) -> None:
        """The rows of the other panes, and the very characters, that belong to the selected row."""
        player = self.player
        if player is None:
            return
        lit = player.bytes_of(player.item(pane.PANE, row))
        for other in self._panes:
            other.light(lit)
            if other is not pane:
                found = linked(player, pane.PANE, row, other.PANE)
                if found is not None and found < other.count():
                    other.go(found, tell=False)
            self._subtitle(other)

    # -- what is said of it

    def _tell(self) -> None:
        tail, chosen = self.tail, self._list.chosen
        if tail is None or chosen is None:
            return
        if tail.problem is not None:
            self._bar.say("error", tail.problem, "")
            return
        player = tail.player
        if player is None:
            return
        self._judge(player)
        said = self._verdict
        level, sentence = (said.level, said.long) if said else (chosen.level, chosen.sentence)
        facts = f"{player.reads} reads · {len(player.data):,} bytes · {player.now:.1f} s · {player.dialect}"
        if tail.behind:
            facts = f"loading {100 * tail.done // max(1, tail.size)} % · {facts}"
        self._bar.say(level, sentence, facts, self._alarm(player))
        if self._prove and player.complete:
            self._prove = False
            self.go_to_proof()

    def _judge(self, player: Player) -> None:
        """A verdict looks at the whole answer: while that grows, now and then is enough."""
        now = time.monotonic()
        if self._verdict is None or player.complete or now - self._judged_at > _JUDGE:
            if self._verdict is not None and self._judged_steps == player.steps:
                return
            self._judged_at, self._judged_steps = now, player.steps
            self._verdict = verdict(facts_of_player(player))

    def _alarm(self, player: Player) -> str:
        if self.paused_at is not None:
            return f"PAUSED, {player.steps - 1 - self.paused_at} new steps (space goes on)"
        held = None if player.complete else player.held_at(player.steps - 1)
        if held is None:
            return ""
        for_long = max(0.0, self._clock(player) - held.since)
        if for_long < _HOLDS:
            return ""
        return f"HELD BACK {held.characters} characters for {for_long:.1f} s, {_waiting(player, held)}"

    def _clock(self, player: Player) -> float:
        """Where the tape would be by now, were there anything to record."""
        started = player.header.get("started")
        return max(player.now, time.time() - started) if isinstance(started, float) else player.now

    # -- actions

    def action_focus_on(self, name: str) -> None:
        self.query_one(f"#{name}").focus()

    def on_descendant_focus(self) -> None:
        self._show_focused()

    def _show_focused(self) -> None:
        """Where there is no room for all, the focused part is the one that is seen."""
        focused = self.focused
        for part in (self._list, *self._panes):
            part.set_class(part is focused, "-current")

    def action_zoom(self) -> None:
        self.toggle_class("-zoomed")

    def action_pause(self) -> None:
        player = self.player
        if player is None:
            return
        self.paused_at = player.steps - 1 if self.paused_at is None else None
        for pane in self._panes:
            pane.step = self.paused_at
            pane.grown()
        self._tell()

    def action_back(self) -> None:
        self._search = ""
        self.remove_class("-zoomed")

    def action_copy(self) -> None:
        pane = self.focused
        if isinstance(pane, RowPane) and 0 <= pane.cursor < pane.count():
            self.app.copy_to_clipboard(pane.text(pane.cursor))
            self.notify("copied", timeout=2)

    # -- searching and filtering

    def action_search(self) -> None:
        if isinstance(self.focused, RowPane):
            self._searched = self.focused
            self._prompt.ask("search", self._search)

    def action_filter(self) -> None:
        self._prompt.ask("filter", self._catalogue.text)

    def on_prompt_bar_entered(self, event: PromptBar.Entered) -> None:
        event.stop()
        if event.purpose == "search":
            self._search = event.text
            self._prompt.action_close()
            if event.text:
                self._find(1)
        else:
            self._filter_by(event.text)

    def on_prompt_bar_closed(self, event: PromptBar.Closed) -> None:
        event.stop()
        (self._searched if event.purpose == "search" else self._list).focus()

    def action_next(self, way: int) -> None:
        if self._search:
            self._find(way)
        else:
            self.action_finding(way)

    @work(exclusive=True, group="search")
    async def _find(self, way: int) -> None:
        pane = self._searched
        rows = range(pane.cursor + 1, pane.count()) if way > 0 else range(pane.cursor - 1, -1, -1)
        found = await first_match(rows, pane.text, self._search)
        if found is None:
            self.notify(f"no further {self._search!r} in this pane", timeout=2, markup=False)
        else:
            pane.go(found)

    def _filter_by(self, text: str) -> None:
        try:
            self._catalogue.filter_by(text)
        except FilterError as error:
            self._prompt.complain(error.message)
            return
        self._prompt.action_close()
        self._poll()
        self.did("filter")

    def action_proof(self) -> None:
        if self.go_to_proof():
            self.did("proof")
        else:
            self.notify("there is nothing to prove", timeout=2)

    def go_to_proof(self) -> bool:
        """Select the row that proves the verdict."""
        player = self.player
        step = proof(player, self._verdict) if player is not None and self._verdict is not None else None
        if player is None or step is None:
            return False
        place, row = player.place(step)
        self._panes[place].focus()
        self._panes[place].go(row)
        return True

    def action_finding(self, way: int) -> None:
        machine = self._panes[Pane.MACHINE]
        player = self.player
        if player is None:
            return
        start = machine.cursor
        rows = range(start + 1, machine.count()) if way > 0 else range(start - 1, -1, -1)
        for row in rows:
            item = player.item(Pane.MACHINE, row)
            if isinstance(item, Finding | Line):
                machine.focus()
                machine.go(row)
                self.did("finding")
                return
        self.notify("no further finding", timeout=2)


def _waiting(player: Player, held: Held) -> str:
    """For what: the tokens that lead out of the state that holds the text."""
    dialect = DIALECTS.get(player.dialect)
    rules = dialect.transitions.items() if dialect is not None else ()
    out = [token for (state, token), rule in rules if state == held.state and rule.to != state]
    return f"in state {held.state}, waiting for {' or '.join(out[:3])}" if out else f"in state {held.state}"
