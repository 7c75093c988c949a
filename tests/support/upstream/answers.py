"""What a scripted upstream says: an answer as a list of steps, each one an action on the socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Headers: TypeAlias = Sequence[tuple[str, str]]
Framing: TypeAlias = Literal["chunked", "close"] | int

# What a flood is made of: an event any client takes for text.
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"' + b"flood " * 2700 + b'"}}]}\n\n'


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and headers, in one write. `framing`: chunked, a content length, or until the close."""

    status: int = 200
    headers: Headers = ()
    framing: Framing = "chunked"


@dataclass(frozen=True, slots=True)
class Send:
    """A piece of the body, in one write; chunked, it is one chunk."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes on the wire as they are, for what no HTTP server would say."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing for this many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Gate:
    """Nothing until the test sets this event, or opens the gate of this name: `upstream.open(name)`."""

    key: threading.Event | str


@dataclass(frozen=True, slots=True)
class Flood:
    """This many bytes of body in pieces, as fast as they are taken; `upstream.accepted` counts them."""

    size: int
    piece: bytes = EVENT


@dataclass(frozen=True, slots=True)
class Finish:
    """The body's proper end; the connection stays open unless the body lasts until the close."""


@dataclass(frozen=True, slots=True)
class Close:
    """FIN, whether or not the body is over."""


@dataclass(frozen=True, slots=True)
class Reset:
    """RST."""


FINISH = Finish()

Step: TypeAlias = Head | Send | Raw | Pause | Gate | Flood | Finish | Close | Reset


@dataclass(frozen=True, slots=True)
class Answer:
    """The steps in their order. If the last one ends nothing, upstream stays connected and silent."""

    steps: Sequence[Step]


def stream(
    reads: bytes | Iterable[bytes],
    *,
    pause: float = 0.0,
    status: int = 200,
    headers: Headers = (),
    content_type: str = "text/event-stream; charset=utf-8",
    framing: Framing = "chunked",
    end: Step | None = FINISH,
) -> Answer:
    """A streamed answer: one write for each read, with a pause after each; `end` None falls silent."""
    steps: list[Step] = [Head(status, [("content-type", content_type), *headers], framing)]
    for read in [reads] if isinstance(reads, bytes) else reads:
        steps.append(Send(read))
        if pause:
            steps.append(Pause(pause))
    return Answer([*steps, end] if end is not None else steps)


def whole(value: Any, *, status: int = 200, headers: Headers = ()) -> Answer:
    """A JSON answer in one piece."""
    return failure(status, value, headers=headers)


def failure(
    status: int, body: Any = b"", content_type: str = "application/json", headers: Headers = ()
) -> Answer:
    """An answer with this status; a body that is neither bytes nor str is written as JSON."""
    if isinstance(body, str):
        body = body.encode()
    data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
    head = Head(status, [("content-type", content_type), *headers], len(data))
    return Answer([head, *([Send(data)] if data else []), Finish()])
