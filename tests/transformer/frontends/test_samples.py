"""Every sample for every API: the answer that a chat gives, in every cut, in events that the SDKs parse."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.support import apis
from tests.support.client import Result, results
from tests.support.cuts import codes, every_split
from tests.support.samples import ALL, DIALECTS, name_of
from tests.support.streams import JSON, message_behind
from tests.support.tiers import each, each_row, exhaustive, some
from tests.test_samples import MESSAGES
from transformer import MessageTransformer, StreamTransformer, call_ids
from transformer.records import Delta
from workbench.tape.format import Tape, read_tape

REQUEST: dict[str, Callable[[JSON], JSON]] = {
    "responses": apis.responses_request,
    "messages": apis.messages_request,
}
RESULT: dict[str, Callable[[bytes], Result]] = {
    "responses": apis.responses_result,
    "messages": apis.messages_result,
}
WHOLE: dict[str, Callable[[JSON], Result]] = {
    "responses": apis.response_result,
    "messages": apis.message_result,
}
APIS = each_row("frontend", REQUEST)
DIALECT = pytest.mark.parametrize("dialect", some(DIALECTS, 6))
# Findings that only a chat has, or only the others: their ids are never the model's.
OWN = {"generated-id", "choice-not-carried", "field-not-carried"}


def asked(tape: Tape, frontend: str) -> JSON:
    header = tape.header
    return {
        "request": REQUEST[frontend](header["request"]),
        "policy": header.get("policy"),
        "ids": call_ids(header["ids"]),
        "now": header["now"],
    }


def run(tape: Tape, frontend: str, reads: list[bytes], **more: Any) -> tuple[bytes, StreamTransformer]:
    assert tape.end is not None
    error = tape.end.value.get("error")
    return apis.transformed(frontend, tape.header["dialect"], reads, error, **asked(tape, frontend), **more)


def as_chat(tape: Tape) -> tuple[Result, StreamTransformer]:
    """What a chat gives, with usage; nothing where its bytes go on raw."""
    header = tape.header
    request = {**header["request"], "stream_options": {"include_usage": True}}
    ids = call_ids(header["ids"])
    t = StreamTransformer(header["dialect"], None, header.get("policy"), request, ids, header["now"])
    assert tape.end is not None
    error = tape.end.value.get("error")
    sent = [t.feed(read) for read in tape.reads]
    sent.append(t.finish() if error is None else t.fail(error))
    return (Result() if t.setting.raw else results(b"".join(sent))[0]), t


def deltas(t: StreamTransformer) -> list[Any]:
    """What was sent and where it came from; of further choices the other APIs have the records, too."""
    found = [record for record in t.records if isinstance(record, Delta) and record.kind != "usage"]
    return [(d.kind, d.choice, d.text, d.span, d.call, d.name) for d in found]


def expected(frontend: str, arguments: str, got: Result) -> str:
    """The arguments of a call. A client of Messages gets an object, or nothing of a call that broke off."""
    if frontend != "messages" or isinstance(parsed(arguments), dict):
        return arguments
    return (
        "" if got.error else json.dumps({"arguments": arguments}, separators=(",", ":"), ensure_ascii=False)
    )


def check(frontend: str, path: Path) -> None:
    tape = read_tape(path)
    chat, converted = as_chat(tape)
    out, transformer = run(tape, frontend, tape.reads)
    got = RESULT[frontend](out)
    assert transformer.unaccounted == 0
    if converted.setting.raw:
        return
    assert got.content == chat.content
    assert got.reasoning == chat.reasoning
    assert [name for name, _ in got.calls] == [name for name, _ in chat.calls]
    texts = [text for _, text in got.calls]
    assert texts == [expected(frontend, text, got) for _, text in chat.calls]
    assert (got.error is None) == (chat.error is None)
    assert got.finish_reason == chat.finish_reason
    assert deltas(transformer) == deltas(converted)
    assert [c for c in codes(transformer) if c not in OWN] == [c for c in codes(converted) if c not in OWN]
    if chat.usage is not None and got.error is None:
        assert got.usage is not None
        assert got.usage["completion_tokens"] == chat.usage["completion_tokens"]


def samples_of(dialect: str, count: int) -> list[Path]:
    return some((path for path in ALL if path.parent.name == dialect), count)


@APIS
@DIALECT
def test_it_says_what_a_chat_says(frontend: str, dialect: str) -> None:
    each(samples_of(dialect, 4 if exhaustive() else 3), lambda path: check(frontend, path))


def check_cuts(frontend: str, path: Path) -> None:
    tape = read_tape(path)
    data = b"".join(tape.reads)
    wanted = None
    for number, reads in enumerate(islice(every_split(data), 40 if exhaustive() else 3)):
        out, t = run(tape, frontend, reads, records=("all", "findings", "none")[number % 3])
        seen = RESULT[frontend](out), t.unaccounted
        wanted = wanted or seen
        assert seen == wanted, f"reads of {[len(read) for read in reads][:40]} bytes"


@APIS
@DIALECT
def test_every_cut_gives_the_same(frontend: str, dialect: str) -> None:
    each(samples_of(dialect, 2 if exhaustive() else 1), lambda path: check_cuts(frontend, path))


def check_whole(frontend: str, path: Path) -> None:
    if name_of(path) not in MESSAGES:
        return
    tape = read_tape(path)
    out, streamed = run(tape, frontend, tape.reads)
    wanted = RESULT[frontend](out)
    twin = MessageTransformer(tape.header["dialect"], frontend=frontend, **asked(tape, frontend))
    for body in (twin.convert(message_behind(b"".join(tape.reads))), streamed.message):
        assert body is not None
        got = WHOLE[frontend](body)
        assert replace(got, usage=None, calls=[]) == replace(wanted, usage=None, calls=[])
        for (name, text), (wanted_name, wanted_text) in zip(got.calls, wanted.calls, strict=True):
            assert name == wanted_name
            assert text == wanted_text or json.loads(text) in (
                parsed(wanted_text),
                {"arguments": wanted_text},
            )


def parsed(text: str) -> Any:
    try:
        return json.loads(text or "{}")
    except ValueError:
        return None


@APIS
@DIALECT
def test_the_stream_and_the_whole_message_agree(frontend: str, dialect: str) -> None:
    each(samples_of(dialect, 4 if exhaustive() else 3), lambda path: check_whole(frontend, path))


def check_snapshot(frontend: str, path: Path) -> None:
    """From any snapshot the rest is the same, and the snapshot is not touched by it."""
    tape = read_tape(path)
    t = StreamTransformer(tape.header["dialect"], frontend=frontend, **asked(tape, frontend))
    out, _ = run(tape, frontend, tape.reads)
    reads, sent, states = tape.reads, [], []
    for read in reads:
        states.append(t.snapshot())
        sent.append(t.feed(read))
    assert tape.end is not None
    error = tape.end.value.get("error")
    for at in some(range(len(reads)), 6):
        t.restore(states[at])
        rest = [t.feed(read) for read in reads[at:]]
        rest.append(t.finish() if error is None else t.fail(error))
        assert b"".join(sent[:at] + rest) == out


@APIS
@DIALECT
def test_a_snapshot_goes_on_as_before(frontend: str, dialect: str) -> None:
    each(samples_of(dialect, 2 if exhaustive() else 1), lambda path: check_snapshot(frontend, path))
