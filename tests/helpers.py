"""Streams for tests, every way to cut them, and a strict client to read what comes out."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from transformer import StreamTransformer, transform_message
from transformer.provenance import Path, SourceMap, resolve
from transformer.records import Delta, Event, Finding, Span, Transition

JSON: TypeAlias = dict[str, Any]

META: JSON = {
    "id": "chatcmpl-1",
    "object": "chat.completion.chunk",
    "created": 1234567890,
    "model": "qwen3-max",
}
_LINE_END = re.compile(r"\r\n|\n|\r")
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


def calls_made(work: Callable[[], object]) -> int:
    """How many functions are called for some work: the same on every machine, however busy it is."""
    count = 0

    def seen(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


# Upstream: building streams


def sse(*events: JSON | str, done: bool = True, newline: str = "\n") -> bytes:
    """A stream of `data:` events; a str is one event's data as it is, line by line."""
    datas = [event if isinstance(event, str) else _dumps(event) for event in events]
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
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    events: list[JSON] = [{"choices": [{"delta": {channel: part}}]} for part in parts]
    if finish is not None:
        events.append({"choices": [{"delta": {}, "finish_reason": finish}]})
    if usage is not None:
        events.append({"choices": [], "usage": usage})
    return sse(*((meta or {}) | event for event in events), done=done)


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


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# Downstream: the strict client


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
    *whole, rest = _LINE_END.split(data.decode())
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
    """Joins one choice's deltas and asserts the laws of SPEC section 3 on the way."""

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
    metas: set[str] = set()
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
        metas.add(_dumps([event["id"], event["created"], event["model"]]))
        for choice in event["choices"]:
            choices.setdefault(choice["index"], _Choice()).take(choice)
        usage = event.get("usage") or usage
    assert len(metas) <= 1, f"metadata changes on the way: {metas}"
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
    """One choice of a chat.completion object, checked against SPEC section 3."""
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


# In between: running the transformer


def every_split(data: bytes, seed: int = 0) -> Iterator[list[bytes]]:
    """The same bytes cut in every way that matters; long streams get a sample of the two-way cuts."""
    yield [data]
    yield [data[at : at + 1] for at in range(len(data))]
    yield _cut(data, [match.end() for match in _EVENT_END.finditer(data)])
    step = 1 if len(data) <= 3000 else len(data) // 1500
    for at in range(1, len(data), step):
        yield [data[:at], data[at:]]
    chance = random.Random(seed)
    for mean in (2, 3, 7, 20, 20, 60, 60, 200, 200, 1000):
        count = min(len(data) // mean, max(len(data) - 1, 0))
        yield _cut(data, sorted(chance.sample(range(1, len(data)), count)) if count else [])


def _cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *places, len(data)]
    return [data[start:end] for start, end in pairwise(bounds) if start < end]


def transform(dialect: str, reads: bytes | Iterable[bytes], **kwargs: Any) -> tuple[bytes, StreamTransformer]:
    """All that a transformer gives for these reads, and the transformer itself."""
    transformer = StreamTransformer(dialect=dialect, **({"ids": numbered} | kwargs))
    out = [transformer.feed(read) for read in ([reads] if isinstance(reads, bytes) else reads)]
    out.append(transformer.finish())
    assert transformer.finish() == b"", "finish() is idempotent"
    return b"".join(out), transformer


def run(dialect: str, reads: bytes | Iterable[bytes], **kwargs: Any) -> tuple[Result, StreamTransformer]:
    out, transformer = transform(dialect, reads, **kwargs)
    return result(out), transformer


def check_every_split(dialect: str, data: bytes, *, twin: bool = True, **kwargs: Any) -> Result:
    """The result of an answer with one choice, after everything `check_every_split_choices` checks."""
    found = check_every_split_choices(dialect, data, twin=twin, **kwargs)
    assert list(found) == [0], f"choices {list(found)}"
    return found[0]


def check_every_split_choices(
    dialect: str, data: bytes, *, twin: bool = True, **kwargs: Any
) -> dict[int, Result]:
    """Any cut of the same bytes gives the same results and findings, and no character goes missing.

    With `twin`, the whole message made of the same text must give the same answer; that is asked for
    only where upstream's stream is nothing but the text of a message.
    """
    out, whole = transform(dialect, data, **({"records": "all"} | kwargs))
    expected = results(out)
    check_records(whole, data)
    if whole.completion is not None and not any(found.error for found in expected.values()):
        for index, found in expected.items():
            _agree(message_result(whole.completion, index), found, "t.completion")
    if twin:
        _check_twin(dialect, data, expected, kwargs)
    wanted = (expected, {i: r.texts for i, r in expected.items()}, codes(whole), 0)
    joined: dict[bytes, dict[int, Result]] = {out: expected}
    for number, reads in enumerate(every_split(data)):
        # The proxy's hot path keeps findings only: most cuts go that way, a few keep everything.
        records = "all" if number < 3 else "findings"
        out, transformer = transform(dialect, reads, **(kwargs | {"records": records}))
        got = joined.setdefault(out, {}) or results(out)
        joined[out] = got
        seen = (got, {i: r.texts for i, r in got.items()}, codes(transformer), transformer.unaccounted)
        assert seen == wanted, f"reads of {[len(read) for read in reads][:40]} bytes"
    return expected


def codes(transformer: StreamTransformer) -> list[str]:
    return [finding.code for finding in transformer.findings]


def _agree(got: Result, expected: Result, where: str) -> None:
    for name in ("content", "reasoning", "calls", "ids", "finish_reason"):
        assert getattr(got, name) == getattr(expected, name), f"{where}: {name}"


