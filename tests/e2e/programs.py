"""Coding agents, run headless, with nothing of the caller's configuration."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tests.e2e.dialogues import Call
from tests.e2e.opencode import Ran

SECONDS = 180
KEY = "sk-client-0123456789"
PROMPT = "Do what the note says."
_FOREIGN = ("CODEX", "CLAUDE", "CLINE", "QWEN", "ANTHROPIC", "OPENAI", "XDG_", "WORKBENCH_")
_AI_SDK = Path(__file__).with_name("ai_sdk.mjs")


class Program(ABC):
    """A coding agent: how it is started, and what its tools are called."""

    name: ClassVar[str]
    api: ClassVar[str]
    variable: ClassVar[str]  # that names its binary
    spoken: ClassVar[int] = 0  # messages of the assistant that it invents before the first turn

    @classmethod
    def find(cls) -> str | None:
        """The binary that its variable names, else the one on PATH."""
        return os.environ.get(cls.variable) or shutil.which(cls.name)

    @abstractmethod
    def command(self, binary: str) -> list[str]: ...

    @abstractmethod
    def settings(self, home: Path, url: str) -> dict[str, str]:
        """Its environment, and perhaps files in its home; `url` ends with /v1."""

    @abstractmethod
    def read(self, path: Path) -> Call: ...

    @abstractmethod
    def write(self, path: Path, text: str) -> Call: ...

    @abstractmethod
    def run(self, command: str) -> Call: ...


class Codex(Program):
    name = "codex"
    api = "responses"
    variable = "WORKBENCH_CODEX"

    def command(self, binary: str) -> list[str]:
        flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        return [binary, "exec", *flags, PROMPT]

    def settings(self, home: Path, url: str) -> dict[str, str]:
        folder = home / ".codex"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(
            f"""\
