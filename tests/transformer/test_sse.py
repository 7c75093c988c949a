"""The framing of docs/spec.md, section 2: which bytes are an event, whatever the cut."""

from __future__ import annotations

import itertools
import json
import random
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cuts import every_split
from tests.support.tiers import each_row, exhaustive
from transformer.sse import DONE, Frame, SSEDecoder, encode

BOM = b"\xef\xbb\xbf"
# Everything `str.splitlines` would break a line at, raw inside JSON.
RAW = '{"a":"x\u2028\u2029\u0085\x0b\x0c\x1c\x1d\x1e y"}'.encode()


def decode(reads: list[bytes]) -> tuple[list[Frame], SSEDecoder]:
    decoder = SSEDecoder()
    frames = [frame for read in reads for frame in decoder.feed(read)]
    return frames + decoder.flush(), decoder


def told(frames: list[Frame]) -> list[tuple[bytes, str]]:
    return [(data, name) for data, name, *_ in frames]


def check_ranges(stream: bytes, frames: list[Frame]) -> None:
    """The ranges are true, lie inside their frame, and frames do not overlap."""
    behind = 0
    for data, _, start, end, lines in frames:
        assert b"\n".join(stream[first:last] for first, last in lines) == data
        assert behind <= start <= lines[0][0] and lines[-1][1] <= end <= len(stream)
        assert all(first[1] < second[0] for first, second in itertools.pairwise(lines))
        behind = end


# name -> stream, events as (data, name), lines that are no SSE
STREAMS: dict[str, tuple[bytes, list[tuple[bytes, str]], list[bytes]]] = {
    "LF": (b"data: a\n\ndata: b\n\n", [(b"a", ""), (b"b", "")], []),
    "CRLF": (b"data: a\r\n\r\ndata: b\r\n\r\n", [(b"a", ""), (b"b", "")], []),
    "CR": (b"data: a\r\rdata: b\r\r", [(b"a", ""), (b"b", "")], []),
    "mixed": (
        b"data: a\n\r\ndata: b\r\n\ndata: c\r\rdata: d\n\rdata: e\r\n\r",
        [(b"a", ""), (b"b", ""), (b"c", ""), (b"d", ""), (b"e", "")],
        [],
    ),
    "mixed within one event": (b"data: a\rdata: b\ndata: c\r\ndata: d\n\n", [(b"a\nb\nc\nd", "")], []),
    "CR LF is one line end, CR CR LF is two": (b"data: a\r\ndata: b\r\r\n", [(b"a\nb", "")], []),
    "many blank lines": (b"\n\n\r\n\rdata: a\n\n\n\n\r\r\ndata: b\n\n", [(b"a", ""), (b"b", "")], []),
    "no other character ends a line": (
        b"data: " + RAW + b"\n\ndata: " + RAW + b"\r\n\r\n",
        [(RAW, "")] * 2,
        [],
    ),
    "UTF-8 and its broken pieces": (
        "data: é😀".encode() + b"\xff\x80\n\n",
        [("é😀".encode() + b"\xff\x80", "")],
        [],
    ),
    "comments": (b": hi\n\n:\n\n:data: no\ndata: a\n: in between\ndata: b\n\n", [(b"a\nb", "")], []),
    "event, id, retry": (
        b"event: one\nid: 7\nretry: 10\ndata: a\n\ndata: b\n\nevent:two\ndata: c\n\n",
        [(b"a", "one"), (b"b", ""), (b"c", "two")],
        [],
    ),
    "the last event name counts": (b"event: one\nevent: two\ndata: a\n\n", [(b"a", "two")], []),
    "fields without a colon": (
        b"event\nid\nretry\ndata\n\nevent: x\nevent\ndata: a\n\n",
        [(b"", ""), (b"a", "")],
        [],
    ),
    "an event without data is none": (b"event: ping\n\nid: 1\n\ndata: a\n\n", [(b"a", "")], []),
    "BOM": (BOM + b"data: a\n\ndata: b\n\n", [(b"a", ""), (b"b", "")], []),
    "BOM and CRLF": (BOM + b"data: a\r\n\r\n", [(b"a", "")], []),
    "BOM before a blank line": (BOM + b"\ndata: a\n\n", [(b"a", "")], []),
    "BOM before a comment": (BOM + b": hi\n\ndata: a\n\n", [(b"a", "")], []),
    "BOM of a stream without any line end": (BOM + b"data: a", [(b"a", "")], []),
    "a BOM counts once, at the very start": (
        BOM + BOM + b"data: a\n\n" + BOM + b"data: b\n\ndata: c\n\n",
        [(b"c", "")],
        [BOM + b"data: a", BOM + b"data: b"],
    ),
    "a BOM behind a blank line is none": (
        b"\n" + BOM + b"data: a\n\ndata: b\n\n",
        [(b"b", "")],
        [BOM + b"data: a"],
    ),
    "data without a space": (b"data:a\n\ndata:{}\r\n\r\n", [(b"a", ""), (b"{}", "")], []),
    "only one space is framing": (b"data:  a \n\ndata:\ta\n\n", [(b" a ", ""), (b"\ta", "")], []),
    "a value with colons": (b"data: data: a: b\n\n", [(b"data: a: b", "")], []),
    "several data lines": (b'data: {"a":\ndata: 1}\ndata:\ndata\n\n', [(b'{"a":\n1}\n\n', "")], []),
    "data without a value": (b"data:\n\ndata: \n\ndata\n\n", [(b"", "")] * 3, []),
    "the last event lacks its blank line": (b"data: a\n\ndata: b\n", [(b"a", ""), (b"b", "")], []),
    "the last line lacks its end": (b"data: a\n\ndata: b", [(b"a", ""), (b"b", "")], []),
    "the last line ends with CR": (b"data: a\r", [(b"a", "")], []),
    "stray lines": (
        b"Data: a\ndata : b\n data: c\nhello\n{}\n\ndata: d\n\n",
        [(b"d", "")],
        [b"Data: a", b"data : b", b" data: c", b"hello", b"{}"],
    ),
    "a stray line inside an event": (b"data: a\noops\ndata: b\n\n", [(b"a\nb", "")], [b"oops"]),
    "a JSON body": (b'{\n  "error": 1\n}', [], [b"{", b'  "error": 1', b"}"]),
    "nothing": (b"", [], []),
    "only line ends": (b"\n\r\n\r\r\n", [], []),
}


