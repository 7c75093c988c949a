"""The conformance of one answer, event by event."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from transformer.records import Event
from transformer.setting import Setting
from transformer.stream.upstream import Parsed, error_in, parse_leniently
from workbench.conformance.checks import Check, Tally, make_check, short
from workbench.conformance.choices import ChoiceCheck

_SAME = ("id", "model")
_CALLS, _DONE = b"tool_calls", b"[DONE]"


class Native(NamedTuple):
    """What one event says of a choice's calls: the number of the first of them, and their text."""

    call: int
    text: str


class Conformance:
    """Says which rules of real clients an answer breaks, as soon as that is known.

    Where nothing is converted (`setting.raw`) the client gets upstream's events, so all rules count.
    Elsewhere only upstream's own calls reach it as they came. Linear in the answer; whatever upstream
    sends, nothing is raised.
    """

    def __init__(self, setting: Setting, *, streamed: bool = True) -> None:
        self._setting = setting
        self._streamed = streamed
        self._choices: dict[int, ChoiceCheck] = {}
        self._tally = Tally()
        self._last: Event | None = None
        self._same: dict[str, str] = {}
        self._done = False
        self._failed = False  # an error ends the answer: nothing else is to be expected of it
        self.natives: dict[int, Native] = {}  # of the event given last, by choice

    # -- events

    def event(self, event: Event) -> list[Check]:
        """What an event breaks."""
        self.natives = {}
        data, before = event.data.removeprefix(BOM_UTF8).strip(), self._last
        self._last = event
        if not self._setting.raw:
            # As long as upstream makes no call of its own there is nothing to look at.
            return list(self._json(data, event)) if self._choices or _CALLS in data else []
        if before is not None and event.start < before.end:
            self._last = before
            return []  # lines that the transformer took apart; every client reads them as one event
        return list(self._framed(data, event))

    def _framed(self, data: bytes, event: Event) -> Iterator[Check]:
        if self._done:
            what = "[DONE]" if data == _DONE else "an event"
            yield from self._breach("check-after-done", event, what=what)
        elif data == _DONE:
            self._done = True
        elif not data:
            yield from self._breach("check-empty-data", event)
        else:
            yield from self._json(data, event)

    def _breach(self, code: str, event: Event, **said: object) -> Iterator[Check]:
        if self._setting.raw and self._tally.is_first(code):
            yield make_check(code, event, said)

    def _json(self, data: bytes, event: Event) -> Iterator[Check]:
        value, problem = _parsed(data)[:2]
        if problem is not None:
            yield from self._breach("check-not-json", event, why=short(problem))
        elif not isinstance(value, dict):
            yield from self._breach("check-event-shape", event, what="JSON that is no object")
        elif error_in(value, event.name) is not None:
            self._failed = True
        elif not isinstance(value.get("choices"), list):
            yield from self._breach("check-event-shape", event, what="an event without choices")
        else:
            yield from self._metadata(value, event)
            for part in value["choices"]:
                yield from self._part(part, event)

    def _metadata(self, value: Mapping[str, Any], event: Event) -> Iterator[Check]:
        for key in _SAME:
            now = value.get(key)
            # An empty one is a notice of the server's, such as Azure's first event.
            if isinstance(now, str) and now and self._same.setdefault(key, now) != now:
                was = short(self._same[key])
                yield from self._breach(f"check-answer-{key}", event, was=was, now=short(now))

    def _part(self, part: object, event: Event) -> Iterator[Check]:
        if not isinstance(part, Mapping):
            yield from self._breach("check-event-shape", event, what="a choice that is no object")
            return
        index = part.get("index")
        choice = self._choice(index if type(index) is int else 0)
        delta = part.get("delta") if self._streamed else _as_delta(part.get("message"))
        if isinstance(delta, Mapping):
            yield from choice.delta(delta, event)
            if choice.touched is not None:
                self.natives[choice.index] = Native(choice.touched, _said(delta["tool_calls"]))
        elif delta is not None:
            yield from self._breach("check-event-shape", event, what="a delta that is no object")
        if part.get("finish_reason"):
            yield from choice.finished(part["finish_reason"], event)

    def _choice(self, index: int) -> ChoiceCheck:
        if index not in self._choices:
            self._choices[index] = ChoiceCheck(self._setting, index, self._tally)
        return self._choices[index]

    # -- the end

    def end(self, cut: bool = False) -> list[Check]:
        """The answer is over (`cut`: not by itself): what is known only now, then a line for each call."""
        return [] if self._last is None else list(self._end(self._last, cut or self._failed))

    def _end(self, last: Event, cut: bool) -> Iterator[Check]:
        choices = [self._choices[index] for index in sorted(self._choices)]
        if not cut:
            for choice in choices:
                yield from choice.end(last)
            if self._streamed and not self._done:
                yield from self._breach("check-done-missing", last)
        for choice in choices:
            yield from choice.summaries(cut)
        if self._setting.raw:
            yield self._summary(last, cut)

    def _summary(self, last: Event, cut: bool) -> Check:
        said = str(self._tally)
        if self._failed:
            said = "ends with an error" + ("" if said == "conforms" else f", {said}")
        elif cut and said == "conforms":
            said = "conforms as far as it goes"
        what = "stream" if self._streamed else "message"
        return make_check("check-stream", last, {"what": what, "said": said}, level=self._tally.level)


def _parsed(data: bytes) -> Parsed:
    try:
        return Parsed(orjson.loads(data))
    except orjson.JSONDecodeError:
        return parse_leniently(data)


def _said(calls: list[Any]) -> str:
    """The names and the arguments in a delta."""
    functions = [call.get("function") for call in calls if isinstance(call, Mapping)]
    words = [
        word
        for function in functions
        if isinstance(function, Mapping)
        for word in (function.get("name"), function.get("arguments"))
    ]
    return " ".join(word for word in words if isinstance(word, str) and word)


def _as_delta(message: object) -> object:
    """A whole message as one delta: its calls have their places instead of an index."""
    if not isinstance(message, Mapping) or not isinstance(message.get("tool_calls"), list):
        return message
    calls = [
        {**call, "index": place} if isinstance(call, Mapping) else call
        for place, call in enumerate(message["tool_calls"])
    ]
    return {**message, "tool_calls": calls}
