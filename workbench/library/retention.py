"""Retention: the oldest tapes are deleted when they are too old, or when the total is too large; never one
that is marked or whose writer is still running.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workbench.library.tapefiles import PART, TapeEntry, is_marked, list_tapes
from workbench.tape.format import is_end_line

_DAY = 86400.0
# A tape without an end line that was written to this recently is assumed to be still running.
RECENT = 3600.0
_TAIL = 64 << 10


@dataclass(frozen=True, slots=True)
class Keep:
    """How much is kept."""

    days: float = 30
    bytes: int = 2 << 30


def expire(library: Path, keep: Keep, now: float | None = None) -> Iterator[str]:
    """Delete one tape after the other, yielding each: the caller may do something else in between.

    A tape with marks stays, and so does one that is still being written, by whichever process.
    """
    now = time.time() if now is None else now
    oldest = now - keep.days * _DAY
    size, too_old = _measured(library, oldest)
    excess = size - keep.bytes
    if excess <= 0 and not too_old:
        return
    emptied = set()
    for entry in list_tapes(library):
        if excess <= 0 and not too_old:
            break
        too_old -= entry.modified < oldest
        wanted = entry.modified < oldest or excess > 0
        if wanted and _may_go(library / entry.path, entry, now) and _delete(library / entry.path):
            excess -= entry.size
            emptied.add((library / entry.path).parent)
            yield entry.path
    for folder in emptied:
        _clear(folder, now)


def _measured(library: Path, oldest: float) -> tuple[int, int]:
    """The total size, and how many tapes are too old: usually nothing more is needed."""
    size = too_old = 0
    for entry in list_tapes(library):
        size += entry.size
        too_old += entry.modified < oldest
    return size, too_old


def _clear(folder: Path, now: float) -> None:
    """Remove an empty folder, and leftovers of a killed process in it."""
    with suppress(OSError):
        for part in folder.glob(f".*{PART}"):
            if now - part.stat().st_mtime > RECENT:
                part.unlink()
        folder.rmdir()  # fails where it is not empty, which is the usual case


def is_running(tape: Path, modified: float, now: float) -> bool:
    """Whether it may still be being written."""
    return now - modified < RECENT and not _has_end(tape)


def _may_go(tape: Path, entry: TapeEntry, now: float) -> bool:
    # Checked again: it may have been marked since the list was made.
    return not entry.marked and not is_running(tape, entry.modified, now) and not is_marked(tape)


def _delete(tape: Path) -> bool:
    try:
        tape.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _has_end(tape: Path) -> bool:
    try:
        with tape.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            return is_end_line(file.read().rstrip().rpartition(b"\n")[2])
    except OSError:
        return False
