"""Seed 003, "XML to JSON Conversion Verification": what Qwen3-Coder writes, indented or not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.client import Result, result
from tests.support.cuts import check_every_split, codes, run, transform
from tests.support.streams import JSON, message, stream_of, tool
from transformer import transform_message

WRITE_FILE: JSON = {
    "type": "function",
    "function": {
        "name": "WriteFile",
        "description": "Write content to a file",
        "parameters": {
            "type": "object",
            "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}},
            "required": ["file_path", "content"],
        },
    },
}
CREATE_DIRECTORY = tool("CreateDirectory", {"path": {"type": "string"}})
TOOLS = [WRITE_FILE, CREATE_DIRECTORY]

FORMAT = """<tool_call>
  <function=WriteFile>
    <parameter=file_path>test.txt</parameter>
    <parameter=content>Hello World!</parameter>
  </function>
</tool_call>"""
HELLO = ("WriteFile", '{"file_path":"test.txt","content":"Hello World!"}')
HELLO_CALL = json.loads(r"""
{
  "id": "call_0",
  "type": "function",
  "function": {
    "name": "WriteFile",
    "arguments": "{\"file_path\":\"test.txt\",\"content\":\"Hello World!\"}"
  }
}
""")


def check(text: str, expected: str, **kwargs: Any) -> None:
    """Whole, the text becomes the document's `choices`; streamed, it joins to the same."""
    (wanted,) = json.loads(expected)["choices"]
    wanted["message"] = {"role": "assistant", "content": None} | wanted["message"]
    for tools in (TOOLS, None):
        body = transform_message(
            message(text), dialect="qwen3-coder", tools=tools, ids="call_{}".format, **kwargs
        )
        (choice,) = body["choices"]
        assert json.dumps(choice) == json.dumps({"index": 0} | wanted)
    calls = [call["function"] for call in wanted["message"]["tool_calls"]]
    joined = Result(
        wanted["message"]["content"] or "",
        calls=[(call["name"], call["arguments"]) for call in calls],
        ids=[call["id"] for call in wanted["message"]["tool_calls"]],
        finish_reason=wanted["finish_reason"],
    )
    for size in (1, 9, 1000):
        assert run("qwen3-coder", stream_of(text, size), tools=TOOLS)[0] == joined
    assert check_every_split("qwen3-coder", stream_of(text, 20), tools=TOOLS) == joined
    assert check_every_split("qwen3-coder", stream_of(text, 60)) == joined


@pytest.mark.parametrize("after", ["", "\n"], ids=["bare", "newline at the end"])
def test_xml_format_expected(after: str) -> None:
    body = transform_message(
        message(FORMAT + after), dialect="qwen3-coder", tools=TOOLS, ids="call_{}".format
    )
    assert json.dumps(body["choices"][0]["message"]) == json.dumps(
        {"role": "assistant", "content": None, "tool_calls": [HELLO_CALL]}
    )
    assert check_every_split("qwen3-coder", stream_of(FORMAT + after, 9), tools=TOOLS) == Result(
        calls=[HELLO], ids=["call_0"], finish_reason="tool_calls"
    )


def test_method_1_integration_test_with_real_backend() -> None:
    text = (
        "<tool_call>\n<function=WriteFile>\n<parameter=file_path>\nhello.txt\n</parameter>\n"
        "<parameter=content>\n...\n</parameter>\n</function>\n</tool_call>"
    )
    check(
        text,
        r"""
   {
     "choices": [{
       "message": {
         "role": "assistant",
         "tool_calls": [{
           "id": "call_0",
           "type": "function",
           "function": {
             "name": "WriteFile",
             "arguments": "{\"file_path\":\"hello.txt\",\"content\":\"...\"}"
           }
         }]
       },
       "finish_reason": "tool_calls"
     }]
   }
   """,
    )


def test_method_2_log_analysis() -> None:
    # "Extracted 1 tool calls, cleaned text: …"
    got = check_every_split("qwen3-coder", stream_of(f"I'll help you with that.\n\n{FORMAT}", 9), tools=TOOLS)
    assert got == Result(
        "I'll help you with that.", calls=[HELLO], ids=["call_0"], finish_reason="tool_calls"
    )


