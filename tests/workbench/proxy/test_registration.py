"""The viewer's side of the control endpoint, against the real program."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.bench import Bench, running_bench, wait_for
from tests.support.streams import stream_of
from tests.support.tiers import each_row
from tests.support.upstream.answers import stream
from tests.support.upstream.server import free_port
from workbench.errors import UserError
from workbench.proxy.asking import Resend, Sent, resend
from workbench.proxy.registration import Registration, register
from workbench.tape.format import read_tape


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running_bench(tmp_path_factory.mktemp("bench")) as bench:
        yield bench


def send(library: Path, wish: Resend) -> Sent:
    return asyncio.run(resend(library, wish))


def test_the_new_exchange_is_on_its_tape(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    bench.upstream.answer(stream(stream_of("again")))
    sent = send(bench.proxy.library, Resend(bench.body(), of="x1", session="ses_1", policy={"calls": "all"}))
    wait_for(lambda: Path(sent.path).exists() and read_tape(sent.path).complete, "the tape")
    header = read_tape(sent.path).header
    assert (header["id"], header["resend_of"], header["session"]) == (sent.id, "x1", "ses_1")
    assert header["request"] == bench.body() and header["policy"] == {"calls": "all"}


def test_exactly_what_goes_up(bench: Bench):
    bench.upstream.answer(stream(stream_of("again")))
    asked = len(bench.upstream.requests)
    body = {"model": "m", "stream": True, "messages": [], "seed": 2**70, "half": "\ud800"}
    send(bench.proxy.library, Resend(body, "upstream", bench.body()))
    assert bench.upstream.wait_for_requests(asked + 1)[-1].json == body


@each_row(
    ("wish", "said"),
    [
        (Resend({}, dialect="roo"), "the proxy refused: there is no dialect 'roo'"),
        (Resend({}, upstream="nope"), "the proxy refused: there is no upstream 'nope'"),
        (Resend({}, policy={"calls": "seven"}), "the proxy refused: "),
    ],
)
def test_a_refusal_is_a_sentence(bench: Bench, wish: Resend, said: str):
    with pytest.raises(UserError, match=said):
        send(bench.proxy.library, wish)


def test_nobody_is_there(tmp_path: Path):
    with pytest.raises(UserError, match="no proxy runs for this library"):
        send(tmp_path, Resend({}))


def registration() -> Registration:
    url = f"http://127.0.0.1:{free_port()}"
    return Registration(pid=os.getpid(), url=url, control=url, token="t", started=1.0)


def test_one_that_does_not_answer(tmp_path: Path):
    register(tmp_path, registration())
    with pytest.raises(UserError, match="does not answer"):
        send(tmp_path, Resend({}))