@each_row(("stream", "events", "stray"), STREAMS.values(), ids=STREAMS)
def test_decoder_under_every_cut(stream: bytes, events: list[tuple[bytes, str]], stray: list[bytes]) -> None:
    lines = None
    for reads in every_split(stream):
        for cut in (reads, [piece for read in reads for piece in (b"", read, b"")]):
            frames, decoder = decode(cut)
            assert told(frames) == events, cut
            check_ranges(stream, frames)
            assert decoder.stray == stray, cut
            assert decoder.lost == sum(map(len, stray)), cut
            assert decoder.idle and decoder.flush() == []
            lines = lines or [frame[4] for frame in frames]
            assert [frame[4] for frame in frames] == lines, cut


def test_a_cr_at_the_end_of_a_read_and_the_lf_in_the_next() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: a\r") == []
    assert told(decoder.feed(b"\n\r")) == [(b"a", "")], "the second CR is the blank line: nobody waits for LF"
    assert decoder.feed(b"\n") == []
    assert told(decoder.feed(b"data: b\r\r")) == [(b"b", "")]
    assert told(decoder.feed(b"\ndata: c\n\n")) == [(b"c", "")]


def test_an_event_is_returned_by_the_read_that_completes_it() -> None:
    decoder = SSEDecoder()
    reads = [b": hi\n\n", b"data: a", b"\n", b"\ndata: b\n\ndata: c\n", b"\n", b"data: d\n\n", b"data: e"]
    assert [[frame[0] for frame in decoder.feed(read)] for read in reads] == [
        [], [], [], [b"a", b"b"], [b"c"], [b"d"], [],
    ]  # fmt: skip
    assert not decoder.idle
    assert [frame[0] for frame in decoder.flush()] == [b"e"]
    assert decoder.idle


def test_byte_ranges_count_from_the_start_of_the_stream() -> None:
    stream = BOM + b": c\r\nevent: n\r\ndata: one\r\ndata:two\r\n\r\ndata\n\n"
    frames, _ = decode([stream])
    first, second = frames
    assert [stream[start:end] for start, end in first[4]] == [b"one", b"two"]
    assert first[4] == ((24, 27), (34, 37))
    assert (first[2], first[3]) == (3, 41)
    assert second[2:] == (41, 47, ((45, 45),))


def test_only_the_beginning_of_what_is_no_sse_is_kept_but_all_of_it_is_counted() -> None:
    decoder = SSEDecoder()
    line = b"x" * 1000 + b"\n"
    for _ in range(1000):
        assert decoder.feed(line) == []
    assert decoder.lost == 1_000_000
    assert 64_000 <= sum(map(len, decoder.stray)) < 70_000


@each_row("end", [b"\n\n", b"\r\n\r\n", b"\r\r"], ids=repr)
def test_a_long_line_byte_by_byte(end: bytes) -> None:
    # Quadratic work would take hours here.
    body = b"x" * (1_000_000 if exhaustive() else 100_000)
    decoder = SSEDecoder()
    frames: list[Frame] = []
    for byte in b"data: " + body + end:
        frames += decoder.feed(bytes((byte,)))
    assert told(frames) == [(body, "")]
    assert frames[0][4] == ((6, 6 + len(body)),)


