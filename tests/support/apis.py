"""Strict clients of the other APIs: the official SDKs' own models and accumulators read every event."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tests.support.client import Result
from tests.support.sdks import anthropic, openai
from tests.support.streams import JSON
from transformer import StreamTransformer

# Codex knows more codes than the SDK's model has.
_MORE_CODES = ("context_length_exceeded", "insufficient_quota")
_STOPS = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}


@cache
def _responses() -> Any:
    """The model of Responses' events."""
    from openai.types.responses import ResponseStreamEvent
    from pydantic import TypeAdapter

    return TypeAdapter(ResponseStreamEvent)


@cache
def _messages() -> Any:
    """The model of Messages' events."""
    from anthropic.types import RawMessageStreamEvent
    from pydantic import TypeAdapter

    return TypeAdapter(RawMessageStreamEvent)


def named_events(data: bytes) -> list[tuple[str, JSON]]:
    """Events with their names: `event:` and `data:`, one line each, as both APIs send them."""
    assert data.endswith(b"\n\n"), data[-80:]
    events = []
    for block in data.decode().removesuffix("\n\n").split("\n\n"):
        name, value = block.split("\n")
        assert name.startswith("event: ") and value.startswith("data: "), block
        event = json.loads(value.removeprefix("data: "))
        assert name.removeprefix("event: ") == event["type"], block
        events.append((event["type"], event))
    return events


# -- Responses


def responses_events(data: bytes) -> list[JSON]:
    """Every event fits its model, and they are numbered."""
    events = [event for _, event in named_events(data)]
    for event in events:
        code = ((event.get("response") or {}).get("error") or {}).get("code")
        if code not in _MORE_CODES:
            _responses().validate_json(json.dumps(event), strict=True)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return events


def responses_result(data: bytes) -> Result:
    """What the SDK has in hand at the end, and what Codex has, which must be the same."""
    from openai.lib.streaming.responses._responses import ResponseStreamState

    events = responses_events(data)
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    last = events[-1]
    state: ResponseStreamState[Any] = ResponseStreamState(input_tools=openai.omit, text_format=openai.omit)
    for event in events:
        state.handle_event(_responses().validate_python(event) if event is not last else _loosely(event))
    whole = last["response"]
    assert last["type"] == f"response.{whole['status']}"
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert whole["output"][: len(done)] == done
    assert len(whole["output"]) == len(done) or whole["status"] == "failed"
    _check_parts(events, done)
    return response_result(whole)


def _loosely(event: JSON) -> Any:
    event = json.loads(json.dumps(event))
    error = event["response"].get("error")
    if error:
        error["code"] = "server_error"
    return _responses().validate_python(event)


def _check_parts(events: list[JSON], done: list[JSON]) -> None:
    """The deltas of an item are its text."""
    for place, item in enumerate(done):
        own = [event for event in events if event.get("output_index") == place]
        assert (
            own[0]["type"] == "response.output_item.added" and own[-1]["type"] == "response.output_item.done"
        )
        assert own[0]["item"]["id"] == item["id"] and {e.get("item_id", item["id"]) for e in own} == {
            item["id"]
        }
        text = "".join(event["delta"] for event in own if event["type"].endswith(".delta"))
        assert text == item_text(item), item


def item_text(item: JSON) -> str:
    if item["type"] in ("function_call", "custom_tool_call"):
        return str(item["input"] if "input" in item else item["arguments"])
    parts = item.get("content") or item.get("summary") or []
    return "".join(part.get("text", part.get("refusal", "")) for part in parts)


def response_result(whole: JSON) -> Result:
    """A whole response, streamed or not."""
    error = whole["error"]
    if not error or error["code"] not in _MORE_CODES:
        openai.types.responses.Response.model_validate_json(json.dumps(whole), strict=True)
    items = whole["output"]
    calls = [item for item in items if item["type"] in ("function_call", "custom_tool_call")]
    cut = (whole["incomplete_details"] or {"reason": ""})["reason"]
    finish = {"max_output_tokens": "length"}.get(cut, cut) or ("tool_calls" if calls else "stop")
    usage = whole["usage"]
    return Result(
        content="".join(item_text(item) for item in items if item["type"] == "message"),
        reasoning="".join(item_text(item) for item in items if item["type"] == "reasoning"),
        calls=[(item["name"], item_text(item)) for item in calls],
        ids=[item["call_id"] for item in calls],
        finish_reason=None if error else finish,
        usage=usage
        and {
            "prompt_tokens": usage["input_tokens"],
            "completion_tokens": usage["output_tokens"],
            "total_tokens": usage["total_tokens"],
        },
        error=error,
    )


