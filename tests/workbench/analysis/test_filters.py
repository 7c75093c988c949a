"""The filter language: what it takes, what it refuses, and what it says then."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.project import SAMPLES
from tests.support.tiers import each_row
from workbench.analysis.filters import FilterError, complete, exactly, parse
from workbench.analysis.verdicts import facts_of_row, verdict
from workbench.library.summary import Row
from workbench.replay.player import Player
from workbench.tape.format import read_tape

NOW = 1_000_000.0
ROW = Row(
    path="x",
    id="7f3a",
    started=NOW - 3600,
    session="Ses_Big",
    parent_session="ses_parent",
    model="Qwen/Qwen3-Coder [fp8]",
    upstream="local",
    dialect="qwen3-coder",
    kind="chat",
    status=200,
    state="done",
    calls=2,
    chunks=40,
    ttfb=0.4,
    findings={"unclosed-parameter": 1, "leaked-markers": 1, "empty-turn": 0},
    try_id="try-20261116-0900",
    prompt="mine",
    variant="mine temperature=0.7",
    case_name='reads "the" file?',
)
FAILED = Row(
    path="y", id="9b", started=NOW, state="error", status=503, error="No GPU left", lost=3, marked=True
)


def matches(text: str, row: Row = ROW) -> bool | None:
    return parse(text, NOW).matches(row, verdict(facts_of_row(row)))


@each_row(
    "text",
    [
        "",
        "   ",
        "model:qwen",
        "MODEL:QWEN",
        "model:qwen/*",
        'model:"coder [fp8]"',
        'model:"*[fp8]"',
        "session:ses_big",
        "session:parent",
        "verdict:malformed",
        "verdict:malformed-*",
        "finding:unclosed*",
        "finding:leaked",
        "-finding:empty-turn",
        "try:20261116 prompt:mine",
        "variant:mine prompt:=mine prompt:=MINE",
        exactly("variant", "mine temperature=0.7"),
        exactly("case", 'reads "the" file?'),
        "has:call",
        "has:finding",
        "has:error",
        "-has:mark",
        "level:error",
        "state:done",
        "-state:error",
        "status:200",
        "status:2xx",
        "status>=200 status<300",
        "status=200",
        "dialect:qwen",
        "upstream:local",
        "kind:chat",
        "id:7f",
        "calls>1",
        "calls>=2 calls<3 -calls>2",
        "chunks=40",
        "ttfb<0.5",
        "since:2h",
        "since:1h before:30m",
        "qwen big unclosed",
        '"unclosed parameter"',
        "-kimi",
        "qw*fp8?",
        "-status:5xx -state:running",
    ],
)
def test_filters_that_take_the_row(text):
    assert matches(text) is True


@each_row(
    "text",
    [
        "model:kimi",
        "model:=qwen",
        "variant:=mine",
        exactly("case", "reads"),
        "model:qwen?",
        "-model:qwen",
        "verdict:converted",
        "finding:empty-turn",
        "finding:other-dialect",
        "-has:call",
        "has:mark",
        "has:gap",
        "state:error",
        "status:5xx",
        "calls>2",
        "tokens>0",
        "seconds<100",
        "since:30m",
        "before:2h",
        "kimi",
        "qwen kimi",
        "error:gpu",
        # what the index knows to be wrong needs no tape
        "model:kimi text:x",
    ],
)
def test_filters_that_do_not(text):
    assert matches(text) is False


@each_row("text", ["error:gpu", "has:gap", "has:mark has:error", "state:error status:5xx"])
def test_filters_that_take_another_row(text):
    assert matches(text, FAILED) is True


@each_row("text", ["text:x", "-has:reasoning", "has:tools", "qwen asked:y calls>1"])
def test_only_the_tape_can_tell(text):
    assert matches(text) is None


@each_row(
    ("text", "expected"),
    [
        ('text:"PYTEST -q"', True),
        ("text:execute_command", True),
        ("text:py*q", True),
        ("text:nowhere", False),
        ("-text:nowhere", True),
        ('asked:"the TESTS"', True),
        ("asked:nowhere", False),
        ("has:reasoning", True),
        ("-has:reasoning", False),
        ("has:tools has:reasoning", True),
        ("has:difference", False),
        # the index has decided about these
        ("model:nobody calls>100", True),
    ],
)
def test_the_tape_tells(text, expected):
    tape = read_tape(SAMPLES / "roo-xml/good-thinks-first.jsonl")
    player = Player(tape.header)
    player.add(tape.lines)
    assert parse(text).matches_tape(player) is expected


@each_row(
    ("text", "position", "words"),
    [
        ("modle:qwen", 0, "there is no key 'modle'; did you mean model?"),
        ("qwen verdikt:leak", 5, "did you mean verdict?"),
        ("http://x", 0, "quote a text that has a :"),
        ("verdict:leek", 8, "there is no verdict 'leek'; did you mean leak?"),
        ("-finding:unclozed", 9, "there is no finding 'unclozed'; did you mean unclosed-parameter?"),
        ("has:calls", 4, "did you mean call?"),
        ("has:*", 4, "there is no has '*'"),
        ("state:finished", 6, "there is no state 'finished'; there are running, done"),
        ("model:", 6, "model: needs a value"),
        ("verdict: leak", 8, "verdict: needs a value, such as"),
        ("since:", 6, "such as 2h or today"),
        ("since:soon", 6, "is not a moment"),
        ("status:ok", 7, "such as 404 or a class such as 5xx"),
        ("status:5xxx", 7, "such as 404"),
        ("calls:2", 0, "calls is a number: write calls>1"),
        ("model>3", 0, "model is not a number: write model:…"),
        ("callz>3", 0, "there is no number 'callz'; did you mean calls?"),
        ("calls>many", 6, "calls> needs a number, not 'many'"),
        ('qwen text:"abc', 10, "never closed"),
        ('"abc', 0, "never closed"),
        ("qwen -", 5, "nothing after the minus"),
    ],
)
def test_a_wrong_filter_says_what_is_wrong_and_where(text, position, words):
    with pytest.raises(FilterError) as caught:
        parse(text, NOW)
    assert words in caught.value.message
    assert caught.value.position == position


@each_row(
    ("text", "found"),
    [
        ("mo", ["model:"]),
        ("model:qwen ver", ["verdict:"]),
        ("-fin", ["-finding:"]),
        ("cal", ["calls>"]),
        ("verdict:le", ["verdict:leak"]),
        ("-has:r", ["-has:reasoning"]),
        ("model:", ["model:kimi", 'model:"qwen \\"3\\" coder"']),
        ("verdict:recording", ["verdict:incomplete-recording"]),
        ("model:cod", ['model:"qwen \\"3\\" coder"']),
        ("nothing:", []),
    ],
)
def test_suggestions(text, found):
    known = {"model": ["kimi", 'qwen "3" coder', "kimi"]}
    assert complete(text, len(text), known) == found
    assert complete(text + " more", len(text), known) == found


def test_every_suggestion_is_a_filter():
    starts = [f"{word}{'1' if word.endswith('>') else ''}" for word in complete("", 0)]
    for start in starts:
        for word in complete(start, len(start)) or [start]:
            parse(word if not word.endswith(":") else f"{word}{_fitting(word)}")


def _fitting(word: str) -> str:
    return {"status:": "200", "since:": "1h", "before:": "1h"}.get(word, "x")


@given(st.text(alphabet='abc:<>=-"\\* \n*?[]x5modelhas', max_size=30), st.integers(-3, 40))
def test_any_text_is_a_filter_or_an_error_with_a_place(text, cursor):
    complete(text, cursor)
    try:
        found = parse(text, NOW)
    except FilterError as error:
        assert 0 <= error.position <= len(text) and error.message
    else:
        assert found.matches(ROW, verdict(facts_of_row(ROW))) in (True, False, None)
