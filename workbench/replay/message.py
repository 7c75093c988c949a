"""The message that a client has put together at any step, and what an event says of it.

Nothing here trusts the types of what upstream sent.
"""

from __future__ import annotations

from array import array
from bisect import insort
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from transformer.answer.events import error_in
from transformer.answer.observations import Answered, Call, choices_of
from transformer.frontends.errorobjects import as_error
from transformer.jsontext import begins_object, parse
from transformer.records import Delta
from workbench.replay.player import Item, Player
from workbench.replay.rowindex import GrowingText, RowIndex
from workbench.tape.format import Line
from workbench.text import json_object

_NEVER = 1 << 62


class Part(NamedTuple):
    """What an event says of one choice: a delta, or a whole message."""

    choice: int
    said: Mapping[str, Any]


class CallPart(NamedTuple):
    """What a part says of one call of upstream's own; empty where it says nothing."""

    number: int
    id: str
    name: str
    arguments: str


def parts_of(data: bytes, *, whole: bool = False) -> Iterator[Part]:
    """The parts of an event's JSON. `whole`: of an answer that came in one piece, whose choices are numbered
    by their places where they have no index."""
    value = parse(data.removeprefix(BOM_UTF8)).value
    choices = value.get("choices") if isinstance(value, dict) else None
    for place, choice in enumerate(choices if isinstance(choices, list) else ()):
        if not isinstance(choice, dict):
            continue
        index = choice.get("index")
        delta, message = choice.get("delta"), choice.get("message")
        said = delta if isinstance(delta, dict) else message
        if isinstance(said, dict):
            yield Part(index if type(index) is int else place * whole, said)


def call_parts_of(said: Mapping[str, Any]) -> Iterator[CallPart]:
    """Its calls as the transformer's own message puts them together: without an index, the position is
    used."""
    calls = said.get("tool_calls")
    for place, call in enumerate(calls if isinstance(calls, list) else ()):
        if not isinstance(call, dict):
            continue
        index, function = call.get("index"), call.get("function")
        function = function if isinstance(function, dict) else {}
        id, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
        yield CallPart(
            index if type(index) is int else place, str(id or ""), str(name or ""), str(arguments or "")
        )


class PartialCall:
    """One call: its id and its name may come later than its first delta, where upstream makes it."""

    __slots__ = ("_made", "arguments", "begun", "id", "id_step", "name", "name_step")

    def __init__(self, begun: int) -> None:
        self.begun = begun
        self.id = self.name = ""
        self.id_step = self.name_step = _NEVER
        self.arguments = GrowingText()
        self._made: Call | None = None  # as it was asked for last

    def identify(self, step: int, id: str, name: str) -> bool:
        """The id and name in a delta; the first ones count. True: its name is new."""
        if id and not self.id:
            self.id, self.id_step = id, step
        if not name or self.name:
            return False
        self.name, self.name_step = name, step
        return True

    def at(self, step: int) -> Call:
        id = self.id if step >= self.id_step else ""
        name = self.name if step >= self.name_step else ""
        made, arguments = self._made, self.arguments.upto(step)
        if made is None or (made.id, made.name, made.arguments) != (id, name, arguments):
            made = self._made = Call(id, name, arguments)
        return made


