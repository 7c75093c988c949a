"""Snapshots: back to any read, as often as one likes, at no cost."""

from __future__ import annotations

import gc
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.client import result
from tests.support.streams import JSON, chunk, numbered, sse, stream_of, tool
from tests.support.tiers import each_row, exhaustive, some
from transformer import DIALECTS, StreamTransformer
from transformer.journal import Growing, Text

TOOLS = [
    tool("read", {"path": {"type": "string"}, "tags": {"type": "array"}}, required=["path"]),
    tool("bash", {"command": {"type": "string"}}),
]
SOUP = {
    "roo-xml": [
        "<read>", "</read>", "<path>", "</path>", "<tags>", "</tags>", "<x>", "</x>", "\n", " ", "a",
        "```\n", "<", "😀",
        "\n<read>\n<path>a</path>\n</read>\n", "\n<read>\n<path>",
    ],
    "qwen3-coder": [
        "<tool_call>", "</tool_call>", "<function=read>", "</function>", "<parameter=path>",
        "<parameter=tags>",
        "</parameter>", "\n", " ", "a", "<", "😀",
        "<function=bash>\n<parameter=command>x</parameter></function>",
    ],
    "kimi-k2": [
        "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>", "<|tool_call_end|>", "functions.read:0", "call_x", '{"path":',
        '"a"', "}", '"', "\\",
        " ", "a", "<|", "😀", '<|tool_call_begin|>functions.read:1<|tool_call_argument_begin|>{"path":"',
    ],
    "passthrough": ["a", "<read>", "\n"],
}  # fmt: skip
POLICIES: list[JSON] = [
    {},
    {"arguments": "stream"},
    {"malformed": "repair", "calls": "all", "after_call": "keep"},
    {"max_call_bytes": 40},
    {"unknown_tools": "error"},
]


def everything(transformer: StreamTransformer) -> tuple[Any, ...]:
    return (
        list(transformer.records),
        list(transformer.findings),
        transformer.completion,
        transformer.unaccounted,
        transformer.ended,
    )


def play(transformer: StreamTransformer, reads: list[bytes], end: str) -> list[bytes]:
    outs = [transformer.feed(read) for read in reads]
    return [*outs, transformer.finish() if end == "finish" else transformer.fail("broke")]


