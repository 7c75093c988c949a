"""The text of a new `workbench.toml`: every key explained, none of them set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from workbench.config.keys import PLAIN, PROMPTS, UPSTREAM, Key

_HEAD = """\
# Settings of the tool-call workbench. Flags win over the environment, and that wins over this file;
# `workbench config` shows what is in effect, and where it came from.
#
# Remove the "#" before a line that is to hold. Sizes are bytes or such as "2 GiB", durations are seconds.
"""
_UPSTREAMS = """\
# A server with models. There may be several: a model goes to the upstream that has its name in `models`, else
# to the first with a pattern in `serves` that fits, else to the default one. The only one is the default.
"""


def sample(url: str | None = None, dialect: str | None = None) -> str:
    """The file; with a URL its first upstream is in effect, with a dialect that, too."""
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
