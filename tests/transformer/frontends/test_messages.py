"""Messages: requests as chat requests, answers as events and blocks."""

from __future__ import annotations

import json
from typing import Any

from tests.support.apis import messages_result, named_events, transformed
from tests.support.cuts import every_split
from tests.support.streams import JSON, chunk, message, sse, stream_of
from tests.support.tiers import each_row
from transformer import StreamTransformer, call_ids, transform_message, transform_request
from transformer.frontends import FRONTENDS
from transformer.frontends.messages import counted_tokens

MESSAGES = FRONTENDS["messages"]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = {"name": "read", "description": "Read a file.", "input_schema": SCHEMA}
CHAT_READ = {
    "type": "function",
    "function": {"name": "read", "parameters": SCHEMA, "description": "Read a file."},
}
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
CHAT_PNG = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


def text(value: str) -> JSON:
    return {"type": "text", "text": value}


def user(*blocks: JSON | str) -> JSON:
    return {"role": "user", "content": blocks[0] if isinstance(blocks[0], str) else list(blocks)}


def use(id: str = "toolu_1", name: str = "read", **input: Any) -> JSON:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def result(content: Any, id: str = "toolu_1", **more: Any) -> JSON:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def chat_call(arguments: str, id: str = "toolu_1") -> JSON:
    return {"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}}


def chat_result(content: Any, id: str = "toolu_1") -> JSON:
    return {"role": "tool", "tool_call_id": id, "content": content}


# messages of the request -> those of the chat request, and the findings
HISTORIES: dict[str, tuple[list[JSON], list[JSON], list[str]]] = {
    "a text": ([user("Hi")], [user("Hi")], []),
    "blocks of text": ([user(text("a"), text("b"))], [user("a\nb")], []),
    "an image": ([user(text("a"), PNG)], [user(text("a"), CHAT_PNG)], []),
    "an image elsewhere": (
        [user({"type": "image", "source": {"type": "url", "url": "http://x"}})],
        [user({"type": "image_url", "image_url": {"url": "http://x"}})],
        [],
    ),
    "documents": (
        [
            user({"type": "document", "title": "T", "source": {"type": "text", "data": "words"}}),
            user({"type": "document", "source": {"type": "content", "content": [text("a"), text("b")]}}),
        ],
        [user("T\nwords"), user("a\nb")],
        [],
    ),
    "a PDF": (
        [
            user(
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": "A"},
                }
            )
        ],
        [
            user(
                {
                    "type": "file",
                    "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,A"},
                }
            )
        ],
        [],
    ),
    "a search result": (
        [user({"type": "search_result", "title": "T", "source": "http://x", "content": [text("words")]})],
        [user("T (http://x)\nwords")],
        [],
    ),
    "a file that only Anthropic has": (
        [user({"type": "image", "source": {"type": "file", "file_id": "f"}})],
        [user("[image]")],
        ["part-not-carried"],
    ),
    "a turn with calls": (
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                    {"type": "redacted_thinking", "data": "x"},
                    text("Let me see."),
                    use(path="a"),
                    use("toolu_2"),
                ],
            },
            user(result("1"), result([text("2"), text("3")], "toolu_2"), text("Go on.")),
        ],
        [
            {
                "role": "assistant",
                "content": "Let me see.",
                "reasoning_content": "Hm.",
                "tool_calls": [chat_call('{"path":"a"}'), chat_call("{}", "toolu_2")],
            },
            chat_result("1"),
            chat_result("2\n3", "toolu_2"),
            user("Go on."),
        ],
        [],
    ),
    "an assistant's text": (
        [{"role": "assistant", "content": "Ho"}],
        [{"role": "assistant", "content": "Ho"}],
        [],
    ),
    "results": (
        [
            user(
                result(None),
                result([PNG]),
                result("it broke", is_error=True),
                result("Error: no", is_error=True),
            )
        ],
        [chat_result(""), chat_result([CHAT_PNG]), chat_result("Error: it broke"), chat_result("Error: no")],
        [],
    ),
    "the system speaks later": (
        [user("Hi"), {"role": "system", "content": "Now."}],
        [user("Hi"), {"role": "system", "content": "Now."}],
        [],
    ),
    "what a chat does not have": (
        [{"role": "assistant", "content": [{"type": "server_tool_use", "id": "s"}, text("Ho")]}],
        [{"role": "assistant", "content": "Ho"}],
        ["item-not-carried"],
    ),
}


