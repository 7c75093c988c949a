"""JSON text while it arrives, in any cut; and whole objects taken apart without touching their values."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tiers import each_row
from transformer.jsonscan import JsonScanner, members, missing_end, parsed

VALUES = st.recursive(
    st.text() | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=8), VALUES, max_size=4)


@given(OBJECTS, st.integers(1, 7))
def test_it_is_whole_at_its_end_and_not_before(value: dict[str, object], size: int):
    text = json.dumps(value, ensure_ascii=False)
    scanner = JsonScanner()
    assert not scanner.whole
    for at in range(0, len(text), size):
        assert scanner.feed(text[at : at + size]) == len(text[at : at + size])
        assert scanner.whole is (at + size >= len(text))
        assert scanner.clone().whole is scanner.whole
    assert scanner.feed(" and more") == 0
    assert scanner.end == len(text)


@given(OBJECTS, st.integers(1, 7), st.booleans())
def test_the_members_are_those_that_json_has(value: dict[str, object], size: int, ascii: bool):
    text = json.dumps(value, ensure_ascii=ascii)
    scanner = JsonScanner(members=True)
    for at in range(0, len(text), size):
        scanner.feed(text[at : at + size])
        scanner = scanner.clone()
    assert {one.key: json.loads(text[one.start : one.end]) for one in scanner.members} == value


@each_row("text", ["", "  ", '{"a": "}', '{"a": "\\"}', '{"a": [1, {}', '{"a\\\\": "\\\\'])
def test_what_is_not_whole(text: str):
    scanner = JsonScanner()
    for character in text:
        scanner.feed(character)
    assert not scanner.whole


@given(OBJECTS, st.integers(0))
def test_what_is_missing_at_the_end_makes_it_json(value: dict[str, object], at: int):
    text = json.dumps(value)
    start = text[: at % len(text) + 1]
    end = missing_end(start)
    if end is not None:
        json.loads(start + end)
    assert missing_end(text) == ""


@each_row(
    ("text", "end"),
    [('{"a": [1, {"b": "x', '"}]}'), ('{"a": 1', "}"), ('{"a": ', None), ('{"a": [}', None), ("{} x", None)],
)
def test_what_is_missing(text: str, end: str | None):
    assert missing_end(text) == end


@each_row(
    ("text", "expected"),
    [
        ("{}", []),
        (" { } ", []),
        ('{"a":1}', [("a", ("1",), "1")]),
        ('{"a" : 1.50 , "b":"x\\n"}', [("a", ("1.50",), "1.50"), ("b", "x\n", '"x\\n"')]),
        ('{"a":[1, {"b":2}]}', [("a", [("1",), {"b": ("2",)}], '[1, {"b":2}]')]),
        ('{"a":1,"b":2,"a":"3"}', [("a", "3", '"3"'), ("b", ("2",), "2")]),
        ('{"a":"raw\nbreak"}', [("a", "raw\nbreak", '"raw\nbreak"')]),
        ('{"n":' + "9" * 5000 + "}", [("n", ("9" * 5000,), "9" * 5000)]),
        ('{"":null}', [("", None, "null")]),
    ],
)
def test_members(text: str, expected: list[Any]):
    assert members(text) == expected


@each_row(
    "text",
    [
        "", "[]", "5", '"x"', "{", "}", "{1:2}", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1 "b":2}', "{} x",
        '{"a":NaN}', '{"a":-Infinity}', "{'a':1}", '{"a":' + "[" * 100_000, "{,}",
    ],
)  # fmt: skip
def test_what_is_no_object(text: str):
    assert members(text) is None


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.booleans())), st.booleans())
def test_agrees_with_json(value: dict[str, Any], ascii: bool):
    text = json.dumps(value, ensure_ascii=ascii, indent=1)
    found = members(text)
    assert found is not None
    assert {member.key: json.loads(member.raw) for member in found} == value
    assert {member.key: member.value for member in found} == parsed(text)
