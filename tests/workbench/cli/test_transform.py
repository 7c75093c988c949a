"""`workbench transform`: every kind of input, every kind of output."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import (
    BAD,
    CALLED,
    GOOD,
    READ_FILE,
    REQUEST,
    RunCommand,
    completion,
    stream,
    tape,
)
from tests.support.tiers import each_row
from workbench.tape.format import Tape, dump_tape, end_line, make_header, read_line

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


@each_row("chunk", ["1", "5", "4096", "bytes", "lines", "random:1", "random:two"])
@each_row("kind", ["text", "sse", "tape"])
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


def test_a_request_that_offers_no_tools_is_passed_through(run: RunCommand):
    Path("body.json").write_text('{"model": "m", "messages": []}')
    result = run(
        "transform", "-d", "roo-xml", "--tools", "body.json", "--out", "message", stdin=GOOD.encode()
    )
    assert (result.code, result.answer) == (0, (GOOD, [], "stop"))
    result = run("transform", "--tools", "body.json", "--out", "message", stdin=tape(GOOD))
    assert (result.code, result.answer) == (0, (GOOD, [], "stop"))


@each_row(("args", "says"), BAD_USAGE)
def test_bad_usage_is_exit_2_and_a_clear_message(run: RunCommand, args: list[str], says: str):
    Path("broken.json").write_text("{\n")
    Path("number.json").write_text('{"tools": 5}')
    Path("odd.json").write_text('{"model": "m"}')
    Path("strings.json").write_text('["read_file"]')
    result = run("transform", *args, stdin=b"hello")
    assert (result.code, result.out) == (2, b"")
    assert says in result.err
    assert len(result.err.splitlines()) <= 4


@each_row(
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


def test_a_terminal_gets_the_stream_escaped_and_the_findings_in_colour(
    run_on_terminal: Callable[..., tuple[object, str]], monkeypatch: pytest.MonkeyPatch
):
    given = tape(f"{HOSTILE}\n\n{BAD}")
    monkeypatch.setenv("NO_COLOR", "")
    code, shown = run_on_terminal("transform", stdin=given)
    assert code == 1
    assert "\x1b[31merror\x1b[0m unclosed-parameter" in shown
    assert "\u202e" not in shown
    assert "\u009b" not in shown
    assert r"\u202e" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    _, plain = run_on_terminal("transform", stdin=given)
    assert "\x1b" not in plain


def test_a_terminal_without_a_file_says_what_to_do(run_on_terminal: Callable[..., tuple[object, str]]):
    code, shown = run_on_terminal("transform", "-d", "roo-xml")
    assert code == 2
    assert "give a FILE" in shown
