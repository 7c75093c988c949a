"""`workbench detect`: the dialect of every sample with a good call is recognised, prose is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.tiers import each_row, some
from workbench.cli.detect import Certainty, detect, detect_files
from workbench.files import samples_dir
from workbench.tape.inputs import load
from workbench.tape.recipe import Wishes

# The smallest first: each is read in every dialect.
GOOD = sorted(
    (
        path
        for path in samples_dir().glob("*/good-*.jsonl")
        if path.parent.name != "passthrough" and path.stem != "good-no-call"
    ),
    key=lambda path: path.stat().st_size,
)


@each_row("folder", sorted({path.parent.name for path in GOOD}))
def test_every_good_sample_is_recognised(folder: str) -> None:
    missed = []
    for path in some((path for path in GOOD if path.parent.name == folder), 1):
        found = detect(load(str(path), None), Wishes())
        if not any(one.dialect == folder and one.certainty >= Certainty.LIKELY for one in found[:2]):
            missed.append((path.stem, [(one.dialect, one.certainty.word) for one in found]))
    assert missed == []


def test_prose_is_no_dialect(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    file = tmp_path / "answer.txt"
    file.write_text("A list [1, 2] and <b>bold</b>, if a < b and c > d.")
    assert detect_files([str(file)], None, "text", as_json=False) == 1
    assert b"no call" in capfdbinary.readouterr().out


def test_what_speaks_against_it_is_said(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    file = tmp_path / "answer.txt"
    file.write_text("<tool_call>\n<function=read>\n<parameter=path>\na\x1b[31m\n")
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"type": "function", "function": {"name": "read"}}]))
    assert detect_files([str(file)], str(tools), "text", as_json=True) == 0
    (first, *_) = json.loads(capfdbinary.readouterr().out)[str(file)]
    assert (first["dialect"], first["certainty"]) == ("qwen3-coder", "possible") and first["against"]
