"""Every path a client may ask for."""

from __future__ import annotations

import json
import socket

import httpx
import pytest

from tests.support.bench import CALL, Bench
from tests.support.client import result
from tests.support.streams import stream_of
from tests.support.tiers import each_row
from tests.support.upstream.answers import Answer, Finish, Head, Raw, Reset, Send, failure, stream, whole
from workbench import __version__

MODELS = {"object": "list", "data": [{"id": "m"}]}


@each_row("path", ["/v1/models", "/models", "/v1/models/a%2Fb?limit=2"])
def test_models_are_relayed_as_they_are(bench: Bench, path: str):
    bench.upstream.answer(failure(200, b' {"object" : "list"}', headers=[("x-here", "1")]))
    tapes = len(bench.proxy.tapes())
    response = bench.client.get(path)
    assert (response.status_code, response.content) == (200, b' {"object" : "list"}')
    assert response.headers["x-here"] == "1"
    assert bench.upstream.requests[-1].path == "/v1/" + path.removeprefix("/v1").lstrip("/")
    assert len(bench.proxy.tapes()) == tapes, "a GET has no tape"


@each_row("path", ["/v1/chat/completions", "/chat/completions"])
def test_chat_with_and_without_v1(bench: Bench, path: str):
    bench.upstream.answer(stream(stream_of(CALL)))
    response = bench.client.post(path, json=bench.body())
    assert result(response.content).calls
    assert bench.upstream.requests[-1].path == "/v1/chat/completions"


def test_another_post_has_a_pass_through_tape(bench: Bench):
    body = b'{"data": [ {"embedding": [0.1, 0.2]} ]}'
    bench.upstream.answer(failure(200, body))
    options = bench.options({})
    response = bench.client.post("/v1/embeddings", json={"model": "e", "input": "x"}, **options)
    assert response.content == body
    tape = bench.tape()
    assert (tape.header["kind"], tape.header["dialect"], tape.header["path"]) == (
        "relay",
        "passthrough",
        "/embeddings",
    )
    assert tape.header["request"] == {"model": "e", "input": "x"}
    assert b"".join(tape.reads) == body == b"".join(tape.sent)
    assert tape.end is not None and tape.end.value["end"] == "eof"


def test_errors_of_other_paths_are_upstreams_own(bench: Bench):
    bench.upstream.answer(failure(418, "short and stout", "text/plain"))
    response = bench.client.post("/v1/teapot", content=b"\x00\x01")
    assert (response.status_code, response.text) == (418, "short and stout")


@each_row("method", ["DELETE", "PUT", "PATCH", "HEAD"])
def test_any_method_goes_on(bench: Bench, method: str):
    bench.upstream.answer(Answer([Head(200, [], 0), Finish()]))
    assert bench.client.request(method, "/v1/files/f1").status_code == 200
    assert (bench.upstream.requests[-1].method, bench.upstream.requests[-1].path) == (method, "/v1/files/f1")


def test_a_relayed_answer_that_breaks_off_does_not_look_whole(bench: Bench):
    bench.upstream.answer(
        Answer([Head(200, [("content-type", "application/json")]), Send(b'{"a":'), Reset()])
    )
    with pytest.raises(httpx.RemoteProtocolError):
        bench.client.get("/v1/files")


def test_health(bench: Bench):
    bench.upstream.answer(whole(MODELS))
    body = bench.client.get("/health").json()
    assert body["ok"] is True and body["upstreams"]["default"]["reachable"] is True
    assert body["tapes"]["writable"] is True and body["tapes"]["library"] == str(bench.proxy.library)
    assert body["version"] == __version__


def test_side_requests_and_odd_fields_go_up_untouched(bench: Bench):
    """Content arrays, a system prompt of 20 KB, stream options, fields nobody knows: byte for byte."""
    body = {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "größer " * 3000},
            {"role": "user", "content": [{"type": "text", "text": "<read_file>"}]},
        ],
        "unknown": {"deep": [1, None, 12345678901234567890123]},
    }
    raw = json.dumps(body, ensure_ascii=False, indent=1).encode()
    bench.upstream.answer(stream(stream_of("A title")))
    response = bench.client.post(
        "/v1/chat/completions", content=raw, headers={"content-type": "application/json"}
    )
    assert bench.upstream.requests[-1].body == raw
    assert response.content == stream_of("A title")


@each_row("path", ["/v1/../admin", "/v1/%2e%2e/admin", "/v1/..%2Fadmin", "/v1/files/./x"])
def test_no_path_leads_out_of_upstreams_api(bench: Bench, path: str):
    asked = len(bench.upstream.requests)
    host, port = bench.proxy.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as raw:  # a client library would resolve it
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert raw.recv(65536).startswith(b"HTTP/1.1 400 ")
    assert len(bench.upstream.requests) == asked


def test_the_length_is_upstreams_where_the_bytes_are(bench: Bench):
    json_head = [("content-type", "application/json")]
    bench.upstream.answer(Answer([Head(200, json_head, 1234), Finish()]), failure(200, b"{}"))
    assert bench.client.head("/v1/files/f1").headers["content-length"] == "1234"
    assert bench.client.get("/v1/files/f1").headers["content-length"] == "2"
    bench.upstream.answer(Answer([Raw(b"HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n"), Finish()]))
    assert bench.client.get("/v1/files/f1").status_code == 304


def test_any_byte_may_be_in_a_header(bench: Bench):
    bench.upstream.answer(failure(200, b"{}"))
    raw = [(b"x-title", "Grüße".encode())]
    assert bench.client.get("/v1/models", headers=raw).status_code == 200
    assert str(bench.upstream.requests[-1].header("x-title")).encode("latin-1") == "Grüße".encode()
