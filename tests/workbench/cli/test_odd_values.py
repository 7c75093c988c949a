"""Numbers of 5 000 digits and halves of characters, wherever a command reads: a sentence for each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import GOOD, RunCommand, tape

pytestmark = pytest.mark.usefixtures("templates_in_this_process")
LONG = "7" * 5_000
BYTE = "\udcff"  # what Python makes of an argument's byte that is not UTF-8
UP = ["--upstream", "http://127.0.0.1:9"]

# Each is refused with a sentence; {} is the value.
FLAGS = [
    ["config", *UP, "--port={}"],
    ["config", *UP, "--set=max_call_bytes={}"],
    ["config", *UP, "--set={}={}"],
    ["config", "--upstream=http://127.0.0.1:{}"],
    ["serve", *UP, "--listen={}"],
    ["library", "list", "--limit={}"],
    ["library", "calls", "--since={}"],
    ["transform", "good.jsonl", "--chunk={}"],
    ["transform", "good.jsonl", "--tools={}"],
    ["transform", "{}"],
    ["prompt", "{}"],
    ["detect", "{}"],
    ["compare", "good.jsonl", "{}"],
    ["compare", "good.jsonl", "--with=max_call_bytes={}"],
    ["replay", "good.jsonl", "--at=@{}"],
    ["try", "good.jsonl", "--demo", "-n", "{}"],
    ["try", "good.jsonl", "--demo", "--expect-args", "{}"],
    ["connect", "curl", "--url=http://127.0.0.1:{}"],
    ["dialects", "{}"],
    ["init", "--dialect={}"],
]


def said(run: RunCommand, *args: str) -> tuple[object, str]:
    result = run(*args)
    shown = " ".join(args).replace(LONG, "LONG")
    assert "bug in workbench" not in result.err, f"{shown}: {result.err[:300]}"
    assert result.code == 0 or result.err.strip(), f"{shown}: no word about it"
    return result.code, result.err


@pytest.mark.parametrize("value", [LONG, BYTE], ids=["long", "byte"])
def test_a_flag_is_refused_with_a_sentence(run: RunCommand, folder: Path, value: str):
    (folder / "good.jsonl").write_bytes(tape(GOOD))
    for row in FLAGS:
        code, _ = said(run, *(part.replace("{}", value) for part in row))
        assert code == 2, row


NAMES = [
    ["library", "list", "--library={}"],
    ["library", "rebuild", "--library={}"],
    ["sessions", "list", "--library={}"],
    ["attach", "--library={}"],
    ["compare", "a", "b", "--library={}"],
    ["config", *UP, "--library={}"],
    ["serve", *UP, "--library={}"],
    ["serve", *UP, "--port=0", "--log-file={}"],
    ["try", "{}", "--demo"],
    ["try", "good.jsonl", "--demo", "--prompt={}"],
    ["try", "good.jsonl", "--new-suite={}"],
    ["try", "good.jsonl", "--demo", "-n", "1", "--html={}"],
    ["prompt", "good.jsonl", "--prompt={}"],
    ["init", "--dialect={}"],
]


def test_a_name_that_no_file_can_have_is_refused_with_a_sentence(
    run: RunCommand, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    # What a try finds is none of this, and importing SciPy takes longer than all of it.
    monkeypatch.setattr("workbench.lab.statistics.find_spec", lambda name: None)
    (folder / "good.jsonl").write_bytes(tape(GOOD))
    for row in NAMES:
        code, told = said(run, *(part.replace("{}", "a" * 300) for part in row))
        assert code == 2 and len(told) < 800, (row, told[:300])


def test_any_seed_cuts_a_stream(run: RunCommand, folder: Path):
    (folder / "good.jsonl").write_bytes(tape(GOOD))
    for seed in (LONG, BYTE):
        assert said(run, "transform", "good.jsonl", f"--chunk=random:{seed}")[0] == 0


@pytest.mark.parametrize(
    "setting",
    [
        "port = {}",
        "idle_timeout = {}",
        "max_body_bytes = {}",
        "tapes = {}",
        'listen = "\\ud800"',
        "redact = [{}]",
    ],
)
def test_a_setting_is_refused_with_a_sentence(run: RunCommand, folder: Path, setting: str):
    (folder / "workbench.toml").write_text(setting.replace("{}", LONG) + "\n")
    code, sentence = said(run, "config")
    assert code == 2 and "workbench.toml" in sentence


@pytest.mark.parametrize("value", [LONG, f"-{LONG}", '"\\ud800"', f"1e{LONG}", "[1]"], ids=lambda v: v[:8])
def test_files_of_a_request_and_of_tools(run: RunCommand, folder: Path, value: str):
    (folder / "good.jsonl").write_bytes(tape(GOOD))
    function = f'{{"name": {value}, "description": {value}, "parameters": {{"properties": {value}}}}}'
    tools = f'[{{"type": "function", "function": {function}}}]'
    (folder / "tools.json").write_text(tools)
    message = f'{{"role": "tool", "tool_call_id": {value}, "content": {value}}}'
    (folder / "request.json").write_text(
        f'{{"model": {value}, "seed": {value}, "messages": [{message}], "tools": {tools}}}'
    )
    said(run, "prompt", "request.json", "--dialect", "roo-xml")
    said(run, "transform", "good.jsonl", "--tools", "tools.json")


def tapes(value: str) -> Iterator[bytes]:
    """The value in each place of a tape by itself, as far as it can stand there."""
    lines = tape(GOOD).decode().splitlines()
    header = json.loads(lines[0])
    for key in ("started", "now", "ids", "dialect", "model", "policy", "frontend", "template"):
        first = json.dumps(header | {key: "@"}).replace('"@"', value)
        yield "\n".join([first, *lines[1:], ""]).encode()
    event = f'data: {{"id": {value}, "choices": [{{"index": {value}, "delta": {{"content": {value}}}}}]}}\n\n'
    for line in (
        f'{{"t": {value}, "read": ": x\\n\\n"}}',
        f'{{"t": 1, "status": {value}, "side": "client", "headers": [["a", {value}]]}}',
        f'{{"t": 1, "finding": {value}, "level": {value}, "message": {value}, "where": {value}}}',
        f'{{"t": 1, "lost": {{"lines": {value}, "bytes": {value}}}}}',
        json.dumps({"t": 1, "read": event}),
    ):
        yield "\n".join([lines[0], line, *lines[1:], ""]).encode()
    end = (
        f'{{"t": {value}, "end": "done", "calls": {value}, "status": {value}, "findings": {{"x": {value}}}}}'
    )
    yield "\n".join([*lines[:-1], end, ""]).encode()


@pytest.mark.parametrize("value", [LONG, '"\\ud800"', "[1]"], ids=["long", "half", "list"])
def test_tapes(run: RunCommand, folder: Path, value: str):
    library = folder / "library" / "tapes" / "2026-11-16"
    library.mkdir(parents=True)
    for number, data in enumerate(tapes(value)):
        (library / f"{number:06}-x.jsonl").write_bytes(data)
        (folder / "x.jsonl").write_bytes(data)
        for command in ("transform", "prompt"):
            assert "half written" not in said(run, command, "x.jsonl")[1]
    for command in ("rebuild", "list", "calls"):
        said(run, "library", command, "--library", "library")


def test_a_long_number_in_the_first_line_is_called_that(run: RunCommand, folder: Path):
    first, rest = tape(GOOD).split(b"\n", 1)
    (folder / "x.jsonl").write_bytes(first[:-1] + b', "started": ' + LONG.encode() + b"}\n" + rest)
    code, sentence = said(run, "transform", "x.jsonl")
    assert code == 2 and "a number with too many digits" in sentence


def test_a_tape_cannot_name_code_that_is_run(run: RunCommand, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(folder))
    (folder / "beside.py").write_text("open('was-run', 'w')\n")
    (folder / "x.jsonl").write_bytes(tape(GOOD, dialect="beside:NAME"))
    for command in ("transform", "prompt", "detect"):
        said(run, command, "x.jsonl")
    assert not (folder / "was-run").exists()
