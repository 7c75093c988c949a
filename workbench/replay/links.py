"""Which rows belong together: those that come from the same bytes of upstream, or the same characters."""

from __future__ import annotations

from dataclasses import dataclass

from transformer.records import Delta, Event, Ranges, Span
from workbench.replay.player import Item, Pane, Player
from workbench.tape.format import Line

# How far to look for a row with bytes in common before the nearest one is taken.
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
        """Whether another row has a part of it. Characters are compared if possible: finding bytes
        means reading the JSON of events again."""
        span = _characters_of(item)
        if span is None or self.span is None:
            return bool(self.ranges) and overlap(player.bytes_of(item), self.ranges)
        same = (span.choice, span.channel) == (self.span.choice, self.span.channel)
        return same and span.start < self.span.end and self.span.start < span.end


def highlight_of(player: Player, item: Item) -> Highlight:
    return Highlight(player.bytes_of(item), _characters_of(item))


def _characters_of(item: Item) -> Span | None:
    """The characters of a text that a row represents."""
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
    highlight = highlight_of(player, item)
    if other is Pane.UPSTREAM:
        return _row_of_read(player, item, highlight.ranges)
    # Causes come before, effects after: the machine moves before a delta leaves.
    backwards = pane is Pane.CLIENT
    found = _search(player, other, known, highlight, backwards)
    if found is None:
        found = known - 1 if backwards else known
    return _clamped(found, len(rows))


def _row_of_read(player: Player, item: Item, ranges: Ranges) -> int | None:
    if ranges:
        read = player.read_at(ranges[0][0])
    else:
        assert not isinstance(item, int | Line)
        read = item.read
    return player.rows_of_reads[read] if 0 <= read < player.reads else None


def _search(player: Player, other: Pane, known: int, highlight: Highlight, backwards: bool) -> int | None:
    count = len(player.rows(other))
    rows = (
        range(known - 1, max(-1, known - 1 - _REACH), -1)
        if backwards
        else range(known, min(count, known + _REACH))
    )
    for row in rows:
        item = player.item(other, row)
        if not isinstance(item, Line) and highlight.falls_on(player, item):
            return row
    return None


def _clamped(row: int, count: int) -> int | None:
    return max(0, min(row, count - 1)) if count else None
