"""One exchange on the screen: its verdict, and three panes that move together."""

from __future__ import annotations

import asyncio
import gc
import time
from pathlib import Path

from textual import work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from transformer import Finding
from workbench.player import Pane, Player, Tail
from workbench.player.links import linked
from workbench.tape import Line
from workbench.ui.holding import alarm
from workbench.ui.widgets.clientpane import ClientPane
from workbench.ui.widgets.machinepane import MachinePane
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.tapepane import TapePane
from workbench.ui.widgets.upstreampane import UpstreamPane
from workbench.ui.widgets.verdictbar import VerdictBar
from workbench.verdicts import Verdict, facts_of_player, proof, verdict

_FRAME = 1 / 20
_SLICE = 0.012  # seconds of reading for one frame
# A key press takes some ten turns of the event loop until it is drawn: the rest of a long tape is read in
# small slices, with a rest between them in which such turns cost nothing.
_LOAD, _REST = 0.004, 0.002
_LOADING_FRAMES = 4  # of which one is drawn while a long tape is read
_JUDGE = 0.5  # seconds between verdicts on an answer that still grows


class ExchangeView(Vertical):
    """Reads a tape while it grows. Live is the end of a tape whose end has not arrived."""

    def __init__(self) -> None:
        super().__init__(id="exchange")
        self.tail: Tail | None = None
        self.paused_at: int | None = None
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
        return self.tail.player if self.tail is not None else None

    # -- a tape

    def open(self, path: Path, running: bool = True) -> None:
        """Show another tape; its first rows at once, the rest in slices."""
        self.running = running
        gc.unfreeze()  # the tape before may go
        self.tail, self._shown = Tail(path), (0, None)
        self.paused_at, self.verdict = None, None
        self.tail.advance(_SLICE)
        for pane in self.panes:
            pane.play(self.player)
        self._tell()
        if self.tail.behind:
            self._load(self.tail)

    @work(exclusive=True, group="load")
    async def _load(self, tail: Tail) -> None:
        """The rest of a long tape, a slice at a time; keys and frames come in between."""
        while tail is self.tail and tail.behind:
            tail.advance(_LOAD)
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
        tail = self.tail
        self._frames += 1
        if tail is None or (tail.behind and self._frames % _LOADING_FRAMES):
            return
        if tail.behind and self._shown[0]:
            self._tell()  # how far it is; its rows are drawn once they are all there
            return
        if not tail.behind:
            tail.advance(_SLICE)
            if tail.behind:
                self._load(tail)
        if self._shown != (tail.done, tail.problem):
            self._shown = tail.done, tail.problem
            self._show(tail)
            self._tell()
        elif self._still_growing():
            self._tell()  # a clock may run

    def _show(self, tail: Tail) -> None:
        """The rows that have come."""
        followed = False
        for pane in self.panes:
            if pane.player is not tail.player:
                pane.play(tail.player)
            elif self.paused_at is None:
                followed |= pane.grown()
            self._subtitle(pane)
        if followed:  # the row whose bytes were lit is not the selected one any more
            for pane in self.panes:
                pane.light(())

    def _still_growing(self) -> bool:
        return self.running and self.player is not None and not self.player.complete

    def _subtitle(self, pane: TapePane) -> None:
        fresh = f" · {pane.fresh} new ↓" if pane.fresh else ""
        pane.border_subtitle = f"{pane.count()}{fresh}"

    # -- what is said of it

    def _tell(self) -> None:
        tail = self.tail
        if tail is None:
            return
        if tail.problem is not None:
            self.bar.say("error", tail.problem, "")
        player = tail.player
        if player is None:
            return
        self._judge(player)
        assert self.verdict is not None
        facts = f"{player.reads} reads · {len(player.data):,} bytes · {player.now:.1f} s · {player.dialect}"
        if tail.behind:
            facts = f"loading {100 * tail.done // max(1, tail.size)} % · {facts}"
        if tail.problem is not None:
            facts = f"{tail.problem} · {facts}"
        if player.difference is not None:
            facts += f" · today's code sends something else from byte {player.difference} on"
        self.bar.say(
            self.verdict.level, self.verdict.long, facts, alarm(player, self.paused_at, self.running)
        )
        if self.prove and player.complete:
            self.prove = False
            self.go_to_proof()

    def _judge(self, player: Player) -> None:
        """A verdict looks at the whole answer: while that grows, now and then is enough."""
        now = time.monotonic()
        if self.verdict is not None and self.tail is not None and self.tail.behind:
            return  # of a half that nobody waits for
        if self.verdict is None or player.complete or now - self._judged_at > _JUDGE:
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
        lit = player.bytes_of(player.item(pane.PANE, event.row))
        for other in self.panes:
            other.light(lit)
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
        self.paused_at = player.steps - 1 if self.paused_at is None else None
        for pane in self.panes:
            pane.step = self.paused_at
            pane.grown()
        self._tell()
        return self.paused_at is not None

    def go_to(self, step: int) -> None:
        """Select the row of a step."""
        assert self.player is not None
        place, row = self.player.place(step)
        self.screen.set_focus(self.panes[place])
        self.panes[place].go(row)

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
        self.screen.set_focus(machine)
        machine.go(found)
        return True
