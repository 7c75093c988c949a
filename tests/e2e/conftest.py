"""What the end-to-end tests need besides Python, and the folder in which agents work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.errands import NOTE
from tests.e2e.opencode import find_opencode
from tests.e2e.programs import AiSdk, ClaudeCode, Cline, Codex, Program, QwenCode


@pytest.fixture(scope="session")
def opencode() -> str:
    """Where the binary of OpenCode is. WORKBENCH_E2E=required makes a missing one a failure."""
    reason = "opencode is not on PATH (npm install -g opencode-ai) and WORKBENCH_OPENCODE does not name it"
    return find_opencode() or missing(reason)


@pytest.fixture(scope="session", params=[Codex, ClaudeCode], ids=["codex", "claude-code"])
def program(request: pytest.FixtureRequest) -> tuple[Program, str]:
    """Codex or Claude Code, and where its binary is."""
    kind: type[Program] = request.param
    reason = f"{kind.name} is not on PATH and {kind.variable} does not name it"
    return kind(), kind.find() or missing(reason)


@pytest.fixture(scope="session", params=[QwenCode, Cline, AiSdk], ids=["qwen-code", "cline", "ai-sdk"])
def installed(request: pytest.FixtureRequest) -> tuple[Program, str]:
    """A client of the extended tier, and what starts it."""
    kind: type[Program] = request.param
    return kind(), kind.find() or missing(
        "WORKBENCH_CLIENTS does not name the folder that .ci/clients filled"
    )


def missing(reason: str) -> str:
    if os.environ.get("WORKBENCH_E2E") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "note.txt").write_text(NOTE, encoding="utf-8")
    return folder
