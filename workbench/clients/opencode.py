"""OpenCode: its configuration file, and the provider in it that is this proxy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from workbench.clients.endpoint import PLACEHOLDER, TOKEN_VARIABLE, Endpoint
from workbench.clients.jsonc import JsoncError
from workbench.clients.merging import merge
from workbench.clients.rewriting import Rewriting, read_if_there
from workbench.errors import UserError

PROVIDER = "workbench"
_TOKEN = f"{{env:{TOKEN_VARIABLE}}}"  # OpenCode fills it in
_NEW = '{\n  "$schema": "https://opencode.ai/config.json"\n}\n'
_URL = ("provider", PROVIDER, "options", "baseURL")
_KEY = ("provider", PROVIDER, "options", "apiKey")


def configuration(to: Endpoint) -> dict[str, Any]:
    """What has to be in the file."""
    entry = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Workbench",
        "options": {"baseURL": to.url, "apiKey": _TOKEN if to.token else PLACEHOLDER},
        "models": {model: {"name": model} for model in to.models or (to.model,)},
    }
    return {"provider": {PROVIDER: entry}}


def file() -> Path:
    """The user's file; of several, the one that has the last word in OpenCode."""
    named = os.environ.get("OPENCODE_CONFIG")
    if named:
        return Path(named).expanduser()
    home = os.environ.get("XDG_CONFIG_HOME")
    folder = (Path(home) if home else Path.home() / ".config") / "opencode"
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() else folder / "opencode.json"


def rewriting(to: Endpoint) -> Rewriting:
    """The user's file with the provider in it."""
    path = file()
    before = read_if_there(path)
    try:
        text = _NEW if before is None else before.decode("utf-8")
        after = merge(text if text.strip() else _NEW, configuration(to), _ours)
    except (JsoncError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is broken, so nothing is written into it: {error}") from None
    return Rewriting(path, before, after.encode("utf-8"))


def _ours(path: tuple[str, ...], value: Any) -> bool:
    """What an earlier run wrote may be replaced; names and keys that the user chose stay."""
    return path == _URL or path[2:] == ("npm",) or (path == _KEY and value in (PLACEHOLDER, _TOKEN))
