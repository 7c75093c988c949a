"""Rows as text: what a read says between its framing, a row to be searched or printed, and which rows of
other panes belong to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from transformer.records import Delta, Event, Finding, Ranges, Span, Transition
from workbench.replay.player import Item, Pane, Player
from workbench.tape.format import Line

# How far to look for a row with bytes in common before the nearest one has to do.
_REACH = 400


def overlap(one: Ranges, other: Ranges) -> bool:
    """Whether they have a byte in common. Both are in the order of the stream, and may be long."""
    at = 0
    for start, end in one:
        while at < len(other) and other[at][1] <= start:
            at += 1
        if at < len(other) and other[at][0] < end:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Highlight:
    """What a row has in common with others: upstream bytes, and the characters where it has such."""

    ranges: Ranges = ()
    span: Span | None = None

    def falls_on(self, player: Player, item: Item) -> bool:
        """Whether another row has a part of it. Characters are compared where that will do: finding bytes
        means reading the JSON of events again."""
        span = _text_of(item)
        if span is None or self.span is None:
            return bool(self.ranges) and overlap(player.bytes_of(item), self.ranges)
        same = (span.choice, span.channel) == (self.span.choice, self.span.channel)
        return same and span.start < self.span.end and self.span.start < span.end


def highlight_of(player: Player, item: Item) -> Highlight:
    return Highlight(player.bytes_of(item), _text_of(item))


def _text_of(item: Item) -> Span | None:
    """The characters of a text that a row stands for."""
    if isinstance(item, int | Line | Event) or (isinstance(item, Delta) and item.kind in ("native", "other")):
        return None
    span = item.span
    return span if span is not None and span.channel and len(span) else None


def linked(player: Player, pane: Pane, row: int, other: Pane) -> int | None:
    """The row of another pane that belongs to this one: by its bytes, else the one nearest in time."""
    item = player.item(pane, row)
    step = player.rows(pane).steps[row]
    rows = player.rows(other)
    known = rows.known_at(step)
    if isinstance(item, Line):
        return _clamped(known - 1, len(rows))
    light = highlight_of(player, item)
    if other is Pane.UPSTREAM:
        return _read_row(player, item, light.ranges)
    # Causes come before, effects after: the machine moves before a delta leaves.
    backwards = pane is Pane.CLIENT
    found = _search(player, other, known, light, backwards)
    if found is None:
        found = known - 1 if backwards else known
    return _clamped(found, len(rows))


def _read_row(player: Player, item: Item, ranges: Ranges) -> int | None:
    if ranges:
        read = player.read_at(ranges[0][0])
    else:
        assert not isinstance(item, int | Line)
        read = item.read
    return player.rows_of_reads[read] if 0 <= read < player.reads else None


def _search(player: Player, other: Pane, known: int, light: Highlight, backwards: bool) -> int | None:
    count = len(player.rows(other))
    ways = (
        range(known - 1, max(-1, known - 1 - _REACH), -1)
        if backwards
        else range(known, min(count, known + _REACH))
    )
    for row in ways:
        item = player.item(other, row)
        if not isinstance(item, Line) and light.falls_on(player, item):
            return row
    return None


def _clamped(row: int, count: int) -> int | None:
    return max(0, min(row, count - 1)) if count else None


# The strings of an event that say something; everything around them is framing.
_SAYS = re.compile(
    rb'"(?:content|reasoning|reasoning_content|arguments|name|finish_reason|message|text)"\s*+:\s*+'
    rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"',
    re.DOTALL,
)


class ReadPart(NamedTuple):
    """Bytes of a read that are alike."""

    start: int
    end: int
    says: bool


def decoded(data: bytes | bytearray) -> str:
    """As text; a character that the read cut in two shows its bytes."""
    return data.decode("utf-8", "backslashreplace")


def read_parts(player: Player, read: int, step: int | None = None) -> list[ReadPart]:
    """A read as framing and what is said, in turns, as far as that was known at a step; None means: now."""
    start, end = player.starts[read], player.read_end(read)
    runs: list[ReadPart] = []
    at = start
    for begin, stop in _said(player, read, start, end, step):
        begin, stop = max(begin, at), min(stop, end)
        if begin < stop:
            runs += [ReadPart(at, begin, False), ReadPart(begin, stop, True)]
            at = stop
    runs.append(ReadPart(at, end, False))
    return [run for run in runs if run.start < run.end]


def _said(player: Player, read: int, start: int, end: int, step: int | None) -> Iterator[tuple[int, int]]:
    if player.mode == "message":
        yield from (match.span(1) for match in _SAYS.finditer(player.data, start, end))
        return
    for event in player.events_in(read, step):
        yield from _said_in(event)


def _said_in(event: Event) -> Iterator[tuple[int, int]]:
    if len(event.lines) != 1:
        return
    first = event.lines[0][0]
    for match in _SAYS.finditer(event.data):
        yield first + match.start(1), first + match.end(1)


def row_text(player: Player, item: Item) -> str:
    """All that the screen shows of a row, but for its number and its time."""
    if isinstance(item, int):
        return read_text(player, item)
    if isinstance(item, Transition):
        way = item.state if item.state == item.to else f"{item.state} → {item.to}"
        return _joined(way, item.rule, item.token, item.text)
    if isinstance(item, Finding):
        return f"{item.code} {item.message}"
    if isinstance(item, Delta):
        return _joined(item.kind, item.name, item.id, item.text)
    return line_text(item) if isinstance(item, Line) else ""


def read_text(player: Player, read: int) -> str:
    """What a read says, its framing shortened; its bytes as they came, where it says nothing."""
    return "…".join(said_in(player, read)) or decoded(player.read(read)).strip()


def said_in(player: Player, read: int) -> list[str]:
    """The texts in a read, without their framing."""
    return [decoded(player.data[run.start : run.end]) for run in read_parts(player, read) if run.says]


def line_text(line: Line) -> str:
    """A line of the tape itself."""
    value = line.value
    if line.kind == "status":
        return f"HTTP {value.get('status')}"
    if line.kind == "finding":
        return f"{value.get('finding')} {value.get('message')}"
    if line.kind == "sent":
        return f"{sender(line)} {decoded(line.data)}"
    if line.kind == "end":
        error = value.get("error")
        said = error.get("message") if isinstance(error, dict) else error
        return f"end: {value.get('end')}{f', {said}' if said else ''}"
    return f"{line.kind} {dict(value)}"


def sender(line: Line) -> str:
    """Who sent a piece to the client; of what the transformer made only the bytes are shown."""
    return str(line.value.get("by") or "bytes")


def _joined(*words: str | None) -> str:
    return " ".join(word for word in words if word)
