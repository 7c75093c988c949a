"""A call that a client cannot use is good nowhere: in the list, the bar, the replay, `library list`, or by
the exit code of `transform`. Each case goes through the real proxy.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.bench import Bench, running_bench, wait_for
from tests.support.streams import stream_of, tool
from tests.support.upstream.answers import stream
from workbench.analysis.verdicts import facts_of_player, facts_of_row, verdict
from workbench.cli.main import app
from workbench.library.query import Filter, Library
from workbench.library.summary import Row
from workbench.replay.player import Player
from workbench.tape.format import read_tape

TEXT = {"type": "string"}
WRITE = tool("write", {"path": TEXT, "mode": {"type": "integer"}}, required=["path"])


def kimi(arguments: str, name: str = "write") -> str:
    return f"<|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"


CASES: dict[str, tuple[str, str]] = {
    "missing-parameter": (kimi('{"mode":5}'), "stop"),
    "value-not-of-type": (kimi('{"path":"a","mode":"soon"}'), "stop"),
    "unknown-tool": (kimi('{"path":"a"}', "fly"), "stop"),
    "invalid-arguments": (kimi("{no}"), "stop"),
    "cut-after-call": (kimi('{"path":"a"}'), "length"),
    "": (kimi('{"path":"a"}'), "stop"),
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running_bench(tmp_path_factory.mktemp("unusable"), "kimi-k2") as bench:
        yield bench


def recorded(bench: Bench, text: str, finish: str) -> Row:
    bench.ask(stream(stream_of(text, finish=finish)), tools=[WRITE])
    bench.tape()
    with Library(bench.proxy.library) as library:
        rows = wait_for(lambda: ended(library, bench.session), "its row")
    return rows[0]  # type: ignore[no-any-return]


def ended(library: Library, session: str) -> list[Row]:
    return [row for row in library.rows(Filter(session=session)) if row.state != "running"]


def command(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, words)
    return result.exit_code, result.output


@pytest.mark.parametrize("code", CASES, ids=lambda code: code or "good")
def test_issue_11_6_good_only_if_the_client_can_use_it(bench: Bench, code: str) -> None:
    library, row = bench.proxy.library, recorded(bench, *CASES[code])
    file = str(library / row.path)
    level = "error" if code else "good"

    assert set(row.findings) - {"cut-by-length", "generated-id"} == ({code} if code else set())
    in_list = verdict(facts_of_row(row))
    tape = read_tape(Path(file))
    player = Player(tape.header)
    player.add(tape.lines)
    in_bar = verdict(facts_of_player(player))
    assert (in_list.level, in_list.finding_code or "") == (level, code)
    assert (in_bar.level, in_bar.finding_code or "") == (level, code)

    exit_code, replayed = command("replay", file)
    assert (exit_code, replayed.partition(":")[0]) == (int(bool(code)), level)
    assert command("transform", file)[0] == int(bool(code))

    _, listed = command("library", "list", "--library", str(library), "--session", bench.session, "--json")
    said: dict[str, Any] = json.loads(listed)
    assert said["verdict"] == {"kind": in_list.kind, "level": level, "sentence": in_list.sentence}
    assert (said["session"], said["path"]) == (bench.session, row.path)
