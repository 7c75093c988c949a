"""The dialects' tables are complete: every pair decided, every state and token in use."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Any

import pytest

from tests.support.cuts import transform
from tests.support.streams import numbered, stream_of, tool
from transformer import DIALECTS, Dialect, Rule, Transition
from transformer.answer.choice import Choice
from transformer.answer.chunks import NoChunks
from transformer.answer.setting import make_setting
from transformer.journal import Journal
from transformer.parser.machine import Machine, table
from transformer.parser.tagcall import ignore, prose

ALL = list(DIALECTS.values())
EACH = pytest.mark.parametrize("dialect", ALL, ids=[dialect.name for dialect in ALL])

TOOLS = [
    tool("read", {"path": {"type": "string"}, "limit": {"type": "integer"}}, required=["path"]),
    tool("bash", {"command": {"type": "string"}}),
]


@EACH
def test_every_state_and_token_is_decided(dialect: Dialect) -> None:
    wanted = {(state, token) for state in dialect.states for token in dialect.tokens}
    assert set(dialect.transitions) == wanted
    assert set(dialect.lexicons) == set(dialect.states)


@EACH
def test_states_and_tokens_are_listed_once(dialect: Dialect) -> None:
    assert len(set(dialect.states)) == len(dialect.states)
    assert len(set(dialect.tokens)) == len(dialect.tokens)
    assert {dialect.text, dialect.space, dialect.end} <= set(dialect.tokens)


@EACH
def test_every_target_is_a_state_of_the_dialect(dialect: Dialect) -> None:
    strangers = {rule.to for rule in dialect.transitions.values() if rule.to not in dialect.states}
    assert strangers == set()


def reachable(dialect: Dialect) -> set[StrEnum]:
    found: set[StrEnum] = set()
    waiting = [dialect.initial]
    while waiting:
        state = waiting.pop()
        if state not in found:
            found.add(state)
            waiting += [dialect.transitions[state, token].to for token in dialect.tokens]
    return found


@EACH
def test_every_state_is_reachable_over_the_table(dialect: Dialect) -> None:
    assert reachable(dialect) == set(dialect.states)


@EACH
def test_every_state_has_a_way_to_the_end(dialect: Dialect) -> None:
    # The end of the answer is an end in every state: nothing waits for what cannot come.
    done = {dialect.transitions[state, dialect.end].to for state in dialect.states}
    assert [str(state) for state in done] == ["done"]


@EACH
def test_done_absorbs(dialect: Dialect) -> None:
    done = dialect.transitions[dialect.initial, dialect.end].to
    assert {dialect.transitions[done, token].to for token in dialect.tokens} == {done}
    assert {dialect.transitions[done, token].action for token in dialect.tokens} == {ignore}


@EACH
def test_a_rule_has_a_name_and_says_why(dialect: Dialect) -> None:
    for place, rule in dialect.transitions.items():
        assert rule.name and "_" not in rule.name and "lambda" not in rule.name, place
        assert len(rule.why) > 10 and rule.why[0] not in " ." and rule.why[-1] not in " .", place


# The real machine, driven over texts of all kinds

ROO = [
    "Reading.\n<read>\n<path>a</path>\n<limit>3</limit>\n</read>\n",
    "<bash></bash>",
    "<think>\nPerhaps\n<read>\n<path>a</path>\n</read>?\n</think>\n<bash></bash>",
    "<bash>  \n</bash>\n<bash>\n<command>x</command>\n</bash>",
    "a <read> in prose\n<read> is a tool\n<read>\n<read>\n<path>b</path></read>",
    "<read>\n<path>a</path>\n<x>1</x>\n<y>2</y></read>",
    "<read>\n<path>a</path> no end </path></path></read> <read>",
    "<zip>\n<file>a</file>\n</zip>",
    "<zip> no child",
    "<zip>\n<zip>\n<file>a\n<zip>\n<file>b</file>\n</zip>\n</file>\n</zip>",
    "<zip>\n<read>\n<path>a</path></read>",
    "<read>\n<path>see\n<read>\n<path>b</path>\n<read>\n<path>c</path> </path></read>\nx</read>\n"
    "</path></read>",
    "<read>\n<path>see\n<read>\n</read>\n</path></read>",
    "<read>\n<path>open\n</read>\n</read>\n<bash>\n<command>x</command></bash>",
    "<read>\n<path>open\n</read>\n</path>\n</read>",
    "<read>\n<path>open\n</read>\nno</path>\n</read>",
    "<zip>\n<file>open\n</zip>\n<zip>\n<file>x</file></zip>\n</file></zip>",
    "<read>\n<path>a</path>\n</read>text\n<zip>\n<a>1</a></zip>",
]
QWEN_CALL = "<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>"
QWEN = [
    f"Reading.\n{QWEN_CALL}\n{QWEN_CALL} after",
    "<tool_call> no\n<tool_call>\n<tool_call>\n<function=zip>\n<parameter=a>1</parameter></function>",
    "<function=zip> <function=read></function></tool_call></tool_call>",
    "<function=read>\n<tool_call><function=read> <function=bash> x",
    "<function=read>\n<parameter=path>a\n<parameter=limit>3\n</parameter></tool_call>",
    "<function=read>\n<parameter=path>a </parameter> x </parameter></parameter>\n"
    "<parameter=z>1</parameter></function>",
    "<function=read>\n<parameter=path>a</function></tool_call>",
    "<function=read>\n<parameter=path>a</function> x</function></function>\n"
    "<parameter=limit>3</parameter></function>",
    "<function=read>\n<parameter=path>a</function>\n<tool_call><function=bash></function>",
    "<function=read>\n<parameter=path>a</function><function=bash></function>",
    "<function=read>\n<parameter=path>a</function><function=zip>",
    "<function=read>\n<parameter=path>a</function>",
    "<function=read>\n<parameter=path>\n<function=x>\n<parameter=q>1</parameter>\n<function=y>\n"
    "<parameter=q>1</parameter> </function>\n</parameter></function>\n</parameter></function>",
    "<function=read>\n<parameter=path=a</parameter></function>",
    "<function=read>\n<parameter=path>a</parameter><parameter=limit=3</parameter>",
]
BEGIN, ARGS, END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
SECTION, SECTION_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
KIMI = [
    f'Hi {SECTION} {BEGIN} functions.read:0 {ARGS} {{"path": "a {END} \\" b"}} {END} {SECTION_END} bye',
    f'{BEGIN}functions.read:0{ARGS}{{"path": "a"}}{BEGIN}functions.bash:1{ARGS}{{}}{SECTION_END}',
    f"{BEGIN}functions.read:0{END}{SECTION}{SECTION}{END}{ARGS} text{SECTION_END}{SECTION_END}",
    f"{BEGIN}x{BEGIN}y{SECTION}{BEGIN}z{SECTION_END} {END} {ARGS} <|tool_call_",
    f'{BEGIN}functions.read:0{ARGS}{ARGS}{{"path": "a"}}{SECTION} <|tool',
    f'{BEGIN}functions.read:0{ARGS}{{"path": "a',
    f'{BEGIN}functions.read:0{ARGS}{{"path": "a"}} <|tool_ca',
    f'{BEGIN}functions.read:0 "<|tool_ca',
]
DRIVEN: dict[str, list[str]] = {"roo-xml": ROO, "qwen3-coder": QWEN, "kimi-k2": KIMI}
POLICIES: list[dict[str, Any]] = [
    {"calls": "all", "after_call": "keep"},
    {"malformed": "repair"},
    {"arguments": "stream"},
]


def steps(name: str, text: str, size: int, policy: dict[str, Any]) -> list[Transition]:
    _, transformer = transform(name, stream_of(text, size), tools=TOOLS, policy=policy, records="all")
    return [record for record in transformer.records if isinstance(record, Transition)]


def driven(name: str) -> Iterable[list[Transition]]:
    for text in DRIVEN[name]:
        for policy in POLICIES:
            for size in (1, 5, len(text)):
                yield steps(name, text, size, policy)


@pytest.mark.parametrize("name", DRIVEN)
def test_every_token_is_read_and_every_state_entered(name: str) -> None:
    seen = [step for run in driven(name) for step in run]
    assert {step.token for step in seen} == {str(token) for token in DIALECTS[name].tokens}
    assert {step.to for step in seen} | {seen[0].state} == {str(state) for state in DIALECTS[name].states}
    assert {step.state for step in seen} == {str(s) for s in DIALECTS[name].states if s != "done"}


@pytest.mark.parametrize("name", DRIVEN)
def test_the_machine_does_what_the_table_says(name: str) -> None:
    dialect = DIALECTS[name]
    rules = {(str(state), str(token)): rule for (state, token), rule in dialect.transitions.items()}
    for run in driven(name):
        assert run[0].state == str(dialect.initial) and run[-1].to == "done"
        for step in run:
            rule = rules[step.state, step.token]
            assert (step.rule, step.to) == (rule.name, str(rule.to))
        for before, after in itertools.pairwise(run):
            # Only the end of an answer may ask to look at some of its text again.
            assert before.to in (after.state, "done")


def test_passthrough_has_a_table_that_works() -> None:
    # The pipeline never asks it: there, bytes go on as they come.
    setting = make_setting(DIALECTS["passthrough"], ids=numbered)
    setting = replace(setting, raw=False, policy=replace(setting.policy, channels=("content",)))
    journal = Journal("all")
    choice = Choice(0, setting, NoChunks(), journal, lambda: 0)
    machine = Machine(setting.dialect, choice, "content")
    machine.feed("a <b>\n")
    machine.finish()
    seen = [record for record in journal.records.items if isinstance(record, Transition)]
    assert [(step.state, step.token, step.to) for step in seen] == [
        ("text", "text", "text"),
        ("text", "end", "done"),
    ]
    assert machine.held == 0


# How a table is written down


class Light(StrEnum):
    RED = "red"
    GREEN = "green"


class Sign(StrEnum):
    GO = "go"
    STOP = "stop"
    WAIT = "wait"


GO, STOP, WAIT = Sign
ON = Rule(Light.GREEN, prose, "somebody said go")
OFF = Rule(Light.RED, ignore, "somebody said stop")


def test_a_table_spells_out_every_pair() -> None:
    spelled = table(
        list(Sign), {Light.RED: ({GO: ON}, OFF), Light.GREEN: ({(STOP, WAIT): OFF, GO: ON}, None)}
    )
    assert spelled == {
        (Light.RED, GO): ON,
        (Light.RED, STOP): OFF,
        (Light.RED, WAIT): OFF,
        (Light.GREEN, GO): ON,
        (Light.GREEN, STOP): OFF,
        (Light.GREEN, WAIT): OFF,
    }


def test_a_table_refuses_a_hole() -> None:
    with pytest.raises(ValueError, match="green does not decide wait"):
        table(list(Sign), {Light.RED: ({}, OFF), Light.GREEN: ({GO: ON, STOP: OFF}, None)})


def test_a_table_refuses_a_double_decision() -> None:
    with pytest.raises(ValueError, match="red decides stop twice"):
        table(list(Sign), {Light.RED: ({STOP: OFF, (GO, STOP): ON}, OFF)})


def test_a_rule_is_named_after_its_action() -> None:
    from transformer.parser.tagcall import open_parameter

    assert Rule(Light.RED, open_parameter, "why not").name == "open parameter"
