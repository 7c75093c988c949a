"""`workbench` and `workbench attach`: the screen."""

from __future__ import annotations

import sys
from pathlib import Path

from workbench.config.reading import read_settings
from workbench.config.settings import Flags
from workbench.errors import UserError


def ui(flags: Flags) -> int:
    """With the proxy as a child process, or attached to the one that runs already."""
    _needs_terminal("`workbench serve` runs the proxy without one")
    from workbench.ui.app import run_live

    return run_live(flags)


def attach(library: str | None) -> int:
    """A library that another process writes."""
    _needs_terminal("`workbench library list` lists the tapes without one")
    folder = Path(library) if library else read_settings(Flags()).library
    if not folder.is_dir():
        raise UserError(f"there is no library in {folder}; --library names another folder")
    from workbench.ui.app import run_attached

    return run_attached(folder)


def on_terminal() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty())


def _needs_terminal(instead: str) -> None:
    if not on_terminal():
        raise UserError(f"the screen needs a terminal; {instead}")
