"""The three panes of an exchange: what upstream sent, how the parser moved, what the client got; rows that
belong to the selected one are highlighted. And what needs attention right now: text that is held back.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import ClassVar

import orjson
from textual.binding import Binding, BindingType
from textual.strip import Strip

from transformer.records import Delta, Finding, Ranges, Transition
from workbench.analysis.explain.wording import awaited
from workbench.analysis.variants.difference import ChangedRows
from workbench.replay.channels import Channels
from workbench.replay.links import Highlight
from workbench.replay.player import Held, Item, Pane, Player
from workbench.replay.rowtext import ReadPart, decoded, line_text, read_parts
from workbench.tape.format import Line
from workbench.text import counted
from workbench.ui.display import Pieces, look_of, sentence, sign_of
from workbench.ui.widgets.rowpane import RowPane

# Every tag holds something back for a moment. From this on it matters.
_LONG, _MANY = 2.0, 500  # seconds, characters
_INDENT = 2  # cells before what is opened


def alarm(player: Player, paused_at: int | None, running: bool = True, idle: float = 0.0) -> str:
    """A few words, or nothing. `running`: the writer of a tape without an end is alive; `idle`: seconds since
    the tape last grew."""
    if paused_at is not None:
        return f"PAUSED, {counted(player.steps - 1 - paused_at, 'new step')} (space goes on)"
    held = player.held_at(player.steps - 1) if running and not player.complete else None
    if held is None:
        return ""
    seconds = max(0.0, player.now + idle - held.since)
    if not matters(held.characters, seconds):
        return ""
    return (
        f"HELD BACK {counted(held.characters, 'character')} for {seconds:.1f} s, {waiting_for(player, held)}"
    )


def matters(characters: int, seconds: float) -> bool:
    """Whether somebody who waits for the answer would notice that so much is held back for so long."""
    return seconds >= _LONG or characters >= _MANY


def waiting_for(player: Player, held: Held) -> str:
    """What would decide about the text."""
    if not held.state:
        return "perhaps the beginning of a marker"
    return f"waiting for {awaited(player, held.state)}"


_SILENT = 1.0  # seconds without a read
CALLS = 6  # colours for calls, then they begin again


class TapePane(RowPane):
    """Shows the player's rows up to `step`; None means up to now."""

    PANE: ClassVar[Pane]

    def __init__(self) -> None:
        super().__init__(id=self.NAME.lower(), classes="rowpane tapepane")
        self.player: Player | None = None
        self.step: int | None = None
        self.changed: ChangedRows | None = None  # against another tape, when this is a variant of it
        self._channels: Channels | None = None  # the texts that rows make together, once searched
        self._common = Highlight()  # what the row that is selected in some pane has in common with others
        self.border_title = self.NAME

    def play(self, player: Player | None, step: int | None = None) -> None:
        """Show another tape, all of it or up to a step."""
        self.player, self._common, self.step, self.changed = player, Highlight(), step, None
        self.top, self.follow, self._known = 0, True, 0
        self.set_reactive(RowPane.cursor, -1)
        self.grown()

    @property
    def highlighted(self) -> Ranges:
        """Upstream bytes of the row that is selected in some pane."""
        return self._common.ranges

    def highlight(self, common: Highlight) -> None:
        """Mark what belongs to the row that is selected in some pane."""
        if common != self._common:
            self._common = common
            self.show()  # it is marked in what is opened, too

    def go_along(self, row: int, follow: bool) -> None:
        """Select what belongs to the selected row of another pane; that one decides whether to follow.

        The last row of this pane may belong to a row that is not the last of its own: following from there
        would tear the two apart.
        """
        if row < self.count():
            self._select(row, follow)

    def stand(self, step: int, row: int | None) -> None:
        """Show what was known at a step, with this row selected, or else the last one."""
        self.step = step
        count = self.count()
        chosen = count - 1 if row is None or row >= count else row
        self._known = count
        self._select(chosen, follow=True)  # in a replay no rows come that could be missed

    def scroll_rows(self, by: int) -> None:
        """Turning the wheel further at the end means: follow what comes."""
        top = self.top
        super().scroll_rows(by)
        if by > 0 and self.top == top and self.count() > self.size.height:
            self.go(self.count() - 1)

    # -- rows

    def count(self) -> int:
        if self.player is None:
            return 0
        rows = self.player.rows(self.PANE)
        return len(rows) if self.step is None else rows.known_at(self.step)

    def item(self, row: int) -> Item:
        assert self.player is not None
        return self.player.item(self.PANE, row)

    def is_highlighted(self, item: Item) -> bool:
        assert self.player is not None
        return self._common.falls_on(self.player, item)

    @property
    def difference(self) -> str:
        """What is different from the original, in a few words."""
        if self.changed is None:
            return ""
        gone = f", {self.changed.vanished} gone" if self.changed.vanished else ""
        return f"{self.changed.count} changed{gone}"

    def mark_changed(self, changed: ChangedRows) -> None:
        """This is a variant; these of its rows are not in the original."""
        self.changed = changed
        self.show()

    def draw(self, row: int, width: int) -> Strip:
        item = self.item(row)
        pieces = [*self.head(item), *self.pieces(item)]
        if self.changed is not None:
            sign = "±" if row in self.changed else " "
            pieces = [(sign, "warning"), *pieces]
        strip = self.line(pieces, width)
        chosen = row == self.cursor and self.has_focus
        return strip.apply_style(self.look("related")) if not chosen and self.is_highlighted(item) else strip

    def opened(self, row: int, width: int, most: int) -> list[Strip]:
        item = self.item(row)
        plain, room = self.look("plain"), width - _INDENT
        lines = sentence(self.remark(item), plain, room, most, plain) if self.remark(item) else []
        pieces = self.details(item)
        if pieces and len(lines) < most:
            lines += self.lines(pieces, room, most - len(lines))
        return [Strip.join((self.line([], _INDENT), line)) for line in lines]

    def text(self, row: int) -> str:
        item = self.item(row)
        return _joined([*self.head(item), *self.pieces(item)])

    def searched(self, row: int) -> str:
        """Without the columns of numbers; with the sentence that is shown when the row is selected."""
        item = self.item(row)
        return f"{_joined(self.pieces(item))}\n{self.remark(item)}"

    @property
    def shows(self) -> object:
        return self.player

    def joined(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, int] | None]:
        player = self.player
        if player is None:
            return iter(())
        if self._channels is None or self._channels.player is not player:
            self._channels = Channels(player)
        return self._channels.matches(pattern, self.PANE)

    # -- for subclasses

    def head(self, item: Item) -> Pieces:
        """The columns before a row: which call it belongs to, its number, its time."""
        raise NotImplementedError

    def pieces(self, item: Item) -> Pieces:
        """A row as one line."""
        raise NotImplementedError

    def details(self, item: Item) -> Pieces:
        """All of a row, where one line is too short for it."""
        return []

    def remark(self, item: Item) -> str:
        """A sentence about the row."""
        return ""

    # -- shared looks

    def call_bar(self, call: int | None) -> tuple[str, str]:
        """Which call a row belongs to: a colour, and its number, counted from 1, for those who see none."""
        return ("   ", "plain") if call is None else (f"{call + 1:2}▌", f"call-{call % CALLS}")

    def clock(self, item: Item) -> tuple[str, str]:
        assert self.player is not None
        return f"{self.player.time(item):8.3f} ", "dim"


