"""The scripted upstream itself: what a test scripts is what goes over the wire."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from tests.support import http
from tests.support.upstream.answers import (
    Answer,
    Close,
    Finish,
    Flood,
    Gate,
    Head,
    Pause,
    Raw,
    Reset,
    Send,
    failure,
    stream,
    whole,
)
from tests.support.upstream.server import CERTIFICATE, ScriptedUpstream, free_port

POST = b"POST /v1/chat/completions?x=1 HTTP/1.1\r\nHost: a\r\nX-Two: 1\r\nX-Two: 2\r\n"
BODY = '{"asked": "é"}'.encode()
ASK = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
LAST = POST + b"Connection: close\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as running:
        yield running


def connect(upstream: ScriptedUpstream, request: bytes = ASK) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", upstream.port), timeout=10)
    client.sendall(request)
    return client


def everything(client: socket.socket) -> bytes:
    data = b""
    while piece := client.recv(65536):
        data += piece
    return data


@pytest.mark.parametrize(
    ("steps", "wire"),
    [
        (
            [Head(200, [("a", "b")]), Send(b"one"), Send(b"t\r\n"), Finish()],
            OK + b"a: b\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n3\r\nt\r\n\r\n0\r\n\r\n",
        ),
        ([Head(), Send(b"one"), Close()], OK + b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n"),
        ([Head(framing="close"), Send(b"one"), Finish()], OK + b"connection: close\r\n\r\none"),
        (
            [Head(599, framing=9), Send(b"one"), Close()],
            b"HTTP/1.1 599 Status\r\ncontent-length: 9\r\n\r\none",
        ),
        ([Raw(b"SSH-2.0\r\n"), Close()], b"SSH-2.0\r\n"),
        ([Close()], b""),
    ],
)
def test_the_bytes_on_the_wire_are_those_of_the_script(upstream: ScriptedUpstream, steps, wire: bytes):
    upstream.answer(Answer(steps))
    with closing(connect(upstream, LAST)) as client:
        assert everything(client) == wire
    assert upstream.disconnects == []


def test_a_request_is_kept_as_it_came(upstream: ScriptedUpstream):
    upstream.answer(whole({}), Answer([Close()]))
    chunks = b'Transfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n5;x=y\r\n: [2]\r\n1\r\n}\r\n0\r\n\r\n'
    with closing(connect(upstream, ASK + POST + chunks)) as client:
        everything(client)
    first, second = upstream.requests
    assert (first.method, first.path) == ("POST", "/v1/chat/completions?x=1")
    assert first.headers == [("Host", "a"), ("X-Two", "1"), ("X-Two", "2"), ("Content-Length", "15")]
    assert first.header("x-two") == "1" and first.header("x-none") is None
    assert first.body == BODY and first.json == {"asked": "é"}
    assert second.json == {"a": [2]}


def test_each_write_leaves_at_once(upstream: ScriptedUpstream):
    pieces = [bytes([65 + n]) * (n + 1) for n in range(26)]
    steps = [step for n, piece in enumerate(pieces) for step in (Gate(str(n)), Send(piece))]
    upstream.answer(Answer([Head(framing="close"), *steps, Finish()]))
    with closing(connect(upstream)) as client:
        assert client.recv(65536) == OK + b"connection: close\r\n\r\n"
        for n, piece in enumerate(pieces):
            upstream.open(str(n))
            assert client.recv(65536) == piece
        assert client.recv(65536) == b""


def test_a_stream_is_sse_in_the_reads_it_is_given(upstream: ScriptedUpstream):
    upstream.answer(stream([b"data: 1\n", b"\n"], pause=0.01), stream(b"all", headers=[("x-id", "7")]))
    with http.stream("POST", upstream.url, json={}) as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert list(response.iter_raw()) == [b"data: 1\n", b"\n"]
    assert http.post(upstream.url, json={}).headers["x-id"] == "7"


def test_answers_are_given_in_order_over_one_connection(upstream: ScriptedUpstream):
    upstream.answer(
        whole([1]), failure(429, "<p>slow</p>", "text/html", [("retry-after", "7")]), failure(503)
    )
    with http.client() as client:
        answers = [client.post(upstream.url, content=str(n)) for n in range(4)]
        assert upstream.connections == 1
    assert [answer.status_code for answer in answers] == [200, 429, 503, 500]
    assert answers[1].text == "<p>slow</p>" and answers[1].headers["retry-after"] == "7"
    assert "no answer" in answers[3].text
    assert [seen.body for seen in upstream.requests] == [b"0", b"1", b"2", b"3"]
    upstream.wait_until(lambda: upstream.connections == 0, "closed connection")


def test_a_script_may_choose_by_the_request(upstream: ScriptedUpstream):
    upstream.answer_with(lambda seen: whole({"path": seen.path, "asked": seen.json}))
    assert http.post(upstream.base + "/x", json=[1]).json() == {"path": "/x", "asked": [1]}


def test_a_script_that_raises_fails_the_test():
    with pytest.raises(AssertionError, match="the script failed"), ScriptedUpstream() as upstream:
        upstream.answer_with(lambda seen: whole(seen.json["nothing"]))
        with pytest.raises(httpx.RemoteProtocolError):
            http.post(upstream.url, json={}, timeout=30)


@pytest.mark.parametrize("key", ["named", threading.Event()])
def test_a_gate_holds_the_answer_until_the_test_opens_it(upstream: ScriptedUpstream, key):
    upstream.answer(Answer([Head(), Send(b"before"), Gate(key), Send(b"behind"), Finish()]))
    with http.stream("POST", upstream.url, json={}) as response:
        reads = response.iter_raw()
        assert next(reads) == b"before"
        upstream.open(key) if isinstance(key, str) else key.set()
        assert list(reads) == [b"behind"]


def test_a_pause_lasts(upstream: ScriptedUpstream):
    upstream.answer(Answer([Pause(0.2), *whole({}).steps]))
    before = time.monotonic()
    http.post(upstream.url, json={})
    assert time.monotonic() - before >= 0.2


def test_a_reset_is_a_reset(upstream: ScriptedUpstream):
    upstream.answer(Answer([Head(), Send(b"one"), Pause(0.05), Reset()]))
    with closing(connect(upstream)) as client, pytest.raises(ConnectionResetError):
        everything(client)
    assert upstream.disconnects == []


@pytest.mark.parametrize(
    "steps",
    [
        [Head(), Send(b"one")],
        [Head(), Send(b"one"), Pause(60)],
        [Head(), Send(b"one"), Gate("never")],
        [Head(), Send(b"one"), Flood(1 << 30)],
    ],
)
def test_a_client_that_leaves_is_noticed_at_once(upstream: ScriptedUpstream, steps):
    upstream.answer(Answer(steps))
    before = time.monotonic()
    with http.stream("POST", upstream.url, content=b"me") as response:
        assert next(response.iter_raw()).startswith(b"one")
    (gone,) = upstream.wait_for_disconnects(1, timeout=2)
    assert gone.request.body == b"me"
    assert before < gone.at <= time.monotonic()


def test_a_flood_stops_where_the_client_does_not_read(upstream: ScriptedUpstream):
    size = 64 << 20
    upstream.answer(Answer([Head(), Flood(size), Finish()]))
    with http.stream("POST", upstream.url, json={}) as response:
        upstream.wait_until(lambda: upstream.accepted > 0, "flood")
        levels = [-1, upstream.accepted]
        while levels[-1] != levels[-2]:
            threading.Event().wait(0.2)
            levels.append(upstream.accepted)
        assert levels[-1] < size // 2
        taken = sum(len(read) for read in response.iter_raw())
    assert taken == upstream.accepted >= size


def test_many_clients_at_once(upstream: ScriptedUpstream):
    upstream.answer(*[Answer([Gate("all"), *whole({}).steps]) for _ in range(200)])
    clients = [connect(upstream) for _ in range(200)]
    upstream.wait_for_requests(200)
    upstream.open("all")
    assert {client.recv(15) for client in clients} == {b"HTTP/1.1 200 OK"}
    for client in clients:
        client.close()


def test_it_speaks_tls():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with ScriptedUpstream(ssl_context=context) as upstream:
        upstream.answer(whole({"secret": True}), whole({}))
        trust = ssl.create_default_context(cafile=str(CERTIFICATE))
        assert httpx.post(upstream.url, json={}, verify=trust, timeout=30).json() == {"secret": True}
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            http.post(upstream.url, json={})


def test_it_listens_where_it_is_told_while_it_runs():
    port = free_port()
    with ScriptedUpstream(port=port) as upstream:
        upstream.answer(whole({}))
        assert upstream.url == f"http://127.0.0.1:{port}/v1"
        assert http.get(upstream.url).status_code == 200
    with pytest.raises(httpx.ConnectError):
        http.get(upstream.url)
