"""Responses: requests as chat requests, answers as events and items."""

from __future__ import annotations

import json
from typing import Any

from tests.support.apis import responses_events, responses_result, transformed
from tests.support.cuts import every_split
from tests.support.streams import JSON, chunk, message, sse, stream_of
from tests.support.tiers import each_row, exhaustive, some
from transformer import StreamTransformer, call_ids, transform_message, transform_request
from transformer.frontends import FRONTENDS
from transformer.frontends.responses import carried

RESPONSES = FRONTENDS["responses"]
STRING = {"type": "string"}
SCHEMA = {"type": "object", "properties": {"path": STRING}, "required": ["path"]}
READ = {"type": "function", "name": "read", "description": "Read a file.", "parameters": SCHEMA}
PATCH = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Change files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: LINE+"},
}
AGENTS = {"type": "namespace", "name": "agents", "description": "x", "tools": [READ | {"name": "spawn"}]}
INPUT = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "the text that the tool gets, as it is"}},
    "required": ["input"],
}


def function(name: str, parameters: JSON = SCHEMA, description: str = "Read a file.") -> JSON:
    return {
        "type": "function",
        "function": {"name": name, "parameters": parameters, "description": description},
    }


def user(text: Any) -> JSON:
    return {"role": "user", "content": text}


def item(kind: str, **fields: Any) -> JSON:
    return {"type": kind, **fields}


def said(role: str, *texts: str, kind: str = "input_text") -> JSON:
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts])


CALL = item("function_call", id="fc_1", call_id="c1", name="read", arguments='{"path":"a"}')
CHAT_CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}

# what stands in the request -> what stands in the chat request, and the findings
INPUTS: dict[str, tuple[Any, list[JSON], list[str]]] = {
    "a text": ("Hi", [user("Hi")], []),
    "a message": ([{"role": "user", "content": "Hi"}], [user("Hi")], []),
    "parts of text are one text": ([said("user", "a", "b")], [user("a\nb")], []),
    "developers are the system, and one message": (
        [said("developer", "One."), said("system", "Two."), said("user", "Hi")],
        [{"role": "system", "content": "One.\n\nTwo."}, user("Hi")],
        [],
    ),
    "a later one stays where it is": (
        [said("user", "Hi"), said("developer", "Now.")],
        [user("Hi"), {"role": "system", "content": "Now."}],
        [],
    ),
    "an image": (
        [
            item(
                "message",
                role="user",
                content=[{"type": "input_image", "image_url": "data:x", "detail": "low"}],
            )
        ],
        [user([{"type": "image_url", "image_url": {"url": "data:x", "detail": "low"}}])],
        [],
    ),
    "a file": (
        [
            item(
                "message",
                role="user",
                content=[{"type": "input_file", "filename": "a", "file_data": "data:"}],
            )
        ],
        [user([{"type": "file", "file": {"filename": "a", "file_data": "data:"}}])],
        [],
    ),
    "an image that only OpenAI has": (
        [item("message", role="user", content=[{"type": "input_image", "file_id": "f"}])],
        [user("[input_image]")],
        ["part-not-carried"],
    ),
    "one turn is one message": (
        [
            item("reasoning", summary=[], content=[{"type": "reasoning_text", "text": "Hm."}]),
            said("assistant", "Let me see.", kind="output_text"),
            CALL,
            CALL | {"call_id": "c2"},
            item("function_call_output", call_id="c1", output="1"),
            item("function_call_output", call_id="c2", output=[{"type": "input_text", "text": "2"}]),
        ],
        [
            {
                "role": "assistant",
                "content": "Let me see.",
                "reasoning_content": "Hm.",
                "tool_calls": [CHAT_CALL, CHAT_CALL | {"id": "c2"}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
            {"role": "tool", "tool_call_id": "c2", "content": "2"},
        ],
        [],
    ),
    "a result with an image": (
        [item("function_call_output", call_id="c1", output=[{"type": "input_image", "image_url": "data:x"}])],
        [
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": [{"type": "image_url", "image_url": {"url": "data:x"}}],
            }
        ],
        [],
    ),
    "a custom call and its result": (
        [
            item("custom_tool_call", call_id="c1", name="apply_patch", input='*** "x"'),
            item("custom_tool_call_output", call_id="c1", output="ok"),
        ],
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "apply_patch", "arguments": '{"input":"*** \\"x\\""}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        ],
        [],
    ),
    "a call in a namespace": (
        [CALL | {"name": "spawn", "namespace": "agents"}],
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "agents__spawn", "arguments": '{"path":"a"}'},
                    }
                ],
            }
        ],
        [],
    ),
    "reasoning that we gave": (
        [
            item(
                "reasoning",
                summary=[{"type": "summary_text", "text": "x"}],
                encrypted_content=carried("Hm ✓"),
            )
        ],
        [{"role": "assistant", "content": None, "reasoning_content": "Hm ✓"}],
        [],
    ),
    "reasoning that another server encrypted": (
        [item("reasoning", summary=[{"type": "summary_text", "text": "x"}], encrypted_content="gAAA=")],
        [{"role": "assistant", "content": None, "reasoning_content": "x"}],
        [],
    ),
    "an empty thought": (
        [item("reasoning", summary=[], encrypted_content="gAAA="), said("user", "Hi")],
        [user("Hi")],
        [],
    ),
    "what a chat does not have": (
        [item("web_search_call", id="w"), item("item_reference", id="i"), "x", said("user", "Hi")],
        [user("Hi")],
        ["item-not-carried"] * 3,
    ),
    "nothing": (None, [], []),
}