model = "m"
model_provider = "local"
check_for_update_on_startup = false
web_search = "disabled"
[analytics]
enabled = false
[features]
plugins = false
apps = false
remote_plugin = false
[model_providers.local]
name = "local"
base_url = "{url}"
wire_api = "responses"
env_key = "LOCAL_KEY"
"""
        )
        return {"LOCAL_KEY": KEY}

    def read(self, path: Path) -> Call:
        return Call("exec_command", {"cmd": f"cat {path}"})

    def write(self, path: Path, text: str) -> Call:
        """Its shell writes it: the text goes through a here-document as it is."""
        assert text.endswith("\n")
        return Call("exec_command", {"cmd": f"cat > {path} <<'END OF TEXT'\n{text}END OF TEXT\necho saved"})

    def run(self, command: str) -> Call:
        return Call("exec_command", {"cmd": command})


class ClaudeCode(Program):
    name = "claude"
    api = "messages"
    variable = "WORKBENCH_CLAUDE"

    def command(self, binary: str) -> list[str]:
        return [binary, "-p", PROMPT, "--dangerously-skip-permissions"]

    def settings(self, home: Path, url: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_MODEL": "m",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",  # it refuses to skip permissions as root otherwise
        }

    def read(self, path: Path) -> Call:
        return Call("Read", {"file_path": str(path)})

    def write(self, path: Path, text: str) -> Call:
        return Call("Write", {"file_path": str(path), "content": text})

    def run(self, command: str) -> Call:
        return Call("Bash", {"command": command})


class Installed(Program):
    """One of those in the folder that `.ci/clients` fills."""

    variable = "WORKBENCH_CLIENTS"

    @classmethod
    def find(cls) -> str | None:
        folder = os.environ.get(cls.variable)
        return folder and f"{folder}/node_modules/.bin/{cls.name}"


class QwenCode(Installed):
    name = "qwen"
    api = "chat"
    spoken = 1

    def command(self, binary: str) -> list[str]:
        return [binary, "--yolo", "--auth-type", "openai", PROMPT]

    def settings(self, home: Path, url: str) -> dict[str, str]:
        folder = home / ".qwen"
        folder.mkdir(parents=True, exist_ok=True)
        # Else it asks the model after the last turn what it should remember.
        (folder / "settings.json").write_text('{"memory": {"enableManagedAutoMemory": false}}')
        return {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "m"}

    def read(self, path: Path) -> Call:
        return Call("read_file", {"file_path": str(path)})

    def write(self, path: Path, text: str) -> Call:
        return Call("write_file", {"file_path": str(path), "content": text})

    def run(self, command: str) -> Call:
        return Call("run_shell_command", {"command": command})


class Cline(Installed):
    name = "cline"
    api = "chat"

    def command(self, binary: str) -> list[str]:
        return [binary, "--provider", "openai-compatible", "--model", "m", PROMPT]

    def settings(self, home: Path, url: str) -> dict[str, str]:
        folder = home / ".cline" / "data" / "settings"
        folder.mkdir(parents=True, exist_ok=True)
        provider = {"provider": "openai-compatible", "apiKey": KEY, "model": "m", "baseUrl": url}
        entry = {"settings": provider, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
        settings = {"version": 1, "providers": {"openai-compatible": entry}}
        (folder / "providers.json").write_text(json.dumps(settings))
        return {"CLINE_SESSION_BACKEND_MODE": "local"}  # no daemon that lives on after it

    def read(self, path: Path) -> Call:
        return Call("read_files", {"files": [{"path": str(path)}]})

    def write(self, path: Path, text: str) -> Call:
        return Call("editor", {"path": str(path), "new_text": text})

    def run(self, command: str) -> Call:
        return Call("run_commands", {"commands": [command]})


class AiSdk(Installed):
    """No agent but a library; tests/e2e/ai_sdk.mjs makes an agent of it."""

    name = "ai-sdk"
    api = "responses"

    @classmethod
    def find(cls) -> str | None:
        return os.environ.get(cls.variable) and shutil.which("node")

    def command(self, binary: str) -> list[str]:
        return [binary, "--input-type=module", "--eval", _AI_SDK.read_text(encoding="utf-8")]

    def settings(self, home: Path, url: str) -> dict[str, str]:
        # A script that has no file looks for its modules in the folder it works in, and above.
        (home.parent / "node_modules").symlink_to(Path(os.environ[self.variable]) / "node_modules")
        return {"SDK_URL": url, "SDK_KEY": KEY, "SDK_PROMPT": PROMPT}

    def read(self, path: Path) -> Call:
        return Call("read", {"path": str(path)})

    def write(self, path: Path, text: str) -> Call:
        return Call("write", {"path": str(path), "content": text})

    def run(self, command: str) -> Call:
        return Call("run", {"command": command})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a program runs."""

    binary: str
    home: Path
    work: Path
    url: str


def run_program(program: Program, place: Place) -> Ran:
    """To its end."""
    return _run(program, place, lambda process: None)


def cancel_program(program: Program, place: Place, when: Callable[[], object]) -> Ran:
    """As a person does with Ctrl-C, as soon as `when` returns."""

    def stop(process: subprocess.Popen[str]) -> None:
        when()
        process.send_signal(signal.SIGINT)

    return _run(program, place, stop)


def _run(program: Program, place: Place, meanwhile: Callable[[subprocess.Popen[str]], None]) -> Ran:
    process = subprocess.Popen(
        program.command(place.binary),
        cwd=place.work,
        env=_environment(place) | program.settings(place.home, place.url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        meanwhile(process)
        out, err = process.communicate(timeout=SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return Ran(process.returncode, out, err)


def _environment(place: Place) -> dict[str, str]:
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(_FOREIGN) and not key.lower().endswith("_proxy")
    }
    place.home.mkdir(exist_ok=True)
    # They believe PWD rather than their real folder.
    return kept | {"HOME": str(place.home), "PWD": str(place.work), "NO_COLOR": "1"}
