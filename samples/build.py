"""Writes the sample tapes and their README from the tables in `cases/`: `python samples/build.py`.

The same tables give the same bytes on every machine; a test compares them with the files.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2s
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from samples.cases import CASES, Case, Meta
from samples.cases.reports import REPORTS
from transformer import Finding, StreamTransformer
from workbench.tape.format import (
    Line,
    Tape,
    dump_tape,
    end_line,
    make_header,
    read_line,
    sent_line,
    status_line,
)
from workbench.tape.recipe import Wishes, make_recipe

SAMPLES = Path(__file__).resolve().parent
FIRST_DAY = datetime(2026, 8, 3, 9, tzinfo=UTC)
MODELS = {
    "roo-xml": "qwen3-max",
    "qwen3-coder": "qwen3-coder-30b",
    "kimi-k2": "kimi-k2.5",
    "glm": "glm-4.6",
    "hermes": "qwen3-32b",
    "longcat": "longcat-flash-chat",
    "nemotron-toolcall": "llama-3.3-nemotron-super-49b",
    "mistral": "devstral-small-2507",
    "llama3-json": "llama-3.3-70b-instruct",
    "deepseek-v3": "deepseek-r1-0528",
    "deepseek-v31": "deepseek-v3.1",
    "deepseek-dsml": "deepseek-v4-flash",
    "minimax-m2": "minimax-m2.1",
    "seed-oss": "seed-oss-36b",
    "functions-invoke": "deepseek-v3.2",
    "harmony": "gpt-oss-120b",
    "pythonic": "llama-4-scout",
    "toolbridge": "gpt-4o-mini",
    "passthrough": "qwen3-max",
}
STREAM = [("content-type", "text/event-stream; charset=utf-8")]
HEADINGS = ["| sample | what is in it, and what becomes of it | findings |\n", "|---|---|---|\n"]
HEARTBEAT = b": keep-alive\n\n"
QUIET = 15.0  # seconds

README = """\
# Samples

Answers of models as tapes: good calls, malformed ones, and streams that go wrong. Try one with

```sh
workbench transform samples/roo-xml/good-read.jsonl --out message
```

They are made up, after what models and servers really do. `python samples/build.py` writes them from the
tables in `cases/`, which also say what should become of each one; `tests/test_samples.py` checks that.
*Findings* are what the transformer has to say about the answer. Where a tape's header has the key `failure`,
it has the numbers of the reports after which it was made, which are listed at the end.
"""
REPORTED = """
## Reports

What users of other parsers reported, and where:

| number | what went wrong | issues |
|---|---|---|
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """A case made into a tape, and what the transformer found in it."""

    case: Case
    dialect: str
    tape: Tape
    findings: list[Finding]

    @property
    def path(self) -> str:
        return f"{self.dialect}/{self.case.name}.jsonl"


def samples() -> Iterator[Sample]:
    for dialect, cases in CASES.items():
        for case in cases:
            yield make_sample(dialect, case)


def make_sample(dialect: str, case: Case) -> Sample:
    """Run the case's stream through the transformer as the proxy would, and keep what came and went."""
    header = make_case_header(dialect, case)
    meta = Meta(f"chatcmpl-{_digest(dialect, case)[:6]}", header["now"], header["model"])
    transformer = make_recipe(header, Wishes()).stream("findings")
    lines = list(exchange(case, case.reads(case.upstream(meta)), transformer, _clock(dialect, case)))
    return Sample(case, dialect, Tape(header, tuple(lines)), list(transformer.findings))


def make_case_header(dialect: str, case: Case) -> dict[str, Any]:
    started = FIRST_DAY + timedelta(seconds=int(_digest(dialect, case), 16) % 30_000)
    body = {"model": MODELS[dialect], "messages": [{"role": "user", "content": case.asked}]}
    tools = {"tools": list(case.tools)} if case.tools else {}
    return make_header(
        case.about,
        dialect,
        policy=dict(case.policy) or None,
        model=MODELS[dialect],
        started=started.isoformat().replace("+00:00", "Z"),
        ids=f"{dialect}/{case.name}",
        now=int(started.timestamp()),
        request=body | tools | {"stream": True} | dict(case.request),
        failure=list(case.failure) or None,
    )


def exchange(
    case: Case, reads: list[bytes], transformer: StreamTransformer, clock: Iterator[float]
) -> Iterator[Line]:
    """Both sides' status, every read with what it made the client get, and the end."""
    t = next(clock)
    yield status_line(t, "upstream", 200, STREAM)
    yield status_line(t, "client", 200, STREAM)
    for number, data in enumerate(reads):
        t = next(clock)
        yield read_line(t, data)
        yield from _sent(t, transformer.feed(data))
        if number == case.stalls:
            yield sent_line(t + QUIET, HEARTBEAT, by="proxy")
    t = next(clock)
    if case.broke is not None:
        yield from _sent(t, transformer.fail(case.broke))
        yield end_line(t, "error", error=case.broke)
        return
    ended = transformer.ended
    yield from _sent(t, transformer.finish())
    yield end_line(t, "done" if ended else "eof")


def _sent(t: float, data: bytes) -> list[Line]:
    return [sent_line(t, data)] if data else []


def _clock(dialect: str, case: Case) -> Iterator[float]:
    """A time for both statuses, each read and the end: some 35 reads a second, not quite evenly."""
    dice = random.Random(f"{dialect}/{case.name}")
    t = 0.2 + dice.random() * 0.4
    for number in count(-1):
        yield round(t, 3)
        t += 0.018 + dice.random() * 0.022 + (1.5 * QUIET if number == case.stalls else 0)


def _digest(dialect: str, case: Case) -> str:
    return blake2s(f"{dialect}/{case.name}".encode(), digest_size=8).hexdigest()


def readme(made: list[Sample]) -> str:
    parts = [README]
    for dialect in CASES:
        rows = [_row(sample) for sample in made if sample.dialect == dialect]
        parts += [f"\n## {dialect}\n\n", *HEADINGS, *rows]
    reports = (f"| {number} | {pattern} | {issues} |\n" for number, (pattern, issues) in REPORTS.items())
    return "".join([*parts, REPORTED, *reports])


def _row(sample: Sample) -> str:
    codes = ", ".join(dict.fromkeys(f"`{finding.code}`" for finding in sample.findings))
    about = sample.case.about.replace("|", "\\|")
    return f"| [{sample.case.name}]({sample.path}) | {about} | {codes} |\n"


def build() -> dict[str, bytes]:
    """Every file by its path below `samples/`."""
    made = list(samples())
    files = {sample.path: dump_tape(sample.tape) for sample in made}
    return {"README.md": readme(made).encode()} | files


def main() -> None:
    files = build()
    for path in SAMPLES.glob("*/*.jsonl"):
        if path.relative_to(SAMPLES).as_posix() not in files:
            path.unlink()
    for name, data in files.items():
        (SAMPLES / name).parent.mkdir(exist_ok=True)
        (SAMPLES / name).write_bytes(data)
    print(f"{len(files) - 1} tapes and a README in {SAMPLES}")


if __name__ == "__main__":
    main()