@each_row("name", INPUTS)
def test_input(name: str) -> None:
    given, messages, findings = INPUTS[name]
    asked = RESPONSES.to_chat({"model": "m", "input": given, "tools": [READ, PATCH, AGENTS]})
    assert asked.body["messages"] == messages
    assert [finding.code for finding in asked.findings] == findings
    assert asked.problem is None


# fields of the request -> fields of the chat request
SETTINGS: dict[str, tuple[JSON, JSON]] = {
    "limits": (
        {"max_output_tokens": 5, "temperature": 0.5, "top_p": 0.9},
        {"max_tokens": 5, "temperature": 0.5, "top_p": 0.9},
    ),
    "a stream tells its usage": (
        {"stream": True},
        {"stream": True, "stream_options": {"include_usage": True}},
    ),
    "a schema": (
        {"text": {"format": {"type": "json_schema", "name": "t", "schema": SCHEMA, "strict": True}}},
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "t", "schema": SCHEMA, "strict": True},
            }
        },
    ),
    "JSON": ({"text": {"format": {"type": "json_object"}}}, {"response_format": {"type": "json_object"}}),
    "text": ({"text": {"format": {"type": "text"}, "verbosity": "low"}}, {}),
    "effort": ({"reasoning": {"effort": "high", "summary": "auto"}}, {"reasoning_effort": "high"}),
    "an effort that servers do not know": ({"reasoning": {"effort": "xhigh"}}, {}),
    "no reasoning": ({"reasoning": None}, {}),
    "ours": ({"store": False, "include": [], "prompt_cache_key": "k", "metadata": {"a": "b"}}, {}),
    "for the server": (
        {"top_k": 20, "chat_template_kwargs": {"a": 1}},
        {"top_k": 20, "chat_template_kwargs": {"a": 1}},
    ),
    "no tools, no choice": ({"tool_choice": "auto", "parallel_tool_calls": True}, {}),
}


@each_row("name", SETTINGS)
def test_settings(name: str) -> None:
    given, wanted = SETTINGS[name]
    body = RESPONSES.to_chat({"model": "m", "input": "Hi", **given}).body
    assert body == {"model": "m", "messages": [user("Hi")], **wanted}


def test_a_field_that_nobody_knows_is_told() -> None:
    asked = RESPONSES.to_chat({"model": "m", "input": "Hi", "telepathy": 1})
    assert "telepathy" not in asked.body
    assert [(f.code, f.values) for f in asked.findings] == [("field-not-sent", {"field": "telepathy"})]


