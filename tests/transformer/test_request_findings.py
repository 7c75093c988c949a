"""What is told about tools and system prompts before a model sees them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers import JSON, tool
from transformer import BUILTIN_TEMPLATES, prompt_for, transform_request
from transformer.findings import CATALOGUE

P = {"path": {"type": "string"}}
ALL = ("roo-xml", "qwen3-coder", "kimi-k2")


def found(dialect: str, *tools: Any, system: str = "", policy: str = "inject") -> list[tuple[str, str]]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "hi"}]
    body: JSON = {"messages": messages, "tools": list(tools)}
    _, findings = transform_request(body, dialect=dialect, policy={"tools": policy})
    assert all(finding.level == CATALOGUE[finding.code][0] for finding in findings)
    return [(finding.code, finding.message) for finding in findings]


@pytest.mark.parametrize("policy", ["inject", "template", "pass"])
@pytest.mark.parametrize("dialect", ALL)
def test_nothing_to_tell(dialect: str, policy: str):
    assert found(dialect, tool("read", P), tool("write", P), system="Be kind.", policy=policy) == []


NAMES = [
    # tool name, what roo-xml, qwen3-coder and kimi-k2 cannot do with it
    ("a b", "it has a blank in it", "", ""),
    (" a", "it has a blank in it", "it has a blank in it", "it has a blank in it"),
    ("a\nb", "it has a blank in it", "it has a blank in it", ""),
    ("a<b", "it has a < in it", "it has a < in it", ""),
    ("a>b", "it has a > in it", "it has a > in it", ""),
    ("a/b", "it has a / in it", "", ""),
    ("x" * 257, "it is too long", "it is too long", ""),
    ("a<|tool_call_end|>", "it has a < in it", "it has a < in it", "it has a < in it"),
    ("mcp.read-file:x", "", "", ""),
]


@pytest.mark.parametrize(("name", "roo", "qwen", "kimi"), NAMES)
def test_a_tool_name_that_cannot_be_carried(name: str, roo: str, qwen: str, kimi: str):
    for dialect, reason in zip(ALL, (roo, qwen, kimi), strict=True):
        told = found(dialect, tool(name, P))
        said = f"the tool {name!r} cannot be written in {dialect}: {reason}; the model cannot use it"
        assert told == ([("name-not-carried", said)] if reason else [])


@pytest.mark.parametrize(
    ("name", "dialects"),
    [("a b", ["roo-xml"]), ("a<b", ["roo-xml", "qwen3-coder"]), ("", ["roo-xml", "qwen3-coder"]), ("ok", [])],
)
def test_a_parameter_name_that_cannot_be_carried(name: str, dialects: list[str]):
    for dialect in ALL:
        codes = [code for code, _ in found(dialect, tool("t", {name: {"type": "string"}}))]
        assert codes == (["name-not-carried"] if dialect in dialects else [])


def test_a_parameter_with_the_name_of_its_own_tool():
    ((code, message),) = found("roo-xml", tool("read", {"read": {"type": "string"}}))
    assert code == "name-not-carried"
    assert "it has the name of its own tool" in message
    assert found("qwen3-coder", tool("read", {"read": {"type": "string"}})) == []


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([tool("code", P)], "the tool code is also an HTML element, so one may be mistaken for the other"),
        (
            [tool("Summary", P)],
            "the tool Summary is also an HTML element, so one may be mistaken for the other",
        ),
        (
            [tool("read", P), tool("t", {"read": {"type": "string"}})],
            "the parameter 'read' of t is also the name of a tool, so one may be mistaken for the other",
        ),
        (
            [tool("read", P), tool("Read", P)],
            "the tool Read is also offered as read, so one may be mistaken for the other",
        ),
    ],
)
def test_names_that_collide(tools: list[JSON], message: str):
    assert found("roo-xml", *tools) == [("name-collides", message)]


@pytest.mark.parametrize("dialect", ALL)
def test_tools_that_say_too_little_or_too_much(dialect: str):
    assert found(dialect, tool("read", P), tool("read", {})) == [
        ("duplicate-tool", "read is offered more than once; only the first one counts")
    ]
    for bare in (tool("now"), {"type": "function", "function": {"name": "now"}}, {"name": "now"}):
        ((code, message),) = found(dialect, bare)
        assert code == "no-properties"
        assert message.startswith("now declares no parameters")
    for odd in ({"type": "web_search"}, None, "x", {"function": {"name": ""}}):
        assert [code for code, _ in found(dialect, tool("t", P), odd)] == ["tool-not-understood"]


def test_a_request_with_nothing_but_odd_tools_goes_up_as_it_is():
    body: JSON = {"messages": [], "tools": [{"type": "web_search"}]}
    new, findings = transform_request(body, dialect="roo-xml")
    assert new is body
    assert [finding.code for finding in findings] == ["tool-not-understood"]


@pytest.mark.parametrize("dialect", ALL)
@pytest.mark.parametrize("other", BUILTIN_TEMPLATES)
@pytest.mark.parametrize("policy", ["inject", "template"])
def test_a_system_prompt_that_explains_calls_already(dialect: str, other: str, policy: str):
    prompt = prompt_for([tool("read", P)], other)
    assert found(dialect, tool("read", P), system=f"Be kind.\n\n{prompt}", policy=policy) == [
        (
            "tool-prompt-present",
            f"the system prompt already explains tool calls in the way of {other}; the model may mix that up "
            f"with {dialect}",
        )
    ]


@pytest.mark.parametrize(
    ("system", "name"),
    [
        ("Tool uses are formatted using XML-style tags.", "roo-xml"),
        ('<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>', "hermes"),
        ("N<arg_key>K</arg_key>", "glm"),
        ("[TOOL_CALLS]", "mistral"),
    ],
)
def test_prompts_of_other_dialects(system: str, name: str):
    ((code, message),) = found("roo-xml", tool("read", P), system=system)
    assert code == "tool-prompt-present"
    assert f"in the way of {name};" in message


def test_sentences_are_plain():
    for code in CATALOGUE:
        assert code == code.lower() and " " not in code
