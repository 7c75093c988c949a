"""Seed 001, "Streaming Tool Call Example": one answer of the Qwen chat, from end to end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.client import Result, chunks_of, events_of, message_result
from tests.support.cuts import check_every_split, run, transform
from tests.support.streams import JSON, fixed, message, sse, stream_of, tool
from transformer import StreamTransformer, transform_message

READ = tool("read", {"filePath": {"type": "string"}})
REQUEST: JSON = {
    "model": "qwen3-max",
    "messages": [{"role": "user", "content": "Read the package.json file"}],
    "tools": [READ],
    "stream": True,
    "stream_options": {"include_usage": True},
}
FLOW: dict[str, Any] = {"request": REQUEST, "ids": fixed("call_a1b2c3d4"), "now": 1698765432}

# As printed, notes included: SSE knows no field "# Chunk 1", so a client must ignore such a line.
PRINTED = r"""
# Chunk 1: Metadata
data: {"response.created":{"chat_id":"chat-123","parent_id":"parent-456","response_id":"resp-789"}}

# Chunk 2: Start of text
data: {"choices":[{"delta":{"role":"assistant","content":"I'll ","phase":"answer","status":"typing"}}],"usage":{"input_tokens":25,"output_tokens":1}}

# Chunk 3: More text
data: {"choices":[{"delta":{"content":"read "}}]}

# Chunk 4: More text
data: {"choices":[{"delta":{"content":"the "}}]}

# Chunk 5: End of text
data: {"choices":[{"delta":{"content":"file.\n\n"}}]}

# Chunk 6: Start of XML
data: {"choices":[{"delta":{"content":"<read>\n"}}]}

# Chunk 7: XML parameter
data: {"choices":[{"delta":{"content":"<filePath>/home/user/package.json</filePath>\n"}}]}

# Chunk 8: End of XML
data: {"choices":[{"delta":{"content":"</read>"}}]}

# Chunk 9: Finish marker
data: {"choices":[{"delta":{"content":"","phase":"answer","status":"finished"}}]}

data: [DONE]

