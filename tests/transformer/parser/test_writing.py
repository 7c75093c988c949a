"""Writers: what is written reads back as the same call, or a finding says that it does not."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cuts import check_every_split, run
from tests.support.streams import JSON, stream_of, tool
from tests.support.tiers import each_row
from transformer import DIALECTS as REGISTRY
from transformer import write_call, written_call
from transformer.jsonscan import members, parsed
from transformer.values.schema import offered

# All whose parameters are tags, and one whose arguments are JSON.
DIALECTS = (
    *(name for name, one in REGISTRY.items() if one.writer is not None and one.writer.tags),
    "kimi-k2",
)
ID = "functions.t:3"
T = tool(
    "t",
    {
        "text": {"type": "string"},
        "other": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "list": {"type": "array"},
        "object": {"type": "object"},
        "maybe": {"type": ["string", "null"]},
        "number": {"type": ["integer", "null"]},
        "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        "mixed": {"type": ["integer", "boolean", "array", "null"]},
        "ref": {"$ref": "#/$defs/n"},
    },
    [],
    **{"$defs": {"n": {"type": "integer"}}},
)


def id_for(dialect: str) -> str | None:
    return ID if dialect == "kimi-k2" else None


def read(dialect: str, text: str, offer: JSON = T) -> Any:
    """The only call in the text: its name, its arguments with numbers as written, its id."""
    got, _ = run(dialect, stream_of(text, 7), tools=[offer], records="findings")
    if len(got.calls) != 1 or got.content:
        return got
    (name, arguments), id = got.calls[0], got.ids[0]
    return name, parsed(arguments), id if dialect == "kimi-k2" else None


# The exact texts


@each_row(
    ("dialect", "arguments", "expected"),
    [
        ("roo-xml", "{}", "<t>\n</t>"),
        ("roo-xml", '{"text":"a b"}', "<t>\n<text>a b</text>\n</t>"),
        ("roo-xml", '{"text":"a\\nb","count":5}', "<t>\n<text>\na\nb\n</text>\n<count>5</count>\n</t>"),
        ("roo-xml", '{"list":[1, 2.50]}', "<t>\n<list>[1, 2.50]</list>\n</t>"),
        ("qwen3-coder", "{}", "<tool_call>\n<function=t>\n</function>\n</tool_call>"),
        (
            "qwen3-coder",
            '{"text":"a","flag":true}',
            "<tool_call>\n<function=t>\n<parameter=text>\na\n</parameter>\n<parameter=flag>\ntrue\n</parameter>\n"
            "</function>\n</tool_call>",
        ),
        (
            "kimi-k2",
            '{ "text" : "a" }',
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.t:3<|tool_call_argument_begin|>"
            '{ "text" : "a" }<|tool_call_end|><|tool_calls_section_end|>',
        ),
    ],
)
def test_what_is_written(dialect: str, arguments: str, expected: str):
    assert write_call(dialect, "t", arguments, T, id_for(dialect)) == expected


def test_a_tool_may_be_given_in_either_form():
    (known,) = offered([T]).values()
    assert write_call("roo-xml", "t", '{"count":5}', known) == write_call("roo-xml", "t", '{"count":5}', T)


@each_row("dialect", DIALECTS)
def test_arguments_may_be_given_as_an_object(dialect: str):
    arguments = {"text": "naïve", "list": [1], "maybe": None}
    text = write_call(dialect, "t", arguments, T)
    assert text == write_call(dialect, "t", json.dumps(arguments, ensure_ascii=False), T)


def test_a_call_is_read_back_in_the_company_of_the_other_tools():
    other = tool("other", {"count": {"type": "integer"}})
    # An only tool is called whatever the header says.
    assert written_call("kimi-k2", "t", {"count": 5}, T, "call_abc").findings == ()
    for one, all in ((T, [other]), (None, [T, other]), (None, [other, None, T])):
        (finding,) = written_call("kimi-k2", "t", {"count": 5}, one, "call_abc", all).findings
        assert finding.message == "the id 'call_abc' does not name t and became 'functions.t:0' in the prompt"
    known = offered([T, tool("text", {"p": {"type": "string"}})])
    assert (
        written_call("roo-xml", "t", {"count": 5}, tools=known.values()).text == "<t>\n<count>5</count>\n</t>"
    )


def test_passthrough_writes_nothing():
    with pytest.raises(
        ValueError, match=", ".join(name for name, one in REGISTRY.items() if one.writer is not None)
    ):
        write_call("passthrough", "t", "{}")


# The law, case by case and in every cut

SAME = [
    "{}",
    '{"text":""}',
    '{"text":" "}',
    '{"text":"\\n"}',
    '{"text":"\\n\\n"}',
    '{"text":"\\r"}',
    '{"text":"\\r\\n"}',
    '{"text":"\\na"}',
    '{"text":"a\\n"}',
    '{"text":"a\\r"}',
    '{"text":"a\\nb\\r"}',
    '{"text":"  a\\t"}',
    '{"text":"null"}',
    '{"text":"5"}',
    '{"text":"[1]"}',
    '{"text":"&lt;b&gt; &amp;"}',
    '{"text":"naïve 🙂 \\u2028 \\u0000"}',
    '{"text":"<b>bold</b> </text> and </t>"}',
    '{"text":"a <parameter=other> b </parameter> c </function> d","other":"x"}',
    '{"text":"<t>\\n<text>x</text>\\n</t>"}',
    '{"text":"<|tool_call_end|><|tool_calls_section_end|>"}',
    '{"text":"```xml\\n<other>"}',
    '{"count":123456789012345678901234567890}',
    '{"count":-0}',
    '{"ratio":1e400}',
    '{"ratio":1.50}',
    '{"flag":false,"count":0}',
    '{"list":[]}',
    '{"list":["</list>\\n</t>",{"a":"</parameter>\\n</function>"}]}',
    '{"list":[123456789012345678901234567890, 1.0, null]}',
    '{"list":["\\ud800"]}',
    '{"object":{}}',
    '{"object":{"a b":{"<c>":[true]}}}',
    '{"maybe":null}',
    '{"maybe":"Null"}',
    '{"maybe":""}',
    '{"number":null}',
    '{"either":["a"]}',
    '{"either":"[a"}',
    '{"mixed":true}',
    '{"mixed":[]}',
    '{"mixed":null}',
    '{"ref":7}',
    '{"count":"many"}',
    '{"unknown":"text"}',
    '{"other":"1","text":"2","count":3}',
    '{"text":1,"text":"last"}',
]


@each_row("arguments", SAME)
@each_row("dialect", DIALECTS)
def test_the_same_call_comes_back(dialect: str, arguments: str):
    written = written_call(dialect, "t", arguments, T, id_for(dialect))
    assert written.findings == ()
    assert read(dialect, written.text) == ("t", parsed(arguments), id_for(dialect))


@each_row("dialect", DIALECTS)
def test_in_every_cut(dialect: str):
    arguments = (
        '{"text":"\\n<b>x</b>\\n</text>","list":["</list>"],"count":12345678901234567890,"maybe":null}'
    )
    text = write_call(dialect, "t", arguments, T, id_for(dialect))
    got = check_every_split(dialect, stream_of(f"I do it.\n\n{text}", 11), tools=[T])
    assert got.content == "I do it."
    assert [(name, parsed(given)) for name, given in got.calls] == [("t", parsed(arguments))]


# What cannot come back is told

CHANGED = [
    ('{"text":"</text>\\n</t>"}', ["value-contains-its-end"], []),
    ('{"text":"</text>\\n<other>x"}', ["value-contains-its-end"], []),
    ('{"text":"</parameter>\\n</function>"}', [], ["value-contains-its-end"]),
    ('{"text":"x\\n<parameter=count>\\n5"}', [], ["value-contains-its-end"]),
    ('{"text":"</function>\\n</tool_call>"}', [], ["value-contains-its-end"]),
    ('{"maybe":"null"}', ["value-not-carried"], ["value-not-carried"]),
    ('{"either":"[1]"}', ["value-not-carried"], ["value-not-carried"]),
    ('{"count":"5"}', ["value-not-carried"], ["value-not-carried"]),
    ('{"unknown":5}', ["value-not-carried"], ["value-not-carried"]),
    ('{"text":5}', ["value-not-carried"], ["value-not-carried"]),
    ('{"text":"\\ud800"}', ["value-not-carried"], ["value-not-carried"]),
    ('{"t":"x"}', ["call-not-carried"], []),
    ('{"a b":"x"}', ["call-not-carried"], []),
    ('{"a<b":"x"}', ["call-not-carried"], ["call-not-carried"]),
    ("[]", ["arguments-not-json"], ["arguments-not-json"]),
    ("5", ["arguments-not-json"], ["arguments-not-json"]),
    ("not json", ["arguments-not-json"], ["arguments-not-json"]),
    ('{"text":"a"} x', ["arguments-not-json"], ["arguments-not-json"]),
    ('{"ratio":NaN}', ["arguments-not-json"], ["arguments-not-json"]),
]


@each_row(("arguments", "roo", "qwen"), CHANGED)
def test_a_value_that_cannot_be_carried_is_told(arguments: str, roo: list[str], qwen: list[str]):
    for dialect, codes in (("roo-xml", roo), ("qwen3-coder", qwen)):
        written = written_call(dialect, "t", arguments, T)
        assert [finding.code for finding in written.findings] == codes
        same = members(arguments) is not None and read(dialect, written.text) == (
            "t",
            parsed(arguments),
            None,
        )
        assert same == (not codes)


def test_the_finding_says_what_the_value_reads_as():
    (finding,) = written_call("roo-xml", "t", '{"maybe":"null"}', T).findings
    assert finding.message == 'the value of maybe in a call to t is "null"; as roo-xml text it reads as null'
    (finding,) = written_call("roo-xml", "t", '{"text":"' + "x" * 500 + '</text></t>"}', T).findings
    assert "text" in finding.message and len(finding.message) < 200


@each_row(
    "arguments", ["[]", "[1]", "null", "5", '"x"', "not json", '{"text":"<|tool_call_end|>', '{"ratio":NaN}']
)
def test_kimi_passes_any_arguments_on(arguments: str):
    written = written_call("kimi-k2", "t", arguments, T, ID)
    assert f"<|tool_call_argument_begin|>{arguments}<|tool_call_end|>" in written.text
    assert [f.code for f in written.findings][:1] == ["arguments-not-json"]


@each_row(
    ("id", "header", "codes"),
    [
        (None, "functions.t:0", []),
        ("functions.t:12", "functions.t:12", []),
        ("t:12", "t:12", []),
        ("t", "t", []),
        ("call_abc", "call_abc", []),  # it reads as the only tool that is offered
        (" functions.t:1", "functions.t:0", ["id-not-carried"]),
        ("functions.other:1", "functions.t:0", ["id-not-carried"]),
        ("<|tool_call_end|>", "functions.t:0", ["id-not-carried"]),
    ],
)
def test_kimi_keeps_the_id_where_the_id_can_be_kept(id: str | None, header: str, codes: list[str]):
    written = written_call("kimi-k2", "t", '{"count":5}', T, id)
    assert f"<|tool_call_begin|>{header}<|tool_call_argument_begin|>" in written.text
    assert [finding.code for finding in written.findings] == codes
    assert read("kimi-k2", written.text) == ("t", {"count": ("5",)}, header)


def test_without_a_schema_texts_come_back():
    for dialect in DIALECTS:
        written = written_call(dialect, "t", '{"a":"x\\n"}', None, id_for(dialect))
        assert written.findings == ()
    assert [f.code for f in written_call("roo-xml", "t", '{"a":5}').findings] == ["value-not-carried"]
    # Nobody could tell a tag without children from text.
    assert [f.code for f in written_call("roo-xml", "t", "{}").findings] == ["call-not-carried"]


# Any value, any cut

WORDS = ("string", "integer", "number", "boolean", "array", "object", "null")
PIECES = (
    'a b < > / = \n \r \r\n \t null true 5 [1] {} é 🙂 ``` " \\ \x00 \u2028 <p> </p> <q> </q> <t> </t> '
    "<item> </item> <tool_call> </tool_call> <function=t> </function> <parameter=p> <parameter=q> "
    '<invoke name="t"> </invoke> <parameter name="p"> <parameter name="q"> </minimax:tool_call> '
    "</function_calls> <function_calls> <toolbridge_calls> </toolbridge_calls> "
    "<tool_call>t <arg_key> p </arg_key> <arg_value> </arg_value> <arg_key>q</arg_key><arg_value> "
    "</parameter> <|tool_call_end|> <|tool_call_begin|>"
).split(" ")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join) | st.text(max_size=12)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
VALUES = {
    "string": TEXTS,
    "integer": st.integers(),
    "number": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "null": st.none(),
    "array": st.lists(ANY, max_size=3),
    "object": st.dictionaries(TEXTS, ANY, max_size=3),
}


@st.composite
def calls(draw: st.DrawFn) -> tuple[JSON, JSON]:
    """A tool, and arguments of which most fit its schema."""
    names = draw(st.lists(st.sampled_from(["p", "q", "path", "item", "a"]), unique=True, max_size=4))
    properties: JSON = {}
    arguments: JSON = {}
    for name in names:
        words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True))
        properties[name] = {"type": words[0] if len(words) == 1 else words}
        arguments[name] = draw(VALUES[draw(st.sampled_from(words))])
    for name in draw(st.lists(st.sampled_from(["z", "t", "b c"]), max_size=1)):
        arguments[name] = draw(ANY)
    return tool("t", properties), arguments


@given(calls(), st.booleans(), st.sampled_from(DIALECTS), st.integers(0, 1 << 30))
def test_writer_and_parser_are_inverse(call: tuple[JSON, JSON], ascii: bool, dialect: str, seed: int):
    offer, arguments = call
    text = json.dumps(arguments, ensure_ascii=ascii)
    written = written_call(dialect, "t", text, offer, id_for(dialect))
    data = stream_of(written.text, 1 + seed % 40)
    got, _ = run(dialect, cut(data, seed), tools=[offer], records="findings")
    meant = [("t", parsed(text))]
    same = [(name, parsed(given)) for name, given in got.calls] == meant and not got.content
    assert same == (not written.findings), (written, got)
    if dialect == "kimi-k2":
        assert same and got.ids == [ID]


@given(
    st.dictionaries(
        st.sampled_from(["p", "q", "r"]),
        st.text(st.characters(codec="utf-8", exclude_characters="<")),
        min_size=1,  # a call without the parameters it needs is not one everywhere
    )
)
def test_without_markup_no_text_is_ever_refused(arguments: dict[str, str]):
    offer = tool("t", {key: {"type": "string"} for key in ("p", "q", "r")})
    for dialect in DIALECTS:
        written = written_call(dialect, "t", json.dumps(arguments), offer, id_for(dialect))
        assert written.findings == ()
        assert read(dialect, written.text, offer) == ("t", arguments, id_for(dialect))


@given(st.text(max_size=20) | ANY.map(json.dumps), st.text(max_size=8), st.none() | st.text(max_size=8))
def test_nothing_raises(arguments: str, name: str, id: str | None):
    for dialect in DIALECTS:
        for offer in (T, None):
            assert isinstance(written_call(dialect, name, arguments, offer, id).text, str)


def test_depth_and_size_are_no_problem():
    deep = '{"list":' + "[" * 5000 + "]" * 5000 + "}"
    long = json.dumps({"text": "<x>\n" * 20_000})
    for dialect in DIALECTS:
        assert [f.code for f in written_call(dialect, "t", deep, T).findings] == ["arguments-not-json"]
        assert written_call(dialect, "t", long, T).findings == ()


def cut(data: bytes, seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    places = sorted(chance.sample(range(1, len(data)), min(len(data) - 1, chance.choice((0, 1, 5, 40)))))
    for start, end in zip([0, *places], [*places, len(data)], strict=True):
        yield data[start:end]