# tools and choices -> the same in the chat request, and the findings
TOOLS: dict[str, tuple[JSON, JSON, list[str]]] = {
    "a function": ({"tools": [READ]}, {"tools": [function("read")]}, []),
    "strict": (
        {"tools": [READ | {"strict": True}]},
        {"tools": [{"type": "function", "function": function("read")["function"] | {"strict": True}}]},
        [],
    ),
    "in a namespace": ({"tools": [AGENTS]}, {"tools": [function("agents__spawn")]}, []),
    "a custom tool": (
        {"tools": [PATCH]},
        {
            "tools": [
                function(
                    "apply_patch",
                    INPUT,
                    "Change files.\n\nThe input follows this lark grammar:\nstart: LINE+",
                )
            ]
        },
        [],
    ),
    "built in": ({"tools": [READ, {"type": "web_search"}]}, {"tools": [function("read")]}, ["tool-left-out"]),
    "nothing but built in": (
        {"tools": [{"type": "web_search"}], "tool_choice": "auto"},
        {},
        ["tool-left-out"],
    ),
    "added in the input": (
        {"tools": [], "input": [item("additional_tools", tools=[READ])]},
        {"tools": [function("read")]},
        [],
    ),
    "two with one name": (
        {"tools": [READ | {"name": "agents__spawn"}, AGENTS]},
        {"tools": [function("agents__spawn"), function("agents__spawn_2")]},
        [],
    ),
    "choices": (
        {"tools": [READ], "tool_choice": "required", "parallel_tool_calls": False},
        {"tools": [function("read")], "tool_choice": "required", "parallel_tool_calls": False},
        [],
    ),
    "a named one": (
        {"tools": [AGENTS], "tool_choice": {"type": "function", "name": "spawn", "namespace": "agents"}},
        {
            "tools": [function("agents__spawn")],
            "tool_choice": {"type": "function", "function": {"name": "agents__spawn"}},
        },
        [],
    ),
    "some of them": (
        {
            "tools": [READ, AGENTS],
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [{"type": "function", "name": "read"}],
            },
        },
        {
            "tools": [function("read"), function("agents__spawn")],
            "tool_choice": {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "read"}}],
                },
            },
        },
        [],
    ),
}


@each_row("name", TOOLS)
def test_tools(name: str) -> None:
    given, wanted, findings = TOOLS[name]
    asked = RESPONSES.to_chat({"model": "m", "input": [], **given})
    assert asked.body == {"model": "m", "messages": [], **wanted}
    assert [finding.code for finding in asked.findings] == findings


def test_the_next_turn_begins_with_the_items_of_the_last() -> None:
    items = {"resp_1": [said("user", "Hi"), said("assistant", "Ho", kind="output_text")]}
    body = {"model": "m", "input": "And?", "previous_response_id": "resp_1", "instructions": "Be brief."}
    asked = RESPONSES.to_chat(body, items.get)
    assert asked.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        user("Hi"),
        {"role": "assistant", "content": "Ho"},
        user("And?"),
    ]
    missing = RESPONSES.to_chat(body | {"previous_response_id": "resp_2"}, items.get).problem
    assert missing is not None
    assert missing["code"] == "previous_response_not_found" and "resp_2" in missing["message"]


def test_a_request_is_written_in_the_dialect_as_a_chat_is() -> None:
    items = [said("user", "Hi"), CALL, item("function_call_output", call_id="c1", output="text")]
    body = {"model": "m", "instructions": "Be brief.", "input": items, "tools": [READ]}
    chat = RESPONSES.to_chat(body).body
    for dialect in ("roo-xml", "qwen3-coder", "kimi-k2"):
        got, _ = transform_request(body, dialect, {"tools": "inject"}, frontend="responses")
        assert got == transform_request(chat, dialect, {"tools": "inject"})[0]
        assert "tools" not in got
    assert transform_request(body, "passthrough", frontend="responses")[0] == chat


# -- answers

TWO = "<tool_call>\n<function={0}>\n<parameter={1}>\n{2}\n</parameter>\n</function>\n</tool_call>"


def ask(**more: Any) -> JSON:
    return {
        "request": {"model": "m", "input": "Hi", "stream": True, **more},
        "ids": call_ids("seed"),
        "now": 5,
    }


def test_ids_are_of_this_answer_alone() -> None:
    text = TWO.format("read", "path", "a") + "\n" + TWO.format("read", "path", "b")
    seen: set[str] = set()
    for seed in ("one", "two"):
        kwargs = ask(tools=[READ]) | {"ids": call_ids(seed)}
        out, _ = transformed("responses", "qwen3-coder", [stream_of(text)], **kwargs)
        whole = responses_events(out)[-1]["response"]
        ids = [whole["id"], *(i["id"] for i in whole["output"]), *(i["call_id"] for i in whole["output"])]
        assert len(ids) == 5 and not seen & set(ids)
        seen |= set(ids)


def test_names_come_back_as_the_client_knows_them() -> None:
    text = TWO.format("agents__spawn", "path", "a") + TWO.format("apply_patch", "input", '*** "x"\n+ y')
    out, t = transformed("responses", "qwen3-coder", [stream_of(text)], **ask(tools=[AGENTS, PATCH]))
    spawn, patch = responses_events(out)[-1]["response"]["output"]
    assert (spawn["type"], spawn["namespace"], spawn["name"]) == ("function_call", "agents", "spawn")
    assert (patch["type"], patch["name"], patch["input"]) == (
        "custom_tool_call",
        "apply_patch",
        '*** "x"\n+ y',
    )
    assert not t.findings


