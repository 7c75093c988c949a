"""Real OpenCode through the real proxy, with a scripted model that writes its calls as text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.dialogues import Call, Dialogue, Turn
from tests.e2e.errands import COMMAND, DIALECTS, FINAL, NOTE, PLAIN, RAN, cut_after, lookalike
from tests.e2e.opencode import KEY, Ran, run_opencode
from tests.e2e.replays import check_replay
from tests.support.proxies import running_proxy
from tests.support.upstream.answers import Close, Reset, Step, failure
from tests.support.upstream.server import ScriptedUpstream
from workbench.tape.format import Tape, dump_tape


def converse(opencode: str, tmp_path: Path, work: Path, dialogue: Dialogue) -> tuple[Ran, list[Tape]]:
    """One headless run, and the tapes of its requests, each of which replays to what was sent."""
    with ScriptedUpstream() as upstream, running_proxy(tmp_path, upstream, dialogue.dialect) as proxy:
        upstream.answer_with(dialogue)
        ran = run_opencode(opencode, tmp_path / "home", work, proxy.url, "Do what the note says.")
        tapes = proxy.tapes(len(upstream.requests))
        assert sorted(b"".join(tape.reads) for tape in tapes) == sorted(dialogue.sent)
        # What goes up as it came is on the tape once.
        went_up = [tape.header.get("upstream_request") or tape.header["request"] for tape in tapes]
        for seen in upstream.requests:
            assert seen.header("authorization") == f"Bearer {KEY}"
            assert seen.json in went_up
            assert seen.header("x-session-id") in [tape.header["session"] for tape in tapes]
    for tape in tapes:
        check_replay(tape)
        assert KEY.encode() not in dump_tape(tape)
    return ran, tapes


def hostile(dialect: str) -> str:
    return PLAIN + lookalike(dialect, "write", "content", "bash", "command")


def read(work: Path) -> Call:
    return Call("read", {"filePath": str(work / "note.txt")})


def write(work: Path, dialect: str) -> Call:
    return Call("write", {"filePath": str(work / "out.txt"), "content": hostile(dialect)})


def one_at_a_time(work: Path, dialect: str) -> list[Turn]:
    return [
        Turn("I read it.", [read(work)], size=40, chunking="bytes"),
        Turn("Now I write.", [write(work, dialect)], size=3, chunking="random:write"),
        Turn("", [Call("bash", {"command": COMMAND})], size=4),
        Turn(FINAL, size=2, chunking="random:final"),
    ]


def together(work: Path, dialect: str) -> list[Turn]:
    """Several calls in one answer, where the dialect has that."""
    calls = [read(work), write(work, dialect), Call("bash", {"command": COMMAND})]
    if dialect != "roo-xml":
        return [Turn("All at once.", calls, size=7, chunking="bytes"), Turn(FINAL, size=1000)]
    return [
        Turn("", calls[:1], size=1, chunking="17"),
        Turn("Now I write.", calls[1:2], size=29, chunking="bytes"),
        Turn("Now I run.", calls[2:], size=2, chunking="lines"),
        Turn(FINAL, size=1000),
    ]


@pytest.mark.parametrize("turns", [one_at_a_time, together])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_it_reads_writes_runs_and_ends(opencode: str, tmp_path: Path, work: Path, dialect: str, turns):
    dialogue = Dialogue(dialect, turns(work, dialect))
    ran, tapes = converse(opencode, tmp_path, work, dialogue)
    assert sum(tape.end.value["calls"] for tape in tapes if tape.end) == 3
    assert (ran.code, FINAL in ran.out) == (0, True), ran
    assert dialogue.asked == list(range(len(dialogue.turns)))
    results = [text for turn in dialogue.asked[1:] for text in dialogue.results(turn)]
    for wanted in (NOTE.strip(), "successfully", RAN + "</bash>"):
        assert wanted in results.pop(0)
    assert results == []
    assert (work / "out.txt").read_bytes() == hostile(dialect).encode()
    assert (work / "ran.log").read_text() == RAN
    assert sorted(path.name for path in work.iterdir()) == ["note.txt", "out.txt", "ran.log"]


def test_calls_inside_a_line_and_indented_are_carried_out(opencode: str, tmp_path: Path, work: Path):
    """A model that writes its calls after words on the same line, in a list, and with everything indented."""
    note, out = work / "note.txt", work / "out.txt"
    turns = [
        Turn(f"Let me read it. <read><filePath>{note}</filePath></read>", size=3, chunking="bytes"),
        Turn(
            "Now I write.\n\n"
            f"    <write>\n      <filePath>{out}</filePath>\n      <content>17 < 18</content>\n    </write>",
            size=5,
        ),
        Turn("1. <bash><command>echo once >> ran.log; cat ran.log</command></bash>", size=4),
        Turn(FINAL, size=9),
    ]
    dialogue = Dialogue("roo-xml", turns)
    ran, tapes = converse(opencode, tmp_path, work, dialogue)
    assert sum(tape.end.value["calls"] for tape in tapes if tape.end) == 3
    assert (ran.code, FINAL in ran.out) == (0, True), ran
    assert dialogue.asked == list(range(len(turns)))
    assert out.read_text() == "17 < 18" and (work / "ran.log").read_text() == "once\n"


def test_it_shows_what_upstream_refuses(opencode: str, tmp_path: Path, work: Path):
    """A permanent fault is told once; a client that asks again and again would never come back."""
    sentence = "max_tokens must not exceed 8192 for this model"
    error = {"message": sentence, "type": "invalid_request_error", "param": None, "code": None}
    dialogue = Dialogue("roo-xml", [Turn("")], {0: lambda said: failure(400, {"error": error})})
    ran, _ = converse(opencode, tmp_path, work, dialogue)
    assert dialogue.asked == [0]
    assert sentence in ran.out + ran.err


@pytest.mark.parametrize(
    ("dialect", "marker", "end", "runs"),
    [
        ("roo-xml", "once", Close(), 0),
        ("roo-xml", "</command>\n</bash>", Reset(), 1),
        ("qwen3-coder", "</function>", Close(), 1),
        ("kimi-k2", "once", Reset(), 0),
        # The model has not ended the call, but the arguments are whole: OpenCode has run it by then.
        ("kimi-k2", "'</bash>'\"}", Reset(), 1),
        ("kimi-k2", "<|tool_call_end|>", Close(), 1),
    ],
)
def test_a_broken_stream_never_runs_a_tool_twice(
    opencode: str, tmp_path: Path, work: Path, dialect: str, marker: str, end: Step, runs: int
):
    turns = [Turn("I run it.", [Call("bash", {"command": COMMAND})]), Turn(FINAL)]
    dialogue = Dialogue(dialect, turns, {0: cut_after(marker, end)})
    ran, _ = converse(opencode, tmp_path, work, dialogue)
    log = work / "ran.log"
    assert (log.read_text() if log.exists() else "") == RAN * runs
    # Behind a complete call the conversation goes on as if nothing had been; else the fault is shown, once.
    assert dialogue.asked == [0, 1][: runs + 1]
    assert (ran.code, FINAL in ran.out, "upstream" in ran.err) == (1 - runs, bool(runs), not runs), ran


def test_what_connect_prints_is_what_it_needs(opencode: str, tmp_path: Path, work: Path):
    """It asks for as many tokens as the printed limit says; without one it asks for 32,000."""
    dialogue = Dialogue("roo-xml", [Turn("", [read(work)]), Turn(FINAL)])
    with ScriptedUpstream() as upstream, running_proxy(tmp_path, upstream, "roo-xml") as proxy:
        upstream.answer_with(dialogue)
        command = [
            sys.executable,
            "-m",
            "workbench",
            "connect",
            "opencode",
            "--url",
            proxy.url,
            "--model",
            "m",
        ]
        printed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        chosen = {"model": "workbench/m", "small_model": "workbench/m"}
        ran = run_opencode(
            opencode, tmp_path / "home", work, proxy.url, "Go.", configuration=printed | chosen
        )
    assert (ran.code, FINAL in ran.out, dialogue.asked) == (0, True, [0, 1]), ran
    limit = printed["provider"]["workbench"]["models"]["m"]["limit"]["output"]
    assert {body["max_tokens"] for body in dialogue.bodies} == {limit}
