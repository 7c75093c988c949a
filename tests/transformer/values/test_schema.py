"""transformer.values.schema: what is offered, and which types a parameter may have."""

from __future__ import annotations

from typing import Any

from tests.support.tiers import each_row
from transformer.values.schema import Tool, branches, offered

DEFS: dict[str, Any] = {
    "$defs": {
        "Count": {"type": "integer"},
        "Maybe": {"anyOf": [{"$ref": "#/$defs/Count"}, {"type": "null"}]},
        "Loop": {"$ref": "#/$defs/Loop"},
        "There": {"$ref": "#/$defs/Back"},
        "Back": {"$ref": "#/$defs/There"},
        "Tree": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "integer"}]},
        "a/b~c d": {"type": "boolean"},
        "list": [{"type": "string"}, {"type": "array"}],
    },
    "definitions": {"Old": {"type": "number"}},
    "type": "object",
}


@each_row(
    ("schema", "words"),
    [
        ({"type": "integer"}, "integer"),
        ({"type": ["integer", "null"]}, "integer null"),
        ({"type": "integer", "nullable": True}, "integer null"),
        ({"type": "integer", "nullable": False}, "integer"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer null"),
        (
            {"oneOf": [{"type": "array"}, {"anyOf": [{"type": "object"}, {"type": "null"}]}]},
            "array object null",
        ),
        # Everything in a schema holds at once.
        ({"allOf": [{"type": "object"}, {"properties": {"a": {}}}]}, "object"),
        ({"allOf": [{"type": ["integer", "string"]}, {"type": ["string", "null"]}]}, "string"),
        ({"allOf": [{"type": "number"}, {"type": "integer"}]}, "integer"),
        ({"allOf": [{"type": "integer"}, {"type": "number"}]}, "integer"),
        ({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "object object"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "oneOf": [{"type": "null"}]}, "null"),
        ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "string"),
        # References.
        ({"$ref": "#/$defs/Count"}, "integer"),
        ({"$ref": "#/$defs/Maybe"}, "integer null"),
        ({"$ref": "#/$defs/Count", "nullable": True}, "integer null"),
        ({"allOf": [{"$ref": "#/$defs/Count"}], "description": "x"}, "integer"),
        ({"$ref": "#/definitions/Old"}, "number"),
        ({"$ref": "#/$defs/a~1b~0c%20d"}, "boolean"),
        ({"$ref": "#/$defs/list/1"}, "array"),
        ({"$ref": "#"}, "object"),
        ({"$ref": "#/$defs/Tree"}, "integer"),
        ({"$ref": "#/$defs/Loop"}, "string"),
        ({"$ref": "#/$defs/There"}, "string"),
        ({"$ref": "#/$defs/Nowhere"}, "string"),
        ({"$ref": "#/$defs/list/7"}, "string"),
        ({"$ref": "#/$defs/list/x"}, "string"),
        ({"$ref": "#anchor"}, "string"),
        ({"$ref": "https://example.org/schema"}, "string"),
        ({"$ref": 5}, "string"),
        # Types that follow from other keywords.
        ({"enum": ["a", "b"]}, "string"),
        ({"enum": [1, 2, None]}, "integer null"),
        ({"type": "string", "enum": ["1", None]}, "string"),
        ({"const": True}, "boolean"),
        ({"const": None}, "null"),
        ({"enum": [1.5, [], {}]}, "number array object"),
        ({"properties": {}}, "object"),
        ({"items": {}}, "array"),
        # Nothing said.
        ({}, "string"),
        (True, "string"),
        (False, "string"),
        (None, "string"),
        ("integer", "string"),
        ({"type": "whatever"}, "string"),
        ({"type": {"a": 1}}, "string"),
        ({"anyOf": []}, "string"),
        ({"anyOf": {"type": "integer"}}, "string"),
        ({"anyOf": [{}, {"type": "null"}]}, "string null"),
        ({"nullable": True}, "string null"),
    ],
)
def test_branches(schema: Any, words: str) -> None:
    assert " ".join(branch.word for branch in branches(schema, DEFS)) == words


def test_a_branch_has_the_keywords_of_all_its_parts() -> None:
    root = {"$defs": {"Base": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}}
    schema = {
        "type": "object",
        "properties": {"b": {"type": "integer"}},
        "allOf": [{"$ref": "#/$defs/Base"}],
        "anyOf": [{"required": ["b"]}, {"type": "null"}],
    }
    (branch,) = branches(schema, root)
    assert set(branch.schema["properties"]) == {"a", "b"}
    assert set(branch.schema["required"]) == {"a", "b"}


