"""Upstreams: what a model says, as the events its server would stream, and as the reads they arrive in.

A server is a function of what is said; it gives the events once it knows the tape's id, time and model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

JSON: TypeAlias = dict[str, Any]
Cut: TypeAlias = Callable[[str], list[str]]
Reads: TypeAlias = Callable[[list[bytes]], list[bytes]]

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Meta:
    """What a server writes into each of its chunks."""

    id: str
    created: int
    model: str


Upstream: TypeAlias = Callable[[Meta], list[bytes]]


@dataclass(frozen=True, slots=True)
class Thinks:
    """Text in the reasoning channel; plain strings are content."""

    text: str


Said: TypeAlias = str | Thinks


def lines(*each: str) -> str:
    """Text of several lines, without a newline at the end."""
    return "\n".join(each)


def event(value: Any, *, ascii: bool = False) -> bytes:
    """One event; `ascii` for servers that write every other character as an escape."""
    text = json.dumps(value, ensure_ascii=ascii, separators=(",", ":"))
    return b"data: " + text.encode("utf-8") + b"\n\n"


# Cuts: how a text becomes deltas

# Roughly what tokenizers do: short pieces that begin with a blank or a sign, a special token as a whole.
_ATOM = re.compile(
    r" ?<\|[a-z_]+\|>| ?</?tool_call>|>?[\r\n]+| ?[A-Za-z]{1,6}|[0-9]{1,3}| ?[^\w\s]{1,2}|.", re.DOTALL
)
_LONGEST = 6


def tokens(text: str) -> list[str]:
    pieces: list[str] = []
    for atom in _ATOM.findall(text):
        joins = (
            pieces and len(pieces[-1]) + len(atom) <= _LONGEST and atom[0] != " " and pieces[-1][-1] != "\n"
        )
        if joins:
            pieces[-1] += atom
        else:
            pieces.append(atom)
    return pieces


def bursts(text: str) -> list[str]:
    """Three tokens at a time, as speculative decoding gives them."""
    each = tokens(text)
    return ["".join(each[at : at + 3]) for at in range(0, len(each), 3)]


def letters(text: str) -> list[str]:
    return list(text)


def whole(text: str) -> list[str]:
    return [text]


def every(size: int) -> Cut:
    return lambda text: [text[at : at + size] for at in range(0, len(text), size)]


# Servers: how deltas become events


def plain(*said: Said, cut: Cut = tokens, finish: str | None = "stop", usage: JSON | None = None) -> Upstream:
    """A server that says no more than it must."""

    def events(meta: Meta) -> Iterator[bytes]:
        for channel, text in _pieces(said, cut):
            yield event({"choices": [{"index": 0, "delta": {channel: text}}]})
        if finish is not None:
            yield event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        if usage is not None:
            yield event({"choices": [], "usage": usage})
        yield DONE

    return lambda meta: list(events(meta))


def vllm(
    *said: Said,
    cut: Cut = tokens,
    finish: str | None = "stop",
    usage: JSON | None = None,
    ascii: bool = False,
) -> Upstream:
    """OpenAI's chunks with all their metadata, the role in a delta of its own."""

    def events(meta: Meta) -> Iterator[bytes]:
        yield event(chunk(meta, {"role": "assistant", "content": ""}), ascii=ascii)
        for channel, text in _pieces(said, cut):
            yield event(chunk(meta, {channel: text}), ascii=ascii)
        yield event(chunk(meta, {}, finish), ascii=ascii)
        if usage is not None:
            yield event(chunk(meta) | {"choices": [], "usage": usage})
        yield DONE

    return lambda meta: list(events(meta))


