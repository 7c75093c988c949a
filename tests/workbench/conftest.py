"""What the tests of commands share."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections.abc import Callable
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
def run_on_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[object, str]]:
    """The command in this process, with a terminal for its output, and for its input unless there is some.

    Its exit code, and what the terminal was sent.
    """
    pty = pytest.importorskip("pty")

    def run(*args: str, stdin: bytes | None = None) -> tuple[object, str]:
        leader, follower = pty.openpty()
        shown = bytearray()
        reader = threading.Thread(target=_read_all, args=(leader, shown))
        reader.start()
        typed = os.fdopen(os.dup(follower), "rb") if stdin is None else io.BytesIO(stdin)
        out, err = (os.fdopen(os.dup(follower), "w", encoding="utf-8") for _ in range(2))
        os.close(follower)
        with monkeypatch.context() as terminal, out, err, io.TextIOWrapper(typed) as given:
            terminal.setattr(sys, "argv", ["workbench", *args])
            for name, stream in (("stdin", given), ("stdout", out), ("stderr", err)):
                terminal.setattr(sys, name, stream)
            with pytest.raises(SystemExit) as exit:
                main()
        reader.join()
        os.close(leader)
        return exit.value.code, shown.decode()

    return run


def _read_all(terminal: int, shown: bytearray) -> None:
    try:
        while data := os.read(terminal, 1 << 16):
            shown += data
    except OSError:  # Linux says so when the other side has closed
        pass


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
