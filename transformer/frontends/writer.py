"""What every frontend can be told of an answer: the deltas, one method for each kind of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Self

from transformer.frontends.shape import Shape
from transformer.jsontext import Object

_METADATA = ("id", "object", "created", "model")


class ClientWriter(ABC):
    """Writes an answer to the client in the words of its API, as server-sent events.

    `envelope`, `part` and `shape` are the upstream event that is being worked on: its object, the choice in
    it, and its shape where it is one of many.
    """

    __slots__ = ("_made", "envelope", "last_usage", "out", "part", "shape", "usage_told")

    def __init__(self, made: Mapping[str, Any]) -> None:
        self._made = dict(made)
        self.envelope: Object = {}
        self.part: Object | None = None
        self.shape: Shape | None = None
        self.out: list[bytes] = []
        self.last_usage: Object | None = None
        self.usage_told = True  # the client has the last one

    def made(self, key: str, value: Any) -> None:
        """Better metadata than what was made up, learned on the way."""
        self._made[key] = value

    @property
    def metadata(self) -> Object:
        known = {key: self.envelope.get(key, self._made[key]) for key in _METADATA}
        if "system_fingerprint" in self.envelope:
            known["system_fingerprint"] = self.envelope["system_fingerprint"]
        return known

    @property
    def answer_id(self) -> str:
        """Upstream's own id of the answer, else the one that was made up."""
        return str(self.envelope.get("id") or self._made.get("id", ""))

    # -- the deltas of a choice

    @abstractmethod
    def role(self, index: int) -> bool:
        """The choice begins; says whether the client did not know that yet."""

    @abstractmethod
    def text(self, index: int, fields: tuple[str, ...], text: str) -> None:
        """Text of a channel, in the fields in which upstream sent it."""

    @abstractmethod
    def begin(self, index: int, call: int, id: str, name: str) -> None:
        """A call begins."""

    @abstractmethod
    def arguments(self, index: int, call: int, text: str) -> None:
        """More of the JSON text of a call's arguments."""

    def complete(self, index: int, call: int) -> None:  # noqa: B027  # most have nothing to say to it
        """A call has all its arguments."""

    @abstractmethod
    def passed(self, index: int, delta: Object) -> Sequence[str]:
        """A delta as upstream sent it: its own calls, other fields. Returns the fields without a place."""

    @abstractmethod
    def finish(self, index: int, reason: str) -> None:
        """The choice has ended."""

    # -- the answer as a whole

    def open(self) -> None:  # noqa: B027
        """What can be said before upstream has said anything; nothing is said twice."""

    @property
    @abstractmethod
    def heartbeat(self) -> bytes:
        """What keeps a silent stream alive. It changes nothing for a client that has `open`'s events."""

    @abstractmethod
    def usage(self, obj: Object) -> None:
        """What the answer cost."""

    @abstractmethod
    def other(self, obj: Object) -> None:
        """An event without choices that is not ours."""

    @abstractmethod
    def error(self, error: Object) -> None:
        """The answer ends with an error, given as OpenAI's error object."""

    @abstractmethod
    def done(self) -> None:
        """The answer is over; nothing follows."""

    @abstractmethod
    def whole(self, completion: Object) -> Object:
        """The answer as one object, as far as it has come; `completion` is the same as a chat.completion."""

    def take(self) -> bytes:
        """What was written since the last time."""
        out = self.out
        if not out:  # as most deltas of a call that is held back
            return b""
        self.out = []
        return out[0] if len(out) == 1 else b"".join(out)

    @abstractmethod
    def clone(self) -> Self:
        """A copy for a snapshot; what was not taken yet is not in it."""

    def _copied_to(self, twin: Self) -> Self:
        """What all writers have."""
        twin.envelope, twin.shape = dict(self.envelope), self.shape
        twin.part = None if self.part is None else dict(self.part)
        twin.last_usage, twin.usage_told = self.last_usage, self.usage_told
        return twin