class PartialChoice:
    """The message of one choice, at any step. It counts from its first delta."""

    def __init__(self, index: int, begun: int) -> None:
        self.index = index
        self.begun = begun
        self._content = GrowingText()
        self._reasoning: dict[str, GrowingText] = {}  # by channel: a delta doesn't tell its field
        self._calls: dict[int, PartialCall] = {}
        self._order: list[int] = []  # the numbers of the calls, sorted
        self._natives: dict[int, int] = {}  # upstream's own calls: their index, and the client's
        self._next_call = 0
        self._finish = ""
        self._finish_step = self._refusal_step = _NEVER

    # -- deltas

    def add_content(self, step: int, text: str) -> None:
        self._content.add(step, text)

    def add_reasoning(self, step: int, channel: str, text: str) -> None:
        self._reasoning.setdefault(channel, GrowingText()).add(step, text)

    def begin_call(self, step: int, number: int, id: str, name: str) -> None:
        self._begin(step, number).identify(step, id, name)

    def add_arguments(self, step: int, number: int, text: str) -> None:
        self._calls[number].arguments.add(step, text)

    def add_native(self, step: int, part: CallPart) -> tuple[bool, bool]:
        """Upstream's own call goes on as it came, except for an index that is already taken.

        Says whether it is a new call, and whether its name is new.
        """
        number = self._natives.setdefault(part.number, max(part.number, self._next_call))
        is_new = number not in self._calls
        call = self._begin(step, number) if is_new else self._calls[number]
        call.arguments.add(step, part.arguments)
        return is_new, call.identify(step, part.id, part.name)

    def _begin(self, step: int, number: int) -> PartialCall:
        call = self._calls[number] = PartialCall(step)
        insort(self._order, number)
        self._next_call = max(self._next_call, number + 1)
        return call

    def finish(self, step: int, reason: str) -> None:
        self._finish, self._finish_step = reason, step

    def refuse(self, step: int) -> None:
        self._refusal_step = min(step, self._refusal_step)

    # -- the message

    @property
    def calls(self) -> int:
        return len(self._order)

    def at(self, step: int) -> Answered:
        reasoning = ((channel, text.upto(step)) for channel, text in self._reasoning.items())
        return Answered(
            self.index,
            self._content.upto(step),
            {channel: text for channel, text in reasoning if text},
            tuple(self._calls_at(step)),
            self._finish if step >= self._finish_step else None,
            step >= self._refusal_step,
        )

    def _calls_at(self, step: int) -> Iterator[Call]:
        for number in self._order:
            call = self._calls[number]
            if call.begun <= step:
                yield call.at(step)


@dataclass(frozen=True, slots=True)
class Assembled:
    """All that a client knows of an answer: its choices, the one with the lowest index first."""

    choices: tuple[Answered, ...] = ()
    error: str | None = None


class Named(NamedTuple):
    """A call that no machine made, at the step with which its tool is known."""

    step: int
    name: str


class _Whole(NamedTuple):
    """What the client got in one piece, which is complete."""

    step: int
    assembled: Assembled


