"""The extended tier: real Qwen Code, Cline CLI and AI SDK through the real proxy.

CONTRIBUTING.md says how it is run.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.dialogues import Dialogue
from tests.e2e.errands import DIALECTS, FINAL, OUT, RAN, errand, hostile
from tests.e2e.programs import KEY, Place, Program, run_program
from tests.e2e.replays import check_replay
from tests.support.proxies import running_proxy
from tests.support.upstream.server import ScriptedUpstream


@pytest.mark.parametrize("dialect", DIALECTS)
def test_it_reads_writes_runs_and_ends(
    installed: tuple[Program, str], tmp_path: Path, work: Path, dialect: str
):
    client, binary = installed
    dialogue = Dialogue(dialect, errand(client, work, dialect), spoken=client.spoken)
    with ScriptedUpstream() as upstream, running_proxy(tmp_path, upstream, dialect) as proxy:
        upstream.answer_with(dialogue)
        ran = run_program(client, Place(binary, tmp_path / "home", work, proxy.url))
        asked = [seen for seen in upstream.requests if seen.method == "POST"]
        tapes = proxy.tapes(len(asked))
    assert (ran.code, FINAL in ran.out) == (0, True), ran
    assert dialogue.asked == list(range(len(dialogue.turns)))
    for seen in asked:
        assert (seen.path, seen.header("authorization")) == ("/v1/chat/completions", f"Bearer {KEY}")
    for tape in tapes:
        assert tape.header.get("frontend", "chat") == client.api
        check_replay(tape)
    answers = [tape.end.value["answer"]["choices"][0]["message"] for tape in tapes if tape.end]
    made = [call["function"] for answer in answers for call in answer.get("tool_calls") or []]
    meant = [(call.name, dict(call.arguments)) for turn in dialogue.turns for call in turn.calls]
    assert [(call["name"], json.loads(call["arguments"])) for call in made] == meant and len(meant) == 3
    results = "\n".join(text for turn in dialogue.asked[1:] for text in dialogue.results(turn))
    for wanted in ("17 < 18 &", RAN.strip()):  # Cline's results are JSON, so quotes look different there
        assert wanted in results
    assert (work / OUT).read_bytes() == hostile(client, dialect).encode()
    assert (work / "ran.log").read_text() == RAN
    assert sorted(path.name for path in work.iterdir()) == ["note.txt", OUT, "ran.log"]