def test_the_reasoning_is_a_summary_for_those_who_ask_for_one() -> None:
    data = sse(chunk(reasoning="Hm "), chunk(reasoning="so."), chunk("Yes."), chunk(finish_reason="stop"))
    plain, _ = transformed("responses", "qwen3-coder", [data], **ask())
    kwargs = ask(reasoning={"summary": "auto"}, include=["reasoning.encrypted_content"])
    summed, _ = transformed("responses", "qwen3-coder", [data], **kwargs)
    for out, where in ((plain, "content"), (summed, "summary")):
        assert responses_result(out).reasoning == "Hm so."
        first = responses_events(out)[-1]["response"]["output"][0]
        assert first["type"] == "reasoning" and first[where][0]["text"] == "Hm so."
    assert first["encrypted_content"] == carried("Hm so.")
    again = RESPONSES.to_chat({"model": "m", "input": [first, said("user", "And?")]})
    assert again.body["messages"][0]["reasoning_content"] == "Hm so."


# how upstream ends -> status, and why it is not complete
ENDS: dict[str, tuple[str, str | None]] = {
    "stop": ("completed", None),
    "length": ("incomplete", "max_output_tokens"),
    "content_filter": ("incomplete", "content_filter"),
}


@each_row("finish", ENDS)
def test_ends(finish: str) -> None:
    status, why = ENDS[finish]
    out, t = transformed("responses", "qwen3-coder", [stream_of("Hello", finish=finish)], **ask())
    last = responses_events(out)[-1]
    assert last["type"] == f"response.{status}"
    assert (last["response"]["incomplete_details"] or {}).get("reason") == why
    assert t.message == last["response"]
    assert last["response"]["output"][0]["status"] == ("incomplete" if finish == "length" else "completed")


# the error that upstream reports -> the code by which Codex decides
FAILURES: dict[str, tuple[JSON, str]] = {
    "anything": ({"message": "boom"}, "server_error"),
    "try again": ({"message": "boom", "type": "server_error"}, "server_error"),
    "wrong": ({"message": "bad", "code": 400}, "invalid_prompt"),
    "too long": (
        {
            "message": "This model's maximum context length is 10 tokens. However, you requested 20 tokens.",
            "code": 400,
        },
        "context_length_exceeded",
    ),
    "paid up": ({"message": "no money", "code": "insufficient_quota"}, "insufficient_quota"),
    "too fast": ({"message": "slow down", "code": 429}, "rate_limit_exceeded"),
}


@each_row("name", FAILURES)
def test_failures(name: str) -> None:
    error, code = FAILURES[name]
    data = sse(chunk("Let me"), {"error": error}, done=False)
    out, _ = transformed("responses", "qwen3-coder", [data], **ask(tools=[READ]))
    last = responses_events(out)[-1]
    assert last["type"] == "response.failed"
    assert last["response"]["error"] == {"code": code, "message": error["message"]}
    assert responses_result(out).content == "Let me"


# -- upstream's own calls


def native(index: int, arguments: str | JSON | None = None, **more: Any) -> JSON:
    function: JSON = {} if arguments is None else {"arguments": arguments}
    if "name" in more:
        function["name"] = more.pop("name")
    return chunk(tool_calls=[{"index": index, "function": function, **more}])


FINISH = chunk(finish_reason="tool_calls")
A, B = ("read", '{"path":"a"}'), ("read", '{"path":"b"}')
NATIVES: dict[str, tuple[list[JSON], list[tuple[str, str]]]] = {
    "one after another": (
        [
            native(0, '{"path"', id="x", name="read", type="function"),
            native(0, ':"a"}'),
            native(1, "", id="x", name="read"),
            native(1, '{"path":"b"}'),
        ],
        [A, B],
    ),
    "mixed": (
        [
            native(0, '{"path"', id="x", name="read"),
            native(1, '{"path":"b"', id="y", name="read"),
            native(0, ':"a"}'),
            native(1, "}"),
        ],
        [A, B],
    ),
    "a late name": ([native(0, '{"path"'), native(0, ':"a"}', name="read")], [A]),
    "an object": ([native(0, {"path": "a"}, name="read")], [A]),
    "no arguments": ([native(0, name="read")], [("read", "")]),
    "no index": (
        [chunk(tool_calls=[{"id": "x", "function": {"name": "read", "arguments": '{"path":"a"}'}}])],
        [A],
    ),
    "text in the middle": (
        [native(0, '{"path"', name="read"), chunk("Hm."), native(0, ':"a"}'), chunk("So.")],
        [A],
    ),
}