def kimi_host(
    *said: Said, cut: Cut = tokens, finish: str | None = "stop", usage: JSON | None = None
) -> Upstream:
    """Kimi's hosts: reasoning in both of its fields, the finish_reason inside the last delta."""

    def events(meta: Meta) -> Iterator[bytes]:
        for channel, text in _pieces(said, cut):
            fields = ("content",) if channel == "content" else ("reasoning", "reasoning_content")
            yield _bare(meta, dict.fromkeys(fields, text))
        yield _bare(meta, {"reasoning": "", "finish_reason": finish})
        if usage is not None:
            yield event({"id": meta.id, "choices": [], "usage": usage})
        yield DONE

    def _bare(meta: Meta, delta: JSON) -> bytes:
        return event(
            {
                "id": meta.id,
                "object": "chat.completion.chunk",
                "model": meta.model,
                "choices": [{"index": 0, "delta": delta}],
            }
        )

    return lambda meta: list(events(meta))


def qwen_chat(*said: Said, cut: Cut = tokens, prompt: int = 21) -> Upstream:
    """Qwen's web chat: phases, a usage that grows with every chunk, no metadata, no [DONE]."""

    def events(meta: Meta) -> Iterator[bytes]:
        ids = {"chat_id": "c-7", "parent_id": "p-3", "response_id": meta.id.removeprefix("chatcmpl-")}
        yield event({"response.created": ids})
        made = 0
        phases = ["think" if isinstance(part, Thinks) else "answer" for part in said]
        for part, phase, following in zip(said, phases, [*phases[1:], ""], strict=True):
            for _, text in _pieces([part], cut):
                made += 1
                usage = {"input_tokens": prompt, "output_tokens": made, "total_tokens": prompt + made}
                yield event({"choices": [{"delta": _phase(text, phase, "typing")}], "usage": usage})
            if phase != following:
                yield event({"choices": [{"delta": _phase("", phase, "finished")}]})

    def _phase(text: str, phase: str, status: str) -> JSON:
        return {"role": "assistant", "content": text, "phase": phase, "status": status}

    return lambda meta: list(events(meta))


def raw(*events: bytes | Mapping[str, Any]) -> Upstream:
    """A stream that matters byte by byte: bytes go as they are, deltas (objects) in chunks of their own."""
    return lambda meta: [
        each if isinstance(each, bytes) else event(chunk(meta, dict(each))) for each in events
    ]


def chunk(meta: Meta, delta: JSON | None = None, finish: str | None = None, index: int = 0) -> JSON:
    """One chat.completion.chunk."""
    return {
        "id": meta.id,
        "object": "chat.completion.chunk",
        "created": meta.created,
        "model": meta.model,
        "choices": [{"index": index, "delta": delta or {}, "finish_reason": finish}],
    }


def _pieces(said: Iterable[Said], cut: Cut) -> Iterator[tuple[str, str]]:
    for part in said:
        channel = "reasoning_content" if isinstance(part, Thinks) else "content"
        for text in cut(part.text if isinstance(part, Thinks) else part):
            yield channel, text


# Reads: how events arrive


def one_by_one(events: list[bytes]) -> list[bytes]:
    return events


def together(count: int) -> Reads:
    """Several events in a read, as a busy network delivers them."""
    return lambda events: [b"".join(events[at : at + count]) for at in range(0, len(events), count)]


def slices(*sizes: int) -> Reads:
    """Reads of so many bytes, in turn, wherever that cuts."""

    def cut(events: list[bytes]) -> list[bytes]:
        data, at = b"".join(events), 0
        reads: list[bytes] = []
        while at < len(data):
            size = sizes[len(reads) % len(sizes)]
            reads.append(data[at : at + size])
            at += size
        return reads

    return cut


def inside(*marks: bytes) -> Reads:
    """One event a read, but those with a mark are cut in two, one byte into the mark."""

    def cut(events: list[bytes]) -> list[bytes]:
        return [part for each in events for part in _split(each, marks)]

    return cut


def _split(data: bytes, marks: Sequence[bytes]) -> list[bytes]:
    places = [data.find(mark) + 1 for mark in marks if mark in data]
    bounds = [0, *sorted(places), len(data)]
    return [data[start:end] for start, end in pairwise(bounds)]
