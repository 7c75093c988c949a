"""One input run through the transformer, to its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from transformer import StreamTransformer
from transformer.journal import Keep
from transformer.records import Finding, Record
from transformer.sse import DONE, encode
from workbench.chunks import Chunking
from workbench.inputs import Input
from workbench.recipe import Recipe
from workbench.tape import Tape
from workbench.visible import json_text


@dataclass(frozen=True, slots=True)
class Result:
    """What became of an input: the bytes for the client, the whole answer, and what there is to say."""

    out: bytes
    message: dict[str, Any] | None
    records: Sequence[Record]
    findings: Sequence[Finding]


def convert(given: Input, recipe: Recipe, chunking: Chunking | None, records: Keep) -> Result:
    """Run it. `chunking` None means the reads as they were: a tape's own, otherwise everything at once."""
    if given.body is not None:
        whole = recipe.message(records)
        message = whole.convert(given.body, given.body_bytes)
        return Result(json_text(message).encode() + b"\n", message, whole.records, whole.findings)
    t = recipe.stream(records)
    out = b"".join([t.feed(read) for read in _reads(given, chunking)]) + _finish(t, given.tape)
    return Result(out, t.completion, t.records, t.findings)


def _reads(given: Input, chunking: Chunking | None) -> Iterable[bytes]:
    if given.kind == "text":
        return text_reads(chunking.cut(given.text) if chunking else iter([given.text]))
    if given.tape is not None:
        return chunking.cut(b"".join(given.tape.reads)) if chunking else given.tape.reads
    return chunking.cut(given.data) if chunking else [given.data]


def text_reads(pieces: Iterable[str]) -> Iterator[bytes]:
    """The stream an upstream would have sent for this text: one event a piece, one read an event."""
    for piece in pieces:
        if piece:
            yield _chunk([{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
    yield _chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    yield DONE


def _chunk(choices: list[dict[str, Any]]) -> bytes:
    return encode(
        {
            "id": "chatcmpl-text",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "text",
            "choices": choices,
        }
    )


def _finish(t: StreamTransformer, tape: Tape | None) -> bytes:
    """The end as the tape says it was. One that breaks off is read as far as it goes, like a clean EOF."""
    end = tape.end if tape is not None else None
    if end is None or end.value.get("end") != "error":
        return t.finish()
    return t.fail(end.value.get("error") or end.value.get("message") or "no reason is on the tape")
