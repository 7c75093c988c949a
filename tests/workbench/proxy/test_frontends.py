"""Responses and Messages through the real proxy: addresses, credentials, silence, errors, what goes on
unchanged. What the SDKs make of it is in tests/e2e/test_other_sdks.py."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from typing import Any

import brotli
import httpx
import pytest
import zstandard

from tests.support import http
from tests.support.apis import messages_result, named_events, responses_result
from tests.support.bench import CALL, HEAD, TOOLS, Bench, replayed, running_bench, wait_for
from tests.support.client import result
from tests.support.proxies import running_proxy
from tests.support.streams import message, stream_of
from tests.support.tiers import each_row, only_exhaustive
from tests.support.upstream.answers import Answer, Finish, Gate, Send, Step, failure, stream, whole
from tests.support.upstream.server import ScriptedUpstream
from transformer.frontends.messages import PING
from workbench.analysis.verdicts import facts_of_player, verdict
from workbench.library.query import Library
from workbench.replay.player import Player
from workbench.tape.format import Tape

SCHEMA = TOOLS[0]["function"]["parameters"]
RESPONSES: dict[str, Any] = {
    "model": "m",
    "input": "hi",
    "tools": [{"type": "function", "name": "read_file", "parameters": SCHEMA}],
}
MESSAGES: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [{"name": "read_file", "input_schema": SCHEMA}],
}
CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": TOOLS}
READ = {"responses": responses_result, "messages": messages_result, "chat/completions": result}
BODIES = {"responses": RESPONSES, "messages": MESSAGES, "chat/completions": CHAT}
BOTH = ["responses", "messages"]
WANTED = [("read_file", {"path": "a.py"})]


def post(bench: Bench, api: str, *answers: Answer, stream: bool = True, **more: Any) -> httpx.Response:
    bench.upstream.answer(*answers)
    body = {**BODIES[api], "stream": stream, **more.pop("body", {})}
    return bench.client.post(more.pop("path", f"/v1/{api}"), json=body, **bench.options(more))


def calls_in(api: str, data: bytes) -> list[tuple[str, Any]]:
    return [(name, json.loads(text)) for name, text in READ[api](data).calls]


def played(tape: Tape) -> Player:
    player = Player(tape.header)
    player.add(tape.lines)
    return player


# -- addresses


BEFORE = ["/v1", "", "//v1", "/v1/v1", "/api/v1", "/v1/"]


@each_row(
    ("before", "after"),
    only_exhaustive(
        [(before, after) for before in BEFORE for after in ("", "/")],
        quick=[*((before, "") for before in BEFORE), ("/v1", "/")],
        arguments=2,
    ),
)
@each_row("api", BODIES)
def test_every_spelling_of_an_address_is_converted(bench: Bench, api: str, before: str, after: str):
    response = post(bench, api, stream(stream_of(CALL)), path=f"{before}/{api}{after}")
    assert calls_in(api, response.content) == WANTED
    assert bench.upstream.requests[-1].path == "/v1/chat/completions"


def test_an_address_that_nobody_serves_names_those_that_are(bench: Bench):
    bench.upstream.answer(failure(404, "<html>Not Found</html>", "text/html"))
    response = bench.client.post("/v1/chat/completion", json=CHAT, **bench.options({}))
    assert response.status_code == 404
    told = response.json()["error"]["message"]
    for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"):
        assert path in told


# -- the request


@each_row(
    ("encoding", "squeeze"),
    [
        ("gzip", gzip.compress),
        ("br", brotli.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("identity", bytes),
    ],
)
@each_row("api", BODIES)
def test_compressed_requests_are_read(bench: Bench, api: str, encoding: str, squeeze: Any):
    bench.upstream.answer(stream(stream_of(CALL)))
    data = squeeze(json.dumps({**BODIES[api], "stream": True}).encode())
    headers = {"content-encoding": encoding, "content-type": "application/json"}
    response = bench.client.post(f"/v1/{api}", content=data, **bench.options({"headers": headers}))
    assert calls_in(api, response.content) == WANTED
    seen = bench.upstream.requests[-1]
    assert seen.header("content-encoding") is None and seen.json["model"] == "m"


TOKEN = "ours-0123456789"


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Wants a token, and takes no large requests."""
    folder = tmp_path_factory.mktemp("strict")
    with running_bench(folder, toml="max_body_bytes = 100000\n", flags=("--token", TOKEN)) as bench:
        yield bench


