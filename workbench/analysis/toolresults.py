"""Tool results: the calls of a conversation, each beside the result that came back for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from transformer.answer.observations import Call, calls_in, choices_of, text_in
from transformer.answer.review import argument_problem
from workbench.library.summary import started_of
from workbench.replay.player import Player
from workbench.tape.recipe import chat_request


class Trouble(StrEnum):
    """What is wrong with a link."""

    ERROR = "error"  # the result looks like an error
    MISSING = "missing"  # a later request has the call, or should have it, and no result
    TWICE = "twice"  # one request has more than one result for it
    ARGUMENTS = "arguments"  # the arguments are not a JSON object


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange of a session: what the client asked with, and what it got."""

    exchange: str
    started: float
    request: object
    answer: object


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's answer: in which exchange's request it came back, as which message, and its whole text."""

    exchange: str
    message: int
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """One call. `result` None without Trouble.MISSING: nothing was asked since, so it may still come."""

    exchange: str
    choice: int
    number: int
    call: Call
    result: Result | None
    troubles: tuple[Trouble, ...] = ()


# An error says so in its first words, or in an exit code at its end; in between may be a file's text.
_HEAD, _TAIL = 300, 200
_ERROR_HEAD = re.compile(
    r"""\s*[\[<(*>"']{0,4}\s*(?:
        (?:tool\s)?(?:execution\s)?(?:error|exception|fatal|failure|traceback|panic|aborted|rejected)
            (?:\s*[]:!>)]|\s*\Z|\s*\n|\s\(most|\s(?:occurred|executing|reading|running|while|parsing|calling)\b)
        |(?:failed|unable)\sto\b|(?:permission|access)\sdenied|command\snot\sfound|(?:could\snot|cannot)\s\w
        |(?:file|path|tool|directory)\s(?:\S{1,100}\s)?(?:was\s)?not\sfound
        |unknown\stool|no\ssuch\s(?:file|tool)|invalid\s(?:arguments?|input|tool|json|parameters?)\b
        |(?:the\s)?(?:command|tool|operation|request)\s(?:has\s)?(?:timed\sout|failed)
        |(?:\w{1,50}\.){0,9}\w{0,50}(?:error|exception)\s*[:(]
        |[^\n]{0,120}:\s(?:command\snot\sfound|no\ssuch\sfile\sor\sdirectory|permission\sdenied)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_EXIT = re.compile(
    r"exit(?:ed)?(?:\swith)?[\s_](?:code|status)\s*[:=>]?\s*(?:-\d|[1-9])\d{0,9}\b[^\n]{0,80}\s*\Z",
    re.IGNORECASE,
)
_JSON_KEYS = ("error", "errors")


def turn_of(player: Player, exchange: str | None = None) -> Turn:
    """The turn that a tape holds; `exchange` is the id to show, the tape's own if it is not given."""
    header = player.header
    name = exchange if exchange is not None else str(header.get("id") or "")
    return Turn(name, started_of(header) or 0.0, chat_request(header), player.completion)


def words_before(turn: Turn) -> list[str]:
    """The user's words that the model has not answered before: those after its last message."""
    request = turn.request if isinstance(turn.request, Mapping) else {}
    messages = request.get("messages")
    words: list[str] = []
    for message in reversed(messages if isinstance(messages, list) else []):
        role = message.get("role") if isinstance(message, Mapping) else None
        if role == "assistant":
            break
        if role == "user" and (text := text_in(message.get("content")).strip()):
            words.append(text)
    return words[::-1]


def chain(turns: Iterable[Turn]) -> list[Link]:
    """The calls of a session in the order in which they were made."""
    made: list[_Made] = []
    open_: list[_Made] = []
    by_id: dict[str, list[_Made]] = {}
    for turn in sorted(turns, key=lambda turn: turn.started):
        history = _History(turn)
        if history.continues:
            _settle(by_id, history)
            for call in open_:
                call.missed = True
            open_.clear()
        for call in _calls(turn):
            made.append(call)
            open_.append(call)
            by_id.setdefault(call.call.id, []).append(call)
    return [call.link() for call in made]


class _Made:
    """A call, and what became of it so far."""

    __slots__ = ("call", "choice", "exchange", "missed", "number", "result", "twice")

    def __init__(self, exchange: str, choice: int, number: int, call: Call) -> None:
        self.exchange = exchange
        self.choice = choice
        self.number = number
        self.call = call
        self.result: Result | None = None
        self.missed = False
        self.twice = False

    def link(self) -> Link:
        found = {
            Trouble.ARGUMENTS: argument_problem(self.call.arguments) is not None,
            Trouble.MISSING: self.missed and self.result is None,
            Trouble.TWICE: self.twice,
            Trouble.ERROR: self.result is not None and looks_like_error(self.result.text),
        }
        troubles = tuple(trouble for trouble, there in found.items() if there)
        return Link(self.exchange, self.choice, self.number, self.call, self.result, troubles)


class _History:
    """The calls and results in a request: (id, results) in the order of the calls."""

    def __init__(self, turn: Turn) -> None:
        self.calls: dict[str, list[list[Result]]] = {}
        request = turn.request if isinstance(turn.request, Mapping) else {}
        messages = request.get("messages")
        messages = messages if isinstance(messages, list) else []
        for number, message in enumerate(messages):
            if isinstance(message, Mapping):
                self._message(turn.exchange, number, message)
        # A title is asked for in the same session, without tools and without the conversation.
        self.continues = bool(self.calls) or bool(request.get("tools"))

    def _message(self, exchange: str, number: int, message: Mapping[str, Any]) -> None:
        for call in calls_in(message):
            self.calls.setdefault(call.id, []).append([])
        id = message.get("tool_call_id")
        if message.get("role") != "tool" or not isinstance(id, str):
            return
        # A client that has shortened its history may have kept the result alone.
        occasions = self.calls.setdefault(id, [[]])
        occasions[-1].append(Result(exchange, number, text_in(message.get("content"))))


def _settle(by_id: dict[str, list[_Made]], history: _History) -> None:
    for id, occasions in history.calls.items():
        # Ids may repeat over turns, and the beginning of a history may be gone: pair them from the end.
        for call, results in zip(reversed(by_id.get(id, [])), reversed(occasions), strict=False):
            if results and call.result is None:
                call.result = results[0]
                call.twice = len(results) > 1


def _calls(turn: Turn) -> Iterator[_Made]:
    for choice in choices_of(turn.answer):
        for number, call in enumerate(choice.calls):
            yield _Made(turn.exchange, choice.index, number, call)


def looks_like_error(text: str) -> bool:
    """Whether a result tells of a failure. A guess, by its first and last words."""
    head, _, _ = text[:_HEAD].lstrip().partition("\n")
    if head.startswith("{") and (said := _json_error(text)) is not None:
        return said
    return bool(_ERROR_HEAD.match(text[:_HEAD]) or _EXIT.search(head) or _EXIT.search(text[-_TAIL:]))


def _json_error(text: str) -> bool | None:
    """Whether a JSON object reports an error; None if the result is not one, or says nothing about it."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict):
        return None
    if (
        any(value.get(key) for key in _JSON_KEYS)
        or value.get("isError") is True
        or value.get("is_error") is True
    ):
        return True
    return False if value.get("success") is True or "error" in value else None