@each_row("name", HISTORIES)
def test_messages(name: str) -> None:
    given, wanted, findings = HISTORIES[name]
    asked = MESSAGES.to_chat({"model": "m", "max_tokens": 5, "messages": given})
    assert asked.body["messages"] == wanted
    assert [finding.code for finding in asked.findings] == findings


# fields of the request -> fields of the chat request, and the findings
FIELDS: dict[str, tuple[JSON, JSON, list[str]]] = {
    "limits": (
        {"max_tokens": 5, "temperature": 1, "top_p": 0.9, "top_k": 4, "stop_sequences": ["x"]},
        {"max_tokens": 5, "temperature": 1, "top_p": 0.9, "top_k": 4, "stop": ["x"]},
        [],
    ),
    "a stream tells its usage": (
        {"stream": True},
        {"stream": True, "stream_options": {"include_usage": True}},
        [],
    ),
    "the system": ({"system": "S"}, {"messages": [{"role": "system", "content": "S"}, user("Hi")]}, []),
    "the system in blocks": (
        {"system": [text("S"), text("T") | {"cache_control": {"type": "ephemeral"}}]},
        {"messages": [{"role": "system", "content": "S\n\nT"}, user("Hi")]},
        [],
    ),
    "what concerns Anthropic": (
        {"metadata": {"user_id": "u"}, "thinking": {"type": "adaptive"}, "context_management": {}},
        {},
        [],
    ),
    "effort and a schema": (
        {"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}}},
        {
            "reasoning_effort": "low",
            "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}},
        },
        [],
    ),
    "a tool": ({"tools": [READ | {"cache_control": {}}]}, {"tools": [CHAT_READ]}, []),
    "one that is called custom": ({"tools": [READ | {"type": "custom"}]}, {"tools": [CHAT_READ]}, []),
    "built in": (
        {"tools": [READ, {"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [CHAT_READ]},
        ["tool-left-out"],
    ),
    "later": ({"tools": [READ, READ | {"name": "later", "defer_loading": True}]}, {"tools": [CHAT_READ]}, []),
    "any": (
        {"tools": [READ], "tool_choice": {"type": "any"}},
        {"tools": [CHAT_READ], "tool_choice": "required"},
        [],
    ),
    "none": (
        {"tools": [READ], "tool_choice": {"type": "none"}},
        {"tools": [CHAT_READ], "tool_choice": "none"},
        [],
    ),
    "named": (
        {"tools": [READ], "tool_choice": {"type": "tool", "name": "read"}},
        {"tools": [CHAT_READ], "tool_choice": {"type": "function", "function": {"name": "read"}}},
        [],
    ),
    "one at a time": (
        {"tools": [READ], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        {"tools": [CHAT_READ], "tool_choice": "auto", "parallel_tool_calls": False},
        [],
    ),
    "unknown": ({"telepathy": 1}, {}, ["field-not-sent"]),
}


@each_row("name", FIELDS)
def test_fields(name: str) -> None:
    given, wanted, findings = FIELDS[name]
    asked = MESSAGES.to_chat({"model": "m", "messages": [user("Hi")], **given})
    assert asked.body == {"model": "m", "messages": [user("Hi")], **wanted}
    assert [finding.code for finding in asked.findings] == findings


LATER = READ | {"name": "later", "defer_loading": True}


@each_row(
    ("messages", "tools"),
    [
        ([user("Hi")], []),
        ([user(result([{"type": "tool_reference", "tool_name": "later"}]))], ["later"]),
        ([{"role": "assistant", "content": [use(name="later")]}], ["later"]),
    ],
)
def test_a_tool_for_later_is_offered_once_it_is_loaded(messages: list[JSON], tools: list[str]) -> None:
    def offered(*more: JSON) -> list[str]:
        body = MESSAGES.to_chat({"model": "m", "messages": messages, "tools": [LATER, *more]}).body
        return [tool["function"]["name"] for tool in body.get("tools", ())]

    assert offered() == tools
    # Where Anthropic itself would search for tools, nobody does: then all of them are offered.
    assert offered({"type": "tool_search_tool_regex_20251119", "name": "search"}) == ["later"]


def test_a_request_is_written_in_the_dialect_as_a_chat_is() -> None:
    messages = [user("Hi"), {"role": "assistant", "content": [use(path="a")]}, user(result("words"))]
    body = {"model": "m", "max_tokens": 5, "messages": messages, "tools": [READ]}
    chat = MESSAGES.to_chat(body).body
    for dialect in ("roo-xml", "qwen3-coder", "kimi-k2"):
        got, _ = transform_request(body, dialect, {"tools": "inject"}, frontend="messages")
        assert got == transform_request(chat, dialect, {"tools": "inject"})[0]
    assert transform_request(body, "passthrough", frontend="messages")[0] == chat


def test_tokens_are_counted_about() -> None:
    body = {"model": "m", "system": "x" * 4000, "messages": [user(text("y" * 4000), PNG)], "tools": [READ]}
    assert 3500 < counted_tokens(MESSAGES.to_chat(body).body) < 4000
    assert counted_tokens({}) == 1


# -- answers

CALL = "<tool_call>\n<function=read>\n<parameter=path>\n{0}\n</parameter>\n</function>\n</tool_call>"
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{0}"
    "<|tool_call_end|><|tool_calls_section_end|>"
)


def ask(**more: Any) -> JSON:
    request = {"model": "m", "max_tokens": 9, "messages": [], "stream": True, **more}
    return {"request": request, "ids": call_ids("seed"), "now": 5}


def test_ids_are_of_this_answer_alone() -> None:
    seen: set[str] = set()
    for seed in ("one", "two"):
        kwargs = ask(tools=[READ]) | {"ids": call_ids(seed)}
        out, t = transformed("messages", "kimi-k2", [stream_of(KIMI.format('{"path":"a"}'))], **kwargs)
        start = named_events(out)[0][1]["message"]["id"]
        [call] = messages_result(out).ids
        assert start.startswith("msg_") and call.startswith("toolu_")
        assert not seen & {start, call}
        seen |= {start, call}
        assert not t.findings


# how upstream ends -> stop_reason and stop_sequence
PLAIN, TOOL = "Hello", "Hello " + CALL.format("a")
STOPS: dict[str, tuple[str, JSON, tuple[str, str | None]]] = {
    "stop": (PLAIN, {"finish_reason": "stop"}, ("end_turn", None)),
    "a call": (TOOL, {"finish_reason": "stop"}, ("tool_use", None)),
    "no call": (PLAIN, {"finish_reason": "tool_calls"}, ("end_turn", None)),
    "length": (PLAIN, {"finish_reason": "length"}, ("max_tokens", None)),
    "length after a call": (TOOL, {"finish_reason": "length"}, ("max_tokens", None)),
    "filtered": (PLAIN, {"finish_reason": "content_filter"}, ("refusal", None)),
    "a stop sequence": (PLAIN, {"finish_reason": "stop", "stop_reason": "END"}, ("stop_sequence", "END")),
    "a token of the server's": (PLAIN, {"finish_reason": "stop", "stop_reason": 151645}, ("end_turn", None)),
    "a stop of the server's": (PLAIN, {"finish_reason": "stop", "stop_reason": "</s>"}, ("end_turn", None)),
}


@each_row("name", STOPS)
def test_stops(name: str) -> None:
    said, last, wanted = STOPS[name]
    data = sse(chunk(said), {"choices": [{"index": 0, "delta": {}, **last}]})
    out, t = transformed("messages", "qwen3-coder", [data], **ask(tools=[READ], stop_sequences=["END"]))
    delta = named_events(out)[-2][1]["delta"]
    assert (delta["stop_reason"], delta["stop_sequence"]) == wanted
    assert t.message is not None and t.message["stop_reason"] == wanted[0]


def test_usage() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 7}}
    out, _ = transformed("messages", "qwen3-coder", [stream_of("Hello", usage=usage)], **ask())
    assert named_events(out)[-2][1]["usage"] == {
        "input_tokens": 3,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 7,
        "output_tokens": 4,
    }


# what a model wrote as its arguments -> what the client gets
ARGUMENTS = {
    '{"path": "a"}': {"path": "a"},
    "": {},
    "{'path': 'a'}": {"arguments": "{'path': 'a'}"},
    '["a"]': {"arguments": '["a"]'},
    '{"path": 123456789012345678901234567890}': {"path": 123456789012345678901234567890},
}


@each_row("arguments", ARGUMENTS)
@each_row("native", [False, True])
def test_arguments_are_always_an_object(arguments: str, native: bool) -> None:
    """The SDK gives up the whole answer for anything else."""
    if native:
        call = {"index": 0, "id": "x", "function": {"name": "read", "arguments": arguments}}
        data = sse(chunk(tool_calls=[call]), chunk(finish_reason="tool_calls"))
    else:
        data = stream_of(KIMI.format(arguments))
    for reads in every_split(data):
        out, t = transformed("messages", "kimi-k2", reads, **ask(tools=[READ]))
        [(name, got)] = messages_result(out).calls
        assert name == "read" and json.loads(got or "{}") == ARGUMENTS[arguments]
        assert t.message is not None
        assert t.message["content"][0]["input"] == ARGUMENTS[arguments]


# the error that upstream reports -> the type and how the message begins
FAILURES: dict[str, tuple[JSON, str, str]] = {
    "anything": ({"message": "boom"}, "api_error", "boom"),
    "busy": ({"message": "boom", "type": "overloaded_error"}, "overloaded_error", "boom"),
    "too fast": ({"message": "boom", "code": 429}, "rate_limit_error", "boom"),
    "wrong": ({"message": "boom", "code": 400}, "invalid_request_error", "boom"),
    "too long": (
        {"message": "The input (20 tokens) is longer than the model's context length (10 tokens)."},
        "invalid_request_error",
        "prompt is too long: 20 tokens > 10 maximum",
    ),
}


@each_row("name", FAILURES)
def test_failures(name: str) -> None:
    error, kind, begins = FAILURES[name]
    out, _ = transformed(
        "messages", "qwen3-coder", [sse(chunk("Let me"), {"error": error}, done=False)], **ask(tools=[READ])
    )
    event, told = named_events(out)[-1]
    assert event == "error" and told["error"]["type"] == kind
    assert told["error"]["message"].startswith(begins)
    assert messages_result(out).content == "Let me"


def test_a_heartbeat_is_a_ping_and_the_beginning_may_go_ahead() -> None:
    plain, _ = transformed("messages", "qwen3-coder", [stream_of("Hello")], **ask())
    t = StreamTransformer("qwen3-coder", frontend="messages", **ask())
    begun = t.begin()
    assert [name for name, _ in named_events(begun + t.heartbeat)] == ["message_start", "ping"]
    assert begun + t.feed(stream_of("Hello")) + t.finish() == plain


def test_a_whole_answer() -> None:
    body = message("Hi " + CALL.format("a"), usage={"prompt_tokens": 3, "completion_tokens": 4})
    got = transform_message(body, "qwen3-coder", frontend="messages", **ask(tools=[READ]))
    assert [block["type"] for block in got["content"]] == ["text", "tool_use"]
    assert got["stop_reason"] == "tool_use" and got["content"][1]["input"] == {"path": "a"}


@each_row(
    ("status", "error", "wanted", "kind", "begins"),
    [
        (400, {"message": "m"}, 400, "invalid_request_error", "m"),
        (401, {"message": "m"}, 401, "authentication_error", "m"),
        (403, {"message": "m"}, 403, "permission_error", "m"),
        (404, {"message": "m"}, 404, "not_found_error", "m"),
        (413, {"message": "m"}, 413, "request_too_large", "m"),
        (422, {"message": "m"}, 422, "invalid_request_error", "m"),
        (429, {"message": "m"}, 429, "rate_limit_error", "m"),
        (502, {"message": "m"}, 502, "api_error", "m"),
        (529, {"message": "m"}, 529, "overloaded_error", "m"),
        (
            413,
            {"message": "request (20 tokens) exceeds the available context size (10 tokens)"},
            400,
            "invalid_request_error",
            "prompt is too long: 20 tokens > 10 maximum",
        ),
    ],
)
def test_errors_before_an_answer(status: int, error: JSON, wanted: int, kind: str, begins: str) -> None:
    got = MESSAGES.error(status, error, False)
    told = json.loads(got.body)
    assert (got.status, told["type"], told["error"]["type"]) == (wanted, "error", kind)
    assert told["error"]["message"].startswith(begins)
