"""`workbench`, `workbench attach` and `workbench serve`: the proxy with a screen, a screen for one that
runs, the proxy alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.breakpoints import parse
from workbench.cli.exchangelog import ExchangeLog
from workbench.cli.printing import on_terminal, write
from workbench.config.reading import read_settings
from workbench.config.settings import Flags, Settings
from workbench.errors import UserError
from workbench.proxy.guard import check_settings
from workbench.text import say


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What `serve` says of each exchange, and where; `file` None: on standard error."""

    verbose: bool = False
    quiet: bool = False
    file: str | None = None
    as_json: bool = False


_USUAL = LogOptions()


def serve(
    flags: Flags,
    log: LogOptions = _USUAL,
    breakpoints: Sequence[str] = (),
    workers: int = 1,
) -> int:
    """Run it. What is wrong with the settings is said before anything is opened."""
    for text in breakpoints:
        parse(text)
    settings = read_settings(flags)
    check_settings(settings)

    def announce(url: str) -> None:
        _announce(settings, url)

    def open_log() -> ExchangeLog | None:
        if log.quiet and log.file is None:
            return None
        return ExchangeLog(log.file, as_json=log.as_json, verbose=log.verbose)

    if workers > 1:
        from workbench.proxy.workers import serve_workers

        return serve_workers(settings, workers, announce, open_log, breakpoints)
    from workbench.proxy.server import serve as run

    return run(settings, announce, open_log, breakpoints)


def _announce(settings: Settings, url: str) -> None:
    upstream = settings.upstreams[settings.default] if settings.default else None
    where = f" -> {upstream.url} ({upstream.dialect})" if upstream is not None else ""
    write(f"workbench serves {url}{where}; tapes in {settings.library}\n".encode())
    for warning in settings.warnings:
        say(f"warning: {warning}", "yellow")


def ui(flags: Flags) -> int:
    """With the proxy as a child process, or attached to the one that runs already."""
    _needs_terminal("`workbench serve` runs the proxy without one")
    from workbench.ui.app import run_live

    return run_live(flags)


def attach(library: str | None) -> int:
    """A library that another process writes."""
    _needs_terminal("`workbench library list` lists the tapes without one")
    folder = Path(library) if library else read_settings(Flags()).library
    if not os.path.isdir(folder):
        raise UserError(f"there is no library in {folder}; --library names another folder")
    from workbench.ui.app import run_attached

    return run_attached(folder)


def _needs_terminal(instead: str) -> None:
    if not on_terminal():
        raise UserError(f"the screen needs a terminal; {instead}")
