"""Conversations: which session a request belongs to. Few clients say it; otherwise it is recognised by what a
request repeats of earlier ones.

A request continues the conversation whose messages, and the answer to them, its own begin with; or the one
whose call ids it names; or the one whose messages it begins with, though the answer was changed. Otherwise it
begins a new one. System messages are left out: many of them hold the time of day.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from transformer.answer.observations import calls_in, choices_of, text_in
from workbench.proxy.incoming import Incoming, first

# Clients' names for it: OpenCode, Kilo, Codex, Claude Code, and others that follow one of them.
_HEADERS = (
    "x-session-id", "session-id", "session_id", "x-claude-code-session-id", "x-opencode-session",
    "x-conversation-id", "conversation-id", "conversation_id", "x-thread-id", "thread-id",
    "x-session-affinity",
)  # fmt: skip
_TITLE = "title-"  # before the name of the session for which OpenCode asks for a title
_CLAUDE = "_session_"  # in metadata.user_id: user_…_account_…_session_…
_MOST = 20_000  # things that are remembered, a few for each request
_OUTSIDE = frozenset({"system", "developer"})


class Turn(NamedTuple):
    """A request's place: its session, and the digest of all its messages where the session was found out."""

    session: str | None = None
    digest: str = ""


NO_SESSION = Turn()


class Match(NamedTuple):
    """A session that a request seems to continue. Greater means better."""

    rank: int  # found by messages with their answer, by ids of calls, or by messages alone
    depth: int  # this many messages are the same
    session: str


class Conversations:
    """Recent requests and answers, as far as they identify conversations."""

    def __init__(self, most: int = _MOST) -> None:
        self._answered = _Memory(most)  # by the digest of the messages with the answer
        self._asked = _Memory(most)  # by the digest of the messages
        self._calls = _Memory(most)  # by the id of a call

    def turn(self, incoming: Incoming, id: str, chat: object = None, elsewhere: Match | None = None) -> Turn:
        """The place of a request; `id` is the name of its session if that is a new one, `chat` the body
        as a chat request, where the client's API is another, `elsewhere` what another worker knows of it."""
        digests, ids = traces(incoming, chat)
        if not digests:
            return Turn(said_session(incoming))
        new = Match(0, 0, id)
        session = max(self.match(digests, ids) or new, elsewhere or new).session
        self._asked.put(digests[-1], session)
        for call in ids:
            self._calls.put(call, session)
        return Turn(session, digests[-1])

    def match(self, digests: list[str], ids: list[str]) -> Match | None:
        """The session that a request with these traces continues, as far as we know."""
        if (found := self._answered.latest(digests)) is not None:
            return Match(3, *found)
        if (session := self._calls.only(ids)) is not None:
            return Match(2, 0, session)
        return None if (found := self._asked.latest(digests)) is None else Match(1, *found)

    def answered(self, turn: Turn, answer: object) -> None:
        """The answer to that request."""
        if turn.session is None or not turn.digest:
            return
        for choice in choices_of(answer):
            ids = [call.id for call in choice.calls if call.id]
            self._answered.put(_next(turn.digest, "assistant", choice.content, ids), turn.session)
            for id in ids:
                self._calls.put(id, turn.session)


def traces(incoming: Incoming, chat: object = None) -> tuple[list[str], list[str]]:
    """What identifies a request whose client does not name its session: digests of the prefixes of its
    messages, and ids of calls."""
    if said_session(incoming) is not None:
        return [], []
    messages = _messages(incoming.json if chat is None else chat)
    return list(_digests(messages)), [call for message in messages for call in _ids(message)]


def said_session(incoming: Incoming) -> str | None:
    """The client's own name for the conversation; a request for a title belongs to the conversation it is
    for."""
    found = next((value for name in _HEADERS if (value := first(incoming.headers, name))), None)
    if found is None:
        found = _in_metadata(incoming.json)
    return found.removeprefix(_TITLE) or None if found is not None else None


def _in_metadata(body: object) -> str | None:
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    if not isinstance(metadata, Mapping):
        return None
    user = metadata.get("user_id")
    if isinstance(user, str) and _CLAUDE in user:
        return user.rpartition(_CLAUDE)[2] or None
    said = metadata.get("session_id")
    return said if isinstance(said, str) and said else None


class _Memory:
    """Key -> the sessions that have it, the latest last; the oldest keys are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sessions: OrderedDict[str, dict[str, None]] = OrderedDict()

    def put(self, key: str, session: str) -> None:
        sessions = self._sessions.pop(key, {})
        sessions.pop(session, None)
        sessions[session] = None
        if len(sessions) > 2:  # with more than one it is ambiguous anyway
            del sessions[next(iter(sessions))]
        self._sessions[key] = sessions
        if len(self._sessions) > self._most:
            self._sessions.popitem(last=False)

    def latest(self, keys: list[str]) -> tuple[int, str] | None:
        """The session with the last of these keys that is known, and that key's position."""
        at = next((at for at in range(len(keys), 0, -1) if keys[at - 1] in self._sessions), None)
        return None if at is None else (at, next(reversed(self._sessions[keys[at - 1]])))

    def only(self, keys: list[str]) -> str | None:
        """The one session that has all of the keys that are known. Some models count their calls from 0 in
        every conversation: such an id is useless."""
        known = [set(self._sessions[key]) for key in keys if key in self._sessions]
        common = set.intersection(*known) if known else set()
        return common.pop() if len(common) == 1 else None


def _messages(body: object) -> list[Mapping[str, Any]]:
    messages = body.get("messages") if isinstance(body, Mapping) else None
    return [m for m in messages if isinstance(m, Mapping)] if isinstance(messages, list) else []


def _digests(messages: list[Mapping[str, Any]]) -> Iterator[str]:
    """One for each prefix of the messages."""
    before = ""
    for message in messages:
        role = str(message.get("role"))
        if role not in _OUTSIDE:
            before = _next(before, role, _text(message), list(_ids(message)))
            yield before


def _next(before: str, role: str, text: str, ids: list[str]) -> str:
    said = "\0".join((before, role, text.strip(), *ids))
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return text_in(content) or ("" if content is None else str(content) if isinstance(content, list) else "")


def _ids(message: Mapping[str, Any]) -> Iterator[str]:
    """Of the calls that a message makes or answers. Their arguments are left out: clients rewrite them."""
    for call in calls_in(message):
        if call.id:
            yield call.id
    id = message.get("tool_call_id")
    if isinstance(id, str) and id:
        yield id
