"""The history of a conversation as text: calls in the dialect's own words, results as user messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from transformer.findings import moved, note
from transformer.parser.dialect import Dialect
from transformer.parser.writing import IdForm
from transformer.records import Finding
from transformer.request.offer import Content, Offer, content_of, joined, json_of, remembered
from transformer.request.writtencall import Written, reader, writer_of

SYSTEM_ROLES = ("system", "developer")
RESULT_ROLES = ("tool", "function")

_NO_NAME = "an earlier call"
# Long arguments are not cached: 512 of them would be a lot of memory.
_MOST_REMEMBERED = 64 << 10
_MOST_NAMED = 100  # characters of the arguments by which a result names its call
# An id that was made here and that no model has ever seen: nothing is lost when another takes its place.
_OURS = re.compile("(?:call|toolu)_[0-9a-f]{24}")
_EMPTY = "(the tool ran and returned no output)"


class Call(NamedTuple):
    """One entry of a message's `tool_calls`."""

    name: str
    arguments: str
    id: str


class WrittenCall(NamedTuple):
    """A call in the history as text, and its id where the text has one."""

    text: str
    id: str | None


class History:
    """Rewrites the messages one by one; it remembers which call a result belongs to.

    Ids are looked up in the calls so far and the last one counts, because some models give the
    same ids again in every turn.
    """

    def __init__(self, dialect: Dialect, offer: Offer) -> None:
        self._dialect = dialect
        self._offer = offer
        self._names: dict[str, str] = {}
        self._calls = 0
        self._ids: set[str] = set()
        self.findings: list[Finding] = []

    def rewritten(self, index: int, message: Any) -> Any:
        """The message as it goes upstream; the same object if nothing is to be changed."""
        if not isinstance(message, Mapping):
            return message
        role = message.get("role")
        if role in RESULT_ROLES:
            return self._result(index, message)
        if role == "assistant" and "tool_calls" in message:
            return self._assistant(index, message)
        content = message.get("content")
        plain = joined(content)
        return message if plain is content else {**message, "content": plain}

    def _assistant(self, index: int, message: Mapping[str, Any]) -> dict[str, Any]:
        new = {key: value for key, value in message.items() if key != "tool_calls"}
        texts = []
        times = Counter(call.name for call in calls_in(message) if call is not None)
        for number, call in enumerate(calls_in(message)):
            if call is None:
                self.findings.append(note("call-not-understood", index, number=index))
            else:
                written = self._written(index, call)
                texts.append(written.text)
                several = times[call.name] > 1
                self._names[call.id] = _told_apart(call, number + 1, written.id) if several else call.name
        if not texts:
            return {**new, "content": joined(new.get("content"))}
        writer = writer_of(self._dialect)
        said = content_of(message.get("content"))
        before = said.text.rstrip()
        calls = writer.calls(texts)
        return {
            **new,
            "content": Content(before + writer.gap + calls if before else calls, said.others).made(),
        }

    def _written(self, index: int, call: Call) -> WrittenCall:
        form = writer_of(self._dialect).ids
        id = call.id if form is None else self._named_id(index, call, form)
        write = _remembered if len(call.arguments) <= _MOST_REMEMBERED else _remembered.__wrapped__
        written = write(self._dialect, call.name, call.arguments, id, self._offer.key)
        # A tool that is not offered any more has no schema to follow.
        if call.name in self._offer.tools:
            self.findings += [moved(finding, index) for finding in written.findings]
        self._calls += 1
        return WrittenCall(written.text, None if form is None else id)

    def _named_id(self, index: int, call: Call, form: IdForm) -> str:
        """The model reads the tool's name in the id and nowhere else, so an id from elsewhere is replaced."""
        named = form.names(call.id, call.name)
        id, number = call.id, self._calls
        while not named or id in self._ids:
            id, number, named = form.make(call.name, number), number + 1, True
        self._ids.add(id)
        if call.id and id != call.id and not _OURS.fullmatch(call.id):
            reason = f"does not name {call.name}" if call.id not in self._ids else "was given before"
            self.findings.append(note("id-not-carried", index, id=call.id, reason=reason, new=id))
        return id

    def _result(self, index: int, message: Mapping[str, Any]) -> dict[str, Any]:
        id, given = message.get("tool_call_id"), message.get("name")
        name = self._names.get(id) if isinstance(id, str) else None
        if name is None:
            if message.get("role") == "tool":
                self.findings.append(note("result-without-call", index, number=index, id=id))
            name = given if isinstance(given, str) and given else _NO_NAME
        said = content_of(message.get("content"))
        text = said.text if said.text.strip() or said.others else _EMPTY
        kept = {k: v for k, v in message.items() if k not in ("role", "content", "tool_call_id", "name")}
        content = Content(f"Tool Result from {name}:\n{text}", said.others).made()
        return {"role": "user", "content": content, **kept}


def _told_apart(call: Call, number: int, id: str | None) -> str:
    """The tool's name, and what tells this call from others to it: the id, or its place and arguments."""
    if id is not None:
        return f"{call.name} ({id})"
    words = " ".join(call.arguments.split())
    return f"{call.name} (call {number}: {words if len(words) <= _MOST_NAMED else words[:_MOST_NAMED] + '…'})"


def calls_in(message: Any) -> Iterator[Call | None]:
    """The calls of an assistant message; None for what is not a call."""
    for entry in _listed(message):
        function = entry.get("function") if isinstance(entry, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if function is None or not isinstance(name, str) or not name:
            yield None
            continue
        id, arguments = entry.get("id"), function.get("arguments")
        # Some clients send the object itself, or nothing for a call without arguments.
        text = arguments if isinstance(arguments, str) else "{}" if arguments is None else json_of(arguments)
        yield Call(name, text, id if isinstance(id, str) else "")


def _listed(message: Any) -> Sequence[Any]:
    listed = message.get("tool_calls") if isinstance(message, Mapping) else None
    return listed if isinstance(listed, list | tuple) else ()


def has_calls(messages: Iterable[Any]) -> bool:
    """Whether anything in the history is for a model that knows tools: a call, or the result of one."""
    return any(
        message.get("role") in RESULT_ROLES or (message.get("role") == "assistant" and _listed(message))
        for message in messages
        if isinstance(message, Mapping)
    )


def names_calls(messages: Iterable[Any]) -> bool:
    """Whether a message has the key for calls, though perhaps no call: a server of text may refuse that."""
    return any("tool_calls" in message for message in messages if isinstance(message, Mapping))


def lost_results(messages: Iterable[Any]) -> list[Finding]:
    """The results that belong to no call: for a history that stays as it is."""
    ids: set[str] = set()
    findings = []
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping):
            continue
        ids.update(call.id for call in calls_in(message) if call is not None)
        id = message.get("tool_call_id")
        if message.get("role") == "tool" and (not isinstance(id, str) or id not in ids):
            findings.append(note("result-without-call", index, number=index, id=id))
    return findings


def kept_calls() -> int:
    """How many calls are kept as they were written."""
    return _remembered.cache_info().currsize


@lru_cache(maxsize=512)
def _remembered(dialect: Dialect, name: str, arguments: str, id: str, key: bytes) -> Written:
    """A history is sent again with every turn, so what was written once is kept."""
    tools = remembered(key).tools
    text, findings = writer_of(dialect).call(name, arguments, tools, id or None, reader(dialect))
    return Written(text, tuple(findings))
