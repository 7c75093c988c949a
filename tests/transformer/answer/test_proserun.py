"""Prose that takes the shortest way is known wherever somebody looks at the answer.

That any stream gives the same bytes on every way is in frontends/test_shape.py.
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.streams import numbered, sse, tool
from transformer import DIALECTS, StreamTransformer
from transformer.answer.proserun import ProseRun

TOOLS = [tool("read", {"path": {"type": "string"}}, required=["path"])]
WORDS = ["a", " word", " ", "\n", "\n\n", "```", "```\n", "`", "x\ny", "é😀", "1. ", "<", ">", "{", "[", "|"]
CALLS = [
    "\n<read>\n<path>a</path>\n</read>\n",
    "<think>",
    "</think>",
    "<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
    '<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path":"a"}<|tool_call_end|>',
    '<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>',
]
LOOKS: dict[str, Any] = {
    "nothing": lambda t: None,
    "completion": lambda t: t.completion,
    "held": lambda t: t.unaccounted,
    "there and back": lambda t: t.restore(t.snapshot()),
}
BETWEEN = ["", ": ping\n\n", "\n", "event: x\n", "event: error\n", "data: [1]\n", "data: [1]\n\n"]
texts = st.lists(st.sampled_from([*WORDS, *WORDS, *CALLS]), min_size=1, max_size=40)


def transformer(dialect: str, records: Any = "findings", **policy: str) -> StreamTransformer:
    return StreamTransformer(dialect, TOOLS, policy, ids=numbered, now=5, records=records)


def event(text: str, field: str = "content") -> bytes:
    return sse({"choices": [{"index": 0, "delta": {field: text}}]}, done=False)


@given(
    st.sampled_from(sorted(DIALECTS)),
    st.sampled_from(["content", "reasoning_content"]),
    texts,
    st.data(),
)
def test_whoever_looks_sees_all_of_it(dialect: str, field: str, said: list[str], data: st.DataObject) -> None:
    quick, slow = transformer(dialect), transformer(dialect, "all")
    for text in said:
        assert quick.feed(event(text, field)) == slow.feed(event(text, field))
        look = LOOKS[data.draw(st.sampled_from(sorted(LOOKS)))]
        assert look(quick) == look(slow)
    assert quick.finish() == slow.finish()
    assert quick.completion == slow.completion
    assert [found.message for found in quick.findings] == [found.message for found in slow.findings]


@given(
    st.sampled_from(sorted(DIALECTS)),
    texts,
    st.lists(st.sampled_from(BETWEEN), max_size=3),
    st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    st.data(),
)
def test_reads_may_be_cut_anywhere(
    dialect: str, said: list[str], between: list[str], newline: str, data: st.DataObject
) -> None:
    """Several events in a read, a part of one, other lines between them, with or without escapes."""
    escapes = data.draw(st.booleans())
    events = [written(text, escapes) for text in said]
    for extra in between:
        events.insert(data.draw(st.integers(0, len(events))), extra)
    stream = "".join(events).replace("\n", newline).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    quick, slow = transformer(dialect), transformer(dialect, "all")
    out = [quick.feed(stream[a:b]) for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert b"".join([*out, quick.finish()]) == slow.feed(stream) + slow.finish()
    assert quick.completion == slow.completion
    assert quick.events == slow.events


def written(text: str, escapes: bool, **envelope: Any) -> str:
    value = {**envelope, "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    return f"data: {json.dumps(value, ensure_ascii=escapes, separators=(',', ':'))}\n\n"


CHUNK = "chat.completion.chunk"
RUN = [event(text) for text in ("one", " two", " three", " four")]


@pytest.mark.parametrize("before", [b"event: error\n", b'data: {"choices":[],\n', b"data: [1]\n"])
@pytest.mark.parametrize("count", [1, 60])
def test_lines_before_an_event_belong_to_it_in_whichever_read_they_come(before: bytes, count: int) -> None:
    assert_same_ways([*RUN, before, RUN[1] * count, RUN[2]])


@pytest.mark.parametrize("envelope", [{}, {"id": "x", "object": CHUNK, "created": 1, "model": "m"}])
def test_escapes_are_written_as_on_the_long_way(envelope: Any) -> None:
    """Also where the client gets everything else as it came."""
    texts = (" word", " two", " three", " café", ' a "b" c')
    assert_same_ways([written(text, escapes=True, **envelope).encode() for text in texts])


def assert_same_ways(reads: list[bytes]) -> None:
    quick, slow = transformer("roo-xml"), transformer("roo-xml", "all")
    assert [quick.feed(read) for read in reads] == [slow.feed(read) for read in reads]
    assert quick.finish() == slow.finish() and quick.error == slow.error


Look: TypeAlias = tuple[int, int]


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[Look]:
    """How many events of a read belonged to a run, and how many bytes it had, for each look at one."""
    found: list[Look] = []
    take_read, take_one = ProseRun.take_read, ProseRun.take_one

    def read(run: ProseRun, chunk: bytes) -> tuple[int, int]:
        count, size = take_read(run, chunk)
        found.append((count, len(chunk)))
        return count, size

    def one(run: ProseRun, chunk: bytes) -> bool:
        taken = take_one(run, chunk)
        found.append((int(taken), len(chunk)))
        return taken

    monkeypatch.setattr(ProseRun, "take_read", read)
    monkeypatch.setattr(ProseRun, "take_one", one)
    return found


@pytest.mark.parametrize(
    ("dialect", "field"),
    [("roo-xml", "content"), ("roo-xml", "reasoning_content"), ("kimi-k2", "content"), ("auto", "content")],
)
def test_words_are_a_run(dialect: str, field: str, looked: list[Look]) -> None:
    one = transformer(dialect)
    for number in range(1500):
        one.feed(event(f" word{number}", field))
    assert sum(count for count, _ in looked) >= 1490, "all but the first few"
    assert one.completion is not None
    assert one.completion["choices"][0]["message"][field] == "".join(f" word{n}" for n in range(1500))


def test_a_run_begins_within_a_read_and_goes_on_after_another_event(looked: list[Look]) -> None:
    """A fast server's first read has hundreds of events."""
    words = [f" word{number}" for number in range(400)]
    words[100] = words[300] = " line\n"
    one = transformer("roo-xml")
    one.feed(b"".join(map(event, words)))
    # All but the first few and those around the ends of the lines.
    assert sum(count for count, _ in looked) >= 390 and len(looked) < 20
    assert one.completion is not None
    assert one.completion["choices"][0]["message"]["content"] == "".join(words)


def test_a_read_of_odd_events_is_looked_through_a_few_times_only(looked: list[Look]) -> None:
    """Each look goes to the end of the read: one for each event would be quadratic."""
    words = [word for number in range(400) for word in (f" word{number}", " line\n", "  two\n", " more")]
    read = b"".join(map(event, words))
    one = transformer("roo-xml")
    one.feed(read)
    assert 0 < sum(size for _, size in looked if size > 1000) <= 8 * len(read)
    assert one.completion is not None
    assert one.completion["choices"][0]["message"]["content"] == "".join(words)


def test_upstream_breaks_off_in_a_run() -> None:
    one = transformer("roo-xml")
    for word in ("It", " goes", " on", " and", " on"):
        one.feed(event(word))
    assert b"error" in one.fail("gone")
    assert one.completion is not None
    assert one.completion["choices"][0]["message"]["content"] == "It goes on and on"
