"""`workbench config`: the settings in effect; `workbench init`: a first `workbench.toml`, every line of it
explained.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from workbench.cli.output import Painted, write, write_painted
from workbench.config.reading import config_file, read_settings
from workbench.config.report import Row, rows, sample, unread_variables
from workbench.config.settings import UPSTREAM, Flags, Settings
from workbench.errors import UserError
from workbench.files import replace_file
from workbench.text import json_text, say

_MODE = 0o644  # it names the variables of keys, and holds none


def config(flags: Flags, as_json: bool) -> int:
    """Print each setting with where it came from; what looks wrong goes to standard error."""
    settings = read_settings(flags)
    found = list(rows(settings))
    warnings = [*settings.warnings, *unread_variables()]
    if as_json:
        write(_json(settings, found, warnings).encode("utf-8"))
        return 0
    write_painted(_table(found))
    if settings.file is None:
        say("note there is no workbench.toml here; `workbench init` writes one", "cyan")
    for warning in warnings:
        say(f"warning {warning}", "yellow")
    return 0


def _json(settings: Settings, found: Sequence[Row], warnings: Sequence[str]) -> str:
    file = None if settings.file is None else str(settings.file)
    values = {row.name: {"value": row.value, "from": row.origin} for row in found}
    return json_text({"file": file, "settings": values, "warnings": warnings}, indent=2) + "\n"


def _table(found: Sequence[Row]) -> list[list[Painted]]:
    names = max(len(row.name) for row in found)
    # A long value makes its own line longer, not every line.
    values = max(len(row.shown) for row in found if len(row.shown) <= 40)
    return [
        [
            Painted(f"{row.name:{names}}  ", "cyan"),
            Painted(f"{row.shown:{values}}  "),
            Painted(row.origin, None if row.origin == "default" else "green"),
        ]
        for row in found
    ]


def init(upstream: str | None, dialect: str | None, force: bool) -> int:
    """Write the file that every other command reads."""
    url = None if upstream is None else UPSTREAM["url"].read(upstream, "--upstream")
    said = None if dialect is None else UPSTREAM["dialect"].read(dialect, "--dialect")
    file = config_file()
    if os.path.lexists(file) and not force:
        raise UserError(f"{file} is already there; --force replaces it by a new one")
    try:
        # In one step: where there is no room, the old one stays, or none.
        replace_file(Path(os.path.realpath(file)), sample(url, said).encode("utf-8"), _MODE)
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}") from None
    say(f"wrote {file}; `workbench config` shows what is in effect")
    return 0