# -- Messages


def messages_result(data: bytes) -> Result:
    """What the SDK has in hand at the end."""
    from anthropic.lib.streaming._messages import accumulate_event

    named = [(name, event) for name, event in named_events(data) if name != "ping"]
    if named[-1][0] == "error":
        error = named.pop()[1]["error"]
        assert isinstance(error["type"], str) and isinstance(error["message"], str)
    else:
        assert [name for name, _ in named[-2:]] == ["message_delta", "message_stop"]
        error = None
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for _, event in named:
        parsed = _messages().validate_json(json.dumps(event), strict=True)
        snapshot = accumulate_event(event=parsed, current_snapshot=snapshot, json_bufs=buffers)
    _check_blocks([event for _, event in named], whole=error is None)
    arguments = {index: text.decode() for index, text in buffers.items()}
    return message_result(snapshot.to_dict(), error, arguments)


def _check_blocks(events: list[JSON], whole: bool) -> None:
    """Blocks come one after another; none stays open in a whole message."""
    assert events[0]["type"] == "message_start"
    open_block = None
    count = 0
    for event in events[1:]:
        if event["type"] == "content_block_start":
            assert open_block is None and event["index"] == count
            open_block, count = count, count + 1
        elif event["type"].startswith("content_block"):
            assert event["index"] == open_block
            open_block = None if event["type"] == "content_block_stop" else open_block
    assert open_block is None or not whole


def message_result(whole: JSON, error: JSON | None = None, arguments: dict[int, str] | None = None) -> Result:
    """A whole message, streamed or not."""
    if error is None:
        anthropic.types.Message.model_validate_json(json.dumps(whole), strict=True)
    blocks = whole["content"]
    calls = [(index, block) for index, block in enumerate(blocks) if block["type"] == "tool_use"]
    usage, stop = whole["usage"], whole.get("stop_reason")
    given = usage["input_tokens"] + usage["cache_read_input_tokens"]
    return Result(
        content="".join(block["text"] for block in blocks if block["type"] == "text"),
        reasoning="".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
        calls=[
            (
                block["name"],
                (arguments or {}).get(index, "") if arguments is not None else json.dumps(block["input"]),
            )
            for index, block in calls
        ],
        ids=[block["id"] for _, block in calls],
        finish_reason=None if error else _STOPS[str(stop)],
        usage={
            "prompt_tokens": given,
            "completion_tokens": usage["output_tokens"],
            "total_tokens": given + usage["output_tokens"],
        },
        error=error,
    )


# -- requests


def responses_request(chat: JSON, **more: Any) -> JSON:
    """A chat request of a sample as a client of Responses would have sent it."""
    tools = [{"type": "function", **tool.get("function", tool)} for tool in chat.get("tools") or []]
    return _request(chat, {"input": chat.get("messages", [])}, tools, **more)


def messages_request(chat: JSON, **more: Any) -> JSON:
    tools = [
        {"name": f["name"], "description": f.get("description", ""), "input_schema": f.get("parameters")}
        for f in (tool.get("function", tool) for tool in chat.get("tools") or [])
    ]
    new = _request(chat, {"messages": chat.get("messages", []), "max_tokens": 100}, tools, **more)
    if isinstance(chat.get("tool_choice"), str):
        new["tool_choice"] = {"type": chat["tool_choice"]}
    if chat.get("parallel_tool_calls") is False:
        new["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
    new.pop("parallel_tool_calls", None)
    return new


def _request(chat: JSON, said: JSON, tools: list[JSON], **more: Any) -> JSON:
    names = ("model", "stream", "tool_choice", "parallel_tool_calls")
    kept: JSON = {key: chat[key] for key in names if key in chat}
    return {**kept, **said, **({"tools": tools} if tools else {}), **more}


def transformed(
    frontend: str, dialect: str, reads: list[bytes], error: Any = None, **kwargs: Any
) -> tuple[bytes, StreamTransformer]:
    """All that the client gets, and the transformer."""
    transformer = StreamTransformer(dialect, frontend=frontend, **kwargs)
    out = [transformer.feed(read) for read in reads]
    out.append(transformer.finish() if error is None else transformer.fail(error))
    return b"".join(out), transformer
