"""The registration of a running proxy, by which a viewer finds its URL and its control token."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from workbench import __version__
from workbench.library.tapefiles import is_alive, is_file
from workbench.system import is_own, is_running


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
    """Write the file, for the owner only. If the library cannot be written to, the recorder reports it."""
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


_NOT_OURS = (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)


def registered(library: Path) -> list[Registration]:
    """The proxies that run for this library, newest first. The file of one that was killed is removed."""
    found: list[tuple[float, Registration]] = []
    for path in folder(library).glob("*.json"):
        if not is_file(path):
            continue
        try:
            registration = Registration(**json.loads(path.read_text(encoding="utf-8")))
            alive = is_alive(registration.pid)
            ours = alive and _is_ours(path, registration)
            found += [(float(registration.started), registration)] if ours else []
        except _NOT_OURS:
            continue  # not one of ours, or still being written
        if not alive:
            with contextlib.suppress(OSError):
                path.unlink()
    return [registration for _, registration in sorted(found, key=lambda pair: pair[0], reverse=True)]


def _is_ours(path: Path, registration: Registration) -> bool:
    """A library may be a stranger's, and must not be able to redirect requests: the file and the
    process are the user's own, and the address is one of this machine."""
    if not is_own(path):
        return False
    return (
        is_running(registration.pid, own=True)
        and _is_here(registration.url)
        and _is_here(registration.control)
    )


def _is_here(url: str) -> bool:
    address = urlsplit(url)
    host = address.hostname or ""
    if address.scheme != "http":
        return False
    if host == "localhost":
        return True
    try:
        ip = ipaddress.ip_address(host)
        family = socket.AF_INET if ip.version == 4 else socket.AF_INET6
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0))  # only an address of this machine can be bound
    except (ValueError, OSError):
        return False
    return not ip.is_multicast and not ip.is_unspecified
