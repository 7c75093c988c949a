"""Which rows of the other panes a row comes from or led to."""

from __future__ import annotations

from transformer.records import Ranges
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


def linked(player: Player, pane: Pane, row: int, other: Pane) -> int | None:
    """The row of another pane that belongs to this one: by its bytes, else the one nearest in time."""
    item = player.item(pane, row)
    step = player.rows(pane).steps[row]
    rows = player.rows(other)
    known = rows.known_at(step)
    if isinstance(item, Line):
        return _clamped(known - 1, len(rows))
    ranges = player.bytes_of(item)
    if other is Pane.UPSTREAM:
        return _read_row(player, item, ranges)
    # Causes come before, effects behind: the machine moves before a delta leaves.
    backwards = pane is Pane.CLIENT
    found = _search(player, other, known, ranges, backwards)
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


def _search(player: Player, other: Pane, known: int, ranges: Ranges, backwards: bool) -> int | None:
    count = len(player.rows(other))
    ways = (
        range(known - 1, max(-1, known - 1 - _REACH), -1)
        if backwards
        else range(known, min(count, known + _REACH))
    )
    for row in ways:
        item = player.item(other, row)
        if not isinstance(item, Line) and overlap(player.bytes_of(item), ranges):
            return row
    return None


def _clamped(row: int, count: int) -> int | None:
    return max(0, min(row, count - 1)) if count else None
