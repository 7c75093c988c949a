"""The dialects' tables: every pair decided, every rule in use, and every effect what really happens."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any

import pytest

from tests.support import invokes, tags
from tests.support.cuts import transform
from tests.support.project import SAMPLES
from tests.support.streams import numbered, stream_of, tool
from tests.support.tags import driven
from tests.support.tiers import each, each_row, exhaustive, some
from transformer import DIALECTS, Delta, Dialect, Finding, Rule, StreamTransformer, Transition
from transformer.answer.choice import Choice
from transformer.answer.setting import Setting, make_setting
from transformer.frontends.chat import NoChunks
from transformer.journal import Journal
from transformer.parser.dialect import EVERYWHERE, Action
from transformer.parser.machine import Machine, ignore
from transformer.parser.output import Arguments, Begin, Complete, Op, Piece
from transformer.records import Effect
from workbench.tape.format import read_tape
from workbench.tape.recipe import Wishes, make_recipe

ALL = list(DIALECTS.values())
EACH = each_row("dialect", ALL, ids=[dialect.name for dialect in ALL])

TOOLS = [
    tool("read", {"path": {"type": "string"}, "limit": {"type": "integer"}}, required=["path"]),
    tool("bash", {"command": {"type": "string"}}),
    tool("now", {}),
    tool("skill", {"skill": {"type": "string"}}),
]

# The tables as they are written down


def rules_of(dialect: Dialect) -> Iterator[tuple[StrEnum, StrEnum, Rule]]:
    for (state, token), rules in dialect.transitions.items():
        for rule in rules:
            yield state, token, rule


@EACH
def test_every_state_and_token_is_decided(dialect: Dialect) -> None:
    wanted = {(state, token) for state in dialect.states for token in dialect.tokens}
    assert set(dialect.transitions) == wanted
    assert set(dialect.lexicons) == set(dialect.states)


@EACH
def test_of_several_rules_all_but_the_last_have_a_guard(dialect: Dialect) -> None:
    for place, rules in dialect.transitions.items():
        assert [rule.when is None for rule in rules] == [False] * (len(rules) - 1) + [True], place


@EACH
def test_states_and_tokens_are_listed_once(dialect: Dialect) -> None:
    assert len(set(dialect.states)) == len(dialect.states)
    assert len(set(dialect.tokens)) == len(dialect.tokens)
    assert {dialect.text, dialect.space, dialect.end} <= set(dialect.tokens)


@EACH
def test_every_target_is_a_state_of_the_dialect(dialect: Dialect) -> None:
    assert {rule.to for _, _, rule in rules_of(dialect)} <= set(dialect.states)


@EACH
def test_every_state_is_reachable_over_the_table(dialect: Dialect) -> None:
    found: set[StrEnum] = set()
    waiting = [dialect.initial]
    while waiting:
        state = waiting.pop()
        if state not in found:
            found.add(state)
            waiting += [rule.to for where, _, rule in rules_of(dialect) if where is state]
    assert found == set(dialect.states)


@EACH
def test_every_state_has_a_way_to_the_end(dialect: Dialect) -> None:
    # The end of the answer is an end in every state: nothing waits for what cannot come.
    for state in dialect.states:
        *_, last = dialect.transitions[state, dialect.end]
        assert last.to == "done"
        for rule in dialect.transitions[state, dialect.end]:
            assert rule.to == "done" or Effect.REREADS in rule.effect, (state, rule.why)


@EACH
def test_done_absorbs(dialect: Dialect) -> None:
    for state, _, rule in rules_of(dialect):
        if state == "done":
            assert (rule.to, rule.action, rule.effect) == ("done", ignore, Effect.NONE)


@EACH
def test_a_rule_has_a_name_and_says_why(dialect: Dialect) -> None:
    for state, token, rule in rules_of(dialect):
        assert rule.name and "_" not in rule.name and "lambda" not in rule.name, (state, token)
        assert len(rule.why) > 10 and rule.why[0] not in " ." and rule.why[-1] not in " .", (state, token)
        if rule.when is not None:
            assert len(rule.condition) > 10 and rule.condition[-1] not in " .", (state, token)


@EACH
def test_there_are_words_for_every_state_and_token(dialect: Dialect) -> None:
    assert set(dialect.states_in_words) >= set(dialect.states)
    assert set(dialect.tokens_in_words) >= set(dialect.tokens)
    assert set(dialect.waits_for) <= set(dialect.states)
    for words in (dialect.states_in_words, dialect.tokens_in_words, dialect.waits_for):
        assert all(text and text.strip(" .") == text for text in words.values())


# The real machine, driven over texts of all kinds, whole and cut short

ROO = [
    "Hi. <now></now> and <read></read>",
    "<skill><skill>pdf</skill></skill>",
    'See <read path="a"/> and <bash>ls</bash>',
    "<bash>\nls",
    "<read >\n<path>a</path></read>",
    "<read>\n<read >\n<path>a</path></read>",
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
    # Further rules, each of which needs a text of its own.
    "<read>\n<path>a</path>\n<path>b</path>\n</read>",
    "<read>\n<bash>\n<command>x</command>\n</bash>",
    "<read>\n<strange>a</strange>\n</read>",
    "<read>\n<path>a</read></path>\n</read>",
    "<read>\n<path>a</path>\n<read>\n<path>b</path>\n</read>\n</path>\n</read>",
    "<read>\n<path>see\n<read>\n<read>\n</read>\n</read>\n</path>\n</read>",
    "<read>\n<path>see\n<read>\n<path>x</path>\n<limit>3</limit>\n</read>\n</path>\n</read>",
    "<read>\n<path>see\n<read>\n<path>x</path> more\n</read>\n</path>\n</read>",
    "<read>\n<path>see\n<read>\n<path>x</path>\n<limit>3</limit>",
    "<read>\n<path>open\n</read>\n<read>\n<path>x</path></read>",
    "<read>\n<path>open\n</read>\n<path>x</path>\n</read>",
    "<read>\n<path>open",
    "<read>\n<path>open</path>",
    "<read>\n",
    "<read>\n<path>a</path>\n</read>\n<think>\nhm\n</think>",
    "<read>\n<path>a</path>\n</read>\n<zip>\n<a>1</a>\n</zip>",
    "<think>\nopen",
    "<zip>\n<a>1</a>\n<read>\n<path>x</path>\n</read>\n",
    "<zip>\n<a>1\n<zip>\n<a>2</a>\n</zip>",
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
    "<function=read>\n</tool_call>",
    "<function=read>\n<parameter=path>a</function></parameter></function>",
    "<function=read>\n<parameter=path>a</parameter>\n<function=x>\n</function>\n</parameter></function>",
    "<function=read>\n<parameter=path>a\n<function=x>\n<function=y>\n</function>\n</function>\n"
    "</parameter></function>",
    "<function=read>\n<parameter=path>a\n<function=x>\n<parameter=q>1</parameter>\n<parameter=r>2</parameter>\n"
    "</function>\n</parameter></function>",
    "<function=read>\n<parameter=path>a\n<function=x>\n<parameter=q>1</parameter></parameter></tool_call>\n"
    "</function>\n</parameter></function>",
    "<function=read></function>\n</function>\n<function=bash></function>",
    "<tool_call>\n<tool_call>\n<function=read></function>",
    "<function=read>\n<parameter=path>a\n<function=x>\n<parameter=q>1</parameter>\n</function>",
    "<tool_call>\n<function=read>\n<parameter=path>a</parameter>\n<parameter=limit>3",
    "<tool_call>\n<function=read>\n",
    "<tool_call>\n",
    "<function=read>\n<parameter=path>a</parameter>\n",
]
# The same grammar in other spellings, and what each of them alone has.
GLM = [
    *driven(tags.GLM),
    "Write <tool_call>name</tool_call> so.",
    "<tool_call>readpath</arg_key><arg_value>a</arg_value></tool_call>",
    "<tool_call>read</arg_key><arg_value>",
    "<tool_call>read path</arg_key><arg_value>a</arg_value>limit</arg_key><arg_value>3</arg_value>",
    "<tool_call>read<arg_key>path</arg_key>a</arg_value><arg_key>limit<arg_value>3</arg_value></tool_call>",
    "<tool_call>read<arg_key>path</arg_key><arg_value>a<arg_key>limit</arg_key><arg_value>3</arg_value></tool_call>",
    "<tool_call>read<arg_key>path</arg_key><arg_value>a<arg_key>limit</arg_key><arg_value>3</arg_value>"
    "<arg_key>q</arg_key><arg_value>b</arg_value></tool_call>",
    "<tool_call>read<arg_key>path</arg_key><arg_value>a<arg_key>limit</arg_key><arg_value>3</tool_call>",
]
SEED = [
    *driven(tags.SEED),
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
    f"{SECTION}{BEGIN}{SECTION}",
    f"{SECTION}{BEGIN}{SECTION_END}",
    f"{BEGIN}{BEGIN}",
    f'{BEGIN}{ARGS}{{"command":"x"}}{END}',
    f"{BEGIN}{END}",
    f"{BEGIN}a b{END}",
    f'{BEGIN}{{"a":1}}{END}',
    f"{BEGIN}{{x {END}",
    f"{BEGIN}functions.read:0 {BEGIN}",
    f"{BEGIN}functions.read:0 {SECTION}",
    f"{BEGIN}functions.read:0 {SECTION_END}",
    f"{BEGIN}functions.read:0 {END}",
    f"{BEGIN}functions.read:0 <|tool",
    f"{BEGIN}functions.read:0{ARGS}",
    f'{BEGIN}functions.zip:0{ARGS}{{"a":"b"}}{END} t {BEGIN}functions.zip:1{ARGS}{{}}'
    f'{BEGIN}functions.zip:2{ARGS}{{}}{SECTION}{BEGIN}functions.zip:3{ARGS}{{"x":"y"}}{SECTION_END}',
    f"{BEGIN}functions.zip:0{END}",
    f"{BEGIN}functions.zip:0 {END}",
    f'{BEGIN} functions.zip:0{ARGS}{{"a":"<|tool',
    f'{BEGIN}functions.zip:0{ARGS}{{"a":1}}<|tool',
    f'{BEGIN}strange{ARGS}{{"z":1}}{END}',
    f'{BEGIN}strange{ARGS}{{"z":1}}{BEGIN}strange{ARGS}{{"z":1}}{SECTION}{BEGIN}strange{ARGS}{{"z":1}}{SECTION_END}',
    f'{BEGIN}strange{ARGS}{{"z":1}}',
    f'{BEGIN}strange{ARGS}{{"z":"1',
    f"{BEGIN}strange{END}",
    f"{BEGIN}strange {END}",
    f"{BEGIN}{ARGS}{{}}",
    *(f"{BEGIN}functions.read:0{ARGS}{{}}{BEGIN}{more}" for more in ("", SECTION, SECTION_END, BEGIN)),
]


def json_objects(open: str, close: str) -> list[str]:
    """Texts for the grammar of calls as JSON, with the markers of a dialect."""
    values = ["null}", '12, "x": 1}', '"a"}', "'b'}", '["c"]}', '{"path": "b",}}']
    cut = ["nul", '"a', "'b", "[1", '{"a": \'b', "{'a': 'b'}", '{"a": b\'c}}', '{"path": "b"', "}"]
    cut += [' {"path": "b"} so', '{"path": "b"}]', '{"path": ["b"]} CLO']
    open_ended = ["", "12", '{"path": "b"', '{"path": "b"}', '{"path": "b"}, "x": 1']
    unknown = ["", ', "arguments": ', ', "arguments": 1', ', "arguments": {', ', "x": 1']
    texts = [
        "Hi OPENCALLCLOSE bye CLOSE",
        "OPEN OPEN [CALL, CALL; OPENCALL]CLOSECLOSE OPENCALL CLOSECLO",
        "OPENCALL\nCALL}CLOSE",
        "OPENCALL] CALL",
        "OPEN in prose, OPEN{...} and OPEN",
        'OPEN{"arguments": {"path": "a \\" CLOSE"}, "name": "read"}CLOSE',
        'OPEN{"id": "a}", "x": {"y": [1, "]"]}, "n": 1, "name": "now"}CLOSE',
        'OPEN{"x": 1OPEN{"x": 1CLOSEOPEN{"x": 1}CLOSE',
        'OPEN{"x": 1}, {"y": 2}] CALL {"y": 3} more',
        'OPEN{"x": 1}OPENCALL',
        'OPEN{"name": "read", "arguments": {"path": "a"}, "parameters": {}, "x": 1}CLOSE',
        *(f'OPEN{{"name": "read", "arguments": {value}CLOSE' for value in values + open_ended),
        *(f'OPEN{{"name": "read", "arguments": {value}' for value in cut),
        *(f'OPEN{{"name": "read", "arguments": {value}OPENCALL' for value in open_ended),
        *(f'OPEN{{"arguments": {value}OPENCALL' for value in ("", "12", '{"a": ', '{"path": "b"}')),
        *(
            f'OPEN{{"arguments": {value}CLOSE'
            for value in ("", "12", '{"a": ', '{"path": "b"}', "12}", "{}}")
        ),
        *(f'OPEN{{"name": "zip"{rest}{mark}' for rest in unknown for mark in ("OPEN", "CLOSE")),
        *(f'OPEN{{"name": "zip", {rest}}}CLOSE' for rest in ('"arguments": 1', '"x": {"a": 1}')),
        *(f'OPEN{{"name": {rest}' for rest in ("OPENCALL", "12}", '""}', '"read" oops}', '"re')),
        'OPEN{"name": "zip", "arguments": {"a": 1}}',
        'OPEN{"name": "read", "arguments": {"path": "b", CLO',
    ]
    call = '{"name": "read", "arguments": {"path": "b"}}'
    spelled = [text.replace("CALL", call).replace("OPEN", open).replace("CLOSE", close) for text in texts]
    return [text.replace("CLO", close[:4]) for text in spelled]


MARK = "[TOOL_CALLS]"
MISTRAL = [
    f'Hi {MARK}read[ARGS]{{"path": "b"}}{MARK}now{{}} bye',
    f"{MARK}now[ARGS]{MARK}now[ARGS] oops",
    f"{MARK}now[ARGS]\"oops\"{MARK}now[ARGS]'oops'",
    f'{MARK}zip[ARGS]{MARK}zip[ARGS]{{}}{MARK}zip[ARGS]{{"a": {MARK}',
    f'{MARK}read[ARGS]{{"path": "b",}}',
    f'{MARK}read[ARGS]{{"path": "b"',
]
LLAMA = [
    '{"name": "read", "parameters": {"path": "b"}}; {"name": "now", "parameters": {}}\n{"name": "zip"}',
    '{"a": 1}\n{"name": "zip"}\n{"name": "now"}\n{"name": "read", "parameters": {"path": "b"}, "x": 1}',
    '<|python_tag|>{"name": "now"}<|eot_id|>{"name": "now", "parameters": {}}',
    '{"name": "now", "parameters": {} {"name": "now"}',
    '{"name": {',
    '{"name": "now", "parameters": {}}; {"a": 1} [',
]
DEEPSEEK = [
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>now<｜tool▁sep｜><｜tool▁call▁end｜> <｜tool▁calls▁end｜> x "
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>function<｜tool▁sep｜>zip\n```json\n{}\n```<｜tool▁call▁end｜> x",
]
THOUGHT, SAID = "<|channel|>analysis<|message|>", "<|channel|>final<|message|>"
READ_TO, ZIP_TO = (f"<|channel|>commentary to=functions.{name}<|message|>" for name in ("read", "zip"))
FOLLOWING = ("<|call|>", THOUGHT, SAID, READ_TO)
HARMONY = [
    f"{THOUGHT}Hm. <|end|>\n<|start|>assistant{SAID}Hi. <|return|> "
    f'{READ_TO} {{"path": "\\" <|call|>"}} <|call|> x',
    f"{THOUGHT}a{THOUGHT}b{SAID}c{THOUGHT}d{READ_TO}{{}}{SAID}e{SAID}f{READ_TO}{{}}<|chan",
    f"{SAID}a<|chan",
    f"{THOUGHT}a<|chan",
    f"Hi <|end|>{READ_TO} <|chan",
    *(f"{READ_TO}{rest}{token}" for rest in ("", "b", '{"path": "b"', "{'path': 'b") for token in FOLLOWING),
    *(f"{ZIP_TO}{rest}{token}" for rest in ("", "b", '{"path": "b"') for token in FOLLOWING),
    *(
        f"{READ_TO}{rest}"
        for rest in ('{"path": ["b"]}', "[1]", "'b'", '"b"', '{"a": b\'c}', "{'path': 'b',}", "b<|ca")
    ),
    *(f"{READ_TO}{rest}" for rest in ('{"path": "b', '{"path": 1 <|ca', "{'path': 'b", "", "{")),
    f"{ZIP_TO}{{}}",
    f'{ZIP_TO}{{"a": "b',
]
PY, PY_END = "<|python_start|>", "<|python_end|>"
PYTHONIC = [
    f"Hi {PY}[read(path='b'), now()]{PY_END}{PY_END} bye {PY_END}",
    f"{PY}{PY} [now()]{PY_END} {PY}now(){PY_END}\n[now()] {PY_END[:9]}",
    f"{PY}now()\nnow(){PY}now(),{PY}now(),{PY_END}",
    f"{PY}now(), x {PY}now(), {PY_END[:9]}",
    f"{PY}[now(), ] {PY}[now(),{PY_END}",
    f"{PY} in prose and {PY}",
    "[zip(a=1)]\n[1]\n[now() for x in y]",
    "[read(path=(1, ['a'], {'b': 2}), limit=3)]",
    "[read(path=\"a\", x='b', y=\"\"\"c\"\"\", z='''d''')]",
    *(f"[read(path={value}" for value in ("'a", '"a', '"""a', "'''a", "1", "[1", "}")),
    f"[read('a')]\n[read({PY}now()]\n[read(path=1{PY}now()]",
    f"[now()\n[now() {PY_END[:9]}",
    f"{PY}[zip(a=1), zip(b=2)] , now(){PY}zip(){PY}zip(){PY_END} x",
    f"{PY}zip()\nzip()\nnow()] {PY}zip(), ] {PY}now()",
    f"{PY}[zip(), x",
    f"{PY}[zip(a='b",
    f'{PY}[{{"name": "now", "arguments": {{}}}}, {{"name": "now"}}] {PY}{{"a": 1}} {PY}{{{PY_END}',
    f'{PY}{{{PY}{{"a": "b',
    f"{PY}{{",
    f'{PY}[zip(), {{"name": "now"}}]',
    f"{PY}[zip()",
]
DRIVEN = {
    "minimax-m2": [*driven(tags.MINIMAX), *invokes.tables(tags.MINIMAX)],
    "deepseek-dsml": [*driven(tags.DSML), *invokes.tables(tags.DSML)],
    "functions-invoke": [*driven(tags.INVOKE), *invokes.tables(tags.INVOKE)],
    "seed-oss": SEED,
    "toolbridge": [
        *ROO,
        "<toolbridge_calls>\n<toolbridge_calls>\n<read>\n<path>a</path>\n</read>\n</toolbridge_calls>\n"
        "<toolbridge_calls> x",
        "<toolbridge_calls>\n<zip>\n<a>1</a>\n</zip>",
        "<toolbridge_calls>\n<read >\n<path>a</path></toolbridge_calls>",
        "<toolbridge_calls>\n",
        '<toolbridge_calls><read path="a"/>',
        "<read>\n<path>a</path></toolbridge_calls>\n</toolbridge_calls> b <toolbridge_calls><read><path>"
        "<toolbridge_calls>c",
    ],
    "roo-xml": ROO,
    "qwen3-coder": QWEN,
    "glm": GLM,
    "kimi-k2": KIMI,
    "hermes": json_objects("<tool_call>", "</tool_call>"),
    "mistral": MISTRAL,
    "llama3-json": LLAMA,
    "deepseek-v31": DEEPSEEK,
    "harmony": HARMONY,
    "pythonic": PYTHONIC,
}
POLICIES: list[dict[str, Any]] = [
    {},
    {"calls": "all", "after_call": "keep", "arguments": "whole"},
    {"malformed": "repair"},
    {"arguments": "stream"},
    {"unknown_tools": "text"},
    {"in_think": "call"},
    {"unknown_tools": "error"},
    {"max_call_bytes": 40},
    {"max_call_bytes": 40, "arguments": "stream"},
]
each_driven = each_row("name", DRIVEN)


