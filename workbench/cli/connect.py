"""`workbench connect`: what a client has to know to use the proxy; printed, or merged into its own file."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Sequence
from datetime import datetime
from urllib.parse import urlsplit

import typer

from transformer.dialects import find_dialect
from workbench.cli.choices import Client
from workbench.cli.clients import (
    INSTRUCTIONS,
    JSON_CLIENTS,
    PROVIDER,
    SEVERAL_CALLS,
    TOKEN_VARIABLE,
    WITH_ENVIRONMENT,
    Endpoint,
    JsonClient,
    codex_file,
    codex_table,
)
from workbench.cli.jsonfile import JsoncError, Rewriting, merge, read_if_there
from workbench.cli.printing import painted_json, write, write_painted
from workbench.config.reading import read_settings
from workbench.config.settings import UPSTREAM, Settings, client_url
from workbench.errors import UserError
from workbench.proxy.asking import listed_models
from workbench.text import say

_WRITTEN = (*JSON_CLIENTS, "codex")


def connect(client: Client, url: str | None, models: Sequence[str], into_file: bool, yes: bool) -> int:
    """Print it, or write it into the client's own configuration."""
    to = _endpoint(read_settings(), url, models)
    if into_file:
        if client not in _WRITTEN:
            able = ", ".join(_WRITTEN)
            raise UserError(f"--write is for {able}; what {client} needs is printed without it")
        return _write(to, client, yes)
    if client in JSON_CLIENTS:
        known = JSON_CLIENTS[client]
        write_painted(painted_json(known.settings(to)))
        say(f"note --write merges this into {known.file()}", "cyan")
    else:
        write(INSTRUCTIONS[client](to).encode("utf-8"))
    if not to.models:
        say(
            "note no model is configured, and no proxy that runs lists any: replace MODEL, or name yours "
            "with --model",
            "cyan",
        )
    _tell(to, client)
    return 0


def _tell(to: Endpoint, client: Client) -> None:
    for note in _notes(to, client):
        say(f"note {note}", "cyan")


def _notes(to: Endpoint, client: Client) -> Iterator[str]:
    if to.token and client == "claude-code":
        yield f'claude-code needs the proxy\'s token: export ANTHROPIC_AUTH_TOKEN="${TOKEN_VARIABLE}"'
    elif to.token and client in WITH_ENVIRONMENT:
        yield f"{client} takes the proxy's token from {TOKEN_VARIABLE} in its environment"
    if to.keyless and not to.token:
        yield f"upstreams without api_key_env get the client's API key: {', '.join(to.keyless)}"
    if to.one_call and client in SEVERAL_CALLS:
        yield (
            f"{client} can make several calls at once; only the first of an answer counts for "
            f'{", ".join(to.one_call)}, unless its policy says calls = "all"'
        )


def _write(to: Endpoint, client: Client, yes: bool) -> int:
    if not to.models:
        raise UserError("which models? Name them with --model, or in workbench.toml below an upstream")
    change = _codex_rewriting(to) if client == "codex" else _rewriting(to, JSON_CLIENTS[client])
    if change.after == change.before:
        say(f"{change.path} has it already; nothing was changed")
        return 0
    write_painted(change.difference())
    if not yes and not _confirmed():
        say("nothing was written")
        return 1
    backup = change.carry_out(datetime.now())
    say(f"wrote {change.path}" + (f"; the old one is {backup}" if backup else ""))
    command = f"codex -c model_provider={PROVIDER} -m {to.model}"
    say(f"try it: {command if client == 'codex' else JSON_CLIENTS[client].command(to)}")
    _tell(to, client)
    return 0


def _confirmed() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        say("there is no terminal to ask on; --yes writes without asking")
        return False
    return typer.confirm("Write this?", err=True)


# -- what every client has to know


def _endpoint(settings: Settings, url: str | None = None, models: Sequence[str] = ()) -> Endpoint:
    """The proxy as the settings have it; a URL and models that were given win."""
    for model in models:
        if not model.strip() or not model.isprintable():
            raise UserError(f"--model: {model!r} is not the name of a model")
    address = _url(settings, url)
    known = tuple(dict.fromkeys(models)) or _models(settings)
    upstreams = settings.upstreams
    most = [upstream.max_tokens for upstream in upstreams.values() if upstream.max_tokens is not None]
    return Endpoint(
        address,
        known or tuple(name for name in listed_models(address, settings.token) if name.isprintable()),
        settings.token is not None,
        tuple(name for name, upstream in upstreams.items() if not upstream.api_key_env),
        min(most, default=None),
        tuple(
            name
            for name, upstream in upstreams.items()
            if upstream.policy.over(find_dialect(upstream.dialect).policy).calls == "first"
        ),
    )


def _url(settings: Settings, url: str | None) -> str:
    if url is not None:
        base: str = UPSTREAM["url"].read(url, "--url")
        return base if urlsplit(base).path else f"{base}/v1"
    if settings.port == 0:
        raise UserError("the port is 0, any that is free: give as --url what `workbench serve` printed")
    return client_url(settings.listen, settings.port)


def _models(settings: Settings) -> tuple[str, ...]:
    """The names that clients may use, as far as the settings have them; a pattern is not a name."""
    upstreams = settings.upstreams.values()
    exact = [name for upstream in upstreams for name in [*upstream.models, *upstream.serves]]
    return tuple(dict.fromkeys(name for name in exact if not set(name) & set("*?[")))


# -- files


def _rewriting(to: Endpoint, client: JsonClient) -> Rewriting:
    """The user's file with the provider in it."""
    path = client.file()
    before = read_if_there(path)
    try:
        text = client.new if before is None else before.decode("utf-8")
        after = merge(text if text.strip() else client.new, client.settings(to), client.ours)
    except (JsoncError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is broken, so nothing is written into it: {error}") from None
    return Rewriting(path, before, after.encode("utf-8"))


def _codex_rewriting(to: Endpoint) -> Rewriting:
    """A table at the end of Codex's file; its other content is not touched."""
    path = codex_file()
    before = read_if_there(path)
    table = codex_table(to)
    try:
        text = "" if before is None else before.decode("utf-8")
        there = tomllib.loads(text).get("model_providers", {}).get(PROVIDER)
        wanted = tomllib.loads(table)["model_providers"][PROVIDER]
        if there == wanted:
            return Rewriting(path, before, text.encode("utf-8"))
        if there is not None:
            raise UserError(f"{path} has [model_providers.{PROVIDER}] already; change it to:\n{table}")
        after = f"{text.rstrip()}\n\n{table}" if text.strip() else table
        tomllib.loads(after)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError) as error:
        raise UserError(f"{path} cannot be added to, so nothing is written into it: {error}") from None
    return Rewriting(path, before, after.encode("utf-8"))
