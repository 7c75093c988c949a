"""Streams and completions as servers send them, built for tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

JSON: TypeAlias = dict[str, Any]

META: JSON = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1234567890,
    "model": "qwen3-max",
}
_HERE = "\0here"
LINE_END = re.compile(r"\r\n|\n|\r")


def sse(*events: JSON | str, done: bool = True, newline: str = "\n") -> bytes:
    """A stream of `data:` events; a str is one event's data as it is, line by line."""
    datas = [event if isinstance(event, str) else dumps(event) for event in events]
    if done:
        datas.append("[DONE]")
    framed = ["".join(f"data: {line}{newline}" for line in data.split("\n")) for data in datas]
    return "".join(event + newline for event in framed).encode()


def chunk(
    content: str | None = None,
    reasoning: str | None = None,
    *,
    index: int = 0,
    finish_reason: str | None = None,
    **delta: Any,
) -> JSON:
    """One chunk without its metadata; reasoning is in both fields, as Kimi's hosts send it."""
    if content is not None:
        delta["content"] = content
    if reasoning is not None:
        delta |= {"reasoning": reasoning, "reasoning_content": reasoning}
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish_reason}]}


def stream_of(
    text: str,
    size: int = 5,
    channel: str = "content",
    *,
    finish: str | None = "stop",
    usage: JSON | None = None,
    meta: JSON | None = None,
    done: bool = True,
) -> bytes:
    """What a model wrote, as a stream of deltas of `size` characters each.

    The chunks are as small as some servers really send them: every byte is one more cut to try.
    """
    meta = meta or {}
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    # The bytes around the text are the same each time.
    around = dumps(meta | {"choices": [{"delta": {channel: _HERE}}]}).split(dumps(_HERE))
    events: list[JSON | str] = [dumps(part).join(around) for part in parts]
    if finish is not None:
        events.append(meta | {"choices": [{"delta": {}, "finish_reason": finish}]})
    if usage is not None:
        events.append(meta | {"choices": [], "usage": usage})
    return sse(*events, done=done)


def message(text: str | None, *, finish: str | None = "stop", **fields: Any) -> JSON:
    """One chat.completion as upstream sends it; `fields` replace or add at the top."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return {**META, "object": "chat.completion", "choices": [choice], **fields}


def tool(
    name: str, properties: JSON | None = None, required: Iterable[str] | None = None, **more: Any
) -> JSON:
    """A tool as a client offers it; all its parameters are required unless told."""
    properties = properties or {}
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters | more}}


def fixed(*ids: str) -> Callable[[int], str]:
    """An `ids` function that gives out these."""
    return lambda number: ids[number]


def numbered(number: int) -> str:
    return f"call_{number}"


_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  # json.dumps makes one for each value


def dumps(value: Any) -> str:
    return _encoder.encode(value)


def upstream_events(data: bytes) -> list[JSON]:
    """What upstream said, read naively from all of its bytes; events that are not objects are left out."""
    events: list[str] = []
    lines: list[str] = []
    for line in [*LINE_END.split(data.decode("utf-8-sig", "replace")), ""]:
        if line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
        elif line == "" and lines:
            events.append("\n".join(lines))
            lines = []
    found = []
    for event in events:
        try:
            found.append(json.loads(event, strict=False))
        except ValueError:
            continue
    return [event for event in found if isinstance(event, dict)]


def message_behind(data: bytes) -> JSON:
    """The chat.completion that upstream would have sent instead of this stream."""
    choices: dict[int, JSON] = {}
    for event in upstream_events(data):
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            index = choice.get("index", 0)
            said = {"role": "assistant", "content": None}
            joined = choices.setdefault(index, {"index": index, "message": said, "finish_reason": None})
            thinks = delta.get("phase") not in (None, "answer")
            for key in ("content", "reasoning", "reasoning_content"):
                name = "reasoning_content" if thinks and key == "content" else key
                if isinstance(delta.get(key), str):
                    joined["message"][name] = (joined["message"].get(name) or "") + delta[key]
            said_last = choice.get("finish_reason") or delta.get("finish_reason")
            joined["finish_reason"] = said_last or joined["finish_reason"]
    return {**META, "object": "chat.completion", "choices": [choices[index] for index in sorted(choices)]}
