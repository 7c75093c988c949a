"""The samples: what their tables promise is what the transformer makes of them, in every cut."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from samples import build
from samples.cases import CASES, Case, Outcome
from samples.cases.reports import REPORTS
from tests.support.client import Result, message_result, results
from tests.support.cuts import codes, every_split
from tests.support.project import SAMPLES
from tests.support.samples import ALL, every_sample, name_of, some_samples
from tests.support.spans import check_records
from tests.support.streams import message_behind, upstream_events
from tests.support.tiers import each_row, exhaustive
from transformer import Delta, StreamTransformer
from transformer.journal import Keep
from workbench.tape.format import Tape, read_tape
from workbench.tape.inputs import Chunking
from workbench.tape.recipe import Wishes, make_recipe

TABLE = {f"{dialect}/{case.name}": case for dialect, cases in CASES.items() for case in cases}

LONG, FEW = 20_000, 29  # a stream of more bytes is cut in two at each of so many

# Streams that are the text of a message and nothing else: the same answer could have come in one piece.
MESSAGES = {
    name
    for name, case in TABLE.items()
    if not (case.raw or case.broke or any(outcome.error for outcome in case.outcomes))
    and not {"native-calls", "lone-surrogate"} & set(case.findings)
}


def replay(
    tape: Tape, reads: Iterable[bytes], records: Keep = "all"
) -> tuple[list[bytes], StreamTransformer]:
    """What the client gets for each read and at the end, which is the one on the tape."""
    assert tape.end is not None
    transformer = make_recipe(tape.header, Wishes()).stream(records)
    sent = [transformer.feed(read) for read in reads]
    broke = tape.end.value.get("error")
    sent.append(transformer.finish() if broke is None else transformer.fail(broke))
    return sent, transformer


def gets(case: Case, sent: list[bytes], transformer: StreamTransformer) -> dict[int, Result]:
    """What a strict client joins; upstream's own stream, passed on raw, is not for strict clients."""
    if not case.raw:
        return results(b"".join(sent))
    assert transformer.completion is not None
    errors = [event["error"] for event in upstream_events(b"".join(sent)) if "error" in event]
    return {0: replace(message_result(transformer.completion), error=errors[0] if errors else None)}


def cuts(data: bytes) -> Iterator[list[bytes]]:
    """Whole, byte by byte, one event per read, and random ones."""
    yield from islice(every_split(data), 3)
    for seed in range(30 if exhaustive() else 1):
        yield list(Chunking.parse(f"random:{seed}").cut(data))


def test_every_row_of_the_tables_has_its_file_and_no_other_file_is_there():
    assert sorted(TABLE) == sorted(map(name_of, ALL))


def test_the_files_are_what_the_tables_give():
    for name, data in build.build().items():
        assert (SAMPLES / name).read_bytes() == data, f"{name} is old: run python samples/build.py"


def test_the_readme_lists_exactly_the_samples():
    linked = re.findall(
        r"^\| \[([\w-]+)\]\(([\w./-]+)\) \|", (SAMPLES / "README.md").read_text("utf-8"), re.M
    )
    assert sorted(path for _, path in linked) == [f"{name_of(path)}.jsonl" for path in ALL]
    assert all(path.endswith(f"/{name}.jsonl") for name, path in linked)


def test_every_report_has_a_sample():
    assert {number for case in TABLE.values() for number in case.failure} == set(REPORTS)


@each_row("number", sorted(REPORTS), ids="{:02}".format)
def test_report(number: int):
    """What went wrong elsewhere comes out right here, in every cut.

    Quick: of a report's first sample; of the others at random.
    """
    names = [name for name, case in TABLE.items() if number in case.failure]
    for place, name in enumerate(names):
        case, tape = TABLE[name], read_tape(SAMPLES / f"{name}.jsonl")
        every = cuts(b"".join(tape.reads))
        for reads in every if place == 0 or exhaustive() else islice(every, 3, None):
            sent, transformer = replay(tape, reads, "findings")
            got = gets(case, sent, transformer)
            for index, outcome in enumerate(case.outcomes):
                check_outcome(got[index], outcome, tape.header["now"])


@every_sample
def test_it_opens_complete_and_says_what_it_is(path: Path):
    tape = read_tape(path)
    assert tape.complete and tape.problem is None
    header = tape.header
    assert {"about", "dialect", "model", "started", "ids", "now", "request"} <= header.keys()
    assert header["dialect"] == path.parent.name
    assert 20 <= len(header["about"]) <= 140 and header["about"].isprintable()
    assert header["request"]["stream"] is True
    assert [line.value["side"] for line in tape.of("status")] == ["upstream", "client"]
    times = [line.t for line in tape.lines]
    assert times == sorted(times) and times[0] > 0
    assert tape.lines[-1].kind == "end"


