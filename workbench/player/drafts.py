"""One choice of an answer while a client puts it together from deltas."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator

from transformer.answer.observations import Answered, Call
from workbench.player.choices import CallPart
from workbench.player.growth import Growth

_NEVER = 1 << 62


class DraftCall:
    """One call: its id and its name may come later than its first delta, where upstream makes it."""

    __slots__ = ("_made", "arguments", "begun", "id", "id_step", "name", "name_step")

    def __init__(self, begun: int) -> None:
        self.begun = begun
        self.id = self.name = ""
        self.id_step = self.name_step = _NEVER
        self.arguments = Growth()
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


class Draft:
    """The message of one choice, at any step. It counts from its first delta."""

    def __init__(self, index: int, begun: int) -> None:
        self.index = index
        self.begun = begun
        self._content = Growth()
        self._reasoning: dict[str, Growth] = {}  # by channel: a delta doesn't tell in which field it went
        self._calls: dict[int, DraftCall] = {}
        self._order: list[int] = []  # the numbers of the calls, sorted
        self._natives: dict[int, int] = {}  # upstream's own calls: their index, and the client's
        self._next_call = 0
        self._finish = ""
        self._finish_step = self._refusal_step = _NEVER

    # -- deltas

    def say(self, step: int, text: str) -> None:
        self._content.add(step, text)

    def think(self, step: int, channel: str, text: str) -> None:
        self._reasoning.setdefault(channel, Growth()).add(step, text)

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

    def _begin(self, step: int, number: int) -> DraftCall:
        call = self._calls[number] = DraftCall(step)
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