"""  # noqa: E501
EVENTS = [line.removeprefix("data: ") for line in PRINTED.splitlines() if line.startswith("data: ")]
# docs/spec.md, section 8: the document's 25/15/40 does not follow from its input, so it is put there.
EVENTS[7] = '{"choices":[{"delta":{"content":"</read>"}}],"usage":{"input_tokens":25,"output_tokens":15}}'
INPUT = sse(*EVENTS, done=False)

USAGE = {"prompt_tokens": 25, "completion_tokens": 15, "total_tokens": 40}
EXPECTED = Result(
    "I'll read the file.",
    calls=[("read", '{"filePath":"/home/user/package.json"}')],
    ids=["call_a1b2c3d4"],
    finish_reason="tool_calls",
    usage=USAGE,
)
COMPLETE = json.loads(r"""
{
  "id": "chatcmpl-xxx",
  "object": "chat.completion",
  "created": 1698765432,
  "model": "qwen3-max",
  "choices": [{
    "index": 0,
    "message": {
      "role": "assistant",
      "content": "I'll read the file.",
      "tool_calls": [{
        "id": "call_a1b2c3d4",
        "type": "function",
        "function": {
          "name": "read",
          "arguments": "{\"filePath\":\"/home/user/package.json\"}"
        }
      }]
    },
    "finish_reason": "tool_calls"
  }],
  "usage": {
    "prompt_tokens": 25,
    "completion_tokens": 15,
    "total_tokens": 40
  }
}
""")


def test_1_qwen_streaming_response() -> None:
    assert check_every_split("roo-xml", INPUT, **FLOW) == EXPECTED


def test_1_qwen_streaming_response_as_printed() -> None:
    expected = USAGE | {"completion_tokens": 1, "total_tokens": 26}
    got, _ = run("roo-xml", PRINTED.encode(), **FLOW)
    assert (got.content, got.calls, got.finish_reason) == (EXPECTED.content, EXPECTED.calls, "tool_calls")
    assert got.usage == expected


@pytest.mark.parametrize(
    "events",
    [EVENTS[:-1], EVENTS[:-2], [*EVENTS[:-2], "[DONE]"]],
    ids=["finished, no [DONE]", "neither: end of the stream", "[DONE], not finished"],
)
def test_1_each_end_of_the_stream_is_an_end(events: list[str]) -> None:
    assert check_every_split("roo-xml", sse(*events, done=False), **FLOW) == EXPECTED


def test_1_the_metadata_event_does_not_reach_the_client() -> None:
    out, _ = transform("roo-xml", INPUT, **FLOW)
    assert b"response.created" not in out
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks_of(out))


def joined_after_each_event(stream: list[str], **kwargs: Any) -> list[tuple[str, list[str], str | None]]:
    """Content, names of calls, finish_reason as the client has them after each event of upstream.

    A blank at the end of the content may be held back, because a call may still follow it.
    """
    transformer = StreamTransformer(dialect="roo-xml", **kwargs)
    content, names, finish = "", list[str](), None
    seen = []
    for event in stream:
        for data in events_of(transformer.feed(sse(event, done=False))):
            for choice in json.loads(data)["choices"] if data != "[DONE]" else ():
                content += choice["delta"].get("content") or ""
                calls = choice["delta"].get("tool_calls") or ()
                names += [call["function"]["name"] for call in calls if "id" in call]
                finish = choice["finish_reason"] or finish
        seen.append((content.rstrip(), list(names), finish))
    return seen


def test_2_chunks_1_to_5_text_is_streamed_immediately() -> None:
    seen = joined_after_each_event(EVENTS, **FLOW)
    text = "I'll read the file."
    assert [content for content, _, _ in seen[:5]] == ["", "I'll", "I'll read", "I'll read the", text]


def test_2_chunks_6_to_8_the_call_is_streamed_after_its_closing_tag() -> None:
    seen = joined_after_each_event(EVENTS, **FLOW)
    assert [names for _, names, _ in seen[4:8]] == [[], [], [], ["read"]]
    assert all(content == "I'll read the file." for content, _, _ in seen[4:])


def test_2_output_chunks_1_and_2_the_role_is_not_sent_again() -> None:
    chunks = chunks_of(transform("roo-xml", INPUT, **FLOW)[0])
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert ["role" in delta for delta in deltas] == [True] + [False] * (len(deltas) - 1)
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert calls[0] | {"function": {"name": "read"}} == {
        "index": 0,
        "id": "call_a1b2c3d4",
        "type": "function",
        "function": {"name": "read"},
    }
    assert "".join(call["function"]["arguments"] for call in calls) == EXPECTED.calls[0][1]


def test_3_finalize_stream_finish_then_usage_then_done() -> None:
    out, _ = transform("roo-xml", INPUT, **FLOW)
    chunks = chunks_of(out)
    meta = {
        "id": chunks[0]["id"],
        "object": "chat.completion.chunk",
        "created": 1698765432,
        "model": "qwen3-max",
    }
    finish = {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    assert chunks[-2] == meta | {"choices": [finish]}
    assert chunks[-1] == meta | {"choices": [], "usage": USAGE}
    assert [chunk for chunk in chunks[:-1] if chunk.get("usage")] == []
    assert out.endswith(b"data: [DONE]\n\n")


def test_3_usage_is_sent_only_when_the_client_asked() -> None:
    request = {key: value for key, value in REQUEST.items() if key != "stream_options"}
    got = check_every_split("roo-xml", INPUT, **(FLOW | {"request": request}))
    assert got.usage is None
    assert (got.content, got.calls, got.finish_reason) == (EXPECTED.content, EXPECTED.calls, "tool_calls")


def test_4_complete_response_for_logging() -> None:
    out, transformer = transform("roo-xml", INPUT, **FLOW)
    completion = transformer.completion
    assert completion is not None
    assert completion["id"] == chunks_of(out)[0]["id"]
    assert json.dumps(completion | {"id": "chatcmpl-xxx"}) == json.dumps(COMPLETE)


def test_key_points_2_tool_call_detection_without_the_request() -> None:
    # Tools unknown: the tag's content alone makes it a call.
    got, _ = run("roo-xml", INPUT)
    assert (got.content, got.calls, got.finish_reason) == (EXPECTED.content, EXPECTED.calls, "tool_calls")


def test_key_points_4_finish_reason_determination() -> None:
    seen = joined_after_each_event(EVENTS, **FLOW)
    assert [finish for _, _, finish in seen[:8]] == [None] * 8


PLAIN = "The package.json file contains 5 dependencies."


def test_comparison_without_tool_call() -> None:
    usage = {"input_tokens": 20, "output_tokens": 10}
    stream = sse({"choices": [{"delta": {"content": PLAIN}}], "usage": usage})
    assert check_every_split("roo-xml", stream, **FLOW) == Result(
        PLAIN,
        finish_reason="stop",
        usage={"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30},
    )


def test_comparison_without_tool_call_and_without_usage() -> None:
    stream = sse({"choices": [{"delta": {"content": PLAIN}}]})
    assert check_every_split("roo-xml", stream, **FLOW) == Result(PLAIN, finish_reason="stop")


MALFORMED = "<read><filePath>/test.js</read>"
PARTIAL = "Let me read it.\n\n<read>\n<filePath>/test"


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        (MALFORMED, {"unclosed-parameter", "truncated-call"}),
        (PARTIAL, {"truncated-call", "unclosed-parameter"}),
    ],
    ids=["malformed_xml", "partial_xml_at_stream_end"],
)
def test_error_handling(text: str, allowed: set[str]) -> None:
    expected = Result(text, finish_reason="stop")
    for size in (4, 16):
        assert check_every_split("roo-xml", stream_of(text, size), tools=[READ]) == expected
    body = transform_message(message(text), dialect="roo-xml", tools=[READ])
    assert message_result(body) == Result(text, finish_reason="stop")
    _, transformer = run("roo-xml", stream_of(text, 4), tools=[READ])
    (finding,) = transformer.findings
    assert finding.code in allowed
    assert finding.level in ("warning", "error")


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_error_handling_partial_xml_keeps_the_reason_upstream_gave(reason: str) -> None:
    got = check_every_split("roo-xml", stream_of(PARTIAL, 8, finish=reason), tools=[READ])
    assert got == Result(PARTIAL, finish_reason=reason)


def test_error_handling_text_before_partial_xml_is_not_held_back() -> None:
    parts = ["Let me ", "read it.", "\n\n<re", "ad>\n<fileP", "ath>/test"]
    events = [json.dumps({"choices": [{"delta": {"content": part}}]}) for part in parts]
    seen = joined_after_each_event(events, tools=[READ])
    assert [content for content, _, _ in seen] == ["Let me"] + ["Let me read it."] * 4
