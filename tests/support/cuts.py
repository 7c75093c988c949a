"""Running the transformer over the same bytes in every cut that matters."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from tests.support.client import Result, message_result, result, results
from tests.support.spans import check_records
from tests.support.streams import JSON, message_behind, numbered
from tests.support.tiers import cuts, exhaustive
from transformer import StreamTransformer, transform_message

BY_EVENT = 2  # the place of that cut among those of `every_split`
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


def every_split(data: bytes, seed: int = 0) -> Iterator[list[bytes]]:
    """The same bytes cut in every way that matters: whole, byte by byte, by event, in two, at random.

    In two: everywhere, but a long stream gets a sample, in the quick tier a small one.
    """
    yield [data]
    yield [data[at : at + 1] for at in range(len(data))]
    yield _cut(data, [match.end() for match in _EVENT_END.finditer(data)])
    chance = random.Random(seed)
    for at in _places(data, chance):
        yield [data[:at], data[at:]]
    for mean in (2, 3, 7, 20, 20, 60, 60, 200, 200, 1000) if exhaustive() else (20,):
        count = min(len(data) // mean, max(len(data) - 1, 0))
        yield _cut(data, sorted(chance.sample(range(1, len(data)), count)) if count else [])


def _places(data: bytes, chance: random.Random) -> Iterable[int]:
    """Where to cut in two."""
    if len(data) <= cuts():
        return range(1, len(data))
    return chance.sample(range(1, len(data)), cuts())


def _cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *places, len(data)]
    return [data[start:end] for start, end in pairwise(bounds) if start < end]


def transform(dialect: str, reads: bytes | Iterable[bytes], **kwargs: Any) -> tuple[bytes, StreamTransformer]:
    """All that a transformer gives for these reads, and the transformer itself."""
    transformer = StreamTransformer(dialect=dialect, **({"ids": numbered} | kwargs))
    out = [transformer.feed(read) for read in ([reads] if isinstance(reads, bytes) else reads)]
    out.append(transformer.finish())
    assert transformer.finish() == b"", "finish() is idempotent"
    return b"".join(out), transformer


def run(dialect: str, reads: bytes | Iterable[bytes], **kwargs: Any) -> tuple[Result, StreamTransformer]:
    out, transformer = transform(dialect, reads, **kwargs)
    return result(out), transformer


def check_every_split(dialect: str, data: bytes, *, twin: bool = True, **kwargs: Any) -> Result:
    """The result of an answer with one choice, after everything `check_every_split_choices` checks."""
    found = check_every_split_choices(dialect, data, twin=twin, **kwargs)
    assert list(found) == [0], f"choices {list(found)}"
    return found[0]


def check_every_split_choices(
    dialect: str, data: bytes, *, twin: bool = True, **kwargs: Any
) -> dict[int, Result]:
    """Any cut of the same bytes gives the same results and findings, and no character goes missing.

    With `twin`, the whole message made of the same text must give the same answer; that is asked for
    only where upstream's stream is nothing but the text of a message.
    """
    out, whole = transform(dialect, data, **({"records": "all"} | kwargs))
    expected = results(out)
    check_records(whole, data)
    if whole.completion is not None and not any(found.error for found in expected.values()):
        for index, found in expected.items():
            _agree(message_result(whole.completion, index), found, "t.completion")
    if twin:
        _check_twin(dialect, data, expected, kwargs)
    wanted = (expected, {i: r.texts for i, r in expected.items()}, codes(whole), 0)
    joined: dict[bytes, dict[int, Result]] = {out: expected}
    for number, reads in enumerate(every_split(data)):
        # The proxy's hot path keeps findings only: all cuts go that way, except the one by event, which
        # keeps all records, as the whole did.
        records = "all" if number == BY_EVENT else "findings"
        out, transformer = transform(dialect, reads, **(kwargs | {"records": records}))
        got = joined.setdefault(out, {}) or results(out)
        joined[out] = got
        seen = (got, {i: r.texts for i, r in got.items()}, codes(transformer), transformer.unaccounted)
        assert seen == wanted, f"reads of {[len(read) for read in reads][:40]} bytes"
    return expected


def codes(transformer: StreamTransformer) -> list[str]:
    return [finding.code for finding in transformer.findings]


def _agree(got: Result, expected: Result, where: str) -> None:
    for name in ("content", "reasoning", "calls", "ids", "finish_reason"):
        assert getattr(got, name) == getattr(expected, name), f"{where}: {name}"


def _check_twin(dialect: str, data: bytes, expected: dict[int, Result], kwargs: JSON) -> None:
    kept = {key: value for key, value in kwargs.items() if key != "records"}
    body = transform_message(message_behind(data), dialect=dialect, **({"ids": numbered} | kept))
    for index, found in expected.items():
        _agree(message_result(body, index), found, "transform_message")
