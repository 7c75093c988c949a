"""An answer of the scripted model: bytes, and the time between them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import orjson

from transformer.sse import DONE, encode
from workbench.paths import samples_dir
from workbench.tape import read_tape

_TOKEN = re.compile(r"<\|\w+\|>|\s*[^\W_]{1,6}|\s*[^\w\s]{1,2}|\s+|.", re.DOTALL)
_PACE = 0.045  # seconds between two tokens, more or less


@dataclass(frozen=True, slots=True)
class Piece:
    """One write, so many seconds after the one before."""

    wait: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    pieces: tuple[Piece, ...]
    status: int = 200
    kind: str = "text/event-stream"
    broken: bool = False  # the connection is lost at the end


@dataclass(frozen=True, slots=True)
class Thought:
    """Text in the reasoning channel; plain strings are content."""

    text: str


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing comes for so long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Call:
    """A call as a server sends it that has parsed it itself."""

    id: str
    name: str
    arguments: str


Said = str | Thought | Silence | Call


def played(sample: str, pace: float = 1.5) -> Answer:
    """What upstream said on one of the sample tapes, in its very reads, a little slower."""
    tape = read_tape(samples_dir() / f"{sample}.jsonl")
    pieces, last = [], 0.0
    for line in tape.of("read"):
        # A tape may have a long silence; here five seconds are enough for a heartbeat.
        pieces.append(Piece(min((line.t - last) * pace, 5.0), line.data))
        last = line.t
    broken = tape.end is not None and tape.end.value["end"] == "error"
    return Answer(tuple(pieces), broken=broken)


def said(*parts: Said, finish: str = "stop", model: str = "", pace: float = _PACE) -> Answer:
    """A stream of tokens, one event a write."""
    rest = Piece(pace, _chunk(model, {}, finish)), Piece(pace, _usage(model, parts)), Piece(0.0, DONE)
    first = Piece(0.5, _chunk(model, {"role": "assistant", "content": ""}))
    return Answer((first, *_tokens(parts, model, pace), *rest))


def _tokens(parts: Iterable[Said], model: str, pace: float) -> Iterator[Piece]:
    # The same every time: what a person saw once can be found again.
    chance = random.Random(1)
    wait, calls = 0.0, 0
    for part in parts:
        if isinstance(part, Silence):
            wait += part.seconds
            continue
        deltas = _native(part, calls) if isinstance(part, Call) else _texts(part)
        calls += isinstance(part, Call)
        for delta in deltas:
            yield Piece(wait + pace * chance.uniform(0.3, 1.7), _chunk(model, delta))
            wait = 0.0


def _texts(part: str | Thought) -> Iterator[dict[str, Any]]:
    key, text = ("reasoning_content", part.text) if isinstance(part, Thought) else ("content", part)
    for token in _TOKEN.findall(text):
        yield {key: token}


def _native(call: Call, index: int) -> Iterator[dict[str, Any]]:
    function = {"name": call.name, "arguments": ""}
    yield {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
    for token in _TOKEN.findall(call.arguments):
        yield {"tool_calls": [{"index": index, "function": {"arguments": token}}]}


def _chunk(model: str, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return encode(_envelope(model, "chat.completion.chunk") | {"choices": [choice]})


def _usage(model: str, parts: Iterable[Said]) -> bytes:
    made = sum(1 for _ in _tokens(parts, model, 0))
    usage = {"prompt_tokens": 1840, "completion_tokens": made, "total_tokens": 1840 + made}
    return encode(_envelope(model, "chat.completion.chunk") | {"choices": [], "usage": usage})


def _envelope(model: str, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-demo", "object": kind, "created": 1785750830, "model": model}


def cut(answer: Answer, *sizes: int) -> Answer:
    """The same bytes in writes of other sizes, wherever that cuts: in an event, an escape, a character."""
    data, total = b"".join(piece.data for piece in answer.pieces), 0.0
    places, at = [0], 0
    while at < len(data):
        at = min(len(data), at + sizes[(len(places) - 1) % len(sizes)])
        places.append(at)
    total = sum(piece.wait for piece in answer.pieces)
    wait = total / (len(places) - 1)
    return replace(answer, pieces=tuple(Piece(wait, data[start:end]) for start, end in pairwise(places)))


def whole(text: str, model: str = "", wait: float = 1.5) -> Answer:
    """An answer to a client that did not ask for a stream."""
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 1840, "completion_tokens": 30, "total_tokens": 1870}
    body = _envelope(model, "chat.completion") | {"choices": choices, "usage": usage}
    return Answer((Piece(wait, orjson.dumps(body)),), kind="application/json")


def failure(status: int, message: str, kind: str) -> Answer:
    body = {"error": {"message": message, "type": kind, "param": None, "code": None}}
    return Answer((Piece(0.4, orjson.dumps(body)),), status, "application/json")
