"""A qwen-chat server for tests: it checks every request against the contract, and misbehaves when told to.

    with ScriptedUpstream() as upstream:
        server = QwenChatServer(upstream, lambda text: "Hello!")
        ... server.turns[0].text ...

What a request does wrong is in `wrong`, and the request is refused; a test ends with `server.check()`.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.upstream.answers import Answer, failure, stream, whole
from tests.support.upstream.connection import Seen
from tests.support.upstream.server import ScriptedUpstream

JSON = dict[str, Any]
Misbehaviour = Callable[["QwenChatServer", "Turn"], Answer]


@dataclass
class Turn:
    """One completion that was asked for."""

    chat: str
    parent: str | None
    body: JSON
    response: str = field(default_factory=lambda: str(uuid.uuid4()))
    node: str = field(default_factory=lambda: str(uuid.uuid4()))  # what the next turn follows

    @property
    def text(self) -> str:
        return str(self.body["messages"][-1]["content"])

    @property
    def system(self) -> str | None:
        first = self.body["messages"][0]
        return str(first["content"]) if first["role"] == "system" else None


class QwenChatServer:
    def __init__(
        self, upstream: ScriptedUpstream, model: Callable[[str], str], *, parent_from: str = "parent_id"
    ) -> None:
        self.model = model
        self.parent_from = parent_from
        self.chats: dict[str, set[str | None]] = {}  # the places where each can go on
        self.turns: list[Turn] = []
        self.wrong: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.next: list[Misbehaviour] = []  # for the next completions, one each
        self.fail: list[Answer] = []  # instead of the next answers to anything
        self.models = 0
        upstream.answer_with(self)

    def __call__(self, seen: Seen) -> Answer:
        self.headers.append({key.lower(): value for key, value in seen.headers})
        url = urlsplit(seen.path)
        if url.path == "/api/models":
            self.models += 1
            return whole({"data": [{"id": "qwen3-max", "name": "Qwen3-Max", "info": {}}]})
        if self.fail:
            return self.fail.pop(0)
        body = json.loads(seen.body)
        before = len(self.wrong)
        if url.path == "/api/v2/chats/new":
            return self._new(body)
        if url.path == "/api/v2/chat/completions":
            return self._completion(body, parse_qs(url.query).get("chat_id", [""])[0], before)
        self.wrong.append(f"there is no {url.path}")
        return failure(404, {"success": False, "data": {"code": "no_path"}})

    def check(self) -> None:
        assert self.wrong == []

    def forget(self) -> None:
        """All chats are gone, as after an expiry."""
        self.chats.clear()

    # -- the contract

    def _new(self, body: JSON) -> Answer:
        self._want(
            set(body) == {"title", "models", "chat_mode", "chat_type", "timestamp"}, "keys of a new chat"
        )
        self._want(abs(body["timestamp"] / 1000 - time.time()) < 60, "milliseconds")
        self._want(body["chat_mode"] in ("guest", "normal") and body["chat_type"] == "t2t", "its mode")
        chat = str(uuid.uuid4())
        self.chats[chat] = {None}
        return whole({"success": True, "data": {"id": chat}})

    def _completion(self, body: JSON, chat: str, before: int) -> Answer:
        turn = Turn(chat, body.get("parent_id"), body)
        if body.get("chat_id") not in self.chats:
            return whole({"success": False, "data": {"code": "Not_Found", "details": "chat not exist"}})
        self._want(body["chat_id"] == chat, "chat_id in the query")
        self._want(turn.parent in self.chats[chat], f"an unknown parent {turn.parent}")
        self._want(abs(body["timestamp"] - time.time()) < 60, "seconds")
        self._want(body["incremental_output"] is True and isinstance(body["stream"], bool), "its switches")
        self._messages(body, turn)
        if len(self.wrong) > before:
            return failure(
                400, {"success": False, "data": {"code": "Bad_Request", "details": self.wrong[-1]}}
            )
        self.turns.append(turn)
        self.chats[chat].add(turn.node)
        return self.next.pop(0)(self, turn) if self.next else self.answer(turn)

    def _messages(self, body: JSON, turn: Turn) -> None:
        roles = [message["role"] for message in body["messages"]]
        first = turn.parent is None
        self._want(roles in (["user"], ["system", "user"] if first else ["user"]), f"messages {roles}")
        for message in body["messages"]:
            self._want(message["parent_id"] == message["parentId"] == turn.parent, "the parent of a message")
            self._want(len(message["fid"]) == 36 and message["childrenIds"] == [], "the id of a message")
            self._want(abs(message["timestamp"] - time.time()) < 60, "seconds in a message")
            self._want(isinstance(message["content"], str) and message["files"] == [], "text only")
            self._want(message["models"] == [body["model"]] and message["user_action"] == "chat", "the model")
            self._want(message["feature_config"]["output_schema"] == "phase", "phases")
            self._want(message["extra"] == {"meta": {"subChatType": "t2t"}}, "extra")

    def _want(self, holds: bool, what: str) -> None:
        if not holds:
            self.wrong.append(what)

    # -- answers

    def created(self, turn: Turn) -> JSON:
        ids = {"parent_id": turn.node, "response_id": turn.response}
        if self.parent_from == "response_id":
            ids = {"parent_id": str(uuid.uuid4()), "response_id": turn.node}
        return {"response.created": {"chat_id": turn.chat, **ids}}

    def events(self, turn: Turn, text: str) -> Iterator[JSON]:
        yield self.created(turn)
        pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
        for number, piece in enumerate(pieces, 1):
            usage = {"input_tokens": 25, "output_tokens": number, "total_tokens": 25 + number}
            yield {**delta(piece), "usage": usage}
        yield delta("", status="finished")

    def answer(self, turn: Turn) -> Answer:
        text = self.model(turn.text)
        if turn.body["stream"]:
            return stream([event(one) for one in self.events(turn, text)])
        message = {"role": "assistant", "content": text}
        ids = self.created(turn)["response.created"]
        data = {"chat_id": "", "parent_id": ids["parent_id"], "message_id": ids["response_id"]}
        return whole({"success": True, "data": {**data, "messages": None, "choices": [{"message": message}]}})


def delta(text: str, phase: str = "answer", status: str = "typing", **more: Any) -> JSON:
    said = {"role": "assistant", "content": text, "phase": phase, "status": status}
    return {"choices": [{"delta": said}], **more}


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def playing(*events: Any) -> Misbehaviour:
    """A stream of just these events, after the ids."""
    return lambda server, turn: stream([event(one) for one in (server.created(turn), *events)])
