"""Upstream's events: what each of them says, whatever its server's habits, told to its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orjson import JSONDecodeError, loads

from transformer.answer.answer import Answer
from transformer.answer.choice import Choice
from transformer.frontends.shape import FIELDS, PATIENCE, Shape, learn
from transformer.journal import Journal
from transformer.jsontext import Object, has_long_number, parse_leniently
from transformer.sse import Frame

REASONING = ("reasoning", "reasoning_content")


def stands_alone(line: bytes) -> bool:
    """A data line that is an event by itself."""
    return line.strip() in (b"", b"[DONE]") or isinstance(parse_leniently(line).value, dict)


def error_in(obj: Mapping[str, Any], name: str = "") -> Any:
    """The error an event reports, in any of the shapes servers have for it; None if it reports none."""
    error = obj.get("error")
    if error:
        return error
    if name == "error" or obj.get("object") == "error" or obj.get("success") is False:
        return obj
    return None


def reasoning_of(delta: dict[str, Any]) -> list[tuple[str, tuple[str, ...], str]]:
    """(channel, fields, text) of the reasoning in a delta; both fields with one text are one channel."""
    first, second = (delta.pop(field, None) for field in REASONING)
    if isinstance(first, str) and isinstance(second, str) and first and second:
        if first == second:
            return [("reasoning", REASONING, first)]
        return [("reasoning", REASONING[:1], first), ("reasoning_content", REASONING[1:], second)]
    found: list[tuple[str, tuple[str, ...], str]] = []
    for field, text in zip(REASONING, (first, second), strict=True):
        if isinstance(text, str):
            if text:
                found.append(("reasoning", (field,), text))
        elif text is not None:
            delta[field] = text
    return found


def openai_usage(usage: Object) -> Object:
    """Usage as OpenAI counts it; Qwen's chat counts input and output tokens."""
    if "prompt_tokens" in usage or not ("input_tokens" in usage or "output_tokens" in usage):
        return usage
    given, made, total = (_count(usage.get(f"{word}_tokens")) for word in ("input", "output", "total"))
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": total or given + made}


def _count(tokens: object) -> int:
    return tokens if isinstance(tokens, int) else 0


def phase_of(delta: dict[str, Any]) -> tuple[str | None, bool]:
    """Qwen's chat marks phases: which one this is, and whether it ends the answer."""
    phase = delta.get("phase")
    if not isinstance(phase, str):
        return None, False
    status = delta.pop("status", None)
    del delta["phase"]
    return phase, phase == "answer" and status == "finished"


_CONTENT = ("content",)
_THINKING = ("reasoning_content",)
_EXCERPT = 120


