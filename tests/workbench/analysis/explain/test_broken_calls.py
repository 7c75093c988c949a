"""Remedies for texts that no sample has: each way to break a call, each policy, and anything at all."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from tests.support.explanations import (
    BASH,
    READ,
    TEXT,
    WRITE,
    calls_of,
    codes,
    keeps,
    played,
    retried,
    why_of,
    whys,
)
from tests.support.streams import message, tool
from tests.support.tiers import each_row
from workbench.analysis.explain.bytes import explain_byte
from workbench.analysis.explain.findings import HOPELESS, seen_in, why_seen
from workbench.analysis.explain.trace import Explanation
from workbench.analysis.variants.changes import Offer, Switch
from workbench.analysis.verdicts import observations_of
from workbench.replay.lines import MemoryTape
from workbench.replay.player import Player
from workbench.tape.format import end_line, read_line

# What no sample has: the text, what is found, and how the remedies begin.
ROO, QWEN, KIMI = "roo-xml", "qwen3-coder", "kimi-k2"
BEGIN, ARGS, END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
NUMBER = tool("pick", {"n": {"type": "integer"}, "of": {"type": "array", "items": TEXT}}, ["n"])

CASES: list[tuple[str, str, str, list[str]]] = [
    # -- unclosed-parameter
    (
        ROO,
        "<read><filePath>a.py</read>",
        "unclosed-parameter",
        ["with </filePath> before </read>", "with malformed"],
    ),
    (
        ROO,
        "<write>\n<path>a\n<content>b\n</write>",
        "unclosed-parameter",
        ["with </path> before <content> and </content> before </write>", "with malformed"],
    ),
    (
        ROO,
        "<read><filePath>a</read> and more </read>",
        "unclosed-parameter",
        ["with </filePath> before </read>"],
    ),
    (
        QWEN,
        "<function=bash>\n<parameter=command>ls</function> and so on",
        "unclosed-parameter",
        ["with </parameter> before </function>"],
    ),
    # -- truncated-call
    (ROO, "<read><filePath>a.py</fi", "truncated-call", ["with “lePath></read>” at the end"]),
    (ROO, "<read>\n<filePath>a.py</filePath>\n</re", "truncated-call", ["with “ad>” at the end"]),
    (ROO, "<read>", "truncated-call", []),  # it needs a value, which nobody knows
    (ROO, "<read><filePath>a</filePath><limit>3", "truncated-call", ["with </limit></read> at the end"]),
    (ROO, "<write><path>a</path><con", "truncated-call", ["with </write> instead of “<con”"]),
    (
        ROO,
        "<read><filePath>a\n<read>\n<filePath>",
        "truncated-call",
        ["with </read></filePath></read> at the end"],
    ),
    (
        QWEN,
        "<tool_call>\n<function=bash>\n<parameter=command>\nls\n</para",
        "truncated-call",
        ["with “meter></function>” at the end"],
    ),
    (QWEN, "<tool_call>\n<function=bash>", "truncated-call", ["with </function> at the end"]),
    (
        KIMI,
        f'{BEGIN}functions.bash:0{ARGS}{{"command": "ls"}}<|tool_ca',
        "truncated-call",
        ["with “ll_end|>” at the end", "with malformed"],
    ),
    (
        KIMI,
        f'{BEGIN}functions.bash:0{ARGS}{{"command":',
        "truncated-call",
        ['with “""}<|tool_call_end|>” at the end'],
    ),
    (KIMI, f"{BEGIN}functions.bash:0{ARGS}", "truncated-call", ["with “{}<|tool_call_end|>” at the end"]),
    (
        KIMI,
        f"{BEGIN}functions.bash:0",
        "truncated-call",
        ["with <|tool_call_argument_begin|>{}<|tool_call_end|> at the end"],
    ),
    # -- malformed-call
    (
        ROO,
        "<read><filePath>a</filePath> so </read>",
        "malformed-call",
        ["without “ so ” between </filePath> and </read>"],
    ),
    (
        ROO,
        "<read><filePath>a</read></filePath>",
        "malformed-call",
        ["with </filePath> before </read>", "with malformed"],
    ),
    (
        ROO,
        "<read><filePath>a</filePath><limit>3</read>",
        "malformed-call",
        ["with </limit> before </read>", "without “<limit>3” between </filePath> and </read>"],
    ),
    (
        QWEN,
        "<function=bash>\n<parameter=command>ls</parameter> so </function>.",
        "malformed-call",
        ["without “ so ” between </parameter> and </function>"],
    ),
    (
        QWEN,
        "<function=bash>\n<parameter=command\nls\n</parameter>\n</function>",
        "malformed-call",
        ["with “>” after “<parameter=command”"],
    ),
    (
        QWEN,
        "<function=write>\n<parameter=path\na\n</parameter>\n<parameter=content\nb\n</parameter>\n</function>",
        "malformed-call",
        ["with “>” after “<parameter=path”"],
    ),
    (
        KIMI,
        f'{BEGIN}functions.bash:0 {{"command": "ls"}}{END}',
        "malformed-call",
        [f"with {ARGS} after “functions.bash:0”"],
    ),
    (
        KIMI,
        f'{BEGIN}functions.bash:0{{"command": "ls"}}{END}',
        "malformed-call",
        [f"with {ARGS} after “functions.bash:0”"],
    ),
    (
        KIMI,
        f"{BEGIN}functions.bash:0<|tool_calls_section_end|>",
        "malformed-call",
        [f"with {END} after “functions.bash:0”"],
    ),
    # -- others
    (
        KIMI,
        f'{BEGIN}call_1{ARGS}{{"x": 1}}{END}',
        "unnamed-call",
        ["with “functions.read:0”", "with “functions.bash:0”"],
    ),
    (
        KIMI,
        f'{BEGIN}functions.bash:0{ARGS}{{"command": "ls",}}{END}',
        "invalid-arguments",
        ['with “{"command": "ls"}” instead of'],
    ),
    (
        KIMI,
        f'{BEGIN}functions.bash:0{ARGS}{{"command": "a\nb"}}{END}',
        "invalid-arguments",
        ['with “{"command": "a\\nb"}” instead of'],
    ),
    (
        KIMI,
        f'{BEGIN}functions.bash:0{ARGS}"command": "ls"{END}',
        "invalid-arguments",
        ['with “{"command": "ls"}” instead of'],
    ),
    (
        KIMI,
        f'{BEGIN}functions.bash:0{ARGS}{{"command": "ls"}}}}{END}',
        "invalid-arguments",
        ['with “{"command": "ls"}” instead of'],
    ),
    (
        ROO,
        "<think>\nhm\n<read>\n<filePath>a",
        "call-in-thought",
        ["with </think> before <read> and </filePath></read> at the end"],
    ),
    (
        ROO,
        "<reed>\n<filePath>a</filePath>\n</reed>",
        "unknown-tool",
        ["with reed among", "with read instead of reed"],
    ),
    (
        QWEN,
        "<tool_call>\n<function=Bash>\n<parameter=command>ls</parameter>\n</function>",
        "unknown-tool",
        ["with Bash among", "with bash instead of Bash"],
    ),
    (
        KIMI,
        f'{BEGIN}functions.bassh:0{ARGS}{{"command": "ls"}}{END}',
        "unknown-tool",
        ["with bassh among", "with bash instead of bassh"],
    ),
]


@each_row(("dialect", "text", "code", "begins"), CASES, ids=lambda value: str(value)[:40])
def test_cases_that_no_sample_has(dialect: str, text: str, code: str, begins: list[str]):
    player = played(text, dialect)
    why = why_of(player, code)
    assert [remedy.words[: len(start)] for remedy, start in zip(why.remedies, begins, strict=True)] == begins
    for remedy in why.remedies:
        after = retried(player, remedy)
        assert keeps(remedy, after), remedy
        assert codes(after, code) < codes(player, code)
        assert len(calls_of(after)) >= max(1, len(calls_of(player)))


POLICIES: list[tuple[str, str, dict[str, Any], str, list[str]]] = [
    # a call behind another one counts only where all do
    (
        ROO,
        "<read>\n<filePath>a</filePath>\n</read>\n<read>\n<filePath>b\n</read>",
        {},
        "unclosed-parameter",
        ["with calls = all and </filePath> before </read>", "with calls = all and malformed = repair"],
    ),
    (
        ROO,
        "<read><filePath>" + "a" * 900,
        {"max_call_bytes": 100},
        "call-too-long",
        ["with max_call_bytes = "],
    ),
    (
        ROO,
        "<read>\n<filePath>a</filePath>\n</read>",
        {"max_call_bytes": 9},
        "call-too-long",
        ["with max_call_bytes"],
    ),
    (
        ROO,
        "<read>\n<filePath>a",
        {"arguments": "stream"},
        "truncated-call",
        ["with </filePath></read> at the end"],
    ),
    (
        ROO,
        "<reed>\n<a>b</a>\n</reed>",
        {"unknown_tools": "error"},
        "refused-tool",
        ["with reed among", "with unknown_tools = call", "with read instead"],
    ),
    (
        ROO,
        "<pick>\n<n>about 30 or so</n>\n</pick>",
        {},
        "value-not-of-type",
        ["with “30” instead of “about 30 or so” this is a call to pick with n = 30"],
    ),
    (
        ROO,
        "<pick>\n<n>1</n>\n<of>a, b</of>\n</pick>",
        {},
        "value-not-of-type",
        ['with “["a, b"]” instead of “a, b” this is a call to pick with of = ["a, b"]'],
    ),
]


@each_row(("dialect", "text", "policy", "code", "begins"), POLICIES, ids=lambda value: str(value)[:40])
def test_cases_of_policies(dialect: str, text: str, policy: dict[str, Any], code: str, begins: list[str]):
    player = played(text, dialect, [READ, WRITE, BASH, NUMBER], policy=policy)
    why = why_of(player, code)
    assert [remedy.words[: len(start)] for remedy, start in zip(why.remedies, begins, strict=True)] == begins
    for remedy in why.remedies:
        after = retried(player, remedy)
        assert keeps(remedy, after), remedy
        assert codes(after, code) < codes(player, code)


def only_seen(player: Player, code: str) -> Explanation:
    seen = next(one for one, _ in seen_in(player) if one.code == code)
    return why_seen(player, seen)


SEEN: list[tuple[str, str, str, str, list[str]]] = [
    (
        QWEN,
        "<read>\n<filePath>a</filePath>\n</read>",
        "content",
        "other-dialect",
        ["with dialect = roo-xml this"],
    ),
    (
        ROO,
        f'{BEGIN}functions.bash:0{ARGS}{{"command": "ls"}}{END}',
        "content",
        "other-dialect",
        ["with dialect = kimi-k2"],
    ),
    (
        ROO,
        '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>',
        "content",
        "leaked-markers",
        ["with dialect = hermes this"],
    ),
    (
        ROO,
        '{"name": "bash", "parameters": {"command": "ls"}}',
        "content",
        "leaked-markers",
        ["with dialect = llama3-json this"],
    ),
    (
        ROO,
        '<function_call>{"name": "bash", "arguments": {"command": "ls"}}</function_call>',
        "content",
        "leaked-markers",
        ["with “<bash>"],
    ),
    (
        KIMI,
        '<function=bash>{"command": "ls"}</function>',
        "content",
        "leaked-markers",
        ["with “<|tool_calls_section_begin|>"],
    ),
    (
        QWEN,
        "<tool_call>\n<function=bash>\n</function>\n</tool_call>",
        "reasoning_content",
        "call-in-reasoning",
        ["with channels = content,reasoning this"],
    ),
    (
        ROO,
        "<tool_call>\n<function=bash>\n</function>",
        "reasoning_content",
        "call-in-reasoning",
        ["with dialect = qwen3-coder and channels = content,reasoning this"],
    ),
]


@each_row(("dialect", "text", "channel", "code", "begins"), SEEN, ids=lambda value: str(value)[:40])
def test_calls_that_no_rule_took_for_one(dialect: str, text: str, channel: str, code: str, begins: list[str]):
    player = played(text, dialect, channel=channel)
    why = only_seen(player, code)
    assert [remedy.words[: len(start)] for remedy, start in zip(why.remedies, begins, strict=True)] == begins
    for remedy in why.remedies:
        after = retried(player, remedy)
        assert keeps(remedy, after), remedy
        assert not [one for one in observations_of(after) if one.code == code]


HOPELESS_CASES: list[tuple[str, str, str]] = [
    (KIMI, f"{BEGIN}functions.", "truncated-call"),  # every tool begins so
    (KIMI, f"{BEGIN}functions.zzz", "truncated-call"),  # and none so
    (KIMI, f"{BEGIN}functions.bash:0 is an id", "malformed-call"),
    (KIMI, f"{BEGIN}functions.bash:0{ARGS}no JSON{END}", "invalid-arguments"),
]


@each_row(("dialect", "text", "code"), HOPELESS_CASES)
def test_where_nothing_helps_it_says_so(dialect: str, text: str, code: str):
    why = why_of(played(text, dialect), code)
    assert why.remedies == ()
    assert HOPELESS[code] in why.sentences


def test_a_request_for_one_call_is_above_every_policy():
    text = "<read>\n<filePath>a</filePath>\n</read>\n<read>\n<filePath>b\n</read>"
    why = why_of(played(text, ROO, parallel_tool_calls=False), "unclosed-parameter")
    assert why.remedies == ()
    assert "The request says parallel_tool_calls: false, and no policy overrides that." in why.sentences


def test_a_finding_that_follows_from_a_lost_call_has_its_remedies():
    player = played("<read><filePath>a.py</read>", ROO, finish="tool_calls")
    assert why_of(player, "finish-contradicts").remedies == why_of(player, "unclosed-parameter").remedies


def test_a_call_of_an_answer_that_came_whole_has_the_same_remedies():
    text = "<read><filePath>a.py</read>"
    streamed = played(text, ROO)
    header = {key: value for key, value in streamed.header.items() if key != "stream"}
    body = orjson.dumps(message(text))
    whole = MemoryTape("whole", header, [read_line(0, body), end_line(0, "done")]).play()
    assert whole.mode == "message"
    remedies = why_of(whole, "unclosed-parameter").remedies
    assert remedies == why_of(streamed, "unclosed-parameter").remedies
    assert all(keeps(remedy, retried(whole, remedy)) for remedy in remedies)
    byte = explain_byte(whole, body.index(b"a.py"))
    assert byte.remedies == remedies
    assert "character 16 of content" in byte.sentences[1]


def test_an_answer_that_still_runs_is_explained_as_far_as_it_goes():
    finished = played("Hm.\n<read>\n<filePath>a.py</filePath>\n</read>", ROO)
    lines = [read_line(finished.times[at], finished.read(at)) for at in range(finished.reads)]
    for size in range(finished.reads):
        player = MemoryTape("running", finished.header, lines[:size]).play()
        assert all(why.sentences and not why.remedies for _, why in whys(player))
        assert all(explain_byte(player, byte).sentences for byte in range(0, len(player.data), 17))


def test_the_kinds_of_changes():
    player = played("<reed>\n<a>b</a>\n</reed>", ROO, policy={"unknown_tools": "error"})
    changes = [remedy.changes for remedy in why_of(player, "refused-tool").remedies[:2]]
    assert changes == [(Offer("reed"),), (Switch("unknown_tools", "call"),)]


# Whatever a model writes: pieces of calls in any order.
PIECES = {
    ROO: "<read> </read> <filePath> </filePath> <write> </write> <path> </path> <content> <limit> \n a.py "
    "< </fi <think>\n </think> <reed> </reed> \n<read>\n<filePath>",
    QWEN: "<tool_call> </tool_call> <function=bash> <function=x> </function> <parameter=command> <parameter= "
    "<parameter=command <parameter=command= </parameter> \n ls < </para <parameter=path>",
    KIMI: f"<|tool_calls_section_begin|> <|tool_calls_section_end|> {BEGIN} {ARGS} {END} functions.bash:0 "
    'functions. call_1 {"command":"ls"} {"command": " } { \n <|tool_ca x',
}
ANY_POLICY: list[dict[str, Any]] = [
    {},
    {"malformed": "repair"},
    {"arguments": "stream"},
    {"arguments": "whole"},
    {"calls": "all"},
    {"calls": "first"},
    {"unknown_tools": "text"},
    {"unknown_tools": "error"},
    {"max_call_bytes": 30},
]


@given(st.data())
def test_remedies_hold_for_whatever_a_model_writes(data: st.DataObject):
    dialect = data.draw(st.sampled_from([ROO, QWEN, KIMI]))
    pieces = data.draw(st.lists(st.sampled_from(PIECES[dialect].split(" ")), min_size=1, max_size=12))
    policy = data.draw(st.sampled_from(ANY_POLICY))
    finish = data.draw(st.sampled_from(["stop", "length", "tool_calls"]))
    size = data.draw(st.sampled_from([1, 50]))
    player = played("".join(pieces), dialect, policy=policy, finish=finish, size=size)
    for remedy in {remedy for _, why in whys(player) for remedy in why.remedies}:
        assert keeps(remedy, retried(player, remedy)), remedy
