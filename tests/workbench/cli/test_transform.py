"""The command, run as a user runs it: real files, exit codes, both output streams."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.project import ROOT
from transformer import DIALECTS
from transformer.sse import DONE, encode
from workbench import __version__
from workbench.cli.main import app, main
from workbench.tape.format import Tape, dump_tape, end_line, make_header, read_line

COMMAND = [sys.executable, "-m", "workbench"]

READ_FILE = {
    "type": "function",
    "function": {
        "name": "read_file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
REQUEST = {"model": "m", "stream": True, "messages": [], "tools": [READ_FILE]}
GOOD = "Let me see.\n\n<read_file>\n<path>naïve 🙂.py</path>\n</read_file>"
BAD = "Let me see.\n\n<read_file>\n<path>a.py\n</read_file>"


@dataclass
class Run:
    """What one run of the command left behind."""

    code: object
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def answer(self) -> tuple[str | None, list[tuple[str, Any]], str]:
        """Content, calls and finish_reason of `--out message`."""
        (choice,) = self.json["choices"]
        message = choice["message"]
        calls = [call["function"] for call in message.get("tool_calls", [])]
        return (
            message["content"],
            [(call["name"], json.loads(call["arguments"])) for call in calls],
            choice["finish_reason"],
        )


CALLED = ("Let me see.", [("read_file", {"path": "naïve 🙂.py"})], "tool_calls")
RunCommand = Callable[..., Run]


@pytest.fixture
def run(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> RunCommand:
    """The command in this process, in an empty folder: the same code, without the start of a process."""
    monkeypatch.chdir(tmp_path)

    def run(*args: object, stdin: bytes = b"") -> Run:
        monkeypatch.setattr(sys, "argv", ["workbench", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as exit:
            main()
        out, err = capfdbinary.readouterr()
        assert b"Traceback" not in err
        return Run(exit.value.code, out, err.decode())

    return run


def stream(text: str) -> bytes:
    pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
    deltas: list[dict[str, Any]] = [
        {"index": 0, "delta": {"content": piece}, "finish_reason": None} for piece in pieces
    ]
    deltas.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    head: dict[str, Any] = {"id": "c1", "object": "chat.completion.chunk", "created": 5, "model": "m"}
    return b": hello\n\n" + b"".join(encode({**head, "choices": [delta]}) for delta in deltas) + DONE


def completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "c1", "object": "chat.completion", "created": 5, "model": "m", "choices": [choice]}
    return json.dumps(body, indent=1).encode()


def tape(text: str, *, data: bytes | None = None, **header: Any) -> bytes:
    data = stream(text) if data is None else data
    lines = [read_line(at / 100, data[at : at + 7]) for at in range(0, len(data), 7)]
    given = {"dialect": "roo-xml", "ids": "seed", "now": 7, "request": REQUEST, **header}
    return dump_tape(Tape(make_header("a test", **given), (*lines, end_line(9, "done"))))


KINDS: dict[str, Callable[[str], bytes]] = {
    "text": str.encode,
    "sse": stream,
    "json": completion,
    "tape": tape,
}


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([READ_FILE]))
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_input_is_recognised_and_converted(run: RunCommand, tools: Path, kind: str):
    Path("input").write_bytes(KINDS[kind](GOOD))
    result = run("transform", "input", "--dialect", "roo-xml", "--tools", tools, "--out", "message")
    assert result.answer == CALLED
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("chunk", ["1", "5", "4096", "bytes", "lines", "random:1", "random:two"])
@pytest.mark.parametrize("kind", ["text", "sse", "tape"])
def test_no_cut_changes_the_answer(run: RunCommand, tools: Path, kind: str, chunk: str):
    given = ("-", "-d", "roo-xml", "--tools", tools, "--chunk", chunk, "--out", "message")
    result = run("transform", *given, stdin=KINDS[kind](GOOD))
    assert result.answer == CALLED


def test_a_tape_brings_all_that_is_needed(run: RunCommand):
    Path("t.jsonl").write_bytes(tape(GOOD))
    first, second = (run("transform", "t.jsonl", "--out", "message") for _ in range(2))
    assert first.answer == CALLED
    assert first.out == second.out


def test_flags_win_over_the_tape(run: RunCommand):
    Path("t.jsonl").write_bytes(tape(BAD, policy={"malformed": "repair"}))
    repaired = run("transform", "t.jsonl", "--out", "message")
    assert repaired.answer[1:] == ([("read_file", {"path": "a.py"})], "tool_calls")
    assert repaired.code == 0
    as_text = run("transform", "t.jsonl", "--set", "malformed=text", "--out", "message")
    assert as_text.answer == (BAD, [], "stop")
    assert as_text.code == 1
    untouched = run("transform", "t.jsonl", "--dialect", "passthrough", "--out", "message")
    assert untouched.answer == (BAD, [], "stop")
    assert untouched.code == 0


def test_as_overrides_the_guess(run: RunCommand, tools: Path):
    given = ("-d", "roo-xml", "--tools", tools, "--out", "message")
    result = run("transform", *given, "--as", "text", stdin=b"data: {}\n")
    assert result.answer[0] == "data: {}\n"


def test_out_sse_is_what_the_client_would_get(run: RunCommand):
    out = run("transform", stdin=tape(GOOD)).out
    events = [event.removeprefix(b"data: ") for event in out.split(b"\n\n")]
    assert events[-2:] == [b"[DONE]", b""]
    chunks = [json.loads(event) for event in events[:-2]]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert [c["finish_reason"] for chunk in chunks for c in chunk["choices"] if c["finish_reason"]] == [
        "tool_calls"
    ]
    assert b"<read_file>" not in out


def test_passthrough_gives_the_bytes_as_they_are(run: RunCommand):
    data = stream(GOOD)
    assert run("transform", "-d", "passthrough", "--chunk", "random:3", stdin=data).out == data


def test_out_trace_is_one_json_record_a_line(run: RunCommand):
    result = run("transform", "--out", "trace", stdin=tape(BAD))
    records = [json.loads(line) for line in result.out.split(b"\n")[:-1]]
    assert {record["record"] for record in records} == {"Event", "Transition", "Delta", "Finding"}
    assert [record["seq"] for record in records] == sorted({record["seq"] for record in records})
    first = next(record for record in records if record["record"] == "Event")
    assert json.loads(first["data"])["id"] == "c1"
    step = next(record for record in records if record["record"] == "Transition")
    assert step["span"]["channel"] == "content"


def test_findings_are_readable_lines_on_standard_error(run: RunCommand):
    result = run("transform", "--out", "message", stdin=tape(BAD))
    assert result.code == 1
    (line,) = result.err.splitlines()
    assert line.startswith("error unclosed-parameter  content ")
    assert "path" in line
    assert result.answer == (BAD, [], "stop")


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_is_exit_1_whatever_the_input(run: RunCommand, tools: Path, kind: str):
    result = run("transform", "-d", "roo-xml", "--tools", tools, stdin=KINDS[kind](BAD))
    assert result.code == 1
    assert "unclosed-parameter" in result.err


def test_an_answer_that_did_not_stream_is_converted_from_a_tape_too(run: RunCommand):
    given = tape("", data=completion(GOOD), request={**REQUEST, "stream": False})
    result = run("transform", "--chunk", "3", stdin=given)
    assert result.json["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "read_file"
    assert "--chunk changes nothing" in result.err
    assert result.code == 0


def test_a_tape_whose_upstream_broke_ends_as_it_did(run: RunCommand):
    data = stream("Half an ans")[:-60]
    lines = (read_line(0, data), end_line(1, "error", error="connection reset"))
    result = run("transform", stdin=dump_tape(Tape(make_header("x", "roo-xml", request=REQUEST), lines)))
    assert b"connection reset" in result.out
    assert "connection reset" in result.err
    assert result.code == 1


def test_a_damaged_tape_is_converted_and_named(run: RunCommand):
    whole = tape(GOOD)
    result = run("transform", "--out", "message", stdin=whole[: whole.rindex(b'{"t"') + 9])
    assert result.answer == CALLED
    assert result.err.startswith("note the tape is damaged: ")
    assert "half written" in result.err


def test_a_text_that_is_not_utf8_is_read_and_named(run: RunCommand, tools: Path):
    result = run("transform", "-d", "roo-xml", "--tools", tools, "--out", "message", stdin=b"caf\xe9 au lait")
    assert result.answer[0] == "caf\ufffd au lait"
    assert "not valid UTF-8" in result.err
    assert result.code == 0


def test_tools_may_be_a_request_that_says_more(run: RunCommand):
    Path("body.json").write_text(json.dumps({**REQUEST, "parallel_tool_calls": False}))
    twice = (
        "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>\n"
        * 2
    )
    args = ("transform", "-d", "qwen3-coder", "--tools", "body.json", "--out", "message")
    assert len(run(*args, stdin=twice.encode()).answer[1]) == 1
    Path("body.json").write_text(json.dumps(REQUEST))
    assert len(run(*args, stdin=twice.encode()).answer[1]) == 2


def test_nothing_at_all_is_an_error_not_an_empty_success(run: RunCommand):
    result = run("transform", "-d", "roo-xml", stdin=b"")
    assert result.code == 1
    assert result.err.startswith("error ")


def test_an_error_instead_of_an_answer_is_an_error(run: RunCommand):
    result = run("transform", "-d", "roo-xml", stdin=b'{"error": {"message": "overloaded"}}')
    assert result.code == 1
    assert b"overloaded" in result.out


HOSTILE = "\x1b]0;owned\x07\u009b31m\u202e"


@pytest.mark.parametrize("out", ["message", "trace"])
def test_model_output_cannot_steer_the_terminal(run: RunCommand, out: str):
    given = tape(f"<read_file>\n<path>{HOSTILE}</path>\n<mode>{HOSTILE}\n</read_file>\n{HOSTILE}")
    result = run("transform", "--out", out, stdin=given)
    assert not set(HOSTILE) & set("\x1b\x07\u009b\u202e") & set(result.out.decode() + result.err)


BAD_USAGE: list[tuple[list[str], str]] = [
    ([], "which dialect"),
    (["-d", "rooxml"], "did you mean roo-xml?"),
    (["-d", "zzz"], "there is no dialect"),
    (["-d", "roo-xml", "--set", "calls"], "key=value"),
    (["-d", "roo-xml", "--set", "colour=red"], "colour"),
    (["-d", "roo-xml", "--set", "calls=some"], "first, all"),
    (["-d", "roo-xml", "--set", "max_call_bytes=-1"], "max_call_bytes"),
    (["-d", "roo-xml", "--chunk", "0"], "--chunk"),
    (["-d", "roo-xml", "--as", "yaml"], "yaml"),
    (["-d", "roo-xml", "--out", "xml"], "xml"),
    (["-d", "roo-xml", "--as", "tape"], "not a tape"),
    (["-d", "roo-xml", "--as", "json"], "not a completion"),
    (["-d", "roo-xml", "--tools", "missing.json"], "cannot read missing.json"),
    (["-d", "roo-xml", "--tools", "broken.json"], "line 2, column 1"),
    (["-d", "roo-xml", "--tools", "number.json"], "holds no tools"),
    (["-d", "roo-xml", "--tools", "strings.json"], "holds no tools"),
    (["-d", "roo-xml", "--tools", "odd.json"], "holds no tools"),
    (["missing.sse", "-d", "roo-xml"], "cannot read missing.sse: No such file"),
    ([".", "-d", "roo-xml"], "directory"),
    (["a\0b", "-d", "roo-xml"], "cannot read"),
    (["one", "two"], "two"),
    (["--colour"], "--colour"),
]


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


def test_a_request_that_offers_no_tools_is_passed_through(run: RunCommand):
    Path("body.json").write_text('{"model": "m", "messages": []}')
    result = run(
        "transform", "-d", "roo-xml", "--tools", "body.json", "--out", "message", stdin=GOOD.encode()
    )
    assert (result.code, result.answer) == (0, (GOOD, [], "stop"))
    result = run("transform", "--tools", "body.json", "--out", "message", stdin=tape(GOOD))
    assert (result.code, result.answer) == (0, (GOOD, [], "stop"))


@pytest.mark.parametrize(("args", "says"), BAD_USAGE)
def test_bad_usage_is_exit_2_and_a_clear_message(run: RunCommand, args: list[str], says: str):
    Path("broken.json").write_text("{\n")
    Path("number.json").write_text('{"tools": 5}')
    Path("odd.json").write_text('{"model": "m"}')
    Path("strings.json").write_text('["read_file"]')
    result = run("transform", *args, stdin=b"hello")
    assert (result.code, result.out) == (2, b"")
    assert says in result.err
    assert len(result.err.splitlines()) <= 4


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ({"dialect": "klingon"}, "there is no dialect 'klingon'"),
        ({"dialect": ["roo-xml"]}, "there is no dialect"),
        ({"policy": {"calls": "some"}}, "the tape's policy: calls"),
        ({"policy": {"colour": 1}}, "the tape's policy: there is no switch"),
        ({"policy": {"channels": 5}}, "the tape's policy"),
        ({"policy": []}, "the tape's policy is not"),
        ({"request": "x"}, "the tape's request is not"),
        ({"now": "noon"}, "the tape's now"),
        ({"now": 10**30}, "the tape's now"),
        ({"now": float("inf")}, "the tape's now"),
    ],
)
def test_a_tape_that_asks_for_the_impossible_is_exit_2(run: RunCommand, header: dict, says: str):
    result = run("transform", stdin=tape(GOOD, **header))
    assert (result.code, result.out) == (2, b"")
    assert says in result.err


def test_dialects_lists_them(run: RunCommand):
    result = run("dialects")
    assert result.code == 0
    assert [line.split()[0] for line in result.out.decode().splitlines()] == list(DIALECTS)


@pytest.mark.parametrize("name", DIALECTS)
def test_the_table_has_every_pair(run: RunCommand, name: str):
    result = run("dialects", name)
    assert result.code == 0
    dialect = DIALECTS[name]
    rows = result.out.decode().splitlines()[4:]
    assert sum(map(bool, rows)) == sum(map(len, dialect.transitions.values()))
    for (state, token), rules in dialect.transitions.items():
        for rule in rules:
            assert any(
                row.startswith(state) and token in row and rule.condition in row and rule.why in row
                for row in rows
            )


@pytest.mark.parametrize("name", DIALECTS)
def test_the_diagram_has_every_state_and_step(run: RunCommand, name: str):
    result = run("dialects", name, "--mermaid")
    assert result.code == 0
    first, *lines = result.out.decode().splitlines()
    assert first == "stateDiagram-v2"
    dialect = DIALECTS[name]
    rules = [(state, rule) for (state, _), rules in dialect.transitions.items() for rule in rules]
    arrows = {(state, rule.to, rule.condition, rule.name) for state, rule in rules}
    assert sum(" --> " in line for line in lines) == len(arrows) + 1
    tokens = [line.partition(" : ")[2].partition(" / ")[0].partition(" [")[0] for line in lines]
    assert sum(len(names.split(", ")) for names in tokens if names) == len(rules)
    assert sum(" : " in line and " [" in line for line in lines) == sum(bool(arrow[2]) for arrow in arrows)


@pytest.mark.parametrize(
    ("args", "says"),
    [(["kimi"], "did you mean kimi-k2?"), (["--mermaid"], "--mermaid draws one dialect"), (["a", "b"], "b")],
)
def test_dialects_used_badly(run: RunCommand, args: list[str], says: str):
    result = run("dialects", *args)
    assert (result.code, result.out) == (2, b"")
    assert says in result.err


DIALECT_MODULE = """
from dataclasses import replace
from transformer.dialects import DIALECTS

