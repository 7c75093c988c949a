"""Clients that close their half of the connection, or all of it; with sockets, for no library does this."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.bench import CALL, HEAD, Bench, wait_for
from tests.support.client import message_result, result
from tests.support.streams import chunk, message, sse, stream_of
from tests.support.tiers import only_exhaustive
from tests.support.upstream.answers import Answer, Finish, Gate, Head, Send, Step, failure, whole

FIRST = Send(sse(chunk("Hello"), done=False))
JSON = [("content-type", "application/json")]
WHOLE = json.dumps(message(CALL)).encode()
_gates = iter(range(1000))


@contextmanager
def asking(bench: Bench, stream: bool, steps: list[Step], version: str = "1.1") -> Iterator[socket.socket]:
    """A socket through which one request was sent, and upstream has it."""
    bench.upstream.answer(Answer(steps))
    asked = len(bench.upstream.requests)
    with connected(bench) as client:
        client.sendall(_request(bench, bench.body(stream), version))
        bench.upstream.wait_for_requests(asked + 1)
        yield client


@contextmanager
def connected(bench: Bench) -> Iterator[socket.socket]:
    host, port = bench.proxy.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as client:
        yield client


def _request(bench: Bench, value: Any, version: str = "1.1") -> bytes:
    body = json.dumps(value).encode()
    session = bench.options({})["headers"]["x-session-id"]
    head = (
        f"POST /v1/chat/completions HTTP/{version}\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    )
    return f"{head}X-Session-Id: {session}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def answer(client: socket.socket) -> tuple[int, bytes]:
    """As a strict client reads it, up to the end of the connection."""
    with http.client.HTTPResponse(client) as response:
        response.begin()
        body = response.read()
    assert client.recv(1) == b"", "the connection is over with the answer"
    return response.status, b"".join(line for line in body.splitlines(True) if not line.startswith(b": "))


def wait_for_bytes(client: socket.socket, data: bytes) -> None:
    """Until the client has these, which it does not read yet."""
    wait_for(lambda: client.recv(65536, socket.MSG_PEEK).endswith(data), f"{data!r} at the client")


def gate() -> str:
    return f"half-close {next(_gates)}"


# One that waits


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_who_closes_its_half_gets_the_whole_stream(bench: Bench, begun: bool, version: str):
    name = gate()
    events = stream_of(CALL)
    before: list[Step] = [HEAD, Send(events[:300])]
    steps = [*before, Gate(name)] if begun else [Gate(name), *before]
    with asking(bench, True, [*steps, Send(events[300:]), Finish()], version) as client:
        client.shutdown(socket.SHUT_WR)
        if not begun:
            # It was asked three times whether it is there; of the two versions one waits for all of them.
            wait_for_bytes(client, b"HTT" if version == "1.1" else b"HT")
        elif version == "1.1":
            wait_for(lambda: b"\r\n0" in client.recv(65536, socket.MSG_PEEK), "a leading zero")
        bench.upstream.open(name)
        status, body = answer(client)
    assert (status, len(result(body).calls)) == (200, 1)
    tape = bench.tape()
    assert tape.end is not None and tape.end.value["end"] == "done"


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_who_closes_its_half_gets_the_whole_message(bench: Bench, version: str):
    name = gate()
    head = Head(200, JSON, len(WHOLE))
    steps: list[Step] = [head, Send(WHOLE[:50]), Gate(name), Send(WHOLE[50:]), Finish()]
    with asking(bench, False, steps, version) as client:
        client.shutdown(socket.SHUT_WR)
        wait_for_bytes(client, b"HT")
        bench.upstream.open(name)
        status, body = answer(client)
    assert (status, len(message_result(json.loads(body)).calls)) == (200, 1)
    tape = bench.tape()
    assert tape.end is not None and tape.end.value["end"] == "done"


def test_an_answer_that_is_there_before_anything_is_asked(bench: Bench):
    bench.upstream.answer(whole(message(CALL)))
    with connected(bench) as client:
        client.sendall(_request(bench, bench.body(False)))
        client.shutdown(socket.SHUT_WR)
        assert answer(client)[0] == 200


def test_who_closes_its_half_is_told_of_faults_with_their_status(bench: Bench):
    name = gate()
    with asking(bench, False, [Gate(name), *failure(429, b"later").steps]) as client:
        client.shutdown(socket.SHUT_WR)
        wait_for_bytes(client, b"H")
        bench.upstream.open(name)
        status, body = answer(client)
    assert status == 429 and b"later" in body


def test_several_requests_at_once_get_all_their_answers(bench: Bench):
    name = gate()
    bench.upstream.answer(Answer([Gate(name), HEAD, Send(stream_of("one")), Finish()]), whole(message("two")))
    with connected(bench) as client:
        client.sendall(_request(bench, bench.body(True)) + _request(bench, bench.body(False)))
        client.shutdown(socket.SHUT_WR)
        bench.upstream.open(name)
        with client.makefile("rb") as file:
            got = file.read()
    assert got.count(b"HTTP/1.1 200 OK\r\n") == 2 and b"one" in got and b"two" in got


def test_half_a_request_is_not_waited_for(bench: Bench):
    asked = len(bench.upstream.requests)
    with connected(bench) as client:
        client.sendall(_request(bench, bench.body())[:-1])
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
    assert len(bench.upstream.requests) == asked


# One that has left

SILENT: dict[str, tuple[bool, list[Step]]] = {
    "a stream": (True, [Gate("never")]),
    "a stream that has begun": (True, [HEAD, FIRST, Gate("never")]),
    "a message": (False, [Gate("never")]),
    "a message that has begun": (False, [Head(200, JSON, len(WHOLE)), Send(WHOLE[:50]), Gate("never")]),
}


WAYS = list(itertools.product(SILENT, (False, True)))


# In the exhaustive tier alone: answers of which nothing has been sent yet, as of "a message".
@pytest.mark.parametrize(
    ("name", "half_first"),
    only_exhaustive(
        WAYS,
        [way for way in WAYS if way not in (("a stream", True), ("a message that has begun", True))],
        2,
    ),
)
def test_who_has_left_takes_upstream_with_it(bench: Bench, name: str, half_first: bool):
    stream, steps = SILENT[name]
    before = len(bench.upstream.disconnects)
    with asking(bench, stream, steps) as client:
        if name == "a stream that has begun":
            wait_for(lambda: b"Hello" in client.recv(65536, socket.MSG_PEEK), "the first event")
        if half_first:
            client.shutdown(socket.SHUT_WR)
            wait_for(lambda: client.recv(65536, socket.MSG_PEEK), "a byte that asks")
            client.recv(65536)  # closing a socket with unread bytes is a reset, which is noticed at once
    bench.upstream.wait_for_disconnects(before + 1)
    tape = bench.tape()
    assert tape.end is not None
    assert (tape.end.value["end"], tape.end.value["error"]) == ("cancelled", "the client went away")


def test_who_sent_several_requests_and_left_takes_upstream_with_it(hasty: Bench):
    """It is noticed with the first byte that is sent to it, at the latest the one after a long silence."""
    before, asked = len(hasty.upstream.disconnects), len(hasty.upstream.requests)
    hasty.upstream.answer(Answer([Gate("never")]))
    with connected(hasty) as client:
        client.sendall(_request(hasty, hasty.body(True)) + _request(hasty, hasty.body(False)))
        hasty.upstream.wait_for_requests(asked + 1)
    assert hasty.upstream.wait_for_disconnects(before + 1)
    assert len(hasty.upstream.requests) == asked + 1, "the second one never began"