class UpstreamPane(TapePane):
    """A read takes one line, its framing shortened; the selected one is there in full, with `x` all are."""

    PANE = Pane.UPSTREAM
    NAME = "Upstream"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "exact", "Exact", id="upstream.exact", tooltip="Show the framing of every read, or not"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.exact = False

    def action_exact(self) -> None:
        self.exact = not self.exact
        self.show()

    def head(self, item: Item) -> Pieces:
        assert self.player is not None
        if not isinstance(item, int):
            return [self.call_bar(None), self.clock(item)]
        start, end = self.player.starts[item], self.player.read_end(item)
        return [
            self.call_bar(self._call(item)),
            (f"{item + 1:5} ", "number"),
            self.clock(item),
            (f"{end - start:5} ", "dim"),
        ]

    def pieces(self, item: Item) -> Pieces:
        assert self.player is not None
        if isinstance(item, Line):
            return self._line(item)
        assert isinstance(item, int)
        parts = read_parts(self.player, item, self.step)
        if not self.exact and any(part.says for part in parts):
            return [piece for part in parts for piece in self._short(part)]
        return [piece for part in parts for piece in self._marked(part)]

    def searched(self, row: int) -> str:
        """The reads are searched together: see `joined`."""
        return super().searched(row) if isinstance(self.item(row), Line) else ""

    def copied(self, row: int) -> str:
        """A read exactly as it came."""
        assert self.player is not None
        item = self.item(row)
        return decoded(self.player.read(item)) if isinstance(item, int) else _joined(self.pieces(item))

    def whole(self) -> bytes | None:
        """All that upstream sent, to the byte: it can be replayed."""
        assert self.player is not None
        data = self.player.data
        return bytes(data if self.step is None else data[: self.player.known_bytes(self.step)])

    def details(self, item: Item) -> Pieces:
        assert self.player is not None
        if not isinstance(item, int):
            return []
        return [piece for part in read_parts(self.player, item, self.step) for piece in self._marked(part)]

    def _call(self, read: int) -> int | None:
        assert self.player is not None
        events = self.player.events_in(read, self.step)
        calls = (self.player.call_of(event.number, self.step) for event in events)
        return next((call for call in calls if call is not None), None)

    def _short(self, part: ReadPart) -> Pieces:
        """Framing that stands around what is said takes one cell."""
        return self._marked(part) if part.says else [("…", "dim")]

    def _marked(self, part: ReadPart) -> Pieces:
        """With the very characters marked that the selected row comes from."""
        assert self.player is not None
        look = "bright" if part.says else "dim"
        data = self.player.data
        pieces: Pieces = []
        at = part.start
        for start, end in self.highlighted:
            start, end = max(start, at), min(end, part.end)
            if start < end:
                pieces += [(decoded(data[at:start]), look), (decoded(data[start:end]), "mark")]
                at = end
        pieces.append((decoded(data[at : part.end]), look))
        return [piece for piece in pieces if piece[0]]

    def _line(self, line: Line) -> Pieces:
        value = line.value
        if line.kind == "status":
            kinds = [str(pair[1]) for pair in value.get("headers", ()) if _is_content_type(pair)]
            look = "good" if str(value.get("status", ""))[:1] == "2" else "error"
            return [(f"HTTP {value.get('status')} ", look), (" ".join(kinds), "dim")]
        if line.kind == "end":
            error = value.get("error")
            said = error.get("message") if isinstance(error, dict) else error
            look = "error" if error else "dim"
            return [(f"■ {value.get('end')}", look), (f"  {said}" if said else "", look)]
        if line.kind == "damaged":
            return [("a damaged line of the tape", "error")]
        return [(str(dict(value)), "warning")]