def test_a_compressed_request_cannot_be_larger_than_it_may_be(strict: Bench):
    data = gzip.compress(json.dumps({**CHAT, "padding": "x" * 10_000_000}).encode())
    assert len(data) < 100_000
    headers = {"content-encoding": "gzip", "x-api-key": TOKEN}
    response = strict.client.post("/v1/chat/completions", content=data, headers=headers)
    assert response.status_code == 413
    response = strict.client.post("/v1/responses", content=b"{}", headers=headers)
    assert response.status_code == 400 and "cannot be read" in response.json()["error"]["message"]


def test_a_client_of_http_1_0_gets_no_chunks(bench: Bench):
    bench.upstream.answer(stream(stream_of(CALL)))
    body = json.dumps({**CHAT, "stream": True}).encode()
    host, port = bench.proxy.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        request = f"POST /v1/chat/completions HTTP/1.0\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(request.encode() + body)
        data = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, answer = data.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower() and b" 200 " in head
    assert calls_in("chat/completions", answer) == WANTED


@each_row("api", BOTH)
def test_a_token_of_ours_may_come_as_a_key_and_goes_no_further(strict: Bench, api: str):
    before = len(strict.upstream.requests)
    assert post(strict, api).status_code == 401
    response = post(strict, api, stream(stream_of(CALL)), headers={"x-api-key": TOKEN})
    assert calls_in(api, response.content) == WANTED
    (seen,) = strict.upstream.requests[before:]
    assert seen.header("authorization") is None and seen.header("x-api-key") is None


@each_row("api", BOTH)
def test_what_is_not_json_is_refused_in_the_words_of_the_api(bench: Bench, api: str):
    response = bench.client.post(f"/v1/{api}", content=b"[1]", **bench.options({}))
    assert response.status_code == 400
    said = response.json()
    assert "JSON object" in said["error"]["message"]
    assert (said.get("type") == "error") == (api == "messages")


# -- silence


@each_row(("api", "beat"), [("responses", b"event: response.in_progress\n"), ("messages", PING)])
def test_events_keep_a_silent_stream_alive(hasty: Bench, api: str, beat: bytes):
    """Before upstream's head, before its first event, and in the middle; never a comment, which Codex
    does not count."""
    reads = [stream_of(CALL)[at : at + 400] for at in range(0, len(stream_of(CALL)), 400)]
    head, first, rest = (Gate(f"{api} {place}") for place in ("head", "first", "rest"))
    steps: list[Step] = [head, HEAD, first, Send(reads[0]), rest, *map(Send, reads[1:])]
    hasty.upstream.answer(Answer([*steps, Finish()]))
    body = {**BODIES[api], "stream": True}
    got, beats = b"", 0
    with hasty.client.stream("POST", f"/v1/{api}", json=body, **hasty.options({})) as response:
        pieces = response.iter_raw()
        for gate in (head, first, rest):
            wanted = got.count(beat) + 2
            while got.count(beat) < wanted:
                got += next(pieces)
            hasty.upstream.open(str(gate.key))
            beats += 2
        got += b"".join(pieces)
    assert got.count(beat) >= beats and not got.startswith(b":") and b"\n:" not in got
    assert got.startswith(b"event: response.created" if api == "responses" else b"event: message_start")
    tape = hasty.tape()
    beaten = [line.data for line in tape.of("sent") if line.value.get("by") == "heartbeat"]
    assert len(beaten) >= beats - 1  # the first one may be the opening
    own = b"".join(line.data for line in tape.of("sent") if "by" not in line.value)
    assert own == replayed(tape)
    assert calls_in(api, own) == WANTED
    assert played(tape).difference is None


# -- errors


LONG = {
    "message": "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the"
    " messages, Please reduce the length of the messages.",
    "type": "BadRequestError",
    "code": 400,
}


def test_a_prompt_that_is_too_long_makes_codex_shorten_it(bench: Bench):
    response = post(bench, "responses", failure(400, {"error": LONG}))
    (_, last) = named_events(response.content)[-1]
    assert response.status_code == 200
    assert last["response"]["error"]["code"] == "context_length_exceeded"
    assert bench.tape().end.value["end"] == "error"  # type: ignore[union-attr]


