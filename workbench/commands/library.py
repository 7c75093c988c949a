"""`workbench library`: what is recorded, as a table, and its index made anew."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Literal, TypeAlias

from workbench.commands.tapetable import tape_table
from workbench.config.reading import read_settings
from workbench.config.settings import Flags
from workbench.errors import UserError
from workbench.library.folders import TAPES
from workbench.library.moments import parse_moment
from workbench.library.rebuilding import rebuild
from workbench.library.viewer import Filter, Library
from workbench.output import say, write, write_painted
from workbench.visible import json_text

State: TypeAlias = Literal["running", "done", "eof", "error", "cancelled", "cut", "damaged"]


def library_list(
    library: str | None = None,
    model: str | None = None,
    upstream: str | None = None,
    dialect: str | None = None,
    finding: str | None = None,
    session: str | None = None,
    since: str | None = None,
    state: State | None = None,
    limit: int = 50,
    as_json: bool = False,
) -> int:
    """Print the newest tapes: a table, or one JSON object a line. A `limit` of 0 means all of them."""
    if limit < 0:
        raise UserError("--limit is a number of tapes, 0 for all of them")
    moment = None if since is None else parse_moment(since, time.time())
    wanted = Filter(model, upstream, dialect, session, finding=finding, state=state, since=moment)
    with Library(_folder(library)) as opened:
        rows = opened.rows(wanted, limit + 1 if limit else None)
    shown = rows[:limit] if limit else rows
    if as_json:
        files = [asdict(row) | {"file": str(opened.folder.absolute() / row.path)} for row in shown]
        write("".join(json_text(file) + "\n" for file in files).encode("utf-8"))
    elif shown:
        write_painted(tape_table(shown, _width()))
    if not shown:
        say("there are no tapes yet" if wanted == Filter() else "no tape fits all of these conditions")
    elif len(rows) > len(shown):
        say(f"these are the newest {limit}; --limit 0 lists them all")
    return 0


def library_rebuild(library: str | None = None) -> int:
    """Make the index anew from the tapes; the exit code is 1 when one of them cannot be read."""
    folder = _folder(library)
    if not (folder / TAPES).is_dir():
        raise UserError(f"there are no tapes in {folder}; --library names another folder")
    try:
        done = rebuild(folder, _progress)
    except (sqlite3.Error, OSError) as error:
        raise UserError(f"the index of {folder} cannot be written: {error}") from None
    damaged = f", {done.damaged} of them cannot be read (--state damaged lists them)" if done.damaged else ""
    say(f"{done.tapes} tape{'' if done.tapes == 1 else 's'} in the index of {folder}{damaged}")
    return int(done.damaged > 0)


def _folder(library: str | None) -> Path:
    return read_settings(Flags(library=library)).library


def _width() -> int | None:
    """Of the terminal; what goes into a file is not cut."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def _progress(done: int, of: int) -> None:
    """One line that counts, only where somebody watches."""
    if sys.stderr is not None and sys.stderr.isatty() and (done == of or not done % 10):
        sys.stderr.write(f"\r{done} of {of} tapes read{os.linesep if done == of else ''}")
        sys.stderr.flush()