class EventReader:
    """Reads events one by one; most of them have the shape of the one before."""

    __slots__ = ("_careful", "_only_field", "_patience", "_place", "_shape", "answer", "journal")

    def __init__(self, answer: Answer, journal: Journal) -> None:
        self.answer = answer
        self.journal = journal
        # Text needs more than its machine: a record of its source, a check for refused tools, or (once
        # an event was not strictly JSON) a look at halves of surrogate pairs.
        self._careful = journal.all or answer.setting.policy.unknown_tools == "error"
        self._shape: Shape | None = None
        self._patience = PATIENCE
        self._only_field: str | None = None  # of the event's delta
        self._place = "delta"  # where the choice that is being read has its text

    def event(self, frame: Frame) -> None:
        journal, answer = self.journal, self.answer
        journal.event += 1
        if journal.all:
            journal.saw(frame)
        data = frame[0]
        self._only_field = None
        shape = self._shape
        if shape is not None and not answer.ended and (text := shape.text(data)) is not None:
            self._shaped(shape, text)
            return
        try:
            obj = loads(data)
        except JSONDecodeError:
            self._odd_event(frame)
            return
        if has_long_number(data):
            obj = parse_leniently(data).value or obj
        choices = obj.get("choices") if type(obj) is dict else None
        if not choices or type(choices) is not list or answer.ended or "error" in obj:
            self._other_event(obj, frame)
        else:
            self._choices(obj, choices)
            if self._patience:
                self._learn(data, obj, choices)

    def _shaped(self, shape: Shape, text: str) -> None:
        """An event like the one before: only its text is new."""
        answer = self.answer
        client = answer.client
        client.envelope, client.part, client.shape = shape.obj, shape.part, shape
        self._place = "delta"
        self._patience = PATIENCE
        if text:
            channel = "content" if shape.field == "content" else "reasoning"
            choice = answer.choices[shape.index]
            if self._careful:
                self._text(choice, 0, channel, shape.fields, text)
            else:
                choice.text(channel, shape.fields, text)

    def _learn(self, data: bytes, obj: Object, choices: list[Any]) -> None:
        """The next event may have the shape of this one, if this one had nothing but a text."""
        field = self._only_field
        if field in FIELDS and len(choices) == 1 and not self.answer.ended:
            self._shape = learn(data, obj, field)
            self._patience -= 1

    def _odd_event(self, frame: Frame) -> None:
        """What orjson does not read: the end, an empty line, JSON with a flaw, or no JSON at all."""
        data, name, _, _, lines = frame
        if len(lines) > 1 and all(stands_alone(line) for line in data.split(b"\n")):
            # Somebody forgot the blank lines: each line is an event.
            for line, (start, end) in zip(data.split(b"\n"), lines, strict=True):
                self.event((line, name, start, end, ((start, end),)))
            return
        word = data.strip()
        if word == b"[DONE]":
            self.answer.end()
        elif word:
            obj, problem, repaired = parse_leniently(word)
            if problem is not None:
                self._note("bad-json-event", data, problem)
                return
            if repaired:
                self.journal.found(repaired)
            self._careful = True
            self._other_event(obj, frame)

    def _other_event(self, obj: Any, frame: Frame) -> None:
        """Any event, whatever it is."""
        answer, data = self.answer, frame[0]
        choices = obj.get("choices") if isinstance(obj, dict) else None
        if answer.ended:
            self._note("event-after-end", data)
        elif not isinstance(obj, dict):
            self._note("unknown-event", data)
        elif (error := error_in(obj, frame[1])) is not None:
            if isinstance(choices, list):
                self._choices({key: value for key, value in obj.items() if key != "error"}, choices)
            answer.report_error(error)
        elif isinstance(choices, list) and choices:
            self._choices(obj, choices)
        elif isinstance(obj.get("usage"), dict):
            answer.usage = obj | {"usage": openai_usage(obj["usage"])}
        elif isinstance(created := obj.get("response.created"), dict):
            if not answer.choices:
                answer.client.made("id", f"chatcmpl-{created.get('response_id') or 'qwen'}")
        elif choices == []:
            answer.client.other(obj)
            self.journal.sent("other", 0)
        else:
            self._note("unknown-event", data)

    def _choices(self, obj: Object, choices: list[Any]) -> None:
        if "usage" in obj:
            self._count_usage(obj)
        for position, part in enumerate(choices):
            if type(part) is dict and not self.answer.ended:
                self._choice(obj, part, position)

    def _count_usage(self, obj: Object) -> None:
        """Qwen's chat tells the usage so far with every chunk; the client gets the last, at the end."""
        usage = obj["usage"]
        if isinstance(usage, dict):
            mapped = openai_usage(usage)
            if mapped is usage:
                self.answer.client.last_usage, self.answer.client.usage_told = usage, False
            else:
                del obj["usage"]
                self.answer.usage = {"usage": mapped}

    def _choice(self, obj: Object, part: Object, position: int) -> None:
        choice = self.answer.choice(part.get("index"))
        client = self.answer.client
        client.envelope, client.part, client.shape = obj, part, None
        self._place = "delta"
        delta = part.get("delta")
        if type(delta) is not dict:
            delta = self._whole_message(part)
        if len(delta) == 1 and part.get("logprobs") is None and obj.get("usage") is None:
            self._only_field = next(iter(delta))
        finish = delta.pop("finish_reason", None)
        finish = part.get("finish_reason") or finish
        if finish:
            choice.upstream_finish = str(finish)
            choice.finish_event = (obj, part)
            self._only_field = None
        content = delta.pop("content", None)
        if delta or type(content) is not str:
            self._delta(choice, position, delta, content)
        elif content:
            if self._careful:
                self._text(choice, position, "content", _CONTENT, content)
            else:
                choice.text("content", _CONTENT, content)

    def _whole_message(self, part: Object) -> Object:
        """Some servers put a message where a stream has deltas."""
        message = part.pop("message", None)
        self._place = "message"
        return message if type(message) is dict else {}

    def _delta(self, choice: Choice, position: int, delta: Object, content: Any) -> None:
        """A delta that has more than content: a role, reasoning, calls of its own, Qwen's phases."""
        role = delta.pop("role", None)
        phase, last = phase_of(delta)
        for channel, fields, text in reasoning_of(delta):
            self._text(choice, position, channel, fields, text)
        if isinstance(content, str):
            if content and phase in (None, "answer"):
                self._text(choice, position, "content", _CONTENT, content)
            elif content:
                self._text(choice, position, "reasoning", _THINKING, content, "content")
        elif content is not None:
            delta["content"] = content
        rest = {key: value for key, value in delta.items() if value is not None}
        if rest:
            choice.pass_on(rest)
        elif role:
            choice.role()
        if last:
            self.answer.end()

    def _text(
        self, choice: Choice, position: int, channel: str, fields: tuple[str, ...], text: str, field: str = ""
    ) -> None:
        path = ("choices", position, self._place, field or fields[0])
        self.answer.text(choice, channel, fields, text, path)

    def _note(self, code: str, data: bytes, reason: str = "") -> None:
        self.journal.found(code, excerpt=data[:_EXCERPT].decode("utf-8", "replace"), reason=reason)

    def clone(self, answer: Answer, journal: Journal) -> EventReader:
        twin = EventReader(answer, journal)
        twin._careful, twin._shape, twin._patience = self._careful, self._shape, self._patience
        return twin
