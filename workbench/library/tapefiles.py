"""The files of a library: folders, names, permissions, whether their writers still run, and a tape file that
only ever has whole lines.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from workbench.system import NEW_FILE, is_running, make_private, read_at

INDEX = "library.sqlite"
TAPES = "tapes"
SUFFIX = ".jsonl"
PART = ".part"  # of a tape whose first line is being written
_MARKS = ".marks.json"
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # without letters that look alike


@dataclass(frozen=True, slots=True)
class TapeEntry:
    """One tape as the file system knows it; `path` is relative to the library."""

    path: str
    size: int
    modified: float
    marked: bool


def make_folder(path: Path) -> None:
    """A folder for its owner alone. One that exists already was the user's choice, and stays as it is."""
    with suppress(FileExistsError):
        try:
            os.mkdir(path, 0o700)
        except FileNotFoundError:
            make_folder(path.parent)
            os.mkdir(path, 0o700)
        os.chmod(path, 0o700)  # an unusual umask may have removed our own permissions


def give_name(hidden: Path, path: Path) -> None:
    """A file that is complete appears under its name; FileExistsError when another process was quicker."""
    try:
        os.link(hidden, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(17, "another process was quicker", str(path)) from None
        hidden.rename(path)


def new_id() -> str:
    """Ten letters and digits: short enough to be typed, and no two of a million tapes get the same."""
    return "".join(_LETTERS[byte % 32] for byte in os.urandom(10))


def tape_path(started: float, id: str) -> str:
    """A tape's place. Local time: the folders are for people, who look for what they did this afternoon."""
    return datetime.fromtimestamp(started).strftime(f"{TAPES}/%Y-%m-%d/%H%M%S-{id}{SUFFIX}")


def id_of(path: str) -> str:
    """A tape's id, from its name; for any other file name, all of it."""
    stem = path.rpartition("/")[2].removesuffix(SUFFIX)
    time, dash, id = stem.partition("-")
    return id if dash and id and time.isdecimal() and len(time) == 6 else stem


def tape_with_id(library: Path, id: str) -> Path | None:
    """The tape with this id, the newest folders first; names alone are looked at."""
    for day in sorted(_names(library / TAPES), reverse=True) if id.isalnum() else ():
        folder = library / TAPES / day
        found = next((name for name in _names(folder) if name.endswith(f"-{id}{SUFFIX}")), None)
        if found is not None:
            return folder / found
    return None


def is_alive(pid: int | None) -> bool:
    """Whether the process that writes a tape, or serves this library, still runs, whichever user owns it."""
    return pid is not None and pid > 0 and is_running(pid)


def marks_of(tape: Path) -> Path:
    """The file with a person's marks; a tape that has one is never deleted."""
    return tape.with_name(tape.name + _MARKS)


def is_marked(tape: Path) -> bool:
    """Whether a person wants to keep it."""
    return any(tape.with_name(name).exists() for name in _marks(tape.name))


def marks_files(tape: Path) -> list[Path]:
    """The files beside a tape in which a person's notes may be."""
    return [tape.with_name(name) for name in _marks(tape.name)]


def list_tapes(library: Path) -> Iterator[TapeEntry]:
    """Every tape there is, the oldest first. Tapes that vanish meanwhile are skipped.

    Only files in real folders of the library: a link may lead out of it, to files that are not ours to
    delete, and opening a pipe would block for ever. Only the names of one day are in memory at a time: a
    library may have any number of tapes.
    """
    for day in sorted(_names(library / TAPES)):
        folder = library / TAPES / day
        names = set(_names(folder))
        for name in sorted(names):
            if name.endswith(SUFFIX):
                with suppress(OSError):
                    found = os.lstat(folder / name)
                    if not stat.S_ISREG(found.st_mode):
                        continue
                    marked = not names.isdisjoint(_marks(name))
                    yield TapeEntry(f"{TAPES}/{day}/{name}", found.st_size, found.st_mtime, marked)


def _marks(name: str) -> tuple[str, str]:
    return name + _MARKS, name.removesuffix(SUFFIX) + _MARKS


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder) if stat.S_ISDIR(os.lstat(folder).st_mode) else []
    except OSError:
        return []


