"""A server for `workbench demo --qwen-chat`: it keeps conversations as Qwen's web chat does, and says in
phases what the script has as OpenAI's streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

import orjson

from transformer.sse import encode
from workbench.demo.conversations import TITLE_PROMPT, Answer, Conversation, Piece
from workbench.demo.traffic import UNKNOWN, Upstream

_ASKED = 1840  # tokens of a request
_PHASES = {"reasoning_content": "think", "content": "answer"}


@dataclass(slots=True)
class _Chat:
    """`places` has the number of the turn that can follow an answer, by the id that the answer gave."""

    places: dict[str | None, int] = field(default_factory=lambda: {None: 0})
    answers: tuple[Answer, ...] = ()


class QwenChatServer(Upstream):
    """A turn of an unknown chat, or after an unknown parent, is refused."""

    path: ClassVar[str] = ""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._chats: dict[str, _Chat] = {}
        self._numbers = count(1)

    def answer(self, path: str, body: bytes) -> Answer:
        path = path.partition("?")[0]
        if path == "/api/models":
            return super().answer(path, body)
        asked = orjson.loads(body)
        if path == "/api/v2/chats/new":
            id = f"chat-{next(self._numbers):04}"
            self._chats[id] = _Chat()
            return _json({"success": True, "data": {"id": id}})
        chat = self._chats.get(asked.get("chat_id"))
        if chat is None:
            return _refused("chat not exist")
        parent = asked.get("parent_id")
        if parent not in chat.places:
            return _refused("parent not exist")
        return self._turn(chat, parent, asked)

    def _turn(self, chat: _Chat, parent: str | None, asked: Mapping[str, Any]) -> Answer:
        if parent is None:
            chat.answers = _answers(self._conversations, [str(one["content"]) for one in asked["messages"]])
        turn = chat.places[parent]
        number = next(self._numbers)
        ids = {
            "chat_id": asked["chat_id"],
            "parent_id": f"turn-{number:04}",
            "response_id": f"answer-{number:04}",
        }
        chat.places[ids["parent_id"]] = turn + 1
        answer = chat.answers[min(turn, len(chat.answers) - 1)]
        return in_phases(answer, ids) if asked.get("stream") else _whole(answer, ids)


def _answers(conversations: Iterable[Conversation], texts: list[str]) -> tuple[Answer, ...]:
    """What is said in a chat that begins with these texts, turn by turn."""
    found = next((one for one in conversations if any(one.asked in text for text in texts)), None)
    if found is None:
        return (UNKNOWN,)
    if any(TITLE_PROMPT in text for text in texts):
        return (found.title or UNKNOWN,)
    return tuple(found.turns)


def in_phases(answer: Answer, ids: Mapping[str, str]) -> Answer:
    """An OpenAI stream as this chat would say it: no index, no reason at the end, no [DONE]."""
    pieces = [Piece(0.3, encode({"response.created": ids}))]
    phase = "answer"
    for number, (wait, said, text) in enumerate(_said(answer), 1):
        if phase not in (said, "answer"):
            pieces.append(Piece(0.0, encode(_delta("", phase, "finished"))))
        phase = said
        usage = {"input_tokens": _ASKED, "output_tokens": number, "total_tokens": _ASKED + number}
        pieces.append(Piece(wait, encode(_delta(text, phase, "typing") | {"usage": usage})))
    pieces.append(Piece(0.05, encode(_delta("", phase, "finished"))))
    return Answer(tuple(pieces))


def _said(answer: Answer) -> Iterator[tuple[float, str, str]]:
    """The texts of an OpenAI stream: seconds before it, phase, text."""
    for piece in answer.pieces:
        chunk = orjson.loads(piece.data[6:]) if piece.data.startswith(b"data: {") else {}
        for choice in chunk.get("choices") or ():
            for key, phase in _PHASES.items():
                if text := choice["delta"].get(key):
                    yield piece.wait, phase, text


def _delta(text: str, phase: str, status: str) -> dict[str, Any]:
    said = {"role": "assistant", "content": text, "phase": phase, "status": status}
    return {"choices": [{"delta": said}]}


def _whole(answer: Answer, ids: Mapping[str, str]) -> Answer:
    text = "".join(text for _, phase, text in _said(answer) if phase == "answer")
    told = {"chat_id": ids["chat_id"], "parent_id": ids["parent_id"], "message_id": ids["response_id"]}
    choices = [{"message": {"role": "assistant", "content": text}}]
    return _json({"success": True, "data": told | {"choices": choices}})


def _refused(details: str) -> Answer:
    return _json({"success": False, "data": {"code": "Not_Found", "details": details}})


def _json(value: Mapping[str, Any]) -> Answer:
    return Answer((Piece(0.1, orjson.dumps(value)),), kind="application/json")