@every_sample
def test_its_own_reads_give_what_was_sent_and_what_its_table_says(path: Path):
    case, tape = TABLE[name_of(path)], read_tape(path)
    sent, transformer = replay(tape, tape.reads)
    times = [line.t for line in tape.lines if line.kind in ("read", "end")]
    recorded = [(line.t, line.data) for line in tape.of("sent") if "by" not in line.value]
    assert recorded == [(t, piece) for t, piece in zip(times, sent, strict=True) if piece]
    check_table(case, tape, sent, transformer)


def check_table(case: Case, tape: Tape, sent: list[bytes], transformer: StreamTransformer) -> None:
    assert codes(transformer) == list(case.findings)
    got = gets(case, sent, transformer)
    assert sorted(got) == list(range(len(case.outcomes)))
    for index, outcome in enumerate(case.outcomes):
        check_outcome(got[index], outcome, tape.header["now"])
    if case.raw:
        assert b"".join(sent) == b"".join(tape.reads)


def check_outcome(got: Result, wanted: Outcome, now: int) -> None:
    assert got.content == wanted.content
    assert got.reasoning == wanted.reasoning
    assert [name for name, _ in got.calls] == [name for name, _ in wanted.calls]
    for (_, arguments), (_, expected) in zip(got.calls, wanted.calls, strict=True):
        if isinstance(expected, str):
            assert arguments == expected
        else:
            assert in_order(json.loads(arguments)) == in_order(expected)
    assert got.finish_reason == wanted.finish_reason
    if wanted.ids is not None:
        assert got.ids == [id.format(now=now) for id in wanted.ids]
    assert got.usage == wanted.usage
    assert (got.error or {}).get("message") == wanted.error


def in_order(value: Any) -> str:
    """Compares like the value, but for the order of keys, which is the model's, and 1 is not true."""
    return json.dumps(value)


@some_samples(4)
def test_every_cut_gives_the_same(path: Path):
    case, tape = TABLE[name_of(path)], read_tape(path)
    data = b"".join(tape.reads)
    wanted = None
    for number, reads in enumerate(cuts(data)):
        sent, transformer = replay(tape, reads, "all" if number < 3 else "findings")
        got = gets(case, sent, transformer)
        seen = (got, {index: result.texts for index, result in got.items()}, codes(transformer))
        wanted = wanted or seen
        assert seen == wanted, f"reads of {[len(read) for read in reads][:40]} bytes"
        assert transformer.unaccounted == 0
        if number == 0:
            check_records(transformer, data)
            check_no_markup(transformer)


@pytest.mark.exhaustive  # test_every_cut_gives_the_same has some places of some samples
@every_sample
def test_cut_in_two_at_every_byte(path: Path):
    case, tape = TABLE[name_of(path)], read_tape(path)
    data = b"".join(tape.reads)
    sent, transformer = replay(tape, [data], "findings")
    expected, found = gets(case, sent, transformer), codes(transformer)
    known = {b"".join(sent)}  # answers that are the same: most cuts give the same bytes
    for at in range(1, len(data), FEW if len(data) > LONG else 1):
        sent, transformer = replay(tape, (data[:at], data[at:]), "findings")
        out = b"".join(sent)
        if out not in known:
            assert gets(case, sent, transformer) == expected, f"cut at {at}"
            known.add(out)
        assert codes(transformer) == found and transformer.unaccounted == 0, f"cut at {at}"


@some_samples(4)
def test_the_stream_and_the_whole_message_agree(path: Path):
    if name_of(path) not in MESSAGES:
        return
    tape = read_tape(path)
    sent, transformer = replay(tape, tape.reads)
    twin = make_recipe(tape.header, Wishes()).message("findings")
    behind = message_behind(b"".join(tape.reads))
    for index, got in results(b"".join(sent)).items():
        for body in (transformer.completion, twin.convert(behind)):
            assert body is not None
            whole = message_result(body, index)
            assert replace(whole, usage=None) == replace(got, usage=None)


def check_no_markup(transformer: StreamTransformer) -> None:
    """No character of a call that was converted is also in a text that the client got."""
    deltas = [record for record in transformer.records if isinstance(record, Delta) and record.span]
    calls = [delta.span for delta in deltas if delta.kind in ("call", "arguments")]
    texts = [delta.span for delta in deltas if delta.kind in ("content", "reasoning")]
    for call in calls:
        for text in texts:
            assert call is not None and text is not None
            same = (call.choice, call.channel) == (text.choice, text.channel)
            assert not same or text.end <= call.start or call.end <= text.start, (call, text)
