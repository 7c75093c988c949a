"""`workbench connect`: what a client needs to use the proxy."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import typer

from workbench.cli import clients
from workbench.cli.clients import INSTRUCTIONS, TOKEN_VARIABLE, Endpoint, endpoint
from workbench.cli.output import painted_json, write, write_painted
from workbench.config.reading import read_settings
from workbench.errors import UserError
from workbench.text import say

Client: TypeAlias = Literal["opencode", "openai", "curl", "roo", "cline", "continue"]
_WITH_ENVIRONMENT = ("opencode", "openai", "curl")  # the others know only their own settings


def connect(client: Client, url: str | None, models: Sequence[str], into_file: bool, yes: bool) -> int:
    """Print it, or write it into the client's own configuration."""
    to = endpoint(read_settings(), url, models)
    if into_file:
        if client != "opencode":
            raise UserError(f"--write is for opencode; what {client} needs is printed without it")
        return _write(to, yes)
    if client == "opencode":
        write_painted(painted_json(clients.opencode_configuration(to)))
        say(f"note --write merges this into {clients.opencode_file()}", "cyan")
    else:
        write(INSTRUCTIONS[client](to).encode("utf-8"))
    if not to.models:
        say("note no model is configured: replace MODEL, or name yours with --model", "cyan")
    _tell(to, client)
    return 0


def _tell(to: Endpoint, client: Client) -> None:
    for note in _notes(to, client):
        say(f"note {note}", "cyan")


def _notes(to: Endpoint, client: Client) -> Iterator[str]:
    if to.token and client in _WITH_ENVIRONMENT:
        yield f"{client} takes the proxy's token from {TOKEN_VARIABLE} in its environment"
    if to.keyless and not to.token:
        yield f"upstreams without api_key_env get the client's API key: {', '.join(to.keyless)}"


def _write(to: Endpoint, yes: bool) -> int:
    if not to.models:
        raise UserError("which models? Name them with --model, or in workbench.toml below an upstream")
    change = clients.opencode_rewriting(to)
    if change.after == change.before:
        say(f"{change.path} has it already; nothing was changed")
        return 0
    write_painted(change.difference())
    if not yes and not _confirmed():
        say("nothing was written")
        return 1
    backup = change.carry_out(datetime.now())
    say(f"wrote {change.path}" + (f"; the old one is {backup}" if backup else ""))
    model = shlex.quote(f"{clients.OPENCODE_PROVIDER}/{to.model}")
    say(f"try it: opencode run -m {model} 'Say hello.'")
    _tell(to, "opencode")
    return 0


def _confirmed() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        say("there is no terminal to ask on; --yes writes without asking")
        return False
    return typer.confirm("Write this?", err=True)
