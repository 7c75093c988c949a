"""OpenCode, run headless, with nothing of the caller's configuration."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SECONDS = 180
KEY = "sk-opencode-0123456789"


@dataclass(frozen=True, slots=True)
class Ran:
    """One run that has ended: its exit code and what it printed."""

    code: int
    out: str
    err: str


def find_opencode() -> str | None:
    """The binary that WORKBENCH_OPENCODE names, else the one on PATH."""
    return os.environ.get("WORKBENCH_OPENCODE") or shutil.which("opencode")


def run_opencode(
    binary: str,
    home: Path,
    work: Path,
    url: str,
    prompt: str,
    seconds: float = SECONDS,
    configuration: Mapping[str, object] | None = None,
) -> Ran:
    """Let it work on a prompt in the folder `work`, with the model behind `url`.

    A configuration of the caller's takes the place of the usual one, the url included.
    """
    done = subprocess.run(
        [binary, "run", prompt],
        cwd=work,
        env=_environment(home, configuration or _configuration(url))
        | {"PWD": str(work)},  # it believes this rather than its real folder
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=seconds,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def _environment(home: Path, configuration: Mapping[str, object]) -> dict[str, str]:
    folders = {f"XDG_{name.upper()}_HOME": str(home / name) for name in ("config", "data", "cache", "state")}
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("OPENCODE", "XDG_", "WORKBENCH_")) and not key.lower().endswith("_proxy")
    }
    return (
        kept
        | folders
        | {
            "HOME": str(home),
            "NO_COLOR": "1",
            "OPENCODE_CONFIG_CONTENT": json.dumps(configuration),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
        }
    )


def _configuration(url: str) -> Mapping[str, object]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "workbench",
        "options": {"baseURL": url, "apiKey": KEY},
        "models": {"model": {"name": "model"}},
    }
    return {
        "provider": {"workbench": provider},
        "model": "workbench/model",
        "small_model": "workbench/model",
        "permission": {"*": "allow"},
    }
