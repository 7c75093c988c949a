"""Answers as a client got them, read without trusting any of their types, and what is to be said of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from transformer.records import Level

_REASONING = ("reasoning", "reasoning_content")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a message; empty where the message says nothing, or nothing that is text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Answered:
    """One choice: its texts by field, its calls, and how it ended (None: not yet)."""

    index: int
    content: str
    reasoning: Mapping[str, str]  # by field; the same text in both fields is there once
    calls: tuple[Call, ...]
    finish: str | None
    refusal: bool = False

    @property
    def silent(self) -> bool:
        return not self.content.strip() and not self.calls and not self.refusal


def choices_of(answer: object) -> Iterator[Answered]:
    """The choices of a completion; malformed choices are skipped."""
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    for position, choice in enumerate(choices if isinstance(choices, list) else ()):
        message = choice.get("message") if isinstance(choice, Mapping) else None
        if not isinstance(message, Mapping):
            continue
        index, finish = choice.get("index"), choice.get("finish_reason")
        yield Answered(
            index if type(index) is int else position,
            text_in(message.get("content")),
            _reasoning(message),
            tuple(calls_in(message)),
            finish if isinstance(finish, str) else None,
            bool(message.get("refusal")),
        )


def text_in(content: object) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    return "".join(part for part in parts if isinstance(part, str))


def calls_in(message: Mapping[str, Any]) -> Iterator[Call]:
    """The calls of an assistant's message, in order."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if not isinstance(call, Mapping):
            continue
        function = call.get("function")
        function = function if isinstance(function, Mapping) else {}
        yield Call(
            *(_text(value) for value in (call.get("id"), function.get("name"), function.get("arguments")))
        )


def _reasoning(message: Mapping[str, Any]) -> dict[str, str]:
    texts = {field: value for field in _REASONING if isinstance(value := message.get(field), str) and value}
    if len(set(texts.values())) == 1:
        return dict([next(iter(texts.items()))])
    return texts


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# As in the transformer's catalogue: what happened, then what became of it.
OBSERVED: Mapping[str, tuple[Level, str]] = {
    "leaked-markers": ("error", "a call written as {found} reached the client as text: {why}"),
    "other-dialect": (
        "error",
        "this text is a call to {tool} in {found}, but the upstream is set to {dialect}; it stayed text",
    ),
    "call-in-reasoning": (
        "error",
        "a call to {tool}, written as {found}, stands in the reasoning and stayed there; nobody runs it",
    ),
    "cut-by-length": (
        "warning",
        "the answer was cut off: the model reached the limit of tokens (finish_reason length)",
    ),
    "content-filter": (
        "warning",
        "upstream's content filter ended the answer (finish_reason content_filter)",
    ),
    "only-reasoning": ("warning", "the model only thought: the answer has neither text nor a call"),
    "silent-turn": ("warning", "the answer, passed through unchanged, has neither text nor a call"),
    "finish-mismatch": ("warning", "the client was told finish_reason {said!r}, but there is {what}"),
    "bad-arguments": ("error", "the arguments of the call to {tool} are not a JSON object: {why}"),
    "incomplete-call": ("error", "a call came without {what}; clients fail on it"),
    "repeated-id": ("error", "two calls have the id {id!r}; clients keep only one of them"),
    "nothing-offered": ("info", "the request offered no tools, so the answer was passed through unchanged"),
}


@dataclass(frozen=True, slots=True)
class Observation:
    """One of them with its place: characters of a field of the client's message; "" is the whole choice."""

    code: str
    level: Level
    message: str
    choice: int = 0
    channel: str = ""
    start: int = 0
    end: int = 0
    call: int | None = None


def observation(
    code: str, place: tuple[int, str, int, int] = (0, "", 0, 0), call: int | None = None, **values: object
) -> Observation:
    level, sentence = OBSERVED[code]
    return Observation(code, level, sentence.format_map(values), *place, call)
