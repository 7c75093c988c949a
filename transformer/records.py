"""The vocabulary: what the transformer says about a stream, as frozen records with a place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

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
    resolves them from the events' JSON text when somebody asks.
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


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of one machine: in `state` it met `token`, followed `rule`, and is now in `to`."""

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
    """Something a person should know: a stable code, how bad it is, a sentence, and the place."""

    seq: int
    read: int
    event: int
    code: str
    level: Level
    message: str
    span: Span
    call: int | None = None


Record: TypeAlias = Event | Transition | Delta | Finding
