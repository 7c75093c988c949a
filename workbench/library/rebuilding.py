"""Rebuilding: the index made true to the tapes again, while proxies go on writing."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.library.folders import INDEX, TapeEntry, list_tapes
from workbench.library.index import Index
from workbench.library.processes import is_alive
from workbench.library.summary import summarise


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """How it went."""

    tapes: int
    damaged: int


def rebuild(library: Path, progress: Callable[[int, int], None] = lambda done, of: None) -> Rebuilt:
    """Read every tape, then replace the rows in one transaction: until then everybody sees the old ones."""
    read_at = time.time()
    entries = list(list_tapes(library))
    rows: list[dict[str, Any]] = []
    for entry in entries:
        progress(len(rows), len(entries))
        rows.append(summarise(library, entry))
    progress(len(rows), len(entries))
    rows = [row for row in rows if (library / row["path"]).exists()]
    index = _open(library)
    try:
        # Who writes a tape knows more about it than can be read there.
        index.replace(rows, read_at, [path for path, pid in index.running() if is_alive(pid)])
    finally:
        index.close()
    return Rebuilt(len(rows), sum(row.get("state") == "damaged" for row in rows))


def reconcile(library: Path, index: Index) -> list[TapeEntry]:
    """Drop the rows of tapes that somebody has deleted. The result are tapes without a row, the newest first:
    who wrote them was killed before the index knew."""
    entries = {entry.path: entry for entry in list_tapes(library)}
    known = dict(index.paths())
    missing = [path for path, state in known.items() if path not in entries and state != "running"]
    # Looked at once more: one may have begun since they were listed.
    index.remove([path for path in missing if not (library / path).exists()])
    return [entry for path, entry in reversed(entries.items()) if path not in known]


def _open(library: Path) -> Index:
    try:
        return Index(library, wait=30)
    except sqlite3.OperationalError:  # locked, or not writable: the file itself is well
        raise
    except sqlite3.DatabaseError:
        # No index, or another version's: nothing in it that the tapes do not say. Proxies notice and follow.
        for side in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                (library / f"{INDEX}{side}").unlink()
        return Index(library, wait=30)
