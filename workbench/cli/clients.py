"""How each client is configured to use the proxy: settings to paste, and files that can be merged into."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.config.settings import PLAIN
from workbench.recording.redaction import PLACEHOLDER

TOKEN_VARIABLE = PLAIN["token"].variable
PROVIDER = "workbench"
# Clients that name the variable, or whose settings are made from it; the others know only their own settings.
WITH_ENVIRONMENT = frozenset(
    "opencode codex claude-code kilo openai ai-sdk langchain litellm curl aider qwen-code".split()
)
SEVERAL_CALLS = frozenset("opencode codex claude-code qwen-code cline kilo pi roo".split())


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`token` says that the proxy wants one; `keyless` are upstreams that get the client's own API key."""

    url: str
    models: tuple[str, ...] = ()
    token: bool = False
    keyless: tuple[str, ...] = ()
    max_tokens: int | None = None  # the most that the upstreams let a client ask for, where they say it
    one_call: tuple[str, ...] = ()  # upstreams where only the first call of an answer counts

    @property
    def model(self) -> str:
        """A model for an example."""
        return self.models[0] if self.models else "MODEL"

    @property
    def base(self) -> str:
        """For clients that add /v1 themselves."""
        return self.url.removesuffix("/v1")

    @property
    def shell_key(self) -> str:
        return f'"${TOKEN_VARIABLE}"' if self.token else PLACEHOLDER


_QUESTION = [{"role": "user", "content": "Say hello."}]


def _quoted(text: str) -> str:
    # The same in JSON, Python, TypeScript, TOML and YAML, as long as every character is printable.
    return json.dumps(text, ensure_ascii=False)


# -- programs of one's own


def _python_key(to: Endpoint) -> tuple[str, str]:
    """The imports and the expression."""
    return ("import os\n\n", f'os.environ["{TOKEN_VARIABLE}"]') if to.token else ("", f'"{PLACEHOLDER}"')


def _for_openai(to: Endpoint) -> str:
    imports, key = _python_key(to)
    return f"""\
# A program that uses an OpenAI SDK needs no change, only two variables:
#   export OPENAI_BASE_URL={shlex.quote(to.url)} OPENAI_API_KEY={to.shell_key}
# client.responses works as well.
{imports}from openai import OpenAI

client = OpenAI(base_url={_quoted(to.url)}, api_key={key})
answer = client.chat.completions.create(
    model={_quoted(to.model)},
    messages={json.dumps(_QUESTION)},
)
print(answer.choices[0].message.content)
"""


def _for_langchain(to: Endpoint) -> str:
    imports, key = _python_key(to)
    return f"""\
# pip install langchain-openai
{imports}from langchain_openai import ChatOpenAI

model = ChatOpenAI(base_url={_quoted(to.url)}, api_key={key}, model={_quoted(to.model)})
print(model.invoke("Say hello.").content)
"""


def _for_litellm(to: Endpoint) -> str:
    imports, key = _python_key(to)
    return f"""\
# pip install litellm; "openai/" before the name says which API is spoken.
{imports}import litellm

answer = litellm.completion(
    model={_quoted("openai/" + to.model)},
    api_base={_quoted(to.url)},
    api_key={key},
    messages={json.dumps(_QUESTION)},
)
print(answer.choices[0].message.content)
"""


def _for_ai_sdk(to: Endpoint) -> str:
    key = f"process.env.{TOKEN_VARIABLE}" if to.token else f'"{PLACEHOLDER}"'
    return f"""\
// npm install ai @ai-sdk/openai-compatible
// (createOpenAI of @ai-sdk/openai with the same baseURL works as well: its default is the Responses API.)
import {{ createOpenAICompatible }} from "@ai-sdk/openai-compatible";
import {{ generateText }} from "ai";

const workbench = createOpenAICompatible({{
  name: "{PROVIDER}",
  baseURL: {_quoted(to.url)},
  apiKey: {key},
}});
const {{ text }} = await generateText({{ model: workbench({_quoted(to.model)}), prompt: "Say hello." }});
console.log(text);
"""


