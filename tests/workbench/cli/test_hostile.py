"""Every command on a terminal, with an attack in every argument, every file and every name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hostile import HOSTILE, NAME, check, hostile_library
from tests.support.terminal import Program
from tests.support.tiers import only_exhaustive

# All of them in one process: what is wanted is their output, and a process for each takes a second.
_RUN = """
import json, sys
from workbench.cli.main import app
for number, arguments in enumerate(json.load(open(sys.argv[1]))):
    try:
        app(arguments, prog_name="workbench")
    except SystemExit as error:
        print(f"@{number}: {error.code}@", flush=True)
"""
_ARGUMENT = HOSTILE.replace("\x00", "")  # no argument of a process can have one


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder full of hostile files, itself with such a name."""
    home = tmp_path_factory.mktemp("commands") / NAME
    home.mkdir()
    library = hostile_library(home)
    for tape in library.glob("tapes/*/*.jsonl"):
        shutil.copy(tape, home / f"{tape.stem.partition('-')[2]}{NAME}.jsonl")
    request = {"model": HOSTILE, "messages": [{"role": "user", "content": HOSTILE}], HOSTILE: HOSTILE}
    tool = {"type": "function", "function": {"name": HOSTILE, "description": HOSTILE}}
    (home / f"request{NAME}").write_text(json.dumps(request | {"tools": [tool]}))
    (home / f"tools{NAME}").write_text(json.dumps([tool]))
    (home / f"text{NAME}").write_text(
        f"{HOSTILE}<read_file>\n<path>{HOSTILE}</path>\n</read_file>", newline=""
    )
    (home / f"broken{NAME}").write_bytes(b'{"' + HOSTILE.encode())
    (home / f"template{NAME}").write_text(HOSTILE + "{{ tools }}")
    (home / f"failing{NAME}").write_text("{% if tools %}" + HOSTILE + "{{ nothing.of.it }}")
    (home / f"config{NAME}").write_text(
        f"[upstreams.x]\nurl = {json.dumps('http://x/' + NAME)}\n", newline=""
    )
    return home


def commands() -> Iterator[list[str]]:
    bad = _ARGUMENT
    yield from (
        ["--version"],
        ["--help"],
        [bad],
        [f"--{bad}"],
        ["dialects", bad],
        ["dialects", bad, "--mermaid"],
        ["--port", bad],
    )
    yield ["library", "list"]
    yield ["library", "list", "--json", "--limit", "0"]
    for option in ("model", "upstream", "dialect", "finding", "session", "since", "state", "limit"):
        yield ["library", "list", f"--{option}", bad]
    yield ["library", "rebuild"]
    yield ["library", bad]
    for name in ("good", "malformed", "deep", "refused", "named", "unreadable", "damaged"):
        for out in ("sse", "message", "trace"):
            yield ["transform", f"{name}{NAME}.jsonl", "--out", out]
        for out in ("body", "system", "diff"):
            yield ["prompt", f"{name}{NAME}.jsonl", "--out", out]
    for out in ("body", "system", "diff"):
        yield ["prompt", f"request{NAME}", "--out", out, "--prompt", f"template{NAME}"]
    yield ["prompt", f"request{NAME}", "--prompt", f"failing{NAME}"]
    yield ["prompt", f"request{NAME}", "--prompt", f"nowhere{NAME}"]
    for command in ("transform", "prompt"):
        for arguments in (
            [f"broken{NAME}"],
            [f"nowhere{NAME}"],
            ["."],
            [f"text{NAME}", "--set", f"{bad}={bad}"],
        ):
            yield [command, *arguments]
        yield [command, f"request{NAME}", "--dialect", bad]
    yield ["prompt", "--template", bad]
    yield ["transform", f"text{NAME}", "--dialect", "roo-xml", "--tools", f"tools{NAME}"]
    yield ["transform", f"text{NAME}", "--dialect", "roo-xml", "--tools", f"broken{NAME}"]
    yield ["transform", f"text{NAME}", "--as", bad]
    yield ["transform", f"text{NAME}", "--chunk", bad]
    yield ["replay", f"nowhere{NAME}"]
    yield ["replay", f"text{NAME}", "--dialect", bad]
    yield ["attach", "--library", f"nowhere{NAME}"]
    yield ["serve", "--upstream", bad]
    yield ["serve", "--upstream", "http://127.0.0.1:9", "--set", f"{bad}={bad}"]
    yield ["serve", "--upstream", f"http://127.0.0.1:9/{bad}"]
    yield ["config", "--upstream", bad]
    yield ["config", "--library", bad, "--token", bad, "--listen", bad]
    yield ["config", "--json", "--library", bad]
    for client in ("opencode", "openai", "curl", "roo", "cline", "continue"):
        yield ["connect", client, "--url", f"http://127.0.0.1:8788/{bad}", "--model", bad]
        yield ["connect", client, "--url", "http://127.0.0.1:8788/v1", "--model", bad]
    yield ["connect", "opencode", "--url", "http://127.0.0.1:8788/v1", "--model", bad, "--write", "--yes"]
    yield ["connect", "opencode", "--url", "http://127.0.0.1:8788/v1", "--model", bad, "--write", "--yes"]
    yield ["init", "--upstream", bad]
    yield ["init", "--dialect", bad]
    yield ["init"]
    yield ["init"]


@pytest.mark.parametrize(
    "config", only_exhaustive(["", f"config{NAME}", f"broken{NAME}", f"nowhere{NAME}"], [f"config{NAME}"])
)
def test_nothing_of_it_reaches_the_terminal(home: Path, tmp_path: Path, config: str):
    table = tmp_path / "commands.json"
    rows = list(commands())
    table.write_text(json.dumps(rows))
    env = {"WORKBENCH_LIBRARY": str(home / "library")} | ({"WORKBENCH_CONFIG": config} if config else {})
    with Program(home, str(table), env=env, command=("-c", _RUN)) as program:
        assert program.exit_code(40) == 0, program.state()
        assert f"@{len(rows) - 1}: ".encode() in program.raw, program.state()
        check(program)
