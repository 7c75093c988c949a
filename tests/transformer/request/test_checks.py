"""What is told about tools and system prompts before a model sees them."""

from __future__ import annotations

from typing import Any

from tests.support.streams import JSON, tool
from tests.support.tiers import each_row
from transformer import BUILTIN_TEMPLATES, prompt_for, transform_message, transform_request, written_call
from transformer.findings import CATALOGUE

P = {"path": {"type": "string"}}
ALL = ("roo-xml", "qwen3-coder", "kimi-k2")


def found(dialect: str, *tools: Any, system: str = "", policy: str = "inject") -> list[tuple[str, str]]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "hi"}]
    body: JSON = {"messages": messages, "tools": list(tools)}
    _, findings = transform_request(body, dialect=dialect, policy={"tools": policy})
    assert all(finding.level == CATALOGUE[finding.code][0] for finding in findings)
    return [(finding.code, finding.message) for finding in findings]


def taught(dialect: str, system: str, policy: str = "inject") -> list[str]:
    """The dialects that a system prompt explains, as far as that is a finding."""
    body: JSON = {"messages": [{"role": "system", "content": system}], "tools": [tool("read", P)]}
    _, findings = transform_request(body, dialect=dialect, policy={"tools": policy})
    assert {finding.code for finding in findings} <= {"tool-prompt-present"}
    assert all(finding.values["dialect"] == dialect for finding in findings)
    return [finding.values["found"] for finding in findings]


@each_row("policy", ["inject", "template", "pass"])
@each_row("dialect", ALL)
def test_nothing_to_tell(dialect: str, policy: str):
    assert found(dialect, tool("read", P), tool("write", P), system="Be kind.", policy=policy) == []


NAMES = [
    # tool name, what roo-xml, qwen3-coder and kimi-k2 cannot do with it
    ("a b", "it has a blank in it", "", "it has a blank in it"),
    (" a", "it has a blank in it", "it has a blank in it", "it has a blank in it"),
    ("a\nb", "it has a blank in it", "it has a blank in it", "it has a blank in it"),
    ("a<b", "it has a < in it", "it has a < in it", ""),
    ("a>b", "it has a > in it", "it has a > in it", ""),
    ("a/b", "it has a / in it", "", ""),
    ("x" * 257, "it is too long", "it is too long", ""),
    ("a<|tool_call_end|>", "it has a < in it", "it has a < in it", "it has a < in it"),
    ("mcp.read-file:x", "", "", ""),
]


@each_row(("name", "roo", "qwen", "kimi"), NAMES)
def test_a_tool_name_that_cannot_be_carried(name: str, roo: str, qwen: str, kimi: str):
    for dialect, reason in zip(ALL, (roo, qwen, kimi), strict=True):
        told = found(dialect, tool(name, P))
        said = f"the tool {name!r} cannot be written in {dialect}: {reason}; the model cannot use it"
        assert told == ([("name-not-carried", said)] if reason else [])


@each_row(
    ("name", "dialects"),
    [("a b", ["roo-xml"]), ("a<b", ["roo-xml", "qwen3-coder"]), ("", ["roo-xml", "qwen3-coder"]), ("ok", [])],
)
def test_a_parameter_name_that_cannot_be_carried(name: str, dialects: list[str]):
    for dialect in ALL:
        codes = [code for code, _ in found(dialect, tool("t", {name: {"type": "string"}}))]
        assert codes == (["name-not-carried"] if dialect in dialects else [])


@each_row("dialect", ALL)
@each_row(
    "tools",
    [
        [tool("skill", {"skill": {"type": "string"}}, required=["skill"])],
        [tool("code", P, required=["path"])],
        [tool("Summary", P, required=["path"])],
        [tool("think", P, required=["path"])],
        [tool("read", P), tool("t", {"read": {"type": "string"}})],
        [tool("read", P), tool("Read", P)],
        [tool("now")],
        [{"type": "function", "function": {"name": "now"}}],
    ],
)
def test_issue_11_14_nothing_is_said_of_what_reads_back(dialect: str, tools: list[JSON]):
    assert found(dialect, *tools) == []


@each_row(
    ("name", "other"),
    [
        ("code", "an HTML element"),
        ("Summary", "an HTML element"),
        ("think", "the tag in which models think"),
        ("Thinking", "the tag in which models think"),
    ],
)
def test_issue_11_14_names_collide_where_an_empty_tag_can_be_either(name: str, other: str):
    said = f"the tool {name} is also {other}, so one may be mistaken for the other"
    for offered in (tool(name), tool(name, P, required=[])):
        assert found("roo-xml", offered) == [("name-collides", said)]
    assert found("qwen3-coder", tool(name)) == []


