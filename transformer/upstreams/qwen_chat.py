"""Qwen's web chat. It keeps conversations itself, and its answers have phases instead of an OpenAI stream.

The first turn of a chat has the system message and no parent; every later one has only what is new, and the
parent that the answer before it named. Its events lack everything that ends an OpenAI stream. Some versions
send the whole text so far instead of deltas, some two answers at once, some an error with status 200.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from transformer.jsontext import Object, dumps, parse_leniently
from transformer.provenance import Path
from transformer.upstreams.kind import (
    Call,
    Events,
    Note,
    Now,
    Options,
    Place,
    Said,
    SaidText,
    UpstreamKind,
    Whole,
    openai_usage,
)

_CREATED = "response.created"
_ANSWER = "answer"
_SUMMARY = "thinking_summary"
_TOOL = "local_tool"
_THOUGHT = ("reasoning_content",)
_CONTENT = ("content",)
_API = ("/api/v2", "/api")
# A text of this length is not the beginning of the next delta by chance.
_SURE = 8
_LOST = re.compile(
    rb"(chat|parent|session|conversation|message)[^{}]{0,80}"
    rb"(not[ _-]?found|not[ _-]?exist|does ?n.t exist|unknown|invalid|expired|deleted|no longer)"
    rb"|(unknown|invalid|expired|no such|deleted)[ _-]{0,3}(chat|parent|session|conversation)"
    rb"|not[ _-]?found|not[ _-]?exist",
    re.IGNORECASE,
)
_LIMITED = re.compile(rb"rate[ _-]?limit|quota|too many|upper limit|FAIL_SYS", re.IGNORECASE)


class QwenChat(UpstreamKind):
    name: ClassVar[str] = "qwen-chat"
    relays: ClassVar[bool] = False
    remembers: ClassVar[bool] = True
    retries: ClassVar[int] = 2
    models: ClassVar[str] = "/api/models"

    def base(self, url: str) -> str:
        base = url.rstrip("/")
        for part in _API:
            base = base.removesuffix(part)
        return base

    def recognises(self, event: Mapping[str, Any]) -> bool:
        if _CREATED in event:
            return True
        choices = event.get("choices")
        part = choices[0] if isinstance(choices, list) and choices else None
        delta = part.get("delta") if isinstance(part, dict) else None
        return isinstance(delta, dict) and isinstance(delta.get("phase"), str)

    def events(self) -> Events:
        return QwenChatEvents()

    def whole(self, body: Mapping[str, Any]) -> Whole | None:
        data = body.get("data")
        if not isinstance(data, Mapping) or not isinstance(data.get("choices"), list):
            return None
        response = _text(data.get("message_id")) or _text(data.get("response_id"))
        completion: Object = {"choices": data["choices"]}
        if response:
            completion["id"] = f"chatcmpl-{response}"
        if isinstance(data.get("usage"), Mapping):
            completion["usage"] = dict(data["usage"])
        place = Place(_text(data.get("chat_id")), _text(data.get("parent_id")) or None, response or None)
        return Whole(completion, ("data",), place)

    def listed(self, body: Any) -> list[Object] | None:
        models = super().listed(body)
        if models is None:
            return None
        return [_model(model) for model in models]

    # -- what goes up

    def new_chat(self, model: str, options: Options, now: Now) -> Call:
        body = {
            "title": "New Chat",
            "models": [model],
            "chat_mode": _mode(options),
            "chat_type": "t2t",
            "timestamp": int(now.seconds * 1000),
        }
        return Call("/api/v2/chats/new", body)

    def chat_in(self, body: Any) -> str | None:
        data = body.get("data") if isinstance(body, Mapping) else None
        if not isinstance(data, Mapping) or body.get("success") is False:
            return None
        return _text(data.get("id")) or None

    def turn(
        self, model: str, system: str, text: str, place: Place, stream: bool, options: Options, now: Now
    ) -> Call:
        said = [("user", text, place.parent)]
        if place.parent is None and system:
            said.insert(0, ("system", system, None))
        ids = iter(now.ids)
        body = {
            "stream": stream,
            "incremental_output": True,
            "chat_id": place.chat,
            "chat_mode": _mode(options),
            "model": model,
            "parent_id": place.parent,
            "messages": [_message(model, one, next(ids), options, now) for one in said],
            "timestamp": int(now.seconds),
        }
        return Call("/api/v2/chat/completions", body, f"chat_id={place.chat}")

    def lost(self, status: int, body: bytes) -> bool:
        if status in (404, 410):
            return True
        refused = status in (400, 403, 409, 422) or (status == 200 and _is_error(body))
        return refused and _LIMITED.search(body) is None and _LOST.search(body) is not None


def _is_error(body: bytes) -> bool:
    """A body or a first event that is a refusal. An answer may contain any words."""
    text = body.strip().removeprefix(b"data:").partition(b"\n")[0]
    value = parse_leniently(text).value
    return isinstance(value, dict) and (value.get("success") is False or bool(value.get("error")))


def _mode(options: Options) -> str:
    return "normal" if options.account else "guest"


def _message(model: str, said: tuple[str, str, str | None], id: str, options: Options, now: Now) -> Object:
    role, content, parent = said
    return {
        "fid": id,
        "parentId": parent,
        "parent_id": parent,
        "childrenIds": [],
        "role": role,
        "content": content,
        "user_action": "chat",
        "files": [],
        "timestamp": int(now.seconds),
        "models": [model],
        "chat_type": "t2t",
        "sub_chat_type": "t2t",
        "feature_config": {"thinking_enabled": options.thinking, "output_schema": "phase"},
        "extra": {"meta": {"subChatType": "t2t"}},
    }


def _model(model: Object) -> Object:
    """An entry of the list, without what only the web page needs."""
    info = model.get("info")
    created = info.get("created_at") if isinstance(info, Mapping) else None
    return {
        "id": model["id"],
        "object": "model",
        "created": created if isinstance(created, int) else 0,
        "owned_by": _text(model.get("owned_by")) or "qwen",
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# -- what comes down


class _New(NamedTuple):
    """What a text adds to those before it: from its character `first` on."""

    text: str
    first: int
    event: int
    path: Path


class PhaseText:
    """The texts of one phase: deltas, or each the whole text so far. The texts themselves tell which.

    A text that does not begin with all that came before it is a delta, and so are all others then. One that
    does is the whole so far, unless the text before is so short that it may be chance: then it waits for the
    next one.
    """

    __slots__ = ("_deltas", "_extended", "_repeated", "_snapshots", "_waiting", "_whole")

    def __init__(self) -> None:
        self._deltas = self._snapshots = False
        self._whole = ""
        self._waiting: tuple[_New, ...] = ()
        self._extended = 0  # how often a text began with the one before it and went on
        self._repeated = False

    def add(self, text: str, event: int, path: Path) -> tuple[Sequence[_New], bool]:
        """What is new, and whether the text contradicts what the client has."""
        new = _New(text, 0, event, path)
        if self._deltas:
            return [new], False
        if self._snapshots:
            return self._more(new)
        if not self._whole:
            self._whole = text
            return [new], False
        last = self._waiting[-1].text if self._waiting else self._whole
        longer = len(text) > len(last)
        if not text.startswith(last) or (not longer and self._repeated):
            self._deltas = True
            self._waiting, waited = (), self._waiting
            self._whole = ""
            return [*waited, new], False
        self._repeated = not longer
        self._extended += longer
        if longer and (len(last) >= _SURE or self._extended > 1):
            self._snapshots, self._waiting = True, ()
            return self._more(new)
        self._waiting = (*self._waiting, new)
        return (), False

    def _more(self, new: _New) -> tuple[Sequence[_New], bool]:
        known = self._whole
        text = new.text
        if len(text) <= len(known):
            return (), not known.startswith(text)
        self._whole = text
        return [new._replace(text=text[len(known) :], first=len(known))], not text.startswith(known)

    def rest(self) -> Sequence[_New]:
        """The text that waits, now that nothing more comes."""
        waiting, self._waiting = self._waiting, ()
        if not waiting or not self._extended:
            return waiting
        self._snapshots = True
        return self._more(waiting[-1])[0]

    def clone(self) -> PhaseText:
        twin = PhaseText()
        for name in self.__slots__:
            setattr(twin, name, getattr(self, name))
        return twin


class QwenChatEvents(Events):
    """The events of one answer. Of several candidates the first that says something is the answer."""

    def __init__(self) -> None:
        self._created: dict[str, Mapping[str, Any]] = {}  # by response_id
        self._candidate: str | None = None  # the response_id of the one that is taken
        self._begun = False
        self._dropped: frozenset[str] = frozenset()
        self._phases: dict[str, PhaseText] = {}  # by the name of the phase
        self._thoughts: dict[int, str] = {}  # by their place in the list of a summary
        self._told_of_tool = False
        self._chat = ""

    def read(self, obj: Any, name: str, number: int) -> Said:
        if isinstance(obj, bool):
            return Said()  # the last event of some versions is `true`
        if not isinstance(obj, dict):
            return Said(known=False)
        created = obj.get(_CREATED)
        if isinstance(created, Mapping):
            return self._create(created)
        error = _error_in(obj, name)
        path, choices = self._choices_in(obj)
        usage = _usage(obj.get("usage"))
        if not choices or not isinstance(choices[0], dict):
            return Said(error=error, usage=usage, known=bool(error or usage) or choices == [])
        if notes := self._other(obj, choices[0]):
            return Said(notes=notes if notes is not _AGAIN else ())
        said = replace(self._choice(choices[0], number, (*path, 0)), error=error, usage=usage)
        if self._begun or not _says(choices[0]):
            return said
        self._begun = True
        return said if self.place is None else replace(said, id=self.place.response)

    def _choices_in(self, obj: Mapping[str, Any]) -> tuple[Path, list[Any] | None]:
        """The choices of an event; a whole answer where a stream was asked for has them deeper."""
        data = obj.get("data")
        if isinstance(data, Mapping) and isinstance(data.get("choices"), list):
            self._create({**data, "response_id": data.get("message_id")})
            return ("data", "choices"), data["choices"]
        choices = obj.get("choices")
        return ("choices",), choices if isinstance(choices, list) else None

    def _create(self, created: Mapping[str, Any]) -> Said:
        response = _text(created.get("response_id"))
        self._chat = self._chat or _text(created.get("chat_id"))
        self._created.setdefault(response, created)
        return Said(id=response or "qwen") if len(self._created) == 1 else Said()

    def _other(self, obj: Mapping[str, Any], part: Mapping[str, Any]) -> Sequence[Note]:
        """Whether an event belongs to another candidate than ours: the note about it, once for each."""
        response = self._candidate_of(obj, part)
        if response is None:
            return ()
        if self._candidate is None or (response != self._candidate and not self._begun and _says(part)):
            self._candidate = response
        if response == self._candidate:
            return ()
        if response in self._dropped or not _says(part):
            return _AGAIN
        self._dropped |= {response}
        return (Note("candidate-dropped", {"candidate": response, "taken": self._candidate}),)

    def _candidate_of(self, obj: Mapping[str, Any], part: Mapping[str, Any]) -> str | None:
        response = _text(obj.get("response_id")) or _text(part.get("response_id"))
        index = obj.get("response_index", part.get("response_index"))
        if response or index is None:
            return response or None
        named = (id for id, one in self._created.items() if str(one.get("response_index")) == str(index))
        return next(named, str(index))

    def _choice(self, part: Object, number: int, path: Path) -> Said:
        delta, where = part.get("delta"), "delta"
        if not isinstance(delta, dict):
            delta, where = part.get("message"), "message"
        if not isinstance(delta, dict):
            return Said()
        phase = _text(delta.get("phase")) or _ANSWER
        texts: list[SaidText] = []
        notes: list[Note] = []
        path = (*path, where)
        self._reasoning(delta, number, path, texts, notes)
        content = delta.get("content")
        if isinstance(content, str) and content:
            way = ("content", _CONTENT) if phase == _ANSWER else ("reasoning", _THOUGHT)
            self._grow(phase, way, content, number, (*path, "content"), texts, notes)
            if phase == _TOOL and not self._told_of_tool:
                self._told_of_tool = True
                notes.append(Note("upstream-tool", {"phase": phase}))
        texts += [
            SaidText("reasoning", _THOUGHT, new.text, new.path, new.event, new.first)
            for new in self._summary(delta, number, path)
        ]
        calls = delta.get("tool_calls")
        finish = part.get("finish_reason") or delta.get("finish_reason")
        over = delta.get("status") == "finished" or where == "message"
        return Said(
            texts=texts,
            calls=calls if isinstance(calls, list) else (),
            notes=notes,
            finish=str(finish) if finish else None,
            finished=phase == _ANSWER and over,
        )

    def _reasoning(
        self, delta: Object, number: int, path: Path, texts: list[SaidText], notes: list[Note]
    ) -> None:
        for field in ("reasoning_content", "reasoning"):
            text = delta.get(field)
            if isinstance(text, str) and text:
                self._grow(field, ("reasoning", (field,)), text, number, (*path, field), texts, notes)

    def _grow(
        self,
        key: str,
        way: tuple[str, tuple[str, ...]],
        text: str,
        number: int,
        path: Path,
        texts: list[SaidText],
        notes: list[Note],
    ) -> None:
        phase_text = self._phases.setdefault(key, PhaseText())
        new, contradicts = phase_text.add(text, number, path)
        texts += [SaidText(*way, one.text, one.path, one.event, one.first) for one in new]
        if contradicts:
            notes.append(Note("snapshot-rewritten", {"phase": key}))

    def _summary(self, delta: Object, number: int, path: Path) -> Iterator[_New]:
        """The thoughts of a summary: a list of all so far, the last of which may still grow."""
        extra = delta.get("extra")
        thought = extra.get("summary_thought") if isinstance(extra, Mapping) else None
        content = thought.get("content") if isinstance(thought, Mapping) else None
        here: Path = (*path, "extra", "summary_thought", "content")
        listed = content if isinstance(content, list) else [content]
        for index, text in enumerate(listed):
            known = self._thoughts.get(index, "")
            if not isinstance(text, str) or known.startswith(text):
                continue
            first = len(known) if text.startswith(known) else 0
            self._thoughts[index] = text
            place = (*here, index) if isinstance(content, list) else here
            yield _New(text[first:], first, number, place)

    def rest(self) -> Sequence[SaidText]:
        found = []
        for phase, phase_text in self._phases.items():
            way = ("content", _CONTENT) if phase == _ANSWER else ("reasoning", _THOUGHT)
            found += [SaidText(*way, new.text, new.path, new.event, new.first) for new in phase_text.rest()]
        return found

    @property
    def place(self) -> Place | None:
        created = self._created.get(self._candidate or "")
        if created is None:
            created = next(iter(self._created.values()), None)
        if created is None:
            return Place(self._chat, None, self._candidate) if self._candidate else None
        parent = _text(created.get("parent_id")) or None
        response = self._candidate or _text(created.get("response_id")) or None
        return Place(_text(created.get("chat_id")) or self._chat, parent, response)

    def clone(self) -> QwenChatEvents:
        twin = QwenChatEvents()
        twin.__dict__.update(self.__dict__)
        twin._created, twin._thoughts = dict(self._created), dict(self._thoughts)
        twin._phases = {phase: phase_text.clone() for phase, phase_text in self._phases.items()}
        return twin


_AGAIN: Sequence[Note] = (Note("", {}),)  # of another candidate, and told before


def _says(part: Mapping[str, Any]) -> bool:
    """Whether there is any text in it."""
    delta = part.get("delta") or part.get("message")
    if not isinstance(delta, Mapping):
        return False
    return bool(delta.get("content") or delta.get("extra") or delta.get("reasoning_content"))


def _error_in(obj: Mapping[str, Any], name: str) -> Any:
    """The error that an event reports, with a sentence in it; None if it reports none."""
    error = obj.get("error")
    if not error and not (name == "error" or obj.get("success") is False):
        return None
    return explained(obj)


def explained(body: Mapping[str, Any]) -> Any:
    """An error of the web chat with its sentence and its code where a client looks for them."""
    error = body.get("error") or body
    if not isinstance(error, Mapping):
        return error
    data = error.get("data")
    inner = {**error, **data} if isinstance(data, Mapping) else dict(error)
    ret = inner.get("ret")
    words = [str(word) for word in ret] if isinstance(ret, list) else []
    message = next((inner[key] for key in ("message", "details", "detail", "msg") if inner.get(key)), None)
    code = inner.get("code") or (words[0].partition("::")[0] if words else None)
    said = message or ": ".join(words) or (f"upstream refused with {code}" if code else dumps(inner).decode())
    return {"message": said if isinstance(said, str) else dumps(said).decode(), "code": code}


def _usage(usage: Any) -> Object | None:
    return openai_usage(dict(usage)) if isinstance(usage, Mapping) else None
