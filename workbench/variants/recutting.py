"""Recutting: a tape's lines with other bytes in their reads, or with other reads."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from workbench.errors import UserError
from workbench.tape import Line, end_line, read_line
from workbench.variants.changes import Change, Cut, Merge, Split
from workbench.variants.edits import Edit, Edits


class _Wanted(NamedTuple):
    """How the reads shall be cut."""

    merged: set[int]  # reads that come with the next one
    splits: list[int]
    cut: int | None


def recut(lines: Sequence[Line], edits: Sequence[Edit], changes: Sequence[Change]) -> Sequence[Line]:
    """The lines once the edits are made and the reads are cut as the changes want; both count in what is."""
    if not edits and not any(isinstance(change, Cut | Merge | Split) for change in changes):
        return lines
    reads = {at: line.data for at, line in enumerate(lines) if line.kind == "read"}
    wanted = _wanted(list(accumulate(map(len, reads.values()))), changes)
    edited = Edits(b"".join(reads.values()), edits)
    new = _with_reads(lines, reads, edited, wanted)
    if not reads and edited.data:
        new = _with_first_read(new, edited.data)
    if wanted.cut is None:
        return new
    return _cut(new, edited.moved(wanted.cut) if wanted.cut else 0)


def _wanted(ends: list[int], changes: Iterable[Change]) -> _Wanted:
    size = ends[-1] if ends else 0
    boundaries = {0, *ends}
    wanted = _Wanted(set(), [], None)
    for change in changes:
        match change:
            case Merge(read):
                if not 0 <= read < len(ends) - 1:
                    raise UserError(f"there is no read behind read {read + 1} that it could be joined with")
                wanted.merged.add(read)
            case Split(byte):
                if byte in boundaries:
                    raise UserError(f"a read begins or ends at byte {byte} already; choose one inside a read")
                _check(byte, size)
                wanted.splits.append(byte)
                boundaries.add(byte)
            case Cut(byte):
                _check(byte, size)
                wanted = wanted._replace(cut=byte if wanted.cut is None else min(byte, wanted.cut))
    wanted.splits.sort()
    return wanted


def _check(byte: int, size: int) -> None:
    if not 0 <= byte <= size:
        raise UserError(f"there is no byte {byte}: upstream sent {size} of them")


def _with_reads(
    lines: Sequence[Line], reads: Mapping[int, bytes], edited: Edits, wanted: _Wanted
) -> list[Line]:
    """A read that is joined with the next one comes with it; one that has nothing left does not come."""
    new: list[Line] = []
    end = done = 0  # of the read, in the old bytes; what is given out of the new ones
    number = -1
    for at, line in enumerate(lines):
        old = reads.get(at)
        if old is None:
            new.append(line)
            continue
        number += 1
        start, end = end, end + len(old)
        splits = wanted.splits[bisect_right(wanted.splits, start) : bisect_right(wanted.splits, end)]
        for boundary in splits if number in wanted.merged else [*splits, end]:
            place = edited.moved(boundary)
            data, done = edited.data[done:place], place
            if data or not old:
                new.append(line if data == old else read_line(line.t, data))
    return new


def _with_first_read(lines: list[Line], data: bytes) -> list[Line]:
    """Upstream said nothing at all; now it does, right before it ends."""
    at = next((at for at, line in enumerate(lines) if line.kind == "end"), len(lines))
    t = lines[min(at, len(lines) - 1)].t if lines else 0.0
    return [*lines[:at], read_line(t, data), *lines[at:]]


def _cut(lines: Iterable[Line], size: int) -> list[Line]:
    """The lines up to the read that completes so many bytes, and a clean end."""
    kept: list[Line] = []
    length = last = 0  # bytes that came; lines to keep
    for line in lines:
        kind = line.kind
        if kind == "end" or (kind == "read" and length >= size):
            break
        data = line.data
        kept.append(line if length + len(data) <= size else read_line(line.t, data[: size - length]))
        length += len(data)
        if kind == "read" or not size:
            last = len(kept)
    kept = kept[:last]
    return [*kept, end_line(kept[-1].t if kept else 0.0, "eof")]
