"""Seed 000, "Tool Calling Transformation Examples": the response direction, heading by heading."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.client import Result, chunks_of, events_of, message_result, result
from tests.support.cuts import check_every_split, codes, run, transform
from tests.support.streams import JSON, fixed, message, sse, stream_of, tool
from tests.support.tiers import each_row
from transformer import Policy, StreamTransformer, transform_message

READ: JSON = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Read a file from the filesystem with line numbers",
        "parameters": {
            "type": "object",
            "properties": {
                "filePath": {"type": "string", "description": "Absolute path to the file"},
                "offset": {"type": "number", "description": "Line number to start reading from"},
                "limit": {"type": "number", "description": "Number of lines to read"},
            },
            "required": ["filePath"],
        },
    },
}
BASH: JSON = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Execute a bash command in a persistent shell session",
        "parameters": {
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command to execute"},
                "description": {
                    "type": "string",
                    "description": "Clear description of what this command does",
                },
                "timeout": {"type": "number", "description": "Timeout in milliseconds"},
            },
            "required": ["command", "description"],
        },
    },
}
WRITE: JSON = {
    "type": "function",
    "function": {
        "name": "write",
        "description": "Write content to a file, creating it if it doesn't exist",
        "parameters": {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "Absolute path to the file"},
                "content": {"type": "string", "description": "Content to write to the file"},
            },
            "required": ["file_path", "content"],
        },
    },
}
TOOLS = [READ, BASH, WRITE]

EXAMPLE_1_INPUT = """I'll read the package.json file to see the dependencies.

<read>
<filePath>/home/user/project/package.json</filePath>
</read>"""
EXAMPLE_1_OUTPUT = r"""
{
  "id": "chatcmpl-abc123",
  "object": "chat.completion",
  "created": 1234567890,
  "model": "qwen3-max",
  "choices": [
    {
      "index": 0,
      "message": {
        "role": "assistant",
        "content": "I'll read the package.json file to see the dependencies.",
        "tool_calls": [
          {
            "id": "call_1",
            "type": "function",
            "function": {
              "name": "read",
              "arguments": "{\"filePath\":\"/home/user/project/package.json\"}"
            }
          }
        ]
      },
      "finish_reason": "tool_calls"
    }
  ],
  "usage": {
    "prompt_tokens": 150,
    "completion_tokens": 45,
    "total_tokens": 195
  }
}
"""

EXAMPLE_2_INPUT = """I'll install the axios package using npm.

<bash>
<command>npm install axios</command>
<description>Install axios HTTP client library</description>
<timeout>60000</timeout>
</bash>"""
EXAMPLE_2_OUTPUT = r"""
{
  "id": "chatcmpl-def456",
  "object": "chat.completion",
  "created": 1234567891,
  "model": "qwen3-max",
  "choices": [
    {
      "index": 0,
      "message": {
        "role": "assistant",
        "content": "I'll install the axios package using npm.",
        "tool_calls": [
          {
            "id": "call_2",
            "type": "function",
            "function": {
              "name": "bash",
              "arguments": "{\"command\":\"npm install axios\",\"description\":\"Install axios HTTP client library\",\"timeout\":60000}"
            }
          }
        ]
      },
      "finish_reason": "tool_calls"
    }
  ],
  "usage": {
    "prompt_tokens": 160,
    "completion_tokens": 52,
    "total_tokens": 212
  }
}
"""  # noqa: E501

EXAMPLE_3_INPUT = """I'll create a new configuration file with the settings.

