"""The registration of a running proxy: where a viewer finds its URL and its control token."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from workbench import __version__


@dataclass(frozen=True, slots=True)
class Registration:
    pid: int
    url: str  # as clients use it, with /v1
    control: str  # of the control endpoints
    token: str
    started: float
    version: str = __version__


def folder(library: Path) -> Path:
    return library / "proxies"


def register(library: Path, registration: Registration) -> Path | None:
    """Write it down, for the owner only. A library that cannot be written to is the recorder's to report."""
    path = folder(library) / f"{registration.pid}.json"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(registration), file)
    except OSError:
        return None
    return path


def registered(library: Path) -> list[Registration]:
    """The proxies that run for this library, newest first. Those that died without a word are tidied away."""
    found: list[tuple[float, Registration]] = []
    for path in folder(library).glob("*.json"):
        try:
            registration = Registration(**json.loads(path.read_text(encoding="utf-8")))
            alive = is_alive(registration.pid)
            found += [(float(registration.started), registration)] if alive else []
        except (OSError, ValueError, TypeError, OverflowError):
            continue  # not one of ours, or still being written
        if not alive:
            _tidy(path)
    return [registration for _, registration in sorted(found, key=lambda pair: pair[0], reverse=True)]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _tidy(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