def _is_content_type(pair: object) -> bool:
    return isinstance(pair, list | tuple) and len(pair) == 2 and str(pair[0]).lower() == "content-type"


class MachinePane(TapePane):
    PANE = Pane.MACHINE
    NAME = "Machine"

    def head(self, item: Item) -> Pieces:
        return [self.call_bar(item.call if isinstance(item, Transition | Finding) else None)]

    def pieces(self, item: Item) -> Pieces:
        if isinstance(item, Transition):
            return self._step(item)
        if isinstance(item, Finding):
            return self._finding(item.level, item.code, item.message)
        assert isinstance(item, Line)
        value = item.value
        level = str(value.get("level", "info"))
        return self._finding(level, str(value.get("finding")), str(value.get("message")))

    def copied(self, row: int) -> str:
        """A move with its reason; a finding says all there is to say."""
        item = self.item(row)
        said = _joined(self.pieces(item)).strip()
        return f"{said}\n{self.remark(item)}" if isinstance(item, Transition) else said

    def _step(self, step: Transition) -> Pieces:
        stays = step.state == step.to
        way = step.state if stays else f"{step.state} → {step.to}"
        held = f"  +{step.held} held" if step.held else ""
        return [
            (f"{way} ", "dim" if stays else "strong"),
            (f"{step.rule} ", "info"),
            (step.text, "bright"),
            (held, "warning" if matters(step.held, 0) else "dim"),
        ]

    def _finding(self, level: str, code: str, message: str) -> Pieces:
        return [(f"{sign_of(level)} {code} ", look_of(level)), (message, "plain")]

    def remark(self, item: Item) -> str:
        if isinstance(item, Finding):
            return item.message
        if isinstance(item, Line):
            return str(item.value.get("message"))
        assert isinstance(item, Transition) and self.player is not None
        held = f" Held back: {counted(item.held, 'character')}." if item.held else ""
        return f"{item.token}: {item.why}.{held}"

    def details(self, item: Item) -> Pieces:
        return [(item.text, "bright")] if isinstance(item, Transition) and item.text else []