@each_row("dialect", ["passthrough", "qwen3-coder"])
@each_row("name", NATIVES)
def test_native_calls(name: str, dialect: str) -> None:
    events, calls = NATIVES[name]
    data = sse(*events, FINISH)
    wanted = None
    for reads in some(every_split(data), 4 if exhaustive() else 2):
        out, t = transformed("responses", dialect, reads, **ask(tools=[READ]))
        got = responses_result(out)
        assert got.calls == calls
        assert all(id.startswith("call_") for id in got.ids) and len(set(got.ids)) == len(calls)
        assert got.content == ("Hm.So." if name == "text in the middle" else "")
        assert t.completion is not None
        assert [c["id"] for c in t.completion["choices"][0]["message"]["tool_calls"]] == got.ids
        wanted = wanted or got
        assert got == wanted


def test_a_second_choice_and_a_foreign_field_are_told() -> None:
    data = sse(chunk("a", audio={"id": 1}), chunk("b", index=1), chunk(finish_reason="stop"))
    out, t = transformed("responses", "qwen3-coder", [data], **ask(tools=[READ]))
    assert responses_result(out).content == "a"
    assert [f.code for f in t.findings] == ["field-not-carried", "choice-not-carried"]


def test_a_refusal() -> None:
    data = sse(chunk(refusal="I can"), chunk(refusal="not."), chunk(finish_reason="stop"))
    out, _ = transformed("responses", "passthrough", [data], **ask())
    part = responses_events(out)[-1]["response"]["output"][0]["content"][0]
    assert part == {"type": "refusal", "refusal": "I cannot."}


# -- waiting


def test_the_beginning_may_go_ahead_and_a_heartbeat_says_nothing_new() -> None:
    data = stream_of("Hello")
    plain, _ = transformed("responses", "qwen3-coder", [data], **ask())
    t = StreamTransformer("qwen3-coder", frontend="responses", **ask())
    begun, beat = t.begin(), t.heartbeat
    assert begun and t.begin() == b""
    assert begun.endswith(beat) and b"response.in_progress" in beat
    assert begun + t.feed(data) + t.finish() == plain
    assert t.heartbeat == beat


# -- whole answers and errors


def test_a_whole_answer() -> None:
    body = message(
        "Hi " + TWO.format("read", "path", "a"), usage={"prompt_tokens": 3, "completion_tokens": 4}
    )
    kwargs = ask(tools=[READ])
    got = transform_message(body, "qwen3-coder", frontend="responses", **kwargs)
    assert [i["type"] for i in got["output"]] == ["message", "function_call"]
    assert got["usage"]["input_tokens"] == 3 and got["usage"]["total_tokens"] == 7
    assert got["tools"] == [READ] and got["status"] == "completed"
    refused = transform_message(
        body, "qwen3-coder", policy={"unknown_tools": "error"}, frontend="responses", **ask(tools=[AGENTS])
    )
    assert refused["error"]["type"] == "invalid_tool_call"


LONG = {
    "message": "The input (20 tokens) is longer than the model's context length (10 tokens).",
    "type": "x",
}


@each_row(
    ("status", "error", "permanent", "wanted"),
    [
        (400, {"message": "m", "type": "t", "param": "p", "code": "c", "more": 1}, True, 400),
        (401, {"message": "m"}, True, 401),
        (502, {"message": "m"}, False, 502),
        (502, {"message": "m"}, True, 400),
        (429, {"message": "m"}, False, 429),
    ],
)
def test_errors_before_an_answer(status: int, error: JSON, permanent: bool, wanted: int) -> None:
    got = RESPONSES.error(status, error, permanent)
    assert got.status == wanted
    told = json.loads(got.body)["error"]
    assert told == {key: error.get(key) for key in ("message", "type", "param", "code")}
    assert ("retry-after" in dict(got.headers)) == (wanted == 429)


def test_a_prompt_that_is_too_long_is_said_in_the_stream() -> None:
    """Codex shortens its history for that, and for nothing else."""
    setting = StreamTransformer("qwen3-coder", frontend="responses", **ask()).setting
    got = RESPONSES.error(400, LONG, True, setting.writer())
    assert got.status == 200 and got.type.startswith("text/event-stream")
    assert responses_events(got.body)[-1]["response"]["error"]["code"] == "context_length_exceeded"
    whole = json.loads(RESPONSES.error(400, LONG, True).body)
    assert whole["error"]["code"] == "context_length_exceeded"