<write>
<file_path>/config/settings.json</file_path>
<content>
{
  "api": {
    "endpoint": "https://api.example.com",
    "timeout": 5000
  },
  "logging": {
    "level": "debug"
  }
}
</content>
</write>"""
EXAMPLE_3_OUTPUT = r"""
{
  "id": "chatcmpl-ghi789",
  "object": "chat.completion",
  "created": 1234567892,
  "model": "qwen3-max",
  "choices": [
    {
      "index": 0,
      "message": {
        "role": "assistant",
        "content": "I'll create a new configuration file with the settings.",
        "tool_calls": [
          {
            "id": "call_3",
            "type": "function",
            "function": {
              "name": "write",
              "arguments": "{\"file_path\":\"/config/settings.json\",\"content\":\"{\\n  \\\"api\\\": {\\n    \\\"endpoint\\\": \\\"https://api.example.com\\\",\\n    \\\"timeout\\\": 5000\\n  },\\n  \\\"logging\\\": {\\n    \\\"level\\\": \\\"debug\\\"\\n  }\\n}\"}"
            }
          }
        ]
      },
      "finish_reason": "tool_calls"
    }
  ],
  "usage": {
    "prompt_tokens": 175,
    "completion_tokens": 85,
    "total_tokens": 260
  }
}
"""  # noqa: E501

EXAMPLE_4_INPUT = (
    "The package.json file contains 5 dependencies: express, axios, lodash, moment, and dotenv. "
    "All dependencies are production dependencies with no devDependencies listed."
)
EXAMPLE_4_OUTPUT = r"""
{
  "id": "chatcmpl-jkl012",
  "object": "chat.completion",
  "created": 1234567893,
  "model": "qwen3-max",
  "choices": [
    {
      "index": 0,
      "message": {
        "role": "assistant",
        "content": "The package.json file contains 5 dependencies: express, axios, lodash, moment, and dotenv. All dependencies are production dependencies with no devDependencies listed."
      },
      "finish_reason": "stop"
    }
  ],
  "usage": {
    "prompt_tokens": 200,
    "completion_tokens": 45,
    "total_tokens": 245
  }
}
"""  # noqa: E501


def check_example(text: str, output: str, *, tools: list[JSON] | None = None) -> None:
    """Upstream's message with that text becomes the document's message; its stream joins to the same."""
    expected = json.loads(output)
    said = message_result(expected)
    meta = {key: expected[key] for key in ("id", "object", "created", "model")}
    ids = fixed(*said.ids)

    body = message(text, **meta, usage=expected["usage"])
    got = transform_message(body, dialect="roo-xml", tools=tools or TOOLS, ids=ids)
    assert json.dumps(got) == json.dumps(expected), "byte for byte, the order of the keys included"

    meta["object"] = "chat.completion.chunk"
    for size in (1, 7, len(text)):
        stream = stream_of(text, size, meta=meta, usage=expected["usage"])
        joined, transformer = run("roo-xml", stream, tools=tools or TOOLS, ids=ids)
        assert joined == said
        assert transformer.completion == expected
    assert check_every_split("roo-xml", stream_of(text, 24, meta=meta), tools=TOOLS, ids=ids) == Result(
        said.content, calls=said.calls, ids=said.ids, finish_reason=said.finish_reason
    )


def test_direction_2_example_1_simple_tool_call_read() -> None:
    check_example(EXAMPLE_1_INPUT, EXAMPLE_1_OUTPUT)


def test_direction_2_example_2_tool_call_with_multiple_parameters_bash() -> None:
    check_example(EXAMPLE_2_INPUT, EXAMPLE_2_OUTPUT)


def test_direction_2_example_3_tool_call_with_multiline_content_write() -> None:
    check_example(EXAMPLE_3_INPUT, EXAMPLE_3_OUTPUT)


def test_direction_2_example_4_response_with_no_tool_call_normal_completion() -> None:
    check_example(EXAMPLE_4_INPUT, EXAMPLE_4_OUTPUT)


@pytest.mark.parametrize("text", [EXAMPLE_1_INPUT, EXAMPLE_2_INPUT, EXAMPLE_3_INPUT])
def test_direction_2_a_final_newline_after_the_call_changes_nothing(text: str) -> None:
    # The documents' code blocks end in a newline that models write, too.
    with_newline = check_every_split("roo-xml", stream_of(text + "\n", 24), tools=TOOLS)
    assert with_newline == run("roo-xml", stream_of(text, 24), tools=TOOLS)[0]


EXAMPLE_5_INPUT = rb"""data: {"choices":[{"delta":{"content":"I'll "}}]}

data: {"choices":[{"delta":{"content":"read "}}]}

data: {"choices":[{"delta":{"content":"the "}}]}

data: {"choices":[{"delta":{"content":"file.\n\n<read"}}]}

data: {"choices":[{"delta":{"content":">\n<file"}}]}

data: {"choices":[{"delta":{"content":"Path>/src/app.js</filePath>\n</read>"}}]}

data: [DONE]

"""
EXAMPLE_5_OUTPUT = rb"""data: {"id":"chatcmpl-stream1","object":"chat.completion.chunk","created":1234567894,"model":"qwen3-max","choices":[{"index":0,"delta":{"role":"assistant","content":"I'll "},"finish_reason":null}]}

data: {"id":"chatcmpl-stream1","object":"chat.completion.chunk","created":1234567894,"model":"qwen3-max","choices":[{"index":0,"delta":{"content":"read "},"finish_reason":null}]}

