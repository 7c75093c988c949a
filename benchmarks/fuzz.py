"""Answers that no model should write: is every one of them converted to what a strict client can read?

    python -m benchmarks fuzz [--seed 1] [--answers 2000] [--seconds 60] [--dialect qwen3-coder]

An answer is made of the words of a dialect's samples: some of them deleted, doubled, swapped or taken from
another dialect, then cut into deltas and reads at random, and converted with switches set at random. For each
one: a strict client can read it, every cut gives the same, an answer that does not stream too, calls can be
used or a finding says that they cannot, no character is unaccounted for, and where the connection breaks the
client is told. The same seed makes the same answers; a failure prints the one line that repeats it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.report import ROOT, Program, Report
from tests.support.client import Result, message_result, result
from tests.support.streams import META, chunk, message, numbered, sse, tool, upstream_events
from transformer import DIALECTS, Finding, Policy, StreamTransformer, transform_message
from transformer.policy import CHOICES
from workbench.tape.format import read_tape

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
# Of the request, or they change what this compares: the client is told that an answer ended as upstream said.
UNVARIED = ("tools", "convert", "finish_reason", "text_channel")
PASSTHROUGH = "passthrough"  # sends everything as it came: it leaves out what upstream leaves out


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


@dataclass(frozen=True, slots=True)
class Trial:
    """One answer in one dialect, with what is random about it."""

    dialect: str
    text: str
    policy: Policy
    chance: random.Random

    def check(self) -> None:
        """Raises AssertionError where a promise is broken."""
        data = deltas(self.text, self.chance, 40)
        whole, findings = self.converted([data])
        for most in (7, 300):
            pieces, _ = self.converted(cut(data, self.chance, most))
            assert pieces == whole, "a cut of the bytes makes a difference"
        if self.dialect == PASSTHROUGH:
            return
        said = result(whole)
        assert is_honest(said, findings), f"nobody is told that a call cannot be used: {said.calls}"
        other = deltas(self.text, self.chance, 9)
        assert same(result(self.converted([other])[0]), said), "a cut of the text makes a difference"
        if said.error is None:
            assert same(self.not_streamed(), said), "an answer that does not stream is another one"
        self.break_off(data[: self.chance.randrange(data.index(b'"stop"'))])

    def transformer(self) -> StreamTransformer:
        return StreamTransformer(self.dialect, tools=TOOLS, policy=self.policy, ids=numbered, now=0)

    def converted(self, reads: Iterable[bytes]) -> tuple[bytes, list[Finding]]:
        """What the client gets for these reads, and the findings."""
        t = self.transformer()
        out = b"".join(t.feed(read) for read in reads) + t.finish()
        assert t.unaccounted == 0, f"{t.unaccounted} characters are unaccounted for"
        return out, list(t.findings)

    def not_streamed(self) -> Result:
        body = transform_message(
            message(self.text), dialect=self.dialect, tools=TOOLS, policy=self.policy, ids=numbered, now=0
        )
        return message_result(body)

    def break_off(self, data: bytes) -> None:
        """An error, unless there is a call that is complete: a client that asks again would run it twice."""
        t = self.transformer()
        out = t.feed(data) + t.fail("the connection broke")
        assert t.unaccounted == 0, f"{t.unaccounted} characters are unaccounted for when it breaks off"
        said = result(out)
        assert said.error is not None or said.calls, "nobody is told that it broke off"
        assert is_honest(said, t.findings), f"half a call where it broke off: {said.calls}"


def is_honest(said: Result, findings: Sequence[Finding]) -> bool:
    """Whether each call can be used, or an error is known."""
    told = said.error is not None or any(finding.level == "error" for finding in findings)
    return told or all(is_json_object(arguments) for _, arguments in said.calls)


def same(one: Result, other: Result) -> bool:
    """Whether two clients have the same in hand. Where it ended with an error, how much of the call that
    failed had been sent before it does depend on how the answer was cut."""
    if one.error is not None and other.error is not None:
        return one.content == other.content
    return comparable(one) == comparable(other)


def comparable(said: Result) -> tuple[object, ...]:
    return (said.content, said.reasoning, said.calls, said.finish_reason, said.error is None)


def is_json_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def switches(chance: random.Random) -> Policy:
    """As the dialect has them, or some of them changed."""
    given = {key: chance.choice(CHOICES[key]) for key in CHOICES if key not in UNVARIED}
    return Policy(**{key: value for key, value in given.items() if chance.random() < 0.3})


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


def makers() -> dict[str, Fuzz]:
    """One for each dialect. The automatic recognition has no samples of its own; it is given all of them."""
    words = {name: words_of(name) for name in DIALECTS}
    marks = [word for samples in words.values() for one in samples for word in one if word[:1] in "<[{"]
    everything = [one for samples in words.values() for one in samples]
    return {name: Fuzz(name, samples or everything, marks) for name, samples in words.items()}


def trial(fuzz: Fuzz, key: str) -> Trial:
    chance = random.Random(f"{key}/cuts")
    return Trial(fuzz.dialect, fuzz.answer(key), switches(chance), chance)


def run(dialects: list[str], seed: int, answers: int, seconds: float) -> tuple[int, list[str]]:
    """How many answers were tried, and a line for each failure."""
    known = makers()
    until = time.monotonic() + seconds
    failures = []
    done = 0
    for number in range(answers):
        if time.monotonic() > until:
            break
        dialect = dialects[number % len(dialects)]
        key = f"{seed}/{dialect}/{number}"
        try:
            trial(known[dialect], key).check()
        except Exception as error:
            said = f"{type(error).__name__}: {str(error)[:200]}"
            failures.append(f"{said} (python -m benchmarks fuzz --only {key})")
        done += 1
    return done, failures


def tried(options: argparse.Namespace) -> Report:
    if options.only:
        one = trial(makers()[options.only.split("/")[1]], options.only)
        print(one.policy.said(), repr(one.text), sep="\n")
        one.check()
        raise SystemExit(0)
    answers = options.answers // 10 if options.quick else options.answers
    done, failures = run(options.dialect or list(DIALECTS), options.seed, answers, options.seconds)
    report = Report("Answers that no model should write, converted to what a strict client can read")
    report.add("answers that were converted wrongly", len(failures), goal=0)
    report.notes += [*failures, f"{done} answers, {len(failures)} failures"]
    return report


def own_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--answers", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--dialect", choices=list(DIALECTS), action="append")
    parser.add_argument("--only", metavar="SEED/DIALECT/NUMBER", help="one answer again, with its text")


PROGRAM = Program("fuzz", __doc__, tried, options=own_options)
