"""`workbench connect`: what a client has to be told to use the proxy; printed, or merged into OpenCode's own
configuration.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import typer

from workbench.cli.jsonfile import JsoncError, Rewriting, merge, read_if_there
from workbench.cli.output import painted_json, write, write_painted
from workbench.config.reading import read_settings
from workbench.config.settings import PLAIN, UPSTREAM, Settings, client_url
from workbench.errors import UserError
from workbench.recording.redaction import PLACEHOLDER
from workbench.text import say

Client: TypeAlias = Literal["opencode", "openai", "curl", "roo", "cline", "continue"]
_WITH_ENVIRONMENT = ("opencode", "openai", "curl")  # the others know only their own settings
_TOKEN_VARIABLE = PLAIN["token"].variable


def connect(client: Client, url: str | None, models: Sequence[str], into_file: bool, yes: bool) -> int:
    """Print it, or write it into the client's own configuration."""
    to = _endpoint(read_settings(), url, models)
    if into_file:
        if client != "opencode":
            raise UserError(f"--write is for opencode; what {client} needs is printed without it")
        return _write(to, yes)
    if client == "opencode":
        write_painted(painted_json(_opencode_configuration(to)))
        say(f"note --write merges this into {opencode_file()}", "cyan")
    else:
        write(_INSTRUCTIONS[client](to).encode("utf-8"))
    if not to.models:
        say("note no model is configured: replace MODEL, or name yours with --model", "cyan")
    _tell(to, client)
    return 0


def _tell(to: Endpoint, client: Client) -> None:
    for note in _notes(to, client):
        say(f"note {note}", "cyan")


def _notes(to: Endpoint, client: Client) -> Iterator[str]:
    if to.token and client in _WITH_ENVIRONMENT:
        yield f"{client} takes the proxy's token from {_TOKEN_VARIABLE} in its environment"
    if to.keyless and not to.token:
        yield f"upstreams without api_key_env get the client's API key: {', '.join(to.keyless)}"


def _write(to: Endpoint, yes: bool) -> int:
    if not to.models:
        raise UserError("which models? Name them with --model, or in workbench.toml below an upstream")
    change = _opencode_rewriting(to)
    if change.after == change.before:
        say(f"{change.path} has it already; nothing was changed")
        return 0
    write_painted(change.difference())
    if not yes and not _confirmed():
        say("nothing was written")
        return 1
    backup = change.carry_out(datetime.now())
    say(f"wrote {change.path}" + (f"; the old one is {backup}" if backup else ""))
    model = shlex.quote(f"{_PROVIDER}/{to.model}")
    say(f"try it: opencode run -m {model} 'Say hello.'")
    _tell(to, "opencode")
    return 0


def _confirmed() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        say("there is no terminal to ask on; --yes writes without asking")
        return False
    return typer.confirm("Write this?", err=True)


# -- what every client has to know


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`token` says that the proxy wants one; `keyless` are upstreams that get the client's own API key."""

    url: str
    models: tuple[str, ...] = ()
    token: bool = False
    keyless: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """A model for an example."""
        return self.models[0] if self.models else "MODEL"


def _endpoint(settings: Settings, url: str | None = None, models: Sequence[str] = ()) -> Endpoint:
    """The proxy as the settings have it; a URL and models that were given win."""
    for model in models:
        if not model.strip() or not model.isprintable():
            raise UserError(f"--model: {model!r} is not the name of a model")
    known = tuple(dict.fromkeys(models)) or _models(settings)
    keyless = tuple(name for name, upstream in settings.upstreams.items() if not upstream.api_key_env)
    return Endpoint(_url(settings, url), known, settings.token is not None, keyless)


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


# -- what a person sets by hand

_QUESTION = [{"role": "user", "content": "Say hello."}]


def _for_openai(to: Endpoint) -> str:
    """A Python program."""
    key = f'os.environ["{_TOKEN_VARIABLE}"]' if to.token else f'"{PLACEHOLDER}"'
    shell = f'"${_TOKEN_VARIABLE}"' if to.token else PLACEHOLDER
    imports = "import os\n\n" if to.token else ""
    return f"""\
# A program that uses an OpenAI SDK needs no change, only two variables:
#   export OPENAI_BASE_URL={shlex.quote(to.url)} OPENAI_API_KEY={shell}
{imports}from openai import OpenAI

client = OpenAI(base_url={_quoted(to.url)}, api_key={key})
answer = client.chat.completions.create(
    model={_quoted(to.model)},
    messages={json.dumps(_QUESTION)},
)
print(answer.choices[0].message.content)
"""


