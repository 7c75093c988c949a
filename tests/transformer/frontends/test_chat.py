"""Chat completions: what is older than tools, and tools that take a text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.apis import transformed
from tests.support.cuts import every_split
from tests.support.streams import JSON, message, stream_of, tool
from tests.support.tiers import each_row
from transformer import StreamTransformer, transform_message, transform_request
from transformer.frontends import FRONTENDS, find_frontend
from transformer.frontends.offering import INPUT_SCHEMA

CHAT = FRONTENDS["chat"]
READ = tool("read", {"path": {"type": "string"}})
OLD: JSON = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "functions": [READ["function"]]}
PATCH = {
    "type": "custom",
    "custom": {
        "name": "patch",
        "description": "Change files.",
        "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": ".+"}},
    },
}
CUSTOM: JSON = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [READ, PATCH]}
CALL = "<tool_call>\n<function={0}>\n<parameter={1}>\n{2}\n</parameter>\n</function>\n</tool_call>"


def test_a_usual_request_is_its_own_chat_request() -> None:
    body = {"model": "m", "messages": [], "tools": [READ], "tool_choice": "auto"}
    asked = CHAT.to_chat(body)
    assert asked.body is body and not asked.names and not asked.findings


@each_row(
    ("given", "wanted"),
    [
        (None, "auto"),
        ("auto", "auto"),
        ("none", "none"),
        ({"name": "read"}, {"type": "function", "function": {"name": "read"}}),
    ],
)
def test_functions_are_tools(given: Any, wanted: Any) -> None:
    body = OLD | ({} if given is None else {"function_call": given})
    asked = CHAT.to_chat(body).body
    assert asked["tools"] == [READ] and asked["tool_choice"] == wanted
    assert asked["parallel_tool_calls"] is False
    assert not {"functions", "function_call"} & asked.keys()


def test_old_calls_in_the_history() -> None:
    call = {"name": "read", "arguments": '{"path":"a"}'}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "function_call": call},
        {"role": "function", "name": "read", "content": "words"},
    ]
    body = CHAT.to_chat(OLD | {"messages": messages}).body
    assert body["messages"][1]["tool_calls"] == [{"id": "call_1", "type": "function", "function": call}]
    assert body["messages"][2] == {
        "role": "tool",
        "name": "read",
        "content": "words",
        "tool_call_id": "call_1",
    }
    new, findings = transform_request(OLD | {"messages": messages}, "roo-xml")
    assert new["messages"][2]["content"] == "<read>\n<path>a</path>\n</read>"
    assert new["messages"][3]["content"] == "Tool Result from read:\nwords"
    assert not findings and not {"functions", "tools"} & new.keys()


def test_an_old_client_gets_a_function_call() -> None:
    text = "Hi. " + CALL.format("read", "path", "a")
    for reads in every_split(stream_of(text)):
        out, t = transformed("chat", "qwen3-coder", reads, request=OLD | {"stream": True}, now=5)
        chunks = [json.loads(e[6:]) for e in out.decode().split("\n\n") if e.startswith("data: {")]
        deltas = [c["choices"][0]["delta"] for c in chunks]
        calls = [delta["function_call"] for delta in deltas if "function_call" in delta]
        assert calls[0]["name"] == "read" and all("name" not in call for call in calls[1:])
        assert "".join(call["arguments"] for call in calls) == '{"path":"a"}'
        assert chunks[-1]["choices"][0]["finish_reason"] == "function_call"
        assert not any("tool_calls" in delta for delta in deltas)
        assert t.message is not None
        assert t.message["choices"][0]["message"]["function_call"] == {
            "name": "read",
            "arguments": '{"path":"a"}',
        }
    whole = transform_message(message(text), "qwen3-coder", request=OLD)
    choice = whole["choices"][0]
    assert choice["finish_reason"] == "function_call" and "tool_calls" not in choice["message"]


def test_a_custom_tool_takes_a_text() -> None:
    asked = CHAT.to_chat(CUSTOM | {"tool_choice": {"type": "custom", "custom": {"name": "patch"}}})
    function = asked.body["tools"][1]["function"]
    assert function["parameters"] == INPUT_SCHEMA
    assert function["description"] == "Change files.\n\nThe input follows this regex grammar:\n.+"
    assert asked.body["tool_choice"] == {"type": "function", "function": {"name": "patch"}}
    text = CALL.format("patch", "input", 'a "b"\n+c') + CALL.format("read", "path", "a")
    for reads in every_split(stream_of(text)):
        out, _ = transformed(
            "chat", "qwen3-coder", reads, request=CUSTOM | {"stream": True}, policy={"arguments": "stream"}
        )
        chunks = [json.loads(e[6:]) for e in out.decode().split("\n\n") if e.startswith("data: {")]
        calls = [call for c in chunks for call in c["choices"][0]["delta"].get("tool_calls", ())]
        patch = [call for call in calls if call["index"] == 0]
        assert patch[0]["type"] == "custom" and patch[0]["custom"] == {"name": "patch", "input": ""}
        assert "".join(call["custom"]["input"] for call in patch) == 'a "b"\n+c'
        read = [call for call in calls if call["index"] == 1]
        assert read[0]["type"] == "function"
        assert "".join(call["function"]["arguments"] for call in read) == '{"path":"a"}'
    whole = transform_message(message(text), "qwen3-coder", request=CUSTOM)
    first = whole["choices"][0]["message"]["tool_calls"][0]
    assert first["custom"] == {"name": "patch", "input": 'a "b"\n+c'} and "function" not in first


def test_custom_calls_in_the_history() -> None:
    call = {"id": "c", "type": "custom", "custom": {"name": "patch", "input": "x"}}
    body = CUSTOM | {"messages": [{"role": "assistant", "tool_calls": [call]}]}
    [made] = CHAT.to_chat(body).body["messages"][0]["tool_calls"]
    assert made == {
        "id": "c",
        "type": "function",
        "function": {"name": "patch", "arguments": '{"input":"x"}'},
    }


def test_what_goes_up_as_it_came_is_the_clients_own() -> None:
    for body in (OLD, CUSTOM):
        assert transform_request(body, "passthrough")[0] is body
        assert transform_request(body, "qwen3-coder", {"tools": "pass"})[0] is body


def test_a_heartbeat_is_a_comment() -> None:
    t = StreamTransformer("qwen3-coder", request=OLD)
    assert t.begin() == b"" and t.heartbeat.startswith(b": ")


def test_there_is_no_other_frontend() -> None:
    with pytest.raises(ValueError, match="there are chat, responses, messages"):
        find_frontend("gemini")