@dataclass
class Fired:
    """One step from the inside: what the rule's action did, beside what the rule says."""

    rule: Rule
    state: StrEnum
    text: str
    start: int  # of the text, in the channel
    ops: list[Op]
    codes: list[str]
    call: Any  # the open call before it
    begun: bool  # the client had a part of that call
    after: Any  # the open call after it


class Watched:
    """Machines of a dialect whose every step is looked at."""

    def __init__(self, name: str) -> None:
        self.fired: list[Fired] = []
        self._watched: dict[int, Rule] = {}
        plain = DIALECTS[name]
        table = {place: tuple(map(self._watch, rules)) for place, rules in plain.transitions.items()}
        self.dialect = replace(plain, transitions=table)
        self.settings = [make_setting(self.dialect, TOOLS, policy, ids=numbered) for policy in POLICIES]
        self.journal = Journal("findings")

    def _watch(self, rule: Rule) -> Rule:
        # A rule that stands in several places stays one rule: the machine compares rules by identity.
        if id(rule) not in self._watched:
            self._watched[id(rule)] = rule._replace(action=self._looked_at(rule))
        return self._watched[id(rule)]

    def _looked_at(self, rule: Rule) -> Action:
        def action(m: Machine, text: str, name: str) -> None:
            records = self.journal.records.items
            call, state, ops, known = m.call, m.state, len(m.out), len(records)
            begun = call is not None and call.begun
            rule.action(m, text, name)
            start = m.pos - len(text)
            codes = [record.code for record in records[known:] if isinstance(record, Finding)]
            self.fired.append(Fired(rule, state, text, start, m.out[ops:], codes, call, begun, m.call))

        action.__name__ = rule.action.__name__
        return action

    def run(self, text: str, size: int, setting: Setting) -> None:
        """One answer, with a machine of its own."""
        self.journal = Journal("findings")
        choice = Choice(0, setting, NoChunks(), self.journal, lambda: 0)
        machine = Machine(self.dialect, choice, "content")
        for at in range(0, len(text), size):
            machine.feed(text[at : at + size])
        machine.finish()


