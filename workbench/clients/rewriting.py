"""A new version of somebody's file: shown first, written at once, the old one kept beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from workbench.atomicfile import PRIVATE, replace_file
from workbench.errors import UserError
from workbench.output import Painted
from workbench.readable import painted_difference


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
                replace_file(target, self.after, PRIVATE)  # such files tend to hold keys
                return None
            mode = target.stat().st_mode & 0o7777
            backup = _free(self.path.with_name(f"{self.path.name}.bak-{now:%Y%m%d-%H%M%S}"))
            replace_file(backup, self.before, mode)
            replace_file(target, self.after, mode)
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
