"""One exchange with a cursor in time: the panes and the message show what was known at a step, and no
more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.strip import Strip

from workbench.analysis.variants.difference import ChangedRows
from workbench.replay.links import Highlight, highlight_of, linked
from workbench.replay.message import Assembly
from workbench.replay.player import Pane, Player
from workbench.replay.timeline import Timeline
from workbench.text import counted
from workbench.ui.replaymodel import Compared, Moved, Opened, ReplayMessage, ReplayModel, StatusChanged
from workbench.ui.widgets.bars import PositionBar, Signs
from workbench.ui.widgets.exchangeview import LOADING_FRAMES, ExchangeView
from workbench.ui.widgets.panes import matters
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.tapepane import TapePane

_LABEL = 11  # cells
_MOST = 2_000  # lines of one text: earlier ones can be seen by stepping back

Row: TypeAlias = tuple[str, str, str]  # label, text, look


class MessagePane(RowPane):
    """A row is a line of a text, of a call's arguments, or the end."""

    NAME = "Message"

    def __init__(self) -> None:
        super().__init__(id="message", classes="rowpane messagepane")
        self.border_title = "Message, as the client has it now"
        self.rows: list[Row] = []
        self.empty = "the client has got nothing yet"

    def show_message(self, assembly: Assembly, step: int) -> None:
        if not self.display:
            return
        rows = rows_of(assembly, step)
        if rows != self.rows:  # else the user may be reading in it
            self._replace(rows)

    def clear(self) -> None:
        self._replace([])

    def _replace(self, rows: list[Row]) -> None:
        self.rows = rows
        self.top = max(0, len(self.rows) - self.size.height)
        self._known = len(self.rows)
        self._select(len(self.rows) - 1, follow=True)

    def count(self) -> int:
        return len(self.rows)

    def draw(self, row: int, width: int) -> Strip:
        label, text, look = self.rows[row]
        return self.line([(f"{label:{_LABEL}}", "dim"), (text, look)], width)

    def opened(self, row: int, width: int, most: int) -> list[Strip]:
        _, text, look = self.rows[row]
        room = width - _LABEL
        if room < 8 or len(text) <= room:
            return []
        return [Strip.join((self.line([], _LABEL), line)) for line in self.lines([(text, look)], room, most)]

    def text(self, row: int) -> str:
        label, text, _ = self.rows[row]
        return f"{label:{_LABEL}}{text}"

    def copied(self, row: int) -> str:
        return self.rows[row][1]

    @property
    def shows(self) -> object:
        return self.rows


def rows_of(assembly: Assembly, step: int) -> list[Row]:
    """The texts line by line, then the calls, then how it ended; of several choices one after the other."""
    message = assembly.assembled(step)
    rows: list[Row] = []
    for answered in message.choices:
        if len(message.choices) > 1:
            rows.append((f"choice {answered.index}", "", "dim"))
        for text in answered.reasoning.values():
            rows += _lines("reasoning", text, "plain")
        rows += _lines("content", answered.content, "bright")
        for number, call in enumerate(answered.calls):
            rows.append((f"call {number + 1}", f"{call.name}  {call.id}", "good"))
            rows += _lines("", call.arguments, "bright")
        if answered.finish is not None:
            rows.append(("finish", answered.finish, "info"))
    if message.error is not None:
        rows.append(("error", message.error, "error"))
    return rows


def _lines(label: str, text: str, look: str) -> list[Row]:
    if not text:
        return []
    left_out = text.count("\n") + 1 - _MOST
    lines = text.rsplit("\n", _MOST) if left_out > 0 else text.split("\n")
    if left_out > 0:
        lines[0] = f"… {left_out:,} lines before this one"
    return [(label if number == 0 else "", line, look) for number, line in enumerate(lines)]


