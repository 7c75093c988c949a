"""Matching two sequences: what differs between them, in a time that stays near their length."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, NamedTuple

# Pairs of equal items that are looked at one by one. Sequences of ever the same few items have millions of
# them, and a model can be made to write such a text.
_MOST_PAIRS = 20_000
_WORK_PER_ITEM = 8


class Gap(NamedTuple):
    """`a` to `a_end` of one sequence stand where the other has `b` to `b_end`."""

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
    """Where the two differ, in order. A gap may still hold equal items where finding them costs too much."""
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
    """What is left of a gap between items that belong together, with what it cost; None: nothing does."""
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
    """The longest run of items that occur once on either side and stand in the same order there."""
    places = {item: at for at, item in enumerate(there) if item in alone}
    pairs = [(at, places[item]) for at, item in enumerate(here) if item in alone]
    lasts: list[int] = []  # of the runs of each length: the smallest place that one can end at
    ends: list[int] = []  # the number of the pair that stands there
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
