"""The short way for events that look alike gives the very bytes of the long way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.streams import JSON, META, numbered, tool
from tests.support.tiers import each_row
from transformer import StreamTransformer
from transformer.answer.proserun import ProseRun
from transformer.frontends.shape import PATIENCE, Shape, learn

TOOLS = [tool("read", {"path": {"type": "string"}})]
ROO = "<read>\n<path>a</path>\n</read>"


def converted(
    events: list[str], short: bool, dialect: str = "roo-xml", records: Any = "findings", **kwargs: Any
) -> tuple[bytes, list[tuple[Any, ...]], Any, int]:
    """What came of the events, and how many of them took the short way, if there is one."""
    taken = 0
    recognise, take_read, take_one = Shape.text, ProseRun.take_read, ProseRun.take_one

    def text(shape: Shape, data: bytes) -> str | None:
        nonlocal taken
        found = recognise(shape, data) if short else None
        taken += found is not None
        return found

    def read(run: ProseRun, chunk: bytes) -> tuple[int, int]:
        nonlocal taken
        found = take_read(run, chunk)
        taken += found[0]
        return found

    def one(run: ProseRun, chunk: bytes) -> bool:
        nonlocal taken
        found = take_one(run, chunk)
        taken += found
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Shape, "text", text)
        patch.setattr(ProseRun, "take_read", read)
        patch.setattr(ProseRun, "take_one", one)
        transformer = StreamTransformer(dialect, tools=TOOLS, ids=numbered, now=5, records=records, **kwargs)
        out = b"".join(transformer.feed(f"data: {event}\n\n".encode()) for event in events)
        out += transformer.finish()
    assert transformer.unaccounted == 0
    found = [(f.code, f.message, f.span, f.event) for f in transformer.findings]
    return out, found, transformer.completion, taken


def check(events: list[str], short: int | None = None, **kwargs: Any) -> None:
    """The same with and without the short way; `short` events went it."""
    for records in ("findings", "all", "none"):
        *expected, _ = converted(events, False, records=records, **kwargs)
        *got, taken = converted(events, True, records=records, **kwargs)
        assert got == expected
        assert short is None or taken == short


def event(literal: str, before: str = "", after: str = "", field: str = "content") -> str:
    """An event as text, so that every byte is chosen here; `literal` is JSON text without its quotes."""
    return f'{{"id":"i","choices":[{{"index":0,"delta":{{"{field}":"{literal}"}}{before}}}]{after}}}'


def texts(*literals: str, **more: str) -> list[str]:
    return [event(literal, **more) for literal in literals]


LITERALS = [
    "a",
    "",
    " ",
    r"\"",
    r"\\",
    r"\"}}]}",
    r"\u00e9\ud83d\ude00",
    "é😀",
    r"a\nb\t",
    "\u2028",
    "}",
    r"\/",
    "<read>",
]

# name -> events, how many took the short way
STREAMS: dict[str, tuple[list[str], int | None]] = {
    "plain": (texts("a", "b", "c", "d"), 3),
    "every kind of literal": (texts("x", *LITERALS), len(LITERALS)),
    "every kind of literal learned from": (
        [e for literal in LITERALS for e in texts(literal, "y", "z")],
        None,
    ),
    "a call": (texts(*(json.dumps(char)[1:-1] for char in f"Hi\n{ROO}")), len(ROO) + 2),
    "text that looks like the end of an event": (texts("a", r"\"}}]}", r"x\"}}]}", r"\"}]}"), 3),
    "more fields where the text was": (
        [*texts("a", "b"), event('c","x":"d'), event('","content":"d'), *texts("e")],
        None,
    ),
    "the key twice": (
        [
            *texts("a", "b"),
            '{"id":"i","choices":[{"index":0,"delta":{"content":"x","content":"y"}}]}',
            *texts("c"),
        ],
        None,
    ),
    "the key twice, learned from": (
        [
            '{"choices":[{"delta":{"content":"x","content":"y"}}]}',
            '{"choices":[{"delta":{"content":"z","content":"y"}}]}',
        ]
        * 2,
        None,
    ),
    "choices twice": (
        [
            '{"choices":[{"delta":{"content":"x"}}],"choices":[{"delta":{"content":"y"}}]}',
            '{"choices":[{"delta":{"content":"z"}}],"choices":[{"delta":{"content":"w"}}]}',
        ]
        * 2,
        None,
    ),
    "delta twice": (
        [f'{{"choices":[{{"delta":{{"content":"x"}},"delta":{{"content":"{c}"}}}}]}}' for c in "abc"],
        None,
    ),
    "blanks in the JSON": (
        [f'{{ "choices" : [ {{ "delta" : {{ "content" : "{c}" }} }} ] }}' for c in "abc"],
        2,
    ),
    "blanks around the JSON": ([f"  {e} " for e in texts("a", "b")] + texts("c", "d"), None),
    "an escaped key": ([rf'{{"choices":[{{"delta":{{"cont\u0065nt":"{c}"}}}}]}}' for c in "abc"], None),
    "unknown fields": (texts("a", "b", before=',"x":[1]', after=',"y":{"z":null}'), 1),
    "unknown fields that change": ([event("a", after=f',"n":{n}') for n in range(12)], 0),
    "unknown fields that change now and then": (
        [event("a", after=f',"n":{n // 5}') for n in range(60)],
        None,
    ),
    "metadata that changes": ([e.replace('"i"', f'"{i}"') for i in "jjkkjj" for e in texts("a", "b")], None),
    "metadata in part": ([f'{{"model":"m","choices":[{{"delta":{{"content":"{c}"}}}}]}}' for c in "abcd"], 3),
    "no metadata": ([f'{{"choices":[{{"delta":{{"content":"{c}"}}}}]}}' for c in "abcd"], 3),
    "a better id on the way": (
        [
            *['{"choices":[{"delta":{"content":"a"}}]}'] * 3,
            '{"response.created":{"response_id":"r"}}',
            *['{"choices":[{"delta":{"content":"b"}}]}'] * 3,
        ],
        None,
    ),
    "a better id before the text": (
        ['{"response.created":{"response_id":"r"}}', *['{"choices":[{"delta":{"content":"b"}}]}'] * 3],
        0,  # whose events are those of a kind of upstream that is read by a module of its own
    ),
    "two choices": (
        [f'{{"choices":[{{"index":{n % 2},"delta":{{"content":"{n}"}}}}]}}' for n in range(12)],
        None,
    ),
    "two choices in runs": (
        [f'{{"choices":[{{"index":{n // 3 % 2},"delta":{{"content":"{n}"}}}}]}}' for n in range(12)],
        None,
    ),
    "two choices in one event": (
        [
            f'{{"choices":[{{"index":0,"delta":{{"content":"{c}"}}}},{{"index":1,"delta":{{"content":"{c}"}}}}]}}'
            for c in "abc"
        ],
        0,
    ),
    "no index": (
        [f'{{"choices":[{{"delta":{{"content":"{c}"}}}}]}}' for c in f"x\n{ROO}".replace("\n", " ")],
        None,
    ),
    "an index that is none": (
        [f'{{"choices":[{{"index":"0","delta":{{"content":"{c}"}}}}]}}' for c in "abc"],
        None,
    ),
    "reasoning": (texts("a", "b", "c", field="reasoning_content"), 2),
    "fields take turns": (
        [*texts("a", "b"), *texts("c", "d", field="reasoning"), *texts("e", "f")] * 2,
        None,
    ),
    "a role first": (
        [
            event("", before="").replace('{"content":""}', '{"role":"assistant","content":""}'),
            *texts("a", "b"),
        ],
        1,
    ),
    "null beside the text": (
        [f'{{"choices":[{{"delta":{{"role":null,"content":"{c}","tool_calls":null}}}}]}}' for c in "abc"],
        0,
    ),
    "logprobs": ([event(c, before=f',"logprobs":{{"p":"{c}"}}') for c in "abc"], 0),
    "logprobs all alike": (texts("a", "b", "c", before=',"logprobs":{"p":1}'), None),
    "logprobs all alike, text held back": (texts("a ", " ", "", "b", before=',"logprobs":{"p":1}'), None),
    "logprobs null": (texts("a", "b", before=',"logprobs":null'), 1),
    "usage grows": (
        [event(c, after=f',"usage":{{"input_tokens":1,"output_tokens":{n}}}') for n, c in enumerate("abc")],
        0,
    ),
    "usage all alike": (texts("a", "b", "c", after=',"usage":{"total_tokens":3}'), None),
    "usage all alike, all metadata there": (
        texts("a", "b", "c", after=',"object":"o","created":1,"model":"m","usage":{"total_tokens":3}'),
        None,
    ),
    "usage of Qwen's chat all alike": (
        texts("a", "b", after=',"usage":{"input_tokens":3,"output_tokens":1}'),
        None,
    ),
    "usage null": (texts("a", "b", after=',"usage":null'), 1),
    "an error null": (texts("a", "b", after=',"error":null'), None),
    "a finish_reason in every event": (texts("a", "b", before=',"finish_reason":"stop"'), 0),
    "a finish_reason null": (texts("a", "b", "c", before=',"finish_reason":null'), 2),
    "a finish_reason at last": ([*texts("a", "b"), event("c", before=',"finish_reason":"length"')], 1),
    "the text of another event's shape": (texts("a", r"\u0000 delta", "\\u0000 delta", "b"), 3),
    "not JSON any more": ([*texts("a", "b"), event("c")[:-1], event("\x01"), *texts("d")], None),
    "half a surrogate pair": (texts("a", r"\ud83d", r"\ude00", "b", r"\ud83d", "c"), None),
    "after the end": ([*texts("a", "b"), "[DONE]", *texts("c", "d")], 1),
    "an error on the way": ([*texts("a", "b"), '{"error":{"message":"x"}}', *texts("c")], 1),
    "an event with the same beginning and end": (
        [*texts("a", "b"), event('c"}},{"index":1,"delta":{"content":"d'), *texts("e")],
        None,
    ),
}


@each_row(("events", "short"), STREAMS.values(), ids=STREAMS)
@each_row("dialect", ["roo-xml", "kimi-k2"])
def test_the_short_way_gives_the_same_bytes(dialect: str, events: list[str], short: int | None) -> None:
    check(events, short, dialect=dialect)


def test_arguments_that_stream_take_the_short_way() -> None:
    header = "<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>"
    text = f'Hi {header}{{"path":"é\\n"}}<|tool_call_end|> bye'
    check(texts(*(json.dumps(char)[1:-1] for char in text)), len(text) - 1, dialect="kimi-k2")


def test_a_refused_tool_takes_the_short_way() -> None:
    text = "Hi\n<zip>\n<a>1</a>\n</zip> more"
    check(texts(*(json.dumps(char)[1:-1] for char in text)), policy={"unknown_tools": "error"})


def test_patience_comes_to_an_end_and_comes_back() -> None:
    restless = [event("a", after=f',"n":{n}') for n in range(PATIENCE)]
    assert converted([*restless, *texts("b", "c", "d")], True)[3] == 0, "no use in trying for ever"
    assert converted([*restless[:-1], *texts("b", "c", "d")], True)[3] == 2
    # One event that fits is worth another try.
    calm = [*restless[:-1], *texts("b", "c")]
    assert converted(calm * 3, True)[3] == 3


CHANGES: list[tuple[str, str]] = [
    ("", ""),
    ("", ""),
    (',"finish_reason":null', ""),
    ("", ',"x":1'),
    (',"logprobs":{"a":1}', ""),
    ("", ',"usage":null'),
    ("", ',"usage":{"total_tokens":3}'),
    ("", ',"usage":{"input_tokens":3,"output_tokens":1}'),
]
some_texts = st.text(max_size=4) | st.sampled_from(
    [
        "<read>",
        "\n<read>",
        "<path>",
        "</path>",
        "</read>\n",
        '"}}]}',
        '"',
        "\\",
        "\n",
        ROO,
        "\ud83d",
        "\ude00",
        "\0 delta",
    ]
)


@st.composite
def streams(draw: st.DrawFn) -> list[str]:
    events: list[str] = []
    for _ in range(draw(st.integers(1, 5))):
        before, after = draw(st.sampled_from(CHANGES))
        field = draw(st.sampled_from(["content", "content", "reasoning", "reasoning_content"]))
        index = draw(st.sampled_from(["0", "0", "1", "null"]))
        ascii_only = draw(st.booleans())
        for text in draw(st.lists(some_texts, min_size=1, max_size=5)):
            literal = json.dumps(text, ensure_ascii=ascii_only or not text.isprintable())[1:-1]
            events.append(event(literal, before, after, field).replace('"index":0', f'"index":{index}'))
    return events


@given(
    streams(),
    st.sampled_from(["roo-xml", "kimi-k2", "qwen3-coder"]),
    st.sampled_from(["findings", "all", "none"]),
)
def test_any_stream_gives_the_same_bytes(events: list[str], dialect: str, records: str) -> None:
    *expected, _ = converted(events, False, dialect, records)
    *got, _ = converted(events, True, dialect, records)
    assert got == expected


# The shape itself


def learned(data: str, field: str = "content") -> Shape | None:
    return learn(data.encode(), json.loads(data), field)


def test_a_shape_knows_its_events() -> None:
    shape = learned(event("a"))
    assert shape is not None
    found = [
        shape.text(data.encode())
        for data in [*texts("b", "", r"\"x\n", "é"), event("a", after=',"x":1'), "{}", ""]
    ]
    assert found == ["b", "", '"x\n', "é", None, None, None]


@each_row(
    "data",
    [event('a","x":"b'), event("a")[:-1], event('a"'), event("\\"), event("a\nb"), event('"}}]}')],
    ids=str,
)
def test_a_shape_refuses_what_only_looks_like_its_events(data: str) -> None:
    shape = learned(event("a"))
    assert shape is not None and shape.text(data.encode()) is None


def test_a_shape_does_not_match_where_its_two_sides_overlap() -> None:
    shape = learned('{"choices":[{"delta":{"content":"a"}}]}')
    assert shape is not None
    assert shape.text(b'{"choices":[{"delta":{"content":"}}]}') is None


@each_row(
    ("data", "field"),
    [
        (event("a").replace('"index":0', '"index":"0"'), "content"),
        (event("a").replace('"index":0', '"index":true'), "content"),
        (event("a"), "reasoning"),
        (event(r"\u0000 delta"), "content"),
    ],
)
def test_what_has_no_shape(data: str, field: str) -> None:
    assert learned(data, field) is None


def test_the_envelope_of_a_shape() -> None:
    shape = learned(event("a", after=',"x":1'))
    assert shape is not None
    made: JSON = {**META, "model": "made"}
    first = shape.chunk({"content": "b"}, made)
    assert json.loads(first.removeprefix(b"data: ")) == {
        **made,
        "id": "i",
        "choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": None}],
        "x": 1,
    }
    assert shape.chunk({"content": "c"}, made) == first.replace(b'"b"', b'"c"')