@cache
def fired(name: str) -> list[Fired]:
    """Every step of every text under every policy; in the quick tier cut short under one of them."""
    watched = Watched(name)
    for number, text in enumerate(DRIVEN[name]):
        for at, setting in enumerate(watched.settings):
            cut = exhaustive() or (number + at) % len(POLICIES) == 0
            for end in {len(text), *(some(range(1, len(text)), 2) if cut else ())}:
                watched.run(text[:end], 1 + end % 7 * 6, setting)
    return watched.fired


def by_value(rule: Rule) -> tuple[str, str, str, str]:
    return rule.name, rule.why, rule.condition, str(rule.to)


@each_driven
def test_no_rule_is_unreachable(name: str) -> None:
    """Of a grammar that several dialects share, each rule is reached in one of them."""
    dialect = DIALECTS[name]
    sharing = [other for other in DRIVEN if DIALECTS[other].transitions is dialect.transitions]
    steps = [step for other in sharing for step in fired(other)]
    assert {str(step.state) for step in steps} == {str(state) for state in dialect.states if state != "done"}
    wanted = {by_value(rule) for state, _, rule in rules_of(dialect) if state != "done"}
    assert wanted - {by_value(step.rule) for step in steps} == set()


# What an effect means. Each law is true of every step that any rule ever did.