def _for_curl(to: Endpoint) -> str:
    """A command for a shell."""
    body = json.dumps({"model": to.model, "stream": True, "messages": _QUESTION}, ensure_ascii=False)
    token = f'  -H "Authorization: Bearer ${_TOKEN_VARIABLE}" \\\n' if to.token else ""
    return f"""\
curl -N {shlex.quote(to.url + "/chat/completions")} \\
  -H 'Content-Type: application/json' \\
{token}  -d {shlex.quote(body)}
"""


def _for_roo(to: Endpoint) -> str:
    """For the settings of Roo Code."""
    return f"""\
In Roo Code open the settings (the gear), then Providers:
{_form(to, "Model")}
Roo Code up to 3.36 asks the model for XML calls itself; its requests offer no tools, so they pass through the
proxy unchanged. Later versions offer tools, and the calls that the model writes as text are converted.
"""


def _for_cline(to: Endpoint) -> str:
    """For the settings of Cline."""
    return f"""\
In Cline open the settings (the gear), then API Configuration:
{_form(to, "Model ID")}
Where Cline asks the model for XML calls itself, its requests offer no tools, so they pass through the proxy
unchanged. With native tool calls it offers tools, and the calls that the model writes as text are converted.
"""


def _form(to: Endpoint, model: str) -> str:
    key = f"the token of the proxy ({_TOKEN_VARIABLE})" if to.token else f"{PLACEHOLDER}, or any other text"
    return f"""\
  API Provider   OpenAI Compatible
  Base URL       {to.url}
  API Key        {key}
  {model:13}  {" or ".join(to.models) or to.model}
"""


def _for_continue(to: Endpoint) -> str:
    """A file for Continue."""
    key = f'"${{{{ secrets.{_TOKEN_VARIABLE} }}}}"' if to.token else PLACEHOLDER
    where = f"# The token stands as {_TOKEN_VARIABLE}=… in ~/.continue/.env.\n" if to.token else ""
    entries = "".join(
        f"""\
  - name: {_quoted(model)}
    provider: openai
    model: {_quoted(model)}
    apiBase: {_quoted(to.url)}
    apiKey: {key}
    roles: [chat, edit, apply]
    capabilities: [tool_use]
"""
        for model in to.models or (to.model,)
    )
    return f"""\
# For ~/.continue/config.yaml; if you have one already, only the entries below models are new.
# Without tool_use Continue asks for calls in its own words, and there is nothing to convert.
{where}name: Workbench
version: 0.0.1
schema: v1
models:
{entries}"""


def _quoted(text: str) -> str:
    # The same in JSON, Python and YAML, as long as every character is printable.
    return json.dumps(text, ensure_ascii=False)


_INSTRUCTIONS: Mapping[str, Callable[[Endpoint], str]] = {
    "openai": _for_openai,
    "curl": _for_curl,
    "roo": _for_roo,
    "cline": _for_cline,
    "continue": _for_continue,
}


# -- OpenCode, which has a file

_PROVIDER = "workbench"
_TOKEN = f"{{env:{_TOKEN_VARIABLE}}}"  # OpenCode fills it in
_NEW = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'
_URL = ("provider", _PROVIDER, "options", "baseURL")
_KEY = ("provider", _PROVIDER, "options", "apiKey")


def _opencode_configuration(to: Endpoint) -> dict[str, Any]:
    """What has to be in the file."""
    entry = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Workbench",
        "options": {"baseURL": to.url, "apiKey": _TOKEN if to.token else PLACEHOLDER},
        "models": {model: {"name": model} for model in to.models or (to.model,)},
    }
    return {"provider": {_PROVIDER: entry}}


def opencode_file() -> Path:
    """The user's file; of several, the one that has the last word in OpenCode."""
    named = os.environ.get("OPENCODE_CONFIG")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_CONFIG_HOME")
    folder = (Path(home) if home else Path.home() / ".config") / "opencode"
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def _opencode_rewriting(to: Endpoint) -> Rewriting:
    """The user's file with the provider in it."""
    path = opencode_file()
    before = read_if_there(path)
    try:
        text = _NEW if before is None else before.decode("utf-8")
        after = merge(text if text.strip() else _NEW, _opencode_configuration(to), _ours)
    except (JsoncError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is broken, so nothing is written into it: {error}") from None
    return Rewriting(path, before, after.encode("utf-8"))


def _ours(path: tuple[str, ...], value: Any) -> bool:
    """What an earlier run wrote may be replaced; names and keys that the user chose stay."""
    return path == _URL or path[2:] == ("npm",) or (path == _KEY and value in (PLACEHOLDER, _TOKEN))