def nested(keyword: str, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth):
        schema = {keyword: [schema]}
    return schema


def doubling(levels: int) -> dict[str, Any]:
    """A schema whose alternatives, written out, would be two to the power of `levels`."""
    twice = {f"L{n}": {"anyOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/L0", "$defs": {**twice, f"L{levels}": {"type": "integer"}}}


def itself() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array"}
    schema.update(anyOf=[schema], allOf=[schema], items=schema, properties={"a": schema})
    return schema


@each_row(
    ("schema", "words"),
    [
        (nested("allOf", 10_000), {"integer"}),
        (nested("anyOf", 100), {"integer"}),
        (nested("anyOf", 10_000), {"string"}),
        (doubling(60), {"integer"}),
        (itself(), {"array"}),
        ({"anyOf": [{"const": n} for n in range(5000)]}, {"integer"}),
    ],
    ids=["deep allOf", "unions in unions", "too many unions", "doubling", "contains itself", "wide"],
)
def test_a_hostile_schema_is_read_in_time(schema: Any, words: set[str]) -> None:
    assert {branch.word for branch in branches(schema)} == words


def function(name: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **fields}}


@each_row(
    ("tools", "names"),
    [
        (None, []),
        ([], []),
        ([function("read"), function("write")], ["read", "write"]),
        ([{"name": "bare", "parameters": {}}], ["bare"]),
        ([{"type": "function", "name": "flat"}], ["flat"]),
        ([None, 5, "x", [], {}, {"function": None}, {"function": []}, function(None), function("")], []),
        ([{"type": "custom", "custom": {"name": "c"}}, function("good")], ["good"]),
        ({"name": "not a list"}, []),
        (7, []),
    ],
)
def test_offered(tools: Any, names: list[str]) -> None:
    assert list(offered(tools)) == names


def test_of_two_tools_with_one_name_the_first_counts() -> None:
    tools = offered([function("a", description="first"), function("a", description="second")])
    assert tools["a"].description == "first"


def test_a_tool_with_strange_fields_is_still_a_tool() -> None:
    assert offered([function("a", description=5, parameters="{}")]) == {"a": Tool("a", "", None)}


PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "maybe": {"type": ["string", "null"]},
        "files": {"type": "array"},
        "either": {"type": ["string", "array"]},
        "list_or_null": {"anyOf": [{"type": "array"}, {"type": "null"}]},
        "count": {"type": "integer"},
        "anything": {},
        "mode": {"enum": ["r", "w"]},
    },
    "required": ["path", 5, "path"],
}


@each_row(
    ("name", "knows", "repeats", "is_text"),
    [
        ("path", True, False, True),
        ("maybe", True, False, False),
        ("files", True, True, False),
        ("either", True, False, False),
        ("list_or_null", True, True, False),
        ("count", True, False, False),
        ("anything", True, False, True),
        ("mode", True, False, True),
        ("unheard_of", False, False, True),
    ],
)
def test_questions_to_a_tool(name: str, knows: bool, repeats: bool, is_text: bool) -> None:
    tool = Tool("t", "", PARAMETERS)
    assert (tool.knows(name), tool.repeats(name), tool.is_text(name)) == (knows, repeats, is_text)
    assert tool.required == ("path",)


A, B = (
    {"properties": {"a": {}}, "required": ["a"]},
    {"properties": {"a": {}, "b": {}}, "required": ["a", "b"]},
)


@each_row(
    ("parameters", "properties", "required"),
    [
        (None, [], ()),
        ({}, [], ()),
        ({"type": "object", "properties": []}, [], ()),
        ({"properties": {"a": {}}}, ["a"], ()),
        ({"$ref": "#/$defs/P", "$defs": {"P": A}}, ["a"], ("a",)),
        ({"type": "object", "allOf": [A, {"$ref": "#/$defs/P"}], "$defs": {"P": B}}, ["a", "b"], ("a", "b")),
        ({"type": "object", "oneOf": [A, B]}, ["a", "b"], ("a",)),
    ],
)
def test_the_properties_of_a_tool(parameters: Any, properties: list[str], required: tuple[str, ...]) -> None:
    tool = Tool("t", "", parameters)
    assert (list(tool.properties), tool.required, tool.has_schema) == (properties, required, bool(properties))
