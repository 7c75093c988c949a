"""What a delta costs: a `write` call with a long value, in 4-character deltas, for every dialect there is.

    python -m benchmarks transformer [DIALECT…]

The call is written by the dialect's own writer, so that a new dialect is measured without a change here.
Everything is a ratio taken in one run: to the floor (split the SSE, decode, encode the same chunks
with orjson, and nothing else), and of 1 MB to 4 KB. The floor is measured right before and after each
slice of the stream, in time of the processor, so that a busy machine slows both alike; the median of
many slices counts.

Beside each dialect are vLLM's and SGLang's parsers of it, where these packages are installed (`pip
install vllm`, `pip install sglang`). They get the text of each delta without any SSE around it, which is
less work than ours.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from statistics import median
from time import process_time
from typing import Literal, TypeAlias

import orjson

from benchmarks import peers
from benchmarks.report import Bars, Lines, Program, Report, Table, number, progress
from transformer import StreamTransformer, written_call
from transformer.dialects import DIALECTS

Records = Literal["none", "findings", "all"]
SIZES = {"4 KB": 4 << 10, "32 KB": 32 << 10, "128 KB": 128 << 10, "1 MB": 1 << 20}
KEPT: tuple[Records, ...] = ("none", "findings", "all")
SLICE = 1000
MOST_GROWTH, MOST_TIMES_FLOOR = 1.3, 4.0

STRING = {"type": "string"}
WRITE = {
    "type": "function",
    "function": {
        "name": "write",
        "parameters": {
            "type": "object",
            "properties": {"filePath": STRING, "content": STRING},
            "required": ["filePath", "content"],
        },
    },
}
LINES = [
    "def area(self, width: float, height: float) -> float:\n",
    '    """The area of a rectangle; both sides are > 0 and < 1e6."""\n',
    "    if width <= 0 or height <= 0:\n",
    '        raise ValueError(f"no rectangle: {width!r} x {height!r} & co")\n',
    "    return width * height\n\n",
]


def value(size: int) -> str:
    text = "".join(LINES)
    return (text * (size // len(text) + 1))[:size]


def measured() -> list[str]:
    """The dialects with calls of their own: not `auto`, which reads those of others, nor `passthrough`."""
    return [name for name, dialect in DIALECTS.items() if dialect.writer is not None]


def answer(dialect: str, content: str) -> str:
    written = written_call(dialect, "write", {"filePath": "/a.py", "content": content}, WRITE)
    assert not written.findings, written.findings
    return "I write it.\n\n" + written.text


def deltas(text: str) -> list[str]:
    return [text[start : start + 4] for start in range(0, len(text), 4)]


def events(text: str) -> Iterator[bytes]:
    for delta in deltas(text):
        choice = {"index": 0, "delta": {"content": delta}, "logprobs": None, "finish_reason": None}
        chunk = {
            "id": "chatcmpl-7c1",
            "object": "chat.completion.chunk",
            "created": 1790000000,
            "model": "qwen3-coder-30b",
            "choices": [choice],
        }
        yield b"data: " + orjson.dumps(chunk) + b"\n\n"
    yield b"data: [DONE]\n\n"


def floor(reads: list[bytes]) -> None:
    for read in reads:
        for event in read.split(b"\n\n"):
            if event and event != b"data: [DONE]":
                b"data: " + orjson.dumps(orjson.loads(event[6:])) + b"\n\n"


def seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def measure(dialect: str, content: str, records: Records, repeats: int) -> tuple[float, float]:
    """Microseconds for a delta, and how many times the floor that is."""
    reads = list(events(answer(dialect, content)))
    # Of equal size: a short one with the end of the call would weigh as much as the thousand before it.
    size = ceil(len(reads) / max(1, round(len(reads) / SLICE)))
    slices = [reads[start : start + size] for start in range(0, len(reads), size)]
    micros, times = [], []
    for _ in range(repeats):
        transformer = StreamTransformer(dialect, tools=[WRITE], records=records)

        def feed(part: list[bytes], transformer: StreamTransformer = transformer) -> None:
            for read in part:
                transformer.feed(read)

        for part in slices:
            before = seconds(lambda part=part: floor(part))  # type: ignore[misc]
            ours = seconds(lambda part=part: feed(part))  # type: ignore[misc]
            after = seconds(lambda part=part: floor(part))  # type: ignore[misc]
            micros.append(ours / len(part) * 1e6)
            times.append(2 * ours / (before + after))
        check(transformer, content, records)
    return median(micros), median(times)


def check(transformer: StreamTransformer, content: str, records: Records) -> None:
    """A fast wrong answer is worthless."""
    transformer.finish()
    assert transformer.unaccounted == 0
    if records != "none":
        assert transformer.completion is not None
        (made,) = transformer.completion["choices"][0]["message"]["tool_calls"]
        assert json.loads(made["function"]["arguments"])["content"] == content


Cell: TypeAlias = tuple[float, float]  # microseconds for a delta, times the floor


def of_dialect(dialect: str, sizes: Mapping[str, int], rounds: int, least: int) -> dict[Records, list[Cell]]:
    """For each kind of records, a cell for each size. In a round a short value is repeated until there are
    this many characters."""
    return {
        records: [
            measure(dialect, value(size), records, rounds * max(1, least // size)) for size in sizes.values()
        ]
        for records in KEPT
    }


def growth(cells: Sequence[Cell]) -> float:
    """In times of the floor, so that a machine that got busier meanwhile does not count as growth."""
    return cells[-1][1] / cells[0][1]


def rows_of(
    dialect: str, found: Mapping[Records, Sequence[Cell]], sizes: Mapping[str, int]
) -> Iterator[list[str]]:
    for records, cells in found.items():
        shown = [text for micros, times in cells for text in (number(micros), number(times))]
        yield [f"{dialect}, {records}", *shown, number(growth(cells))]
    # A parser that reads all of the text again for each delta shows here.
    for peer in peers.of(dialect, WRITE):
        told = [peer.micros(deltas(answer(dialect, value(size)))) for size in sizes.values()]
        yield [f"{dialect}, {peer.name}", *(text for cell in told for text in (cell, "")), ""]


def compared(options: argparse.Namespace) -> Report:
    sizes = dict(list(SIZES.items())[:2]) if options.quick else SIZES
    least = (32 << 10) if options.quick else (256 << 10)
    found: dict[str, dict[Records, list[Cell]]] = {}
    rows: list[list[str]] = []
    for dialect in options.dialects or measured():
        progress(dialect)
        found[dialect] = of_dialect(dialect, sizes, options.rounds, least)
        rows += rows_of(dialect, found[dialect], sizes)
    report = Report(
        "What a delta costs the transformer, beside decoding and encoding its JSON alone (the floor)"
    )
    heads = [text for size in sizes for text in (f"{size}: µs", "× floor")]
    report.tables.append(Table("A delta of a long value", ["dialect, records kept", *heads, "growth"], rows))
    worst = {name: max(times for _, times in cells["findings"]) for name, cells in found.items()}
    slowest = max(worst, key=worst.__getitem__)
    report.add(f"a delta, with findings ({slowest})", worst[slowest], "× floor", goal=MOST_TIMES_FLOOR)
    for records in KEPT:
        grown = {name: growth(cells[records]) for name, cells in found.items()}
        most = max(grown, key=grown.__getitem__)
        first, *_, last = sizes
        report.add(f"{last} beside {first}, {records} kept ({most})", grown[most], "×", goal=MOST_GROWTH)
    report.charts.append(Bars("A delta, with findings", "× floor", worst, MOST_TIMES_FLOOR))
    grown = {name: max(growth(cells[records]) for records in KEPT) for name, cells in found.items()}
    report.charts.append(Bars("The longest value beside the shortest", "×", grown, MOST_GROWTH))
    for records in KEPT[1:]:
        middle = [
            (float(size), median(cells[records][at][0] for cells in found.values()))
            for at, size in enumerate(sizes.values())
        ]
        title = f"A delta by the size of its value, {records} kept"
        report.charts.append(
            Lines(title, "characters of the value", "µs, median of the dialects", {records: middle})
        )
    report.notes += [f"{name} is not installed here: {hint}" for name, hint in peers.missing().items()]
    report.data = {name: dict(cells) for name, cells in found.items()}
    return report


def own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dialects", nargs="*", metavar="DIALECT", help="these only")


PROGRAM = Program("transformer", __doc__, compared, 1, own_options)