def test_a_prompt_that_is_too_long_makes_claude_code_shorten_it(bench: Bench):
    response = post(bench, "messages", failure(400, {"error": LONG}))
    assert response.status_code == 400
    assert "prompt is too long: 9000 tokens > 8192 maximum" in response.json()["error"]["message"]


def test_what_will_not_pass_is_not_asked_again(bench: Bench):
    """Codex repeats all but 400, Claude Code all that does not say that it should not."""
    response = post(bench, "responses", failure(404, {"error": {"message": "no such model"}}))
    assert response.status_code in (400, 404) and "no such model" in response.text
    response = post(bench, "messages", failure(404, {"error": {"message": "no such model"}}))
    assert response.headers["x-should-retry"] == "false"


def test_a_limit_says_when_to_come_again(bench: Bench):
    limited = {"error": {"message": "slow down"}}
    response = post(bench, "responses", failure(429, limited))
    assert (response.status_code, response.headers["retry-after"]) == (429, "5")
    response = post(bench, "responses", failure(429, limited, headers=[("retry-after", "17")]))
    assert response.headers["retry-after"] == "17"


@each_row("api", BOTH)
def test_a_page_instead_of_an_answer_is_an_error_of_the_api(bench: Bench, api: str):
    response = post(bench, api, failure(200, "<html>hello</html>", "text/html"), stream=False)
    assert response.status_code == 502
    assert (response.json().get("type") == "error") == (api == "messages")


@each_row("api", BOTH)
def test_a_server_that_streams_whatever_it_is_asked(bench: Bench, api: str):
    response = post(bench, api, stream(stream_of(CALL)), stream=False)
    assert response.headers["content-type"] == "application/json"
    said = response.json()
    calls = said["output"] if api == "responses" else said["content"]
    assert calls[-1]["name"] == "read_file"
    assert played(bench.tape()).difference is None


# -- what upstream speaks itself


ANSWER = {"id": "msg_1", "type": "message", "content": [{"type": "text", "text": "1 < 2"}]}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running_bench(tmp_path_factory.mktemp("plain"), "passthrough") as bench:
        yield bench


@each_row("api", BOTH)
def test_with_a_dialect_that_converts_nothing_all_goes_on_as_it_is(plain: Bench, api: str):
    data = b'event: x\r\ndata: {"type": "x", "a":  1}\r\n\r\nevent: y\ndata:{}\n\n'
    plain.upstream.answer(stream([data[:30], data[30:]], headers=[("x-own", "1")]))
    sent = json.dumps({**BODIES[api], "stream": True}, indent=3).encode()
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}
    response = plain.client.post(f"/v1/{api}?beta=true", content=sent, **plain.options({"headers": headers}))
    assert (response.content, response.headers["x-own"]) == (data, "1")
    seen = plain.upstream.requests[-1]
    assert (seen.path, seen.body) == (f"/v1/{api}?beta=true", sent)
    assert (seen.header("x-api-key"), seen.header("anthropic-version")) == ("k", "2023-06-01")
    tape = plain.tape()
    assert tape.header["kind"] == "relay" and "frontend" not in tape.header
    assert verdict(facts_of_player(played(tape))).kind == "pass-through"


def test_tokens_are_counted_by_upstream_then(plain: Bench):
    plain.upstream.answer(whole({"input_tokens": 12345}))
    response = plain.client.post("/v1/messages/count_tokens?beta=true", json=MESSAGES, **plain.options({}))
    assert response.json() == {"input_tokens": 12345}


@each_row("api", BOTH)
def test_calls_that_pass_as_text_are_told(plain: Bench, api: str):
    text = "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>"
    block = {"type": "output_text", "text": text}
    said = {"output": [{"type": "message", "content": [block]}], "content": [{"type": "text", "text": text}]}
    post(plain, api, whole(said), stream=False)
    found = verdict(facts_of_player(played(plain.tape())))
    assert (found.kind, found.level) == ("leak", "error") and f"/{api} " in found.long
    (told,) = plain.tape().of("finding")
    assert told.message.startswith("a call written as qwen3-coder reached the client as text: POST /")