def _for_curl(to: Endpoint) -> str:
    body = json.dumps({"model": to.model, "stream": True, "messages": _QUESTION}, ensure_ascii=False)
    token = f'  -H "Authorization: Bearer ${TOKEN_VARIABLE}" \\\n' if to.token else ""
    return f"""\
curl -N {shlex.quote(to.url + "/chat/completions")} \\
  -H 'Content-Type: application/json' \\
{token}  -d {shlex.quote(body)}
"""


# -- agents whose settings a person makes


def _for_codex(to: Endpoint) -> str:
    model = shlex.quote(to.model)
    key = f"export {TOKEN_VARIABLE}=…   # the proxy's token\n" if to.token else ""
    return f"""\
# For {codex_file()}:
{codex_table(to)}
# Then:
{_commented(key)}#   codex -c model_provider={PROVIDER} -m {model}
# or, for every start, at the top of that file:
#   model_provider = "{PROVIDER}"
#   model = {_quoted(to.model)}
"""


def codex_table(to: Endpoint) -> str:
    """A provider of Codex; it speaks nothing but Responses."""
    key = f'env_key = "{TOKEN_VARIABLE}"\n' if to.token else ""
    return f"""\
[model_providers.{PROVIDER}]
name = "Workbench"
base_url = {_quoted(to.url)}
wire_api = "responses"
{key}"""


def _commented(text: str) -> str:
    return "".join(f"#   {line}\n" for line in text.splitlines())


def _for_aider(to: Endpoint) -> str:
    model = shlex.quote(f"openai/{to.model}")
    return f"""\
export OPENAI_API_BASE={shlex.quote(to.url)} OPENAI_API_KEY={to.shell_key}
aider --model {model}
# Aider asks for edits as text, in its own words; it offers no tools, so there is nothing to convert.
"""


def _for_qwen_code(to: Endpoint) -> str:
    model = shlex.quote(to.model)
    return f"""\
export OPENAI_BASE_URL={shlex.quote(to.url)} OPENAI_API_KEY={to.shell_key} OPENAI_MODEL={model}
qwen --auth-type openai
"""


def _for_roo(to: Endpoint) -> str:
    return f"""\
In Roo Code open the settings (the gear), then Providers:
{_form(to, "Model")}
Roo Code up to 3.36 asks the model for XML calls itself; its requests offer no tools, so they pass through the
proxy unchanged. Later versions offer tools, and the calls that the model writes as text are converted.
"""


def _for_cline(to: Endpoint) -> str:
    key = to.shell_key
    model = shlex.quote(to.model)
    return f"""\
In Cline open the settings (the gear), then API Configuration:
{_form(to, "Model ID")}
Where Cline asks the model for XML calls itself, its requests offer no tools, so they pass through the proxy
unchanged. With native tool calls it offers tools, and the calls that the model writes as text are converted.

Cline's command line has a command for it:
  cline auth -p openai-compatible -b {shlex.quote(to.url)} -k {key} -m {model}
"""


def _form(to: Endpoint, model: str) -> str:
    key = f"the token of the proxy ({TOKEN_VARIABLE})" if to.token else f"{PLACEHOLDER}, or any other text"
    return f"""\
  API Provider   OpenAI Compatible
  Base URL       {to.url}
  API Key        {key}
  {model:13}  {" or ".join(to.models) or to.model}
"""


def _for_continue(to: Endpoint) -> str:
    key = f'"${{{{ secrets.{TOKEN_VARIABLE} }}}}"' if to.token else PLACEHOLDER
    where = f"# Put the token into ~/.continue/.env as {TOKEN_VARIABLE}=….\n" if to.token else ""
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


INSTRUCTIONS: Mapping[str, Callable[[Endpoint], str]] = {
    "openai": _for_openai,
    "langchain": _for_langchain,
    "litellm": _for_litellm,
    "ai-sdk": _for_ai_sdk,
    "curl": _for_curl,
    "codex": _for_codex,
    "aider": _for_aider,
    "qwen-code": _for_qwen_code,
    "roo": _for_roo,
    "cline": _for_cline,
    "continue": _for_continue,
}


# -- agents with a JSON file


