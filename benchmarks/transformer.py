"""What a delta costs: a `write` call with a long value, in 4-character deltas, for each dialect.

    python benchmarks/transformer.py

Everything is a ratio taken in one run: to the floor (split the SSE, decode, encode the same chunks
with orjson, and nothing else), and of 1 MB to 4 KB. The floor is measured right before and behind
each slice of the stream, so that a busy machine slows both alike; the median of many slices counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Literal

import orjson

# This file's own folder would hide the package of the same name.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from transformer import StreamTransformer  # noqa: E402

Records = Literal["none", "findings", "all"]
DIALECTS = ("roo-xml", "qwen3-coder", "kimi-k2")
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


def call(dialect: str, content: str) -> str:
    if dialect == "roo-xml":
        return f"<write>\n<filePath>/a.py</filePath>\n<content>\n{content}\n</content>\n</write>"
    if dialect == "qwen3-coder":
        parameters = "".join(
            f"<parameter={key}>\n{text}\n</parameter>\n"
            for key, text in (("filePath", "/a.py"), ("content", content))
        )
        return f"<tool_call>\n<function=write>\n{parameters}</function>\n</tool_call>"
    arguments = json.dumps({"filePath": "/a.py", "content": content})
    return (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.write:0<|tool_call_argument_begin|>"
        f"{arguments}<|tool_call_end|><|tool_calls_section_end|>"
    )


def events(text: str) -> Iterator[bytes]:
    for start in range(0, len(text), 4):
        delta = {"content": text[start : start + 4]}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
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
    start = perf_counter()
    work()
    return perf_counter() - start


def measure(dialect: str, content: str, records: Records, repeats: int) -> tuple[float, float]:
    """Microseconds for a delta, and how many times the floor that is."""
    reads = list(events("I write it.\n\n" + call(dialect, content)))
    slices = [reads[start : start + SLICE] for start in range(0, len(reads), SLICE)]
    micros, times = [], []
    for _ in range(repeats):
        transformer = StreamTransformer(dialect, tools=[WRITE], records=records)

        def feed(part: list[bytes], transformer: StreamTransformer = transformer) -> None:
            for read in part:
                transformer.feed(read)

        for part in slices:
            before = seconds(lambda part=part: floor(part))  # type: ignore[misc]
            ours = seconds(lambda part=part: feed(part))  # type: ignore[misc]
            behind = seconds(lambda part=part: floor(part))  # type: ignore[misc]
            micros.append(ours / len(part) * 1e6)
            times.append(2 * ours / (before + behind))
        check(transformer, content, records)
    return median(micros), median(times)


def check(transformer: StreamTransformer, content: str, records: Records) -> None:
    """A fast wrong answer is no answer."""
    transformer.finish()
    assert transformer.unaccounted == 0
    if records != "none":
        assert transformer.completion is not None
        (made,) = transformer.completion["choices"][0]["message"]["tool_calls"]
        assert json.loads(made["function"]["arguments"])["content"].strip("\n") == content.strip("\n")


def main() -> int:
    print(f"{'dialect':12} {'records':9}" + "".join(f"{size:>17}" for size in SIZES) + "   growth")
    print(" " * 22 + "   µs/delta, floor" * len(SIZES))
    failed = False
    for dialect in DIALECTS:
        for records in KEPT:
            cells = [
                measure(dialect, value(size), records, max(1, (256 << 10) // size)) for size in SIZES.values()
            ]
            # In times of the floor, so that a machine that got busier meanwhile does not count as growth.
            growth = cells[-1][1] / cells[0][1]
            shown = "".join(f"{micros:9.2f} {times:6.2f}x" for micros, times in cells)
            print(f"{dialect:12} {records:9}{shown}   {growth:.2f}x", flush=True)
            failed |= growth > MOST_GROWTH
            failed |= records == "findings" and max(times for _, times in cells) > MOST_TIMES_FLOOR
    print(
        f"wanted: growth at most {MOST_GROWTH}, and at most {MOST_TIMES_FLOOR} times the floor with findings"
    )
    print("NOT REACHED" if failed else "reached")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
