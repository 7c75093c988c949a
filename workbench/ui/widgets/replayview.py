"""One exchange with a cursor in time: the panes and the message show what was known at a step, and no
more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.strip import Strip

from workbench.analysis.variants.difference import Marks
from workbench.replay.lines import LineSource
from workbench.replay.message import Assembly
from workbench.replay.player import Pane, Player
from workbench.replay.rowtext import Highlight, highlight_of, linked
from workbench.replay.timeline import Destination, Timeline, Unit
from workbench.ui.display import strip_of, wrapped
from workbench.ui.widgets.bars import PositionBar, Signs
from workbench.ui.widgets.exchangeview import ExchangeView
from workbench.ui.widgets.panes import TapePane, characters
from workbench.ui.widgets.rowpane import RowPane

_LABEL = 11  # cells
_MOST = 2_000  # lines of one text: what came before them can be seen by stepping back

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
        if rows != self.rows:  # else somebody may be reading in it
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
        pieces = [(f"{label:{_LABEL}}", self.look("dim")), (text, self.look(look))]
        return strip_of(pieces, width, self.look("plain"))

    def opened(self, row: int, width: int, most: int) -> list[Strip]:
        _, text, look = self.rows[row]
        room = width - _LABEL
        if room < 8 or len(text) <= room:
            return []
        plain: Style = self.look("plain")
        indent = strip_of([(" " * _LABEL, plain)], _LABEL, plain)
        lines = wrapped([(text, self.look(look))], room, most, plain)
        return [Strip.join((indent, line)) for line in lines]

    def text(self, row: int) -> str:
        label, text, _ = self.rows[row]
        return f"{label:{_LABEL}}{text}"


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
            rows.append((f"call {number}", f"{call.name}  {call.id}", "good"))
            rows += _lines("", call.arguments, "bright")
        if answered.finish is not None:
            rows.append(("finish", answered.finish, "info"))
    if message.error is not None:
        rows.append(("error", message.error, "error"))
    return rows


def _lines(label: str, text: str, look: str) -> list[Row]:
    if not text:
        return []
    lines = text.split("\n")
    left_out = len(lines) - _MOST
    if left_out > 0:
        lines = [f"… {left_out:,} lines before this one", *lines[left_out:]]
    return [(label if number == 0 else "", line, look) for number, line in enumerate(lines)]


_LOOK = 6000  # rows that are looked at for one frame


class ReplayView(ExchangeView):
    """`step` is where the cursor stands; -1: nothing has happened yet."""

    names_source = True

    @dataclass
    class Loaded(Message):
        """All of a tape is there."""

        source: LineSource

    def __init__(self) -> None:
        super().__init__()
        self.position = PositionBar()
        self.message = MessagePane()
        self.marks: tuple[int, ...] = ()  # steps
        self.remark = ""  # what else is to be said: a speed
        self.variant = ""  # what was changed, if anything
        self.reason = ""  # why the cursor stands here
        self.frozen = False  # somebody reads the tape beside us: it must not grow now
        self._timeline: Timeline | None = None
        self._loaded: LineSource | None = None
        self._aim: Callable[[Player], int] | None = None  # a place that is not there yet
        self._all_told = True  # what is said is about all rows that there are

    def compose(self) -> ComposeResult:
        yield self.bar
        yield self.position
        with Horizontal(id="panes"):
            yield from self.panes
        yield self.message

    @property
    def step(self) -> int:
        return -1 if self.at is None else self.at

    # -- a tape

    def open(self, source: LineSource, running: bool = True, at: int | None = None) -> None:
        self._timeline = self._loaded = None
        self.byte, self.reason = None, ""
        super().open(source, running, at or 0)
        self._tell_nothing()
        self.aim(lambda player: at or 0)

    def aim(self, place: Callable[[Player], int]) -> None:
        """Go to a place of a tape of which only the beginning may be there: to the place itself, once it is.

        Whoever moves meanwhile wants to be somewhere else.
        """
        player, source = self.player, self.source
        if player is not None:
            self.move_to(place(player))
        self._aim = place if player is None or (source is not None and source.behind) else None

    def _show(self, source: LineSource) -> None:
        super()._show(source)
        if self._aim is not None:
            self.aim(self._aim)
        else:
            self.move_to(self.step, self.byte, self.reason)
        if not source.behind and self._loaded is not source:
            self._loaded = source
            self.post_message(self.Loaded(source))

    @property
    def timeline(self) -> Timeline | None:
        """What is known about its steps; made when the tape is there."""
        player = self.player
        if player is None:
            return None
        if self._timeline is None or self._timeline.player is not player:
            self._timeline = Timeline(player)
        return self._timeline

    def _frame(self) -> None:
        if self.frozen:
            return
        super()._frame()
        if self.source is not None and (self.source.behind or not self._all_told):
            self.tell_position()

    @property
    def growing(self) -> bool:
        """A variant of what still grows is what had come when it was made."""
        return self.path is not None and super().growing

    # -- moving in time

    def move_to(self, step: int, byte: int | None = None, reason: str = "") -> None:
        """Show what was known when a step had been made; `reason` says why, if there is one to tell."""
        self.reason, self._aim = reason, None
        player = self.player
        if player is None:
            return
        self.at, self.byte = max(-1, min(step, player.steps - 1)), byte
        where, row = player.place(self.at) if self.at >= 0 else (None, 0)
        if byte is not None:
            light = Highlight(((byte, byte + 1),))
        else:
            light = highlight_of(player, player.item(where, row)) if where is not None else Highlight()
        for pane in self.panes:
            pane.stand(self.step, self._row_of(player, pane, where, row))
            pane.light(light)
            self._point_at(pane, pane.PANE is where)
            self._subtitle(pane)
        self.tell_position()

    def _row_of(self, player: Player, pane: TapePane, where: Pane | None, row: int) -> int | None:
        """The row of a pane that belongs to the one that just came; what it leads to is still to come."""
        if where is None or pane.PANE is where:
            return None
        if pane.PANE is Pane.UPSTREAM or where is Pane.CLIENT:
            return linked(player, where, row, pane.PANE)
        return None

    def seek(self, unit: Unit, way: int) -> bool:
        """Go to the next one of a kind, or to the one before; False when there is none."""
        timeline = self.timeline
        if timeline is None:
            return False
        found = timeline.seek(self.step, unit, way)
        if found is not None:
            self.move_to(found)
        return found is not None

    def find(self, text: str) -> Destination:
        """The place that somebody typed; UserError when there is no such place."""
        timeline = self.timeline
        assert timeline is not None
        return timeline.goto(text, self.step)

    def go_to(self, step: int) -> None:
        assert self.player is not None
        self.move_to(step)
        place, _ = self.player.place(step)
        self.screen.set_focus(self.panes[place])

    def pause(self) -> bool:
        return True  # here time stands still anyway

    def go_to_finding(self, way: int) -> bool:
        return self.seek(Unit.FINDING, way)

    def on_row_pane_moved(self, event: RowPane.Moved) -> None:
        super().on_row_pane_moved(event)
        if isinstance(event.pane, TapePane) and self.byte is not None:
            self.byte = None
            self.tell_position()

    def show_row(self, pane: Pane, row: int) -> None:
        """One that is still to come is gone to in time as well."""
        if row >= self.panes[pane].count():
            assert self.player is not None
            self.move_to(self.player.rows(pane).steps[row])
        super().show_row(pane, row)

    def show_changes(self, changes: Sequence[Marks]) -> None:
        """What came out otherwise than in the original."""
        for pane, changed in zip(self.panes, changes, strict=True):
            pane.mark_changed(changed)
            self._subtitle(pane)

    # -- what is said

    def _alarm(self, player: Player) -> str:
        return ""  # what is held back is said of the step, below

    def _tell_nothing(self) -> None:
        """What was open before is gone, and of the next one nothing may be known yet."""
        self.position.tell("", "", "", -1, 0, ())
        self.message.clear()
        for pane in self.panes:
            self._point_at(pane, False)

    def _point_at(self, pane: TapePane, now: bool) -> None:
        pane.border_title = f"▶ {pane.NAME}" if now else pane.NAME
        pane.set_class(now, "-now")

    def tell_position(self) -> None:
        player, timeline = self.player, self.timeline
        if player is None or timeline is None:
            return
        self._all_told = timeline.catch_up(_LOOK)
        self.message.show_message(timeline.assembly, self.step)
        place, step = self._place(player), self.step
        words = " · ".join(part for part in (self.remark, place, *self._more(player)) if part)
        self.position.tell(place, words, self._alarms(player), step, player.steps, self._signs(timeline))

    def _signs(self, timeline: Timeline) -> tuple[Signs, ...]:
        findings = timeline.player.finding_steps
        return (
            Signs("◆", "mark", self.marks),
            Signs("✖", "error", findings.of("error")),
            Signs("●", "call", timeline.calls),
            Signs("▲", "warning", findings.of("warning")),
            Signs("·", "info", findings.of("info")),
        )

    def _place(self, player: Player) -> str:
        where = f"step {self.step + 1:,}" if self.step >= 0 else "before step 1"
        return f"{where} of {player.steps:,}"

    def _more(self, player: Player) -> Iterator[str]:
        """What else is to be said about a place."""
        step = self.step
        if step < 0:
            return
        yield f"{player.time(player.item(*player.place(step))):.3f} s"
        read, last = player.last_read(step), player.last_transition(step)
        if read >= 0:
            yield f"read {read + 1:,} of {player.reads:,}"
        if last is not None:
            yield f"state {last.to}"
        if self.byte is not None:
            yield f"byte {self.byte:,}"

    def _alarms(self, player: Player) -> str:
        """What must not be overlooked: that this is not the tape itself, what is held, why we are here."""
        return " · ".join(part for part in (self.variant, self._held(player), self.reason) if part)

    def _held(self, player: Player) -> str:
        held = player.held_at(self.step)
        if held is None:
            return ""
        pane, row = player.place(self.step)
        seconds = max(0.0, player.time(player.item(pane, row)) - held.since)
        return f"{characters(held.characters)} held" + (f" for {seconds:.2f} s" if seconds else "")
