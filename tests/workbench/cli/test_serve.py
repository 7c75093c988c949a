"""`workbench serve` writes one line for each exchange: the real program, its standard error and its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.bench import CALL, QUICK, Bench, running_bench, wait_for
from tests.support.streams import stream_of
from tests.support.upstream.answers import failure, stream
from workbench.analysis.verdicts import facts_of_row, verdict
from workbench.cli.serve import ExchangeLog, text_line
from workbench.errors import UserError
from workbench.library.summary import Row

HOSTILE = "evil\x1b[31m\nname\u202e"


def lines_in(file: Path, count: int) -> list[str]:
    def lines() -> list[str]:
        return file.read_text().splitlines() if file.exists() else []

    wait_for(lambda: len(lines()) >= count, f"{count} lines in {file.name}")
    assert len(lines()) == count
    return lines()


def exchanges(bench: Bench) -> None:
    bench.ask(stream(stream_of(CALL)))
    bench.ask(failure(429, {"error": {"message": "slow \x1b[2J down, sk-abcdefghijklmnop1234"}}))
    bench.upstream.answer(stream(stream_of("Hi")))
    bench.client.post("/v1/chat/completions", json={"model": HOSTILE, "messages": [], "stream": True})


def test_issue_11_21_one_line_for_each_exchange(tmp_path: Path) -> None:
    with running_bench(tmp_path) as bench:
        exchanges(bench)
        good, refused, hostile = lines_in(bench.proxy.log, 3)
    day, time, model, dialect, said, calls, took, findings = [
        part for part in good.replace(" ", "  ", 1).split("  ") if part
    ]
    assert (len(day), len(time)) == (10, 8)
    assert (model, dialect, said, calls, findings) == ("m", "roo-xml", "✔ 1 call converted", "1 call", "–")
    assert took.endswith("s") and float(took[:-1]) < 30
    assert "✖ 429 Too Many Requests: slow \\x1b[2J down" in refused and "upstream-status" in refused
    assert "sk-abcdefghijklmnop1234" not in refused
    assert "evil\\x1b[31m\\nname\\u202e" in hostile


def test_issue_11_21_as_json_into_a_file(tmp_path: Path) -> None:
    file = tmp_path / "exchanges.log"
    with running_bench(tmp_path, flags=("--log-file", str(file), "--log-json")) as bench:
        exchanges(bench)
        good, refused, hostile = map(json.loads, lines_in(file, 3))
        assert bench.proxy.log.read_text() == ""
        tapes = bench.proxy.tapes(3)
    assert file.stat().st_mode & 0o777 == 0o600
    assert (good["model"], good["dialect"], good["calls"], good["status"]) == ("m", "roo-xml", 1, 200)
    assert good["verdict"] == {"kind": "converted", "level": "good", "sentence": "1 call converted"}
    assert good["id"] == tapes[0].header["id"] and good["session"] == tapes[0].header["session"]
    assert (refused["status"], refused["findings"]) == (429, {"upstream-status": 1})
    assert hostile["model"] == HOSTILE


@pytest.mark.parametrize(("flag", "count"), [("-v", 1), ("-q", 0)])
def test_issue_11_21_more_or_nothing(tmp_path: Path, flag: str, count: int) -> None:
    with running_bench(tmp_path, toml=QUICK, flags=(flag,)) as bench:
        bench.ask(stream(stream_of(CALL)))
        tape = bench.tape()
        lines = lines_in(bench.proxy.log, count)
    for line in lines:
        assert f"session {tape.header['session']}" in line and "status 200 done" in line
        assert "first byte" in line and f"{tape.header['id']}.jsonl" in line


def test_a_log_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"the log cannot be written to .*: Is a directory"):
        ExchangeLog(str(tmp_path))


def test_a_line_stays_one_line() -> None:
    row = Row("p\n", "i", model=HOSTILE, dialect="x\r", state="error", error="a\nb\x00", session="s\x1b")
    line = text_line(row, verdict(facts_of_row(row)), verbose=True)
    assert line.isprintable() and "\\x1b" in line