class Assembly(RowIndex):
    """Puts the deltas of the client pane together. At the last step it is what `Player.completion` says, but

    - of reasoning only the channel is known, not the field in which it went: where upstream changes the field
      on the way, the texts are one here;
    - a choice counts from its first delta, so one of which nothing was ever told is not there.

    A client that gets a message instead of deltas has it with the row of that message; if a tape has no such
    row, with the end. Before that, the deltas show what the message will be.
    """

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self.calls = array("q")  # the step with which each call began
        self.natives: list[Named] = []
        self._choices: dict[int, PartialChoice] = {}
        self._passed: tuple[int, set[int]] = (-1, set())  # an event, and its choices that were passed on
        self._error: tuple[int, str] | None = None
        self._body = bytearray()  # of a message that is not whole yet
        self._next_try = 0
        self._whole: _Whole | None = None

    def assembled(self, step: int) -> Assembled:
        """What the client had once a step had been made."""
        if self._whole is not None and step >= self._whole.step:
            return self._whole.assembled
        choices = [choice for choice in self._choices.values() if choice.begun <= step]
        error = self._error[1] if self._error is not None and step >= self._error[0] else None
        return Assembled(
            tuple(choice.at(step) for choice in sorted(choices, key=lambda choice: choice.index)), error
        )

    def _look(self, step: int, item: Item) -> None:
        if isinstance(item, Delta):
            self._add_delta(step, item)
        elif isinstance(item, Line):
            if item.kind == "sent":
                self._add_sent(step, item)
            elif item.kind == "release" and item.replacement is not None:
                self._whole_from_edit(step)
            elif item.kind == "end":
                self._end(step)

    # -- deltas

    def _add_delta(self, step: int, delta: Delta) -> None:
        if delta.kind == "error":
            self._fail(step, delta.text)
        elif delta.kind not in ("usage", "done"):
            choice = self._choices.get(delta.choice)
            if choice is None:
                if delta.kind == "other" and not self._parts_of(delta):
                    return  # an event without choices
                choice = self._choices[delta.choice] = PartialChoice(delta.choice, step)
            self._add_to(choice, step, delta)

    def _add_to(self, choice: PartialChoice, step: int, delta: Delta) -> None:
        if delta.kind == "content":
            choice.add_content(step, delta.text)
        elif delta.kind == "arguments":
            choice.add_arguments(step, delta.call or 0, delta.text)
        elif delta.kind == "reasoning":
            channel = delta.span.channel if delta.span is not None else "reasoning"
            choice.add_reasoning(step, channel, delta.text)
        elif delta.kind == "call":
            self.calls.append(step)
            choice.begin_call(step, delta.call or 0, delta.id or "", delta.name or "")
        elif delta.kind == "finish":
            choice.finish(step, delta.text)
        elif delta.kind in ("native", "other") and self._is_news(delta):
            for said in self._parts_of(delta):
                self._add_passed(choice, step, said)

    def _is_news(self, delta: Delta) -> bool:
        """An event may have several parts about a choice; its first delta covers all of them."""
        event, choices = self._passed if self._passed[0] == delta.event else (delta.event, set[int]())
        self._passed = event, choices | {delta.choice}
        return delta.choice not in choices

    def _parts_of(self, delta: Delta) -> list[Mapping[str, Any]]:
        """Data that was passed on unread is only in its event."""
        event = self.player.event(delta.event)
        if event is None:
            return []
        parts = parts_of(event.data, whole=self.player.mode == "message")
        return [part.said for part in parts if part.choice == delta.choice]

    def _add_passed(self, choice: PartialChoice, step: int, said: Mapping[str, Any]) -> None:
        for part in call_parts_of(said):
            is_new, is_named = choice.add_native(step, part)
            if is_new:
                self.calls.append(step)
            if is_named:
                self.natives.append(Named(step, part.name))
        if isinstance(content := said.get("content"), list):
            texts = (part.get("text") for part in content if isinstance(part, dict))
            choice.add_content(step, "".join(text for text in texts if isinstance(text, str)))
        if said.get("refusal"):
            choice.refuse(step)

    # -- what came whole

    def _add_sent(self, step: int, line: Line) -> None:
        if self._whole is not None:
            return
        if line.by is not None:
            self._read_object(step, line.data)
        elif self._body or begins_object(line.data):
            self._body += line.data
            if len(self._body) >= self._next_try:
                # Usually it is one piece. One in many pieces must not be parsed with each of them.
                self._next_try = 2 * len(self._body)
                self._read_body(step)

    def _read_body(self, step: int) -> None:
        if (value := self._read_object(step, bytes(self._body))) is not None:
            self._body.clear()
            if self.player.mode != "plain":
                self._finish(step, value)

    def _read_object(self, step: int, data: bytes) -> dict[str, Any] | None:
        """The object that the client got, if it is one. The first error in such an object counts."""
        value = json_object(data, "replace")
        if value is not None:
            self._note_error(step, value)
        return value

    def _note_error(self, step: int, value: dict[str, Any]) -> None:
        if (error := error_in(value)) is not None:
            self._fail(step, as_error(error, "")["message"])

    def _fail(self, step: int, message: str) -> None:
        self._error = self._error or (step, message)

    def _end(self, step: int) -> None:
        if self._body:
            self._read_body(step)
        player = self.player
        # There may be more of the tape after an end, and a message that is whole only there.
        made = player.completion if player.whole_at is not None and player.whole_at <= step else None
        if self._whole is None and made is not None:
            self._note_error(step, made)
            self._finish(step, made)

    def _whole_from_edit(self, step: int) -> None:
        """The held part did not reach the client; everything it gets instead is known with the edit."""
        if (made := self.player.completion) is not None:
            self._finish(step, made)

    def _finish(self, step: int, value: dict[str, Any]) -> None:
        choices = tuple(choices_of(value))
        self._whole = _Whole(step, Assembled(choices, self._error[1] if self._error is not None else None))
        for answered in choices:
            choice = self._choices.get(answered.index)
            for call in answered.calls[choice.calls if choice is not None else 0 :]:
                self.calls.append(step)
                self.natives.append(Named(step, call.name))