class ReplayView(ExchangeView):
    """Draws the tape of a model at the step of its cursor."""

    names_source = True

    def __init__(self, model: ReplayModel) -> None:
        super().__init__(model)
        self.model = model
        self.position = PositionBar()
        self.message = MessagePane()
        model.subscribe(self._hear)

    def compose(self) -> ComposeResult:
        yield self.bar
        yield self.position
        with Horizontal(id="panes"):
            yield from self.panes
        yield self.message

    def _hear(self, message: ReplayMessage) -> None:
        match message:
            case Opened():
                self._show_first_rows()
                self._tell_nothing()
            case Moved():
                self._show_step()
            case StatusChanged():
                self.tell_position()
            case Compared(rows):
                self._show_changes(rows)
        self._keep_loading()

    # -- what was known at the step

    def _frame(self) -> None:
        if self.model.trying:
            return
        told = self._drawn
        super()._frame()
        if self._drawn == told and self.model.busy and self._frames % LOADING_FRAMES == 0:
            self.tell_position()

    def _show(self) -> None:
        super()._show()
        self._show_step()

    def _show_step(self) -> None:
        player, step, byte = self.player, self.model.step, self.model.byte
        if player is None:
            return
        where, row = player.place(step) if step >= 0 else (None, 0)
        if byte is not None:
            common = Highlight(((byte, byte + 1),))
        else:
            common = highlight_of(player, player.item(where, row)) if where is not None else Highlight()
        if any(pane.player is not player for pane in self.panes):
            self._play()
        self._stand(player, step, where, row)
        for pane in self.panes:
            pane.highlight(common)
            self._point_at(pane, pane.PANE is where)
            self._subtitle(pane)
        self.tell_position()

    def _stand(self, player: Player, step: int, where: Pane | None, row: int) -> None:
        """Select the row of the step: side by side it is one line, else there is one in each pane."""
        for pane in self.panes:
            pane.step = step
        shared = self.panes[0].scroll
        if shared.shared:
            alignment = shared.alignment
            assert alignment is not None
            alignment.catch_up_to(step)
            shared.select(alignment.line_of[where][row] if where is not None else -1, follow=True)
            return
        for pane in self.panes:
            pane.stand(step, self._row_of(player, pane, where, row))

    def _row_of(self, player: Player, pane: TapePane, where: Pane | None, row: int) -> int | None:
        """The row of a pane that belongs to the one that just came; its effects are still to come."""
        if where is None or pane.PANE is where:
            return None
        if pane.PANE is Pane.UPSTREAM or where is Pane.CLIENT:
            return linked(player, where, row, pane.PANE)
        return None

    def _show_changes(self, rows: Sequence[ChangedRows]) -> None:
        """Mark the rows that differ from the original."""
        for pane, changed in zip(self.panes, rows, strict=True):
            pane.mark_changed(changed)
            self._subtitle(pane)

    # -- looking around

    def go_to(self, step: int) -> None:
        assert self.player is not None
        self.model.move_to(step)
        place, _ = self.player.place(step)
        self.screen.set_focus(self.panes[place])

    def on_row_pane_moved(self, event: RowPane.Moved) -> None:
        super().on_row_pane_moved(event)
        if isinstance(event.pane, TapePane):
            self.model.forget_byte()

    def show_row(self, pane: Pane, row: int) -> None:
        """For a row that is still to come, the cursor in time goes there as well."""
        if row >= self.panes[pane].count():
            assert self.player is not None
            self.model.move_to(self.player.rows(pane).steps[row])
        super().show_row(pane, row)

    # -- what is said

    def _alarm(self, player: Player) -> str:
        return ""  # held-back text is shown with the step, below

    def _tell_nothing(self) -> None:
        """The previous tape is closed, and nothing may be known of the next one yet."""
        self.position.tell("", "", "", -1, 0, ())
        self.message.clear()
        for pane in self.panes:
            self._point_at(pane, False)

    def _point_at(self, pane: TapePane, now: bool) -> None:
        pane.border_title = f"▶ {pane.NAME}" if now else pane.NAME
        pane.set_class(now, "-now")

    def tell_position(self) -> None:
        model, player, timeline = self.model, self.player, self.model.timeline
        if player is None or timeline is None:
            return
        self.message.show_message(timeline.assembly, model.step)
        place = self._place(player)
        reading = "reading …" if model.reading else ""
        words = " · ".join(part for part in (reading, model.speed, place, *self._more(player)) if part)
        self.position.tell(
            place, words, self._alarms(player), model.step, player.steps, self._signs(timeline)
        )

    def _signs(self, timeline: Timeline) -> tuple[Signs, ...]:
        findings = timeline.player.finding_steps
        return (
            Signs("◆", "mark", self.model.marked),
            Signs("✖", "error", findings.of("error")),
            Signs("●", "call", timeline.calls),
            Signs("▲", "warning", findings.of("warning")),
            Signs("·", "info", findings.of("info")),
        )

    def _place(self, player: Player) -> str:
        step = self.model.step
        where = f"step {step + 1:,}" if step >= 0 else "before step 1"
        return f"{where} of {player.steps:,}"

    def _more(self, player: Player) -> Iterator[str]:
        """More about the step."""
        step = self.model.step
        if step < 0:
            return
        yield f"at {player.time(player.item(*player.place(step))):.3f} s"
        read, last = player.last_read(step), player.last_transition(step)
        if read >= 0:
            yield f"read {read + 1:,} of {player.reads:,}"
        if last is not None:
            yield f"state {last.to}"
        if self.model.byte is not None:
            yield f"byte {self.model.byte:,}"
        held, noticed = self._held(player)
        if held and not noticed:
            yield held

    def _alarms(self, player: Player) -> str:
        """What must not be overlooked: that this is a variant, what is held, why we are here."""
        held, noticed = self._held(player)
        parts = (self.model.variant, held if noticed else "", self.model.reason)
        return " · ".join(part for part in parts if part)

    def _held(self, player: Player) -> tuple[str, bool]:
        """What is held back at the step, and whether a user would notice."""
        held = player.held_at(self.model.step)
        if held is None:
            return "", False
        seconds = max(0.0, player.seconds(self.model.step) - held.since)
        words = f"{counted(held.characters, 'character')} held"
        return words + (f" for {seconds:.2f} s" if seconds else ""), matters(held.characters, seconds)
