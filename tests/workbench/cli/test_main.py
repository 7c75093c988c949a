"""The program: its commands, its exit codes, and what happens to its output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from tests.support.commands import (
    GOOD,
    RunCommand,
    tape,
)
from tests.support.project import ROOT
from transformer.dialects import DEFAULT
from transformer.sse import DONE
from workbench import __version__
from workbench.cli import choices
from workbench.cli.main import app
from workbench.tape import inputs

COMMAND = [sys.executable, "-m", "workbench"]


@pytest.mark.parametrize(
    "args",
    [
        ["transform", "gone", "-d", "roo-xml"],
        ["prompt"],
        ["dialects", "roo"],
        ["config", "--port", "99999"],
        ["serve", "--set", "calls"],
        ["library", "rebuild", "--library", "gone"],
        ["connect", "curl", "--url", "gone"],
        ["attach"],
        ["--set", "calls"],
    ],
)
def test_the_app_itself_says_it_with_the_same_exit_code(args: list[str], run: RunCommand):
    result = CliRunner().invoke(app, args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("workbench: ")
    assert (run(*args).code, run(*args).err) == (2, result.stderr)


def test_version_help_and_unknown_commands(run: RunCommand):
    assert run("--version").out.decode() == f"workbench {__version__}\n"
    shown = run("--help")
    assert shown.code == 0
    assert b"transform" in shown.out
    assert b"dialects" in shown.out
    assert run("transform", "--help").code == 0
    assert run("translate").code == 2
    alone = run()  # on a terminal this is the screen
    assert alone.code == 0 and b"workbench demo" in alone.out
    assert run("--upstream", "http://127.0.0.1:1").code == 2


IMPORTED_BY_HELP = """
import json, sys
from workbench.cli.main import main
codes = []
for args in json.loads(sys.argv[1]):
    sys.argv[1:] = args
    try:
        main()
    except SystemExit as exit:
        codes.append(exit.code)
print(json.dumps([codes, list(sys.modules)]), file=sys.stderr)
"""


def test_help_and_usage_import_nothing_but_the_command_line():
    """What a start costs is measured by `python -m benchmarks start`; this is what makes it cheap."""
    given = json.dumps([["--help"], ["library", "list", "--help"], ["serve", "--prot"]])
    command = [sys.executable, "-c", IMPORTED_BY_HELP, given]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    codes, imported = json.loads(shown.stderr.splitlines()[-1])
    assert codes == [0, 0, 2]
    ours = {name for name in imported if name.startswith(("transformer", "workbench"))}
    assert ours == {
        "workbench", "workbench.cli", "workbench.cli.choices", "workbench.cli.main", "workbench.errors"
    }  # fmt: skip
    dear = "aiohttp asyncio httpx jinja2 orjson regex rich sqlite3 ssl starlette textual uvicorn".split()
    assert not set(dear).intersection(imported)


def test_the_words_of_options_are_those_of_the_layers_below():
    assert choices.DEFAULT_DIALECT == DEFAULT
    assert get_args(choices.Kind) == get_args(inputs.Kind)


def test_a_bug_is_a_message_and_no_traceback(run: RunCommand, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> int:
        raise KeyError("\x1b[2J")

    monkeypatch.setattr("workbench.cli.transform.transform", broken)
    result = run("transform", "x")
    assert result.code == 2
    assert "bug in workbench: KeyError" in result.err
    assert "\x1b" not in result.err


def test_the_real_process_works_in_a_pipe(tmp_path: Path):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    given = tape(GOOD)
    process = subprocess.run(
        [*COMMAND, "transform"], input=given, capture_output=True, cwd=tmp_path, env=env, check=False
    )
    assert (process.returncode, process.stderr) == (0, b"")
    assert process.stdout.endswith(DONE)


@pytest.mark.parametrize("command", ["transform t.jsonl --out trace | head -c 1", "transform t.jsonl >&-"])
def test_a_reader_that_leaves_is_no_error(tmp_path: Path, command: str):
    (tmp_path / "t.jsonl").write_bytes(tape(GOOD * 40))
    script = f"set -o pipefail; {sys.executable} -m workbench {command}"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, check=False)
    assert process.stderr.decode().count("workbench:") == 0
    assert b"Traceback" not in process.stderr
    assert b"Exception" not in process.stderr
    assert process.returncode in (0, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_a_message(tmp_path: Path):
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [*COMMAND, "transform"],
            input=tape(GOOD), stdout=full, stderr=subprocess.PIPE, cwd=ROOT, check=False,
        )  # fmt: skip
    assert process.returncode == 2
    assert process.stderr.decode().splitlines() == [
        "workbench: cannot write the output: No space left on device"
    ]
