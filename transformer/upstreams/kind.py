"""A kind of upstream: the API that a server speaks. A chat request becomes its own, its events become ours.

Most kinds are stateless: a request has the whole conversation in it. One that `remembers` keeps conversations
itself: each is a chat with an id, and a turn names the place in it where it goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self
from urllib.parse import urlsplit

from transformer.jsontext import Object
from transformer.provenance import Path

# -- what events say


class SaidText(NamedTuple):
    """Text of an answer: its channel, the client's fields for it, and where it is.

    `event` is None if it is the event being read; `first` is its first character there.
    """

    channel: str
    fields: tuple[str, ...]
    text: str
    path: Path
    event: int | None = None
    first: int = 0


class Note(NamedTuple):
    """A finding about an event."""

    code: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """What one event says. `finished`: the answer is whole, though its usage may still come."""

    id: str | None = None
    texts: Sequence[SaidText] = ()
    calls: Sequence[Any] = ()  # upstream's own, in the shape of a chat's delta
    usage: Object | None = None  # as OpenAI counts it, so far
    error: Any = None
    notes: Sequence[Note] = ()
    finish: str | None = None
    finished: bool = False
    known: bool = True  # False: an event that is not part of an answer


class Events:
    """Reads the events of one answer, in their order; for a kind whose events are not a chat's own."""

    def read(self, obj: Any, name: str, number: int) -> Said:
        """An event: its data, its name and its number."""
        raise NotImplementedError

    def rest(self) -> Sequence[SaidText]:
        """Nothing more comes: the text that was undecided until now."""
        return ()

    @property
    def place(self) -> Place | None:
        """Where the conversation goes on, as far as the answer has told."""
        return None

    def clone(self) -> Self:
        """A copy for a snapshot."""
        raise NotImplementedError


def openai_usage(usage: Object) -> Object:
    """Usage as OpenAI counts it; some servers count input and output tokens."""
    if "prompt_tokens" in usage or not ("input_tokens" in usage or "output_tokens" in usage):
        return usage
    given, made, total = (_count(usage.get(f"{word}_tokens")) for word in ("input", "output", "total"))
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": total or given + made}


def _count(tokens: object) -> int:
    return tokens if isinstance(tokens, int) else 0


class Whole(NamedTuple):
    """An answer in one piece, as a chat.completion; `path` leads to it in the body that came."""

    completion: Object
    path: Path = ()
    place: Place | None = None


# -- what goes up


class Place(NamedTuple):
    """A place in a chat that upstream keeps. `parent` is what the next turn follows, None for the first."""

    chat: str
    parent: str | None = None
    response: str | None = None  # the answer that was given there


class Call(NamedTuple):
    """An HTTP request, below the upstream's URL."""

    path: str
    body: Object
    query: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user's settings say about an upstream of a kind that has these."""

    parent_from: str = "parent_id"
    account: bool = False
    thinking: bool = False


class Now(NamedTuple):
    """What a pure function cannot know: the time in seconds, and unique ids."""

    seconds: float
    ids: Sequence[str] = ()


class UpstreamKind:
    """One API of servers. A kind keeps nothing: what changes with an answer is in its `Events`."""

    name: ClassVar[str]
    relays: ClassVar[bool] = True  # its answers are a chat's: a client can have them as they came
    remembers: ClassVar[bool] = False  # upstream keeps conversations: only what is new goes up
    retries: ClassVar[int] = 0  # how often a request is sent again by default
    models: ClassVar[str] = "/models"  # where the list of its models is

    def base(self, url: str) -> str:
        """The base of all addresses; a URL without any path means its /v1."""
        base = url.rstrip("/")
        return base if urlsplit(base).path else base + "/v1"

    def recognises(self, event: Mapping[str, Any]) -> bool:
        """Whether only this kind has such an event."""
        return False

    def events(self) -> Events | None:
        """A reader for one answer; None where events are those of a chat."""
        return None

    def whole(self, body: Mapping[str, Any]) -> Whole | None:
        """An answer in one piece; None where the body is a chat's own, or no answer at all."""
        return None

    def listed(self, body: Any) -> list[Object] | None:
        """The models of upstream's list, each as OpenAI has it; None where this is not such a list."""
        data = body.get("data") if isinstance(body, Mapping) else body
        if not isinstance(data, list):
            return None
        return [dict(model) for model in data if isinstance(model, Mapping) and model.get("id")]

    # -- for a kind that remembers

    def new_chat(self, model: str, options: Options, now: Now) -> Call:
        """What begins a chat."""
        raise NotImplementedError

    def chat_in(self, body: Any) -> str | None:
        """The id of the chat that was begun; None where upstream refused."""
        raise NotImplementedError

    def turn(
        self, model: str, system: str, text: str, place: Place, stream: bool, options: Options, now: Now
    ) -> Call:
        """One turn of a chat. `system` is said in its first turn and never again."""
        raise NotImplementedError

    def lost(self, status: int, body: bytes) -> bool:
        """Whether upstream refuses a turn because it does not know the chat, or the place in it, any more."""
        raise NotImplementedError
