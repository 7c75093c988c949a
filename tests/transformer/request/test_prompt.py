"""Prompts: the built-in templates, a user's own, and tools of every size and depth."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from tests.support.streams import JSON, tool
from tests.support.tiers import each_row
from transformer import (
    BUILTIN_TEMPLATES,
    DIALECTS,
    TemplateFailed,
    Wording,
    prompt_for,
    transform_request,
)
from transformer.request.offer import offer_of
from transformer.request.prompt import rendered, renderings
from transformer.request.toolviews import ToolView, views

ROO_XML = DIALECTS["roo-xml"]
READ = tool("read", {"filePath": {"type": "string", "description": "A path"}})
TODO: JSON = {
    "type": "function",
    "function": {
        "name": "todowrite",
        "description": "  Keep a list.\n\nOften.\n",
        "parameters": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "description": "The list",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": {"type": "string", "description": "What"},
                            "status": {"type": "string", "enum": ["open", "done"], "default": "open"},
                        },
                        "required": ["content"],
                    },
                },
                "limit": {"type": ["integer", "null"], "default": 5},
            },
            "required": ["todos"],
            "additionalProperties": False,
        },
    },
}

ROO = """\
## todowrite
Description: Keep a list.

Often.
Parameters:
- todos: (required) array - The list
  - content: (required) string - What
  - status: (optional) string (one of: open, done; default: open)
- limit: (optional) integer or null (default: 5)

Usage:
<todowrite>
<todos>
  <item>
    <content>Hello, world</content>
    <status>open</status>
  </item>
</todos>
<limit>5</limit>
</todowrite>

## now
Parameters: none

Usage:
<now>
</now>"""

QWEN = """\
# Tools

You have access to the following functions:

<tools>
<function>
<name>todowrite</name>
<description>Keep a list.

Often.</description>
<parameters>
<parameter>
<name>todos</name>
<type>array</type>
<description>The list</description>
<items>{"type": "object", "properties": {"content": {"type": "string", "description": "What"}, \
"status": {"type": "string", "enum": ["open", "done"], "default": "open"}}, "required": ["content"]}</items>
</parameter>
<parameter>
<name>limit</name>
<type>['integer', 'null']</type>
<default>5</default>
</parameter>
<$schema>https://json-schema.org/draft/2020-12/schema</$schema>
<required>["todos"]</required>
<additionalProperties>False</additionalProperties>
</parameters>
</function>
<function>
<name>now</name>
<parameters>
</parameters>
</function>
</tools>

If you choose to call a function ONLY reply in the following format with NO suffix:

<tool_call>
<function=example_function_name>
<parameter=example_parameter_1>
value_1
</parameter>
<parameter=example_parameter_2>
This is the value for the second parameter
that can span
multiple lines
</parameter>
</function>
</tool_call>

