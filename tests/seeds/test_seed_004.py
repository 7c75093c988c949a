"""Seed 004, "OpenAI vs Roo-Cline Request Format Comparison": answers that must not be touched."""

from __future__ import annotations

import copy
import json
from itertools import islice
from typing import Any

import pytest

from tests.support.client import Result
from tests.support.cuts import check_every_split, codes, every_split, run, transform
from tests.support.streams import JSON, message, sse, stream_of
from tests.support.tiers import each_row, exhaustive
from transformer import DIALECTS, StreamTransformer, transform_message

CONVERTING = [name for name in DIALECTS if name != "passthrough"]

OPENAI_REQUEST: JSON = json.loads(r"""
{
  "model": "gpt-4",
  "messages": [
    {
      "role": "system",
      "content": "You are a helpful assistant."
    },
    {
      "role": "user",
      "content": "What files are in the current directory?"
    }
  ],
  "tools": [
    {
      "type": "function",
      "function": {
        "name": "list_files",
        "description": "List files in a directory",
        "parameters": {
          "type": "object",
          "properties": {
            "path": {
              "type": "string",
              "description": "Directory path"
            }
          },
          "required": ["path"]
        }
      }
    }
  ],
  "tool_choice": "auto"
}
""")
OPENAI_ANSWER: JSON = json.loads(r"""
{
  "role": "assistant",
  "content": null,
  "tool_calls": [
    {
      "id": "call_abc123",
      "type": "function",
      "function": {
        "name": "list_files",
        "arguments": "{\"path\":\".\"}"
      }
    }
  ]
}
""")
SYSTEM = (
    "You are Roo, a highly skilled software engineer...\n\n"
    + "## list_files\nDescription: Request to list files...\n" * 400
    + "\nUsage:\n<list_files>\n<path>Directory path here</path>\n</list_files>"
)
ROO_REQUEST: JSON = {
    "model": "qwen3-max",
    "temperature": 0,
    "stream": True,
    "stream_options": {"include_usage": True},
    "messages": [
        {"role": "system", "content": SYSTEM},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "<task>\nWhat files are in the current directory?\n</task>"},
                {
                    "type": "text",
                    "text": "<environment_details>\n# VSCode Visible Files\n...\n</environment_details>",
                },
            ],
        },
    ],
}
LIST_FILES = "I'll list the files in the current directory.\n\n<list_files>\n<path>.</path>\n</list_files>"
READ_FILE = (
    "I'll read the file for you.\n\n<read_file>\n<args>\n  <file>\n    <path>src/app.ts</path>\n"
    "  </file>\n</args>\n</read_file>"
)
USAGE = {"prompt_tokens": 20480, "completion_tokens": 31, "total_tokens": 20511}


def unchanged(dialect: str, data: bytes, **kwargs: Any) -> None:
    """However the bytes are cut, each read's bytes have left when it is over, and the end adds nothing.

    Quick: whole and byte by byte in one dialect; in the others, which are not asked, by event and in two.
    """
    every = exhaustive() or dialect == next(iter(DIALECTS))
    for number, reads in enumerate(every_split(data) if every else islice(every_split(data), 2, None)):
        if number > 3 and number % 7:  # bytes that nobody parses need no exhaustive cutting
            continue
        transformer = StreamTransformer(dialect=dialect, **kwargs)
        for read in reads:
            assert transformer.feed(read) == read
        assert transformer.finish() == b""
        assert transformer.finish() == b""
        assert transformer.unaccounted == 0


