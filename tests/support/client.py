"""A strict client: what it has in hand when an answer is over, and the rules it insists on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from tests.support.streams import JSON, LINE_END


@dataclass(frozen=True)
class Result:
    """What a client has in hand when one choice of an answer is over."""

    content: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    usage: JSON | None = None
    error: JSON | None = None
    texts: dict[str, str] = field(default_factory=dict, compare=False)  # every text field by its own name


def events_of(data: bytes) -> list[str]:
    """The data of each event, insisting on what strict SSE clients insist on."""
    events: list[str] = []
    lines: list[str] = []
    *whole, rest = LINE_END.split(data.decode())
    assert rest == "" and not (whole and whole[-1]), f"the last event lacks its blank line: {data[-80:]!r}"
    for line in whole:
        if not line and lines:
            events.append("\n".join(lines))
            lines = []
        elif line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))
            assert lines[-1], "an empty data line, which OpenCode takes for garbage"
        else:
            assert line == "" or line.startswith((":", "event:", "id:", "retry:")), f"no SSE: {line!r}"
    return events


class _Choice:
    """Joins one choice's deltas and asserts the laws of docs/spec.md, section 3, on the way."""

    def __init__(self) -> None:
        self.deltas = 0
        self.texts: dict[str, list[str]] = {}
        self.calls: list[tuple[str, str, list[str]]] = []
        self.finish_reason: str | None = None

    def take(self, choice: JSON) -> None:
        delta = choice.get("delta") or {}
        if self.deltas == 0:
            assert delta.get("role") == "assistant", f"no role in the first delta: {choice}"
        else:
            assert delta.get("role") is None, f"role again: {choice}"
        self.deltas += 1
        said = [
            key
            for key in ("content", "reasoning", "reasoning_content", "refusal", "tool_calls")
            if delta.get(key)
        ]
        assert self.finish_reason is None or not said, f"{said} after finish_reason: {choice}"
        for key in said:
            if key == "tool_calls":
                for call in delta[key]:
                    self.take_call(call)
            else:
                self.texts.setdefault(key, []).append(delta[key])
        if choice.get("finish_reason") is not None:
            assert self.finish_reason is None, f"finish_reason again: {choice}"
            self.finish_reason = choice["finish_reason"]
        assert "finish_reason" not in delta, f"finish_reason belongs to the choice: {choice}"

    def take_call(self, call: JSON) -> None:
        assert isinstance(call.get("index"), int), f"no index: {call}"
        function = call.get("function", {})
        if call["index"] == len(self.calls):
            assert call.get("type") == "function", f"no type in a call's first delta: {call}"
            assert isinstance(call.get("id"), str) and call["id"], f"no id in a call's first delta: {call}"
            assert isinstance(function.get("name"), str) and function["name"], (
                f"no name in the first delta: {call}"
            )
            self.calls.append((call["id"], function["name"], [function.get("arguments", "")]))
        else:
            assert call["index"] == len(self.calls) - 1, f"index out of order: {call}"
            assert "id" not in call and "type" not in call and "name" not in function, f"said twice: {call}"
            self.calls[-1][2].append(function["arguments"])

    def result(self, usage: JSON | None, error: JSON | None) -> Result:
        texts = {key: "".join(parts) for key, parts in self.texts.items()}
        return Result(
            content=texts.get("content", ""),
            reasoning=texts.get("reasoning_content", texts.get("reasoning", "")),
            calls=[(name, "".join(arguments)) for _, name, arguments in self.calls],
            ids=[id for id, _, _ in self.calls],
            finish_reason=self.finish_reason,
            usage=usage,
            error=error,
            texts=texts,
        )


def chunks_of(data: bytes) -> list[JSON]:
    """Every event's JSON but the closing [DONE], which must be there once, at the end."""
    events = events_of(data)
    assert events and events[-1] == "[DONE]", "no [DONE] at the end"
    assert events.count("[DONE]") == 1, "[DONE] more than once"
    chunks = [json.loads(event) for event in events[:-1]]
    assert all(isinstance(event, dict) for event in chunks)
    return chunks


def results(data: bytes) -> dict[int, Result]:
    """What a strict client joins from the stream, by choice; an error before any choice is choice 0's."""
    choices: dict[int, _Choice] = {}
    usage: JSON | None = None
    error: JSON | None = None
    meta: list[object] | None = None
    for event in chunks_of(data):
        assert error is None, f"something after the error: {event}"
        if "error" in event:
            error = event["error"]
            assert isinstance(error, dict) and isinstance(error.get("message"), str), (
                f"no OpenAI error: {event}"
            )
            assert isinstance(error.get("type"), str), f"no OpenAI error: {event}"
            continue
        assert event["object"] == "chat.completion.chunk", event
        own = [event["id"], event["created"], event["model"]]
        assert meta is None or own == meta, f"metadata changes on the way: {own} after {meta}"
        meta = own
        for choice in event["choices"]:
            choices.setdefault(choice["index"], _Choice()).take(choice)
        usage = event.get("usage") or usage
    assert error or choices, "an empty success"
    assert error or all(choice.finish_reason for choice in choices.values()), "no finish_reason"
    for choice in choices.values():
        ids = [call[0] for call in choice.calls]
        assert len(ids) == len(set(ids)), f"ids are not unique: {ids}"
    if not choices:
        return {0: Result(usage=usage, error=error)}
    return {index: choice.result(usage, error) for index, choice in choices.items()}


def result(data: bytes) -> Result:
    """The only choice of an answer."""
    found = results(data)
    assert list(found) == [0], f"choices {list(found)}"
    return found[0]


def message_result(body: JSON, index: int = 0) -> Result:
    """One choice of a chat.completion object, checked against docs/spec.md, section 3."""
    choice = next(choice for choice in body["choices"] if choice["index"] == index)
    said = choice["message"]
    assert said["role"] == "assistant"
    assert said.get("content") != "", "empty content is null in a whole message"
    assert said.get("tool_calls") != [], "no tool_calls key when there are none"
    calls = said.get("tool_calls") or []
    assert all(call["type"] == "function" and "index" not in call for call in calls), calls
    texts = {key: said[key] for key in ("content", "reasoning", "reasoning_content") if said.get(key)}
    return Result(
        content=texts.get("content", ""),
        reasoning=texts.get("reasoning_content", texts.get("reasoning", "")),
        calls=[(call["function"]["name"], call["function"]["arguments"]) for call in calls],
        ids=[call["id"] for call in calls],
        finish_reason=choice["finish_reason"],
        usage=body.get("usage"),
        error=body.get("error"),
        texts=texts,
    )