def test_a_clone_goes_on_by_itself() -> None:
    decoder = SSEDecoder()
    decoder.feed(b"event: n\ndata: a\noops\ndata: b")
    twin = decoder.clone()
    assert told(decoder.feed(b"1\n\n")) == [(b"a\nb1", "n")]
    assert told(twin.feed(b"2\r\nno\r\n\r\n")) == [(b"a\nb2", "n")]
    assert (decoder.stray, twin.stray) == ([b"oops"], [b"oops", b"no"])


# Encoder

ENCODED: dict[str, tuple[Any, bytes]] = {
    "compact": ({"a": 1, "b": [True, None]}, b'data: {"a":1,"b":[true,null]}\n\n'),
    "order is kept": ({"b": 1, "a": 2}, b'data: {"b":1,"a":2}\n\n'),
    "non-ASCII as it is": ({"a": "é😀\u2028"}, 'data: {"a":"é😀\u2028"}\n\n'.encode()),
    "line ends are escaped": ({"a": "x\r\ny\n"}, rb'data: {"a":"x\r\ny\n"}' + b"\n\n"),
}


@each_row(("obj", "expected"), ENCODED.values(), ids=ENCODED)
def test_encode(obj: Any, expected: bytes) -> None:
    assert encode(obj) == expected


def test_done_is_an_event() -> None:
    assert told(decode([DONE])[0]) == [(b"[DONE]", "")]


# By property

texts = st.text(st.characters(codec="utf-8"), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def cut(stream: bytes, seed: int, mean: int) -> list[bytes]:
    chance = random.Random(seed)
    places = sorted(chance.sample(range(len(stream) + 1), min(len(stream) // mean, len(stream))))
    return [stream[a:b] for a, b in zip([0, *places], [*places, len(stream)], strict=True)]


@given(st.lists(json_values, max_size=6), st.integers(0, 2**32), st.sampled_from([1, 2, 5, 20]))
def test_what_was_encoded_comes_back(objects: list[Any], seed: int, mean: int) -> None:
    stream = b"".join(encode(obj) for obj in objects)
    frames, decoder = decode(cut(stream, seed, mean))
    assert [json.loads(frame[0]) for frame in frames] == objects
    check_ranges(stream, frames)
    assert decoder.lost == 0


line_texts = texts.map(lambda text: re.sub("[\r\n]", "", text))
some_events = st.lists(st.tuples(st.lists(line_texts, min_size=1, max_size=3), line_texts), max_size=5)


@given(
    some_events,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 5, 20]),
)
def test_any_events_with_any_line_end_under_any_cut(
    events: list[tuple[list[str], str]], end: str, space: bool, seed: int, mean: int
) -> None:
    written = []
    for lines, name in events:
        fields = [f"event: {name}", ":c", *(f"data:{' ' if space else ''}{line}" for line in lines), "id: 1"]
        written.append("".join(field + end for field in fields) + end)
    stream = "".join(written).encode()
    frames, _ = decode(cut(stream, seed, mean))
    # Without the space of the framing, the value's own first one is taken for it.
    shown = [[line if space else line.removeprefix(" ") for line in lines] for lines, _ in events]
    assert [frame[0].decode() for frame in frames] == ["\n".join(lines) for lines in shown]
    assert [frame[1] for frame in frames] == [name for _, name in events]
    check_ranges(stream, frames)


def naive(stream: bytes) -> tuple[list[tuple[bytes, str]], int]:
    """What the lines of a whole stream mean, and how many bytes of it mean nothing."""
    events: list[tuple[bytes, str]] = []
    data: list[bytes] = []
    name, lost = "", 0
    for line in [*re.split(rb"\r\n|\n|\r", stream.removeprefix(BOM)), b""]:
        field, _, value = line.partition(b":")
        if not line:
            events += [(b"\n".join(data), name)] if data else []
            data, name = [], ""
        elif field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ").decode("utf-8", "replace")
        elif field not in (b"", b"id", b"retry"):
            lost += len(line)
    return events, lost


PIECES = [
    b"data:", b"data: ", b"data", b"event: x", b"event", b"id: 1", b":", b" ", b"a", b"\n", b"\n", b"\r",
    b"\r\n",
    b"\n\n", b"\r\r", BOM, "\u2028".encode(), b"\x0b", b"\x85", b"data: {}\n\n", b"data: {}\n\ndata: {}\n\n",
]  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join), max_size=8))
def test_any_bytes_cut_anywhere_mean_what_their_lines_mean(reads: list[bytes]) -> None:
    stream = b"".join(reads)
    frames, decoder = decode(reads)
    assert (told(frames), decoder.lost) == naive(stream)
    check_ranges(stream, frames)
