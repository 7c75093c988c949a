"""The file of a tape: only whole lines are ever in it, whatever the disk does."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from workbench.library.folders import PART, give_name, make_folder

_PIECE = 1 << 20
_LOOK_EVERY = 1.0


class TapeFile:
    """Appends lines. Not thread-safe: a tape has one writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._fd = -1
        self._torn = False
        self._looked = 0.0

    @property
    def exists(self) -> bool:
        return self._fd >= 0

    def create(self, header: bytes) -> None:
        """The file with its first line. FileExistsError when somebody else has a tape of this name."""
        self._fd = _create(self.path, [header])
        self.size, self._looked = len(header), time.monotonic()

    def append(self, data: bytes | bytearray) -> tuple[int, OSError | None]:
        """How many of these lines are in the file now, and what hindered the others."""
        if error := self._look():
            return 0, error
        torn = self._torn
        if self._torn:
            # Half a line could not be taken back; behind a line feed it is one damaged line, not two.
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
        """Of what was written only the whole lines stay."""
        self._torn = self._torn and not whole
        if written > whole:
            try:
                os.ftruncate(self._fd, self.size + whole)
            except OSError:
                self._torn, whole = True, written
        self.size += whole

    def _look(self) -> OSError | None:
        """A file that was deleted goes on taking bytes, into nowhere: put it back where it belongs."""
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY:
            return None
        try:
            if os.fstat(self._fd).st_nlink == 0:
                self._put_back()
        except OSError as error:
            return error
        self._looked = now
        return None

    def _put_back(self) -> None:
        fd = _create(self.path, _pieces(self._fd))
        os.close(self._fd)
        self._fd = fd


class _ShortWriteError(OSError):
    """Not everything could be written."""

    def __init__(self, error: OSError, written: int) -> None:
        super().__init__(error.errno, error.strerror)
        self.written = written


def _create(path: Path, pieces: Iterable[bytes]) -> int:
    """A new file with this in it. It gets its name last: half a first line would be a tape that nobody can
    open, should the disk be full, or the process be killed meanwhile."""
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
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
    for _ in range(3):
        make_folder(path.parent)
        # Another process's retention may remove the empty folder between these two lines.
        with suppress(FileNotFoundError):
            fd = os.open(path, flags, 0o600)
            os.fchmod(fd, 0o600)  # a strange umask may have taken our own rights away
            return fd
    raise FileNotFoundError(2, "the folder vanishes as soon as it is made", str(path.parent))


def _pieces(fd: int) -> Iterator[bytes]:
    at = 0
    while piece := os.pread(fd, _PIECE, at):
        yield piece
        at += len(piece)


def _write_all(fd: int, data: bytes | bytearray) -> None:
    written = 0
    view = memoryview(data)
    try:
        while written < len(data):
            written += os.write(fd, view[written:])
    except OSError as error:
        raise _ShortWriteError(error, written) from None
