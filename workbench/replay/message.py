"""The message that a client has put together from deltas at any step."""

from __future__ import annotations

from array import array
from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from transformer.answer.chunks import as_error
from transformer.answer.events import error_in
from transformer.answer.observations import Answered, Call, choices_of
from transformer.jsontext import begins_object
from transformer.records import Delta
from workbench.replay.answers import CallPart, calls_of, parts_of
from workbench.replay.follower import Follower, GrowingText
from workbench.replay.player import Pane, Player
from workbench.tape.format import Line
from workbench.text import json_object

_NEVER = 1 << 62


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
        """What a delta says of it, the first word counts; True: its name is new."""
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
        self._reasoning: dict[
            str, GrowingText
        ] = {}  # by channel: a delta doesn't tell in which field it went
        self._calls: dict[int, PartialCall] = {}
        self._order: list[int] = []  # the numbers of the calls, sorted
        self._natives: dict[int, int] = {}  # upstream's own calls: their index, and the client's
        self._next_call = 0
        self._finish = ""
        self._finish_step = self._refusal_step = _NEVER

    # -- deltas

    def say(self, step: int, text: str) -> None:
        self._content.add(step, text)

    def think(self, step: int, channel: str, text: str) -> None:
        self._reasoning.setdefault(channel, GrowingText()).add(step, text)

    def call(self, step: int, number: int, id: str, name: str) -> None:
        self._begin(step, number).identify(step, id, name)

    def argue(self, step: int, number: int, text: str) -> None:
        """More of a call's arguments."""
        self._calls[number].arguments.add(step, text)

    def native(self, step: int, part: CallPart) -> tuple[bool, bool]:
        """Upstream's own call goes on as it came, but for an index that is taken already.

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
        thoughts = ((channel, growth.upto(step)) for channel, growth in self._reasoning.items())
        return Answered(
            self.index,
            self._content.upto(step),
            {channel: text for channel, text in thoughts if text},
            tuple(self._calls_at(step)),
            self._finish if step >= self._finish_step else None,
            step >= self._refusal_step,
        )

    def _calls_at(self, step: int) -> Iterator[Call]:
        for number in self._order:
            call = self._calls[number]
            if call.begun <= step:
                yield call.at(step)


_UPSTREAM, _CLIENT = int(Pane.UPSTREAM), int(Pane.CLIENT)


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
    """What the client got in one piece, with which everything is said."""

    step: int
    assembled: Assembled


class Assembly(Follower):
    """Folds the deltas of the client pane. At the last step it is what `Player.completion` says, but

    - of reasoning only the channel is known, not the field in which it went: where upstream changes the field
      on the way, the texts are one here;
    - a choice counts from its first delta, so one of which nothing was ever told is not there.

    Who gets a message instead of deltas has it with the row of that message, and where a tape has none, with
    the end. What the deltas say before that is what the message is going to be.
    """

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self.calls = array("q")  # the step with which each call began
        self.natives: list[Named] = []
        self._drafts: dict[int, PartialChoice] = {}
        self._passed: tuple[int, set[int]] = (-1, set())  # an event, and its choices that were passed on
        self._error: tuple[int, str] | None = None
        self._body = bytearray()  # of a message that is not whole yet
        self._next_try = 0
        self._whole: _Whole | None = None

    def assembled(self, step: int) -> Assembled:
        """What the client had once a step had been made."""
        if self._whole is not None and step >= self._whole.step:
            return self._whole.assembled
        drafts = [draft for draft in self._drafts.values() if draft.begun <= step]
        error = self._error[1] if self._error is not None and step >= self._error[0] else None
        return Assembled(
            tuple(draft.at(step) for draft in sorted(drafts, key=lambda draft: draft.index)), error
        )

    def _look(self, step: int, pane: int, ref: int) -> None:
        if pane == _CLIENT:
            if ref < 0:
                self._line(step, self.player.lines[~ref])
            else:
                record = self.player.records[ref]
                assert isinstance(record, Delta)
                self._delta(step, record)
        elif ref < 0 and pane == _UPSTREAM and self.player.lines[~ref].kind == "end":
            self._end(step)

    # -- deltas

    def _delta(self, step: int, delta: Delta) -> None:
        if delta.kind == "error":
            self._fail(step, delta.text)
        elif delta.kind not in ("usage", "done"):
            draft = self._drafts.get(delta.choice)
            if draft is None:
                if delta.kind == "other" and not self._says(delta):
                    return  # an event without choices
                draft = self._drafts[delta.choice] = PartialChoice(delta.choice, step)
            self._grow(step, draft, delta)

    def _grow(self, step: int, draft: PartialChoice, delta: Delta) -> None:
        if delta.kind == "content":
            draft.say(step, delta.text)
        elif delta.kind == "arguments":
            draft.argue(step, delta.call or 0, delta.text)
        elif delta.kind == "reasoning":
            draft.think(step, delta.span.channel if delta.span is not None else "reasoning", delta.text)
        elif delta.kind == "call":
            self.calls.append(step)
            draft.call(step, delta.call or 0, delta.id or "", delta.name or "")
        elif delta.kind == "finish":
            draft.finish(step, delta.text)
        elif delta.kind in ("native", "other") and self._is_news(delta):
            for said in self._says(delta):
                self._pass_on(step, draft, said)

    def _is_news(self, delta: Delta) -> bool:
        """An event may speak of a choice several times; with the first delta of it all of that is said."""
        event, choices = self._passed if self._passed[0] == delta.event else (delta.event, set[int]())
        self._passed = event, choices | {delta.choice}
        return delta.choice not in choices

    def _says(self, delta: Delta) -> list[Any]:
        """What was passed on unread is in its event only."""
        event = self.player.event(delta.event)
        if event is None:
            return []
        parts = parts_of(event.data, whole=self.player.mode == "message")
        return [part.said for part in parts if part.choice == delta.choice]

    def _pass_on(self, step: int, draft: PartialChoice, said: dict[str, Any]) -> None:
        for part in calls_of(said):
            is_new, is_named = draft.native(step, part)
            if is_new:
                self.calls.append(step)
            if is_named:
                self.natives.append(Named(step, part.name))
        if isinstance(content := said.get("content"), list):
            texts = (part.get("text") for part in content if isinstance(part, dict))
            draft.say(step, "".join(text for text in texts if isinstance(text, str)))
        if said.get("refusal"):
            draft.refuse(step)

    # -- what came whole

    def _line(self, step: int, line: Line) -> None:
        if line.kind != "sent" or self._whole is not None:
            return
        if "by" in line.value:
            self._take(step, line.data)
        elif self._body or begins_object(line.data):
            self._body += line.data
            if len(self._body) >= self._next_try:
                # Mostly it is one piece. One in many is not to be parsed with each of them.
                self._next_try = 2 * len(self._body)
                self._take_body(step)

    def _take_body(self, step: int) -> None:
        if (value := self._take(step, bytes(self._body))) is not None:
            self._body.clear()
            if self.player.mode != "plain":
                self._finish(step, value)

    def _take(self, step: int, data: bytes) -> dict[str, Any] | None:
        """The object that the client got, if it is one. The first error it hears of counts."""
        value = json_object(data, "replace")
        if value is not None:
            self._hear(step, value)
        return value

    def _hear(self, step: int, value: dict[str, Any]) -> None:
        if (error := error_in(value)) is not None:
            self._fail(step, as_error(error, "")["message"])

    def _fail(self, step: int, message: str) -> None:
        self._error = self._error or (step, message)

    def _end(self, step: int) -> None:
        if self._body:
            self._take_body(step)
        player = self.player
        # There may be more of the tape behind an end, and a message that is whole only there.
        made = player.completion if player.whole_at is not None and player.whole_at <= step else None
        if self._whole is None and made is not None:
            self._hear(step, made)
            self._finish(step, made)

    def _finish(self, step: int, value: dict[str, Any]) -> None:
        choices = tuple(choices_of(value))
        self._whole = _Whole(step, Assembled(choices, self._error[1] if self._error is not None else None))
        for answered in choices:
            draft = self._drafts.get(answered.index)
            for call in answered.calls[draft.calls if draft is not None else 0 :]:
                self.calls.append(step)
                self.natives.append(Named(step, call.name))