def cut(data: bytes, chance: random.Random, mean: int) -> list[bytes]:
    places = sorted(chance.sample(range(1, len(data)), len(data) // mean))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


@st.composite
def answers(draw: st.DrawFn) -> tuple[str, list[bytes], int]:
    """A dialect, an answer as reads, and a read to come back to."""
    dialect = draw(st.sampled_from(list(SOUP)))
    pieces = draw(st.lists(st.sampled_from(SOUP[dialect]), min_size=1, max_size=14))
    chance = random.Random(draw(st.integers(0, 2**32)))
    events = []
    for piece in pieces:
        index = chance.choice([0, 0, 0, 1])
        events.append(chunk(piece, index=index) if chance.random() < 0.8 else chunk(None, piece, index=index))
    events.append(chunk(finish_reason=chance.choice([None, "stop", "length"])))
    data = sse(
        *events, "{broken", '{"choices":[{"delta":{"content":"\\ud83d"}}]}', done=chance.random() < 0.5
    )
    reads = cut(data, chance, chance.choice([3, 20, 100]))
    return dialect, reads, draw(st.integers(0, len(reads)))


@given(
    answers(),
    st.sampled_from(POLICIES),
    st.sampled_from(["all", "findings", "none"]),
    st.sampled_from(["finish", "fail"]),
)
def test_back_to_any_read_and_on_again(
    answer: tuple[str, list[bytes], int], policy: JSON, records: Any, end: str
) -> None:
    dialect, reads, at = answer
    kwargs: JSON = {"tools": TOOLS, "policy": policy, "ids": numbered, "now": 5, "records": records}
    straight = StreamTransformer(dialect, **kwargs)
    expected = play(straight, reads, end)
    final = everything(straight)

    stepping = StreamTransformer(dialect, **kwargs)
    for read in reads[:at]:
        stepping.feed(read)
    middle = everything(stepping)
    snapshot = stepping.snapshot()
    for _ in range(3):
        assert play(stepping, reads[at:], end) == expected[at:]
        assert everything(stepping) == final
        stepping.restore(snapshot)
        assert everything(stepping) == middle
    # A snapshot is a transformer like any other, and knows nothing of where it came from.
    assert play(snapshot, reads[at:], end) == expected[at:]
    assert everything(snapshot) == final
    assert everything(stepping) == middle


@given(answers(), st.integers(0, 2**32))
def test_a_snapshot_at_every_read_and_back_in_any_order(
    answer: tuple[str, list[bytes], int], seed: int
) -> None:
    dialect, reads, _ = answer
    chance = random.Random(seed)
    transformer = StreamTransformer(dialect, tools=TOOLS, ids=numbered)
    snapshots = [transformer.snapshot()]
    seen = [everything(transformer)]
    outs = []
    for read in reads:
        outs.append(transformer.feed(read))
        snapshots.append(transformer.snapshot())
        seen.append(everything(transformer))
    for at in [chance.randrange(len(reads) + 1) for _ in range(6)]:
        transformer.restore(snapshots[at])
        assert everything(transformer) == seen[at]
        if at < len(reads):
            assert transformer.feed(reads[at]) == outs[at]
            assert everything(transformer) == seen[at + 1]


LIMITED = tool("read", {"path": {"type": "string"}, "limit": {"type": "integer"}, "tags": {"type": "array"}})
CALLS = {
    "roo-xml": "Hi\n```\n```\n<read>\n<path>a</path> b</path>\n<limit>3</limit>\n<x>1</x>\n"
    "<tags>[1]</tags>\n<tags>[2]</tags>\n</read>\n bye",
    "qwen3-coder": "Hi\n<tool_call>\n<function=read>\n<parameter=path>\n<function=x>\n"
    "<parameter=y>1</parameter>\n</function>\n</parameter>\n<parameter=limit>3\n"
    "<parameter=tags>[1]</function>\n</tool_call> bye",
    "kimi-k2": "Hi <|tool_calls_section_begin|> <|tool_call_begin|> functions.read:0 "
    "<|tool_call_argument_begin|> "
    '{"path": "a\\"b", "limit": 3} <|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{} bye',
}


@each_row("arguments", ["whole", "stream"])
@each_row("dialect", CALLS)
def test_a_snapshot_inside_every_part_of_a_call(dialect: str, arguments: str) -> None:
    """The original reads on to the end first: nothing of that may show in the copy."""
    kwargs: JSON = {"tools": [LIMITED], "ids": numbered, "now": 5, "policy": {"arguments": arguments}}
    text = CALLS[dialect]
    reads = [sse(chunk(text[at : at + 3]), done=False) for at in range(0, len(text), 3)]
    straight = StreamTransformer(dialect, **kwargs)
    expected = play(straight, reads, "finish")
    assert result(b"".join(expected)).calls
    for at in some(range(len(reads)), 20 if exhaustive() else 8):
        original = StreamTransformer(dialect, **kwargs)
        for read in reads[:at]:
            original.feed(read)
        copy = original.snapshot()
        assert play(original, reads[at:], "finish") == expected[at:]
        assert play(copy, reads[at:], "finish") == expected[at:]
        assert everything(copy) == everything(straight)


def test_a_snapshot_may_go_another_way() -> None:
    transformer = StreamTransformer("roo-xml", tools=TOOLS, ids=numbered)
    first = transformer.feed(sse(chunk("Hi\n<read>\n<path>a"), done=False))
    snapshot = transformer.snapshot()
    other = snapshot.snapshot()
    ends = [
        t.feed(sse(chunk(text, finish_reason="stop"))) + t.finish()
        for t, text in (
            (transformer, "</path></read>"),
            (snapshot, "b</path></read>"),
            (other, " and no end"),
        )
    ]
    got = [result(first + end) for end in ends]
    assert [found.calls for found in got] == [
        [("read", '{"path":"a"}')],
        [("read", '{"path":"ab"}')],
        [],
    ]
    assert got[2].content == "Hi\n<read>\n<path>a and no end"


def test_ids_are_a_function_of_the_call_so_that_a_replay_has_the_same() -> None:
    transformer = StreamTransformer("qwen3-coder", tools=TOOLS)
    snapshot = transformer.snapshot()
    call = "<function=read>\n<parameter=path>a</parameter></function>"
    first = play(transformer, [stream_of(call + call)], "finish")
    transformer.restore(snapshot)
    assert play(transformer, [stream_of(call + call)], "finish") == first


# What a snapshot costs


def long_value(dialect: str, size: int) -> StreamTransformer:
    """A transformer in the middle of a call with a value of `size` characters, in many small deltas."""
    begin = {
        "roo-xml": "<read>\n<path>",
        "qwen3-coder": "<function=read>\n<parameter=path>",
        "kimi-k2": '<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path":"',
    }[dialect]
    transformer = StreamTransformer(
        dialect, tools=TOOLS, ids=numbered, policy={"arguments": "whole"}, records="findings"
    )
    transformer.feed(sse(chunk(begin), done=False))
    event = sse(chunk("x" * 100), done=False)
    for _ in range(size // 100):
        transformer.feed(event)
    return transformer


def texts_of(obj: Any, seen: dict[int, Any], depth: int = 0) -> list[Text]:
    """Every text that belongs to a transformer."""
    if id(obj) in seen or depth > 12 or isinstance(obj, str | bytes | int | float | type | None):
        return []
    seen[id(obj)] = obj
    found = [obj] if isinstance(obj, Text) else []
    if isinstance(obj, dict):
        parts: list[Any] = list(obj.values())
    elif isinstance(obj, list | tuple | set):
        parts = list(obj)[:50]
    elif type(obj).__module__.startswith("transformer"):
        slots = [slot for cls in type(obj).__mro__ for slot in getattr(cls, "__slots__", ())]
        parts = [getattr(obj, slot, None) for slot in slots] + list(getattr(obj, "__dict__", {}).values())
    else:
        parts = []
    return found + [text for part in parts for text in texts_of(part, seen, depth + 1)]


@each_row("dialect", ["roo-xml", "qwen3-coder", "kimi-k2"])
def test_a_snapshot_shares_the_text_of_a_long_value(dialect: str) -> None:
    transformer = long_value(dialect, 1_000_000)
    assert transformer.unaccounted > 1_000_000
    snapshot = transformer.snapshot()
    mine = [text for text in texts_of(transformer, {}) if text.size > 500_000]
    its = [text for text in texts_of(snapshot, {}) if text.size > 500_000]
    assert mine and len(mine) == len(its)
    for one, other in zip(mine, its, strict=True):
        assert one is not other
        assert one.items is other.items, "copied, not shared"
    # Both go on, and neither sees what the other reads.
    transformer.feed(sse(chunk("mine"), done=False))
    snapshot.feed(sse(chunk("its own"), done=False))
    assert snapshot.unaccounted - transformer.unaccounted == 3


# What makes that possible


def test_growing_shares_until_somebody_grows() -> None:
    first: Growing[int] = Growing()
    for item in range(3):
        first.append(item)
    second = first.clone()
    assert second.items is first.items
    first.append(3)
    assert (first.items, second.items) == ([0, 1, 2, 3], [0, 1, 2])
    second.append(30)
    assert (first.items, second.items) == ([0, 1, 2, 3], [0, 1, 2, 30])
    assert (len(first), len(second)) == (4, 4)


def test_growing_a_clone_first() -> None:
    first: Growing[int] = Growing()
    first.append(0)
    second = first.clone()
    second.append(1)
    third = second.clone()
    first.append(10)
    third.append(2)
    assert (first.items, second.items, third.items) == ([0, 10], [0, 1], [0, 1, 2])


def test_text() -> None:
    first = Text("ab")
    second = first.clone()
    first.append("c")
    second.append("de")
    assert (str(first), first.size, str(second), second.size) == ("abc", 3, "abde", 4)
    assert (str(Text()), Text().size) == ("", 0)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.text(max_size=2)), max_size=30))