@each_row("api", BOTH)
def test_an_upstream_without_that_api_says_which_setting_helps(plain: Bench, api: str):
    response = post(plain, api, failure(404, {"detail": "Not Found"}))
    assert response.status_code in (400, 404)
    assert "speaks = []" in response.json()["error"]["message"]
    response = post(plain, api, failure(404, {"error": {"message": "The Model m does not exist"}}))
    assert response.json()["error"]["message"] == "The Model m does not exist", "the address is right"


# -- settings of an upstream


UPSTREAMS = {
    "speaks-nothing": 'dialect = "passthrough"\nspeaks = []',
    "speaks-messages": 'dialect = "passthrough"\nspeaks = ["messages"]',
    "roo-and-messages": 'dialect = "roo-xml"\nspeaks = ["messages"]',
    "roo-and-responses": 'dialect = "roo-xml"\nspeaks = ["responses"]',
    "format-kept": 'dialect = "roo-xml"\nresponse_format = "keep"',
    "format-dropped": 'dialect = "roo-xml"\nresponse_format = "drop"',
}


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One server behind upstreams with different settings; the name of the model chooses."""
    with ScriptedUpstream() as upstream:
        toml = "".join(
            f'[upstreams.{name}]\nurl = "{upstream.url}"\nserves = ["{name}"]\n{settings}\n'
            for name, settings in UPSTREAMS.items()
        )
        with (
            running_proxy(tmp_path_factory.mktemp("several"), None, None, toml=toml) as proxy,
            http.client(proxy.base) as client,
        ):
            yield Bench(upstream, proxy, client)


@each_row(
    ("name", "converted"),
    [
        ("speaks-nothing", True),
        ("speaks-messages", False),
        ("roo-and-messages", False),
        ("roo-and-responses", True),
    ],
)
def test_an_upstream_may_say_what_it_speaks(several: Bench, name: str, converted: bool):
    answer = whole(message("1 < 2") if converted else ANSWER)
    response = post(several, "messages", answer, stream=False, body={"model": name, "tools": []})
    assert response.json()["content"] == ANSWER["content"]
    path = several.upstream.requests[-1].path
    assert path == ("/v1/chat/completions" if converted else "/v1/messages")


FORMAT = {"type": "json_object"}
ASKED_FORMAT: dict[str, dict[str, Any]] = {
    "chat/completions": {"response_format": FORMAT},
    "responses": {"text": {"format": FORMAT}},
}


@each_row("api", ASKED_FORMAT)
@each_row(("name", "sent"), [("format-kept", FORMAT), ("format-dropped", None)])
def test_a_format_beside_tools_goes_up_or_not_as_the_upstream_says(
    several: Bench, api: str, name: str, sent: Any
):
    """A server that enforces it would keep the model from writing a call. The tape says either way."""
    asked = {"model": name, **ASKED_FORMAT[api]}
    response = post(several, api, stream(stream_of(CALL)), body=asked)
    assert calls_in(api, response.content) == WANTED
    assert several.upstream.requests[-1].json.get("response_format") == sent
    end = several.tape().end
    assert end is not None and end.value["findings"]["format-with-tools"] == 1
    post(several, api, stream(stream_of("{}")), body={**asked, "tools": []})
    assert several.upstream.requests[-1].json.get("response_format") == FORMAT


# -- the tape


@each_row("api", BOTH)
@each_row("streamed", [True, False])
def test_a_tape_shows_the_exchange_in_its_own_words(bench: Bench, api: str, streamed: bool):
    answer = stream(stream_of(CALL)) if streamed else whole(message(CALL))
    response = post(bench, api, answer, stream=streamed)
    tape = bench.tape()
    assert tape.header["frontend"] == api and tape.header["kind"] == "chat"
    assert tape.header["request"]["model"] == "m" and "messages" in tape.header["upstream_request"]
    assert tape.end is not None and tape.end.value["calls"] == 1
    player = played(tape)
    sent = b"".join(line.data for line in tape.of("sent"))
    assert sent == response.content
    assert player.difference is None
    assert verdict(facts_of_player(player)).kind == "converted"
    with Library(bench.proxy.library) as library:
        (row,) = wait_for(
            lambda: [row for row in library.rows() if row.session == bench.session], "the row of the tape"
        )
    assert row.kind == api
