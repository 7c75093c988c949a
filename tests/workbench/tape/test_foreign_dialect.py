"""A tape may name a module as its dialect; nothing that shows the tape imports it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from transformer.dialects import UNCONVERTED
from workbench.tape.recipe import dialect_in
from workbench.ui.requestfacts import facts_of
from workbench.ui.screens.promptlab import PromptLab

TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object", "properties": {}}}}


def test_what_a_tape_names_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "strangers_module.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": [TOOL]}
    upstream = {key: value for key, value in request.items() if key != "tools"}
    header = {"dialect": "strangers_module:DIALECT", "request": request, "upstream_request": upstream}
    assert dialect_in(header) == UNCONVERTED
    assert facts_of(header) is not None
    assert PromptLab(header).dialect == UNCONVERTED
    assert "strangers_module" not in sys.modules
