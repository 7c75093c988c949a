"""Which rows of the other panes a row comes from or led to."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.records import Delta, Event, Ranges, Span
from workbench.player.panes import Pane
from workbench.player.player import Player
from workbench.player.tracks import Item
from workbench.tape import Line

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
class Light:
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


def light_of(player: Player, item: Item) -> Light:
    return Light(player.bytes_of(item), _text_of(item))


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
    light = light_of(player, item)
    if other is Pane.UPSTREAM:
        return _read_row(player, item, light.ranges)
    # Causes come before, effects behind: the machine moves before a delta leaves.
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


def _search(player: Player, other: Pane, known: int, light: Light, backwards: bool) -> int | None:
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