@each_row("name", ["title", "code", "summary", "input"])
def test_a_parameter_may_have_the_name_of_an_html_element(name: str):
    assert found("roo-xml", tool("t", {name: {"type": "string"}})) == []


@each_row("dialect", ALL)
@each_row("name", ["a b", "a\tb", " a", "a/b", "a<b", "é", "a:1", "functions.x", "t", "t1", "x" * 300])
def test_what_is_carried_is_what_reads_back(dialect: str, name: str):
    """In company: an only tool is called whatever its name reads as."""
    tools = [tool(name, P), tool("other", P)]
    written = written_call(dialect, name, {"path": "x"}, tools=tools)
    policy = {"calls": "all", "unknown_tools": "call"}
    answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": written.text}}]}
    message = transform_message(answer, dialect, tools, policy)["choices"][0]["message"]
    same = [call["function"]["name"] for call in message.get("tool_calls") or []] == [name]
    assert same == (found(dialect, *tools) == []) == (not written.findings)


@each_row("policy", ["template", "pass"])
def test_what_goes_up_unchanged_is_not_said_to_be_left_out(policy: str):
    assert found("kimi-k2", tool("read", P), tool("read", P), {"type": "web_search"}, policy=policy) == [
        (
            "duplicate-tool",
            "read is offered more than once; the server gets them all, and answers are read by the first one",
        ),
        (
            "tool-not-understood",
            "tool 2 of the request is not a function with a name; the server gets it as it is",
        ),
    ]


@each_row("dialect", ALL)
def test_tools_that_say_too_little_or_too_much(dialect: str):
    assert found(dialect, tool("read", P), tool("read", {})) == [
        ("duplicate-tool", "read is offered more than once; only the first one counts")
    ]
    for bare in (tool("now"), {"type": "function", "function": {"name": "now"}}, {"name": "now"}):
        assert found(dialect, bare) == []
    for odd in ({"type": "web_search"}, None, "x", {"function": {"name": ""}}):
        assert [code for code, _ in found(dialect, tool("t", P), odd)] == ["tool-not-understood"]


def test_a_request_with_nothing_but_odd_tools_goes_up_as_it_is():
    body: JSON = {"messages": [], "tools": [{"type": "web_search"}]}
    new, findings = transform_request(body, dialect="roo-xml")
    assert new is body
    assert [finding.code for finding in findings] == ["tool-not-understood"]
    assert findings[0].message.endswith("the server gets it as it is")


SEED_004 = (
    "You are Roo, a highly skilled software engineer...\n\n## list_files\n"
    "Description: Request to list files...\n\nUsage:\n"
    "<list_files>\n<path>Directory path here</path>\n</list_files>"
)


@each_row("dialect", ALL)
@each_row("other", BUILTIN_TEMPLATES)
@each_row("policy", ["inject", "template"])
def test_a_system_prompt_that_explains_calls_already(dialect: str, other: str, policy: str):
    prompt = prompt_for([tool("read", P)], other)
    told = taught(dialect, f"Be kind.\n\n{prompt}", policy)
    assert told == ([other] if dialect != other else [])


def test_how_that_is_said():
    ((_, said),) = found("roo-xml", tool("read", P), system="[TOOL_CALLS]")
    assert said == (
        "the system prompt already explains tool calls in the way of mistral; "
        "the model may mix that up with roo-xml"
    )


@each_row(
    ("system", "name"),
    [
        ("Tool uses are formatted using XML-style tags.", "roo-xml"),
        ('<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>', "hermes"),
        ("N<arg_key>K</arg_key>", "glm"),
        ("[TOOL_CALLS]", "mistral"),
        (SEED_004, "roo-xml"),
        ("# You\n\n## Available Tools\n\nread, write", "roo-xml"),
        ("Write\n<function=read>\n<parameter=path>\na.py", "qwen3-coder"),
        ("<tools>\n<function>\n<name>read</name>", "qwen3-coder"),
        ('<tools>\n{"type": "function"}', "hermes"),
        ("signatures within <tools></tools> XML tags", "hermes"),
        ("<|tool_call_begin|>functions.read:0", "kimi-k2"),
    ],
)
def test_prompts_of_other_dialects(system: str, name: str):
    for dialect in ALL:
        assert taught(dialect, system) == ([name] if dialect != name else [])


@each_row(
    "system",
    ["## Setup\nUsage: run it.", "## read\nDescription: a file", "a <function=f> b", "the <tools> tag"],
)
def test_prompts_that_explain_no_calls(system: str):
    for dialect in ALL:
        assert found(dialect, tool("read", P), system=system) == []


def test_sentences_are_plain():
    for code in CATALOGUE:
        assert code == code.lower() and " " not in code
