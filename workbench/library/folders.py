"""Where things are in a library: the folders, the names of tapes, and who may read them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

INDEX = "library.sqlite"
TAPES = "tapes"
SUFFIX = ".jsonl"
PART = ".part"  # of a tape whose first line is being written
_MARKS = ".marks.json"
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # none that is taken for another


@dataclass(frozen=True, slots=True)
class TapeEntry:
    """One tape as the file system knows it; `path` is relative to the library."""

    path: str
    size: int
    modified: float
    marked: bool


def make_folder(path: Path) -> None:
    """A folder for its owner alone. One that exists already is somebody's choice, and stays as it is."""
    with suppress(FileExistsError):
        try:
            os.mkdir(path, 0o700)
        except FileNotFoundError:
            make_folder(path.parent)
            os.mkdir(path, 0o700)
        os.chmod(path, 0o700)  # a strange umask may have taken our own rights away


def give_name(hidden: Path, path: Path) -> None:
    """A file that is complete appears under its name; FileExistsError when somebody was quicker."""
    try:
        os.link(hidden, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(17, "somebody was quicker", str(path)) from None
        hidden.rename(path)


def new_id() -> str:
    """Ten letters and digits: short enough to be typed, and no two of a million tapes get the same."""
    return "".join(_LETTERS[byte % 32] for byte in os.urandom(10))


def tape_path(started: float, id: str) -> str:
    """A tape's place. Local time: the folders are for people, who look for what they did this afternoon."""
    return datetime.fromtimestamp(started).strftime(f"{TAPES}/%Y-%m-%d/%H%M%S-{id}{SUFFIX}")


def id_of(path: str) -> str:
    """A tape's id, from its name; a file with a name of another kind is called by all of it."""
    stem = path.rpartition("/")[2].removesuffix(SUFFIX)
    time, dash, id = stem.partition("-")
    return id if dash and id and time.isdecimal() and len(time) == 6 else stem


def marks_of(tape: Path) -> Path:
    """The file with a person's marks; a tape that has one is never thrown away."""
    return tape.with_name(tape.name + _MARKS)


def is_marked(tape: Path) -> bool:
    """Whether a person wants to keep it."""
    return any(tape.with_name(name).exists() for name in _marks(tape.name))


def list_tapes(library: Path) -> Iterator[TapeEntry]:
    """Every tape there is, the oldest first. What vanishes meanwhile is passed over.

    Only names are held, and those of one day: a library may have any number of tapes.
    """
    for day in sorted(_names(library / TAPES)):
        folder = library / TAPES / day
        names = set(_names(folder))
        for name in sorted(names):
            if name.endswith(SUFFIX):
                with suppress(OSError):
                    found = os.stat(folder / name)
                    marked = not names.isdisjoint(_marks(name))
                    yield TapeEntry(f"{TAPES}/{day}/{name}", found.st_size, found.st_mtime, marked)


def _marks(name: str) -> tuple[str, str]:
    return name + _MARKS, name.removesuffix(SUFFIX) + _MARKS


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
