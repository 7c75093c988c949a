"""What is not a tape yet, as the tape that it would have been: a capture of a stream, a whole completion, the
text of a model; and a tape with its reads cut otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from transformer.policy import Policy
from transformer.sse import SSEDecoder
from workbench.replay.lines import MemoryTape, was_sent
from workbench.tape.format import End, Line, Tape, end_line, make_header, read_line
from workbench.tape.inputs import Chunking, Input, Kind, text_reads
from workbench.tape.recipe import Wishes, make_recipe, wished

GAP = 0.02  # seconds between two reads that nobody timed
# About as long as a model's tokens: a word with the blank before it, a few signs; a tag is cut anywhere.
_TOKEN = re.compile(r" ?\w{1,5}|\s+|[^\w\s]{1,2}")
_ABOUT: Mapping[Kind, str] = {
    "sse": "a capture of a stream: it has neither times nor the cuts of its reads; ",
    "text": "the text of a model, as a server would have streamed it; ",
    "json": "a whole completion, which came in one piece",
}
_USUAL = {"sse": "one read an event", "text": "one event a token", "json": ""}


def tokens(text: str) -> Iterator[str]:
    """Pieces like a model's, the same ones every time; they join to the text."""
    return (match[0] for match in _TOKEN.finditer(text))


def event_reads(data: bytes) -> Iterator[bytes]:
    """One read an event, the last one with whatever follows; they join to the data."""
    ends = [end for _, _, _, end, _ in SSEDecoder().feed(data)]
    places = sorted({0, *ends, len(data)})
    return (data[start:end] for start, end in pairwise(places))


def header_of(kind: Kind, wishes: Wishes, chunking: Chunking | None) -> dict[str, Any]:
    """The first line of the tape that it would have been; a UserError where the wishes do not suffice."""
    recipe = make_recipe({}, wishes)
    cut = _USUAL[kind] if chunking is None or kind == "json" else "cut as --chunk says"
    about = _ABOUT[kind] + (f"{cut}, {GAP * 1000:.0f} ms apart" if cut else "")
    header = make_header(about, recipe.dialect, ids="replay", now=0, stream=kind != "json", kind="chat")
    said = Policy.from_mapping(wishes.switches).said()
    return wished(header | ({"policy": said} if said else {}), Wishes(None, wishes.tools, wishes.request))


def memory_tape_of(name: str, given: Input, wishes: Wishes, chunking: Chunking | None) -> MemoryTape:
    """Something that is all there already, ready to be played."""
    if given.tape is not None:
        return _recut_tape(name, given.tape, wishes, chunking)
    header = header_of(given.kind, wishes, chunking)
    header["about"] = "; ".join((header["about"], *given.notes))
    how: End = "eof" if given.kind == "sse" and b"[DONE]" not in given.data[-100:] else "done"
    return MemoryTape(name, header, _timed(_reads(given, chunking), how))


def _reads(given: Input, chunking: Chunking | None) -> Iterable[bytes]:
    if given.kind == "json":
        return [given.data]
    if given.kind == "text":
        return text_reads(chunking.cut(given.text) if chunking else tokens(given.text))
    return chunking.cut(given.data) if chunking else event_reads(given.data)


def _timed(reads: Iterable[bytes], how: End) -> Iterator[Line]:
    t = 0.0
    for number, data in enumerate(reads):
        t = number * GAP
        yield read_line(t, data)
    yield end_line(t, how)


def _recut_tape(name: str, tape: Tape, wishes: Wishes, chunking: Chunking | None) -> MemoryTape:
    if chunking is None and wishes == Wishes():
        return MemoryTape(name, tape.header, tape.lines)
    header = wished(tape.header, wishes) | {"variant_of": name}
    lines = [line for line in tape.lines if not was_sent(line)]
    return MemoryTape(name, header, lines if chunking is None else rechunked(lines, chunking))


def rechunked(lines: Iterable[Line], chunking: Chunking) -> Iterator[Line]:
    """The same bytes in other reads; each comes when the last of its bytes came."""
    lines = list(lines)
    pieces = chunking.cut(b"".join(line.data for line in lines if line.kind == "read"))
    piece = next(pieces, None)
    arrived = 0
    for line in lines:
        if line.kind != "read":
            yield line
            continue
        arrived += len(line.data)
        while piece is not None and len(piece) <= arrived:
            arrived -= len(piece)
            yield read_line(line.t, piece)
            piece = next(pieces, None)
