"""The three panes of an exchange: what upstream sent, how the parser moved, what the client got; rows that
belong to the selected one are highlighted. And what needs attention right now: text that is held back.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import islice, takewhile
from typing import ClassVar

import orjson
from textual.binding import Binding, BindingType

from transformer.records import Delta, Effect, Event, Finding, Transition
from workbench.analysis.explain.moves import awaited
from workbench.replay.alignment import EMPTY, REST, Alignment
from workbench.replay.links import overlap
from workbench.replay.outline import Entry
from workbench.replay.player import Held, Item, Pane, Player
from workbench.replay.rowtext import ReadPart, decoded, event_parts, line_text, read_parts
from workbench.tape.format import Line
from workbench.text import counted
from workbench.ui.display import Pieces, look_of, sign_of
from workbench.ui.widgets.tapepane import TapePane, joined_text

# Every tag holds something back for a moment. Above these limits it matters.
_LONG, _MANY = 2.0, 500  # seconds, characters
_PREVIEW = 200  # characters of what is folded
_SEARCHED = 2_000  # lines of a read in which a match is looked for
_ROOMY = 60  # cells; a narrower pane does without the sizes of reads


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
    """Whether a user would notice that this much is held back for this long."""
    return seconds >= _LONG or characters >= _MANY


def waiting_for(player: Player, held: Held) -> str:
    """What would decide about the text."""
    if not held.state:
        return "perhaps the beginning of a marker"
    return f"waiting for {awaited(player, held.state)}"


_SILENT = 1.0  # seconds without a read


class UpstreamPane(TapePane):
    """A read takes one line, its framing shortened; the selected one is shown in full, with `x` all are."""

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

    @property
    def _number_width(self) -> int:
        """No wider than it has to be."""
        return max(3, len(str(self.player.reads))) if self.player is not None else 3

    # -- the events of a read that brought several

    def item_on(self, line: int, row: int) -> Item:
        assert self.player is not None and self.scroll.alignment is not None
        return self.player.event(self.scroll.alignment.events[line]) or self.item(row)

    def line_of(self, alignment: Alignment, row: int) -> int:
        """During a search, the first event of a read that matches."""
        first = super().line_of(alignment, row)
        if self.player is None or self.pattern is None or alignment.events[first] == EMPTY:
            return first
        places = islice(range(first, len(alignment)), _SEARCHED)
        own = (line for line in takewhile(lambda line: self._is_of(alignment, line, row), places))
        data = self.player.data
        return next(
            (line for line in own if self.pattern.search(decoded(data[slice(*alignment.range_of(line))]))),
            first,
        )

    def _is_of(self, alignment: Alignment, line: int, row: int) -> bool:
        return alignment.cells[self.PANE][line] in (row, EMPTY)

    def is_highlighted_on(self, line: int, item: Item) -> bool:
        alignment = self.scroll.alignment
        assert alignment is not None
        if alignment.events[line] == REST:
            return overlap((alignment.range_of(line),), self.highlighted)
        return self.is_highlighted(item)

    def head_on(self, line: int, item: Item) -> Pieces:
        """A narrow pane has no room for sizes; after the first event of a read its time is not said again."""
        player, alignment = self.player, self.scroll.alignment
        assert player is not None and alignment is not None
        row = alignment.cells[self.PANE][line]
        read, number = self.item(row), alignment.events[line]
        if not isinstance(read, int):
            return [(" " * (self._number_width + 4), "plain"), self.clock(read)]
        first = line == alignment.line_of[self.PANE][row]
        start, end = alignment.range_of(line)
        width, clock = self._number_width, self.clock(read)
        event = f"event {number + 1}" if number >= 0 else "rest"
        return [
            self.call_bar(player.call_of(number, self.step) if number != EMPTY else self._call(read)),
            (f"{read + 1:{width}} ", "number") if first else (event.rjust(width + len(clock[0])), "dim"),
            clock if first else (" ", "plain"),
            (f"{end - start:5} " if self.size.width >= _ROOMY else "", "dim"),
        ]

    def pieces_on(self, line: int, item: Item) -> Pieces:
        parts = self._parts_on(line, item)
        if parts is None:
            return self.pieces(item)
        look = "dim" if self._is_waiting(line) else ""
        if not self.exact and any(part.says for part in parts):
            pieces = [piece for part in parts for piece in self._short(part)]
        else:
            pieces = [piece for part in parts for piece in self._marked(part)]
        return [(text, look or its) for text, its in pieces]

    def details_on(self, line: int, item: Item, cut: bool) -> Pieces:
        """All of the bytes, where they are shown."""
        if not self.has_focus:
            return []
        parts = self._parts_on(line, item)
        if parts is None:
            return self.details(item)
        return [piece for part in parts for piece in self._marked(part)]

    def _parts_on(self, line: int, item: Item) -> list[ReadPart] | None:
        """The parts of the event on this line; None: the whole read is there."""
        alignment = self.scroll.alignment
        assert alignment is not None
        if alignment.events[line] == EMPTY:
            return None
        start, end = alignment.range_of(line)
        return event_parts(item, start, end) if isinstance(item, Event) else [ReadPart(start, end, False)]

    def _is_waiting(self, line: int) -> bool:
        """In a replay: it has come, but the parser has not reached it yet."""
        player, alignment, step = self.player, self.scroll.alignment, self.step
        if step is None or step < 0 or player is None or alignment is None:
            return False
        pane, row = player.place(step)
        return line > alignment.line_of[pane][row]

    def fold_pieces(self, entry: Entry, first: int, end: int) -> Pieces:
        player, alignment = self.player, self.scroll.alignment
        assert player is not None and alignment is not None
        levels = bisect_left(alignment.levels, entry.end) - bisect_left(alignment.levels, entry.start)
        start, last = self.bytes_of_fold(alignment, entry)[0]
        what = counted(end - first, "read") if end - first >= levels else counted(levels, "event")
        return [
            ("   ", "plain"),
            ("▸ ", "info"),
            (what, "number"),
            (f", {counted(last - start, 'byte')}", "dim"),
        ]

    # -- a whole read

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
        """A read exactly as it came; of one that brought several events, the event that is selected."""
        assert self.player is not None
        item, alignment, line = self.item(row), self.scroll.alignment, self.scroll.line
        if row == self.cursor and alignment is not None and line >= 0 and alignment.events[line] != EMPTY:
            return decoded(self.player.data[slice(*alignment.range_of(line))])
        return decoded(self.player.read(item)) if isinstance(item, int) else joined_text(self.pieces(item))

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
        """Framing around content takes one cell."""
        return self._marked(part) if part.says else [("…", "dim")]

    def _marked(self, part: ReadPart) -> Pieces:
        """With exactly those characters marked that the selected row comes from."""
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
        if line.kind == "status":
            kinds = [str(pair[1]) for pair in line.value.get("headers", ()) if _is_content_type(pair)]
            return [(f"HTTP {line.status} ", _look_of_status(line)), (" ".join(kinds), "dim")]
        if line.kind == "end":
            said = line.error_message
            look = "error" if line.error else "dim"
            return [(f"■ {line.ended}", look), (f"  {said}" if said else "", look)]
        if line.kind == "damaged":
            return [("a damaged line of the tape", "error")]
        return [(str(dict(line.value)), "warning")]


def _look_of_status(line: Line) -> str:
    return "good" if str(line.status)[:1] == "2" else "error"


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
        return self._finding(item.level, str(item.finding), item.message)

    def copied(self, row: int) -> str:
        """A move with its reason; a finding says all there is to say."""
        item = self.item(row)
        said = joined_text(self.pieces(item)).strip()
        return f"{said}\n{self.remark(item)}" if isinstance(item, Transition) else said

    def fold_pieces(self, entry: Entry, first: int, end: int) -> Pieces:
        rows = (self.item(row) for row in range(first, end))
        moves = [item for item in islice(rows, _PREVIEW) if isinstance(item, Transition)]
        if not moves:
            return []
        return [
            self.call_bar(moves[-1].call),
            ("▸ ", "info"),
            (f"{moves[-1].state} ", "dim"),
            (f"{moves[-1].rule} ", "info"),
            (f"×{end - first:,} ", "number"),
            (_preview(move.text for move in moves), "plain"),
        ]

    def _step(self, step: Transition) -> Pieces:
        stays = step.state == step.to
        way = step.state if stays else f"{step.state} → {step.to}"
        held = f"  +{step.held} held" if step.held else ""
        return [
            (f"{way} ", "dim" if stays else "strong"),
            (f"{step.rule} ", "info"),
            ("dropped " if Effect.DROPPED in step.effect else "", "warning"),
            (step.text, "bright"),
            (held, "warning" if matters(step.held, 0) else "dim"),
        ]

    def _finding(self, level: str, code: str, message: str) -> Pieces:
        return [(f"{sign_of(level)} {code} ", look_of(level)), (message, "plain")]

    def remark(self, item: Item) -> str:
        if isinstance(item, Finding):
            return item.message
        if isinstance(item, Line):
            return item.message
        assert isinstance(item, Transition) and self.player is not None
        held = f" Held back: {counted(item.held, 'character')}." if item.held else ""
        policy = f"; {item.policy}" if item.policy else ""
        return f"{item.token}: {item.why}{policy}.{held}"

    def details(self, item: Item) -> Pieces:
        return [(item.text, "bright")] if isinstance(item, Transition) and item.text else []


class ClientPane(TapePane):
    PANE = Pane.CLIENT
    NAME = "Client"

    def head(self, item: Item) -> Pieces:
        return [self.call_bar(item.call if isinstance(item, Delta) else None), self.clock(item)]

    def head_on(self, line: int, item: Item) -> Pieces:
        """If its cause is beside it, the time is shown there."""
        if self.scroll.shared and isinstance(item, Delta):
            return self.head(item)[:1]
        return self.head(item)

    def fold_pieces(self, entry: Entry, first: int, end: int) -> Pieces:
        items = [self.item(row) for row in range(first, min(end, first + _PREVIEW))]
        if not items:
            return []
        deltas = [item for item in items if isinstance(item, Delta)]
        kind, call = (deltas[-1].kind, deltas[-1].call) if deltas else (self._what(), None)
        return [
            self.call_bar(call),
            ("▸ ", "info"),
            (f"{kind} ", "dim"),
            (f"×{end - first:,} ", "number"),
            (_preview(delta.text for delta in deltas), "plain"),
        ]

    def pieces(self, item: Item) -> Pieces:
        if isinstance(item, Delta):
            return self._delta(item)
        assert isinstance(item, Line)
        return self._line(item)

    def copied(self, row: int) -> str:
        """The text that the client got, exactly; where there is none, what the row says."""
        item = self.item(row)
        return joined_text(self.details(item)) or joined_text(self.pieces(item)).strip()

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
            return [(f"HTTP {line.status}", _look_of_status(line))]
        if line.kind in ("hold", "release"):
            return [(f"■ {line_text(line)}", "warning")]
        by = line.by
        if by is not None and line.data.startswith(b":"):
            return [(f"♥ a comment, {self._silence(line.t)}", "dim")]
        said = _message(line.data) if by == "proxy" else ""
        look = "error" if by == "proxy" else "plain"
        return [
            (f"{by or self._what()} ", "dim"),
            (said or line.data.decode("utf-8", "backslashreplace"), look),
        ]

    def _silence(self, t: float) -> str:
        """What upstream did while the client got only comments."""
        assert self.player is not None
        before = bisect_right(self.player.times, t)
        silent = t - (self.player.times[before - 1] if before else 0.0)
        if silent < _SILENT:
            return "upstream sends, but nothing that can go on yet"
        return f"upstream is silent for {silent:.0f} s"

    def _what(self) -> str:
        return "message" if self.player is not None and self.player.mode == "message" else "bytes"


def _preview(texts: Iterable[str]) -> str:
    """The beginning of what is folded."""
    return "".join(texts)[:_PREVIEW]


def _message(data: bytes) -> str:
    """The sentence of an error body."""
    try:
        return str(orjson.loads(data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return ""
