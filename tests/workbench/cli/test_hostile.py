"""Every command on a terminal, with an attack in every argument, every file and every name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.support.hostile import HOSTILE, NAME, check, hostile_library, in_screen
from tests.support.terminal import Program
from tests.support.tiers import only_exhaustive
from workbench.cli.main import app
from workbench.library.turns import Chats, Turn

# All of them in one process: what is wanted is their output, and a process for each takes a second. One that
# serves is ended as Ctrl-C would.
_RUN = """
import json, os, signal, sys, threading
sys.modules["scipy"] = None  # importing it takes as long as half of the commands; one trial has no intervals
import typer.main
from workbench.cli.main import app
command = typer.main.get_command(app)  # calling `app` makes all commands anew
for number, arguments in enumerate(json.load(open(sys.argv[1]))):
    end = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    if arguments[:1] == ["serve"]:
        end.start()
    try:
        command(arguments, prog_name="workbench")
    except SystemExit as error:
        print(f"@{number}: {error.code}@", flush=True)
    end.cancel()
"""
_ARGUMENT = HOSTILE.replace("\x00", "")  # no argument of a process can have one
# Each command, and what it is given so that it comes as far as its options. These open a screen, or serve:
_RUNS = {
    "": ["--library", "fresh"],
    "attach": [],
    "demo": [],
    "replay": [f"good{NAME}.jsonl"],
    "compare": [f"good{NAME}.jsonl", f"malformed{NAME}.jsonl"],
    "serve": ["--upstream", "http://127.0.0.1:9", "--port", "0"],
}
_COMMANDS = _RUNS | {
    "transform": [f"text{NAME}", "--dialect", "roo-xml"],
    "detect": [f"text{NAME}"],
    "prompt": [f"request{NAME}"],
    "try": ["--where", "model:nobody"],
    "config": ["--upstream", "http://127.0.0.1:9"],
    "init": [],
    "connect": ["curl"],
    "dialects": [],
    "sessions": [],
    "sessions list": [],
    "sessions show": [],
    "sessions delete": [],
    "library": [],
    "library list": [],
    "library calls": [],
    "library rebuild": [],
}


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
    (home / f"suite{NAME}.toml").write_text(_suite(), newline="")
    with closing(Chats(library)) as chats:
        for number in range(2):
            bad, chat, when = HOSTILE, f"{number}{HOSTILE}", 1_790_000_000.0
            chats.remember(Turn(0, bad, bad, bad, chat, bad, number, bad, bad, bad, bad, when))
    return home


def _suite() -> str:
    said = json.dumps(_ARGUMENT.translate({0x7F: None}), ensure_ascii=True)
    case = f"[[case]]\nname = {said}\ntape = {json.dumps(f'good{NAME}.jsonl')}\nexpect_tool = {said}\n"
    return f"times = 1\n[[variant]]\nprompt = {json.dumps(f'template{NAME}')}\n{case}"


def every_command(found: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """All there are, with the words that call them."""
    found = found or typer.main.get_command(app)
    yield " ".join(path), found
    for name, command in getattr(found, "commands", {}).items():
        yield from every_command(command, (*path, name))


def options(commands: dict[str, list[str]]) -> Iterator[list[str]]:
    """Each option and each argument of these commands, with an attack as its value."""
    for path, command in every_command():
        if path not in commands:
            continue
        for one in command.params:
            words = path.split()
            if one.param_type_name == "argument":
                yield [*words, _ARGUMENT]
            elif not one.is_flag:
                yield [*words, *commands[path], one.opts[0], _ARGUMENT]


def test_every_command_is_attacked():
    assert {path for path, _ in every_command()} == set(_COMMANDS), "say what it needs in _COMMANDS"


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
    yield from of_what_is_stored()
    yield from options({path: given for path, given in _COMMANDS.items() if path not in _RUNS})


def of_what_is_stored() -> Iterator[list[str]]:
    bad = _ARGUMENT
    yield ["sessions"]
    yield ["sessions", "list", "--json"]
    yield ["sessions", "show", "0"]
    yield ["sessions", "show", "0", "--json"]
    yield ["sessions", "delete", "--all"]
    yield ["library", "list", "text:x"]  # reads all of them, also those that are damaged
    yield ["try", "--where", "text:x", "--new-suite", f"fits{NAME}.toml"]
    yield ["library", "calls"]
    yield ["library", "calls", "--json"]
    for name in ("good", "malformed", "deep", "refused", "damaged"):
        yield ["detect", f"{name}{NAME}.jsonl"]
        yield ["detect", f"{name}{NAME}.jsonl", "--json"]
    yield ["compare", f"good{NAME}.jsonl", f"nowhere{NAME}"]
    yield ["compare", f"good{NAME}.jsonl", "--with", f"{bad}={bad}"]
    yield ["try", f"suite{NAME}.toml", "--demo", "--html", f"page{NAME}", "--junit", f"junit{NAME}"]
    yield ["try", f"broken{NAME}"]
    yield ["try", "--new-suite", f"new{NAME}.toml", "--where", "kind:chat"]
    yield ["try", f"good{NAME}.jsonl", "--prompt", f"failing{NAME}", "--demo", "-n", "1"]


# Quick: with a configuration that can be read a command comes furthest. What is said of one that cannot be is
# in tests/workbench/config/test_reading.py; the name of the file is shown as other names are.
@pytest.mark.parametrize(
    "config", only_exhaustive(["", f"config{NAME}", f"broken{NAME}", f"nowhere{NAME}"], [f"config{NAME}"])
)
def test_nothing_of_it_reaches_the_terminal(home: Path, tmp_path: Path, config: str):
    run(home, tmp_path, list(commands()), config)


# Quick: some of their arguments are attacked in the test above, and what their screens show in
# tests/workbench/ui/test_terminal_hostile.py. Each row takes as long as a screen is drawn and left.
@pytest.mark.exhaustive
def test_nothing_of_it_reaches_the_terminal_from_what_goes_on_running(home: Path, tmp_path: Path):
    run(home, tmp_path, list(options(_RUNS)), "")


def run(home: Path, folder: Path, rows: list[list[str]], config: str) -> None:
    table = folder / "commands.json"
    table.write_text(json.dumps(rows))
    env = {"WORKBENCH_LIBRARY": str(home / "library")} | ({"WORKBENCH_CONFIG": config} if config else {})
    with Program(home, str(table), env=env, command=("-c", _RUN)) as program:
        while program.process.poll() is None:
            _leave_screen(program)
        assert program.exit_code(40) == 0, program.state()
        assert f"@{len(rows) - 1}: ".encode() in program.raw, program.state()
        check(program)


def _leave_screen(program: Program) -> None:
    """As soon as one is drawn and stands still."""
    with program.changed:
        opened = in_screen(program)
        still = not program.changed.wait(0.3)
    if opened and still:
        program.press("q")
