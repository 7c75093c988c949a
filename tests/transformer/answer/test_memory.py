"""With `records="none"` a stream of any length is transformed in constant memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

from tests.support.streams import chunk, sse, tool
from tests.support.tiers import each_row, exhaustive
from transformer import StreamTransformer

TOOLS = [tool("read", {"path": {"type": "string"}})]
MEGABYTE = 1 << 20
EVENT = 64 * 1024
LITTLE = 16 * 1024
SIZE = 50 * MEGABYTE if exhaustive() else 5 * MEGABYTE


def marked(number: int) -> str:
    """Text with everything that makes a machine look twice, and no call in it."""
    line = f"Line {number}: a < b, <read> and </read>, <tool_call>, <function=, <|tool_ `x` é😀.\n"
    return line * (LITTLE // len(line) + 1)


def plain(number: int) -> str:
    return f"{number:08d} " + "word " * ((EVENT - 9) // 5)


def events() -> Iterator[bytes]:
    """Each event when it is asked for, so that only the transformer could pile them up."""
    for number in range(SIZE // EVENT):
        yield sse(chunk(plain(number)), done=False)


def peak(dialect: str, reads: Iterator[bytes]) -> tuple[int, int]:
    """The most memory in use, and the bytes that came out."""
    transformer = StreamTransformer(dialect, tools=TOOLS, records="none")
    sent = 0
    tracemalloc.start()
    try:
        for read in reads:
            sent += len(transformer.feed(read))
        sent += len(transformer.finish())
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert transformer.unaccounted == 0
    return most, sent


@each_row("dialect", ["roo-xml", "qwen3-coder", "kimi-k2", "passthrough"])
def test_megabytes_of_prose(dialect: str) -> None:
    most, sent = peak(dialect, events())
    assert sent > SIZE * 0.99
    assert most < 2 * MEGABYTE, f"{most} bytes"


@each_row("dialect", ["roo-xml", "qwen3-coder", "kimi-k2"])
def test_prose_full_of_markers(dialect: str) -> None:
    """Twice the length, the same memory."""
    peaks = []
    for count in (8, 16) if exhaustive() else (2, 4):
        reads = (sse(chunk(marked(number)), done=False) for number in range(count))
        most, sent = peak(dialect, reads)
        assert sent > count * LITTLE
        peaks.append(most)
    assert peaks[1] < peaks[0] + LITTLE, f"{peaks} bytes"


def test_ten_megabytes_of_reasoning() -> None:
    reads = (sse(chunk(None, plain(number)), done=False) for number in range(10 * MEGABYTE // EVENT))
    most, sent = peak("kimi-k2", reads)
    assert sent > 19 * MEGABYTE, "in both fields"
    assert most < 4 * MEGABYTE, f"{most} bytes"


def test_ten_megabytes_of_streamed_arguments() -> None:
    """A call whose arguments leave as they arrive is not kept either."""

    def call() -> Iterator[bytes]:
        begin = '<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{"path":"'
        yield sse(chunk(begin), done=False)
        for number in range(10 * MEGABYTE // EVENT):
            yield sse(chunk(plain(number)), done=False)
        yield sse(chunk('"}<|tool_call_end|>', finish_reason="stop"))

    most, sent = peak("kimi-k2", call())
    assert sent > 9 * MEGABYTE
    assert most < 4 * MEGABYTE, f"{most} bytes"


def test_ten_megabytes_behind_a_call_that_are_dropped() -> None:
    def answer() -> Iterator[bytes]:
        yield sse(chunk("<read>\n<path>a</path>\n</read>\n"), done=False)
        for number in range(10 * MEGABYTE // EVENT):
            yield sse(chunk(plain(number)), done=False)

    most, sent = peak("roo-xml", answer())
    assert sent < 2000
    assert most < 2 * MEGABYTE, f"{most} bytes"


def test_the_measure_would_notice() -> None:
    """What keeps its text is seen: the open value of a call that leaves when it is complete."""

    def answer() -> Iterator[bytes]:
        yield sse(chunk("<read>\n<path>"), done=False)
        for number in range(8 * MEGABYTE // EVENT):
            yield sse(chunk(plain(number)), done=False)
        yield sse(chunk("</path>\n</read>"))

    most, _ = peak("roo-xml", answer())
    assert most > 8 * MEGABYTE
