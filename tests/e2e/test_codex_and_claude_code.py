"""Real Codex and Claude Code through the real proxy, with a scripted model that writes its calls as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.dialogues import Call, Dialogue, Turn
from tests.e2e.errands import COMMAND, DIALECTS, FINAL, NOTE, OUT, RAN, cut_after, errand, hostile
from tests.e2e.programs import KEY, Place, Program, cancel_program, run_program
from tests.e2e.replays import check_replay
from tests.support.proxies import Proxy, running_proxy
from tests.support.streams import META, stream_of
from tests.support.upstream.answers import Answer, Close, Reset, Step, failure, stream
from tests.support.upstream.server import ScriptedUpstream
from workbench.tape.format import Tape, dump_tape


def tapes_of(proxy: Proxy, program: Program, upstream: ScriptedUpstream) -> list[Tape]:
    """Those of its conversation, each of which replays to what was sent."""
    asked = [seen for seen in upstream.requests if seen.method == "POST"]
    tapes = proxy.tapes(len(asked))
    for seen in asked:
        assert seen.path == "/v1/chat/completions" and seen.header("authorization") == f"Bearer {KEY}"
    for tape in tapes:
        assert tape.header["frontend"] == program.api
        check_replay(tape)
        assert KEY.encode() not in dump_tape(tape)
    assert len({tape.header["session"] for tape in tapes}) == 1
    return tapes


@pytest.mark.parametrize(
    ("dialect", "together"), [*((name, False) for name in DIALECTS), ("qwen3-coder", True), ("kimi-k2", True)]
)
def test_it_reads_writes_runs_and_ends(
    program: tuple[Program, str], tmp_path: Path, work: Path, dialect: str, together: bool
):
    agent, binary = program
    dialogue = Dialogue(dialect, errand(agent, work, dialect, together))
    with ScriptedUpstream() as upstream, running_proxy(tmp_path, upstream, dialect) as proxy:
        upstream.answer_with(dialogue)
        ran = run_program(agent, Place(binary, tmp_path / "home", work, proxy.url))
        tapes = tapes_of(proxy, agent, upstream)
    assert (ran.code, FINAL in ran.out) == (0, True), ran
    answers = [tape.end.value["answer"]["choices"][0]["message"] for tape in tapes if tape.end]
    made = [call["function"] for answer in answers for call in answer.get("tool_calls") or []]
    meant = [(call.name, dict(call.arguments)) for turn in dialogue.turns for call in turn.calls]
    assert [(call["name"], json.loads(call["arguments"])) for call in made] == meant and len(meant) == 3
    assert dialogue.asked == list(range(len(dialogue.turns)))
    results = "\n".join(text for turn in dialogue.asked[1:] for text in dialogue.results(turn))
    for wanted in (NOTE.strip(), RAN + "</bash>"):
        assert wanted in results
    assert (work / OUT).read_bytes() == hostile(agent, dialect).encode()
    assert (work / "ran.log").read_text() == RAN
    assert sorted(path.name for path in work.iterdir()) == ["note.txt", OUT, "ran.log"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_it_shows_what_upstream_refuses(
    program: tuple[Program, str], tmp_path: Path, work: Path, dialect: str
):
    """A permanent fault is told once; a client that asks again and again would never come back."""
    agent, binary = program
    sentence = "max_tokens must not exceed 8192 for this model"
    error = {"message": sentence, "type": "invalid_request_error", "param": None, "code": None}
    dialogue = Dialogue(dialect, [Turn("")], {0: lambda said: failure(400, {"error": error})})
    with ScriptedUpstream() as upstream, running_proxy(tmp_path, upstream, dialect) as proxy:
        upstream.answer_with(dialogue)
        ran = run_program(agent, Place(binary, tmp_path / "home", work, proxy.url))
        tapes_of(proxy, agent, upstream)
    assert dialogue.asked == [0] and ran.code != 0
    assert sentence in ran.out + ran.err


@pytest.mark.parametrize(
    ("dialect", "marker", "end"),
    [
        ("roo-xml", "</{tool}>", Reset()),
        ("qwen3-coder", "</function>", Close()),
        ("kimi-k2", "<|tool_call_end|>", Close()),
    ],
)
def test_a_stream_that_breaks_after_a_call_runs_it_once(
    program: tuple[Program, str], tmp_path: Path, work: Path, dialect: str, marker: str, end: Step
):
    agent, binary = program
    call = agent.run(COMMAND.replace(" && echo '</bash>'", ""))
    fault = cut_after(marker.format(tool=call.name), end)
    dialogue = Dialogue(dialect, [Turn("I run it.", [call]), Turn(FINAL)], {0: fault})
    with ScriptedUpstream() as upstream, running_proxy(tmp_path, upstream, dialect) as proxy:
        upstream.answer_with(dialogue)
        ran = run_program(agent, Place(binary, tmp_path / "home", work, proxy.url))
        tapes_of(proxy, agent, upstream)
    assert (ran.code, FINAL in ran.out, dialogue.asked) == (0, True, [0, 1]), ran
    assert (work / "ran.log").read_text() == RAN


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_turn_that_is_cancelled_ends_at_upstream_too(
    program: tuple[Program, str], tmp_path: Path, work: Path, dialect: str
):
    agent, binary = program

    def begun(said: str) -> Answer:
        return stream(stream_of(said, meta=META, finish=None, done=False), end=None)

    dialogue = Dialogue(dialect, [Turn("I begin, and then I think for long.")], {0: begun})
    with ScriptedUpstream() as upstream, running_proxy(tmp_path, upstream, dialect) as proxy:
        upstream.answer_with(dialogue)
        place = Place(binary, tmp_path / "home", work, proxy.url)
        cancel_program(agent, place, lambda: upstream.wait_until(lambda: bool(dialogue.asked), "a turn", 120))
        upstream.wait_for_disconnects(1)
        (tape,) = tapes_of(proxy, agent, upstream)
    assert tape.end is not None and tape.end.value["end"] == "cancelled"
    assert dialogue.asked == [0]


def test_a_conversation_goes_on_after_a_call_that_it_does_not_know(
    program: tuple[Program, str], tmp_path: Path, work: Path
):
    """The model is told, and tries again."""
    agent, binary = program
    script = [Turn("", [Call("frobnicate", {"what": "it"})]), Turn("", [agent.run(COMMAND)]), Turn(FINAL)]
    dialogue = Dialogue("qwen3-coder", script)
    with ScriptedUpstream() as upstream, running_proxy(tmp_path, upstream, "qwen3-coder") as proxy:
        upstream.answer_with(dialogue)
        ran = run_program(agent, Place(binary, tmp_path / "home", work, proxy.url))
    assert (ran.code, FINAL in ran.out, dialogue.asked) == (0, True, [0, 1, 2]), ran
    assert (work / "ran.log").read_text() == RAN