@dataclass(frozen=True, slots=True)
class JsonClient:
    """A client whose file is JSON: what has to be in it, and what of it may be replaced."""

    file: Callable[[], Path]
    settings: Callable[[Endpoint], dict[str, Any]]
    ours: Callable[[tuple[str, ...], Any], bool]
    command: Callable[[Endpoint], str]  # to try it
    new: str = "{}\n"  # the content of a new file


_OPENCODE_TOKEN = f"{{env:{TOKEN_VARIABLE}}}"  # OpenCode fills it in
_URL = ("provider", PROVIDER, "options", "baseURL")
_KEY = ("provider", PROVIDER, "options", "apiKey")
_OUTPUT = 8192  # tokens of an answer that a small server can give


def _opencode(to: Endpoint) -> dict[str, Any]:
    # Without a limit OpenCode asks every server for 32,000 tokens. A context of 0 means unknown.
    limit = {"context": 0, "output": to.max_tokens or _OUTPUT}
    entry = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Workbench",
        "options": {"baseURL": to.url, "apiKey": _OPENCODE_TOKEN if to.token else PLACEHOLDER},
        "models": {model: {"name": model, "limit": limit} for model in to.models or (to.model,)},
    }
    return {"provider": {PROVIDER: entry}}


def _of_opencode(path: tuple[str, ...], value: Any) -> bool:
    """What an earlier run wrote may be replaced; names, keys and limits that the user chose stay."""
    return path == _URL or path[2:] == ("npm",) or (path == _KEY and value in (PLACEHOLDER, _OPENCODE_TOKEN))


def _config_home() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME")
    return Path(home) if home else Path.home() / ".config"


def opencode_file() -> Path:
    """The user's file; of several, the one that takes precedence in OpenCode."""
    named = os.environ.get("OPENCODE_CONFIG")
    if named:
        return Path(named).expanduser()
    folder = _config_home() / "opencode"
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def _kilo_file() -> Path:
    folder = _config_home() / "kilo"
    commented = folder / "kilo.jsonc"
    return commented if commented.exists() else folder / "kilo.json"


def codex_file() -> Path:
    home = os.environ.get("CODEX_HOME")
    return (Path(home) if home else Path.home() / ".codex") / "config.toml"


def _claude_code(to: Endpoint) -> dict[str, Any]:
    names = ("ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL")
    key = {} if to.token else {"ANTHROPIC_AUTH_TOKEN": PLACEHOLDER}
    traffic = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    return {"env": {"ANTHROPIC_BASE_URL": to.base, **key, **dict.fromkeys(names, to.model), **traffic}}


def _claude_file() -> Path:
    home = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(home) if home else Path.home() / ".claude") / "settings.json"


def _pi(to: Endpoint) -> dict[str, Any]:
    models = [{"id": model} for model in to.models or (to.model,)]
    key = TOKEN_VARIABLE if to.token else PLACEHOLDER  # the name of a variable is replaced by its value
    entry = {"baseUrl": to.url, "api": "openai-completions", "apiKey": key, "models": models}
    return {"providers": {PROVIDER: entry}}


def _model_of(to: Endpoint) -> str:
    return shlex.quote(f"{PROVIDER}/{to.model}")


JSON_CLIENTS: Mapping[str, JsonClient] = {
    "opencode": JsonClient(
        opencode_file,
        _opencode,
        _of_opencode,
        lambda to: f"opencode run -m {_model_of(to)} 'Say hello.'",
        '{\n  "$schema": "https://opencode.ai/config.json"\n}\n',
    ),
    # Kilo's command line is made from OpenCode, and its file is alike.
    "kilo": JsonClient(
        _kilo_file, _opencode, _of_opencode, lambda to: f"kilo run -m {_model_of(to)} 'Say hello.'"
    ),
    "claude-code": JsonClient(
        _claude_file,
        _claude_code,
        lambda path, value: path == ("env", "ANTHROPIC_BASE_URL"),
        lambda to: "claude -p 'Say hello.'",
    ),
    "pi": JsonClient(
        lambda: Path.home() / ".pi" / "agent" / "models.json",
        _pi,
        lambda path, value: path[:2] == ("providers", PROVIDER),
        lambda to: f"pi --provider {PROVIDER} --model {shlex.quote(to.model)} -p 'Say hello.'",
    ),
}
