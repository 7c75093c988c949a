"""JSON objects taken apart without touching their values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.jsonscan import members, parsed


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
