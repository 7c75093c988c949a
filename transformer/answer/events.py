"""Upstream's events: what each of them says, whatever its server's habits, told to its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orjson import JSONDecodeError, loads

from transformer.answer.answer import Answer
from transformer.answer.choice import Choice
from transformer.answer.proserun import ProseRun, begin
from transformer.frontends.shape import FIELDS, PATIENCE, Shape, learn
from transformer.journal import Journal
from transformer.jsontext import Object, has_long_number, parse_leniently
from transformer.sse import Frame
from transformer.upstreams import recognised
from transformer.upstreams.kind import Events, Place, Said, SaidText, openai_usage

REASONING = ("reasoning", "reasoning_content")


def stands_alone(line: bytes) -> bool:
    """A data line that is a whole event."""
    return line.strip() in (b"", b"[DONE]") or isinstance(parse_leniently(line).value, dict)


def error_in(obj: Mapping[str, Any], name: str = "") -> Any:
    """The error an event reports, in any of the shapes servers have for it; None if it reports none."""
    error = obj.get("error")
    if error:
        return error
    if name == "error" or obj.get("object") == "error" or obj.get("success") is False:
        return obj
    return None


def reasoning_of(delta: dict[str, Any]) -> list[tuple[str, tuple[str, ...], str]]:
    """(channel, fields, text) of the reasoning in a delta; both fields with one text are one channel."""
    first, second = (delta.pop(field, None) for field in REASONING)
    if isinstance(first, str) and isinstance(second, str) and first and second:
        if first == second:
            return [("reasoning", REASONING, first)]
        return [("reasoning", REASONING[:1], first), ("reasoning_content", REASONING[1:], second)]
    found: list[tuple[str, tuple[str, ...], str]] = []
    for field, text in zip(REASONING, (first, second), strict=True):
        if isinstance(text, str):
            if text:
                found.append(("reasoning", (field,), text))
        elif text is not None:
            delta[field] = text
    return found


_CONTENT = ("content",)
_EXCERPT = 120


class EventReader:
    """Reads events one by one; most of them have the shape of the one before.

    Those of another kind of upstream than OpenAI's are read by that kind, as soon as it is known or shows.
    """

    __slots__ = (
        "_careful",
        "_kind",
        "_only_field",
        "_patience",
        "_place",
        "_shape",
        "answer",
        "finished",
        "journal",
        "run",
    )

    def __init__(self, answer: Answer, journal: Journal) -> None:
        self.answer = answer
        self.journal = journal
        # Text needs more than its machine: a record of its source, a check for refused tools, or (once
        # an event was not strictly JSON) a look at halves of surrogate pairs.
        self._careful = journal.all or answer.setting.policy.unknown_tools == "error"
        self._kind: Events | None = answer.setting.upstream.events()
        self.finished = False  # upstream has said that the answer is whole
        self._shape: Shape | None = None
        self.run: ProseRun | None = None
        self._patience = PATIENCE
        self._only_field: str | None = None  # of the event's delta
        self._place = "delta"  # where the choice that is being read has its text

    @property
    def may_run(self) -> bool:
        """Whether events may be a run of prose at all."""
        return not self._careful and self._kind is None

    def take_run(self, run: ProseRun, chunk: bytes) -> int:
        """How many bytes at the start of a read, which starts an event, belong to the run of prose."""
        events, size = run.take_read(chunk)
        self.journal.event += events
        return size

    def event(self, frame: Frame) -> None:
        journal, answer = self.journal, self.answer
        journal.event += 1
        if journal.all:
            journal.saw(frame)
        data = frame[0]
        if self.run is not None:
            if self.run.take(data):
                return
            self.settle()
        self._only_field = None
        shape = self._shape
        if shape is not None and not answer.ended and (text := shape.text(data)) is not None:
            self._shaped(shape, text)
            return
        try:
            obj = loads(data)
        except JSONDecodeError:
            self._odd_event(frame)
            return
        if has_long_number(data):
            obj = parse_leniently(data).value or obj
        if self._kind is not None or self._shows_kind(obj):
            self._event_of_kind(obj, frame)
            return
        choices = obj.get("choices") if type(obj) is dict else None
        if not choices or type(choices) is not list or answer.ended or "error" in obj:
            self._other_event(obj, frame)
        else:
            self._choices(obj, choices)
            if self._patience:
                self._learn(data, obj, choices)

    def _shaped(self, shape: Shape, text: str) -> None:
        """An event like the one before: only its text is new."""
        answer = self.answer
        client = answer.client
        client.envelope, client.part, client.shape = shape.obj, shape.part, shape
        self._place = "delta"
        self._patience = PATIENCE
        if text:
            channel = "content" if shape.field == "content" else "reasoning"
            choice = answer.choices[shape.index]
            if self._careful:
                self._text(choice, 0, channel, shape.fields, text)
            else:
                choice.spoke = False
                choice.text(channel, shape.fields, text)
                if choice.spoke:
                    self.run = begin(choice, channel, client, shape)

    def settle(self) -> None:
        """To look at the answer, or to read an event of another kind, all of it must be known."""
        if self.run is not None:
            self.run.settle()
            self.run = None

    def _learn(self, data: bytes, obj: Object, choices: list[Any]) -> None:
        """The next event may have the shape of this one, if this one had nothing but a text."""
        field = self._only_field
        if field in FIELDS and len(choices) == 1 and not self.answer.ended:
            self._shape = learn(data, obj, field)
            self._patience -= 1

    def _odd_event(self, frame: Frame) -> None:
        """What orjson does not read: the end, an empty line, JSON with a flaw, or no JSON at all."""
        data, name, _, _, lines = frame
        if len(lines) > 1 and all(stands_alone(line) for line in data.split(b"\n")):
            # The server forgot the blank lines: each line is an event.
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
            if self._kind is not None or self._shows_kind(obj):
                self._event_of_kind(obj, frame)
            else:
                self._other_event(obj, frame)

    def _other_event(self, obj: Any, frame: Frame) -> None:
        """Any event, whatever it is."""
        answer, data = self.answer, frame[0]
        choices = obj.get("choices") if isinstance(obj, dict) else None
        if answer.ended:
            self._note("event-after-end", data)
        elif not isinstance(obj, dict):
            self._note("unknown-event", data)
        elif (error := error_in(obj, frame[1])) is not None:
            if isinstance(choices, list):
                self._choices({key: value for key, value in obj.items() if key != "error"}, choices)
            answer.report_error(error)
        elif isinstance(choices, list) and choices:
            self._choices(obj, choices)
        elif isinstance(obj.get("usage"), dict):
            answer.usage = obj | {"usage": openai_usage(obj["usage"])}
        elif choices == []:
            answer.client.other(obj)
            self.journal.sent("other", 0)
        else:
            self._note("unknown-event", data)

    def _choices(self, obj: Object, choices: list[Any]) -> None:
        if "usage" in obj:
            self._count_usage(obj)
        for position, part in enumerate(choices):
            if type(part) is dict and not self.answer.ended:
                self._choice(obj, part, position)

    def _count_usage(self, obj: Object) -> None:
        """Qwen's chat tells the usage so far with every chunk; the client gets the last, at the end."""
        usage = obj["usage"]
        if isinstance(usage, dict):
            mapped = openai_usage(usage)
            if mapped is usage:
                self.answer.client.last_usage, self.answer.client.usage_told = usage, False
            else:
                del obj["usage"]
                self.answer.usage = {"usage": mapped}

    def _choice(self, obj: Object, part: Object, position: int) -> None:
        choice = self.answer.choice(part.get("index"))
        client = self.answer.client
        client.envelope, client.part, client.shape = obj, part, None
        self._place = "delta"
        delta = part.get("delta")
        if type(delta) is not dict:
            delta = self._whole_message(part)
        if len(delta) == 1 and part.get("logprobs") is None and obj.get("usage") is None:
            self._only_field = next(iter(delta))
        finish = delta.pop("finish_reason", None)
        finish = part.get("finish_reason") or finish
        if finish:
            choice.upstream_finish = str(finish)
            choice.finish_event = (obj, part)
            self._only_field = None
        content = delta.pop("content", None)
        if delta or type(content) is not str:
            self._delta(choice, position, delta, content)
        elif content:
            if self._careful:
                self._text(choice, position, "content", _CONTENT, content)
            else:
                choice.text("content", _CONTENT, content)

    def _whole_message(self, part: Object) -> Object:
        """Some servers put a message where a stream has deltas."""
        message = part.pop("message", None)
        self._place = "message"
        return message if type(message) is dict else {}

    def _delta(self, choice: Choice, position: int, delta: Object, content: Any) -> None:
        """A delta that has more than content: a role, reasoning, calls of its own."""
        role = delta.pop("role", None)
        for channel, fields, text in reasoning_of(delta):
            self._text(choice, position, channel, fields, text)
        if isinstance(content, str):
            if content:
                self._text(choice, position, "content", _CONTENT, content)
        elif content is not None:
            delta["content"] = content
        rest = {key: value for key, value in delta.items() if value is not None}
        if rest:
            choice.pass_on(rest)
        elif role:
            choice.role()

    def _text(self, choice: Choice, position: int, channel: str, fields: tuple[str, ...], text: str) -> None:
        self.answer.text(choice, channel, fields, text, ("choices", position, self._place, fields[0]))

    # -- another kind of upstream

    def _shows_kind(self, obj: object) -> bool:
        kind = recognised(obj)
        if kind is not None:
            self._kind, self._shape, self._patience = kind.events(), None, 0
        return self._kind is not None

    def _event_of_kind(self, obj: Any, frame: Frame) -> None:
        answer, kind = self.answer, self._kind
        assert kind is not None
        said = kind.read(obj, frame[1], self.journal.event)
        if said.usage is not None and not answer.ended:
            answer.usage = {"usage": said.usage}
        for code, values in said.notes:
            self.journal.found(code, **values)
        if answer.finished or answer.ended:
            if said.texts or said.calls or said.error is not None or not said.known:
                self._note("event-after-end", frame[0])
            return
        if not said.known:
            self._note("unknown-event", frame[0])
        self._tell(said)

    def _tell(self, said: Said) -> None:
        answer = self.answer
        if said.id is not None and not answer.choices:
            answer.client.made("id", f"chatcmpl-{said.id}")
        for text in said.texts:
            self._say(text)
        if said.calls and not answer.ended:
            self._choice_of_kind().pass_on({"tool_calls": list(said.calls)})
        if said.finish is not None and not answer.ended:
            self._choice_of_kind().upstream_finish = said.finish
        if said.error is not None:
            answer.report_error(said.error)
        elif said.finished:
            self.finished = True
            self._say_rest()
            answer.finish()
            if answer.usage is not None and answer.setting.upstream.relays:
                answer.end()  # this is a guess at the kind: no event of it need follow

    def _choice_of_kind(self) -> Choice:
        choice, client = self.answer.choice(0), self.answer.client
        client.envelope, client.part, client.shape = {}, {"delta": {}}, None
        return choice

    def _say(self, said: SaidText) -> None:
        if not self.answer.ended:
            self.answer.text(
                self._choice_of_kind(),
                said.channel,
                said.fields,
                said.text,
                said.path,
                said.event,
                said.first,
            )

    def _say_rest(self) -> None:
        for text in self._kind.rest() if self._kind is not None else ():
            self._say(text)

    @property
    def place(self) -> Place | None:
        """Where upstream's own conversation goes on, as far as the answer has told."""
        return None if self._kind is None else self._kind.place

    # -- the end

    def end(self) -> None:
        """Nothing more comes, or nothing more counts."""
        self.settle()
        self._say_rest()
        self.answer.end()

    def whole(self, body: bytes) -> bool:
        """A body that is not a stream; says whether a kind of upstream knows it, as an answer or an error."""
        obj = parse_leniently(body).value
        if self._kind is None or not isinstance(obj, dict):
            return False
        frame: Frame = (body, "", 0, len(body), ((0, len(body)),))
        self.journal.event += 1
        if self.journal.all:
            self.journal.saw(frame)
        self._event_of_kind(obj, frame)
        self.end()
        return self.answer.ended

    def let_go(self) -> None:
        """Upstream broke: what was not clear goes out."""
        self.settle()
        self._say_rest()

    def _note(self, code: str, data: bytes, reason: str = "") -> None:
        self.journal.found(code, excerpt=data[:_EXCERPT].decode("utf-8", "replace"), reason=reason)

    def clone(self, answer: Answer, journal: Journal) -> EventReader:
        twin = EventReader(answer, journal)
        twin._careful, twin._shape, twin._patience = self._careful, self._shape, self._patience
        twin.finished = self.finished
        twin._kind = None if self._kind is None else self._kind.clone()
        return twin