<IMPORTANT>
Reminder:
- Function calls MUST follow the specified format: an inner <function=...></function> block must be \
nested within <tool_call></tool_call> XML tags
- Required parameters MUST be specified
- You may provide optional reasoning for your function call in natural language BEFORE the function call, \
but NOT after
- If there is no function call available, answer the question like normal with your current knowledge and \
do not tell the user about function calls
</IMPORTANT>"""


def test_every_dialect_that_writes_calls_has_a_template():
    assert set(BUILTIN_TEMPLATES) == {one.name for one in DIALECTS.values() if one.writer is not None}


def test_roo_xml():
    tools = [TODO, {"type": "function", "function": {"name": "now"}}]
    assert prompt_for(tools, "roo-xml").endswith(f"\n\n## Available Tools\n\n{ROO}")


def test_qwen3_coder_says_what_the_models_own_template_says():
    tools = [TODO, {"type": "function", "function": {"name": "now"}}]
    assert prompt_for(tools, "qwen3-coder", wording=Wording(several=True)) == QWEN


def test_kimi_k2_declares_the_tools_as_json_and_shows_its_tokens():
    found = prompt_for([READ, TODO], "kimi-k2", wording=Wording(several=True))
    declared = next(line for line in found.split("\n") if line.startswith("["))
    assert json.loads(declared) == [READ, TODO]
    for token in ("section_begin", "begin", "argument_begin", "end", "section_end"):
        assert f"<|tool_call{'s' if 'section' in token else ''}_{token}|>" in found


def test_a_tool_without_its_wrapper_and_namesakes():
    bare = READ["function"]
    assert prompt_for([bare], "roo-xml") == prompt_for([READ], "roo-xml")
    assert prompt_for([READ, READ], "roo-xml") == prompt_for([READ], "roo-xml")


# Templates of the user


@each_row("dialect", BUILTIN_TEMPLATES)
def test_a_printed_template_is_the_built_in_one(dialect: str):
    template = BUILTIN_TEMPLATES[dialect]
    assert prompt_for([READ], dialect, template) == prompt_for([READ], dialect)
    edited = template + "\nBe brief.\n"
    assert prompt_for([READ], dialect, edited) == prompt_for([READ], dialect) + "\n\nBe brief."


@each_row(
    ("template", "expected"),
    [
        ("{{ tools[0].function | tojson }}", json.dumps(READ["function"])),
        ("{{ tools[0].name }} {{ tools[0].parameters[0].description }}", "read A path"),
        ("{{ choice }}|{{ chosen }}|{{ several }}", "named|read|False"),
        ("{{ '<' }}", "<"),
        ("\n\nx\n\n", "x"),
        ("{{ 'ab' * 3 }}{{ 2 * 3 }}{{ 2 ** 3 }}{{ range(3) | list }}", "ababab68[0, 1, 2]"),
        ("", ""),
    ],
)
def test_what_a_template_sees(template: str, expected: str):
    assert prompt_for([READ], "roo-xml", template, Wording("named", "read")) == expected


@each_row(
    ("template", "line", "reason"),
    [
        ("one\ntwo {{ x", 2, "unexpected end of template"),
        ("one\n\n{% for x in tools %}", 3, "Unexpected end of template"),
        ("one\n{{ tool.name }}", 2, "'tool' is undefined"),
        ("one\n{{ tools[0].nme }}", 2, "nme"),
        ("{% for t in tools %}\n{{ t.name.x.y }}\n{% endfor %}", 2, "x"),
        ("\n\n{{ 1 // 0 }}", 3, "zero"),
        ("{{ ''.__class__.__mro__ }}", 1, "unsafe"),
        ("{{ tools.append(1) }}", 1, "unsafe"),
        ("{% include 'x' %}", 1, ""),
        ("{% macro a() %}{{ a() }}{% endmacro %}\n{{ a() }}", 1, "recursion"),
        ("{{ tools | nope }}", 1, "nope"),
        ("{{ lipsum() }}", 1, "lipsum"),
        ("{{ tools | random }}", 1, "random"),
        ("\n{% for x in range(10001) %}{% endfor %}", 2, "at most 10000 steps"),
        ("{% for x in range(9999) %}{{ 'x' * 999 }}{% endfor %}", 1, "grows beyond 4194304 characters"),
        ("a\n{{ 'x' * 10 ** 9 }}", 2, "grows beyond"),
        ("{{ 10 ** 9 * [1] }}", 1, "grows beyond"),
        ("{{ 9 ** 999 }}", 1, "exponent"),
    ],
)
def test_a_template_that_fails_names_its_line(template: str, line: int, reason: str):
    with pytest.raises(TemplateFailed) as failed:
        prompt_for([READ], "roo-xml", template)
    assert failed.value.line == line
    assert reason in failed.value.reason
    assert str(failed.value).startswith(f"line {line}: ")


def test_there_is_no_template_for_a_dialect_without_calls():
    with pytest.raises(ValueError, match=", ".join(BUILTIN_TEMPLATES)):
        prompt_for([READ], "passthrough")


# Tools of every size and depth


def nested(depth: int, kind: str) -> JSON:
    schema: JSON = {"type": "string"}
    for _ in range(depth):
        one = {"type": "array", "items": schema}
        schema = (
            one if kind == "array" else {"type": "object", "properties": {"a": schema}, "required": ["a"]}
        )
    return schema


LOOP: JSON = {
    "type": "object",
    "properties": {"node": {"$ref": "#/$defs/node"}, "self": {"$ref": "#"}, "lost": {"$ref": "#/nowhere"}},
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
        },
        "a": {"$ref": "#/$defs/b"},
        "b": {"$ref": "#/$defs/a"},
    },
}


def entry(name: str, properties: Any) -> JSON:
    return {"function": {"name": name, "parameters": {"properties": properties}}}


HOSTILE: list[Any] = [
    *[entry(f"{kind}{n}", {"x": nested(n, kind)}) for n in (3, 50, 400, 900) for kind in ("array", "object")],
    {"function": {"name": "loop", "parameters": LOOP}},
    entry("wide", {f"p{n}": {"type": "string"} for n in range(400)}),
    entry("unions", {"x": {"anyOf": [{"type": "string"}] * 500}}),
    entry("odd", {"x": True, "y": None, "z": 5, "": {"enum": []}}),
    entry("numbers", {"n": {"default": 10**400, "minimum": 10**400}}),
    {"function": {"name": "odder", "parameters": {"properties": [], "required": "x", "type": 5}}},
    {"function": {"name": "half \ud800", "description": "\ud800", "parameters": None}},
    {"function": {"name": "<b>", "description": 5, "parameters": "x"}},
]


@each_row("dialect", BUILTIN_TEMPLATES)
@each_row("hostile", HOSTILE, ids=lambda entry: entry["function"]["name"].replace("\ud800", "?"))
def test_schemas_of_any_kind_render(dialect: str, hostile: JSON):
    found = prompt_for([hostile, READ], dialect)
    assert "read" in found and len(found) < 200_000


@each_row("dialect", BUILTIN_TEMPLATES)
@each_row("odd", [float("inf"), float("-inf"), float("nan")])
def test_numbers_that_are_not_json_do_no_harm(dialect: str, odd: float):
    """Beside an integer that orjson refuses they get past it, as Infinity and NaN."""
    properties = {
        "ratio": {"type": "number", "default": odd, "maximum": 10**30},
        "list": {"type": "array", "items": {"type": "string"}},
        "odd": {"type": "array", "default": [odd]},
    }
    body: JSON = {"messages": [], "tools": [tool("t", properties)]}
    new, findings = transform_request(body, dialect, {"tools": "inject"})
    assert new["messages"][0]["content"] and findings == []


def test_a_view_that_fails_is_not_said_to_be_the_templates_fault():
    def broken(*_: object) -> str:
        raise KeyError("a bug")

    assert ROO_XML.writer is not None and ROO_XML.writer.tags is not None
    tags = replace(ROO_XML.writer.tags, call=broken)
    dialect = replace(ROO_XML, writer=replace(ROO_XML.writer, tags=tags))
    for template in (None, "{{ tools[0].usage }}"):
        with pytest.raises(KeyError, match="a bug"):
            prompt_for([tool("not seen before", {"a": {}})], dialect, template)


@pytest.mark.parametrize("dialect", ["qwen3-coder", "kimi-k2"])
def test_what_a_template_does_not_ask_for_is_not_made(dialect: str, monkeypatch: pytest.MonkeyPatch):
    def never(*_: object) -> None:
        raise AssertionError("nobody asked")

    monkeypatch.setattr(ToolView, "usage", property(never))
    monkeypatch.setattr(ToolView, "parameters", property(never))
    assert "lazily_shown" in prompt_for([tool("lazily_shown", {"a": {}})], dialect)


def test_lists_that_share_a_tool_share_its_view():
    one, two = views(offer_of([READ]), ROO_XML), views(offer_of([TODO, READ, READ]), ROO_XML)
    assert [view.name for view in two] == ["todowrite", "read"]
    assert one[0] is two[1]


@each_row("dialect", BUILTIN_TEMPLATES)
def test_sixty_tools_render(dialect: str):
    tools = [tool(f"tool_{n}", LOOP["properties"], **{"$defs": LOOP["$defs"]}) for n in range(60)]
    found = prompt_for(tools, dialect)
    assert all(f"tool_{n}" in found for n in range(60))


# Remembered by content


def test_unchanged_tools_are_rendered_once():
    def request() -> JSON:
        return {
            "messages": [{"role": "user", "content": "x"}],
            "tools": [tool("once", {"a": {"type": "string"}})],
        }

    first, _ = transform_request(request(), dialect="roo-xml")
    before = renderings()
    for _ in range(5):
        assert transform_request(request(), dialect="roo-xml")[0] == first
    assert renderings() == before
    transform_request(request() | {"tool_choice": "required"}, dialect="roo-xml")
    assert renderings() == before + 1
    changed = request()
    changed["tools"][0]["function"]["description"] = "new"
    assert transform_request(changed, dialect="roo-xml")[0] != first
    assert renderings() == before + 2


def test_the_order_of_parameters_is_part_of_the_content():
    one = offer_of([tool("t", {"a": {}, "b": {}})])
    other = offer_of([tool("t", {"b": {}, "a": {}})])
    assert one.key != other.key


def test_jinja2_is_loaded_only_when_a_prompt_is_made():
    code = (
        "import sys, transformer; assert 'jinja2' not in sys.modules; "
        "transformer.prompt_for([], 'roo-xml'); assert 'jinja2' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_failure_keeps_nothing_alive():
    offer = offer_of([READ])
    _, failure = rendered(ROO_XML, offer, "{{ nope }}", Wording())
    assert failure is not None and failure.__traceback__ is None
