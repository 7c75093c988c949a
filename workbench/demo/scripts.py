"""The conversations of the demo, read from `samples/demo.toml` and `samples/demo-qwen-chat.toml`: every
dialect, with what goes well and what goes wrong; the model's answers as bytes, with the time between them.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

import orjson

from transformer.sse import DONE, encode
from workbench.files import samples_dir
from workbench.tape.format import read_tape

_TOKEN = re.compile(r"<\|\w+\|>|\s*[^\W_]{1,6}|\s*[^\w\s]{1,2}|\s+|.", re.DOTALL)
_PACE = 0.045  # seconds between two tokens, more or less
TEMPORARY = "--temporary"  # tells the traffic: the library is to be removed when its proxy is gone


@dataclass(frozen=True, slots=True)
class Piece:
    """One write, this many seconds after the previous one."""

    wait: float
    data: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What upstream writes in answer to one request."""

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
    """Nothing comes for this long."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Call:
    """A call as sent by a server that has parsed it itself."""

    id: str
    name: str
    arguments: str


Said = str | Thought | Silence | Call


def played(sample: str, pace: float = 1.5) -> Answer:
    """What upstream said on one of the sample tapes, in the same reads, a little slower."""
    tape = read_tape(samples_dir() / f"{sample}.jsonl")
    pieces, last = [], 0.0
    for line in tape.of("read"):
        # A tape may have a long silence; here five seconds are enough for a heartbeat.
        pieces.append(Piece(min((line.t - last) * pace, 5.0), line.data))
        last = line.t
    broken = tape.end is not None and tape.end.ended == "error"
    return Answer(tuple(pieces), broken=broken)


def said(*parts: Said, finish: str = "stop", model: str = "", pace: float = _PACE) -> Answer:
    """A stream of tokens, one event a write."""
    rest = Piece(pace, _chunk(model, {}, finish)), Piece(pace, _usage(model, parts)), Piece(0.0, DONE)
    first = Piece(0.5, _chunk(model, {"role": "assistant", "content": ""}))
    return Answer((first, *_tokens(parts, model, pace), *rest))


def _tokens(parts: Iterable[Said], model: str, pace: float) -> Iterator[Piece]:
    # The same every time: what a user saw once can be found again.
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


def recut(answer: Answer, *sizes: int) -> Answer:
    """The same bytes in writes of other sizes, wherever that cuts: in an event, an escape, a character."""
    data = b"".join(piece.data for piece in answer.pieces)
    places, at = [0], 0
    while at < len(data):
        at = min(len(data), at + sizes[(len(places) - 1) % len(sizes)])
        places.append(at)
    wait = sum(piece.wait for piece in answer.pieces) / (len(places) - 1)
    return replace(answer, pieces=tuple(Piece(wait, data[start:end]) for start, end in pairwise(places)))


def whole(text: str, model: str = "", wait: float = 1.5) -> Answer:
    """An answer to a client that did not ask for a stream."""
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 1840, "completion_tokens": 30, "total_tokens": 1870}
    body = _envelope(model, "chat.completion") | {"choices": choices, "usage": usage}
    return Answer((Piece(wait, orjson.dumps(body)),), kind="application/json")


def failure(status: int, message: str, kind: str) -> Answer:
    """An HTTP error in OpenAI's shape."""
    body = {"error": {"message": message, "type": kind, "param": None, "code": None}}
    return Answer((Piece(0.4, orjson.dumps(body)),), status, "application/json")


# -- the script

DEMO, QWEN_CHAT = "demo", "demo-qwen-chat"
TITLE_PROMPT = "You write titles. Reply with the title of this conversation, in at most six words."


@dataclass(frozen=True, slots=True)
class Conversation:
    """`asked` is what it is known by, on both sides; no two have the same."""

    model: str
    asked: str
    turns: Sequence[Answer]
    results: Mapping[str, str] = field(default_factory=dict)  # of tools, where they are not the usual ones
    title: Answer | None = None  # of the side request that runs at the same time
    stream: bool = True
    leaves: float | None = None  # the client goes away after this many seconds


@dataclass(frozen=True, slots=True)
class Script:
    """The conversations, in rows that are played at the same time.

    `first` is the sample with which the demo begins, `dialects` says how each model writes calls.
    """

    first: str
    dialects: Mapping[str, str]
    rows: Sequence[Sequence[Conversation]]
    kind: str = "openai"  # of the upstream

    @property
    def conversations(self) -> list[Conversation]:
        return [one for row in self.rows for one in row]


@cache
def read_script(name: str = DEMO) -> Script:
    """A script that comes with the samples; demo.toml describes the format."""
    with (samples_dir() / f"{name}.toml").open("rb") as file:
        written = tomllib.load(file)
    rows: dict[int, list[Conversation]] = {}
    for one in written["conversations"]:
        rows.setdefault(one.pop("row"), []).append(_conversation(**one))
    ordered = [rows[number] for number in sorted(rows)]
    return Script(written["first"], written["models"], ordered, written.get("kind", "openai"))


def _conversation(
    *, model: str, turns: Sequence[Mapping[str, Any]], title: str | None = None, **more: Any
) -> Conversation:
    answers = [_answer(model, **turn) for turn in turns]
    titled = said(title, model=model) if title is not None else None
    return Conversation(model=model, turns=answers, title=titled, **more)


def _answer(
    model: str,
    *,
    sample: str | None = None,
    say: str | list[Any] | None = None,
    message: str | None = None,
    error: Mapping[str, Any] | None = None,
    cut: Sequence[int] = (),
    **how: Any,
) -> Answer:
    if sample is not None:
        answer = played(sample)
    elif message is not None:
        answer = whole(message, model)
    elif error is not None:
        answer = failure(error["status"], error["message"], error["type"])
    else:
        answer = said(*map(_part, [say] if isinstance(say, str) else say or ()), model=model, **how)
    return recut(answer, *cut) if cut else answer


def _part(written: str | Mapping[str, Any]) -> Said:
    if isinstance(written, str):
        return written
    if "thought" in written:
        return Thought(written["thought"])
    return Call(**written["call"]) if "call" in written else Silence(written["silence"])


def answer_to(conversations: Sequence[Conversation], body: Mapping[str, Any]) -> Answer | None:
    """What the model says next; None where the request belongs to none of the conversations."""
    given = body.get("messages")
    messages = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    texts = [str(one.get("content")) for one in messages]
    # A side request quotes what was asked.
    found = next((one for one in conversations if any(one.asked in text for text in texts)), None)
    if found is None:
        return None
    if any(TITLE_PROMPT in text for text in texts):
        return found.title
    turn: int = sum(one.get("role") == "assistant" for one in messages)
    return found.turns[min(turn, len(found.turns) - 1)]
