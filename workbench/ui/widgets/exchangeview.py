"""One exchange on the screen: its verdict, and three panes that move together."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from transformer.records import Finding
from workbench.analysis.verdicts import Verdict, facts_of_player, proof, verdict
from workbench.replay.lines import LineSource, Tail
from workbench.replay.player import Pane, Player
from workbench.replay.rowtext import Highlight, highlight_of, linked
from workbench.tape.format import Line
from workbench.ui.widgets.bars import VerdictBar
from workbench.ui.widgets.panes import ClientPane, MachinePane, TapePane, UpstreamPane, alarm
from workbench.ui.widgets.rowpane import RowPane

_FRAME = 1 / 20
_SLICE = 0.012  # seconds of reading for one frame
# A key press takes some ten turns of the event loop until it is drawn: the rest of a long tape is read in
# small slices, with a rest between them in which such turns cost nothing.
_LOAD, _REST = 0.004, 0.002
_LOADING_FRAMES = 4  # of which one is drawn while a long tape is read
_JUDGE = 0.5  # seconds between verdicts on an answer that still grows


class ExchangeView(Vertical):
    """Reads a tape while it grows. Live is the end of a tape whose end has not arrived."""

    names_source: ClassVar[bool] = False  # where no list says what is open

    def __init__(self) -> None:
        super().__init__(id="exchange")
        self.source: LineSource | None = None
        self.at: int | None = None  # the step that is shown; None: the newest
        self.byte: int | None = None  # one that somebody asked for
        self.running = True  # somebody still writes the tape, if it has no end
        self.prove = False  # go to the proof as soon as there is one
        self.verdict: Verdict | None = None
        self.bar = VerdictBar()
        self.panes: tuple[TapePane, ...] = (UpstreamPane(), MachinePane(), ClientPane())
        self._judged_at, self._judged_steps = 0.0, -1
        self._shown: tuple[int, str | None] = (0, None)  # how much of the tape is on the screen
        self._frames = 0

    def compose(self) -> ComposeResult:
        yield self.bar
        with Horizontal(id="panes"):
            yield from self.panes

    def on_mount(self) -> None:
        self.set_interval(_FRAME, self._frame)

    @property
    def player(self) -> Player | None:
        return self.source.player if self.source is not None else None

    @property
    def path(self) -> Path | None:
        """The file that is shown, if it is one."""
        return self.source.path if isinstance(self.source, Tail) else None

    # -- a tape

    def open(self, source: LineSource, running: bool = True, at: int | None = None) -> None:
        """Show another tape; its first rows at once, the rest in slices."""
        self.running = running
        gc.unfreeze()  # the tape before may go
        self.source, self._shown = source, (0, None)
        self.at, self.verdict = at, None
        source.advance(_SLICE)
        for pane in self.panes:
            pane.play(self.player, at)
        self._tell()
        if source.behind:
            self._load(source)

    @work(exclusive=True, group="load")
    async def _load(self, source: LineSource) -> None:
        """The rest of a long tape, a slice at a time; keys and frames come in between."""
        while source is self.source and source.behind:
            source.advance(_LOAD)
            # A long tape's records live as long as it is shown: looking through them for garbage again and
            # again would be the longest pause of all.
            gc.freeze()
            await asyncio.sleep(_REST)

    def set_running(self, running: bool) -> None:
        """Whether its writer still lives: a tape alone cannot tell."""
        if running != self.running:
            self.running, self.verdict = running, None
            self._tell()

    def _frame(self) -> None:
        """Read on and draw; never for long, so that a key press never waits."""
        source = self.source
        self._frames += 1
        if source is None or (source.behind and self._frames % _LOADING_FRAMES):
            return
        if source.behind and self._shown[0]:
            self._tell()  # how far it is; its rows are drawn once they are all there
            return
        if not source.behind:
            source.advance(_SLICE)
            if source.behind:
                self._load(source)
        if self._shown != (source.done, source.problem):
            self._shown = source.done, source.problem
            self._show(source)
            self._tell()
        elif self.growing:
            self._tell()  # a clock may run

    def _show(self, source: LineSource) -> None:
        """The rows that have come."""
        followed = False
        for pane in self.panes:
            if pane.player is not source.player:
                pane.play(source.player, self.at)
            elif self.at is None:
                followed |= pane.grown()
            self._subtitle(pane)
        if followed:  # the row whose bytes were lit is not the selected one any more
            for pane in self.panes:
                pane.light(Highlight())

    @property
    def growing(self) -> bool:
        """More may come."""
        return self.running and self.player is not None and not self.player.complete

    def _subtitle(self, pane: TapePane) -> None:
        fresh = f" · {pane.fresh} new ↓" if pane.fresh else ""
        pane.border_subtitle = f"{pane.count()}{pane.difference}{fresh}"

    # -- what is said of it

    def _tell(self) -> None:
        source = self.source
        if source is None:
            return
        if source.problem is not None:
            self.bar.say("error", source.problem, "")
        player = source.player
        if player is None:
            if source.problem is None:
                self.bar.say("running", "waiting: the first line of this tape is not whole yet", source.name)
            return
        self._judge(player)
        assert self.verdict is not None
        self.bar.say(self.verdict.level, self.verdict.long, self._facts(source, player), self._alarm(player))
        if self.prove and player.complete:
            self.prove = False
            self.go_to_proof()

    def _alarm(self, player: Player) -> str:
        return alarm(player, self.at, self.running)

    def _facts(self, source: LineSource, player: Player) -> str:
        facts = f"{player.reads} reads · {len(player.data):,} bytes · {player.now:.1f} s · {player.dialect}"
        if self.names_source:
            facts = f"{source.name} · {facts}"
        if source.behind:
            facts = f"loading {100 * source.done // max(1, source.size)} % · {facts}"
        if source.problem is not None:
            facts = f"{source.problem} · {facts}"
        if player.difference is not None:
            facts += f" · today's code sends something else from byte {player.difference.byte} on"
        return facts

    def _judge(self, player: Player) -> None:
        """A verdict looks at the whole answer: while that grows, now and then is enough."""
        now = time.monotonic()
        if self.verdict is not None and self.source is not None and self.source.behind:
            return  # of a half that nobody waits for
        if self.verdict is None or not self.growing or now - self._judged_at > _JUDGE:
            if self.verdict is not None and self._judged_steps == player.steps:
                return
            self._judged_at, self._judged_steps = now, player.steps
            self.verdict = verdict(facts_of_player(player, live=self.running))

    # -- moving together

    def on_row_pane_moved(self, event: RowPane.Moved) -> None:
        """The rows of the other panes, and the very characters, that belong to the selected row."""
        player, pane = self.player, event.pane
        if player is None or not isinstance(pane, TapePane) or event.row >= pane.count():
            return  # another tape may have been opened meanwhile
        light = highlight_of(player, player.item(pane.PANE, event.row))
        for other in self.panes:
            other.light(light)
            if other is not pane:
                found = linked(player, pane.PANE, event.row, other.PANE)
                if found is not None:
                    other.go_along(found, pane.follow)
            self._subtitle(other)

    def pause(self) -> bool:
        """Freeze the view, or let it go on; True when it stands still now."""
        player = self.player
        if player is None:
            return False
        self.at = player.steps - 1 if self.at is None else None
        for pane in self.panes:
            pane.step = self.at
            pane.grown()
        self._tell()
        return self.at is not None

    def selected_step(self) -> int | None:
        """The step of the selected row: of the focused pane, or else of the machine's."""
        focused = self.screen.focused
        pane = focused if isinstance(focused, TapePane) else self.panes[Pane.MACHINE]
        if self.player is None or not 0 <= pane.cursor < pane.count():
            return None
        return self.player.rows(pane.PANE).steps[pane.cursor]

    def go_to(self, step: int) -> None:
        """Select the row of a step."""
        assert self.player is not None
        self.show_row(*self.player.place(step))

    def show_row(self, pane: Pane, row: int) -> None:
        """Select a row."""
        self.screen.set_focus(self.panes[pane])
        self.panes[pane].go(row)

    def go_to_proof(self) -> bool:
        """Select the row that proves the verdict; False when there is none."""
        player = self.player
        step = proof(player, self.verdict) if player is not None and self.verdict is not None else None
        if step is not None:
            self.go_to(step)
        return step is not None

    def go_to_finding(self, way: int) -> bool:
        """Select the next finding, or the previous one, in a circle; False when there is none."""
        machine = self.panes[Pane.MACHINE]
        rows = machine.circle(way)
        found = next((row for row in rows if isinstance(machine.item(row), Finding | Line)), None)
        if found is None:
            return False
        self.show_row(Pane.MACHINE, found)
        return True
