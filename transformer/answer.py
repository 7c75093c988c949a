"""An answer: reads upstream's events one by one, and knows how an answer ends."""

from __future__ import annotations

from typing import Any

from orjson import JSONDecodeError, loads

from transformer.choice import Choice
from transformer.deltas import ChunkWriter, Object, as_error, openai_usage
from transformer.journal import Journal
from transformer.provenance import SourceMap
from transformer.setting import Setting
from transformer.shape import FIELDS, PATIENCE, Shape, learn
from transformer.sse import Frame
from transformer.surrogates import Part, Surrogates
from transformer.upstream import error_in, parse_leniently, phase_of, reasoning_of

_CONTENT = ("content",)
_THINKING = ("reasoning_content",)
_EXCERPT = 120


class Answer:
    """Everything about one answer that changes while it arrives, but for the bytes' framing."""

    __slots__ = (
        "_calls",
        "_careful",
        "_patience",
        "_plain_field",
        "_shape",
        "_surrogates",
        "_usage",
        "choices",
        "client",
        "ended",
        "journal",
        "setting",
        "sources",
    )

    def __init__(self, setting: Setting, journal: Journal) -> None:
        made = {
            "id": f"chatcmpl-{int(setting.now * 1000):x}",
            "object": "chat.completion.chunk",
            "created": int(setting.now),
            "model": setting.model,
        }
        self.setting = setting
        self.journal = journal
        self.client = ChunkWriter(made)
        self.choices: dict[int, Choice] = {}
        self.sources: dict[tuple[int, str], SourceMap] = {}
        self.ended = False
        # Text needs more than its machine: a record of its source, a check for refused tools, or (once
        # an event was not strictly JSON) a look at halves of surrogate pairs.
        self._careful = journal.all or setting.policy.unknown_tools == "error"
        self._shape: Shape | None = None
        self._patience = PATIENCE
        self._plain_field: str | None = None  # the one field of the last event's delta
        self._surrogates = Surrogates(journal.found)
        self._usage: Object | None = None  # the last one, where it waits for the end
        self._calls = 0

    # -- events

    def event(self, frame: Frame) -> None:
        journal = self.journal
        journal.event += 1
        if journal.all:
            journal.saw(frame)
        data = frame[0]
        shape = self._shape
        if shape is not None and not self.ended and (text := shape.text(data)) is not None:
            self._shaped(shape, text)
            return
        try:
            obj = loads(data)
        except JSONDecodeError:
            self._odd_event(frame)
            return
        choices = obj.get("choices") if type(obj) is dict else None
        if not choices or type(choices) is not list or self.ended or "error" in obj:
            self._other_event(obj, data)
            return
        if "usage" in obj:
            self._count_usage(obj)
        for position, part in enumerate(choices):
            if type(part) is dict and not self.ended:
                self._choice(obj, part, position)
        if self._patience and not self.ended:
            self._learn(data, obj, choices)

    def _shaped(self, shape: Shape, text: str) -> None:
        client = self.client
        client.envelope, client.part, client.shape = shape.obj, shape.part, shape
        self._patience = PATIENCE
        if text:
            channel = "content" if shape.field == "content" else "reasoning"
            choice = self.choices[shape.index]
            if self._careful:
                self._text(choice, 0, channel, shape.fields, text)
            else:
                choice.text(channel, shape.fields, text)

    def _learn(self, data: bytes, obj: Object, choices: list[Any]) -> None:
        """The next event may have the shape of this one, if this one had nothing but a text."""
        field, self._plain_field = self._plain_field, None
        if field in FIELDS and len(choices) == 1:
            self._shape = learn(data, obj, field)
            self._patience -= 1

    def _odd_event(self, frame: Frame) -> None:
        """What orjson does not read: the end, an empty line, JSON with a flaw, or no JSON at all."""
        data, name, _, _, lines = frame
        if len(lines) > 1 and all(_stands_alone(line) for line in data.split(b"\n")):
            # Somebody forgot the blank lines: each line is an event.
            for line, (start, end) in zip(data.split(b"\n"), lines, strict=True):
                self.event((line, name, start, end, ((start, end),)))
            return
        word = data.strip()
        if word == b"[DONE]":
            self.end()
        elif word:
            obj, problem, repaired = parse_leniently(word)
            if problem is not None:
                self._note("bad-json-event", data, problem)
                return
            if repaired:
                self.journal.found(repaired)
            self._careful = True
            self._other_event(obj, data)

    def _other_event(self, obj: Any, data: bytes) -> None:
        """Any event, whatever it is."""
        choices = obj.get("choices") if isinstance(obj, dict) else None
        if self.ended:
            self._note("event-after-end", data)
        elif not isinstance(obj, dict):
            self._note("unknown-event", data)
        elif (error := error_in(obj)) is not None:
            self.break_off("upstream-error", error)
        elif isinstance(choices, list) and choices:
            self._count_usage(obj)
            for position, part in enumerate(choices):
                if isinstance(part, dict) and not self.ended:
                    self._choice(obj, part, position)
        elif isinstance(obj.get("usage"), dict):
            self._usage = obj | {"usage": openai_usage(obj["usage"])}
        elif isinstance(created := obj.get("response.created"), dict):
            self.client.made("id", f"chatcmpl-{created.get('response_id') or 'qwen'}")
        elif choices == []:
            self.client.other(obj)
            self.journal.sent("other", 0)
        else:
            self._note("unknown-event", data)

    def _count_usage(self, obj: Object) -> None:
        """Qwen's chat tells the usage so far with every chunk; the client gets the last, at the end."""
        usage = obj.get("usage")
        if isinstance(usage, dict):
            mapped = openai_usage(usage)
            if mapped is usage:
                self.client.last_usage = usage
            else:
                del obj["usage"]
                self._usage = {"usage": mapped}

    def _choice(self, obj: Object, part: Object, position: int) -> None:
        index = part.get("index")
        choice = self.choices.get(index) if type(index) is int else None
        if choice is None:
            choice = self._choice_at(index)
        client = self.client
        client.envelope, client.part, client.shape = obj, part, None
        delta = part.get("delta")
        if type(delta) is not dict:
            delta = {}
        self._plain_field = next(iter(delta), None) if len(delta) == 1 else None
        finish = part.get("finish_reason") or delta.pop("finish_reason", None)
        if finish:
            choice.upstream_finish = str(finish)
            choice.finish_event = (obj, part)
            self._plain_field = None
        content = delta.pop("content", None)
        if delta or type(content) is not str:
            self._delta(choice, position, delta, content)
        elif content:
            if self._careful:
                self._text(choice, position, "content", _CONTENT, content)
            else:
                choice.text("content", _CONTENT, content)

    def _delta(self, choice: Choice, position: int, delta: Object, content: Any) -> None:
        role = delta.pop("role", None)
        phase, last = phase_of(delta)
        for channel, fields, text in reasoning_of(delta):
            self._text(choice, position, channel, fields, text)
        if isinstance(content, str):
            if content and phase in (None, "answer"):
                self._text(choice, position, "content", _CONTENT, content)
            elif content:
                self._text(choice, position, "reasoning", _THINKING, content, "content")
        elif content is not None:
            delta["content"] = content
        rest = {key: value for key, value in delta.items() if value is not None}
        if rest:
            choice.pass_on(rest)
        elif role:
            choice.role()
        if last:
            self.end()

    def _text(
        self, choice: Choice, position: int, channel: str, fields: tuple[str, ...], text: str, field: str = ""
    ) -> None:
        path = ("choices", position, "delta", field or fields[0])
        for part in self._surrogates.parts((choice.index, channel), text, self.journal.event, path):
            self._part(choice, channel, fields, part)

    def _part(self, choice: Choice, channel: str, fields: tuple[str, ...], part: Part) -> None:
        if self.ended:
            return
        if self.journal.all:
            source = self.sources.setdefault((choice.index, channel), SourceMap())
            source.add(part.event, len(part.text), part.path, first=part.first, half=part.half)
        choice.text(channel, fields, part.text)
        if choice.refused:
            self._refuse(choice.refused)

    def _choice_at(self, index: Any) -> Choice:
        place = index if isinstance(index, int) else 0
        if place not in self.choices:
            self.choices[place] = Choice(place, self.setting, self.client, self.journal, self._number)
        return self.choices[place]

    def _number(self) -> int:
        self._calls += 1
        return self._calls - 1

    # -- ends

    def end(self) -> None:
        """The answer is whole: what is held back leaves, then the finish, the usage, the end."""
        if self.ended:
            return
        self._let_go()
        self.ended = True
        refused = next((c.refused for c in self.choices.values() if c.refused), None)
        if refused:
            self._refuse(refused)
        else:
            self._finish()

    def _finish(self) -> None:
        for choice in self._in_order():
            choice.finish()
        if self._usage is not None:
            self.client.last_usage = self._usage["usage"]
            if "choices" in self._usage or self.setting.wants_usage:
                self.client.usage(self._usage)
                self.journal.sent("usage", 0)
        self._done()

    def break_off(self, code: str, error: object) -> None:
        """Upstream reported or made an error: after a complete call the answer ends with that call."""
        if self.ended:
            return
        self._let_go()
        self.ended = True
        told = as_error(error, "upstream_error")
        whole = bool(self.choices) and all(c.upstream_finish for c in self.choices.values())
        if whole or any(c.has_complete_call for c in self.choices.values()):
            self.journal.found("broke-after-call", message=told["message"])
            self._finish()
        else:
            self.journal.found(code, message=told["message"])
            self.tell_error(told)

    def tell_error(self, error: Object) -> None:
        self.ended = True
        self.client.error(error)
        self.journal.sent("error", 0, error["message"])
        self._done()

    def _refuse(self, tool: str) -> None:
        """The policy wants an error where a tool is called that was not offered."""
        message = f"the model called {tool!r}, which is not one of the tools offered"
        self.tell_error({"message": message, "type": "invalid_tool_call", "param": None, "code": tool})

    def _done(self) -> None:
        self.client.done()
        self.journal.sent("done", 0)

    def _let_go(self) -> None:
        for (index, channel), part in self._surrogates.rest():
            choice = self.choices[index]
            self._part(choice, channel, choice.fields(channel), part)
        for choice in self._in_order():
            choice.end()

    def _in_order(self) -> list[Choice]:
        return [self.choices[index] for index in sorted(self.choices)]

    def _note(self, code: str, data: bytes, reason: str = "") -> None:
        self.journal.found(code, excerpt=data[:_EXCERPT].decode("utf-8", "replace"), reason=reason)

    def clone(self, journal: Journal) -> Answer:
        twin = Answer(self.setting, journal)
        twin.client = self.client.clone()
        twin.ended, twin._usage, twin._calls = self.ended, self._usage, self._calls
        twin._careful, twin._shape, twin._patience = self._careful, self._shape, self._patience
        twin._surrogates = self._surrogates.clone(journal.found)
        twin.sources = {key: source.clone() for key, source in self.sources.items()}
        twin.choices = {
            index: choice.clone(twin.client, journal, twin._number) for index, choice in self.choices.items()
        }
        return twin


def _stands_alone(line: bytes) -> bool:
    if line.strip() in (b"", b"[DONE]"):
        return True
    return isinstance(parse_leniently(line).value, dict)
