"""Requests to an upstream that keeps conversations itself: a request with the whole conversation becomes one
turn of a chat. A conversation that is known goes on where it was; any other begins a chat with all its text.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from transformer.findings import note
from transformer.jsontext import dumps
from transformer.records import Finding
from transformer.request.history import SYSTEM_ROLES
from transformer.request.offer import content_of
from transformer.upstreams import find_kind
from transformer.upstreams.kind import Call, Now, Options, Place, UpstreamKind
from workbench.config.settings import Upstream
from workbench.library.turns import Chats, Turn

_SO_FAR = "The conversation so far:"
_GO_ON = "Go on with this conversation: answer the last message."
_NAMES = {"user": "User", "assistant": "Assistant"}


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A request as a turn of a chat. `found` is the turn that it follows; None: a chat has to be begun.

    `text` is what is new, `whole` the whole conversation, `system` what is said first in a chat. `digest` is
    of the conversation that was asked with, `following` of what is new in it, `prompt` of `system`.
    """

    upstream: Upstream
    model: str
    stream: bool
    system: str
    text: str
    whole: str
    digest: str
    following: str
    prompt: str
    session: str | None
    found: Turn | None = None
    lost: bool = False
    notes: tuple[Finding, ...] = ()

    @property
    def kind(self) -> UpstreamKind:
        return find_kind(self.upstream.kind)

    @property
    def options(self) -> Options:
        upstream = self.upstream
        return Options(upstream.parent_from, upstream.account, upstream.thinking)

    @property
    def place(self) -> Place:
        """Where it goes on; a chat that is not begun yet has no id."""
        return Place("") if self.found is None else Place(self.found.chat, self.found.parent)

    @property
    def number(self) -> int:
        return 1 if self.found is None else self.found.turn + 1

    def anew(self) -> ChatTurn:
        """The same in a new chat, for one that upstream has lost."""
        return replace(self, found=None, lost=True)

    def begin(self) -> Call:
        """What begins a chat."""
        return self.kind.new_chat(self.model, self.options, _now())

    def call(self, place: Place) -> Call:
        """The turn itself."""
        text = self.text if place.parent is not None else self.whole
        call = self.kind.turn(self.model, self.system, text, place, self.stream, self.options, _now())
        return call._replace(body={**call.body, **self.upstream.extra_body})

    def answered(self, answer: Any, place: Place, tape: str | None) -> Turn | None:
        """What is to be remembered of the answer; None where no turn could continue from there."""
        message = _message_in(answer)
        parent = place.response or place.parent
        if self.upstream.parent_from == "parent_id":
            parent = place.parent or place.response
        if message is None or not parent or not place.chat:
            return None
        return Turn(
            0, _digest(self.digest, message), self.upstream.name, self.model, place.chat, parent, self.number,
            self.prompt, self.session, tape, None, time.time(),
        )  # fmt: skip


def _now() -> Now:
    return Now(time.time(), [str(uuid.uuid4()) for _ in range(2)])


def _message_in(answer: Any) -> Mapping[str, Any] | None:
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    return message if isinstance(message, Mapping) else None


# -- a request -> a turn


def plan(
    asked: Mapping[str, Any],
    sent: Mapping[str, Any],
    upstream: Upstream,
    chats: Chats,
    session: str | None,
    stream: bool,
) -> ChatTurn:
    """The turn that a request is; `asked` is the client's, `sent` the same with tools and calls as text."""
    given, written = _messages(asked), _messages(sent)
    system = "\n\n".join(text for m in written if _is_system(m) and (text := _text(m)))
    talk = [m for m in written if not _is_system(m)]
    last = _last_assistant(given)
    late = [_text(m) for m in given[last + 1 :] if _is_system(m)] if last >= 0 else []
    new = [*late, *(_text(m) for m in talk[_last_assistant(talk) + 1 :])]
    model = sent.get("model")
    turn = ChatTurn(
        upstream,
        model if isinstance(model, str) else "",
        stream,
        system,
        "\n\n".join(text for text in new if text),
        _transcript(talk),
        _digest_of(given),
        _digest_of(given[last + 1 :]),
        _hash(system) if asked.get("tools") else "",
        session,
        notes=_left_out(talk),
    )
    if last < 0 or not turn.text:
        return turn if last < 0 else _resent(turn, "the conversation ends with an answer")
    since = time.time() - upstream.session_hours * 3600
    known = _digest_of(given[: last + 1])
    found = chats.find(known, upstream.name, turn.model, session, turn.following, since)
    if found is None:
        return _resent(turn, "this conversation is not known here, or it was changed")
    if turn.prompt and found.prompt and turn.prompt != found.prompt:
        return _resent(turn, "the tools or the system message differ from those the chat was told")
    return replace(turn, found=found, prompt=found.prompt or turn.prompt)


def _resent(turn: ChatTurn, reason: str) -> ChatTurn:
    return replace(turn, notes=(*turn.notes, note("history-resent", reason=reason)))


def _left_out(messages: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
    count = sum(len(content_of(message.get("content")).others) for message in messages)
    return (note("part-not-sent", count=count),) if count else ()


def _messages(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = body.get("messages")
    return [m for m in messages if isinstance(m, Mapping)] if isinstance(messages, list) else []


def _is_system(message: Mapping[str, Any]) -> bool:
    return message.get("role") in SYSTEM_ROLES


def _last_assistant(messages: Sequence[Mapping[str, Any]]) -> int:
    return max((at for at, m in enumerate(messages) if m.get("role") == "assistant"), default=-1)


def _text(message: Mapping[str, Any]) -> str:
    return content_of(message.get("content")).text


def _transcript(messages: Sequence[Mapping[str, Any]]) -> str:
    """A whole conversation as one text; one that has only begun is what was asked, and nothing else."""
    if _last_assistant(messages) < 0:
        return "\n\n".join(text for m in messages if (text := _text(m)))
    said = (f"{_NAMES.get(str(m.get('role')), 'User')}: {_text(m)}" for m in messages)
    return "\n\n".join([_SO_FAR, *said, _GO_ON])


# -- digests


def _digest_of(messages: Sequence[Mapping[str, Any]]) -> str:
    digest = ""
    for message in messages:
        digest = _digest(digest, message)
    return digest


def _digest(before: str, message: Mapping[str, Any]) -> str:
    """Of a conversation and one more message: who said it, its text, its calls with their arguments.

    Clients rewrite arguments, cut blanks at the ends of texts, and some keep no ids: none of that counts.
    """
    role = str(message.get("role") or "assistant")
    parts = [before, "system" if role in SYSTEM_ROLES else role, _text(message).strip(), *_calls(message)]
    return _hash("\0".join(parts))


def _calls(message: Mapping[str, Any]) -> Iterator[str]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            yield str(function.get("name"))
            yield _canonical(function.get("arguments"))


def _canonical(arguments: Any) -> str:
    """Canonical JSON."""
    try:
        value = json.loads(arguments, parse_float=_number) if isinstance(arguments, str) else arguments
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        return str(arguments)


def _number(literal: str) -> float | int:
    value = float(literal)
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def as_bytes(call: Call) -> bytes:
    try:
        return orjson.dumps(call.body)
    except TypeError:
        return dumps(call.body)