E = Effect
ENDS = E.COMPLETES | E.CUTS | E.GIVES_UP | E.DROPPED | E.REREADS
LAWS: dict[str, Callable[[Fired, Effect], bool]] = {
    "a complete call leaves only where the rule completes one": lambda step, effect: (
        not has(step, Complete) or E.COMPLETES in effect
    ),
    "a rule that completes a call gives it to the client, unless the policy wants no such call": (
        lambda step, effect: E.COMPLETES not in effect or has(step, Complete) or step.call.dropped
    ),
    "a call is announced where it or its value begins, goes on or ends": lambda step, effect: (
        not has(step, Begin) or bool(effect & (E.COMPLETES | E.CUTS | E.ARGUMENT | E.OPENS_VALUE | E.NAMES))
    ),
    "arguments leave only of a call": lambda step, effect: not has(step, Arguments) or step.call is not None,
    "what gives up leaves nothing of a call with the client": lambda step, effect: (
        E.GIVES_UP not in effect
        or not (step.begun or has(step, Begin) or has(step, Arguments) or has(step, Complete))
    ),
    "what cuts a call leaves a part of it with the client": lambda step, effect: (
        E.CUTS not in effect or step.call.begun
    ),
    "what begins a call opens one": lambda step, effect: (
        E.BEGINS not in effect or step.after not in (None, step.call)
    ),
    "no call opens without a beginning": lambda step, effect: (
        step.after in (None, step.call) or E.BEGINS in effect
    ),
    "a call that is over was completed, cut, given up, dropped or is read again": lambda step, effect: (
        step.call in (None, step.after) or bool(effect & (ENDS | E.BEGINS))
    ),
    "values are inside of calls": lambda step, effect: (
        not effect & (E.ARGUMENT | E.OPENS_VALUE | E.ENDS_VALUE) or step.call is not None
    ),
    "an argument leaves the call open": lambda step, effect: (
        E.ARGUMENT not in effect or step.after is step.call
    ),
    "prose is outside of calls": lambda step, effect: E.PROSE not in effect or step.after is None,
    "what is held is held by a call": lambda step, effect: E.HELD not in effect or step.after is not None,
    "markup and what is dropped does not reach the client as text": lambda step, effect: (
        not effect & (E.MARKUP | E.DROPPED)
        or all(op.start + len(op.text) <= step.start for op in step.ops if isinstance(op, Piece))
    ),
    "what is dropped is named": lambda step, effect: E.DROPPED not in effect or bool(step.codes),
    "what is repaired is named, and the other way round": lambda step, effect: (
        (E.REPAIRS in effect) == any(code.startswith("repaired-") for code in step.codes)
    ),
    "after a name the tool is known": lambda step, effect: (
        E.NAMES not in effect or bool((step.after or step.call).name)
    ),
    "without an effect nothing leaves": lambda step, effect: bool(effect) or not step.ops,
    "every text has an effect": lambda step, effect: bool(effect) or not step.text,
}


