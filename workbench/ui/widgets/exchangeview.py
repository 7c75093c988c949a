"""One exchange on the screen: its verdict, and three panes that move together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.worker import Worker

from workbench.analysis.verdicts import proof
from workbench.library.summary import started_of
from workbench.replay.lines import LineSource
from workbench.replay.links import Highlight, linked
from workbench.replay.player import Pane, Player
from workbench.text import counted, date_and_time
from workbench.ui.opentape import OpenTape
from workbench.ui.widgets.arrangement import Arrangement, layout_of
from workbench.ui.widgets.bars import VerdictBar
from workbench.ui.widgets.panes import ClientPane, MachinePane, UpstreamPane, alarm
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.tapepane import TapePane

_FRAME = 1 / 20
_FEW = 5  # reads with which an answer begins, before there can be text
LOADING_FRAMES = 4  # while a long tape is read, every fourth frame is drawn


class ExchangeView(Vertical):
    """Draws a tape while it is read."""

    names_source: ClassVar[bool] = False  # whether it must name its tape, as no list does

    def __init__(self, tape: OpenTape) -> None:
        super().__init__(id="exchange")
        self.tape = tape
        self.prove = False  # go to the proof as soon as there is one
        self.bar = VerdictBar()
        self.panes: tuple[TapePane, ...] = (UpstreamPane(), MachinePane(), ClientPane())
        self.arrangement = Arrangement(self.panes)
        self._drawn: tuple[object, ...] = ()  # the progress of the tape that is on the screen
        self._frames = 0
        self._loader: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        yield self.bar
        with Horizontal(id="panes"):
            yield from self.panes

    def on_mount(self) -> None:
        self.arrangement.use(layout_of(self.app))
        self.set_interval(_FRAME, self._frame)

    @property
    def player(self) -> Player | None:
        return self.tape.player

    # -- a tape

    def open(self, source: LineSource, running: bool = True) -> None:
        """Show another tape; its first rows at once, the rest in slices."""
        self.tape.show_source(source, running=running)
        self._show_first_rows()

    def _show_first_rows(self) -> None:
        self._drawn = ()
        self._play()
        self.tell()
        self._keep_loading()

    def _play(self) -> None:
        """Another tape."""
        self.arrangement.show(self.tape.alignment)
        for pane in self.panes:
            pane.play(self.player, self.tape.at)

    def _keep_loading(self) -> None:
        if self.tape.busy and (self._loader is None or self._loader.is_finished):
            self._loader = self.run_worker(self.tape.load(), group="load")

    def set_running(self, running: bool) -> None:
        """Whether its writer still lives."""
        if self.tape.set_running(running):
            self.tell()

    def _frame(self) -> None:
        """Read on and draw; never for long, so that a key press never waits."""
        tape, source = self.tape, self.tape.source
        self._frames += 1
        self.arrangement.check()
        if source is None or (tape.busy and self._frames % LOADING_FRAMES):
            return
        if source.has_more and self._drawn:
            self.tell()  # its progress; its rows are drawn once they are all there
            self.arrangement.catch_up()
            return
        if not source.has_more:
            tape.read_on()
            self._keep_loading()
        if self._drawn != tape.progress:
            self._drawn = tape.progress
            self._show()
            self.tell()
        elif tape.growing and self.screen.is_current:
            self.tell()  # a clock may run; anything above this would be redrawn with each tick

    def _show(self) -> None:
        """The rows that have come."""
        followed = False
        self._share_width()
        if any(pane.player is not self.player for pane in self.panes):
            self._play()
        for pane in self.panes:
            if self.tape.at is None:
                followed |= pane.grown()
            self._subtitle(pane)
        if followed:  # the row whose bytes were highlighted is not the selected one any more
            for pane in self.panes:
                pane.highlight(Highlight())

    def _share_width(self) -> None:
        """An idle parser's pane leaves its space to the others."""
        player = self.player
        if player is not None and player.reads > _FEW:
            self.set_class(not player.rows_of_transitions, "-passed-on")

    def _subtitle(self, pane: TapePane) -> None:
        new = f"{pane.fresh} new ↓" if pane.fresh else ""
        pane.say_below(f"{pane.count()}", self.arrangement.words, pane.difference, new)

    # -- what is said of it

    def tell(self) -> None:
        source = self.tape.source
        if source is None:
            return
        if source.problem is not None:
            self.bar.say("error", source.problem, "")
        player = source.player
        if player is None:
            if source.problem is None:
                self.bar.say("running", "waiting: the first line of this tape is not whole yet", source.name)
            return
        if not self.tape.read_once and source.problem is None:
            self.bar.say("running", "reading …", self._facts(source, player))
            return
        verdict = self.tape.judge(player)
        self.bar.say(verdict.level, verdict.long, self._facts(source, player), self._alarm(player))
        if self.prove and player.complete:
            self.prove = False
            self.go_to_proof()

    def _alarm(self, player: Player) -> str:
        return alarm(player, self.tape.at, self.tape.running, self.tape.idle)

    def _facts(self, source: LineSource, player: Player) -> str:
        facts = " · ".join(numbers_of(player, self.tape.idle if self.tape.growing else 0.0))
        if self.names_source:
            facts = f"{source.name} · {facts}"
        if source.has_more:
            facts = f"loading {100 * source.done // max(1, source.size)} % · {facts}"
        if source.problem is not None:
            facts = f"{source.problem} · {facts}"
        if player.difference is not None:
            facts = f"today's code sends something else from byte {player.difference.byte} on · {facts}"
        return facts

    # -- moving together

    def on_row_pane_moved(self, event: RowPane.Moved) -> None:
        """The rows of the other panes, and the very characters, that belong to the selected row."""
        player, pane = self.player, event.pane
        if player is None or not isinstance(pane, TapePane) or event.row >= pane.count():
            return  # another tape may have been opened meanwhile
        if pane.scroll.hidden:
            self.notify("the filter hides this row; f changes it", timeout=3)
        common = pane.common
        for other in self.panes:
            other.highlight(common)
            if other is not pane and other.scroll is not pane.scroll:
                found = linked(player, pane.PANE, event.row, other.PANE)
                if found is not None:
                    other.go_along(found, pane.follow)
            self._subtitle(other)

    # -- laid out in another way

    def on_tape_pane_asked(self, event: TapePane.Asked) -> None:
        arrangement = self.arrangement
        if event.what == "filter":
            return  # the screen asks for words
        event.stop()
        if event.what == "align":
            aligned = arrangement.align()
            self.notify("cause beside effect" if aligned else "each pane scrolls on its own", timeout=2)
        elif event.what == "all":
            folds = arrangement.fold_all()
            said = "long runs of prose and data are folded" if folds else "nothing is folded"
            self.notify(said, timeout=2)
        elif not arrangement.fold_run(event.pane):
            self.notify("only runs of prose and data can be folded", timeout=2)

    def filter_rows(self, text: str) -> None:
        """Show only some kinds of rows; UserError when the words make no sense."""
        self.arrangement.filter_by(text)
        for pane in self.panes:
            self._subtitle(pane)

    def pause(self) -> None:
        """Freeze the view, or let it go on."""
        player = self.player
        if player is None:
            return
        self.tape.at = player.steps - 1 if self.tape.at is None else None
        for pane in self.panes:
            pane.step = self.tape.at
            pane.grown()
        self.tell()

    @property
    def chosen_pane(self) -> TapePane:
        """The focused one, or else the machine's."""
        focused = self.screen.focused
        return focused if isinstance(focused, TapePane) else self.panes[Pane.MACHINE]

    def selected_step(self) -> int | None:
        """The step of the selected row of the chosen pane."""
        pane = self.chosen_pane
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
        player, verdict = self.player, self.tape.verdict
        step = proof(player, verdict) if player is not None and verdict is not None else None
        if step is not None:
            self.go_to(step)
        return step is not None

    def go_to_finding(self, way: int) -> bool:
        """Select the next finding, or the previous one, in a circle; False when there is none."""
        player, machine = self.player, self.panes[Pane.MACHINE]
        if player is None:
            return False
        findings, rows = player.finding_steps.all, player.rows(Pane.MACHINE)
        shown = len(findings) if self.tape.at is None else bisect_right(findings, self.tape.at)
        if not shown:
            return False
        here = rows.steps[machine.cursor] if machine.cursor >= 0 else -1
        after, before = bisect_right(findings, here, 0, shown), bisect_left(findings, here, 0, shown) - 1
        self.show_row(*player.place(findings[(after if way > 0 else before) % shown]))
        return True


def numbers_of(player: Player, idle: float = 0.0) -> Iterator[str]:
    """How much came, and when; `idle`: seconds since a tape that goes on last grew."""
    yield f"{counted(player.reads, 'read')} · {counted(len(player.data), 'byte')}"
    if player.reads:
        yield f"first byte {player.times[0]:.2f} s"
    ended = player.complete
    yield f"duration {player.now:.1f} s" if ended else f"so far {player.now + idle:.1f} s"
    yield player.dialect
    started = started_of(player.header)
    if started is not None:
        yield date_and_time(started)
