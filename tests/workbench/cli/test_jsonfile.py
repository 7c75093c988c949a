"""Additions to a JSON file with comments: everything else in it stays."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tiers import each_row
from workbench.cli.jsonfile import JsoncError, merge, parse

WANTED = {"npm": "x", "options": {"url": "y"}, "models": {"a/b": {}}}


@each_row(
    ("before", "after"),
    [
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        ("{ }\n", '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{ // note\n}", '{ // note\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"x": 0}', '{"x": 0,\n  "a": {\n    "b": 1\n  }\n}'),
        ('{\n\t"x": 0\n}', '{\n\t"x": 0,\n\t"a": {\n\t\t"b": 1\n\t}\n}'),
        ('{\r\n "x": 0\r\n}', '{\r\n "x": 0,\r\n "a": {\r\n  "b": 1\r\n }\r\n}'),
        ('{\n  "x": 0, // note\n}', '{\n  "x": 0, // note\n  "a": {\n    "b": 1\n  }\n}'),
        ('{\n  "x": 0 // note, }\n}', '{\n  "x": 0, // note, }\n  "a": {\n    "b": 1\n  }\n}'),
        ('{\n  "a": {}\n}', '{\n  "a": {\n    "b": 1\n  }\n}'),
        (
            '{\n  "a": {\n    "c": "}" /* } */\n  }\n}',
            '{\n  "a": {\n    "c": "}", /* } */\n    "b": 1\n  }\n}',
        ),
        ('{"a": {"b": 2}}', '{"a": {"b": 1}}'),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ('{"a": {"b": "mine"}}', '{"a": {"b": "mine"}}'),
        ('{"a": 5, "a": {"b": 1}}', '{"a": 5, "a": {"b": 1}}'),
    ],
)
def test_an_addition_touches_nothing_else(before: str, after: str) -> None:
    assert merge(before, {"a": {"b": 1}}, lambda path, value: value == 2) == after


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, st.sampled_from([None, 0, 2, "\t"]))
def test_all_json_is_read(value: Any, indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    node = parse(f"// first\n{text} /* last */")
    assert node.value == value
    assert f"// first\n{text} /* last */"[node.start : node.end] == text


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.sampled_from([None, 2, "\t"]))
def test_merging_adds_what_is_missing_and_loses_nothing(value: dict[str, Any], indent: Any) -> None:
    text = json.dumps(value, indent=indent)
    try:
        new = merge(text, {"provider": {"workbench": WANTED}}, lambda *_: False)
    except JsoncError:
        assert not isinstance(value.get("provider"), dict)
        return
    expected = {**value, "provider": {**value.get("provider", {}), "workbench": WANTED}}
    assert parse(new).value == expected == json.loads(new)
    assert merge(new, {"provider": {"workbench": WANTED}}, lambda *_: False) == new