def test_debugging_4_the_format_on_one_line() -> None:
    text = "<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>"
    expected = Result(calls=[("NAME", '{"KEY":"VALUE"}')], ids=["call_0"], finish_reason="tool_calls")
    assert check_every_split("qwen3-coder", stream_of(text, 9)) == expected
    assert check_every_split("qwen3-coder", stream_of(text, 9), tools=TOOLS) == expected
    assert codes(run("qwen3-coder", stream_of(text), tools=TOOLS)[1]) == ["unknown-tool"]


def test_code_flow_3_text_and_call_on_one_line() -> None:
    inner = "<parameter=file_path>test.txt</parameter><parameter=content>Hello World!</parameter>"
    text = f"Here you go <tool_call><function=WriteFile>{inner}</function></tool_call>"
    got = check_every_split("qwen3-coder", stream_of(text, 9), tools=TOOLS)
    assert got == Result("Here you go", calls=[HELLO], ids=["call_0"], finish_reason="tool_calls")


def test_example_1_single_tool_call() -> None:
    check(
        """I'll create the file for you.
<tool_call>
  <function=WriteFile>
    <parameter=file_path>test.txt</parameter>
    <parameter=content>Hello World!</parameter>
  </function>
</tool_call>
Done!""",
        r"""
{
  "choices": [{
    "message": {
      "role": "assistant",
      "content": "I'll create the file for you.\nDone!",
      "tool_calls": [{
        "id": "call_0",
        "type": "function",
        "function": {
          "name": "WriteFile",
          "arguments": "{\"file_path\":\"test.txt\",\"content\":\"Hello World!\"}"
        }
      }]
    },
    "finish_reason": "tool_calls"
  }]
}
""",
    )


def test_example_2_multiple_tool_calls() -> None:
    check(
        """<tool_call>
  <function=CreateDirectory>
    <parameter=path>/tmp/test</parameter>
  </function>
</tool_call>
<tool_call>
  <function=WriteFile>
    <parameter=file_path>/tmp/test/file.txt</parameter>
    <parameter=content>content</parameter>
  </function>
</tool_call>""",
        r"""
{
  "choices": [{
    "message": {
      "role": "assistant",
      "tool_calls": [
        {
          "id": "call_0",
          "type": "function",
          "function": {
            "name": "CreateDirectory",
            "arguments": "{\"path\":\"/tmp/test\"}"
          }
        },
        {
          "id": "call_1",
          "type": "function",
          "function": {
            "name": "WriteFile",
            "arguments": "{\"file_path\":\"/tmp/test/file.txt\",\"content\":\"content\"}"
          }
        }
      ]
    },
    "finish_reason": "tool_calls"
  }]
}
""",
    )


def test_verification_checklist() -> None:
    text = f"I'll create it.\n{FORMAT}\n{FORMAT}\nDone!"
    out, _ = transform("qwen3-coder", stream_of(text, 9), tools=TOOLS, ids=None)
    got = result(out)
    assert got.content == "I'll create it.\nDone!"
    assert [name for name, _ in got.calls] == ["WriteFile", "WriteFile"]
    assert len(set(got.ids)) == 2
    for _, arguments in got.calls:
        assert json.loads(arguments) == {"file_path": "test.txt", "content": "Hello World!"}
    assert got.finish_reason == "tool_calls"
    for markup in (b"tool_call>", b"function=", b"parameter="):
        assert markup not in out


def test_implementation_text_without_calls_is_untouched() -> None:
    text = "  Use <tool_call> and <function=…> like this.\n"
    got = check_every_split("qwen3-coder", stream_of(text, 9), tools=TOOLS)
    assert got == Result(text, finish_reason="stop")
    (choice,) = transform_message(message(text), dialect="qwen3-coder", tools=TOOLS)["choices"]
    assert choice == message(text)["choices"][0]


def test_implementation_several_choices_each_have_their_own_calls() -> None:
    body = message(f"Here.\n{FORMAT}")
    plain = {
        "index": 1,
        "message": {"role": "assistant", "content": "Nothing to do."},
        "finish_reason": "stop",
    }
    body["choices"].append(plain)
    first, second = transform_message(body, dialect="qwen3-coder", tools=TOOLS, ids="call_{}".format)[
        "choices"
    ]
    assert first["message"]["tool_calls"] == [HELLO_CALL]
    assert first["finish_reason"] == "tool_calls"
    assert second == plain
