"""What the tests of commands share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


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
