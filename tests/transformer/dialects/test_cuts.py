"""The first law of docs/spec.md, section 2: any cut of the same text gives the same result."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.client import Result, message_result, result
from tests.support.cuts import transform
from tests.support.streams import JSON, message, numbered, sse, tool
from tests.support.tiers import EXAMPLES, each_row, exhaustive, only_exhaustive
from transformer import MessageTransformer, StreamTransformer

TOOLS = [
    tool(
        "read",
        {
            "path": {"type": "string"},
            "limit": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        required=["path"],
    ),
    tool("bash", {"command": {"type": "string"}}),
    {"type": "function", "function": {"name": "now"}},
]

OBJECTS = [
    '{"name": "read", "arguments": {"path": "a"}}', '{"name": "zip", "arguments": {}}', '{"name": "now"}',
    '{"arguments": {"path": "b"}, "name": "read"}', '{"type": "x", "name": "bash", "parameters": {}}',
    "{'name': 'read', 'arguments': {'path': 'it'}}", '{"name": ', '"name": ', '"read"', '"arguments": ',
    "{", "}", "[", "]", ", ", ";", '"', '\\"', "\\", "'", " ", "\n", "abc", "é😀", '{"path": "x"}', ":",
    "null", '"k": {"y": [1, "}"]}, ',
]  # fmt: skip
SOUP: dict[str, list[str]] = {
    "roo-xml": [
        "<think>", "</think>\n",
        "<read>", "</read>", "<path>", "</path>", "<limit>", "</limit>", "<tags>", "</tags>", "<bash>",
        "</bash>",
        "<command>", "</command>", "<x>", "</x>", "<y>", "</y>", "<now>", "</now>", "<foo>", "</foo>",
        "<div>",
        "</div>", "<item>", "</item>", "\n", "\n\n", " ", "```\n", "abc", "5", "<", "</", "<re", ">",
        "é😀", "\r\n",
        "null", "<read>\n<path>a</path>\n</read>\n", "\n<bash>\n<command>",
    ],
    "qwen3-coder": [
        "<tool_call>", "</tool_call>", "<function=read>", "<function=bash>", "<function=zip>", "</function>",
        "<parameter=path>", "<parameter=limit>", "<parameter=tags>", "<parameter=command>", "<parameter=q>",
        "</parameter>", "\n", "\n", " ", "abc", "7", "<", "</", "<parameter=",
        "<parameter=path=v</parameter>",
        "<function=", "é😀", ">", "[1]", "\r\n", "<function=read>\n<parameter=path>a</parameter></function>",
        "</parameter></function>",
    ],
    "kimi-k2": [
        "<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", "<|tool_calls_section_end|>",
        "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "functions.read:0",
        "functions.bash:1", "read:0", "call_abc", "0", "{", "}", '"path"', ":", '"a b"', '"', '\\"',
        "\\", " ", "\n",
        "abc", "<|", "<|tool_call", "é😀", "functions.zip:2", '{"path": "/a"}', '{"command": "ls"}',
        "<|tool_call_begin|>functions.read:3<|tool_call_argument_begin|>",
    ],
    "glm": [
        "<tool_call>", "<tool_call>", "</tool_call>", "read", "bash", "zip", "readpath", "path", "limit",
        "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<arg_key>path</arg_key>",
        "<arg_key>limit</arg_key>\n<arg_value>", "<arg_key>tags</arg_key><arg_value>", "<arg_key>q</arg_key>",
        "<tool_call>read<arg_key>path</arg_key><arg_value>a</arg_value>", "</arg_value></tool_call>", "\n",
        "\n", " ", "7", "now", "<", "</", "<arg_", "é😀", ">", "[1]", "\r\n", "null",
    ],
    "hermes": [
        *OBJECTS, "<tool_call>", "<tool_call>", "<tool_call>\n", "</tool_call>", "\n</tool_call>\n",
        "</tool_", '<tool_call>{"name": "read", "arguments": {',
    ],
    "mistral": [
        *OBJECTS, "[TOOL_CALLS]", "[TOOL_CALLS]", "[TOOL_CALLS] [", "[TOOL_CALLS]read[ARGS]", "[ARGS]",
        "[CALL_ID]", '[TOOL_CALLS]bash[CALL_ID]abc123XYZ[ARGS]{"command": ', "[TOOL", "read",
        '[TOOL_CALLS]zip{"a":1}',
    ],
    "llama3-json": [
        *OBJECTS, "<|python_tag|>", "<|eot_id|>", "<|py", "\n", '\n{"name": "read", "parameters": {',
        '{"name": "Alice"}', '{"name": "read", "x": 1}', "```\n",
    ],
    "deepseek-v31": [
        *OBJECTS, "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁begin｜>read<｜tool▁sep｜>", "<｜tool▁sep｜>",
        "function<｜tool▁sep｜>read\n```json\n", "```<｜tool▁call▁end｜>",
        "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "\n```", "<｜tool", "```json\n", "read",
        'bash<｜tool▁sep｜>{"command": "x"}',
    ],
    "pythonic": [
        "[read(path='a')]", "[", "read(", "path=", "'x'", '"y"', ")", "]", ", ", "bash(command=", "[now()]",
        "\n", "\n", " ", "abc", "-2.5", "None", '{"a": [1, (2, 3)]}', "'it\\'s'", '"', "'", "\\", "(", "{",
        "<function_calls>", "</function_calls>", "<|tool_call_start|>", "<|tool_call_end|>", "zip(a=1)",
        "[read(path='x'), now()]", "[zip(a=1)]", "read(path='a', limit=", "=", "é😀", '\"\"\"', "[1, 2]",
        "<func", "```\n",
    ],
    "harmony": [
        *OBJECTS, "<|channel|>", "<|channel|>analysis<|message|>", "<|channel|>final<|message|>",
        "<|channel|>commentary to=functions.read <|constrain|>json<|message|>", "<|end|>", "<|call|>",
        "<|start|>assistant", "<|return|>", " to=functions.bash", "commentary", "final", "<|chan",
        "<|start|>assistant to=functions.zip<|channel|>commentary<|message|>", "<|constrain|>json",
        "<|channel|>analysis to=functions.read<|message|>", "<|message|>", "<|start|>",
    ],
    "minimax-m2": [
        "<minimax:tool_call>", "</minimax:tool_call>", '<invoke name="read">', "<invoke name='bash'>",
        "<invoke name=zip>", "</invoke>", '<parameter name="path">', "<parameter name='limit'>",
        "<parameter name=tags>", '<parameter name="command" string="true">',
        '<parameter name="q" string="false">', "<parameter>", "</parameter>", "{", "}", '"path"', ":", '"a"',
        "<invoke", "name=", '"read"', ">", "\n", " ", "abc", "7", "<", "</", "é😀", "[1]",
        '<parameter name="arguments">{"path":"a"}', "</parameter></invoke>", '{"path": "a"}',
        '<invoke name="read"><parameter name="path">a</parameter></invoke>',
    ],
}  # fmt: skip
SOUP["functions-invoke"] = [
    part.replace("minimax:tool_call", "function_calls") for part in SOUP["minimax-m2"]
]
_DSML = re.compile("(</?)(minimax:)?(?=tool_call|invoke|parameter)")
SOUP["deepseek-dsml"] = [
    *(_DSML.sub(r"\1｜DSML｜", part).replace("tool_call>", "tool_calls>") for part in SOUP["minimax-m2"]),
    "<||DSML||function_calls>", "< | DSML | tool_use>", "<｜DS", "｜", '<|DSML|invoke name="read">',
    "</｜｜DSML｜｜parameter>", "</|DSML|invoke>", '<｜DSML｜parameter name="path" string="true">',
]  # fmt: skip
SOUP["toolbridge"] = [
    *SOUP["roo-xml"],
    *["<toolbridge_calls>", "</toolbridge_calls>"] * 3,
    "<toolb",
    "<read >",
    "</path></toolbridge_calls>",
    "<toolbridge_calls><read><path>",
]
SOUP["seed-oss"] = [part.replace("tool_call", "seed:tool_call") for part in SOUP["qwen3-coder"]]
TOKENS = (
    "kimi-k2",
    "deepseek-v31",
    "harmony",
)  # their tokens vanish, with a finding, where they mean nothing
POLICIES: list[JSON] = [
    {},
    {"arguments": "stream"},
    {"arguments": "whole"},
    {"malformed": "repair"},
    {"malformed": "repair", "arguments": "stream"},
    {"malformed": "repair", "calls": "all", "after_call": "keep"},
    {"calls": "all", "after_call": "keep"},
    {"calls": "first"},
    {"after_call": "drop", "calls": "all"},
    {"unknown_tools": "text"},
    {"unknown_tools": "error"},
    {"max_call_bytes": 40},
    {"max_call_bytes": 25, "arguments": "stream"},
    {"finish_reason": "upstream"},
]


class Case(NamedTuple):
    """An answer and how it is to be read."""

    text: str
    policy: JSON
    known: bool
    finish: str | None
    seed: int

    @property
    def kwargs(self) -> JSON:
        return {"tools": TOOLS if self.known else None, "policy": self.policy, "now": 5, "ids": numbered}


def cases(dialect: str) -> st.SearchStrategy[Case]:
    pieces = st.lists(st.sampled_from(SOUP[dialect]), min_size=1, max_size=24)
    return st.builds(
        Case,
        pieces.map("".join),
        st.sampled_from(POLICIES),
        st.sampled_from([True, True, True, False]),
        st.sampled_from([None, "stop", "length"]),
        st.integers(0, 2**32),
    )


def pieces_of(text: str, chance: random.Random) -> list[str]:
    pieces = []
    at = 0
    while at < len(text):
        size = chance.choice([1, 1, 2, 3, 5, 9, 20])
        pieces.append(text[at : at + size])
        at += size
    return pieces


def stream(pieces: list[str], finish: str | None, ascii_only: bool = False) -> bytes:
    events: list[JSON] = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    if finish:
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if ascii_only:
        return sse(*(json.dumps(event) for event in events))
    return sse(*events)


def bytes_of(data: bytes, chance: random.Random) -> list[bytes]:
    mean = chance.choice([1, 3, 40, 200])
    places = sorted(chance.sample(range(1, len(data)), len(data) // mean - (mean == 1)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


Seen = tuple[Result, list[tuple[str, str, int, int]], int]


def seen(out: bytes, transformer: StreamTransformer) -> Seen:
    """What must not depend on the cut. Behind an error nothing counts any more."""
    got = result(out)
    found = [
        (finding.code, finding.message, finding.span.start, finding.span.end)
        for finding in transformer.findings
        if finding.code != "event-after-end"
    ]
    return got, [] if got.error else sorted(found), transformer.unaccounted


# Quick: of dialects that differ in their spelling only, one. Their own tests have cuts of all of them.
SPELLINGS = ("seed-oss", "functions-invoke")
EACH = pytest.mark.parametrize(
    "dialect", only_exhaustive(list(SOUP), [name for name in SOUP if name not in SPELLINGS])
)
# An example here is many streams: two thirds of what the profile asks for will do, or half in the quick tier.
FEWER = settings(max_examples=EXAMPLES["exhaustive"] * 2 // 3 if exhaustive() else EXAMPLES["quick"] // 2)


@EACH
@FEWER
@given(st.data())
def test_any_cut_of_any_text_gives_the_same(dialect: str, data: st.DataObject) -> None:
    case = data.draw(cases(dialect))
    chance = random.Random(case.seed)
    whole = stream([case.text], case.finish)
    expected = seen(*transform(dialect, whole, records="all", **case.kwargs))
    assert expected[2] == 0
    cuts: list[tuple[str, bytes | list[bytes]]] = [
        ("the same deltas, cut in bytes", bytes_of(whole, chance)),
        ("a delta for each character", stream(list(case.text), case.finish)),
        ("any deltas", stream(pieces_of(case.text, chance), case.finish)),
        ("any deltas, escaped", stream(pieces_of(case.text, chance), case.finish, ascii_only=True)),
        ("any deltas, cut in bytes", bytes_of(stream(pieces_of(case.text, chance), case.finish), chance)),
    ]
    for name, reads in cuts:
        records = chance.choice(["all", "findings"])
        assert seen(*transform(dialect, reads, records=records, **case.kwargs)) == expected, name


@EACH
@FEWER
@given(st.data())
def test_what_is_recorded_changes_no_byte(dialect: str, data: st.DataObject) -> None:
    case = data.draw(cases(dialect))
    chance = random.Random(case.seed)
    reads = bytes_of(stream(pieces_of(case.text, chance), case.finish), chance)
    outs = {}
    for records in ("none", "findings", "all"):
        out, transformer = transform(dialect, reads, records=records, **case.kwargs)
        outs[records] = out
        assert transformer.unaccounted == 0
        if records == "none":
            assert (transformer.records, transformer.findings, transformer.completion) == ([], [], None)
        elif records == "findings":
            assert transformer.records == transformer.findings
    assert outs["none"] == outs["findings"] == outs["all"]


@EACH
@FEWER
@given(st.data())
def test_a_whole_message_gives_the_same(dialect: str, data: st.DataObject) -> None:
    case = data.draw(cases(dialect))
    chance = random.Random(case.seed)
    streamed, transformer = transform(
        dialect, stream(pieces_of(case.text, chance), case.finish), records="all", **case.kwargs
    )
    got = result(streamed)
    twin = MessageTransformer(dialect, **case.kwargs)
    body = twin.convert(message(case.text, finish=case.finish))
    assert twin.unaccounted == 0
    if got.error:
        assert body == {"error": got.error}
        return
    whole = message_result(body)
    assert (whole.content, whole.calls, whole.ids, whole.finish_reason) == (
        got.content, got.calls, got.ids, got.finish_reason,
    )  # fmt: skip
    assert sorted((f.code, f.span.start, f.span.end) for f in twin.findings) == sorted(
        (f.code, f.span.start, f.span.end) for f in transformer.findings
    )
    assert transformer.completion is not None
    assert message_result(transformer.completion) == whole


@EACH
@FEWER
@given(st.data())
def test_arguments_streamed_or_whole_are_the_same_calls(dialect: str, data: st.DataObject) -> None:
    case = data.draw(cases(dialect))
    chance = random.Random(case.seed)
    answer = stream(pieces_of(case.text, chance), case.finish)
    both = []
    for arguments in ("whole", "stream"):
        kwargs = case.kwargs | {"policy": case.policy | {"arguments": arguments}}
        out, transformer = transform(dialect, answer, records="findings", **kwargs)
        if any(finding.level == "error" for finding in transformer.findings):
            return
        both.append(seen(out, transformer))
    assert both[0] == both[1]


@EACH
@FEWER
@given(st.data())
def test_text_is_never_lost_nor_reordered(dialect: str, data: st.DataObject) -> None:
    """What the client gets as content is what upstream sent, minus pieces of it."""
    case = data.draw(cases(dialect))
    got, _, _ = seen(*transform(dialect, stream([case.text], case.finish), **case.kwargs))
    rest = iter(case.text)
    assert all(char in rest for char in got.content)
    if not got.calls and not got.error and dialect not in TOKENS and case.policy.get("calls") != "first":
        # Without a call nothing is markup, and nothing is dropped.
        assert got.content == case.text


# What a long search once found

FOUND: list[tuple[str, JSON, str]] = [
    ("roo-xml", {"arguments": "stream"}, "<read><read>\n<path>a</path>\n</read>\n<read>"),
    ("roo-xml", {"arguments": "stream"}, "<bash>\n<command>a\n</bash>\n<read>\n<path>b</path>\n</read>"),
]


@each_row(("dialect", "policy", "text"), FOUND)
def test_what_a_search_once_found(dialect: str, policy: JSON, text: str) -> None:
    kwargs: JSON = {"tools": TOOLS, "policy": policy}
    expected = seen(*transform(dialect, stream([text], "stop"), **kwargs))
    assert expected[2] == 0
    for at in range(1, len(text)):
        assert seen(*transform(dialect, stream([text[:at], text[at:]], "stop"), **kwargs)) == expected
    twin = MessageTransformer(dialect, **kwargs)
    whole = message_result(twin.convert(message(text)))
    assert twin.unaccounted == 0
    assert (whole.content, whole.calls) == (expected[0].content, expected[0].calls)


# A fence makes an unknown tag text, and where it ends may come in the same delta as the tag

FOO = "<foo>\n<x>1</x>\n</foo>"
FENCES: dict[str, tuple[str, bool]] = {
    "no fence": (f"Hi\n{FOO}", True),
    "inside": (f"```\n{FOO}\n```", False),
    "inside, of another kind": (f"~~~xml\n{FOO}\n~~~", False),
    "inside, never closed": (f"```xml\n{FOO}", False),
    "behind": (f"```\nx\n```\n{FOO}", True),
    "behind an empty one": (f"```\n```\n{FOO}", True),
    "behind a longer one": (f"````\n```\n````\n{FOO}", True),
    "inside a longer one": (f"````\n```\n{FOO}\n````", False),
    "between two": (f"```\n```\n{FOO}\n```\n```", True),
    "behind backticks that are no fence": (f"x ```\n{FOO}", True),
    "behind backticks with backticks": (f"``` `\n{FOO}", True),
}


@each_row(("text", "is_call"), FENCES.values(), ids=FENCES)
def test_fences_under_every_cut(text: str, is_call: bool) -> None:
    cuts = [[text[:at], text[at:]] for at in range(1, len(text))]
    cuts += [[text[:at], text[at : at + 4], text[at + 4 :]] for at in range(1, len(text) - 4)]
    for pieces in [[text], list(text), *cuts]:
        got = result(transform("roo-xml", stream(pieces, "stop"), tools=TOOLS)[0])
        assert got.calls == ([("foo", '{"x":"1"}')] if is_call else []), pieces
        assert is_call or got.content == text


# Any call comes back


def roo(name: str, texts: dict[str, str]) -> str:
    return f"<{name}>\n" + "".join(f"<{key}>{text}</{key}>\n" for key, text in texts.items()) + f"</{name}>"


def qwen(name: str, texts: dict[str, str]) -> str:
    parameters = "".join(f"<parameter={key}>{text}</parameter>\n" for key, text in texts.items())
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


LINE = r"(?:\A|[\n\r])"
# Conservative: what might be the end of a value according to docs/spec.md, section 4, or begin an example.
OWN_END = {
    "roo-xml": re.compile(rf"</KEY>\s*<|{LINE}<TOOL>|{LINE}</TOOL>\s*<"),
    "qwen3-coder": re.compile(
        r"</parameter>\s*(?:<parameter=|</function>|</tool_call>)|</function>\s*(?:</tool_call>|<tool_call>|<function=)"
        rf"|{LINE}<parameter=(?:text|count|ratio|flag|list|map|maybe)>|{LINE}<function="
    ),
}
WRITERS: dict[str, Callable[[str, dict[str, str]], str]] = {"roo-xml": roo, "qwen3-coder": qwen}
TYPES = {
    "text": {"type": "string"},
    "count": {"type": "integer"},
    "ratio": {"type": "number"},
    "flag": {"type": "boolean"},
    "list": {"type": "array"},
    "map": {"type": "object"},
    "maybe": {"type": ["integer", "null"]},
}
SAVE = tool("save", TYPES, required=[])
OTHERS = [SAVE, *TOOLS]

marked = st.lists(
    st.sampled_from(
        [piece for soup in SOUP.values() for piece in soup]
        + ["<save>", "</save>", "<text>", "</text>", "<parameter=text>", "\u2028", "\x00", "\\n", "&lt;"]
    ),
    max_size=10,
).map("".join)
strings = st.text(max_size=30) | marked
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings
)
nested = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=8,
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": strings,
    "count": st.integers(-(10**30), 10**30),
    "ratio": st.floats(allow_nan=False, allow_infinity=False),
    "flag": st.booleans(),
    "list": st.lists(nested, max_size=4),
    "map": st.dictionaries(strings, nested, max_size=4),
    "maybe": st.none() | st.integers(),
}
given_values = (
    st.lists(st.sampled_from(list(TYPES)), unique=True, max_size=4)
    .flatmap(lambda keys: st.tuples(*(st.tuples(st.just(key), VALUES[key]) for key in keys)))
    .map(dict)
)


def written(key: str, value: Any) -> str:
    if key == "text":
        # One newline at each end is framing, in either spelling.
        return f"\n{value}" + ("\r\n" if value.endswith("\r") else "\n")
    return json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize("dialect", WRITERS)
@FEWER
@given(given_values, st.integers(0, 2**32), st.booleans(), st.sampled_from(["whole", "stream"]))
def test_any_call_comes_back(
    dialect: str, values: dict[str, Any], seed: int, ascii_only: bool, arguments: str
) -> None:
    chance = random.Random(seed)
    texts = {key: written(key, value) for key, value in values.items()}
    pattern = OWN_END[dialect].pattern
    for key, text in texts.items():
        if re.search(pattern.replace("KEY", key).replace("TOOL", "save"), text):
            return
    text = WRITERS[dialect]("save", texts)
    before = chance.choice(["", "Saving.\n", "<save> saves:\n\n"])
    data = stream(pieces_of(before + text, chance), "stop", ascii_only)
    reads = bytes_of(data, chance)
    out, transformer = transform(dialect, reads, tools=OTHERS, policy={"arguments": arguments})
    got = result(out)
    assert [name for name, _ in got.calls] == ["save"]
    sent = json.loads(got.calls[0][1])
    assert list(sent) == list(values)
    assert sent == values
    assert json.dumps(sent) == json.dumps(values), "true is not 1, and 1 is not 1.0"
    assert got.content == before.rstrip()
    assert [finding.code for finding in transformer.findings] == []
    assert transformer.unaccounted == 0


@FEWER
@given(
    st.lists(given_values, min_size=1, max_size=3),
    st.integers(0, 2**32),
    st.booleans(),
    st.sampled_from(["whole", "stream"]),
    st.sampled_from([None, 1, 3]),
)
def test_any_kimi_call_comes_back_byte_for_byte(
    calls: list[dict[str, Any]], seed: int, section: bool, arguments: str, indent: int | None
) -> None:
    chance = random.Random(seed)
    bodies = [json.dumps(values, ensure_ascii=chance.random() < 0.5, indent=indent) for values in calls]
    space = chance.choice(["", " ", "\n"])
    text = "".join(
        f"<|tool_call_begin|>{space}functions.save:{number}{space}<|tool_call_argument_begin|>{space}{body}{space}"
        "<|tool_call_end|>"
        for number, body in enumerate(bodies)
    )
    if section:
        text = f"<|tool_calls_section_begin|>{space}{text}{space}<|tool_calls_section_end|>"
    data = stream(pieces_of("Saving. " + text, chance), "stop")
    out, transformer = transform(
        "kimi-k2", bytes_of(data, chance), tools=OTHERS, policy={"arguments": arguments}
    )
    got = result(out)
    assert got.calls == [("save", body) for body in bodies]
    assert got.ids == [f"functions.save:{number}" for number in range(len(bodies))]
    assert (got.content, got.finish_reason) == ("Saving.", "tool_calls")
    assert [finding.code for finding in transformer.findings] == []