class ClientPane(TapePane):
    PANE = Pane.CLIENT
    NAME = "Client"

    def head(self, item: Item) -> Pieces:
        return [self.call_bar(item.call if isinstance(item, Delta) else None), self.clock(item)]

    def pieces(self, item: Item) -> Pieces:
        if isinstance(item, Delta):
            return self._delta(item)
        assert isinstance(item, Line)
        return self._line(item)

    def copied(self, row: int) -> str:
        """The text that the client got, exactly; where there is none, what the row says."""
        item = self.item(row)
        return _joined(self.details(item)) or _joined(self.pieces(item)).strip()

    def details(self, item: Item) -> Pieces:
        if isinstance(item, Delta) and item.text:
            return [(item.text, "bright")]
        if isinstance(item, Line) and item.kind == "sent":
            return [(item.data.decode("utf-8", "backslashreplace"), "bright")]
        return []

    def _delta(self, delta: Delta) -> Pieces:
        choice = f"[{delta.choice}] " if delta.choice else ""
        if delta.kind == "call":
            return [(f"{choice}call ", "dim"), (str(delta.name), "good"), (f"  {delta.id}", "dim")]
        if delta.kind in ("content", "arguments"):
            return [(f"{choice}{delta.kind} ", "dim"), (delta.text, "bright")]
        if delta.kind == "reasoning":
            return [(f"{choice}reasoning ", "dim"), (delta.text, "plain")]
        if delta.kind == "error":
            return [(f"{choice}error ", "error"), (delta.text, "error")]
        return [(f"{choice}{delta.kind} ", "info"), (delta.text, "bright")]

    def _line(self, line: Line) -> Pieces:
        if line.kind == "status":
            status = str(line.value.get("status", ""))
            return [(f"HTTP {status}", "good" if status[:1] == "2" else "error")]
        if line.kind in ("hold", "release"):
            return [(f"■ {line_text(line)}", "warning")]
        by = line.value.get("by")
        if by is not None and line.data.startswith(b":"):
            return [(f"♥ a comment, {self._silence(line.t)}", "dim")]
        said = _message(line.data) if by == "proxy" else ""
        look = "error" if by == "proxy" else "plain"
        return [
            (f"{by or self._what()} ", "dim"),
            (said or line.data.decode("utf-8", "backslashreplace"), look),
        ]

    def _silence(self, t: float) -> str:
        """What upstream did when the client got nothing but a comment."""
        assert self.player is not None
        before = bisect_right(self.player.times, t)
        silent = t - (self.player.times[before - 1] if before else 0.0)
        if silent < _SILENT:
            return "upstream sends, but nothing that can go on yet"
        return f"upstream is silent for {silent:.0f} s"

    def _what(self) -> str:
        return "message" if self.player is not None and self.player.mode == "message" else "bytes"


def _joined(pieces: Pieces) -> str:
    return "".join(text for text, _ in pieces)


def _message(data: bytes) -> str:
    """The sentence of an error body."""
    try:
        return str(orjson.loads(data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return ""
