"""Requests on their way up: all three policies, all dialects, and whatever clients send."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.streams import JSON, tool
from tests.support.tiers import each_row
from transformer import Finding, Policy, PolicyError, Span, transform_message, transform_request
from transformer.request.history import kept_calls

DIALECTS = ("roo-xml", "qwen3-coder", "kimi-k2")
READ = tool("read", {"filePath": {"type": "string"}, "limit": {"type": "integer"}}, ["filePath"])
USER: JSON = {"role": "user", "content": "hi"}
IMAGE: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
INJECT = {"tools": "inject"}


def text(words: str) -> JSON:
    return {"type": "text", "text": words}


def call(id: str = "functions.read:0", name: str = "read", arguments: Any = '{"filePath":"/a"}') -> JSON:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*calls: JSON, content: Any = None, **more: Any) -> JSON:
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **more}


def answers(content: Any, id: Any = "functions.read:0", **more: Any) -> JSON:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


def up(*messages: Any, dialect: str = "roo-xml", **more: Any) -> tuple[list[Any], list[str]]:
    """The messages behind the system message, and the codes of what was found."""
    body: JSON = {"messages": list(messages), "tools": [READ], **more}
    before = copy.deepcopy(body)
    new, findings = transform_request(body, dialect=dialect, policy=INJECT)
    assert body == before, "the body that came was changed"
    json.dumps(new)
    first, *rest = new["messages"]
    assert first["role"] == "system"
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & new.keys()
    return rest, [finding.code for finding in findings]


def system(*messages: JSON, dialect: str = "roo-xml", **more: Any) -> Any:
    body = {"messages": list(messages), "tools": [READ], **more}
    return transform_request(body, dialect=dialect, policy=INJECT)[0]["messages"][0]


PROMPT = system(USER)["content"]


# What goes up unchanged


@each_row("dialect", [*DIALECTS, "passthrough"])
@each_row("policy", ["inject", "template", "pass"])
@each_row(
    "more",
    [{}, {"tools": []}, {"tools": None}, {"tools": "x"}, {"tool_choice": "none"}],
    ids=["no tools", "empty list", "null", "garbage", "tool_choice none"],
)
def test_without_tools_the_body_goes_up_as_it_is(dialect: str, policy: str, more: JSON):
    body: JSON = {"model": "m", "messages": [USER], "odd": 1, **more}
    new, findings = transform_request(body, dialect, {"tools": policy}, extra_body={"skip": 1})
    assert new is body
    assert findings == []


@each_row("dialect", DIALECTS)
def test_tool_choice_none_leaves_no_tool_keys_for_a_model_of_text(dialect: str):
    more: JSON = {"tools": [READ], "tool_choice": "none", "parallel_tool_calls": True}
    for way in ("template", "pass"):
        body: JSON = {"model": "m", "messages": [USER], **more}
        new, findings = transform_request(body, dialect, {"tools": way}, extra_body={"skip": 1})
        assert new is body and findings == []
    # Nothing of tools in the history: the keys go, the messages stay as they are, and there is no prompt.
    messages = [{"role": "developer", "content": [text("Be kind.")]}, USER]
    new, findings = transform_request({"model": "m", "messages": messages, **more}, dialect, INJECT)
    assert new == {"model": "m", "messages": messages}
    assert new["messages"] is messages and findings == []
    # Calls in it: they become text, by the schemas that are there.
    called = [asks(call(arguments='{"limit": "5"}')), answers("42")]
    new, findings = transform_request({"messages": [*messages, *called], **more}, dialect, INJECT)
    first, *rest = new["messages"]
    assert list(new) == ["messages"]
    assert first == {"role": "system", "content": "Be kind."}
    assert rest[0] == USER and list(rest[1]) == ["role", "content"] and "read" in rest[1]["content"]
    assert rest[2] == {"role": "user", "content": "Tool Result from read:\n42"}
    assert [f.code for f in findings] == ([] if dialect == "kimi-k2" else ["value-not-carried"])


@each_row("dialect", DIALECTS)
@each_row("more", [{}, {"tools": []}, {"tools": [{"type": "web_search"}]}])
def test_calls_without_tools_become_text_for_a_model_of_text(dialect: str, more: JSON):
    body: JSON = {"messages": [USER, asks(call()), answers("42")], "tool_choice": "auto", **more}
    new, findings = transform_request(body, dialect, INJECT, extra_body={"skip": 1})
    assert list(new) == ["messages", "skip"]
    assert new["messages"][0] == USER
    assert list(new["messages"][1]) == ["role", "content"] and "/a" in new["messages"][1]["content"]
    assert new["messages"][2] == {"role": "user", "content": "Tool Result from read:\n42"}
    (finding,) = [f for f in findings if f.code != "tool-not-understood"]
    assert finding.code == "calls-without-tools"
    assert finding.message.endswith("they went up as text, without a prompt for tools")
    for way in ("template", "pass"):
        new, findings = transform_request(body, dialect, {"tools": way})
        assert new is body
        (finding,) = [f for f in findings if f.code != "tool-not-understood"]
        assert finding.message.endswith("nothing was changed, and a server that knows no tools may refuse it")


@each_row("odd", [None, [], "x"])
def test_an_assistant_without_calls_is_no_history_of_tools(odd: Any):
    body: JSON = {"messages": [{"role": "assistant", "content": "a", "tool_calls": odd}]}
    assert transform_request(body, "roo-xml") == (body, [])
    assert transform_request(body, "roo-xml")[0] is body


def test_seed_004_a_client_that_prompts_for_xml_itself():
    body: JSON = {
        "model": "qwen3-max",
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {
                "role": "system",
                "content": "You are Roo…\n\n## list_files\nUsage:\n<list_files>\n" + "x" * 20_000,
            },
            {"role": "user", "content": [text("<task>\nWhat?\n</task>"), text("<environment_details>…")]},
            {"role": "assistant", "content": "OK\n\n<list_files>\n<path>.</path>\n</list_files>"},
            {"role": "user", "content": [text("[Tool Result] a.py")]},
        ],
    }
    before = copy.deepcopy(body)
    for dialect in (*DIALECTS, "passthrough"):
        new, findings = transform_request(body, dialect=dialect)
        assert new is body
        assert body == before
        assert findings == []


def test_passthrough_changes_and_tells_nothing():
    body: JSON = {"messages": [answers("x")], "tools": [READ, READ]}
    assert transform_request(body, dialect="passthrough") == (body, [])


@each_row("dialect", DIALECTS)
def test_policy_pass_changes_nothing(dialect: str):
    body: JSON = {"messages": [USER, asks(call())], "tools": [READ], "tool_choice": "required"}
    new, findings = transform_request(body, dialect, Policy(tools="pass"), extra_body={"x": 1})
    assert new is body
    assert findings == []


def test_an_unknown_dialect_or_policy_is_said():
    with pytest.raises(ValueError, match="roo-xml"):
        transform_request({}, dialect="roo")
    with pytest.raises(PolicyError):
        transform_request({}, dialect="roo-xml", policy={"tools": "inline"})


# tools: template


@each_row("dialect", ["qwen3-coder", "kimi-k2"])
def test_template_is_the_default_of_models_with_a_template(dialect: str):
    messages = [USER, asks(call()), answers("42")]
    body: JSON = {"messages": messages, "tools": [READ], "tool_choice": "auto", "parallel_tool_calls": True}
    new, findings = transform_request(body, dialect=dialect)
    assert new == body | {"tool_choice": "none"}
    assert new["messages"] is messages
    assert body["tool_choice"] == "auto"
    assert findings == []


def test_template_takes_what_the_server_needs():
    body: JSON = {"messages": [USER], "tools": [READ], "chat_template_kwargs": {"a": 1, "b": 1}, "top_k": 5}
    extra = {"skip_special_tokens": False, "top_k": 6, "chat_template_kwargs": {"b": 2}}
    for policy in ({"tools": "template"}, INJECT):
        new, _ = transform_request(body, "roo-xml", policy, template_tool_choice="auto", extra_body=extra)
        assert new["skip_special_tokens"] is False
        assert new["chat_template_kwargs"] == {"a": 1, "b": 2}
        assert new["top_k"] == 6
        assert new.get("tool_choice") == ("auto" if policy != INJECT else None)
    assert body["chat_template_kwargs"] == {"a": 1, "b": 1}
    without, _ = transform_request(body, "roo-xml", {"tools": "template"}, template_tool_choice=None)
    assert without == body


def test_template_tells_that_a_forced_call_is_not_asked_for():
    body: JSON = {"messages": [USER], "tools": [READ], "tool_choice": "required"}
    new, findings = transform_request(body, dialect="qwen3-coder")
    assert new["tool_choice"] == "none"
    assert [finding.code for finding in findings] == ["tool-choice-not-sent"]


# tools: inject, the system message


@each_row(
    ("messages", "expected"),
    [
        ([USER], PROMPT),
        ([], PROMPT),
        ([{"role": "system", "content": "Be kind."}, USER], f"Be kind.\n\n{PROMPT}"),
        ([{"role": "system", "content": "Be kind.\n"}, USER], f"Be kind.\n\n\n{PROMPT}"),
        ([{"role": "developer", "content": "Be kind."}, USER], f"Be kind.\n\n{PROMPT}"),
        ([{"role": "system", "content": [text("Be"), text("kind")]}, USER], f"Be\nkind\n\n{PROMPT}"),
        ([{"role": "system", "content": ""}, USER], PROMPT),
        ([{"role": "system", "content": None}, USER], PROMPT),
        ([{"role": "system"}, USER], PROMPT),
        (
            [{"role": "system", "content": "One"}, {"role": "developer", "content": "Two"}, USER],
            f"One\n\nTwo\n\n{PROMPT}",
        ),
    ],
)
def test_one_system_message_goes_up(messages: list[JSON], expected: str):
    assert system(*messages) == {"role": "system", "content": expected}


def test_a_system_message_keeps_its_other_fields_and_images():
    found = system({"role": "developer", "name": "boss", "content": [text("Be kind."), IMAGE]}, USER)
    assert found == {
        "role": "system",
        "name": "boss",
        "content": [text(f"Be kind.\n\n{PROMPT}"), IMAGE],
    }


def test_a_system_message_in_the_middle_goes_to_the_front():
    rest, codes = up(USER, {"role": "system", "content": "Later"}, USER)
    assert rest == [USER, USER]
    assert codes == ["system-message-moved"]
    assert system(USER, {"role": "system", "content": "Later"})["content"].startswith("Later\n\n")


def test_unknown_keys_stay():
    body = {
        "model": "m",
        "messages": [USER],
        "tools": [READ],
        "tool_choice": "auto",
        "odd": {"a": [1]},
        "n": 2,
    }
    new, _ = transform_request(body, dialect="roo-xml")
    assert list(new) == ["model", "messages", "odd", "n"]
    assert new["odd"] is body["odd"]


# tool_choice and parallel_tool_calls, in words


@each_row(
    ("dialect", "more", "said"),
    [
        (
            "roo-xml",
            {"tool_choice": "required"},
            "\n4. Your next message must use a tool\n\n## Tool Call Format",
        ),
        (
            "roo-xml",
            {"tool_choice": {"type": "function", "function": {"name": "read"}}},
            "must use the tool read\n",
        ),
        ("roo-xml", {"parallel_tool_calls": False}, "1. Use exactly one tool per message\n"),
        ("qwen3-coder", {"tool_choice": "required"}, "\n- You MUST call a function in your next message\n"),
        (
            "qwen3-coder",
            {"tool_choice": {"type": "function", "name": "read"}},
            "call the function read in your",
        ),
        ("qwen3-coder", {"parallel_tool_calls": False}, "\n- Call at most one function in a message\n"),
        ("kimi-k2", {"tool_choice": "required"}, "\n- Your next message must call a function"),
        ("kimi-k2", {"tool_choice": {"type": "function", "function": {"name": "read"}}}, "the function read"),
        ("kimi-k2", {"parallel_tool_calls": False}, "\n- Make at most one call in a message\n"),
    ],
)
def test_choices_become_sentences(dialect: str, more: JSON, said: str):
    plain = system(USER, dialect=dialect)["content"]
    assert said in system(USER, dialect=dialect, **more)["content"]
    assert (said in plain) == (dialect == "roo-xml" and "parallel_tool_calls" in more)
    for same in ({"tool_choice": "auto"}, {"tool_choice": None}, {"parallel_tool_calls": True}):
        assert system(USER, dialect=dialect, **same)["content"] == plain


def test_several_calls_where_the_policy_takes_them():
    body: JSON = {"messages": [USER], "tools": [READ]}
    policy = {"tools": "inject", "calls": "all"}
    new, _ = transform_request(body, "roo-xml", policy)
    assert "1. Use one or more tools per message" in new["messages"][0]["content"]
    new, _ = transform_request(body | {"parallel_tool_calls": False}, "roo-xml", policy)
    assert new["messages"][0]["content"] == PROMPT


@each_row(
    "choice",
    [{"type": "function", "function": {"name": "gone"}}, {"type": "allowed_tools"}, "sometimes", 5, []],
)
def test_a_choice_that_cannot_be_honoured_is_told(choice: Any):
    rest, codes = up(USER, tool_choice=choice)
    assert rest == [USER]
    assert codes == ["tool-choice-not-understood"]
    assert system(USER, tool_choice=choice)["content"] == PROMPT


# The history

ROO = "<read>\n<filePath>/a</filePath>\n</read>"
QWEN = "<tool_call>\n<function=read>\n<parameter=filePath>\n/a\n</parameter>\n</function>\n</tool_call>"
KIMI = '<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"filePath":"/a"}<|tool_call_end|>'
KIMI_1 = KIMI.replace(":0", ":1")
BEGIN, END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"


@each_row(
    ("dialect", "one", "two"),
    [
        ("roo-xml", f"I look.\n\n{ROO}", f"{ROO}\n\n{ROO}"),
        ("qwen3-coder", f"I look.\n\n{QWEN}", f"{QWEN}\n{QWEN}"),
        ("kimi-k2", f"I look.{BEGIN}{KIMI}{END}", f"{BEGIN}{KIMI}{KIMI_1}{END}"),
    ],
)
def test_calls_are_written_after_the_content(dialect: str, one: str, two: str):
    rest, codes = up(asks(call(), content="I look.\n", reasoning_content="Hm."), dialect=dialect)
    assert rest == [{"role": "assistant", "content": one, "reasoning_content": "Hm."}]
    assert codes == []
    nothing: list[Any] = [None, "", "  \n", []]
    for empty in nothing:
        rest, codes = up(asks(call(), call("functions.read:1"), content=empty), dialect=dialect)
        assert rest == [{"role": "assistant", "content": two}]
        assert codes == []


@each_row("dialect", DIALECTS)
def test_what_was_written_reads_as_the_turn_it_was(dialect: str):
    """The law of docs/spec.md, section 7, for a whole message."""
    calls = [call(), call("functions.read:1", arguments='{"filePath":"b\\n","limit":12345678901234567890}')]
    rest, _ = up(asks(*calls, content="I look."), dialect=dialect)
    answer = {"choices": [{"index": 0, "message": rest[0], "finish_reason": "stop"}]}
    read = transform_message(answer, dialect, [READ], {"calls": "all"})["choices"][0]["message"]
    assert read["content"] == "I look."
    assert [json.loads(c["function"]["arguments"]) for c in read["tool_calls"]] == [
        json.loads(c["function"]["arguments"]) for c in calls
    ]
    if dialect == "kimi-k2":
        assert [c["id"] for c in read["tool_calls"]] == ["functions.read:0", "functions.read:1"]


@each_row(
    ("content", "expected"),
    [
        ("42", "Tool Result from read:\n42"),
        ([text("4"), text("2")], "Tool Result from read:\n4\n2"),
        ("", "Tool Result from read:\n(the tool ran and returned no output)"),
        (" \n", "Tool Result from read:\n(the tool ran and returned no output)"),
        (None, "Tool Result from read:\n(the tool ran and returned no output)"),
        ([], "Tool Result from read:\n(the tool ran and returned no output)"),
        ([text("See"), IMAGE], [text("Tool Result from read:\nSee"), IMAGE]),
        ([IMAGE], [text("Tool Result from read:\n"), IMAGE]),
        ({"ok": True}, 'Tool Result from read:\n{"ok": true}'),
    ],
)
@each_row("dialect", DIALECTS)
def test_results_become_user_messages(dialect: str, content: Any, expected: Any):
    rest, codes = up(asks(call()), answers(content, cache=1), dialect=dialect)
    assert rest[1] == {"role": "user", "content": expected, "cache": 1}
    assert codes == []


def test_a_result_belongs_to_the_last_call_with_its_id():
    again = call(name="bash", arguments="{}")
    rest, codes = up(asks(call()), answers("1"), asks(again), answers("2"))
    assert [m["content"] for m in rest if m["role"] == "user"] == [
        "Tool Result from read:\n1",
        "Tool Result from bash:\n2",
    ]
    assert codes == []


@each_row(
    ("dialect", "labels"),
    [
        ("roo-xml", ['read (call 1: {"filePath":"/a"})', "bash", 'read (call 3: {"filePath":"/b"})']),
        ("qwen3-coder", ['read (call 1: {"filePath":"/a"})', "bash", 'read (call 3: {"filePath":"/b"})']),
        ("kimi-k2", ["read (functions.read:0)", "bash", "read (functions.read:2)"]),
    ],
)
def test_results_of_two_calls_to_one_tool_are_told_apart(dialect: str, labels: list[str]):
    """By what the model itself wrote: the id where its text has one, else the arguments."""
    ids = [f"call_{number:024x}" for number in range(3)]
    calls = asks(call(ids[0]), call(ids[1], "bash", "{}"), call(ids[2], arguments='{"filePath":"/b"}'))
    results = [answers(str(number), id) for number, id in enumerate(ids)]
    rest, codes = up(calls, *reversed(results), dialect=dialect)
    wanted = [f"Tool Result from {label}:\n{number}" for number, label in enumerate(labels)]
    assert [m["content"] for m in rest[1:]] == wanted[::-1]
    assert codes == []  # no model has seen ids that were made here, so none is missed


def test_long_arguments_name_a_call_in_short():
    (_, result), _ = up(asks(call("a", arguments="x" * 200), call("b")), answers("", "a"))
    assert result["content"].startswith(f"Tool Result from read (call 1: {'x' * 100}…):\n")


@each_row("id", ["gone", None, 5, ["x"]])
def test_a_result_whose_call_is_gone_is_told(id: Any):
    rest, codes = up(USER, answers("42", id))
    assert rest[1] == {"role": "user", "content": "Tool Result from an earlier call:\n42"}
    assert codes == ["result-without-call"]
    rest, codes = up(USER, answers("42", id, name="grep"))
    assert rest[1]["content"] == "Tool Result from grep:\n42"
    assert codes == ["result-without-call"]


@each_row(
    ("arguments", "body", "codes"),
    [
        ('{"filePath": "/a', '{"filePath": "/a', ["arguments-not-json"]),
        ("[]", "[]", ["arguments-not-json"]),
        ("", "", ["call-not-carried"]),
        (None, "", ["call-not-carried"]),
        ({"filePath": "/a"}, "<filePath>/a</filePath>", []),
        ('{"limit": "many"}', "<limit>many</limit>", []),
        ('{"limit": "5"}', "<limit>5</limit>", ["value-not-carried"]),
        ('{"filePath": "</filePath>\\n</read>"}', "<filePath>\n</filePath>\n</read>\n</filePath>",
         ["value-contains-its-end"]),
        ('{"other": "</filePath>"}', "<other></filePath></other>", []),
    ],
)  # fmt: skip
def test_whatever_stands_in_arguments(arguments: Any, body: str, codes: list[str]):
    rest, found = up(asks(call(arguments=arguments)))
    assert rest == [
        {"role": "assistant", "content": f"<read>\n{body}\n</read>" if body else "<read>\n</read>"}
    ]
    assert found == codes


def test_ids_from_elsewhere_do_not_hide_the_name_from_kimi():
    rest, codes = up(asks(call("call_a"), call("call_b")), asks(call("read:7")), dialect="kimi-k2")
    assert "functions.read:0<" in rest[0]["content"] and "functions.read:1<" in rest[0]["content"]
    assert "<|tool_call_begin|>read:7<" in rest[1]["content"]
    assert codes == ["id-not-carried", "id-not-carried"]


def kimi_ids(*messages: JSON) -> tuple[list[str], list[str]]:
    rest, codes = up(*messages, dialect="kimi-k2")
    text = "".join(message["content"] for message in rest)
    return re.findall(r"call_begin\|>(.*?)<\|", text), codes


def test_no_two_calls_of_a_history_have_the_same_id_for_kimi():
    ids, codes = kimi_ids(asks(call("functions.read:1")), asks(call("call_a")), asks(call("call_b")))
    assert ids == ["functions.read:1", "functions.read:2", "functions.read:3"]
    # Ids given again; what came first keeps its own, so that a growing history stays as it was.
    turns = [asks(call("x")), asks(call()), asks(call()), asks(call(" functions.read:9"))]
    ids, codes = kimi_ids(*turns)
    assert ids == ["functions.read:0", "functions.read:1", "functions.read:2", "functions.read:3"]
    assert codes == ["id-not-carried"] * 4
    for number in range(1, 4):
        assert kimi_ids(*turns[:number])[0] == ids[:number]
    _, findings = transform_request({"messages": turns, "tools": [READ]}, "kimi-k2", INJECT)
    assert [f.message.partition(" and ")[0] for f in findings][:2] == [
        "the id 'x' does not name read",
        "the id 'functions.read:0' was given before",
    ]


def test_long_arguments_are_not_kept():
    long = json.dumps({"filePath": "x" * (64 << 10)})
    before = kept_calls()
    rest, codes = up(asks(call(arguments=long)))
    assert codes == [] and "x" * 1000 in rest[0]["content"]
    assert kept_calls() == before
    up(asks(call(arguments='{"filePath": "short enough to be kept"}')))
    assert kept_calls() == before + 1


@each_row(
    "odd", [None, "x", 5, [], {}, {"function": None}, {"function": {"name": 5}}, {"function": {"name": ""}}]
)
def test_a_call_that_is_none_is_told(odd: Any):
    rest, codes = up({"role": "assistant", "content": "hm", "tool_calls": [odd]})
    assert rest == [{"role": "assistant", "content": "hm"}]
    assert codes == ["call-not-understood"]


@each_row(
    ("message", "expected"),
    [
        ({"role": "user", "content": [text("a"), text("b")]}, {"role": "user", "content": "a\nb"}),
        ({"role": "user", "content": [text("a"), IMAGE]}, {"role": "user", "content": [text("a"), IMAGE]}),
        ({"role": "assistant", "content": "a", "tool_calls": []}, {"role": "assistant", "content": "a"}),
        ({"role": "assistant", "content": "a", "tool_calls": None}, {"role": "assistant", "content": "a"}),
        ({"role": "assistant", "content": None}, {"role": "assistant", "content": None}),
        ({"role": "user", "content": []}, {"role": "user", "content": []}),
        ({"role": "user", "content": {"odd": 1}}, {"role": "user", "content": {"odd": 1}}),
        ({"content": "a"}, {"content": "a"}),
        ("garbage", "garbage"),
        (None, None),
    ],
)
def test_other_messages(message: Any, expected: Any):
    assert up(message) == ([expected], [])


def test_messages_that_are_no_list():
    body: JSON = {"messages": "hi", "tools": [READ]}
    new, findings = transform_request(body, dialect="roo-xml")
    assert new is body
    assert [finding.code for finding in findings] == ["messages-not-understood"]
    new, findings = transform_request({"tools": [READ]}, dialect="roo-xml")
    assert new == {"messages": [{"role": "system", "content": PROMPT}]}


# Templates


def test_a_template_of_the_user():
    template = "{% for tool in tools %}\n{{ loop.index }} {{ tool.name }}\n{% endfor %}\n{{ choice }}"
    body: JSON = {"messages": [USER], "tools": [READ, tool("bash")]}
    new, findings = transform_request(body, dialect="roo-xml", template=template)
    assert new["messages"][0]["content"] == "1 read\n2 bash\nauto"
    assert findings == []
    # A change takes effect with the next request.
    new, _ = transform_request(body, dialect="roo-xml", template="changed")
    assert new["messages"][0]["content"] == "changed"


@each_row(
    ("template", "line"),
    [("a\n{{ x", 2), ("a\n\n{% nope %}", 3), ("a\n{{ tools[0].nme }}", 2), ("{{ 1 / 0 }}", 1)],
)
def test_a_template_that_fails_gives_way_to_the_built_in_one(template: str, line: int):
    body: JSON = {"messages": [USER], "tools": [READ]}
    new, findings = transform_request(body, dialect="roo-xml", template=template)
    assert new["messages"][0]["content"] == PROMPT
    (finding,) = findings
    assert (finding.code, finding.level) == ("template-failed", "error")
    assert f"line {line}:" in finding.message
    assert finding.span == Span(0, "request", line, line + 1, -1)


@each_row("template", ["", "\n\n", "{# nothing #}", "{% if false %}x{% endif %}"])
def test_an_empty_template_is_used_and_told(template: str):
    body: JSON = {"messages": [{"role": "system", "content": "Be kind."}, USER], "tools": [READ]}
    new, findings = transform_request(body, dialect="roo-xml", template=template)
    assert new == {"messages": body["messages"]}
    assert [(f.code, f.level) for f in findings] == [("template-empty", "warning")]
    new, _ = transform_request({"messages": [USER], "tools": [READ]}, dialect="roo-xml", template=template)
    assert new == {"messages": [USER]}


# Findings and their places


def test_findings_are_numbered_and_have_places():
    body: JSON = {
        "messages": [USER, answers("x", "gone")],
        "tools": [READ, READ, {"type": "web_search"}, tool("b r")],
    }
    _, findings = transform_request(body, dialect="roo-xml")
    assert all(isinstance(finding, Finding) for finding in findings)
    assert [finding.seq for finding in findings] == [1, 2, 3, 4]
    assert [(finding.code, finding.span.start) for finding in findings] == [
        ("duplicate-tool", 1),
        ("tool-not-understood", 2),
        ("name-not-carried", 3),
        ("result-without-call", 1),
    ]
    assert {finding.span.channel for finding in findings} == {"request"}
    assert {finding.event for finding in findings} == {-1}


@each_row("policy", ["template", "pass"])
def test_a_history_that_stays_is_looked_at_too(policy: str):
    prompt = {"role": "system", "content": "…\n<tool_name>\n<parameter1>value1"}
    body: JSON = {"messages": [prompt, answers("x", "gone")], "tools": [READ]}
    _, findings = transform_request(body, dialect="qwen3-coder", policy={"tools": policy})
    assert [finding.code for finding in findings] == ["tool-prompt-present", "result-without-call"]


# Anything at all

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = st.sampled_from(
    "type properties items required enum default anyOf allOf oneOf $ref description minimum nullable".split()
)
SCHEMAS = st.recursive(
    JSON_VALUES
    | st.builds(lambda word: {"type": word}, st.sampled_from("string integer array object".split())),
    lambda inner: (
        st.dictionaries(KEYWORDS, inner | st.lists(inner, max_size=3), max_size=3)
        | st.builds(
            lambda p: {"type": "object", "properties": p},
            st.dictionaries(st.text(max_size=6), inner, max_size=3),
        )
        | st.sampled_from([{"$ref": "#"}, {"$ref": "#/properties/a"}])
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(["read", "bash", "a b", "<x>", "code", ""]) | st.text(max_size=6)
TOOLS = st.lists(
    JSON_VALUES
    | st.builds(
        lambda n, d, p: {"type": "function", "function": {"name": n, "description": d, "parameters": p}},
        NAMES, st.none() | st.text(max_size=9) | JSON_VALUES, SCHEMAS,
    ),
    max_size=4,
)  # fmt: skip
CALLS = st.builds(
    lambda id, name, arguments: {"id": id, "function": {"name": name, "arguments": arguments}},
    st.sampled_from(["c1", "c2", "functions.read:0"]) | JSON_VALUES,
    NAMES | JSON_VALUES,
    JSON_VALUES.map(json.dumps) | JSON_VALUES,
)
MESSAGES = st.lists(
    JSON_VALUES
    | st.builds(
        lambda role, content, calls, id: {
            "role": role, "content": content, "tool_calls": calls, "tool_call_id": id,
        },
        st.sampled_from("system developer user assistant tool".split()) | JSON_VALUES,
        JSON_VALUES | st.lists(st.sampled_from([text("a"), IMAGE]), max_size=3),
        st.lists(CALLS | JSON_VALUES, max_size=3) | JSON_VALUES,
        st.sampled_from(["c1", "c2", "c3"]) | JSON_VALUES,
    ),
    max_size=5,
)  # fmt: skip


@given(
    tools=TOOLS | JSON_VALUES,
    messages=MESSAGES | JSON_VALUES,
    choice=JSON_VALUES | st.sampled_from(["none", "auto", "required"]),
    dialect=st.sampled_from([*DIALECTS, "passthrough"]),
    way=st.sampled_from(["inject", "template", "pass"]),
)
def test_nothing_raises_and_nothing_of_the_body_is_changed(
    tools: Any, messages: Any, choice: Any, dialect: str, way: str
):
    body = {"model": "m", "tools": tools, "messages": messages, "tool_choice": choice}
    before = copy.deepcopy(body)
    new, findings = transform_request(body, dialect=dialect, policy={"tools": way})
    assert body == before
    assert all(finding.span.channel == "request" for finding in findings)
    json.dumps(new).encode()
    if way == "inject" and new is not body:
        assert not {"tools", "tool_choice", "parallel_tool_calls"} & new.keys()
        roles = [m.get("role") for m in new["messages"] if isinstance(m, dict)]
        if new["messages"] is not messages:
            assert roles.count("system") <= 1 and "system" not in roles[1:] and "developer" not in roles
        assert "tool" not in roles
        assert not any(isinstance(m, dict) and "tool_calls" in m and m.get("role") == "assistant"
                       for m in new["messages"])  # fmt: skip


# Only some of the tools

GREP = tool("grep", {"pattern": {"type": "string"}})


def allow(*names: str, mode: str = "auto") -> JSON:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


@each_row("dialect", DIALECTS)
@each_row("mode", ["auto", "required"])
def test_only_allowed_tools_are_offered(dialect: str, mode: str):
    body: JSON = {"messages": [USER], "tools": [READ, GREP], "tool_choice": allow("grep", mode=mode)}
    alone = {"messages": [USER], "tools": [GREP], "tool_choice": mode}
    assert transform_request(body, dialect, INJECT) == transform_request(alone, dialect, INJECT)
    template, _ = transform_request(body, dialect, {"tools": "template"})
    assert template["tools"] == [GREP]
    assert transform_request(body, dialect, {"tools": "pass"})[0] is body


@each_row("choice", [allow("gone"), allow(), {"type": "allowed_tools"}])
def test_where_none_is_allowed_all_are_offered_and_that_is_told(choice: JSON):
    body: JSON = {"messages": [USER], "tools": [READ], "tool_choice": choice}
    new, findings = transform_request(body, "roo-xml", INJECT)
    assert new["messages"][0]["content"] == PROMPT
    assert [finding.code for finding in findings] == ["tool-choice-not-understood"]


# A format that leaves no room for calls


@each_row("policy", ["inject", "template"])
@each_row("wanted", ["keep", "drop"])
def test_a_response_format_beside_tools_is_told(policy: str, wanted: str):
    format = {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}
    body: JSON = {"messages": [USER], "tools": [READ], "response_format": format}
    new, findings = transform_request(body, "qwen3-coder", {"tools": policy}, response_format=wanted)
    assert new.get("response_format") == (format if wanted == "keep" else None)
    assert [finding.code for finding in findings] == ["format-with-tools"]


@each_row("more", [{"response_format": {"type": "text"}}, {"response_format": None}, {"tools": []}, {}])
def test_without_calls_or_without_a_format_there_is_nothing_to_tell(more: JSON):
    body: JSON = {"messages": [USER], "tools": [READ], **more}
    assert transform_request(body, "qwen3-coder", INJECT, response_format="drop")[1] == []
