"""`workbench replay` without a terminal, and how it gets hold of one."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.samples import ALL as SAMPLES
from tests.support.terminal import Program
from tests.support.tiers import exhaustive
from workbench.cli.main import app, main
from workbench.cli.replay import take_terminal
from workbench.errors import UserError
from workbench.files import samples_dir
from workbench.text import visible_line

BAD = samples_dir() / "roo-xml" / "unclosed-parameter.jsonl"
GOOD = samples_dir() / "roo-xml" / "good-read.jsonl"
TEXT = "I look at it.\n\n<read_file>\n<path>a.py</path>\n</read_file>"


@dataclass
class Run:
    """What one run of the command left behind."""

    code: object
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Replay = Callable[..., Run]


@pytest.fixture
def replay(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Replay:
    monkeypatch.chdir(tmp_path)

    def run(*args: object, stdin: bytes = b"") -> Run:
        monkeypatch.setattr(sys, "argv", ["workbench", "replay", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as exit:
            main()
        out, err = capfdbinary.readouterr()
        assert b"Traceback" not in err
        return Run(exit.value.code, out.decode(), err.decode())

    return run


@pytest.mark.parametrize(
    ("file", "code", "level", "told"),
    [(GOOD, 0, "good", "call read_file"), (BAD, 1, "error", "unclosed-parameter")],
)
def test_the_three_columns_and_the_exit_code(replay: Replay, file: Path, code: int, level: str, told: str):
    done = replay(file)
    assert done.code == code and done.lines[0].startswith(f"{level}: ") and done.err == ""
    assert told in done.out
    assert any(line.split() == ["Upstream", "│", "Machine", "│", "Client"] for line in done.lines)


def test_several_files_each_with_its_name(replay: Replay):
    done = replay(GOOD, BAD)
    assert done.code == 1
    assert [line for line in done.lines if line.startswith("──")] == [f"── {GOOD}", f"── {BAD}"]


def test_one_that_cannot_be_opened_does_not_stop_the_others(replay: Replay):
    done = replay("none.jsonl", GOOD)
    assert done.code == 2
    assert "cannot read none.jsonl: No such file" in done.err
    assert "good: 1 call converted" in done.lines


def test_wishes_change_what_comes_out(replay: Replay):
    done = replay(BAD, "--set", "malformed=repair")
    assert done.code == 0 and "repaired-parameter" in done.out


@pytest.mark.parametrize(("at", "last"), [("read 3", 3), ("start", 0), ("end", 16)])
def test_a_place_is_where_the_columns_end(replay: Replay, at: str, last: int):
    done = replay(BAD, "--at", at)
    upstream = [line[2:].split("│")[0].split() for line in done.lines]
    reads = [int(cells[0]) for cells in upstream if len(cells) > 2 and cells[0].isdecimal()]
    assert reads == list(range(1, last + 1))


def test_a_place_that_is_not_there(replay: Replay):
    done = replay(GOOD, "--at", "finding 1")
    assert done.code == 2 and str(GOOD) in done.err and done.out == ""


def test_a_pipe_is_read(replay: Replay):
    for arguments in ([], ["-"]):
        done = replay(*arguments, "--dialect", "roo-xml", stdin=TEXT.encode())
        assert done.code == 0 and "call read_file" in done.out


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The samples that the program finds: in the quick tier those of a few dialects, for it reads all."""
    if exhaustive():
        return SAMPLES
    folder = tmp_path / "packaged"
    for dialect in ("qwen3-coder", "roo-xml"):
        shutil.copytree(samples_dir() / dialect, folder / dialect)
    monkeypatch.setattr("workbench.files.samples_dir", lambda: folder)
    return list(folder.glob("*/*.jsonl"))


def test_the_samples_are_a_table(replay: Replay, packaged: list[Path]):
    done = replay("samples")
    assert done.code == 0, "a list is not a test"
    assert len(done.lines) == len(packaged) + len({path.parent for path in packaged})
    assert done.lines[0] == "roo-xml"
    rows = {line.split()[1]: line for line in done.lines if line.startswith("  ")}
    assert rows["unclosed-parameter"].split()[0] == "✖"
    assert "`</path>` is missing" in rows["unclosed-parameter"]
    assert rows["good-write"].split()[0] == "✔"
    assert all(line == visible_line(line) for line in done.lines)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["none.jsonl"], "cannot read none.jsonl: No such file"),
        (["--new"], "--dialect is one of roo-xml"),
        (["--new", "--dialect", "roo-xml"], "--new needs a terminal"),
        (["--new", "--dialect", "roo-xml", "file"], "leave it out to open files"),
        (["--dialect", "roo", str(GOOD)], "did you mean roo-xml"),
        (["--chunk", "many", str(GOOD)], "--chunk is a number of bytes"),
        (["--as", "json", "--dialect", "roo-xml", str(GOOD)], "not a completion"),
    ],
)
def test_what_is_wrong_is_said(replay: Replay, arguments: list[str], why: str):
    done = replay(*arguments)
    assert done.code == 2 and why in done.err and done.out == ""


def test_nothing_at_all_is_explained(replay: Replay, monkeypatch: pytest.MonkeyPatch):
    class Typed(io.BytesIO):
        def isatty(self) -> bool:
            return True

    from workbench.cli.replay import replay as command
    from workbench.errors import UserError

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Typed()))
    with pytest.raises(UserError, match="workbench replay samples"):
        command([], False, None, None, [], None, None)


