"""Where everything came from: each record's span is checked against channels that are joined here naively."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tests.support.streams import JSON
from transformer import StreamTransformer
from transformer.provenance import Path, SourceMap, resolve
from transformer.records import Delta, Effect, Event, Finding, Span, Transition

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
    """(channel, field) for each text in a delta, as docs/spec.md and the Qwen chat's phases have it."""
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
        if isinstance(record, Transition) and Effect.MARKUP in record.effect:
            told.setdefault((span.choice, span.channel), []).append(span)
        elif not isinstance(record, Transition):
            told.setdefault((span.choice, span.channel), []).append(span)
            _check_bytes(record, span, channel, events, transformer, data)
    dialect = transformer.setting.dialect
    for span in _ends_of_objects(records) if dialect.own_json or dialect.chooses else ():
        told.setdefault((span.choice, span.channel), []).append(span)
    for place, channel in channels.items():
        gaps = [channel.text[start:end] for start, end in _gaps(told.get(place, []), len(channel.text))]
        unnamed = [gap for gap in gaps if _MARKUP.sub("", gap).strip()]
        assert not unnamed, f"{place}: no record says what became of {unnamed}"


def _ends_of_objects(records: Sequence[object]) -> Iterator[Span]:
    """The text between a call's arguments and its end: the rest of the JSON object around them."""
    begins: dict[tuple[int, int | None], Span] = {}
    for record in records:
        if isinstance(record, Delta) and record.kind in ("call", "arguments") and record.span is not None:
            begins[record.choice, record.call] = record.span
    for record in records:
        if isinstance(record, Transition) and record.effect & (Effect.COMPLETES | Effect.CUTS):
            begin = begins.get((record.span.choice, record.call))
            if begin is not None and begin.channel == record.span.channel:
                yield replace(begin, end=max(begin.end, record.span.end))


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
