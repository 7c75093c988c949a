"""`workbench config`: the settings in effect."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.config.reading import read_settings
from workbench.config.report import Row, rows, unread_variables
from workbench.config.settings import Flags, Settings
from workbench.output import Painted, say, write, write_painted
from workbench.visible import json_text


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