def is_file(path: Path) -> bool:
    """Whether it is a file, and not a link, a pipe or a device, which a stranger may have left there."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def is_real_file(path: Path) -> bool:
    """Whether it is a file in a real folder. Links may lead out of a library that a stranger made."""
    return is_file(path) and not path.parent.is_symlink()


_PIECE = 1 << 20
_LOOK_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class LetGo:
    """A file that was given up: its first line, and how much there was after it."""

    header: bytes
    lines: int
    size: int


class TapeFile:
    """Appends lines. Not thread-safe: a tape has one writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._fd = -1
        self.let_go: LetGo | None = None
        self._torn = False
        self._looked = 0.0

    @property
    def exists(self) -> bool:
        return self._fd >= 0

    def create(self, header: bytes) -> None:
        """The file with its first line. FileExistsError when there is a tape of this name already."""
        self._fd = _create(self.path, [header])
        self.size, self._looked = len(header), time.monotonic()

    def append(self, data: bytes | bytearray) -> tuple[int, OSError | None]:
        """How many of these lines are in the file now, and what prevented the others."""
        if error := self.look():
            return 0, error
        torn = self._torn
        if self._torn:
            # Half a line could not be removed; with a line feed after it, only one line is damaged, not two.
            data = b"\n" + data
        try:
            _write_all(self._fd, data)
        except _ShortWriteError as short:
            whole = data.rfind(b"\n", 0, short.written) + 1
            self._keep(whole, short.written)
            return data.count(b"\n", torn, whole), short
        self._torn = False
        self.size += len(data)
        return data.count(b"\n", torn), None

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _keep(self, whole: int, written: int) -> None:
        """Keeps only whole lines of what was written."""
        self._torn = self._torn and not whole
        if written > whole:
            try:
                os.ftruncate(self._fd, self.size + whole)
            except OSError:
                self._torn, whole = True, written
        self.size += whole

    def look(self) -> OSError | None:
        """A deleted file still accepts bytes, which are lost: put it back where it belongs."""
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY:
            return None
        try:
            if os.fstat(self._fd).st_nlink == 0:
                self._put_back()
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                self._let_go()
            return error
        self._looked = now
        return None

    def _put_back(self) -> None:
        fd = _create(self.path, _pieces(self._fd))
        os.close(self._fd)
        self._fd = fd

    def _let_go(self) -> None:
        """A deleted open file still uses disk space: close it, keep its header for a new one."""
        header, lines = b"", 0
        for piece in _pieces(self._fd):
            if not lines:
                header += piece
            lines += piece.count(b"\n")
        header = header[: header.index(b"\n") + 1]
        self.let_go = LetGo(header, lines - 1, self.size - len(header))
        self.close()
        self.size, self._torn = 0, False


class _ShortWriteError(OSError):
    """Not everything could be written."""

    def __init__(self, error: OSError, written: int) -> None:
        super().__init__(error.errno, error.strerror)
        self.written = written


def _create(path: Path, pieces: Iterable[bytes]) -> int:
    """A new file with this in it. It gets its name last: half a first line would be a tape that cannot be
    opened, if the disk is full or the process is killed meanwhile."""
    hidden = path.with_name(f".{path.name}{PART}")
    fd = _open(hidden)
    try:
        for piece in pieces:
            _write_all(fd, piece)
        give_name(hidden, path)
    except BaseException:
        os.close(fd)
        raise
    finally:
        with suppress(OSError):
            hidden.unlink()
    return fd


def _open(path: Path) -> int:
    for _ in range(3):
        make_folder(path.parent)
        # Another process's retention may remove the empty folder between these two lines.
        with suppress(FileNotFoundError):
            fd = os.open(path, NEW_FILE, 0o600)
            make_private(fd)  # an unusual umask may have removed our own permissions
            return fd
    raise FileNotFoundError(2, "the folder vanishes as soon as it is made", str(path.parent))


def _pieces(fd: int) -> Iterator[bytes]:
    at = 0
    while piece := read_at(fd, _PIECE, at):
        yield piece
        at += len(piece)


def _write_all(fd: int, data: bytes | bytearray) -> None:
    written = 0
    try:
        written = os.write(fd, data)
        while written < len(data):
            written += os.write(fd, memoryview(data)[written:])
    except OSError as error:
        raise _ShortWriteError(error, written) from None
