"""A review of a whole answer: what its conversion did not name, such as calls that stayed text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from transformer.answer.leaks import LeakContext, leaks, thoughts
from transformer.answer.observations import Answered, Observation, choices_of, observation, text_in
from transformer.answer.setting import Setting, make_setting
from transformer.dialects import UNCONVERTED
from transformer.policy import Policy

_ENDS = {"length": "cut-by-length", "content_filter": "content-filter"}


def observed(
    answer: object,
    request: object = None,
    dialect: str = UNCONVERTED,
    policy: Policy | Mapping[str, Any] | None = None,
) -> tuple[Observation, ...]:
    """What the transformer does not say of an answer itself.

    `answer` is a chat.completion as the client got it, finished or not; `request` is the client's body.
    """
    body = request if isinstance(request, Mapping) else None
    try:
        setting = make_setting(dialect, policy=policy, request=body)
        return tuple(_look(choices_of(answer), setting, body))
    except Exception:
        # The proxy asks at the end of every answer: it is better to report nothing than to disturb an
        # exchange.
        return ()


def _look(
    choices: Iterator[Answered], setting: Setting, body: Mapping[str, Any] | None
) -> Iterator[Observation]:
    context = LeakContext(setting, _asked(body), _why(setting, body))
    if body is not None and not setting.tools_known:
        yield observation("nothing-offered")
    watched = body is None or setting.tools_known or _has_called(body)
    for choice in choices:
        if watched:
            yield from leaks(choice, context)
            yield from thoughts(choice, context)
        yield from _end(choice, setting)
        if not setting.converts or not setting.dialect.own_json:
            yield from _calls(choice)


def _end(choice: Answered, setting: Setting) -> Iterator[Observation]:
    """What can be said only once there is a finish_reason."""
    if choice.finish is None:
        return
    place = (choice.index, "", 0, 0)
    if choice.finish in _ENDS:
        yield observation(_ENDS[choice.finish], place)
    elif choice.silent and any(text.strip() for text in choice.reasoning.values()):
        yield observation("only-reasoning", place)
    elif choice.silent and not choice.content and not setting.converts:
        yield observation("silent-turn", place)
    if choice.finish == "tool_calls" and not choice.calls:
        yield observation("finish-mismatch", place, said=choice.finish, what="no call")
    elif choice.finish == "stop" and choice.calls:
        yield observation("finish-mismatch", place, said=choice.finish, what="a call")


def _calls(choice: Answered) -> Iterator[Observation]:
    """Calls that upstream sent itself went on unchanged, so they may be anything."""
    seen: set[str] = set()
    for number, call in enumerate(choice.calls):
        place = (choice.index, "", 0, 0)
        missing = " and ".join(what for what in ("name", "id") if not getattr(call, what))
        if missing:
            yield observation("incomplete-call", place, number, what=f"its {missing}")
        if call.id and call.id in seen:
            yield observation("repeated-id", place, number, id=call.id[:100])
        seen.add(call.id)
        problem = argument_problem(call.arguments)
        # A call that still grows, or was cut off, says nothing about the server.
        if problem and choice.finish not in (None, "length"):
            yield observation("bad-arguments", place, number, tool=call.name[:100] or "a tool", why=problem)


def argument_problem(arguments: str) -> str | None:
    """Why a client cannot use them, or None."""
    if not arguments.strip():
        return "they are empty"
    try:
        value = orjson.loads(arguments)
    except orjson.JSONDecodeError as error:
        return str(error)[:200]
    return None if isinstance(value, dict) else "they are JSON of another type"


def _why(setting: Setting, body: Mapping[str, Any] | None) -> str:
    """If nothing was converted, the reason."""
    if not setting.dialect.converts:
        return f"the dialect is {setting.dialect.name}, which converts nothing"
    if not setting.converts and body is not None and body.get("tool_choice") == "none":
        return "the client asked for tool_choice none, so nothing was converted"
    if not setting.converts:
        return "the request offered no tools, so nothing was converted"
    return f"{setting.dialect.name} does not read it as one"


def _messages(body: Mapping[str, Any] | None) -> list[Any]:
    messages = body.get("messages") if body is not None else None
    return messages if isinstance(messages, list) else []


def _asked(body: Mapping[str, Any] | None) -> str:
    """The user's last words: a user who asks about a format gets an answer that shows it."""
    for message in reversed(_messages(body)):
        if isinstance(message, Mapping) and message.get("role") == "user":
            return text_in(message.get("content"))
    return ""


def _has_called(body: Mapping[str, Any]) -> bool:
    """A client with calls in its history reads no text for them; one without may well do so."""
    return any(
        isinstance(m, Mapping) and (m.get("role") == "tool" or m.get("tool_calls")) for m in _messages(body)
    )