def test_any_family_of_clones(steps: list[tuple[int, bool, str]]) -> None:
    family, plain = [Text()], [""]
    for number, clone, text in steps:
        at = number % len(family)
        if clone:
            family.append(family[at].clone())
            plain.append(plain[at])
        else:
            family[at].append(text)
            plain[at] += text
    assert [str(text) for text in family] == plain
    assert [text.size for text in family] == [len(text) for text in plain]


def test_a_long_text_takes_little_more_room_than_its_letters() -> None:
    text = Text()
    pieces = [f"piece {number} " for number in range(20_000)]
    for piece in pieces:
        text.append(piece)
    assert str(text) == "".join(pieces)
    assert text.size == len("".join(pieces))
    assert len(text) < 600, "hundreds of pieces are one"


def test_snapshots_of_a_text_that_is_joined_meanwhile_stay_as_they_are() -> None:
    text = Text()
    snapshots = []
    for number in range(3000):
        text.append(f"{number} ")
        if number % 100 == 0:
            snapshots.append((str(text), text.clone()))
    for said, snapshot in snapshots:
        assert str(snapshot) == said
        snapshot.append("another end")
        assert str(snapshot) == said + "another end"
    assert str(text).endswith("2999 ")


@each_row("dialect", DIALECTS)
def test_a_closed_transformer_leaves_nothing_to_the_garbage_collector(dialect: str) -> None:
    gc.freeze()  # what others have made is not looked through
    transformer = StreamTransformer(dialect, tools=TOOLS, ids=numbered, records="findings")
    transformer.feed(sse(chunk("Some words. <read>\n<path>a</path>\n</read>"), done=False))
    transformer.feed(sse(chunk("More words.")))
    transformer.finish()
    transformer.close()
    del transformer
    assert gc.collect() == 0
