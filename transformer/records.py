"""The vocabulary: what the transformer says about a stream, as frozen records with a place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any, Literal, TypeAlias

Level: TypeAlias = Literal["info", "warning", "error"]
Ranges: TypeAlias = tuple[tuple[int, int], ...]

DeltaKind: TypeAlias = Literal[
    "role", "content", "reasoning", "call", "arguments", "native", "other", "finish", "usage", "error", "done"
]


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters in one channel of one choice, and the event in which it ends.

    `channel` is "content", "reasoning" (or "reasoning_content" where the two differ); it is
    empty for what belongs to an event as a whole. Bytes are not stored: `transformer.provenance`
    resolves them from the events' JSON text on demand.
    """

    choice: int
    channel: str
    start: int
    end: int
    event: int

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Read:
    """One piece of bytes as it came from upstream: its number and its place in the stream of bytes."""

    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event: its bytes' place in the stream, and its data as it came.

    `lines` are the byte ranges of its data lines: joined with a newline they are `data`.
    `start` and `end` include the framing (field names, comments, the blank line).
    """

    seq: int
    number: int
    read: int
    start: int
    end: int
    name: str
    data: bytes
    lines: Ranges


class Effect(Flag):
    """What a rule does with its text and with the call, as data."""

    NONE = 0
    PROSE = auto()  # the text goes on to the client
    HELD = auto()  # the text waits for what follows it
    MARKUP = auto()  # the text is markup and never reaches the client
    DROPPED = auto()  # the text, or the whole call, vanishes, and a finding names it
    BEGINS = auto()  # a call may begin with this text
    NAMES = auto()  # from here on the call's tool is known
    ARGUMENT = auto()  # the text is part of an argument, or may be
    OPENS_VALUE = auto()  # the value of a parameter begins
    ENDS_VALUE = auto()  # the value of a parameter has ended
    COMPLETES = auto()  # the call is complete
    CUTS = auto()  # the call stays as far as the client has it
    GIVES_UP = auto()  # what looked like a call is text
    REPAIRS = auto()  # something that was missing is taken as written
    REREADS = auto()  # some text is read again from the next state

    @property
    def words(self) -> tuple[str, ...]:
        """Each effect in words, for tables and screens."""
        return tuple(str(one.name).lower().replace("_", " ") for one in self)


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of one machine: in `state` it met `token`, followed `rule` because of `why`, and is now in
    `to`.

    `dialect` is the one whose table has the rule, `guard` the condition under which the rule fires. `effect`
    is what happened: the rule's own effect, unless `policy` says in words what the policy made of it. `call`
    and `tool` are those of the call that the step is in, ends or begins, as far as they are known;
    `parameter` is the one whose value it reads. A step that ends one call and begins another has `next_call`
    and `next_tool`.
    """

    seq: int
    read: int
    event: int
    span: Span
    state: str
    token: str
    rule: str
    to: str
    text: str
    held: int
    call: int | None = None
    effect: Effect = Effect.NONE
    tool: str = ""
    why: str = ""
    guard: str = ""
    dialect: str = ""
    parameter: str = ""
    policy: str = ""
    next_call: int | None = None
    next_tool: str = ""

    @property
    def named(self) -> str:
        """The tool that becomes known with this step; empty if none does."""
        if Effect.NAMES not in self.effect:
            return ""
        return self.tool if self.next_call is None else self.next_tool


@dataclass(frozen=True, slots=True)
class Delta:
    """One delta as the client gets it. `span` is what it was made from, None where upstream gave no text."""

    seq: int
    read: int
    event: int
    kind: DeltaKind
    choice: int
    text: str
    span: Span | None = None
    call: int | None = None
    name: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a person should know: a stable code, how bad it is, a sentence, and the place.

    `values` is what the sentence was made of (the tool, the parameter, …), as data.
    """

    seq: int
    read: int
    event: int
    code: str
    level: Level
    message: str
    span: Span
    call: int | None = None
    values: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)


Record: TypeAlias = Event | Transition | Delta | Finding
