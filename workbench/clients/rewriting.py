"""A new version of somebody's file: shown first, written at once, the old one kept beside it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from workbench.errors import UserError
from workbench.output import Painted
from workbench.readable import painted_difference

_PRIVATE = 0o600  # such files tend to hold keys


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What a file holds (None: there is none yet) and what it is to hold."""

    path: Path
    before: bytes | None
    after: bytes

    def difference(self) -> Iterator[list[Painted]]:
        """A unified diff."""
        before = (self.before or b"").decode("utf-8", "replace").splitlines()
        after = self.after.decode("utf-8", "replace").splitlines()
        return painted_difference(before, after, str(self.path), f"{self.path} (new)")

    def carry_out(self, now: datetime) -> Path | None:
        """Write it; the result is where the old version is now."""
        try:
            if read_if_there(self.path) != self.before:
                raise UserError(f"{self.path} was changed meanwhile; nothing was written, run it again")
            target = self.path.resolve()
            if self.before is None:
                target.parent.mkdir(parents=True, exist_ok=True)
                _replace(target, self.after, _PRIVATE)
                return None
            mode = target.stat().st_mode & 0o7777
            backup = _free(self.path.with_name(f"{self.path.name}.bak-{now:%Y%m%d-%H%M%S}"))
            _replace(backup, self.before, mode)
            _replace(target, self.after, mode)
            return backup
        except OSError as error:
            raise UserError(f"cannot write {error.filename or self.path}: {error.strerror}") from None


def read_if_there(path: Path) -> bytes | None:
    """The bytes of a file; None, when there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Whoever reads the file meanwhile gets all of the old version or all of the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
