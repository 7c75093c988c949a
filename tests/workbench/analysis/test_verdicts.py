"""Verdicts: the table decides every finding, the list says what the bar says, and there is a proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from samples.cases import CASES
from tests.support.project import SAMPLES
from tests.support.samples import some_samples
from tests.support.streams import message, sse, stream_of, tool
from tests.support.tiers import each, each_row
from transformer import Delta, Finding
from transformer.answer.observations import OBSERVED
from transformer.findings import CATALOGUE
from workbench.analysis.advice import ADVICE, advice
from workbench.analysis.verdicts import (
    NOTES,
    RULES,
    Facts,
    Kind,
    facts_of_player,
    facts_of_row,
    observations_of,
    proof,
    verdict,
)
from workbench.library.summary import Row, summarise
from workbench.library.tapefiles import TapeEntry
from workbench.replay.player import Pane, Player
from workbench.tape.format import (
    Line,
    end_line,
    finding_line,
    lost_line,
    make_header,
    read_line,
    read_tape,
    status_line,
)

CODES = {*CATALOGUE, *OBSERVED}
LEAKS = {"leaked-markers", "other-dialect", "call-in-reasoning"}
READ_FILE = tool("read_file", {"path": {"type": "string"}})
REQUEST = {"model": "m", "tools": [READ_FILE], "messages": [{"role": "user", "content": "Read it."}]}
QWEN = "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>"


def open_sample(path: Path) -> Player:
    tape = read_tape(path)
    player = Player(tape.header)
    player.add(tape.lines)
    return player


def played(*lines: Line, dialect: str = "roo-xml", request: Any = REQUEST, **header: Any) -> Player:
    player = Player(make_header("", dialect, request=request, ids="x", now=1, kind="chat", **header))
    player.add(lines)
    return player


def judged(player: Player, **more: Any) -> Kind:
    return verdict(facts_of_player(player, **more)).kind


def proven(player: Player) -> tuple[Pane, object]:
    step = proof(player, verdict(facts_of_player(player)))
    assert step is not None
    pane, row = player.place(step)
    return pane, player.item(pane, row)


# -- the table


def test_every_finding_is_decided_once():
    decided = {rule.code for rule in RULES} - {None}
    assert decided | NOTES == CODES
    assert not decided & NOTES


def test_every_finding_is_found_by_its_rule_or_is_a_note():
    def check(code: str) -> None:
        alone = [verdict(Facts("done", 200, calls, {code: 1}, dialect="roo-xml")) for calls in (0, 1)]
        if code in NOTES:
            assert [one.kind for one in alone] == [Kind.NOTHING, Kind.CONVERTED]
        else:
            assert code in [one.finding_code for one in alone]

    each(sorted(CODES), check)


def test_there_is_advice_for_every_finding():
    def check(code: str) -> None:
        text = advice(code)
        assert text == ADVICE[code] and text.endswith(".") and len(text) <= 250

    each(sorted(CODES), check)


def test_advice_for_no_finding_of_ours():
    assert ADVICE.keys() == CODES
    assert "does not know" in advice("of-the-future")


def test_sentences_are_short_and_whole():
    for rule in RULES:
        code = {rule.code: 1} if rule.code else {}
        for facts in (Facts(findings=code), Facts("error", 500, 3, code, "no", dialect="qwen3-coder")):
            said = verdict(facts)
            assert 5 < len(said.sentence) <= 60 and "{" not in said.sentence
            assert not said.sentence.endswith("…"), "only what others said is ever cut"
        said = verdict(Facts("error", 599, 12345, code, "x " * 5000, "chat", "d" * 300, 99, "y " * 5000))
        assert len(said.sentence) <= 60 and len(said.long) <= 600


@each_row(
    ("facts", "kind", "sentence"),
    [
        (Facts(), Kind.RUNNING, "still running"),
        (Facts(calls=1), Kind.RUNNING, "still running, 1 call so far"),
        (Facts(findings={"malformed-call": 1}), Kind.MALFORMED, "malformed call: it stayed text"),
        (Facts("done", 200), Kind.NOTHING, "nothing special: text and no call"),
        (Facts("done", 200, 2, dialect="roo-xml"), Kind.CONVERTED, "2 calls converted"),
        (Facts("done", 200, 1, {"native-calls": 1}), Kind.NATIVE, "1 native call passed through"),
        (Facts("eof", 200, 3, dialect="passthrough"), Kind.NATIVE, "3 native calls passed through"),
        (Facts("eof", 200, dialect="passthrough"), Kind.PASSED, "passed through unchanged"),
        (Facts("eof", 200, kind="relay"), Kind.PASSED, "passed through unchanged"),
        (Facts("eof", 404, kind="relay"), Kind.UPSTREAM, "404 Not Found"),
        (
            Facts("error", 429, findings={"upstream-status": 1}, error="slow down"),
            Kind.UPSTREAM,
            "429 Too Many Requests: slow down",
        ),
        (
            Facts("error", 429, findings={"upstream-fault": 1}, error="slow down"),
            Kind.UPSTREAM,
            "429 Too Many Requests: slow down",
        ),
        (Facts("error", 502, error="no GPU."), Kind.UPSTREAM, "it ended with an error: no GPU"),
        (Facts("error", 502), Kind.UPSTREAM, "it ended with an error"),
        (
            Facts("error", 502, findings={"upstream-fault": 1}, error="no connection\nto x"),
            Kind.UPSTREAM,
            "no answer from upstream: no connection to x",
        ),
        (
            Facts("error", 400, findings={"upstream-fault": 1, "tool-choice-refused": 1}),
            Kind.UPSTREAM,
            "upstream refuses the tool choice: a switch is needed",
        ),
        (Facts("cancelled", 200), Kind.GONE, "the client went away"),
        (Facts("cut"), Kind.INCOMPLETE, "the recording was cut off: its end is missing"),
        (Facts("damaged", problem="no tape"), Kind.INCOMPLETE, "the tape cannot be read"),
        (Facts("done", 200, 1, lost=3), Kind.INCOMPLETE, "the recording has gaps"),
        (Facts("done", 200, 1, {"transformer-failed": 1}), Kind.FAILED, None),
        (Facts("done", 200, 1, {"cut-by-length": 1}), Kind.LENGTH, "cut by length, after 1 call"),
        (
            Facts("done", 200, 0, {"cut-by-length": 1, "truncated-call": 1, "leaked-markers": 1}),
            Kind.TRUNCATED,
            "cut by length in the middle of a call",
        ),
        (Facts("done", 200, 0, {"leaked-markers": 1, "other-dialect": 1}, None, None, "roo-xml"),
         Kind.OTHER_DIALECT, "a call in another dialect than roo-xml stayed text"),
        (Facts("done", 200, 0, {"other-dialect": 1, "malformed-call": 1}), Kind.OTHER_DIALECT, None),
        (Facts("done", 200, 1, {"call-in-thought": 1}), Kind.CONVERTED, "1 call converted"),
        (Facts("done", 200, 0, {"call-in-thought": 1}), Kind.IN_REASONING, None),
        (Facts("done", 200, 0, {"of-the-future": 1}), Kind.NOTHING, None),
        (Facts("done", 200, 0, {"leaked-markers": 0}), Kind.NOTHING, None),
    ],
)  # fmt: skip
def test_the_worst_comes_first(facts, kind, sentence):
    said = verdict(facts)
    assert said.kind is kind
    assert sentence in (None, said.sentence)


# -- the samples


@some_samples(3)
def test_the_list_says_what_the_bar_says(path: Path):
    player = open_sample(path)
    columns = summarise(SAMPLES, TapeEntry(path.relative_to(SAMPLES).as_posix(), 1, 0.0, False))
    # What the observer finds, whoever writes the row adds.
    counts = dict(columns.get("findings", {}))
    for seen in observations_of(player):
        counts.setdefault(seen.code, 1)
    row = Row(**{**columns, "findings": counts})
    mine, listed = verdict(facts_of_player(player)), verdict(facts_of_row(row))
    assert (mine.kind, mine.level, mine.sentence, mine.finding_code) == (
        listed.kind,
        listed.level,
        listed.sentence,
        listed.finding_code,
    )


@some_samples(3)
def test_good_answers_are_good(path: Path):
    if not path.stem.startswith("good-"):
        return
    player = open_sample(path)
    assert not LEAKS & {seen.code for seen in observations_of(player)}
    called = any(outcome.calls for outcome in _outcomes(path))
    assert judged(player) is (Kind.CONVERTED if called else Kind.NOTHING)


def _outcomes(path: Path) -> Any:
    return next(case.outcomes for case in CASES[path.parent.name] if case.name == path.stem)


@some_samples(3)
def test_every_verdict_that_names_a_finding_has_its_row(path: Path):
    player = open_sample(path)
    said = verdict(facts_of_player(player))
    step = proof(player, said)
    assert step is not None and 0 <= step < player.steps
    pane, row = player.place(step)
    item = player.item(pane, row)
    if said.finding_code in CATALOGUE:
        assert isinstance(item, Finding) and item.code == said.finding_code
    elif said.finding_code in LEAKS:
        assert isinstance(item, Delta) and item.kind in ("content", "reasoning")


EXPECTED = {
    "roo-xml/unclosed-parameter": Kind.MALFORMED,
    "roo-xml/cut-by-length": Kind.TRUNCATED,
    "roo-xml/unclosed-call": Kind.TRUNCATED,
    "roo-xml/call-in-reasoning": Kind.IN_REASONING,
    "roo-xml/prose-names-tag": Kind.NOTHING,
    "roo-xml/html-is-no-call": Kind.NOTHING,
    "roo-xml/fenced-example": Kind.NOTHING,
    "roo-xml/empty-turn": Kind.EMPTY,
    "roo-xml/finish-without-call": Kind.FINISH,
    "roo-xml/error-in-stream": Kind.UPSTREAM,
    "roo-xml/native-calls": Kind.NATIVE,
    "roo-xml/no-tools-offered": Kind.PASSED,
    "roo-xml/tool-choice-none": Kind.LEAK,
    "qwen3-coder/other-dialect": Kind.OTHER_DIALECT,
    "qwen3-coder/unclosed-call-repaired": Kind.DOUBTFUL,
    "kimi-k2/prose-names-token": Kind.NOTHING,
    "passthrough/tools-but-passthrough": Kind.OTHER_DIALECT,
    "passthrough/roo-client": Kind.PASSED,
    "passthrough/native-calls": Kind.NATIVE,
}


@each_row(("name", "kind"), EXPECTED.items(), ids=EXPECTED)
def test_verdicts_of_samples(name, kind):
    assert judged(open_sample(SAMPLES / f"{name}.jsonl")) is kind


# -- the player


def test_the_proof_of_a_leak_is_the_delta_with_the_marker():
    data = stream_of(f"Let me look at the file.\n{QWEN}", 7)
    player = played(read_line(0.1, data), end_line(0.2, "done"))
    pane, item = proven(player)
    assert pane is Pane.CLIENT and isinstance(item, Delta)
    assert "<too" in item.text, item.text
    assert verdict(facts_of_player(player)).long.startswith("this text is a call to read_file in qwen3-coder")


def test_the_proof_of_a_leak_in_one_of_two_reasonings():
    call = "<read_file>\n<path>a</path>\n</read_file>"
    deltas = [{"reasoning": "Hm, let me think.", "reasoning_content": "Hm.\n"}]
    deltas += [{"reasoning": "x" * 80, "reasoning_content": part} for part in (call[:9], call[9:])]
    data = sse(*({"choices": [{"delta": delta}]} for delta in deltas))
    player = played(read_line(0.1, data), end_line(0.2, "done"))
    _, item = proven(player)
    assert isinstance(item, Delta) and item.text == "<read_fil"


def test_the_place_of_a_finding_is_told():
    said = verdict(facts_of_player(open_sample(SAMPLES / "roo-xml/unclosed-parameter.jsonl")))
    assert said.long.endswith("went to the client as text (content, from character 33)")


@each_row(
    ("lines", "kind", "key"),
    [
        (
            [status_line(0, "upstream", 503), finding_line(1, "upstream-fault", "error", "no GPU", "proxy"),
             end_line(1, "error", error={"message": "no GPU"})],
            Kind.UPSTREAM,
            "finding",
        ),
        ([status_line(0, "upstream", 500), end_line(1, "error")], Kind.UPSTREAM, "status"),
        ([end_line(1, "error", error="x")], Kind.UPSTREAM, "end"),
        ([status_line(0, "upstream", 200), end_line(1, "cancelled")], Kind.GONE, "end"),
        ([lost_line(0, 3, 99), end_line(1, "done")], Kind.INCOMPLETE, "lost"),
        ([status_line(0, "upstream", 200)], Kind.RUNNING, "status"),
        ([end_line(1, "done", findings={"transformer-failed": 1})], Kind.FAILED, "end"),
    ],
)  # fmt: skip
def test_the_proof_is_a_line_of_the_tape(lines, kind, key):
    player = played(*lines)
    assert judged(player) is kind
    _, item = proven(player)
    assert isinstance(item, Line) and key in item.value


def test_a_tape_that_nobody_writes_is_cut():
    player = played(status_line(0, "upstream", 200))
    assert judged(player, live=True) is Kind.RUNNING
    assert judged(player, live=False) is Kind.INCOMPLETE


def test_nothing_has_come_yet():
    player = played()
    assert judged(player) is Kind.RUNNING
    assert proof(player, verdict(facts_of_player(player))) is None


def test_a_running_leak_is_seen_before_the_end():
    player = played(read_line(0.1, stream_of(QWEN, 7, finish=None, done=False)), dialect="kimi-k2")
    assert judged(player) is Kind.OTHER_DIALECT


@each_row("dialect", ["roo-xml", "passthrough"])
def test_an_answer_that_came_whole(dialect):
    body = json.dumps(message(QWEN)).encode()
    player = played(read_line(0.1, body), end_line(0.2, "done"), dialect=dialect, stream=False)
    assert player.mode == "message"
    assert player.completion is not None
    assert judged(player) is Kind.OTHER_DIALECT


def test_a_tape_of_odd_types_has_a_verdict():
    header = make_header("", "roo-xml") | {
        "request": 3,
        "policy": [],
        "kind": {},
        "dialect": ["x"],
        "ids": {},
    }
    odd = [
        Line({"t": "x", "finding": [], "message": {}}),
        Line({"lost": 3}),
        Line({"end": [], "findings": 3, "error": []}),
    ]
    player = Player(header)
    player.add(odd)
    said = verdict(facts_of_player(player))
    proof(player, said)
    assert said.kind is Kind.INCOMPLETE and said.long == "the tape's request is not a JSON object"


def test_a_row_needs_nothing_but_its_state():
    assert verdict(facts_of_row(Row("x", "y", state="done"))).kind is Kind.NOTHING


def test_issue_11_14_legacy_functions_are_tools() -> None:
    request = {"messages": REQUEST["messages"], "functions": [READ_FILE["function"]]}
    data = stream_of("<read_file>\n<path>a</path>\n</read_file>", 7)
    player = played(read_line(0.1, data), end_line(0.2, "done"), request=request)
    facts = facts_of_player(player)
    assert "nothing-offered" not in facts.findings
    assert judged(player) is Kind.CONVERTED


@each_row("code", ["name-not-carried", "name-collides", "no-properties"])
def test_issue_11_14_what_is_said_of_every_request_is_not_its_verdict(code: str) -> None:
    assert verdict(Facts("done", 200, 1, {code: 3}, dialect="roo-xml")).kind is Kind.CONVERTED
    assert verdict(Facts("done", 200, 0, {code: 3}, dialect="roo-xml")).kind is Kind.NOTHING