MINE = replace(DIALECTS["roo-xml"], name="mine")
NUMBER = 5
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module with a dialect that nobody has registered, nor imported yet."""
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "own_dialects.py").write_text(DIALECT_MODULE)
    monkeypatch.syspath_prepend(tmp_path / "path")
    yield "own_dialects"
    sys.modules.pop("own_dialects", None)


def test_a_dialect_of_a_module(run: RunCommand, module: str):
    name = f"{module}:MINE"
    Path("tools.json").write_text(json.dumps([READ_FILE]))
    result = run("transform", "-d", name, "--tools", "tools.json", "--out", "message", stdin=GOOD.encode())
    assert (result.code, result.answer) == (0, CALLED)
    assert run("dialects", name).out.startswith(b"mine: ")
    assert run("prompt", "--template", name).out == run("prompt", "--template", "roo-xml").out
    Path("workbench.toml").write_text(f'dialect = "{name}"\n[prompts]\n"{name}" = "mine.jinja"')
    settings = run("config", "--json", "--upstream", "http://127.0.0.1:1").json["settings"]
    assert settings["upstreams.default.dialect"]["value"] == name
    assert settings["prompts"]["value"] == {name: "mine.jinja"}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("{module}:NONE", "the dialect '{module}:NONE' cannot be loaded: module"),
        ("{module}:NUMBER", "'{module}:NUMBER' is not a Dialect"),
        ("no.such:MINE", "the dialect 'no.such:MINE' cannot be loaded: No module named 'no'"),
        ("roo-xml:", "there is no dialect 'roo-xml:'"),
    ],
)
def test_a_dialect_that_cannot_be_loaded(run: RunCommand, module: str, name: str, says: str):
    name, says = name.format(module=module), says.format(module=module)
    for result in (run("transform", "-d", name, stdin=b"x"), run("serve", "-d", name)):
        assert (result.code, result.out) == (2, b"")
        assert says in result.err and "module:NAME is a Dialect" in result.err
    Path("workbench.toml").write_text(f'[upstreams.x]\nurl = "http://127.0.0.1:1"\ndialect = "{name}"')
    assert f"workbench.toml, [upstreams.x]: dialect: {says}" in run("config").err


def test_a_tape_has_no_module_imported(run: RunCommand, module: str):
    name = f"{module}:MINE"
    result = run("transform", stdin=tape(GOOD, dialect=name))
    assert (result.code, result.out) == (2, b"")
    assert f"the tape's dialect is '{name}', which is not loaded: --dialect {name} loads it" in result.err
    assert module not in sys.modules
    assert run("transform", "-d", name, stdin=tape(GOOD, dialect=name)).code == 0
    assert run("transform", stdin=tape(GOOD, dialect=name)).code == 0, "somebody has named it"


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


def test_a_bug_is_a_message_and_no_traceback(run: RunCommand, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> int:
        raise KeyError("\x1b[2J")

    monkeypatch.setattr("workbench.cli.main.transform", broken)
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


def on_a_terminal(args: list[str], stdin: bytes | None, env: dict[str, str]) -> tuple[int, str]:
    """Run with a terminal for both output streams, and for the input unless there is some."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *args],
        stdin=subprocess.PIPE if stdin is not None else slave,
        stdout=slave, stderr=slave, cwd=ROOT, env={**os.environ, **env},
    )  # fmt: skip
    os.close(slave)
    if process.stdin is not None:
        process.stdin.write(stdin or b"")
        process.stdin.close()
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # Linux says so when the other side has closed
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    return process.wait(), shown.decode()


def test_a_terminal_gets_the_stream_escaped_and_the_findings_in_colour():
    given = tape(f"{HOSTILE}\n\n{BAD}")
    code, shown = on_a_terminal(["transform"], given, {"NO_COLOR": ""})
    assert code == 1
    assert "\x1b[31merror\x1b[0m unclosed-parameter" in shown
    assert "\u202e" not in shown
    assert "\u009b" not in shown
    assert r"\u202e" in shown
    _, plain = on_a_terminal(["transform"], given, {"NO_COLOR": "1"})
    assert "\x1b" not in plain


def test_a_terminal_without_a_file_says_what_to_do():
    code, shown = on_a_terminal(["transform", "-d", "roo-xml"], None, {})
    assert code == 2
    assert "give a FILE" in shown
