"""`workbench library calls` over the tapes of a real proxy, and the whole answer on a tape's last line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.bench import CALL, TOOLS, Bench, running_bench, wait_for
from tests.support.client import message_result, result
from tests.support.streams import message, stream_of
from tests.support.upstream.answers import stream, whole
from workbench.cli.main import app
from workbench.library.query import Library
from workbench.tape.format import Tape, dump_tape, end_line


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running_bench(tmp_path_factory.mktemp("calls")) as bench:
        yield bench


def listed(library: Path, *words: str) -> list[Any]:
    done = CliRunner().invoke(app, ["library", "calls", "--library", str(library), "--json", *words])
    assert done.exit_code == 0
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("text", "said", "given"),
    [(CALL, "stop", "tool_calls"), ("Hello", "length", "length"), (CALL + "\n<read_file>", "stop", None)],
)
def test_issue_11_20_the_whole_answer_is_on_the_tape(
    bench: Bench, text: str, said: str, given: str | None
) -> None:
    got = result(bench.ask(stream(stream_of(text, finish=said))).content)
    tape = bench.tape()
    assert tape.end is not None
    answer = tape.end.value["answer"]
    assert answer["object"] == "chat.completion"
    on_tape = message_result(answer)
    assert (on_tape.content, on_tape.calls, on_tape.ids) == (got.content, got.calls, got.ids)
    assert on_tape.finish_reason == got.finish_reason and given in (None, got.finish_reason)


def test_issue_11_20_one_that_did_not_stream(bench: Bench) -> None:
    response = bench.ask(whole(message(CALL)), stream=False)
    end = bench.tape().end
    assert end is not None and end.value["answer"] == response.json()


def test_issue_11_20_calls_with_their_arguments_and_results(bench: Bench) -> None:
    history: list[Any] = [{"role": "user", "content": "read a.py and again"}]
    for text in (CALL, CALL.replace("a.py", "b.py"), "Done."):
        bench.upstream.answer(stream(stream_of(text)))
        body = {"model": "m", "stream": True, "tools": TOOLS, "messages": history}
        headers = {"x-session-id": "two-calls"}
        got = result(bench.client.post("/v1/chat/completions", json=body, headers=headers).content)
        for id, (name, arguments) in zip(got.ids, got.calls, strict=True):
            call = {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            history += [
                {"role": "assistant", "content": got.content, "tool_calls": [call]},
                {
                    "role": "tool",
                    "tool_call_id": id,
                    "content": f"text of {json.loads(arguments)['path']}\x1b",
                },
            ]

    def indexed() -> bool:
        with Library(bench.proxy.library) as library:
            return sum(row.session == "two-calls" and row.state == "done" for row in library.rows()) == 3

    wait_for(indexed, "three exchanges in the index")
    second, first = listed(bench.proxy.library, "--session", "two-calls", "--tool", "read*")
    assert (first["tool"], first["arguments"], first["result"]) == (
        "read_file",
        {"path": "a.py"},
        "text of a.py\x1b",
    )
    assert (second["arguments"], second["result"], second["troubles"]) == (
        {"path": "b.py"},
        "text of b.py\x1b",
        [],
    )
    assert first["session"] == "two-calls" and (bench.proxy.library / first["path"]).exists()
    assert listed(bench.proxy.library, "--session", "two-calls", "--tool", "write*") == []
    words = ["library", "calls", "--library", str(bench.proxy.library), "--session", "two-calls"]
    shown = CliRunner().invoke(app, words).stdout
    assert 'read_file {"path":"b.py"}  -> text of b.py\\x1b' in shown and "\x1b" not in shown


def test_issue_11_20_tapes_of_before_are_played(bench: Bench, tmp_path: Path) -> None:
    bench.ask(stream(stream_of(CALL)))
    tape = bench.tape()
    lines = [*(line for line in tape.lines if line.kind != "end"), end_line(9.0, "done")]
    folder = tmp_path / "tapes" / "2026-11-16"
    folder.mkdir(parents=True)
    (folder / "120000-aaaaaaaaaa.jsonl").write_bytes(dump_tape(Tape(tape.header, tuple(lines))))
    assert CliRunner().invoke(app, ["library", "rebuild", "--library", str(tmp_path)]).exit_code == 0
    (call,) = listed(tmp_path)
    assert (call["tool"], call["arguments"], call["result"]) == ("read_file", {"path": "a.py"}, None)