def has(step: Fired, kind: type[Op]) -> bool:
    return any(isinstance(op, kind) for op in step.ops)


@each_driven
def test_effects_are_what_happens(name: str) -> None:
    def check(law: str) -> None:
        holds = LAWS[law]
        wrong = {
            (step.rule.name, step.rule.effect.words, tuple(step.codes), step.text)
            for step in fired(name)
            if not holds(step, step.rule.effect)
        }
        assert wrong == set()

    each(LAWS, check)


# The records of whole answers: of these texts, and of all samples


def runs_of(name: str) -> Iterator[StreamTransformer]:
    """Every text with every policy; in the quick tier with one after another, and some of the samples."""
    for number, text in enumerate(DRIVEN.get(name, ())):
        for policy in POLICIES if exhaustive() else [POLICIES[number % len(POLICIES)]]:
            yield transform(name, stream_of(text, 5), tools=TOOLS, policy=policy, records="all")[1]
    for path in some(sorted((SAMPLES / name).glob("*.jsonl")), 5):
        tape = read_tape(path)
        t = make_recipe(tape.header, Wishes()).stream("all")
        for read in tape.reads:
            t.feed(read)
        t.finish()
        yield t


@cache
def transformed(name: str) -> list[StreamTransformer]:
    return list(runs_of(name))


