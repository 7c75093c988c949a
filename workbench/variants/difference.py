"""The difference that a change makes: which rows of a variant the original does not have."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass

from transformer import Delta, Finding, Transition
from transformer.records import Record
from workbench.player.panes import Pane
from workbench.player.player import Player
from workbench.player.tailing import was_sent
from workbench.tape import Line
from workbench.variants.matching import Gap, gaps, numbered

# Of an end line: the rest sums up what was found then.
_END = ("end", "error")


@dataclass(frozen=True, slots=True)
class Marks:
    """The rows of one pane that are new, as one byte a row, and how many of the original's are gone.

    `first` is the step with which the difference begins; None: there is none.
    """

    new: bytearray
    vanished: int
    first: int | None

    def __contains__(self, row: int) -> bool:
        return 0 <= row < len(self.new) and bool(self.new[row])

    @property
    def count(self) -> int:
        """Of the new rows."""
        return self.new.count(1)


def changed_rows(before: Player, after: Player) -> tuple[Marks, Marks, Marks]:
    """Per pane. Rows are equal when they say the same, whatever their number, their time and their place."""
    upstream, machine, client = (_marks(before, after, pane) for pane in Pane)
    return upstream, machine, client


def _marks(before: Player, after: Player, pane: Pane) -> Marks:
    numbers: dict[Hashable, int] = {}
    _, old_keys = _keys(before, pane)
    rows, keys = _keys(after, pane)
    a, b = numbered(old_keys, numbers), numbered(keys, numbers)
    new = bytearray(len(after.rows(pane)))
    vanished, first = 0, None
    for gap in gaps(a, b):
        lacking = _lacking(a, b, gap)
        for at in lacking:
            new[rows[at]] = 1
        vanished += (gap.a_end - gap.a) - (gap.b_end - gap.b) + len(lacking)
        if first is None:
            first = _step(after, pane, rows[gap.b] if gap.b < len(rows) else len(new))
    return Marks(new, vanished, first)


def _lacking(a: list[int], b: list[int], gap: Gap) -> list[int]:
    """What has no equal on the other side of a gap: in one that is too long to match, the order is free."""
    left = Counter(a[gap.a : gap.a_end])
    lacking = []
    for at in range(gap.b, gap.b_end):
        if left[b[at]] > 0:
            left[b[at]] -= 1
        else:
            lacking.append(at)
    return lacking


def _step(player: Player, pane: Pane, row: int) -> int:
    """With which a row comes; where only rows at the end are gone, the last step there is."""
    steps = player.rows(pane).steps
    return steps[row] if row < len(steps) else max(player.steps - 1, 0)


def _keys(player: Player, pane: Pane) -> tuple[list[int], list[Hashable]]:
    """What each row says; those of what was sent then are left out, for a variant has none."""
    rows: list[int] = []
    keys: list[Hashable] = []
    for row, ref in enumerate(player.rows(pane).refs):
        if ref < 0:
            line = player.lines[~ref]
            if was_sent(line):
                continue
            keys.append(_of_line(line))
        else:
            keys.append(player.read(ref) if pane is Pane.UPSTREAM else _of_record(player.records[ref]))
        rows.append(row)
    return rows, keys


def _of_record(record: Record) -> Hashable:
    if isinstance(record, Transition):
        # One text instead of a tuple: there are a great many of these, and their hash is needed twice.
        return "\0".join((record.state, record.token, record.rule, record.to, record.text))
    if isinstance(record, Delta):
        return (record.kind, record.choice, record.text, record.call, record.name)
    return (record.code, record.message) if isinstance(record, Finding) else (record.name, record.data)


def _of_line(line: Line) -> Hashable:
    if line.raw is not None:
        return ("line", line.raw)
    value = line.value
    said = {key: value.get(key) for key in _END} if line.kind == "end" else {**value, "t": None}
    return ("line", json.dumps(said, sort_keys=True))
