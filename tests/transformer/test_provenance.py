"""Which upstream bytes a span of characters came from."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cost import grows_evenly
from tests.support.cuts import check_every_split
from tests.support.streams import chunk, sse
from tests.support.tiers import each_row
from transformer.provenance import Path, SourceMap, byte_offsets, locate, resolve
from transformer.records import Event, Span

CONTENT: Path = ("choices", 0, "delta", "content")


def literal_at(data: bytes, path: Path) -> bytes | None:
    place = locate(data, path)
    return None if place is None else data[place[0] : place[1]]


def decoded(literal: bytes) -> str:
    return str(json.loads(b'"' + literal + b'"', strict=False))


LOCATE: list[tuple[str, bytes, Path, bytes | None]] = [
    ("the usual delta", b'{"choices":[{"delta":{"content":"hi"}}]}', CONTENT, b"hi"),
    ("empty string", b'{"choices":[{"delta":{"content":""}}]}', CONTENT, b""),
    (
        "whitespace everywhere",
        b' {\n"choices" : [ {\t"delta" :\r\n{ "content" : "hi" } } ] } ',
        CONTENT,
        b"hi",
    ),
    (
        "second choice",
        b'{"choices":[{"delta":{}},{"delta":{"content":"b"}}]}',
        ("choices", 1, "delta", "content"),
        b"b",
    ),
    ("nested array", b'[["a","b"],["c","d"]]', (1, 0), b"c"),
    ("other types before", b'{"a":1e5,"b":null,"c":[1,{"x":"y"}],"d":"here"}', ("d",), b"here"),
    ("array of mixed values", b'[null,true,-1.5e3,{"a":["z"]},"here"]', (4,), b"here"),
    ("escaped key", rb'{"\u0063on\u0074ent":"x"}', ("content",), b"x"),
    ("key with a quote", rb'{"a\"b":"x"}', ('a"b',), b"x"),
    ("non-ASCII key, raw", '{"ключ":"x"}'.encode(), ("ключ",), b"x"),
    ("non-ASCII key, escaped", rb'{"\u043a\u043b\u044e\u0447":"x"}', ("ключ",), b"x"),
    ("empty key", b'{"":"x"}', ("",), b"x"),
    ("structure inside strings", rb'{"a":"}],{\"content\":\"no\"","content":"yes"}', ("content",), b"yes"),
    ("escaped backslash before the quote", rb'{"a":"\\","content":"yes"}', ("content",), b"yes"),
    ("a value that looks like the key", b'{"x":"content","content":"yes"}', ("content",), b"yes"),
    (
        "same key elsewhere",
        b'{"a":{"content":"no"},"content":"yes","b":{"content":"no"}}',
        ("content",),
        b"yes",
    ),
    ("the root itself", b' "all" ', (), b"all"),
    ("repeated key: the last counts", b'{"a":"1","a":"2"}', ("a",), b"2"),
    ("repeated key: the last is a number", b'{"a":"1","a":2}', ("a",), None),
    ("repeated key: the last is an object", b'{"a":"1","a":{"a":"2"}}', ("a",), None),
    ("repeated parent: the last lacks it", b'{"a":{"b":"1"},"a":{"c":"2"}}', ("a", "b"), None),
    ("repeated parent: the last is a string", b'{"a":{"b":"1"},"a":"b"}', ("a", "b"), None),
    ("repeated parent, escaped the second time", rb'{"a":{"b":"1"},"\u0061":{"b":"2"}}', ("a", "b"), b"2"),
    ("absent", b'{"choices":[{"delta":{}}]}', CONTENT, None),
    ("null", b'{"choices":[{"delta":{"content":null}}]}', CONTENT, None),
    ("number", b'{"a":12}', ("a",), None),
    ("array", b'{"a":["x"]}', ("a",), None),
    ("index out of range", b'["x"]', (1,), None),
    ("index into an object", b'{"0":"x"}', (0,), None),
    ("key of an array", b'["x"]', ("0",), None),
    ("path goes on below a string", b'{"a":"x"}', ("a", "b"), None),
    ("empty containers", b'{"a":[],"b":{},"c":"x"}', ("c",), b"x"),
    ("no JSON at all", b"[DONE]", CONTENT, None),
    ("a string without an end", rb'{"a":"x\"', ("a",), None),
]


@each_row(("data", "path", "expected"), [row[1:] for row in LOCATE], ids=[row[0] for row in LOCATE])
def test_locate(data: bytes, path: Path, expected: bytes | None) -> None:
    assert literal_at(data, path) == expected


@each_row(
    "before, unit, between, other",
    [
        (b"", b"[", b"", b"]"),
        (b"", b'{"a":', b'"x"', b"}"),
        (b'{"a":"', rb"\"", b"", b""),
        (b"", b'"', b'"', b""),
        (b'{"a":[', b'"x",', b'"x"]}', b""),
    ],
    ids=["deep arrays", "deep objects", "escaped quotes without an end", "quotes", "long array"],
)
def test_locate_takes_hostile_text_in_its_stride(before: bytes, unit: bytes, between: bytes, other: bytes):
    def look(size: int) -> None:
        assert literal_at(before + unit * size + between + other * size, ("a", "b")) is None

    assert grows_evenly(look, 10_000)


GRIN = "\U0001f600"

OFFSETS: list[tuple[str, bytes, int, int, bytes]] = [
    ("plain", b"hello", 1, 3, b"el"),
    ("nothing", b"hello", 2, 2, b""),
    ("all", b"hello", 0, 5, b"hello"),
    ("beyond the end", b"hello", 3, 9, b"lo"),
    ("short escapes", rb"a\nb\"c", 1, 4, rb"\nb\""),
    ("after an escape", rb"a\nbc", 2, 3, b"b"),
    ("escaped backslash, then n", rb"\\n", 1, 2, b"n"),
    ("unicode escape", rb"\u00e9t\u00e9", 1, 3, rb"t\u00e9"),
    ("surrogate pair is one", rb"x\ud83d\ude00y", 1, 2, rb"\ud83d\ude00"),
    ("after a surrogate pair", rb"\uD83D\uDE00yz", 1, 2, b"y"),
    ("lone high surrogate", rb"\ud83dxy", 1, 2, b"x"),
    ("lone low surrogate", rb"\ude00\ude00x", 1, 3, rb"\ude00x"),
    ("high, then a pair", rb"\ud83d\ud83d\ude00", 1, 2, rb"\ud83d\ude00"),
    ("high, then another escape", rb"\ud83d\u0041b", 1, 2, rb"\u0041"),
    ("backslash-u as data", rb"\\ud83d", 1, 3, b"ud"),
    ("raw two bytes", "éxé".encode(), 1, 3, "xé".encode()),
    ("raw four bytes", f"a{GRIN}b".encode(), 1, 2, GRIN.encode()),
    ("raw beside escaped", GRIN.encode() + rb"\ud83d\ude00!", 1, 3, rb"\ud83d\ude00!"),
    ("nothing, at the end", "é".encode(), 1, 1, b""),
    ("nothing, inside", "aéb".encode(), 2, 2, b""),
]


@each_row(
    ("literal", "start", "end", "expected"), [row[1:] for row in OFFSETS], ids=[row[0] for row in OFFSETS]
)
def test_byte_offsets(literal: bytes, start: int, end: int, expected: bytes) -> None:
    first, last = byte_offsets(literal, start, end)
    assert literal[first:last] == expected


@given(st.binary(max_size=40).map(lambda raw: raw.replace(b"\\", b"/")), st.data())
def test_byte_offsets_count_broken_utf8_as_its_replacements(raw: bytes, data: st.DataObject) -> None:
    text = raw.decode("utf-8", "replace")
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    first, last = byte_offsets(raw, start, end)
    assert raw[first:last].decode("utf-8", "replace") == text[start:end]


def test_source_map() -> None:
    sources = SourceMap()
    sources.add(1, 3, CONTENT)
    sources.add(2, 0, CONTENT)
    sources.add(4, 2, ("x",))
    sources.add(5, 4, CONTENT)
    table: list[tuple[int, int, list[tuple[int, Path, int, int]]]] = [
        (0, 3, [(1, CONTENT, 0, 3)]),
        (1, 2, [(1, CONTENT, 1, 2)]),
        (2, 4, [(1, CONTENT, 2, 3), (4, ("x",), 0, 1)]),
        (0, 9, [(1, CONTENT, 0, 3), (4, ("x",), 0, 2), (5, CONTENT, 0, 4)]),
        (3, 5, [(4, ("x",), 0, 2)]),
        (8, 99, [(5, CONTENT, 3, 4)]),
        (9, 12, []),
        (4, 4, []),
    ]
    assert len(sources) == 9
    for start, end, expected in table:
        assert sources.pieces(start, end) == expected, (start, end)
    assert SourceMap().pieces(0, 5) == []


def test_source_map_a_character_whose_halves_came_in_two_events() -> None:
    sources = SourceMap()
    sources.add(0, 2, CONTENT)  # "ab\\ud83d": the half waits
    sources.add(1, 3, CONTENT, half=(0, CONTENT, 2))  # "\\ude00cd"
    assert sources.pieces(2, 3) == [(0, CONTENT, 2, 3), (1, CONTENT, 0, 1)]
    assert sources.pieces(1, 5) == [(0, CONTENT, 1, 2), (0, CONTENT, 2, 3), (1, CONTENT, 0, 3)]
    assert sources.pieces(3, 5) == [(1, CONTENT, 1, 3)]


def test_source_map_a_half_that_waited_in_vain() -> None:
    sources = SourceMap()
    sources.add(0, 2, CONTENT)
    sources.add(0, 1, CONTENT, first=2)
    sources.add(1, 2, CONTENT)
    assert sources.pieces(0, 5) == [(0, CONTENT, 0, 2), (0, CONTENT, 2, 3), (1, CONTENT, 0, 2)]


def test_resolve_a_surrogate_pair_cut_in_two() -> None:
    stream = Stream(("a",))
    stream.add(rb'{"a":"ab\ud83d"}', 2)
    stream.add(rb'{"a":"\ude00cd"}', 0)
    stream.sources.add(1, 3, ("a",), half=(0, ("a",), 2))
    assert stream.behind(1, 4) == [rb"b\ud83d", rb"\ude00c"]
    assert decoded(b"".join(stream.behind(2, 3))) == GRIN


def test_a_cloned_source_map_goes_on_by_itself() -> None:
    sources = SourceMap()
    sources.add(0, 2, ("a",))
    twin = sources.clone()
    sources.add(1, 2, ("b",))
    twin.add(1, 5, ("c",))
    assert sources.pieces(0, 9) == [(0, ("a",), 0, 2), (1, ("b",), 0, 2)]
    assert twin.pieces(0, 9) == [(0, ("a",), 0, 2), (1, ("c",), 0, 5)]


class Stream:
    """Events laid out in a byte stream, as a decoder would report them."""

    def __init__(self, path: Path = CONTENT, first: int = 0) -> None:
        self.bytes = b": a comment\n\n"
        self.events: list[Event] = []
        self.sources = SourceMap()
        self.path = path
        self.first = first

    def add(self, data: bytes, length: int) -> None:
        start = len(self.bytes)
        lines: list[tuple[int, int]] = []
        for line in data.split(b"\n"):
            self.bytes += b"data: "
            lines.append((len(self.bytes), len(self.bytes) + len(line)))
            self.bytes += line + b"\r\n"
        self.bytes += b"\r\n"
        number = self.first + len(self.events)
        self.events.append(Event(number, number, 0, start, len(self.bytes), "", data, tuple(lines)))
        self.sources.add(number, length, self.path)

    def behind(self, start: int, end: int) -> list[bytes]:
        span = Span(0, "content", start, end, self.events[-1].number)
        return [self.bytes[first:last] for first, last in resolve(span, self.sources, self.events)]


@each_row("first", [0, 7], ids=["all events kept", "early events gone"])
def test_resolve_over_events_and_lines(first: int) -> None:
    stream = Stream(("a", "b"), first)
    stream.add(b'{"a":\n{"b":\n"one"}\n}', 3)
    stream.add(b'{"a":{"c":"b"}}', 0)
    stream.add(rb'{"a":{"b":"\ud83d\ude00wo"}}', 3)
    assert stream.behind(0, 6) == [b"one", rb"\ud83d\ude00wo"]
    assert stream.behind(1, 4) == [b"ne", rb"\ud83d\ude00"]
    assert stream.behind(4, 5) == [b"w"]
    assert stream.behind(2, 2) == []


def test_resolve_a_string_cut_over_two_data_lines() -> None:
    # A raw newline in a string is no JSON for a strict parser, but a lenient one takes it.
    stream = Stream(("a",))
    stream.add(b'{"a":"x\ny"}', 3)
    assert stream.behind(0, 3) == [b"x", b"y"]


def test_resolve_what_belongs_to_the_event_as_a_whole() -> None:
    stream = Stream(("a",))
    stream.add(b'{"a":"x"}', 1)
    stream.add(b"[DONE]", 0)
    ranges = resolve(Span(0, "", 0, 0, 1), stream.sources, stream.events)
    assert [stream.bytes[first:last] for first, last in ranges] == [b"[DONE]"]
    assert resolve(Span(0, "", 0, 0, 9), stream.sources, stream.events) == ()


def test_resolve_leaves_out_what_was_not_kept() -> None:
    stream = Stream(("a",))
    stream.add(b'{"a":"one"}', 3)
    stream.add(b'{"a":"two"}', 3)
    kept = stream.events[1:]
    ranges = resolve(Span(0, "content", 0, 6, 1), stream.sources, kept)
    assert [stream.bytes[first:last] for first, last in ranges] == [b"two"]


def test_resolve_merges_adjacent_ranges() -> None:
    event = Event(0, 0, 0, 0, 9, "", b'{"a":"x"}', ((0, 4), (4, 9)))
    assert resolve(Span(0, "", 0, 0, 0), SourceMap(), [event]) == ((0, 9),)


texts = st.text(st.characters(), max_size=8) | st.text(
    st.sampled_from('a"\\/\n\t\x7f\u2028é字' + GRIN + "\ud83d\ude00"), max_size=8
)
trees: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
separators = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "\r\n: ")])
indents = st.sampled_from([None, 0, 1, "\t"])


def strings_in(tree: Any, path: Path = ()) -> list[tuple[Path, str]]:
    if isinstance(tree, str):
        return [(path, tree)]
    members = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [found for key, value in members for found in strings_in(value, (*path, key))]


def dumped(tree: Any, ensure_ascii: bool, indent: str | int | None, separators: tuple[str, str]) -> bytes:
    text = json.dumps(tree, ensure_ascii=ensure_ascii, indent=indent, separators=separators)
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate exists in JSON only as an escape
        return json.dumps(tree, indent=indent, separators=separators).encode()


@given(trees, st.booleans(), indents, separators)
def test_every_string_is_located(
    tree: Any, ensure_ascii: bool, indent: str | int | None, separators: tuple[str, str]
) -> None:
    data = dumped(tree, ensure_ascii, indent, separators)
    for path, text in strings_in(json.loads(data)):
        literal = literal_at(data, path)
        assert literal is not None
        assert decoded(literal) == text
        assert literal_at(data, (*path, "x")) is None


@given(texts, st.booleans())
def test_every_substring_of_every_string_decodes_to_itself(text: str, ensure_ascii: bool) -> None:
    literal = dumped(text, ensure_ascii, None, (",", ":"))[1:-1]
    text = decoded(literal)  # two lone surrogates side by side have become one character on the way
    for start in range(len(text) + 1):
        for end in range(start, len(text) + 1):
            first, last = byte_offsets(literal, start, end)
            assert decoded(literal[first:last]) == text[start:end]


@given(st.lists(texts, min_size=1, max_size=5), st.booleans(), indents, separators, st.data())
def test_every_span_resolves_to_bytes_that_decode_to_its_text(
    parts: list[str],
    ensure_ascii: bool,
    indent: str | int | None,
    separators: tuple[str, str],
    data: st.DataObject,
) -> None:
    stream = Stream()
    channel: list[str] = []
    for part in parts:
        event = {
            "id": "x",
            "choices": [{"delta": {"role": "assistant", "content": part}, "index": 0}],
            "usage": None,
        }
        raw = dumped(event, ensure_ascii, indent, separators)
        # CR ends a line of SSE too, so an encoder cannot leave it in the JSON's whitespace.
        raw = raw.replace(b"\r\n", b"\n")
        text = json.loads(raw)["choices"][0]["delta"]["content"]
        stream.add(raw, len(text))
        channel.append(text)
    whole = [char for part in channel for char in part]
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    got = [decoded(piece) for piece in stream.behind(start, end)]
    assert [char for piece in got for char in piece] == whole[start:end]


CALL_TEXT = 'Né 字 😀!\n\n<write>\n<path>ü/😀.txt</path>\n<content>\n"x"\\\t😀\n</content>\n</write>'
CALL_ARGUMENTS = '{"path":"ü/😀.txt","content":"\\"x\\"\\\\\\t😀"}'
ESCAPED = [json.dumps(chunk(CALL_TEXT[at : at + 9])) for at in range(0, len(CALL_TEXT), 9)]
RAW = [json.dumps(chunk(CALL_TEXT[at : at + 9]), ensure_ascii=False) for at in range(0, len(CALL_TEXT), 9)]
PRETTY = [json.dumps(chunk(CALL_TEXT[at : at + 30]), indent=1) for at in range(0, len(CALL_TEXT), 30)]


@each_row("events", [ESCAPED, RAW, PRETTY], ids=["escaped", "raw", "several data lines"])
def test_the_spans_of_an_answer_are_true(events: list[str]) -> None:
    # check_every_split resolves every delta's span and compares its bytes with its text.
    got = check_every_split("roo-xml", sse(*events))
    assert (got.content, got.calls) == ("Né 字 😀!", [("write", CALL_ARGUMENTS)])


HALVES: dict[str, tuple[list[str], str]] = {
    "a pair in two events": (["a\\ud83d", "\\ude00b"], "a😀b"),
    "nothing but halves": (["\\ud83d", "\\ude00"], "😀"),
    "a half, then text": (["a\\ud83d", "bcd"], "a\ufffdbcd"),
    "a half, then another": (["\\ud83d", "\\ud83d", "\\ude00c"], "\ufffd😀c"),
    "a second half alone": (["a", "\\ude00b"], "a\ufffdb"),
    "a half at the end": (["ab\\ud83d"], "ab\ufffd"),
}


@each_row(("parts", "expected"), HALVES.values(), ids=HALVES)
def test_the_spans_of_surrogates_cut_in_two_are_true(parts: list[str], expected: str) -> None:
    events = [f'{{"choices":[{{"delta":{{"content":"{part}"}}}}]}}' for part in parts]
    assert check_every_split("roo-xml", sse(*events), twin=False).content == expected