def _check_twin(dialect: str, data: bytes, expected: dict[int, Result], kwargs: JSON) -> None:
    kept = {key: value for key, value in kwargs.items() if key != "records"}
    body = transform_message(message_behind(data), dialect=dialect, **({"ids": numbered} | kept))
    for index, found in expected.items():
        _agree(message_result(body, index), found, "transform_message")


def upstream_events(data: bytes) -> list[JSON]:
    """What upstream said, read naively from all of its bytes; events that are no objects are left out."""
    events: list[str] = []
    lines: list[str] = []
    for line in [*_LINE_END.split(data.decode("utf-8-sig", "replace")), ""]:
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


# Records: where everything came from

_HALF = re.compile("[\ud800-\udfff]")
_MARKUP = re.compile(r"<\|[a-z_]+\|>|</?tool_call>")
_LOST_EVENT = ("bad-json-event", "unknown-event", "event-after-end")


@dataclass
class Channel:
    """One channel of one choice, joined by the test itself from the events' JSON."""

    text: str = ""
    sources: SourceMap = field(default_factory=SourceMap)
    half: tuple[int, Path, int] | None = None  # a first half of a surrogate pair, at the end of an event
    high: str = ""

    def add(self, event: int, text: str, path: Path) -> None:
        half, high = self.half, self.high
        last = len(text) - 1
        self.half, self.high = None, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self.half, self.high, text = (event, path, last), text[-1], text[:-1]
        if half and text and "\udc00" <= text[0] <= "\udfff":
            text = (high + text[0]).encode("utf-16", "surrogatepass").decode("utf-16") + text[1:]
            self.sources.add(event, len(text), path, half=half)
        else:
            if half:
                self.text += "\ufffd"
                self.sources.add(half[0], 1, half[1], first=half[2])
            self.sources.add(event, len(text), path)
        self.text += _HALF.sub("\ufffd", text)

    def end(self) -> None:
        if self.half:
            self.add(self.half[0], "", self.half[1])


def channels_of(events: Iterable[Event]) -> dict[tuple[int, str], Channel]:
    channels: dict[tuple[int, str], Channel] = {}
    for event in events:
        try:
            body = json.loads(event.data.decode("utf-8", "replace"))
        except ValueError:
            continue
        for at, choice in enumerate(body.get("choices") or () if isinstance(body, dict) else ()):
            delta = choice.get("delta") or {}
            for channel, key in _channel_keys(delta):
                path = ("choices", at, "delta", key)
                place = (choice.get("index", 0), channel)
                channels.setdefault(place, Channel()).add(event.number, delta[key], path)
    for joined in channels.values():
        joined.end()
    return channels


def _channel_keys(delta: JSON) -> list[tuple[str, str]]:
    """(channel, field) for each text in a delta, as SPEC section 1 and the Qwen chat's phases have it."""
    keys = [key for key in ("content", "reasoning", "reasoning_content") if isinstance(delta.get(key), str)]
    content = "content" if delta.get("phase") in (None, "answer") else "reasoning"
    both = keys[-2:] == ["reasoning", "reasoning_content"]
    if both and delta["reasoning"] == delta["reasoning_content"]:
        keys.pop()
    elif both and delta["reasoning"] and delta["reasoning_content"]:
        return [(content if key == "content" else key, key) for key in keys]
    return [(content if key == "content" else "reasoning", key) for key in keys]


def check_records(transformer: StreamTransformer, data: bytes) -> None:
    """Every record's span is true, and no upstream character is lost.

    A character is in a delta, or named by a finding, or it is a token or whitespace around one.
    """
    assert transformer.unaccounted == 0
    records = list(transformer.records)
    assert [record.seq for record in records] == sorted({record.seq for record in records})
    events = [record for record in records if isinstance(record, Event)]
    for event in events:
        assert b"\n".join(data[start:end] for start, end in event.lines) == event.data
        assert event.start <= event.lines[0][0] and event.lines[-1][1] <= event.end
    lost = {finding.event for finding in transformer.findings if finding.code in _LOST_EVENT}
    channels = channels_of(event for event in events if event.number not in lost)
    told: dict[tuple[int, str], list[Span]] = {}
    for record in records:
        if isinstance(record, Event) or record.span is None or not record.span.channel:
            continue
        span = record.span
        channel = channels[span.choice, span.channel]
        assert 0 <= span.start <= span.end <= len(channel.text), record
        if not isinstance(record, Transition):
            told.setdefault((span.choice, span.channel), []).append(span)
            _check_bytes(record, span, channel, events, transformer, data)
    for place, channel in channels.items():
        gaps = [channel.text[start:end] for start, end in _gaps(told.get(place, []), len(channel.text))]
        unnamed = [gap for gap in gaps if _MARKUP.sub("", gap).strip()]
        assert not unnamed, f"{place}: no record says what became of {unnamed}"


def _check_bytes(
    record: Delta | Finding,
    span: Span,
    channel: Channel,
    events: list[Event],
    transformer: StreamTransformer,
    data: bytes,
) -> None:
    ranges = resolve(span, channel.sources, events)
    assert transformer.bytes_of(span) == ranges, record
    if isinstance(record, Delta) and record.kind in ("content", "reasoning"):
        assert channel.text[span.start : span.end] == record.text, record
        raw = b"".join(data[start:end] for start, end in ranges)
        text = json.loads('"' + raw.decode("utf-8", "replace") + '"')
        assert _HALF.sub("\ufffd", text) == record.text, record


def _gaps(spans: list[Span], length: int) -> list[tuple[int, int]]:
    gaps: list[tuple[int, int]] = []
    at = 0
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if span.start > at:
            gaps.append((at, span.start))
        at = max(at, span.end)
    return [*gaps, (at, length)] if at < length else gaps
