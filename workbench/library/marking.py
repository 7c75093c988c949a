"""Marking: the index learns that a person has marked one of its tapes."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from workbench.library.folders import INDEX, TAPES, is_marked
from workbench.library.index import Index

_WAIT = 0.5  # somebody sits before the screen


def tell_index(tape: Path) -> None:
    """Whether it has marks now. A tape outside a library has no index, and one that is busy learns of it
    when it is made anew: the file beside the tape is what counts."""
    tape = tape.absolute()
    if len(tape.parents) < 3 or tape.parents[1].name != TAPES:
        return
    library = tape.parents[2]
    if not (library / INDEX).exists():
        return
    with suppress(sqlite3.Error, OSError):
        index = Index(library, _WAIT)
        try:
            index.mark(tape.relative_to(library).as_posix(), is_marked(tape))
        finally:
            index.close()
