"""Example values: they fit the name, the type, and what else the schema says."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cuts import run
from tests.support.streams import JSON, stream_of, tool
from tests.support.tiers import each_row
from transformer import DIALECTS
from transformer.request.offer import offer_of
from transformer.request.toolviews import example, views


@each_row(
    ("name", "schema", "expected"),
    [
        ("filePath", {"type": "string"}, "/path/to/file"),
        ("file_path", {"type": "string"}, "/path/to/file"),
        ("path", {"type": "string"}, "/path/to/file"),
        ("directory_path", {"type": "string"}, "/path/to/directory"),
        ("cwd", {"type": "string"}, "/path/to/directory"),
        ("command", {"type": "string"}, "npm install"),
        ("description", {"type": "string"}, "Install dependencies"),
        ("URL", {"type": "string"}, "https://example.com/page"),
        ("old_string", {"type": "string"}, "old text"),
        ("pattern", {"type": "string"}, "*.py"),
        ("pattern", {"type": "string", "description": "A regular expression"}, "def \\w+"),
        ("whatever", {"type": "string"}, "example whatever"),
        ("x", {"type": "string", "format": "date-time"}, "2025-01-31T12:00:00Z"),
        ("filePath", {"type": "string", "maxLength": 5}, "/path"),
        ("name", {"type": "string", "minLength": 10}, "examplexxx"),
        ("", {}, "example"),
        ("mode", {"type": "string", "enum": ["r", "w"]}, "r"),
        ("mode", {"enum": ["r", "w"], "default": "w"}, "w"),
        ("mode", {"enum": ["r", "w"], "default": "x"}, "r"),
        ("mode", {"const": "fast"}, "fast"),
        ("path", {"type": "string", "default": "."}, "."),
        ("path", {"type": "string", "default": ""}, "/path/to/file"),
        ("path", {"type": "string", "default": None}, "/path/to/file"),
        ("path", {"type": "string", "examples": ["src"]}, "src"),
        ("limit", {"type": "number"}, 50),
        ("offset", {"type": "integer"}, 10),
        ("timeout", {"type": "integer"}, 30000),
        ("timeout", {"type": "integer", "maximum": 600}, 1),
        ("timeout", {"type": "integer", "minimum": 5, "maximum": 600}, 5),
        ("n", {"type": "integer", "exclusiveMinimum": 7}, 8),
        ("n", {"type": "integer", "maximum": -3}, -3),
        ("n", {"type": "integer", "minimum": 10, "multipleOf": 4}, 12),
        ("n", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ("n", {"type": "integer", "default": 7}, 7),
        ("n", {"type": "integer", "default": "7"}, 1),
        ("n", {"type": "integer", "default": True}, 1),
        ("flag", {"type": "boolean"}, True),
        ("flag", {"type": "boolean", "default": False}, False),
        ("gone", {"type": "null"}, None),
        ("path", {"type": ["null", "string"]}, "/path/to/file"),
        ("n", {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 3}]}, 3),
        ("x", {"type": ["integer", "string"]}, "example x"),
        ("paths", {"type": "array", "items": {"type": "string"}}, ["/path/to/file"]),
        ("x", {"type": "array"}, ["example x"]),
        ("x", {"type": "array", "default": ["a"]}, ["a"]),
        ("x", {"type": "object"}, {"key": "example value"}),
        ("x", {"type": "object", "additionalProperties": {"type": "integer"}}, {"key": 1}),
        (
            "todos",
            {"type": "array", "items": {"type": "object", "properties": {"status": {"enum": ["open"]}}}},
            [{"status": "open"}],
        ),
    ],
)
def test_examples(name: str, schema: JSON, expected: Any):
    found = example(name, schema)
    assert found == expected
    assert type(found) is type(expected)


def usage(schema: JSON, name: str = "p") -> str:
    return views(offer_of([tool("t", {name: schema})]), DIALECTS["roo-xml"])[0].usage


def test_lists_and_objects_are_shown_as_nested_tags():
    items = {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "array", "items": {"type": "integer"}}},
    }
    assert usage({"type": "array", "items": items}) == (
        "<t>\n<p>\n  <item>\n    <path>/path/to/file</path>\n"
        "    <lines>\n      <item>50</item>\n    </lines>\n  </item>\n</p>\n</t>"
    )


@each_row(
    ("schema", "inside"),
    [
        ({"type": "object", "properties": {"a b": {"type": "string"}}}, '{"a b": "example a b"}'),
        ({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}, '["example p"]'),
        ({"type": "array", "items": {"type": ["string", "null"], "enum": ["null"]}}, '["null"]'),
    ],
)
def test_where_tags_would_read_otherwise_there_is_json(schema: JSON, inside: str):
    assert usage(schema) == f"<t>\n<p>{inside}</p>\n</t>"


def test_long_texts_stand_on_their_own_lines():
    assert usage({"type": "string"}, "content") == "<t>\n<content>\nHello, world\n</content>\n</t>"


SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string"}, {"type": "integer", "minimum": 3}, {"type": "number"}, {"type": "boolean"},
            {"enum": ["a", "b"]}, {"type": ["string", "null"]}, {"type": "array"}, {"type": "object"},
        ]
    ),
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(
            lambda p: {"type": "object", "properties": p},
            st.dictionaries(st.sampled_from(["path", "item", "count", "x y", "t", "p"]), inner, max_size=3),
        )
        | st.builds(lambda some: {"anyOf": some}, st.lists(inner, min_size=1, max_size=2))
    ),
    max_leaves=5,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["path", "count", "mode", "todos"]), SCHEMAS, max_size=3))
def test_the_usage_reads_as_the_call_it_shows(properties: JSON):
    """A model that copies the example makes a call that fits."""
    offer = tool("t", properties)
    (view,) = views(offer_of([offer]), DIALECTS["roo-xml"])
    got, transformer = run("roo-xml", stream_of(view.usage, 50), tools=[offer], records="findings")
    ((name, arguments),) = got.calls
    assert name == "t"
    assert json.loads(arguments) == {key: example(key, schema) for key, schema in properties.items()}
    assert [finding.code for finding in transformer.findings] == []
