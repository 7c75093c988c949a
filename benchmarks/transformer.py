"""What a delta costs: a `write` call with a long value, in 4-character deltas, for every dialect there is.

    python benchmarks/transformer.py [DIALECT…]

The call is what the dialect's own writer makes of it, so that a new dialect is measured without a word
here. Everything is a ratio taken in one run: to the floor (split the SSE, decode, encode the same chunks
with orjson, and nothing else), and of 1 MB to 4 KB. The floor is measured right before and after each
slice of the stream, in time of the processor, so that a busy machine slows both alike; the median of
many slices counts.

Beside each dialect stand vLLM's and SGLang's parsers of it, where these packages are installed (`pip
install vllm`, `pip install sglang`). They get the text of each delta without any SSE around it, which is
less work than ours.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from math import ceil
from pathlib import Path
from statistics import median
from time import process_time
from typing import Literal

import orjson

# This file's own folder would hide the package of the same name.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks import peers  # noqa: E402
from transformer import StreamTransformer, written_call  # noqa: E402
from transformer.dialects import DIALECTS  # noqa: E402

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
    """A fast wrong answer is no answer."""
    transformer.finish()
    assert transformer.unaccounted == 0
    if records != "none":
        assert transformer.completion is not None
        (made,) = transformer.completion["choices"][0]["message"]["tool_calls"]
        assert json.loads(made["function"]["arguments"])["content"] == content


def compare(dialect: str) -> None:
    """The peers' parsers on the same text; a parser that reads all of it again for each delta shows here."""
    for peer in peers.of(dialect, WRITE):
        shown = ""
        for size in SIZES.values():
            cell = peer.micros(deltas(answer(dialect, value(size))))
            shown += f"{cell:>9}{'':8}"
        print(f"{'':18} {peer.name:9}{shown}", flush=True)


def main(names: list[str]) -> int:
    print(f"{'dialect':18} {'records':9}" + "".join(f"{size:>17}" for size in SIZES) + "   growth")
    print(" " * 28 + "   µs/delta, floor" * len(SIZES))
    missed: list[str] = []
    for dialect in names or measured():
        for records in KEPT:
            cells = [
                measure(dialect, value(size), records, max(1, (256 << 10) // size)) for size in SIZES.values()
            ]
            # In times of the floor, so that a machine that got busier meanwhile does not count as growth.
            growth = cells[-1][1] / cells[0][1]
            worst = max(times for _, times in cells)
            shown = "".join(f"{micros:9.2f} {times:6.2f}x" for micros, times in cells)
            print(f"{dialect:18} {records:9}{shown}   {growth:.2f}x", flush=True)
            if growth > MOST_GROWTH:
                missed.append(
                    f"{dialect} with {records}: 1 MB costs {growth:.2f} times as much as 4 KB for a delta"
                )
            if records == "findings" and worst > MOST_TIMES_FLOOR:
                missed.append(f"{dialect}, findings: {worst:.2f} times the floor")
        compare(dialect)
    for name, hint in peers.missing().items():
        print(f"{name} is not installed here: {hint}")
    print(
        f"wanted: growth at most {MOST_GROWTH}, and at most {MOST_TIMES_FLOOR} times the floor with findings"
    )
    print("\n".join(["NOT REACHED:", *missed]) if missed else "reached")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
