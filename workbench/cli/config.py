"""`workbench config`: the settings in effect; `workbench init`: a first `workbench.toml`, every line of it
explained.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.cli.printing import Painted, write, write_painted
from workbench.config.kinds import BODY, nearest
from workbench.config.reading import VARIABLE, config_file, read_settings
from workbench.config.settings import CHOSEN, PLAIN, PREFIX, PROMPTS, UPSTREAM, Flags, Key, Settings, Upstream
from workbench.errors import UserError
from workbench.files import replace_file
from workbench.recording.redaction import Redaction
from workbench.text import json_text, say

_MODE = 0o644  # it names the variables of keys, and holds none


def config(flags: Flags, as_json: bool) -> int:
    """Print each setting with its origin; warnings go to standard error."""
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
        raise UserError(f"{file} is already there; --force replaces it with a new one")
    try:
        # In one step: if the disk is full, the old one stays, or none.
        replace_file(Path(os.path.realpath(file)), sample(url, said).encode("utf-8"), _MODE)
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}") from None
    say(f"wrote {file}; `workbench config` shows what is in effect")
    return 0


# -- every setting with its origin

_OTHERS = (VARIABLE, "WORKBENCH_TRACEBACK")


@dataclass(frozen=True, slots=True)
class Row:
    """One setting; `value` is fit for JSON, `shown` for a person. Neither holds a secret."""

    name: str
    value: Any
    shown: str
    origin: str


def rows(settings: Settings) -> Iterator[Row]:
    """Every setting in the order of the key table, then every upstream's."""
    for key in [*PLAIN.values(), PROMPTS]:
        yield _row(key.name, key, getattr(settings, key.name), settings.origins)
    for name, upstream in settings.upstreams.items():
        yield from _upstream_rows(f"upstreams.{name}", upstream, settings.origins)


def _upstream_rows(place: str, upstream: Upstream, origins: Mapping[str, str]) -> Iterator[Row]:
    for key in UPSTREAM.values():
        name, value = f"{place}.{key.name}", getattr(upstream, key.name)
        if key.name == "policy":
            switches = upstream.policy.said()
            for switch, said in switches.items():
                yield Row(f"{name}.{switch}", said, _said(said), origins[f"{name}.{switch}"])
            if not switches:
                yield Row(name, {}, "as the dialect", origins[name])
        elif key.name == "api_key_env" and value:
            state = "set" if upstream.api_key else "not set"
            yield Row(name, {"variable": value, "state": state}, f"{value} ({state})", origins[name])
        elif key.name == "template_tool_choice" and value is None:
            yield Row(name, "omit", "omit", origins[name])
        elif key.name == "speaks" and value is None:
            yield Row(name, None, "as the dialect", origins[name])
        else:
            yield _row(name, key, value, origins)


def _row(name: str, key: Key, value: Any, origins: Mapping[str, str]) -> Row:
    if value is None or value in ((), {}):
        return Row(name, _plain(value), "(none)", origins[name])
    if key.secret:
        # The names of headers are shown, of anything else not even that.
        state = dict.fromkeys(value, "set") if isinstance(value, Mapping) else "set"
        return Row(name, state, "set" if state == "set" else f"{', '.join(state)} (set)", origins[name])
    # A body may hold a credential, too, under a name that says so.
    value = Redaction().value(value) if key.kind is BODY else value
    return Row(name, _plain(value), key.kind.show(value), origins[name])


def _said(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value


def unread_variables() -> Iterator[str]:
    """A sentence for each variable whose name is probably a typo; others may belong to another program."""
    known = [key.variable for key in PLAIN.values()] + [CHOSEN.variable, *_OTHERS]
    for name in sorted(os.environ):
        if name.startswith(PREFIX) and name not in known and (near := nearest(name, known, 0.8)):
            yield f"{name} is not read; did you mean {near}?"


# -- a new file

_HEAD = """\
# Settings of the tool-call workbench. Flags win over the environment, and that wins over this file;
# `workbench config` shows what is in effect, and where it came from.
#
# Remove the "#" before a setting to put it into effect. Sizes are bytes or such as "2 GiB", times seconds.
"""
_UPSTREAMS = """\
# A server with models. There may be several: a model goes to the upstream that has its name in `models`, else
# to the first with a pattern in `serves` that fits, else to the default one. The only one is the default.
"""


def sample(url: str | None = None, dialect: str | None = None) -> str:
    """The file. A URL or a dialect given here is in effect; all else is commented out."""
    return "\n".join(_blocks(url, dialect)) + "\n"


def _blocks(url: str | None, dialect: str | None) -> Iterator[str]:
    yield _HEAD
    for key in PLAIN.values():
        said = {"dialect": dialect} if url is None else {}
        flag = f" or {key.flag}" if key.flag else ""
        yield "\n".join(_lines(replace(key, about=f"{key.about} ({key.variable}{flag})"), said)) + "\n"
    yield f"# {PROMPTS.about}\n#[{PROMPTS.name}]\n#{PROMPTS.example.strip('{} ')}\n"
    # The name of the commented one is the example of `default`, so that the two fit together.
    name = PLAIN["default"].example.strip('"') if url is None else "main"
    yield f"{_UPSTREAMS}{'#' if url is None else ''}[upstreams.{name}]"
    for key in UPSTREAM.values():
        yield "\n".join(_lines(key, {"url": url, "dialect": dialect if url else None}))


def _lines(key: Key, said: Mapping[str, str | None]) -> Iterator[str]:
    yield f"# {key.about}"
    value = said.get(key.name)
    # A TOML string of printable characters is written as in JSON.
    yield f"#{key.name} = {key.example}" if value is None else f"{key.name} = {json.dumps(value)}"
