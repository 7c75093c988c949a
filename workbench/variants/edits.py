"""Edits: ranges of upstream's bytes that become others, and what that does to every place behind them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """The bytes `start` to `end` become `data`."""

    start: int
    end: int
    data: bytes


class Edits:
    """All edits of a stream. They count in its old bytes and do not overlap."""

    __slots__ = ("_edits", "_ends", "_shifts", "data")

    def __init__(self, old: bytes, edits: Iterable[Edit]) -> None:
        self._edits = sorted(edits, key=lambda edit: edit[:2])
        self._ends = [edit.end for edit in self._edits]
        self._shifts = [0]  # of what stands behind the first n edits
        parts = []
        at = 0
        for start, end, data in self._edits:
            assert at <= start <= end, "edits do not overlap"
            parts += [old[at:start], data]
            self._shifts.append(self._shifts[-1] + len(data) - (end - start))
            at = end
        self.data = b"".join([*parts, old[at:]])  # the new bytes

    def moved(self, byte: int) -> int:
        """Where a boundary is now. What is inserted right there comes before it.

        One inside an edit stays that deep in the new bytes, as far as there are so many, but never inside a
        character: nobody asked for that.
        """
        count = bisect_right(self._ends, byte)
        place = byte + self._shifts[count]
        if count == len(self._edits) or self._edits[count].start >= byte:
            return place
        start, _, data = self._edits[count]
        depth = min(byte - start, len(data))
        while 0 < depth < len(data) and data[depth] & 0xC0 == 0x80:
            depth -= 1
        return start + self._shifts[count] + depth
