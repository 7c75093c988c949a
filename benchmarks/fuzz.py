"""Answers that no model should write: is every one of them converted to what a strict client can read?

    python benchmarks/fuzz.py [--seed 1] [--answers 2000] [--seconds 60] [--dialect qwen3-coder]

An answer is made of the words of a dialect's samples: some of them deleted, doubled, swapped or taken from
another dialect, then cut into deltas and reads at random. For each one: a strict client can read it, every
cut gives the same, no character is unaccounted for. The same seed makes the same answers; a failure prints
the one line that repeats it. Exit code 1 when there was one.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# A benchmark beside this one has the name of the package and would hide it.
ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from tests.support.client import Result, result  # noqa: E402
from tests.support.streams import META, chunk, numbered, sse, tool, upstream_events  # noqa: E402
from transformer import DIALECTS, StreamTransformer  # noqa: E402
from workbench.tape.format import read_tape  # noqa: E402

TOOLS = [
    tool("read_file", {"path": {"type": "string"}}),
    tool(
        "write_file",
        {"path": {"type": "string"}, "content": {"type": "string"}, "lines": {"type": "integer"}},
    ),
    tool("bash", {"command": {"type": "string"}, "options": {"type": "object"}}, required=["command"]),
]
WORD = re.compile(r"<[^<>\s]{1,40}>|<\|[^|]{1,40}\|>|[\[\]{}:,\"]|\s+|[^\s<>\[\]{}:,\"]+|.", re.DOTALL)
NOISE = [
    "\x00",
    "\ufeff",
    "\u2028",
    "\U0001f600",
    "\\",
    "\\u12",
    "]]>",
    "&lt;",
    "<",
    "</",
    "<|",
    "```",
    "\r\n",
    "9" * 400,
]
LONGEST = 400  # words
CONVERTING = [name for name in DIALECTS if name != "passthrough"]  # that one sends what came, as it came


def words_of(dialect: str) -> list[list[str]]:
    """The answers of the dialect's samples, as words."""
    texts = []
    for path in sorted((ROOT / "samples" / dialect).glob("*.jsonl")):
        events = upstream_events(b"".join(read_tape(path).reads))
        deltas = [choice.get("delta") or {} for event in events for choice in event.get("choices") or ()]
        text = "".join(delta["content"] for delta in deltas if isinstance(delta.get("content"), str))
        texts.append(text.encode("utf-8", "replace").decode())  # half a character cannot be sent as it is
    return [WORD.findall(text)[:LONGEST] for text in texts if text]


@dataclass(frozen=True, slots=True)
class Fuzz:
    """Makes answers in a dialect: each one is a function of its seed."""

    dialect: str
    samples: list[list[str]]
    others: list[str]

    def answer(self, seed: str) -> str:
        chance = random.Random(seed)
        words = list(chance.choice(self.samples))
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(words) + 1)
            end = min(len(words), at + chance.randint(1, 8))
            kind = chance.randrange(6)
            if kind == 0:
                del words[at:end]
            elif kind == 1:
                words[at:at] = words[at:end] * chance.randint(1, 3)
            elif kind == 2:
                words[at:at] = [chance.choice(self.others)]
            elif kind == 3:
                words[at:at] = [chance.choice(NOISE)]
            elif kind == 4:
                words[at:at] = chance.choice(self.samples)[: chance.randint(1, 60)]
            else:
                del words[at:]
        return "".join(words[: 2 * LONGEST])


def converted(dialect: str, data: bytes, reads: Iterator[bytes]) -> tuple[bytes, int]:
    """What the client gets of these reads, and how many characters nobody has accounted for."""
    t = StreamTransformer(dialect, tools=TOOLS, ids=numbered, now=0)
    out = b"".join(t.feed(read) for read in reads) + t.finish()
    return out, t.unaccounted


def cut(data: bytes, chance: random.Random, most: int) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        end = at + chance.randint(1, most)
        yield data[at:end]
        at = end


def deltas(text: str, chance: random.Random, most: int) -> bytes:
    """The text as events of random length."""
    events, at = [], 0
    while at < len(text):
        end = at + chance.randint(1, most)
        events.append(META | chunk(text[at:end]))
        at = end
    return sse(*events, META | chunk(finish_reason="stop"))


def check(dialect: str, text: str, seed: str) -> None:
    """Raises AssertionError where a promise is broken."""
    chance = random.Random(seed)
    data = deltas(text, chance, 40)
    whole, left = converted(dialect, data, iter([data]))
    assert left == 0, f"{left} characters are unaccounted for"
    for most in (7, 300):
        pieces, _ = converted(dialect, data, cut(data, chance, most))
        assert pieces == whole, "a cut of the bytes makes a difference"
    said = result(whole)
    other = deltas(text, chance, 9)
    again = result(converted(dialect, other, iter([other]))[0])
    assert comparable(again) == comparable(said), "a cut of the text makes a difference"


def comparable(said: Result) -> tuple[object, ...]:
    return (said.content, said.calls, said.finish_reason, said.error is None)


def run(dialects: list[str], seed: int, answers: int, seconds: float) -> tuple[int, list[str]]:
    """How many answers were tried, and a line for each failure."""
    words = {name: words_of(name) for name in DIALECTS if (ROOT / "samples" / name).is_dir()}
    marks = [word for sample in words.values() for one in sample for word in one if word[:1] in "<[{"]
    makers = [Fuzz(name, words[name], marks) for name in dialects if words.get(name)]
    until = time.monotonic() + seconds
    failures = []
    done = 0
    for number in range(answers):
        if time.monotonic() > until:
            break
        maker = makers[number % len(makers)]
        key = f"{seed}/{maker.dialect}/{number}"
        try:
            check(maker.dialect, maker.answer(key), key)
        except Exception as error:
            said = f"{type(error).__name__}: {str(error)[:200]}"
            failures.append(f"{key}: {said} (python benchmarks/fuzz.py --only {key})")
        done += 1
    return done, failures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--answers", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--dialect", choices=list(DIALECTS), action="append")
    parser.add_argument("--only", metavar="SEED/DIALECT/NUMBER", help="one answer again, with its text")
    given = parser.parse_args()
    if given.only:
        dialect = given.only.split("/")[1]
        marks = [word for name in DIALECTS for one in words_of(name) for word in one if word[:1] in "<[{"]
        text = Fuzz(dialect, words_of(dialect), marks).answer(given.only)
        print(repr(text))
        check(dialect, text, given.only)
        return 0
    done, failures = run(given.dialect or CONVERTING, given.seed, given.answers, given.seconds)
    print(*failures, sep="\n")
    print(f"{done} answers, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
