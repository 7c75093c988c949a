"""Programs that can use the proxy: what every client has to know, what to set by hand, and OpenCode's
configuration file.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.cli.jsonfile import JsoncError, Rewriting, merge, read_if_there
from workbench.config.settings import PLAIN, UPSTREAM, Settings
from workbench.errors import UserError
from workbench.recording.redaction import PLACEHOLDER

TOKEN_VARIABLE = PLAIN["token"].variable
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


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


def endpoint(settings: Settings, url: str | None = None, models: Sequence[str] = ()) -> Endpoint:
    """The proxy as the settings have it; a URL and models that were given win."""
    for model in models:
        if not model.strip() or not model.isprintable():
            raise UserError(f"--model: {model!r} is no name of a model")
    known = tuple(dict.fromkeys(models)) or _models(settings)
    keyless = tuple(name for name, upstream in settings.upstreams.items() if not upstream.api_key_env)
    return Endpoint(_url(settings, url), known, settings.token is not None, keyless)


def _url(settings: Settings, url: str | None) -> str:
    if url is not None:
        base: str = UPSTREAM["url"].read(url, "--url")
        return base if urlsplit(base).path else f"{base}/v1"
    if settings.port == 0:
        raise UserError("the port is 0, any that is free: give as --url what `workbench serve` printed")
    host = f"[{settings.listen}]" if ":" in settings.listen else settings.listen
    return f"http://{_EVERYWHERE.get(settings.listen, host)}:{settings.port}/v1"


def _models(settings: Settings) -> tuple[str, ...]:
    """The names that clients may use, as far as the settings have them; a pattern is no name."""
    upstreams = settings.upstreams.values()
    exact = [name for upstream in upstreams for name in [*upstream.models, *upstream.serves]]
    return tuple(dict.fromkeys(name for name in exact if not set(name) & set("*?[")))


_QUESTION = [{"role": "user", "content": "Say hello."}]


def openai(to: Endpoint) -> str:
    """A Python program."""
    key = f'os.environ["{TOKEN_VARIABLE}"]' if to.token else f'"{PLACEHOLDER}"'
    shell = f'"${TOKEN_VARIABLE}"' if to.token else PLACEHOLDER
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


def curl(to: Endpoint) -> str:
    """A command for a shell."""
    body = json.dumps({"model": to.model, "stream": True, "messages": _QUESTION}, ensure_ascii=False)
    token = f'  -H "Authorization: Bearer ${TOKEN_VARIABLE}" \\\n' if to.token else ""
    return f"""\
curl -N {shlex.quote(to.url + "/chat/completions")} \\
  -H 'Content-Type: application/json' \\
{token}  -d {shlex.quote(body)}
"""


def roo(to: Endpoint) -> str:
    """For the settings of Roo Code."""
    return f"""\
In Roo Code open the settings (the gear), then Providers:
{_form(to, "Model")}
Roo Code up to 3.36 asks the model for XML calls itself; its requests offer no tools, so they pass through the
proxy unchanged. Later versions offer tools, and the calls that the model writes as text are converted.
"""


def cline(to: Endpoint) -> str:
    """For the settings of Cline."""
    return f"""\
In Cline open the settings (the gear), then API Configuration:
{_form(to, "Model ID")}
Where Cline asks the model for XML calls itself, its requests offer no tools, so they pass through the proxy
unchanged. With native tool calls it offers tools, and the calls that the model writes as text are converted.
"""


def _form(to: Endpoint, model: str) -> str:
    key = f"the token of the proxy ({TOKEN_VARIABLE})" if to.token else f"{PLACEHOLDER}, or any other text"
    return f"""\
  API Provider   OpenAI Compatible
  Base URL       {to.url}
  API Key        {key}
  {model:13}  {" or ".join(to.models) or to.model}
"""


def continue_(to: Endpoint) -> str:
    """A file for Continue."""
    key = f'"${{{{ secrets.{TOKEN_VARIABLE} }}}}"' if to.token else PLACEHOLDER
    where = f"# The token stands as {TOKEN_VARIABLE}=… in ~/.continue/.env.\n" if to.token else ""
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


INSTRUCTIONS: Mapping[str, Callable[[Endpoint], str]] = {
    "openai": openai,
    "curl": curl,
    "roo": roo,
    "cline": cline,
    "continue": continue_,
}


OPENCODE_PROVIDER = "workbench"
_TOKEN = f"{{env:{TOKEN_VARIABLE}}}"  # OpenCode fills it in
_NEW = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'
_URL = ("provider", OPENCODE_PROVIDER, "options", "baseURL")
_KEY = ("provider", OPENCODE_PROVIDER, "options", "apiKey")


def opencode_configuration(to: Endpoint) -> dict[str, Any]:
    """What has to be in the file."""
    entry = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Workbench",
        "options": {"baseURL": to.url, "apiKey": _TOKEN if to.token else PLACEHOLDER},
        "models": {model: {"name": model} for model in to.models or (to.model,)},
    }
    return {"provider": {OPENCODE_PROVIDER: entry}}


def opencode_file() -> Path:
    """The user's file; of several, the one that has the last word in OpenCode."""
    named = os.environ.get("OPENCODE_CONFIG")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_CONFIG_HOME")
    folder = (Path(home) if home else Path.home() / ".config") / "opencode"
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def opencode_rewriting(to: Endpoint) -> Rewriting:
    """The user's file with the provider in it."""
    path = opencode_file()
    before = read_if_there(path)
    try:
        text = _NEW if before is None else before.decode("utf-8")
        after = merge(text if text.strip() else _NEW, opencode_configuration(to), _ours)
    except (JsoncError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is broken, so nothing is written into it: {error}") from None
    return Rewriting(path, before, after.encode("utf-8"))


def _ours(path: tuple[str, ...], value: Any) -> bool:
    """What an earlier run wrote may be replaced; names and keys that the user chose stay."""
    return path == _URL or path[2:] == ("npm",) or (path == _KEY and value in (PLACEHOLDER, _TOKEN))
