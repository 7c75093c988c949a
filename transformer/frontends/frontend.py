"""A frontend: one API of clients. Its requests become chat requests, an answer's deltas become its events.

A `ClientWriter` is told the deltas, with one method for each kind of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

from transformer.findings import note
from transformer.frontends.shape import Shape
from transformer.jsontext import Object
from transformer.records import Finding

# The items of an earlier response and of all before it, by its id; None where it is not known.
Earlier: TypeAlias = Callable[[str], Sequence[Any] | None]
ANSWER = -1  # the number by which an answer's own id is asked for
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
        """Upstream's metadata, which replaces what was made up."""
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
        """The choice begins; returns whether this is new to the client."""

    @abstractmethod
    def text(self, index: int, fields: tuple[str, ...], text: str) -> None:
        """Text of a channel, in the fields in which upstream sent it."""

    def around(self, shape: Shape) -> tuple[bytes, bytes] | None:
        """What to write before and after the text of an event of this shape that has only a text; None if
        `text` does more than that."""
        return None

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
        if not out:  # as for most deltas of a call that is held back
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


class ToolName(NamedTuple):
    """The client's own name for a tool, if a chat request cannot use it."""

    name: str
    namespace: str | None = None
    custom: bool = False  # it takes a text, not an object


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A client's request as a chat request.

    `given` is the request as it came, `names` the client's names of tools that have other names in `body`. A
    request with a `problem` cannot be sent; that is the error for the client.
    """

    given: Mapping[str, Any]
    body: dict[str, Any]
    findings: tuple[Finding, ...] = ()
    names: Mapping[str, ToolName] = field(default_factory=dict)
    problem: Object | None = None


class AnswerFacts(NamedTuple):
    """What is known of an answer before it begins."""

    made: Mapping[str, Any]  # its id, time and model, where upstream does not say them
    ids: Callable[[int], str]  # ids by number: those of calls count from 0
    streamed: bool = True
    own_json: bool = False  # the model writes its arguments as JSON, which may be invalid

    @property
    def own_id(self) -> str:
        """Generated like call ids, without their `call_` prefix."""
        return self.ids(ANSWER).removeprefix("call_")


class ErrorAnswer(NamedTuple):
    """An HTTP answer that is an error: for a client that has no answer yet."""

    status: int
    body: bytes
    type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


class Frontend(ABC):
    """One API. A frontend keeps nothing: whatever changes with an answer is in its writer."""

    name: ClassVar[str]
    endpoint: ClassVar[str]  # below /v1
    relays: ClassVar[bool] = False  # upstream speaks it, so bytes can go on as they came
    own_ids: ClassVar[bool] = True  # ids of calls are always ours: models repeat theirs with every turn

    @abstractmethod
    def to_chat(self, body: Mapping[str, Any], earlier: Earlier | None = None) -> ChatRequest:
        """The request for upstream. Without `earlier` its history is missing."""

    @abstractmethod
    def writer(self, asked: ChatRequest, answer: AnswerFacts) -> ClientWriter:
        """What writes the answer to this request."""

    def call_id(self, id: str) -> str:
        """An id of a call as this API spells it."""
        return id

    @abstractmethod
    def error(
        self, status: int, error: Mapping[str, Any], permanent: bool, writer: ClientWriter | None = None
    ) -> ErrorAnswer:
        """An error as an HTTP answer, such that the client does the right thing: try again, shorten, or stop.

        `error` is an OpenAI error object; `permanent` says that asking again would not help. There is a
        `writer` where the client waits for a stream: some errors are only understood in one.
        """


# What servers of open models take besides OpenAI's own fields: a client that sends it means the server.
_EXTRAS = frozenset(
    "bad_words chat_template_kwargs enable_thinking frequency_penalty guided_choice guided_grammar "
    "guided_json guided_regex ignore_eos include_stop_str_in_output length_penalty logit_bias min_p "
    "min_tokens presence_penalty priority repeat_penalty repetition_penalty seed separate_reasoning "
    "skip_special_tokens stop stop_token_ids structured_outputs top_k typical_p".split()
)
_EFFORTS = ("none", "minimal", "low", "medium", "high")


def passed_on(body: Mapping[str, Any], known: frozenset[str], findings: list[Finding]) -> Object:
    """Fields for the server itself; what neither the API nor a server knows is not sent, but reported."""
    for key, value in body.items():
        if key not in known and key not in _EXTRAS and value is not None:
            findings.append(note("field-not-sent", field=key))
    return {key: value for key, value in body.items() if key in _EXTRAS and key not in known}


def effort(said: object) -> str | None:
    """How much a model is to think, where servers know that word."""
    return said if isinstance(said, str) and said in _EFFORTS else None


def count(tokens: object) -> int:
    return tokens if type(tokens) is int else 0


def mapping(value: object) -> Mapping[str, Any]:
    """An object of a client's request; an empty one if it is anything else."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> Sequence[Any]:
    """A list of a client's request; an empty one if it is anything else."""
    return value if isinstance(value, list | tuple) else ()
