"""Marks: a user's notes at steps, stored beside the tape, or in our own folder if it is outside a library."""

from __future__ import annotations

import json
import os
from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2s
from pathlib import Path
from typing import Any, TypeGuard

from workbench.errors import UserError
from workbench.files import PRIVATE, replace_file
from workbench.library.index import library_of, tell_index
from workbench.library.tapefiles import is_file, make_folder, marks_of
from workbench.replay.player import Player
from workbench.text import json_text

VERSION = 1
_LARGEST = 16 << 20  # bytes: more than any user's notes take
_LIMIT = 1 << 53


@dataclass(frozen=True, slots=True)
class Mark:
    """A note at a step. `read` and `time` say where that is, in case today's code makes other steps."""

    step: int
    note: str = ""
    read: int = -1  # the last that had come
    time: float = 0.0
    byte: int | None = None

    def found(self, player: Player) -> int | None:
        """The step where it is now; None: the tape has not reached it yet."""
        step = self.step
        if step < player.steps and (step < 0 or player.last_read(step) == self.read):
            return step
        if 0 <= self.read < player.reads:
            return player.step_of_read(self.read)
        return player.steps - 1 if player.complete else None


def mark_at(player: Player, step: int, note: str, byte: int | None = None) -> Mark:
    """A mark at a step of this tape."""
    if step < 0:
        return Mark(-1, note, byte=byte)
    return Mark(step, note, player.last_read(step), player.time(player.item(*player.place(step))), byte)


class Marks:
    """The marks of one tape, by their steps, with the breakpoints that go with it.

    A tape with such a file is never deleted. `problem` says why the file beside it could not be read;
    an unreadable file is left untouched. Without a tape nothing is kept.
    `elsewhere` is the folder for the marks of tapes that are in no library; None: they are stored beside
    their tapes. An existing file beside a tape is still used.
    """

    def __init__(self, tape: Path | None = None, elsewhere: Path | None = None) -> None:
        self.tape = tape
        self.path = None if tape is None else _place(tape, elsewhere)
        self.marks: list[Mark] = []
        self.breakpoints: list[str] = []
        self.problem: str | None = None
        self._other: dict[str, Any] = {}  # what a later version may have added
        self._data = self._read()
        if self._data is not None:
            self._load(self._data)

    # -- what is marked

    def at(self, step: int) -> Mark | None:
        place = self._place(step)
        return self.marks[place] if place is not None else None

    def put(self, mark: Mark) -> None:
        """Add it; a step has one mark."""
        self.remove(mark.step)
        insort(self.marks, mark, key=lambda one: one.step)

    def remove(self, step: int) -> None:
        place = self._place(step)
        if place is not None:
            del self.marks[place]

    def _place(self, step: int) -> int | None:
        place = bisect_left(self.marks, step, key=lambda mark: mark.step)
        return place if place < len(self.marks) and self.marks[place].step == step else None

    # -- the file

    def save(self) -> None:
        """Write them to the file; if nothing is left, the file is removed. A UserError says why that
        failed."""
        if self.tape is None or self.path is None:
            return
        if self.problem is not None:
            raise UserError(f"the marks are not kept: {self.problem}")
        if self._read() != self._data:
            raise UserError(f"{self.path} was changed meanwhile; open the tape again to see what it says")
        data = self._dump() if self.marks or self.breakpoints or self._other else None
        try:
            if data is None:
                self.path.unlink(missing_ok=True)
            elif data != self._data:
                if not self.path.parent.exists():
                    make_folder(self.path.parent)
                replace_file(self.path, data, _mode(self.tape))
        except OSError as error:
            raise UserError(f"the marks cannot be kept in {self.path}: {error.strerror}") from None
        self._data = data
        tell_index(self.tape)

    def _dump(self) -> bytes:
        marks = [_dumped(mark) for mark in self.marks]
        known = {"version": VERSION, "marks": marks, "breakpoints": self.breakpoints}
        return (json_text(known | self._other, indent=2) + "\n").encode("utf-8")

    def _read(self) -> bytes | None:
        try:
            if self.path is None or not self.path.exists():
                return None
            if not is_file(self.path):
                self.problem = f"{self.path} cannot be read: it is not a file"
                return None
            if self.path.stat().st_size > _LARGEST:
                self.problem = f"{self.path} is too large for a file of marks"
                return None
            return self.path.read_bytes()
        except OSError as error:
            self.problem = f"{self.path} cannot be read: {error.strerror}"
            return None

    def _load(self, data: bytes) -> None:
        value = _parsed(data)
        version = value.pop("version", None)
        if version != VERSION:
            said = "is not a file of marks" if version is None else f"has version {version!r}, not {VERSION}"
            self.problem = f"{self.path} {said}; it stays as it is"
            return
        marks, texts = (_listed(value.pop(key, [])) for key in ("marks", "breakpoints"))
        for mark in map(_loaded, marks):
            if mark is not None:
                self.put(mark)
        self.breakpoints = [text for text in texts if isinstance(text, str)]
        self._other = value
        if (len(self.marks), len(self.breakpoints)) != (len(marks), len(texts)):
            self.problem = f"{self.path} is damaged: what can be read of it is shown, and it stays as it is"


def _place(tape: Path, elsewhere: Path | None) -> Path:
    beside = marks_of(tape)
    if elsewhere is None or library_of(tape) is not None or beside.exists():
        return beside
    # Two tapes of the same name, in different folders, have marks of their own.
    where = blake2s(os.fsencode(tape.resolve()), digest_size=8).hexdigest()
    return elsewhere / f"{where}-{beside.name}"


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [None]


def _dumped(mark: Mark) -> dict[str, Any]:
    """Counted from 1, as the screen shows it."""
    place = {"step": mark.step + 1, "read": mark.read + 1, "time": round(mark.time, 6)}
    return place | ({} if mark.byte is None else {"byte": mark.byte}) | {"note": mark.note}


def _loaded(value: object) -> Mark | None:
    if not isinstance(value, Mapping):
        return None
    step, read, byte = (value.get(key) for key in ("step", "read", "byte"))
    note, time = value.get("note"), value.get("time")
    if not _counts(step) or not _counts(read) or not isinstance(note, str):
        return None
    seconds = float(time) if isinstance(time, int | float) and abs(time) < _LIMIT else 0.0
    return Mark(step - 1, note, read - 1, seconds, byte if _counts(byte) else None)


def _counts(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < _LIMIT


def _mode(tape: Path) -> int:
    """Anyone who may read the tape may read its marks."""
    try:
        return tape.stat().st_mode & 0o666
    except OSError:
        return PRIVATE