data: {"id":"chatcmpl-stream1","object":"chat.completion.chunk","created":1234567894,"model":"qwen3-max","choices":[{"index":0,"delta":{"content":"the "},"finish_reason":null}]}

data: {"id":"chatcmpl-stream1","object":"chat.completion.chunk","created":1234567894,"model":"qwen3-max","choices":[{"index":0,"delta":{"content":"file."},"finish_reason":null}]}

data: {"id":"chatcmpl-stream1","object":"chat.completion.chunk","created":1234567894,"model":"qwen3-max","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_4","type":"function","function":{"name":"read","arguments":""}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-stream1","object":"chat.completion.chunk","created":1234567894,"model":"qwen3-max","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"filePath\":\"/src/app.js\"}"}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-stream1","object":"chat.completion.chunk","created":1234567894,"model":"qwen3-max","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"""  # noqa: E501
EXAMPLE_5: dict[str, Any] = {
    "request": {"model": "qwen3-max", "messages": [], "tools": [READ], "stream": True},
    "ids": fixed("call_4"),
    "now": 1234567894,
}


def test_direction_2_example_5_streaming_response_with_tool_call() -> None:
    expected = result(EXAMPLE_5_OUTPUT)
    assert expected.calls == [("read", '{"filePath":"/src/app.js"}')]
    assert check_every_split("roo-xml", EXAMPLE_5_INPUT, **EXAMPLE_5) == expected


def test_direction_2_example_5_the_metadata_that_upstream_lacks_is_made_up_once() -> None:
    chunks = chunks_of(transform("roo-xml", EXAMPLE_5_INPUT, **EXAMPLE_5)[0])
    assert {chunk["created"] for chunk in chunks} == {1234567894}
    assert {chunk["model"] for chunk in chunks} == {"qwen3-max"}
    (only,) = {chunk["id"] for chunk in chunks}
    assert only.startswith("chatcmpl-")


def test_direction_2_example_5_the_metadata_of_upstream_is_kept() -> None:
    meta = {
        "id": "chatcmpl-stream1",
        "object": "chat.completion.chunk",
        "created": 1234567894,
        "model": "qwen3-max",
    }
    lines = [json.loads(data) for data in events_of(EXAMPLE_5_INPUT) if data != "[DONE]"]
    out, _ = transform("roo-xml", sse(*(meta | line for line in lines)), tools=[READ], ids=fixed("call_4"))
    assert result(out) == result(EXAMPLE_5_OUTPUT)
    assert all({key: chunk[key] for key in meta} == meta for chunk in chunks_of(out))


def test_direction_2_example_5_text_leaves_at_once_and_the_call_when_it_is_complete() -> None:
    transformer = StreamTransformer(dialect="roo-xml", **EXAMPLE_5)
    content, calls = "", 0
    seen = []
    for event in EXAMPLE_5_INPUT.decode().split("\n\n")[:-2]:
        for data in events_of(transformer.feed(f"{event}\n\n".encode())):
            delta = json.loads(data)["choices"][0]["delta"]
            content += delta.get("content") or ""
            calls += sum("id" in call for call in delta.get("tool_calls") or ())
        seen.append((content.rstrip(), calls))  # a blank may be held back: a call may still follow it
    text = "I'll read the file."
    assert seen == [(text[:4], 0), (text[:9], 0), (text[:13], 0), (text, 0), (text, 0), (text, 1)]


CYCLE_READ = tool("read", {"filePath": {"type": "string"}})


def test_cycle_1_step_2_qwen_response() -> None:
    text = "I'll read the package.json file.\n\n<read>\n<filePath>/home/user/package.json</filePath>\n</read>"
    request = {
        "model": "qwen3-max",
        "messages": [{"role": "user", "content": "What's in the package.json file?"}],
        "tools": [CYCLE_READ],
        "stream": True,
    }
    arguments = '{"filePath":"/home/user/package.json"}'
    expected = {
        "role": "assistant",
        "content": "I'll read the package.json file.",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": arguments}}
        ],
    }
    kwargs: dict[str, Any] = {"request": request, "ids": fixed("call_1")}
    (choice,) = transform_message(message(text), dialect="roo-xml", **kwargs)["choices"]
    assert json.dumps(choice["message"]) == json.dumps(expected)
    assert choice["finish_reason"] == "tool_calls"
    assert check_every_split("roo-xml", stream_of(text, 20), **kwargs) == Result(
        "I'll read the package.json file.",
        calls=[("read", arguments)],
        ids=["call_1"],
        finish_reason="tool_calls",
    )


def test_cycle_1_step_4_final_response() -> None:
    text = "The package.json file contains 2 dependencies: express version ^4.18.0 and axios version ^1.4.0."
    (choice,) = transform_message(message(text), dialect="roo-xml", tools=[CYCLE_READ])["choices"]
    assert choice["message"] == {"role": "assistant", "content": text}
    assert choice["finish_reason"] == "stop"
    assert check_every_split("roo-xml", stream_of(text, 20), tools=[CYCLE_READ]) == Result(
        text, finish_reason="stop"
    )


def test_cycle_2_step_2_qwen_responds_with_tool_call() -> None:
    text = (
        "I'll install lodash using npm.\n\n<bash>\n<command>npm install lodash</command>\n"
        "<description>Install lodash utility library</description>\n</bash>"
    )
    arguments = '{"command":"npm install lodash","description":"Install lodash utility library"}'
    expected = Result(
        "I'll install lodash using npm.",
        calls=[("bash", arguments)],
        ids=["call_5"],
        finish_reason="tool_calls",
    )
    ids = fixed("call_5")
    assert check_every_split("roo-xml", stream_of(text, 20), tools=[BASH], ids=ids) == expected


def test_cycle_2_step_4_final_confirmation() -> None:
    text = "Successfully installed lodash version 4.17.21."
    assert check_every_split("roo-xml", stream_of(text), tools=[BASH]) == Result(text, finish_reason="stop")


CASE_1 = "I'll read the file.\n\n<read>\n<filePath>/path/to/file\n</read>"


def test_case_1_malformed_xml_in_response() -> None:
    body = transform_message(message(CASE_1), dialect="roo-xml", tools=[READ])
    assert body["choices"][0]["message"] == {"role": "assistant", "content": CASE_1}
    assert body["choices"][0]["finish_reason"] == "stop"
    assert check_every_split("roo-xml", stream_of(CASE_1, 9), tools=[READ]) == Result(
        CASE_1, finish_reason="stop"
    )


def test_case_1_malformed_xml_is_logged_with_its_place() -> None:
    _, transformer = run("roo-xml", stream_of(CASE_1, 9), tools=[READ])
    (finding,) = transformer.findings
    assert finding.code == "unclosed-parameter"
    assert "filePath" in finding.message
    assert "<filePath>" in CASE_1[finding.span.start : finding.span.end]


CASE_2 = "<bash>\n<command>ls -la</command>\n</bash>"


def test_case_2_tool_not_in_original_request_is_allowed() -> None:
    got = check_every_split("roo-xml", stream_of(CASE_2, 9), tools=[READ, WRITE])
    assert got == Result(calls=[("bash", '{"command":"ls -la"}')], ids=["call_0"], finish_reason="tool_calls")
    assert codes(run("roo-xml", stream_of(CASE_2), tools=[READ, WRITE])[1]) == ["unknown-tool"]
    (choice,) = transform_message(message(CASE_2), dialect="roo-xml", tools=[READ, WRITE])["choices"]
    assert choice["message"]["content"] is None


def test_case_2_option_2_strip_it_and_return_as_text() -> None:
    policy = Policy(unknown_tools="text")
    got = check_every_split("roo-xml", stream_of(CASE_2, 9), tools=[READ, WRITE], policy=policy)
    assert got == Result(CASE_2, finish_reason="stop")


def test_case_2_option_3_return_error() -> None:
    policy = Policy(unknown_tools="error")
    got = check_every_split("roo-xml", stream_of(CASE_2, 9), tools=[READ, WRITE], policy=policy, twin=False)
    assert got.calls == []
    assert got.error is not None and "bash" in got.error["message"]


def test_case_3_multiple_tool_calls_against_rules() -> None:
    text = (
        "<read>\n<filePath>/file1.js</filePath>\n</read>\n\n<read>\n<filePath>/file2.js</filePath>\n</read>"
    )
    expected = Result(
        calls=[("read", '{"filePath":"/file1.js"}')], ids=["call_0"], finish_reason="tool_calls"
    )
    assert check_every_split("roo-xml", stream_of(text, 9), tools=[READ]) == expected
    assert codes(run("roo-xml", stream_of(text), tools=[READ])[1]) == ["call-after-first"]


TYPED = tool(
    "typed",
    {
        "filePath": {"type": "string"},
        "timeout": {"type": "number"},
        "offset": {"type": "number"},
        "recursive": {"type": "boolean"},
        "force": {"type": "boolean"},
        "files": {"type": "array", "items": {"type": "string"}},
        "options": {"type": "object"},
    },
    required=[],
)
CONVERSIONS = {
    "string_parameters": ("<filePath>/path/to/file</filePath>", '"filePath":"/path/to/file"'),
    "number_parameters": ("<timeout>5000</timeout>\n<offset>10</offset>", '"timeout":5000,"offset":10'),
    "boolean_parameters": (
        "<recursive>true</recursive>\n<force>false</force>",
        '"recursive":true,"force":false',
    ),
    "array_parameters": (
        "<files>\n  <item>file1.js</item>\n  <item>file2.js</item>\n</files>",
        '"files":["file1.js","file2.js"]',
    ),
    "object_parameters_nested": (
        "<options>\n  <timeout>5000</timeout>\n  <retries>3</retries>\n</options>",
        '"options":{"timeout":5000,"retries":3}',
    ),
    # "Detection": only the parameter's type makes a number or a boolean of a text.
    "a_number_for_a_string": ("<filePath>5000</filePath>", '"filePath":"5000"'),
    "a_boolean_for_a_string": ("<filePath>true</filePath>", '"filePath":"true"'),
}


@each_row(("xml", "arguments"), CONVERSIONS.values(), ids=CONVERSIONS)
def test_type_conversions(xml: str, arguments: str) -> None:
    got = check_every_split("roo-xml", stream_of(f"<typed>\n{xml}\n</typed>", 20), tools=[TYPED])
    assert got.calls == [("typed", f"{{{arguments}}}")]
    assert got.finish_reason == "tool_calls"


def test_type_conversions_all_in_one_call() -> None:
    rows = list(CONVERSIONS.values())[:5]
    text = "<typed>\n" + "\n".join(xml for xml, _ in rows) + "\n</typed>"
    got = check_every_split("roo-xml", stream_of(text, 20), tools=[TYPED])
    assert got.calls == [("typed", "{" + ",".join(json for _, json in rows) + "}")]


def test_type_conversions_without_a_schema_are_strings() -> None:
    text = "<typed>\n<timeout>5000</timeout>\n<force>false</force>\n</typed>"
    got = check_every_split("roo-xml", stream_of(text, 9), tools=[READ])
    assert got.calls == [("typed", '{"timeout":"5000","force":"false"}')]


INCOMPLETE = {
    "half a tag": "I'll read it.\n\n<rea",
    "a tag without its bracket": "I'll read it.\n\n<read",
    "a call without content": "I'll read it.\n\n<read>\n",
    "half a parameter tag": "I'll read it.\n\n<read>\n<fileP",
    "a parameter without its end": "I'll read it.\n\n<read>\n<filePath>/src/app.js",
    "half a closing tag": "I'll read it.\n\n<read>\n<filePath>/src/app.js</fileP",
    "a call without its end": "I'll read it.\n\n<read>\n<filePath>/src/app.js</filePath>\n",
    "half of a call's end": "I'll read it.\n\n<read>\n<filePath>/src/app.js</filePath>\n</rea",
}


@each_row("text", INCOMPLETE.values(), ids=INCOMPLETE)
def test_summary_streaming_handling_partial_tags_gracefully(text: str) -> None:
    got = check_every_split("roo-xml", stream_of(text, 9), tools=[READ])
    assert got == Result(text, finish_reason="stop")


def test_summary_buffering_ends_as_soon_as_a_tag_is_ruled_out() -> None:
    transformer = StreamTransformer(dialect="roo-xml", tools=[READ])
    content = ""
    for part, so_far in [
        ("if a <", "if a"),  # a call may begin in the middle of a line, too
        (" b:\n", "if a < b:"),
        ("<b", "if a < b:"),
        (" c", "if a < b:\n<b c"),
        (">\n</b>", "if a < b:\n<b c>\n</b>"),
    ]:
        out = transformer.feed(sse({"choices": [{"delta": {"content": part}}]}, done=False))
        content += "".join(json.loads(e)["choices"][0]["delta"].get("content", "") for e in events_of(out))
        assert content == so_far or content.rstrip() == so_far.rstrip()
    assert content == "if a < b:\n<b c>\n</b>"


def test_implementation_notes_ids_are_unique() -> None:
    text = "<read>\n<filePath>/{}</filePath>\n</read>\n"
    policy = Policy(calls="all")
    stream = stream_of(text.format(1) + text.format(2) + text.format(3))
    out, _ = transform("roo-xml", stream, tools=[READ], policy=policy, ids=None)
    assert len(set(result(out).ids)) == 3