@pytest.fixture(scope="module", autouse=True)
def nothing_is_kept() -> Iterator[None]:
    """The collector walks all that is kept, in every test that comes later."""
    yield
    fired.cache_clear()
    transformed.cache_clear()


def moves_of(t: StreamTransformer) -> list[list[Transition]]:
    """The transitions of each machine."""
    machines: dict[tuple[int, str], list[Transition]] = {}
    for record in t.records:
        if isinstance(record, Transition):
            machines.setdefault((record.span.choice, record.span.channel), []).append(record)
    return list(machines.values())


WITHOUT_TABLE = {one.name for one in EVERYWHERE if one.name}
POLICY_WORDS = {one.why for one in EVERYWHERE if not one.name}


@each_driven
def test_the_recorded_transitions_are_a_way_through_the_table(name: str) -> None:
    dialect = DIALECTS[name]
    table = {
        (str(state), str(token)): {
            (rule.name, str(rule.to), rule.why, rule.condition): rule.effect for rule in rules
        }
        for (state, token), rules in dialect.transitions.items()
    }
    for t in transformed(name):
        for moves in moves_of(t):
            assert moves[0].state == dialect.initial
            for move in moves:
                assert move.dialect == name
                told = (move.rule, move.to, move.why, move.guard)
                if move.rule in WITHOUT_TABLE:
                    continue
                effect = table[move.state, move.token][told]
                if not move.policy:
                    assert move.effect == effect, move
                else:
                    assert move.policy in POLICY_WORDS and Effect.DROPPED in move.effect, move
                    assert not move.effect & (E.PROSE | E.ARGUMENT | E.COMPLETES | E.CUTS), move
                    assert move.effect & effect == move.effect & ~E.DROPPED, move
            for before, after in itertools.pairwise(moves):
                assert before.to == after.state, (before, after)
                # Only the end of an answer may ask to look at some of its text again.
                assert after.span.start >= before.span.end or Effect.REREADS in before.effect


@each_driven
def test_a_recorded_completion_is_a_call_that_the_client_got(name: str) -> None:
    for t in transformed(name):
        begun = {(r.choice, r.call): r.name for r in t.records if isinstance(r, Delta) and r.kind == "call"}
        completed = set()
        for move in itertools.chain(*moves_of(t)):
            if Effect.COMPLETES not in move.effect:
                continue
            place = (move.span.choice, move.call)
            assert place in begun and place not in completed, move
            completed.add(place)
            assert move.tool == begun[place], move


def test_a_call_that_stays_text_is_not_recorded_as_completed() -> None:
    text = KIMI[0].replace("functions.read", "functions.zip")
    _, t = transform("kimi-k2", stream_of(text), tools=TOOLS, policy={"unknown_tools": "text"}, records="all")
    moves = list(itertools.chain(*moves_of(t)))
    assert not any(move.effect & (Effect.COMPLETES | Effect.NAMES | Effect.ARGUMENT) for move in moves)
    assert sum(Effect.GIVES_UP in move.effect for move in moves) == 1
    said = "".join(r.text for r in t.records if isinstance(r, Delta) and r.kind == "content")
    assert "functions.zip" in said
