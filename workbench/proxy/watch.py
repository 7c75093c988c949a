"""The watch on an answer while it comes: whether one of its reads hits a breakpoint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from transformer.answer.conformance import Conformance
from transformer.answer.stream import StreamTransformer
from transformer.answer.whole import MessageTransformer
from transformer.jsontext import parse_leniently
from transformer.records import Delta, Event, Record, Transition
from workbench.breakpoints import (
    WINDOW,
    Breakpoint,
    CalledTools,
    Calling,
    HeldLong,
    HeldMuch,
    Matching,
    Part,
    record_text,
)
from workbench.patterns import TooSlow
from workbench.tape.recipe import Recipe
from workbench.text import json_object


@dataclass(frozen=True, slots=True)
class Hit:
    """The breakpoint, and what happens."""

    breakpoint: Breakpoint
    words: str


class Watch:
    """Converts the answer once more, with all records, and looks at each of them. It never raises."""

    def __init__(self, breakpoints: Sequence[Breakpoint], recipe: Recipe) -> None:
        self._breakpoints = breakpoints
        self._recipe = recipe
        self._stream: StreamTransformer | None = None
        self._conformance: Conformance | None = None
        self._taken = 0
        self._texts: dict[object, str] = {}  # the ends of the texts so far
        self._bytes = b""
        self._called = CalledTools()
        self._held_since: float | None = None

    def feed(self, data: bytes, t: float) -> Hit | None:
        """One read of a stream, at a time."""
        try:
            if self._stream is None:
                self._stream = self._recipe.stream("all")
                self._conformance = Conformance(self._stream.setting)
            self._stream.feed(data)
            return self._hit(self._stream, data, t)
        except Exception:  # a bug of ours holds nobody up
            return None

    def finish(self, t: float) -> Hit | None:
        """The end of a stream."""
        try:
            if self._stream is None:
                return None
            self._stream.finish()
            return self._hit(self._stream, b"", t, over=True)
        except Exception:
            return None

    def whole(self, body: bytes, t: float) -> Hit | None:
        """An answer in one piece."""
        value = json_object(body)
        if value is None:
            return self.feed(body, t) or self.finish(t)
        try:
            message = self._recipe.message("all")
            self._conformance = Conformance(message.setting, streamed=False)
            message.convert(value, body)
            return self._hit(message, body, t, over=True)
        except Exception:
            return None

    def _hit(
        self,
        transformer: StreamTransformer | MessageTransformer,
        data: bytes,
        t: float,
        over: bool = False,
    ) -> Hit | None:
        records = list(self._new(transformer.records, over))
        texts = list(self._new_texts(records, data))
        names = list(self._new_names(records))
        held = transformer.unaccounted
        most = max((held, *(record.held for record in records if isinstance(record, Transition))))
        was_held, self._held_since = self._held_since, (self._held_since or t) if held else None
        for one in self._breakpoints:
            words = _words(one, records, texts, names)
            if isinstance(one, HeldMuch) and most > one.characters:
                words = one.said(most)
            if isinstance(one, HeldLong) and was_held is not None and t - was_held > one.seconds:
                words = one.said(held, t - was_held)
            if words is not None:
                return Hit(one, words)
        return None

    def _new(self, records: Sequence[Record], over: bool) -> Iterator[Record]:
        """What was recorded since the last look, and how upstream's own events suit clients. Some of that is
        known only when it is over."""
        assert self._conformance is not None
        fresh = records[self._taken :]
        self._taken = len(records)
        for record in fresh:
            if isinstance(record, Delta) and record.kind == "native":
                yield self._conformance.named(record)
            else:
                yield record
            if isinstance(record, Event):
                yield from self._conformance.event(record)
        if over:
            yield from self._conformance.end()

    def _new_texts(self, records: Iterable[Record], data: bytes) -> Iterator[tuple[Part, str, int]]:
        """What each part says now, after the end of what it said before, and where the new text begins."""
        if not any(isinstance(one, Matching) for one in self._breakpoints):
            return
        before, self._bytes = self._bytes, (self._bytes + data)[-WINDOW:]
        if data:
            yield (
                "upstream",
                (before + data).decode("utf-8", "replace"),
                len(before.decode("utf-8", "replace")),
            )
        for record in records:
            if isinstance(record, Event):
                for key, text in _said(record):
                    yield self._grown("upstream", key, text)
            elif isinstance(record, Transition):
                yield "machine", record_text(record), 0
                yield self._grown("machine", (record.span.choice, record.span.channel), record.text)
            elif isinstance(record, Delta):
                yield "client", record_text(record), 0
                yield self._grown("client", (record.choice, record.kind, record.call), record.text)
            else:
                yield "machine", record_text(record), 0

    def _grown(self, part: Part, key: object, text: str) -> tuple[Part, str, int]:
        before = self._texts.get((part, key), "")
        self._texts[part, key] = (before + text)[-WINDOW:]
        return part, before + text, len(before)

    def _new_names(self, records: Iterable[Record]) -> Iterator[str]:
        """The tools that are called; those of calls that upstream makes itself stand in its events."""
        for record in records:
            if (name := self._called.of_record(record)) is not None:
                yield name
            elif isinstance(record, Event) and b'"tool_calls"' in record.data:
                yield from (text for key, text in _said(record) if key[1] == "name")


def _words(
    one: Breakpoint, records: Sequence[Record], texts: Sequence[tuple[Part, str, int]], names: Sequence[str]
) -> str | None:
    if isinstance(one, Calling):
        return one.of_names(names)
    if isinstance(one, Matching):
        return next((words for text in texts if (words := _matched(one, *text)) is not None), None)
    return next((words for record in records if (words := one.of_record(record)) is not None), None)


def _matched(one: Matching, part: Part, text: str, new: int) -> str | None:
    if part not in one.parts:
        return None
    try:
        found = next((m[0] for m in one.regex.finditer(text) if m[0] and m.end() > new), None)
    except TooSlow:
        return None
    return None if found is None else one.said(found, part)


def _said(event: Event) -> Iterator[tuple[tuple[int, str, int], str]]:
    """The texts of one of upstream's events: by choice, field and call."""
    value = parse_leniently(event.data).value
    choices = value.get("choices") if isinstance(value, dict) else None
    for at, choice in enumerate(choices if isinstance(choices, list) else ()):
        said = choice.get("delta") or choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(said, dict):
            continue
        for name in ("content", "reasoning", "reasoning_content"):
            if isinstance(text := said.get(name), str):
                yield (at, name, -1), text
        calls = said.get("tool_calls")
        for number, call in enumerate(calls if isinstance(calls, list) else ()):
            function = call.get("function") if isinstance(call, dict) else None
            for name in ("name", "arguments"):
                if isinstance(function, dict) and isinstance(text := function.get(name), str) and text:
                    yield (at, name, int(call.get("index") or number)), text
