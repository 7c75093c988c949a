"""Every fault of the table against the real proxy: what the client gets, and what the tape says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import TypeAlias

import httpx
import pytest

from tests.faults.table import (
    ARGUMENTS,
    BREATH,
    DATA,
    Answered,
    Broken,
    Case,
    Refused,
    cases,
    endless,
    silence,
)
from tests.support.bench import CALL, COMMENT, PATIENT, Bench, by_transformer, replayed, running_bench
from tests.support.client import message_result, result
from tests.support.streams import message
from tests.support.tiers import each_row, exhaustive
from tests.support.upstream.answers import Answer, Close, Gate, Pause, Raw, Step, stream, whole
from workbench.tape.format import Tape

# Waits that a test can afford, each far from the next, for the cases that one of them has to end. An answer's
# head may take as long as a connection and a silence together. To send very many small pieces takes longer.
BEGINS = "heartbeat = 0.15\nhead_wait = 0.3\nsilence = 0.4\ngrace = 0.6\n"
BEGINS_LATER = "heartbeat = 0.15\nhead_wait = 1.2\nsilence = 1.5\ngrace = 0.6\n"
SILENT = "connect_timeout = 1\nidle_timeout = 0.8\n"
SILENT_LONGER = "connect_timeout = 1\nidle_timeout = 2.2\n"
ENDLESS = BEGINS + "idle_timeout = 60\nanswer_timeout = 1.2\n"


LARGE = 5000  # bytes: more is not cut into small pieces
Outcomes: TypeAlias = dict[str, tuple[httpx.Response, Tape]]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running_bench(tmp_path_factory.mktemp("bench"), toml=PATIENT) as bench:
        yield bench


def cut_at(case: Case, size: int) -> Case:
    """The same bytes in writes of this size: where a segment ends must not make a difference."""
    steps: list[Step] = []
    for step in case.steps:
        if isinstance(step, Raw):
            data = step.data
            steps += [Raw(data[at : at + size]) for at in range(0, len(data), size)]
        else:
            steps.append(step)
    return replace(case, name=f"{case.name}, {size} bytes at a time", steps=tuple(steps))


def all_cases() -> list[Case]:
    table = cases()
    sizes = [7, 61] if exhaustive() else []
    return [*table, *(cut_at(case, size) for size in sizes for case in table if case.size < LARGE)]


CASES = {f"case_{number}": case for number, case in enumerate(all_cases())}


def sessions_of(part: Iterable[Case]) -> set[str]:
    names = {case.name for case in part}
    return {session for session, case in CASES.items() if case.name.partition(", ")[0] in names}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    """All of them, many at a time: none may disturb another. Those that a wait must end have proxies that do
    not wait long; for all others no wait passes, however slow the machine is."""
    silent, too_long = sessions_of(silence()), sessions_of(endless())
    groups = [
        (BEGINS_LATER + SILENT_LONGER if exhaustive() else BEGINS + SILENT, silent),
        (ENDLESS, too_long),
        (PATIENT, CASES.keys() - silent - too_long),
    ]
    with ExitStack() as stack, ThreadPoolExecutor(len(silent | too_long)) as pool:
        asked: dict[str, Future[httpx.Response]] = {}
        benches = [
            stack.enter_context(running_bench(tmp_path_factory.mktemp("faults"), toml=toml))
            for toml, _ in groups
        ]
        for bench, (_, sessions) in zip(benches, groups, strict=True):
            bench.upstream.answer_with(lambda seen: script(str(seen.header("x-session-id"))))
            asked |= {session: pool.submit(ask, bench, session) for session in sorted(sessions)}
        responses = {session: future.result() for session, future in asked.items()}
        tapes = {
            str(tape.header["session"]): tape
            for bench, (_, sessions) in zip(benches, groups, strict=True)
            for tape in bench.proxy.tapes(len(sessions))
        }
        yield {session: (response, tapes[session]) for session, response in responses.items()}


def script(session: str) -> Answer:
    """The steps of a case. A client that gets nothing before the end cannot say how far it is."""
    case = CASES[session]
    begun = Pause(0.02) if isinstance(case.outcome, Refused) else Gate(session)
    return Answer([begun if step == BREATH else step for step in case.steps])


def ask(bench: Bench, session: str) -> httpx.Response:
    body, headers = bench.body(CASES[session].streamed), {"x-session-id": session}
    with bench.client.stream("POST", "/v1/chat/completions", json=body, headers=headers) as response:
        data = b""
        for piece in response.iter_raw():
            data += piece
            if b"Hello" in data:
                bench.upstream.open(session)
    return httpx.Response(response.status_code, headers=response.headers, content=data)


@each_row("session", CASES, ids=[str(case) for case in CASES.values()])
def test_fault(outcomes: Outcomes, session: str):
    response, tape = outcomes[session]
    assert b"".join(tape.sent) == response.content, "what the client got is on the tape"
    check(CASES[session], response, tape)


def check(case: Case, response: httpx.Response, tape: Tape) -> None:
    assert tape.end is not None
    end = tape.end.value
    outcome = case.outcome
    if isinstance(outcome, Refused):
        error = response.json()["error"]
        assert (response.status_code, error["code"], error["type"]) == (
            outcome.status,
            outcome.code,
            outcome.type,
        )
        assert outcome.said in error["message"]
        told = {key: value for key, value in end["error"].items() if value is not None}
        assert (end["end"], told) == (
            "error",
            {key: value for key, value in error.items() if value is not None},
        )
    elif isinstance(outcome, Broken):
        got = result(response.content.replace(COMMENT, b""))
        assert response.status_code == 200 and got.error is not None
        assert (got.content, got.calls) == (outcome.content, [])
        assert (got.error["code"], got.error["type"]) == (outcome.code, outcome.type)
        assert end["end"] == outcome.end
        error = got.error
    else:
        answered(case, outcome, response, tape)
        return
    assert end["error"]["message"] == error["message"]
    for raw in (", message", "aiohttp", "Error(", "Errno", "b'", "Traceback"):
        assert raw not in error["message"], "in our own words"


def answered(case: Case, outcome: Answered, response: httpx.Response, tape: Tape) -> None:
    assert response.status_code == 200, response.text
    streamed = case.streamed
    got = result(response.content.replace(COMMENT, b"")) if streamed else message_result(response.json())
    assert tape.end is not None
    end = tape.end.value
    assert (got.content, got.finish_reason, got.error) == (outcome.content, outcome.finish, None)
    assert got.calls == [("read_file", ARGUMENTS)] * outcome.calls
    assert end["end"] == (outcome.end if case.streamed else "done")
    assert set(outcome.findings) <= set(end["findings"]), end["findings"]
    if case.streamed:
        assert replayed(tape) == by_transformer(tape)


@each_row("streamed", [True, False])
def test_a_kept_connection_that_was_closed_in_silence(bench: Bench, streamed: bool):
    """The request goes once more, over a new connection: not one byte of an answer had come."""
    good = stream(DATA) if streamed else whole(message(CALL))
    assert bench.ask(good, stream=streamed).status_code == 200
    before = len(bench.upstream.requests)
    assert bench.ask(Answer([Close()]), good, stream=streamed).status_code == 200
    assert len(bench.upstream.requests) == before + 2


@each_row("said", [b"HTTP/1.1 ", b"HTTP/1.1 200 OK\r\nx: y"])
def test_an_answer_that_has_begun_is_not_asked_for_again(bench: Bench, said: bytes):
    assert bench.ask(whole(message(CALL)), stream=False).status_code == 200
    before = len(bench.upstream.requests)
    assert bench.ask(Answer([Raw(said), Close()]), stream=False).status_code == 502
    assert len(bench.upstream.requests) == before + 1


def test_a_new_connection_that_is_closed_is_not_tried_again(bench: Bench):
    assert bench.ask(Answer([Close()])).status_code == 502
    before = len(bench.upstream.requests)
    assert bench.ask(Answer([Close()])).status_code == 502
    assert len(bench.upstream.requests) == before + 1


def test_there_are_enough_of_them():
    table = cases()
    assert len({case.name for case in table}) >= 60
    assert len(table) == len({str(case) for case in table})