STREAMS = {
    "a call in Roo's XML": stream_of(LIST_FILES, 7, usage=USAGE),
    "nested parameters": stream_of(READ_FILE, 7, usage=USAGE),
    "Qwen3-Coder's XML": stream_of(
        "<tool_call>\n<function=f>\n<parameter=a>1</parameter>\n</function>\n</tool_call>"
    ),
    "Kimi's tokens": stream_of(
        "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    ),
    "half a call": stream_of("<list_files>\n<path>"),
    "CRLF, comments, other fields, odd JSON": (
        b": ping\r\n\r\nevent: message\r\nid: 7\r\nretry: 10\r\n"
        b'data:{ "choices" : [ {"delta":{"content":"<a>"} } ] }\r\n\r\n'
        b"data: [DONE]\r\n\r\n"
    ),
    "byte order mark, CR": b'\xef\xbb\xbfdata: {"choices":[{"delta":{"content":"a"}}]}\r\rdata: [DONE]\r\r',
    "no [DONE], no blank line": b'data: {"choices":[{"delta":{"content":"\\u003clist_files\\u003e"}}]}',
    "content as an array": sse({"choices": [{"delta": {"content": [{"type": "text", "text": "<task>"}]}}]}),
    "unknown fields": sse(
        {"x": 1, "choices": [{"delta": {"content": "a", "y": [None]}, "z": {}}], "nvext": {}}
    ),
    "no JSON": b"data: {oops\n\n",
    "no SSE": b'{"object":"list","data":[{"embedding":[0.25,-1e-7]}]}',
    "no UTF-8": b"data: \xff\xfe\n\n",
    "two finishes, no role": sse(
        {"choices": [{"delta": {}, "finish_reason": "stop"}]}, {"choices": []}, done=False
    )
    * 2,
    "an error": sse({"error": {"message": "no", "type": "server_error"}}),
    "nothing": b"",
}


@each_row("data", STREAMS.values(), ids=STREAMS)
@each_row("dialect", DIALECTS)
def test_roo_cline_format_a_request_without_tools_gets_its_bytes_unchanged(dialect: str, data: bytes) -> None:
    unchanged(dialect, data, request=ROO_REQUEST)


@each_row(
    "kwargs",
    [
        {"tools": []},
        {"request": ROO_REQUEST | {"tools": []}},
        {"request": ROO_REQUEST | {"tools": None}},
        {"request": OPENAI_REQUEST | {"tool_choice": "none"}},
        {"request": {"model": "m", "messages": [{"role": "user", "content": "Generate a title"}]}},
        {"request": {"model": "m", "input": ["an embedding"]}},
    ],
    ids=["tools=[]", "empty tools", "null tools", "tool_choice none", "title request", "embedding"],
)
@each_row("dialect", CONVERTING)
def test_roo_cline_format_no_tools_in_other_words(dialect: str, kwargs: dict[str, Any]) -> None:
    unchanged(dialect, stream_of(LIST_FILES, 7, usage=USAGE), **kwargs)


@each_row("data", STREAMS.values(), ids=STREAMS)
def test_passthrough_touches_nothing_even_with_tools(data: bytes) -> None:
    unchanged("passthrough", data, request=OPENAI_REQUEST)
    unchanged("passthrough", data)


@each_row("text", [LIST_FILES, READ_FILE], ids=["list_files", "read_file"])
@each_row("dialect", DIALECTS)
def test_roo_cline_response_with_tool_call_as_a_whole_message(dialect: str, text: str) -> None:
    body = message(text, usage=USAGE, x_unknown=[1, None])
    before = copy.deepcopy(body)
    got = transform_message(body, dialect=dialect, request=ROO_REQUEST)
    assert json.dumps(got) == json.dumps(before)
    assert body == before, "the caller's object is left alone"
    assert json.dumps(transform_message(body, dialect=dialect, tools=[])) == json.dumps(before)


@pytest.mark.parametrize("text", [LIST_FILES, READ_FILE], ids=["list_files", "read_file"])
def test_roo_cline_response_the_client_finds_its_xml_in_the_content(text: str) -> None:
    # "NO tool parsing" and "Include usage stats", as a Roo client sees them
    stream = stream_of(text, 7, usage=USAGE)
    out, transformer = transform("roo-xml", stream, request=ROO_REQUEST)
    chunks = [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: {")]
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"]) == text
    assert chunks[-1]["usage"] == USAGE
    assert codes(transformer) == []


@each_row("dialect", DIALECTS)
def test_openai_function_calling_format_native_tool_calls_pass_unchanged(dialect: str) -> None:
    body = message(None, finish="tool_calls", usage=USAGE)
    body["choices"][0]["message"] = OPENAI_ANSWER
    got = transform_message(body, dialect=dialect, request=OPENAI_REQUEST)
    assert json.dumps(got) == json.dumps(body)


NATIVE_START: JSON = {
    "index": 0,
    "id": "call_abc123",
    "type": "function",
    "function": {"name": "list_files", "arguments": ""},
}
META: JSON = {"id": "chatcmpl-9", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4"}


def native(*deltas: JSON, finish: str = "tool_calls") -> bytes:
    chunks: list[JSON] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    last: JSON = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    return sse(*(META | chunk for chunk in [*chunks, last]))


NATIVE = native(
    {"role": "assistant", "content": None, "tool_calls": [NATIVE_START]},
    {"tool_calls": [{"index": 0, "function": {"arguments": '{"pa'}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": 'th":"."}'}}]},
)


@each_row("dialect", CONVERTING)
def test_openai_function_calling_format_native_tool_calls_in_a_stream(dialect: str) -> None:
    got = check_every_split(dialect, NATIVE, request=OPENAI_REQUEST, twin=False)
    assert got == Result(
        calls=[("list_files", '{"path":"."}')], ids=["call_abc123"], finish_reason="tool_calls"
    )


@each_row("dialect", CONVERTING)
def test_tool_invocation_comparison_openai_response(dialect: str) -> None:
    start = NATIVE_START | {"id": "call_xyz", "function": {"name": "read_file", "arguments": ""}}
    data = native(
        {"role": "assistant", "content": "I'll read the "},
        {"content": "file for you."},
        {"tool_calls": [start]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"path":"src/app.ts"}'}}]},
    )
    got = check_every_split(dialect, data, request=OPENAI_REQUEST, twin=False)
    assert got == Result(
        "I'll read the file for you.",
        calls=[("read_file", '{"path":"src/app.ts"}')],
        ids=["call_xyz"],
        finish_reason="tool_calls",
    )
    answer = {
        "role": "assistant",
        "content": "I'll read the file for you.",
        "tool_calls": [start | {"function": {"name": "read_file", "arguments": '{"path":"src/app.ts"}'}}],
    }
    body = message(None, finish="tool_calls")
    body["choices"][0]["message"] = answer
    assert transform_message(body, dialect=dialect, request=OPENAI_REQUEST) == body


def test_why_this_matters_with_tools_offered_the_same_text_is_a_call() -> None:
    # The document's "don't convert" is about clients that send no tools (docs/spec.md, section 8).
    got = check_every_split("roo-xml", stream_of(LIST_FILES, 7), request=OPENAI_REQUEST)
    assert got == Result(
        "I'll list the files in the current directory.",
        calls=[("list_files", '{"path":"."}')],
        ids=["call_0"],
        finish_reason="tool_calls",
    )


def test_roo_cline_conversation_a_request_with_its_whole_history_is_no_obstacle() -> None:
    messages = [
        *ROO_REQUEST["messages"],
        {"role": "assistant", "content": "OK\n\n<tool>...</tool>"},
        {"role": "user", "content": [{"type": "text", "text": "[Tool Result] ..."}]},
        {"role": "user", "content": [{"type": "text", "text": "<task>Next task</task>"}]},
    ]
    unchanged("roo-xml", stream_of(LIST_FILES, 7), request=ROO_REQUEST | {"messages": messages})


def test_openai_conversation_a_history_with_tool_calls_is_no_obstacle() -> None:
    messages: list[JSON] = [
        {"role": "system", "content": "Brief prompt"},
        {"role": "user", "content": "Do task"},
        {"role": "assistant", "content": "OK", "tool_calls": OPENAI_ANSWER["tool_calls"]},
        {"role": "tool", "tool_call_id": "call_abc123", "content": "Result"},
        {"role": "user", "content": "Next task"},
    ]
    got, _ = run("roo-xml", stream_of(LIST_FILES, 7), request=OPENAI_REQUEST | {"messages": messages})
    assert got.calls == [("list_files", '{"path":"."}')]
