"""What to set in a client that is configured by hand."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping

from workbench.clients.endpoint import PLACEHOLDER, TOKEN_VARIABLE, Endpoint

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
