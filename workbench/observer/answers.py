"""Answers: a chat.completion of whatever origin, read without trusting any of its types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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
    """The choices of a completion; what is none is left out."""
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
