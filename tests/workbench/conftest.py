"""What the tests of commands share."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Run, RunCommand
from workbench import rendering
from workbench.cli.main import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in, with a home of its own; no setting of whoever runs the tests gets in."""
    for name in list(os.environ):
        if name.startswith(("WORKBENCH_", "OPENCODE_", "XDG_")):
            monkeypatch.delenv(name)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def run(
    folder: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> RunCommand:
    """The command in this process, in an empty folder: the same code, without the start of a process."""

    def run(*args: object, stdin: bytes = b"") -> Run:
        monkeypatch.setattr(sys, "argv", ["workbench", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as exit:
            main()
        out, err = capfdbinary.readouterr()
        assert b"Traceback" not in err
        return Run(exit.value.code, out, err.decode())

    return run


@pytest.fixture
def templates_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a template's own process does, done here: it takes half a second to start.

    For tests of what is made of a template. tests/workbench/test_rendering.py has the process and its limits.
    """

    def asked(question: str) -> Any:
        answer = io.StringIO()
        with pytest.MonkeyPatch.context() as child:
            child.setattr(rendering, "_limit", lambda: None)
            child.setattr(sys, "stdin", io.StringIO(question))
            child.setattr(sys, "stdout", answer)
            rendering.main()
        return json.loads(answer.getvalue())

    monkeypatch.setattr(rendering, "_asked", asked)
