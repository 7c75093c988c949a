"""The process: how it begins, how it ends, and what it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support import http
from tests.support.bench import (
    CALL,
    COMMENT,
    HEAD,
    PATIENT,
    Bench,
    by_transformer,
    replayed,
    running_bench,
    wait_for,
)
from tests.support.client import result
from tests.support.project import ROOT
from tests.support.proxies import running_proxy
from tests.support.streams import chunk, sse, stream_of
from tests.support.tiers import only_exhaustive
from tests.support.upstream.answers import Answer, Finish, Gate, Send, stream
from workbench.proxy.registration import registered
from workbench.tape.format import read_tape

FIRST = Send(sse(chunk("Hello"), done=False))
REST = Send(stream_of(" world"))


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Bench]:
    """With a grace period that does not pass."""
    with running_bench(tmp_path, toml=PATIENT.replace("grace = 0.6", "grace = 60")) as bench:
        yield bench


@pytest.fixture
def ends_soon(tmp_path: Path) -> Iterator[Bench]:
    """With a grace period of 0.3 s."""
    with running_bench(tmp_path, toml=PATIENT.replace("grace = 0.6", "grace = 0.3")) as bench:
        yield bench


def test_one_line_with_the_url(tmp_path: Path):
    """As a user starts it: all other tests fork it from a process that has imported it."""
    upstream = "http://127.0.0.1:9/v1"
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", "serve", "--port", "0", "--upstream", upstream,
         "--library", str(tmp_path / "library")],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=20)
    assert "http://127.0.0.1:" in line and "/v1" in line and upstream in line
    assert (rest, errors, process.returncode) == ("", "", 0)


@pytest.mark.parametrize("how", only_exhaustive([signal.SIGTERM, signal.SIGINT], quick=[signal.SIGINT]))
def test_running_streams_are_finished_first(fresh: Bench, how: signal.Signals):
    with fresh.asking(Answer([HEAD, FIRST, Gate("go on"), REST, Finish()])) as response:
        pieces = response.iter_raw()
        got = next(pieces)
        fresh.proxy.process.send_signal(how)
        wait_for(lambda: not _listens(fresh), "the listener is closed")
        fresh.upstream.open("go on")
        got += b"".join(pieces)
    assert result(got.replace(COMMENT, b"")).content == "Hello world"
    assert fresh.proxy.process.wait(10) == 0
    assert fresh.tape().complete
    assert list(fresh.proxy.library.glob("proxies/*.json")) == []


def _listens(bench: Bench) -> bool:
    try:
        with http.client(bench.proxy.base) as client:
            client.get("/health")
    except httpx.ConnectError:
        return False
    except httpx.HTTPError:
        return True
    return True


def test_behind_the_grace_period_streams_end_with_an_error(ends_soon: Bench):
    with ends_soon.asking(Answer([HEAD, FIRST, Gate("never")])) as response:
        pieces = response.iter_raw()
        got = next(pieces)
        begun = time.monotonic()
        ends_soon.proxy.process.send_signal(signal.SIGTERM)
        got += b"".join(pieces)
    assert time.monotonic() - begun > 0.29, "grace is 0.3 s"
    answer = result(got.replace(COMMENT, b""))
    assert answer.content == "Hello" and answer.error is not None and answer.error["code"] == "shutdown"
    assert answer.error["type"] != "server_error"
    assert ends_soon.proxy.process.wait(10) == 0
    end = ends_soon.tape().end
    assert end is not None and end.value["end"] == "error"


def test_a_second_signal_does_not_wait(fresh: Bench):
    with fresh.asking(Answer([HEAD, FIRST, Gate("never")])) as response:
        pieces = response.iter_raw()
        got = next(pieces)
        fresh.proxy.process.send_signal(signal.SIGINT)
        wait_for(lambda: not _listens(fresh), "the listener is closed")
        fresh.proxy.process.send_signal(signal.SIGINT)
        got += b"".join(pieces)
    assert result(got.replace(COMMENT, b"")).error is not None
    assert fresh.proxy.process.wait(10) == 0
    assert fresh.tape().complete


def test_after_kill_every_tape_opens_and_lacks_at_most_a_tenth_of_a_second(fresh: Bench):
    with fresh.asking(Answer([HEAD, FIRST, Gate("never")])) as response:
        pieces = response.iter_raw()
        next(pieces)
        wait_for(lambda: fresh.tape(complete=False).reads, "the read is on the tape", 1)
        fresh.proxy.process.kill()
        fresh.proxy.process.wait(10)
    tapes = [read_tape(path) for path in fresh.proxy.library.glob("tapes/*/*.jsonl")]
    assert [b"".join(tape.reads) for tape in tapes] == [FIRST.data]
    assert tapes[0].end is None and tapes[0].problem


def test_only_the_owner_reads_what_is_kept(fresh: Bench):
    fresh.ask(stream(stream_of(CALL)))
    fresh.tape()
    for path in [fresh.proxy.library, *fresh.proxy.library.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    registered = json.loads(next(fresh.proxy.library.glob("proxies/*.json")).read_text())
    assert registered["url"] == fresh.proxy.url and registered["pid"] == fresh.proxy.process.pid


def test_a_library_that_cannot_be_written_costs_no_answer(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with running_bench(tmp_path, flags=("--library", str(blocked / "library"))) as bench:
        assert result(bench.ask(stream(stream_of(CALL))).content).calls
        health = bench.client.get("/health")
        assert health.status_code == 503
        assert health.json()["tapes"]["writable"] is False and "file" in health.json()["tapes"]["problem"]
        wait_for(lambda: bench.client.get("/health").json()["tapes"]["lost_lines"] > 0, "the loss is counted")


def test_a_library_that_is_deleted_comes_back(fresh: Bench):
    """With the registration, so that screens find the proxy again, and with an index."""
    library = fresh.proxy.library
    fresh.ask(stream(stream_of(CALL)))
    fresh.tape()
    shutil.rmtree(library)
    wait_for(lambda: list(library.glob("proxies/*.json")), "it is registered again")
    (again,) = registered(library)
    assert (again.url, again.pid) == (fresh.proxy.url, fresh.proxy.process.pid)
    fresh.ask(stream(stream_of(CALL)))
    wait_for(lambda: len(list(library.glob("tapes/*/*.jsonl"))) == 1, "tapes are written again")
    wait_for((library / "library.sqlite").exists, "there is an index again")
    assert fresh.client.get("/health").json()["tapes"]["index_problem"] is None


def test_dead_proxies_are_tidied_away(fresh: Bench, tmp_path: Path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = fresh.proxy.library / "proxies" / f"{dead.pid}.json"
    left.write_text(
        json.dumps({"pid": dead.pid, "url": "", "control": "", "token": "", "started": 0, "version": ""})
    )
    with running_proxy(tmp_path, fresh.upstream):
        assert not left.exists()


def test_nothing_is_left_open_when_clients_come_and_go(fresh: Bench):
    """Descriptors and memory of exchanges that are over are given back."""
    open_files = Path(f"/proc/{fresh.proxy.process.pid}/fd")
    if not open_files.exists():
        pytest.skip("there is no /proc here")
    for _ in range(3):
        fresh.ask(stream(stream_of(CALL)))
    before = len(os.listdir(open_files))
    for number in range(40):
        if number % 2:
            fresh.ask(stream(stream_of(CALL)))
        else:
            with fresh.asking(Answer([HEAD, FIRST, Gate("never")])) as response:
                pieces = response.iter_raw()
                next(pieces)
    wait_for(lambda: len(os.listdir(open_files)) <= before + 2, "descriptors are given back")


def test_a_resend_is_finished_too(fresh: Bench):
    registration = registered(fresh.proxy.library)[0]
    fresh.upstream.answer(Answer([HEAD, FIRST, Gate("go on"), REST, Finish()]))
    token = {"x-workbench-token": registration.token}
    asked = {"body": fresh.body(), "session": "ses_resent"}
    http.post(f"{registration.control}/resend", json=asked, headers=token)
    wait_for(lambda: fresh.tape("ses_resent", complete=False).reads, "the resend has begun")
    fresh.proxy.process.send_signal(signal.SIGTERM)
    wait_for(lambda: not _listens(fresh), "the listener is closed")
    fresh.upstream.open("go on")
    assert fresh.proxy.process.wait(10) == 0
    assert result(b"".join(fresh.tape("ses_resent").sent)).content == "Hello world"


def test_a_request_that_is_whole_only_behind_the_grace_period_gets_an_error(ends_soon: Bench):
    body = json.dumps(ends_soon.body()).encode()
    with _connected(ends_soon) as raw:
        raw.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n")
        raw.sendall(b"Content-Length: %d\r\n\r\n" % len(body))
        assert raw.recv(65536).startswith(b"HTTP/1.1 100 ")
        _stop_until_streams_are_ended(ends_soon)
        raw.sendall(body)
        assert raw.recv(65536).startswith(b"HTTP/1.1 503 ")
    assert ends_soon.proxy.process.wait(10) == 0
    assert len(ends_soon.upstream.requests) == 1


def test_a_slow_client_gets_all_that_came_before_the_error(ends_soon: Bench):
    """What could not be written when the end came is not dropped from the middle of its answer."""
    body = json.dumps(ends_soon.body()).encode()
    many = (Send(sse(chunk(f"{number:05} " * 2000), done=False)) for number in range(1500))
    ends_soon.upstream.answer(Answer([HEAD, *many, Gate("never")]))
    with _connected(ends_soon) as raw:
        raw.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nx-session-id: slow\r\n")
        raw.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        tapes = ends_soon.proxy.library / "tapes"
        _stands_still(lambda: sum(path.stat().st_size for path in tapes.rglob("*.jsonl")))
        _stop_until_streams_are_ended(ends_soon)
        while raw.recv(1 << 20):
            pass
    tape = ends_soon.tape("slow")
    error = result(by_transformer(tape)).error
    assert error is not None and error["code"] == "shutdown"
    assert by_transformer(tape) == replayed(tape)


def _stop_until_streams_are_ended(bench: Bench) -> None:
    with bench.asking(Answer([HEAD, FIRST, Gate("never")])) as other:
        pieces = other.iter_raw()
        next(pieces)
        bench.proxy.process.send_signal(signal.SIGTERM)
        assert b"shutdown" in b"".join(pieces)


def _connected(bench: Bench) -> socket.socket:
    host, port = bench.proxy.base.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), 20)


def _stands_still(count: Callable[[], int]) -> None:
    last = -1
    while not last == (last := count()) > 0:
        time.sleep(0.2)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"pid": "x"}', '{"pid": 1e99, "url": "", "control": "", "token": "", "started": 0}'],
)
def test_a_registration_that_is_none_is_overlooked(tmp_path: Path, text: str):
    (tmp_path / "proxies").mkdir()
    (tmp_path / "proxies" / "1.json").write_text(text)
    assert registered(tmp_path) == []
