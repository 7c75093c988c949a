"""The difference that a change makes: which rows of a variant the original does not have, in nearly linear
time.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, NamedTuple

from transformer.records import Delta, Finding, Record, Transition
from workbench.replay.lines import was_sent
from workbench.replay.player import Pane, Player
from workbench.tape.format import Line

# Limit on pairs of equal items that are compared one by one. Sequences that repeat a few items have millions
# of them, and a model can be made to write such a text.
_MOST_PAIRS = 20_000
_WORK_PER_ITEM = 8


class Gap(NamedTuple):
    """`a` to `a_end` of one sequence corresponds to `b` to `b_end` of the other."""

    a: int
    a_end: int
    b: int
    b_end: int


def numbered(keys: Iterable[Hashable], numbers: dict[Hashable, int]) -> list[int]:
    """Equal keys get the same number, in all sequences that share `numbers`."""
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def same_ends(a: Sequence[Any], b: Sequence[Any]) -> tuple[int, int]:
    """How many items are equal at the beginning, and how many of the others at the end."""
    most = min(len(a), len(b))
    head = 0
    while head < most and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < most - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    return head, tail


def gaps(a: Sequence[int], b: Sequence[int]) -> list[Gap]:
    """Where the two differ, in order. A gap may still contain equal items if finding them costs too much."""
    work = _WORK_PER_ITEM * (len(a) + len(b)) + 10 * _MOST_PAIRS
    found: list[Gap] = []
    todo = [Gap(0, len(a), 0, len(b))]
    while todo:
        gap = _trimmed(a, b, todo.pop())
        if gap.a == gap.a_end or gap.b == gap.b_end:
            if gap.a < gap.a_end or gap.b < gap.b_end:
                found.append(gap)
            continue
        cost, parts = _parts(a, b, gap, work)
        work -= cost
        if parts is None:
            found.append(gap)
        else:
            todo += reversed(parts)
    return found


def _trimmed(a: Sequence[int], b: Sequence[int], gap: Gap) -> Gap:
    head, tail = same_ends(a[gap.a : gap.a_end], b[gap.b : gap.b_end])
    return Gap(gap.a + head, gap.a_end - tail, gap.b + head, gap.b_end - tail)


def _parts(a: Sequence[int], b: Sequence[int], gap: Gap, work: int) -> tuple[int, list[Gap] | None]:
    """The rest of a gap between matching items, and its cost; None: nothing matches."""
    here, there = a[gap.a : gap.a_end], b[gap.b : gap.b_end]
    cost = len(here) + len(there)
    if cost > work:
        return cost, None
    counts, others = Counter(here), Counter(there)
    alone = {item for item, count in counts.items() if count == 1 == others.get(item)}
    if alone:
        return cost, _between(gap, _anchors(here, there, alone))
    pairs = sum(count * others[item] for item, count in counts.items() if item in others)
    if not 0 < pairs <= min(_MOST_PAIRS, work):
        return cost, None
    blocks = SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks()
    return cost + pairs, _between(gap, [(at + n, to + n) for at, to, size in blocks for n in range(size)])


def _anchors(here: Sequence[int], there: Sequence[int], alone: set[int]) -> list[tuple[int, int]]:
    """The longest run of items that occur once on either side, in the same order."""
    places = {item: at for at, item in enumerate(there) if item in alone}
    pairs = [(at, places[item]) for at, item in enumerate(here) if item in alone]
    lasts: list[int] = []  # of the runs of each length: the smallest place that one can end at
    ends: list[int] = []  # the number of the pair there
    before: list[int] = []  # of each pair: the one before it in its run
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(lasts, place)
        before.append(ends[at - 1] if at else -1)
        lasts[at : at + 1] = [place]
        ends[at : at + 1] = [number]
    run: list[tuple[int, int]] = []
    number = ends[-1]
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]


def _between(gap: Gap, pairs: Iterable[tuple[int, int]]) -> list[Gap]:
    """The gaps that are left between pairs."""
    sizes = (gap.a_end - gap.a, gap.b_end - gap.b)
    found = []
    for (a, b), (a_end, b_end) in pairwise([(-1, -1), *pairs, sizes]):
        if a + 1 < a_end or b + 1 < b_end:
            found.append(Gap(gap.a + a + 1, gap.a + a_end, gap.b + b + 1, gap.b + b_end))
    return found


# Of an end line: the rest summarises the original findings.
_END = ("end", "error")


@dataclass(frozen=True, slots=True)
class ChangedRows:
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


def changed_rows(before: Player, after: Player) -> tuple[ChangedRows, ChangedRows, ChangedRows]:
    """Per pane. Rows are equal if they say the same, whatever their number, time and place."""
    upstream, machine, client = (_changed(before, after, pane) for pane in Pane)
    return upstream, machine, client


def _changed(before: Player, after: Player, pane: Pane) -> ChangedRows:
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
    return ChangedRows(new, vanished, first)


def _lacking(a: list[int], b: list[int], gap: Gap) -> list[int]:
    """Items without an equal on the other side of a gap; in one too long to match, their order is ignored."""
    left = Counter(a[gap.a : gap.a_end])
    lacking = []
    for at in range(gap.b, gap.b_end):
        if left[b[at]] > 0:
            left[b[at]] -= 1
        else:
            lacking.append(at)
    return lacking


def _step(player: Player, pane: Pane, row: int) -> int:
    """The step that a row comes with; the last step if only rows at the end are gone."""
    steps = player.rows(pane).steps
    return steps[row] if row < len(steps) else max(player.steps - 1, 0)


def _keys(player: Player, pane: Pane) -> tuple[list[int], list[Hashable]]:
    """What each row says; rows of what was sent originally are left out, since a variant has none."""
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