# With a terminal

PIPED = """
import os, sys
read, write = os.pipe()
os.write(write, {text!r})
os.close(write)
os.dup2(read, 0)
sys.argv = ["workbench", "replay", "-", "--dialect", "roo-xml"]
from workbench.cli.main import main
main()
"""


def test_keys_come_from_the_terminal_when_the_text_came_through_a_pipe(tmp_path: Path):
    command = ("-c", PIPED.format(text=TEXT.encode()))
    with Program(tmp_path, command=command) as screen:
        screen.until(lambda: b"Upstream" in screen.raw and b"Machine" in screen.raw, "the screen")
        screen.press("q")
        assert screen.exit_code() == 0


def test_without_any_terminal_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch):
    def refused(path: str, flags: int) -> int:
        """As the kernel does it for a process that has no terminal."""
        assert path == "/dev/tty"
        raise OSError(errno.ENXIO, os.strerror(errno.ENXIO), path)

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(UserError, match="there is no terminal to read keys from") as told:
        take_terminal()
    assert "| cat" in told.value.message


# -- whatever an answer was kept as

CHUNKS = [
    {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    for delta, finish in (
        ({"role": "assistant", "content": "<read_file>\n<path>a"}, None),
        ({"content": ".py</path>\n</read_file>"}, None),
        ({}, "stop"),
    )
]
NATIVE_CALL = {
    "index": 0,
    "id": "c1",
    "type": "function",
    "function": {"name": "read_file", "arguments": "{}"},
}
NATIVE = {"choices": [{"index": 0, "delta": {"tool_calls": [NATIVE_CALL]}, "finish_reason": "tool_calls"}]}
MESSAGE = {"role": "assistant", "content": None, "tool_calls": [NATIVE_CALL]}
CALLED = "1 call converted"
PASSED = "upstream sends tool_calls itself; they were passed through unchanged"
KEPT = {
    "lines.jsonl": ("\n".join(map(json.dumps, CHUNKS)), CALLED),
    "lines-done.log": ("\n".join([*map(json.dumps, CHUNKS), "[DONE]"]), CALLED),
    "list.json": (json.dumps(CHUNKS, indent=2), CALLED),
    "stream.sse": ("".join(f"data: {json.dumps(chunk)}\n\n" for chunk in CHUNKS), CALLED),
    "text.txt": ("<read_file>\n<path>a.py</path>\n</read_file>", CALLED),
    "native.jsonl": (json.dumps(NATIVE), PASSED),
    "native.sse": (f"data: {json.dumps(NATIVE)}\n\n", PASSED),
    "message.json": (json.dumps(MESSAGE), PASSED),
    "whole.json": (json.dumps({"choices": [{"index": 0, "message": MESSAGE}]}), PASSED),
}
REFUSED = {
    "request.json": ({"model": "m", "messages": [], "tools": []}, "this is a request, not an answer"),
    "responses.json": ({"object": "response", "output": []}, "neither a chat completion nor chunks of one"),
    "ollama.json": (
        {"model": "m", "message": {"role": "assistant"}, "done": True},
        "its keys: model, message",
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_issue_11_18_answers_are_recognised_however_they_were_kept(tmp_path: Path, name: str) -> None:
    content, said = KEPT[name]
    (tmp_path / name).write_text(content)
    done = CliRunner().invoke(app, ["replay", "-d", "roo-xml", str(tmp_path / name)])
    assert (done.exit_code, done.stdout.splitlines()[0].rstrip(".")) == (0, f"good: {said}"), done.output
    assert CliRunner().invoke(app, ["transform", "-d", "roo-xml", str(tmp_path / name)]).exit_code == 0


@pytest.mark.parametrize("name", REFUSED)
def test_issue_11_18_other_json_is_refused_with_a_sentence(tmp_path: Path, name: str) -> None:
    value, said = REFUSED[name]
    (tmp_path / name).write_text(json.dumps(value))
    for command in ("replay", "transform"):
        done = CliRunner().invoke(app, [command, "-d", "roo-xml", str(tmp_path / name)])
        assert done.exit_code == 2 and said in done.output, done.output


def test_issue_11_18_a_call_that_a_model_writes_as_json_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "call.txt").write_text('{"name": "read_file", "arguments": {"path": "a"}}')
    done = CliRunner().invoke(app, ["replay", "-d", "roo-xml", str(tmp_path / "call.txt")])
    assert done.exit_code == 0 and " reads, " in done.stdout


def test_issue_11_18_a_folder_of_captures_and_texts(tmp_path: Path) -> None:
    for name, (content, _) in KEPT.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "request.json").write_text(json.dumps(REFUSED["request.json"][0]))
    (tmp_path / "package.json").write_text('{"name": "x", "version": "1"}')
    (tmp_path / "good-tape.jsonl").write_bytes(
        next(path for path in SAMPLES if path.stem.startswith("good")).read_bytes()
    )
    done = CliRunner().invoke(app, ["replay", "-d", "roo-xml", str(tmp_path)])
    assert done.exit_code == 0, done.output
    shown = {line.split()[1] for line in done.stdout.splitlines()[1:]}
    assert shown == {*KEPT, "good-tape"}
    assert "request.json: this is a request" in done.output and "package.json" not in done.output
