"""Everything that can go wrong upstream, and what the client is told."""

from __future__ import annotations

import itertools
import json
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import http
from tests.support.bench import (
    CALL,
    COMMENT,
    HEAD,
    QUICK,
    TOOLS,
    Bench,
    by_transformer,
    replayed,
    running_bench,
    wait_for,
)
from tests.support.client import Result, result
from tests.support.project import ROOT
from tests.support.proxies import running_proxy
from tests.support.streams import chunk, message, sse, stream_of
from tests.support.tiers import each_row
from tests.support.upstream.answers import (
    Answer,
    Close,
    Finish,
    Gate,
    Head,
    Pause,
    Raw,
    Reset,
    Send,
    Step,
    failure,
    stream,
)
from tests.support.upstream.server import CERTIFICATE, ScriptedUpstream, free_port
from workbench.analysis.explain.rows import why_line
from workbench.analysis.verdicts import facts_of_player, facts_of_row, proof, verdict
from workbench.library.query import Filter, Library
from workbench.library.summary import Row
from workbench.replay.player import Player
from workbench.tape.format import Line

TEXT = sse(chunk("Hello"), done=False)
DATA = stream_of(CALL)
HALF_CALL = stream_of("Hello\n<read_file>\n<path>a.p", finish=None, done=False)
WHOLE_CALL = stream_of(CALL, finish=None, done=False)
BREATH = Pause(0.05)  # two TCP segments, and not one read, of what stands on either side
HTML = b"<html><head><title>502 Bad Gateway</title><style>b{}</style></head><body>nginx</body></html>"


def error_of(response: httpx.Response) -> dict[str, Any]:
    """The OpenAI-shaped error of an answer, checked."""
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert set(error) >= {"message", "type", "param", "code"} and isinstance(error["message"], str)
    return dict(error)


# Before the first byte of an answer


@each_row("stream_asked", [True, False])
@each_row(
    ("answer", "status", "kind", "said"),
    [
        (failure(404, b""), 404, "upstream_error", "Check the upstream's url"),
        (failure(400, b'data: {"error": {"message": "as an event"}}\n\n', "text/event-stream"), 400,
         "upstream_error", "as an event"),
        (failure(503, "Loading...", "text/plain"), 503, "upstream_error", "Loading..."),
        (failure(502, HTML, "text/html"), 502, "upstream_error", "502 Bad Gateway"),
        (failure(500, "Internal Server Error", "text/plain"), 500, "upstream_error", "Internal Server Error"),
        (failure(302, b"", "text/plain", [("location", "https://other/v1")]), 502, "upstream_error",
         "https://other/v1"),
        (stream([sse({"error": {"message": "busy", "type": "overloaded"}}, done=False)]), 502, "overloaded",
         "busy"),
        (failure(200, {"error": {"message": "quota", "code": 402}}), 502, "upstream_error", "quota"),
        (failure(200, {"success": False, "data": {"details": "no chat"}}), 502, "upstream_error", "no chat"),
        (failure(200, HTML, "text/html"), 502, "upstream_error", "502 Bad Gateway"),
        (failure(200, b""), 502, "upstream_error", "empty answer"),
        (stream([]), 502, "upstream_error", "empty answer"),
        (failure(200, b'{"error": {"message": "x\\ud800"}}'), 502, "upstream_error", "x"),
        (stream(b'data: {"error": {"message": "y\\ud800"}}\n\n'), 502, "upstream_error", "y"),
        (failure(304, b""), 502, "upstream_error", "status 304"),
        (Answer([Raw(b"HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n"), Finish()]), 502, "upstream_error",
         "status 999"),
        (Answer([Raw(b"garbage, no HTTP\r\n\r\n"), Close()]), 502, "upstream_broke", "not HTTP"),
        (Answer([Close()]), 502, "upstream_broke", "without an answer"),
        (Answer([Reset()]), 502, "upstream_broke", "broke"),
        (Answer([HEAD, Close()]), 502, "upstream_broke", "in the middle"),
        (Answer([HEAD, Send(b"data: {\"choi"), Reset()]), 502, "upstream_broke", "broke"),
        (failure(200, DATA, "text/event-stream", [("content-encoding", "snappy")]), 502, "upstream_error",
         "snappy"),
        (failure(200, DATA, "text/event-stream", [("content-encoding", "gzip")]), 502, "upstream_error",
         "cannot be read"),
    ],
)  # fmt: skip
def test_a_fault_before_the_answer_has_a_status_and_a_sentence(
    bench: Bench, answer: Answer, status: int, kind: str, said: str, stream_asked: bool
):
    response = bench.ask(answer, stream=stream_asked)
    error = error_of(response)
    assert (response.status_code, error["type"]) == (status, kind)
    assert said in error["message"]
    tape = bench.tape()
    assert tape.end is not None and tape.end.value["end"] == "error"
    assert tape.end.value["error"] == error
    head = answer.steps[0]
    refused = isinstance(head, Head) and 400 <= head.status < 600
    assert tape.end.value["findings"]["upstream-status" if refused else "upstream-fault"] == 1
    assert b"".join(tape.sent) == response.content


REFUSALS = [
    (400, {"error": {"message": "bad field", "type": "invalid_request_error", "code": "x"}}, "bad field"),
    (400, {"error": {"message": "bad", "type": "server_error"}}, "bad"),
    (401, {"error": {"message": "no key"}}, "no key"),
    (404, {"detail": "Not Found"}, "Not Found"),
    (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required"),
    (429, {"error": {"message": "slow down", "type": "rate_limit"}}, "slow down"),
    (400, {"object": "error", "message": "too long", "type": "BadRequestError"}, "too long"),
    (400, {"error": "model not loaded"}, "model not loaded"),
    (500, {"error": {"message": "quota", "code": 402}}, "quota"),
]


@each_row("tools", [TOOLS, None])
@each_row("stream_asked", [True, False])
@each_row(("status", "body", "said"), REFUSALS)
def test_issue_11_8_upstreams_own_error_reaches_the_client_as_it_was(
    bench: Bench, status: int, body: Any, said: str, stream_asked: bool, tools: Any
) -> None:
    data = json.dumps(body, indent=1).encode()  # not as we would write it
    answer = failure(status, data, headers=[("retry-after", "7"), ("x-request-id", "r1")])
    response = bench.ask(answer, stream=stream_asked, tools=tools)
    assert (response.status_code, response.content) == (status, data)
    assert (response.headers["retry-after"], response.headers["x-request-id"]) == ("7", "r1")
    tape = bench.tape()
    assert tape.end is not None and tape.end.value["end"] == "error"
    assert tape.end.value["status"] == status and said in tape.end.value["error"]["message"]
    assert b"".join(tape.sent) == data == b"".join(tape.reads)


@each_row("path", ["/v1/chat/completions", "/v1/embeddings"])
def test_issue_11_8_a_status_is_in_the_list_the_bar_and_the_why(bench: Bench, path: str) -> None:
    bench.upstream.answer(failure(429, {"error": {"message": "slow down"}}))
    bench.client.post(path, json={"model": "m", "messages": []}, **bench.options({}))
    tape = bench.tape()
    player = Player(tape.header)
    player.add(tape.lines)
    said = "429 Too Many Requests: slow down"
    in_bar = verdict(facts_of_player(player))
    assert (in_bar.sentence, in_bar.long, in_bar.level) == (said, said, "error")
    step = proof(player, in_bar)
    assert step is not None
    line = player.item(*player.place(step))
    assert isinstance(line, Line)
    assert said in " ".join(why_line(player, line).sentences)
    with Library(bench.proxy.library) as library:
        row = wait_for(lambda: ended_row(library, bench.session), "its row")
    assert verdict(facts_of_row(row)).sentence == said


def ended_row(library: Library, session: str) -> Row | None:
    return next((row for row in library.rows(Filter(session=session)) if row.state != "running"), None)


@each_row("stream_asked", [True, False])
def test_issue_11_8_without_tools_byte_for_byte(bench: Bench, stream_asked: bool) -> None:
    for data, kind in ((HTML, "text/html"), (b"busy\r\n", "text/plain"), (b"", "text/plain")):
        answer = failure(503, data, kind, [("x-should-retry", "true")])
        response = bench.ask(answer, stream=stream_asked, tools=None)
        assert (response.status_code, response.content) == (503, data)
        assert (response.headers["content-type"], response.headers["x-should-retry"]) == (kind, "true")


@each_row(("status", "retry"), [(400, "false"), (401, "false"), (429, None), (503, None)])
def test_only_passing_faults_may_be_tried_again(bench: Bench, status: int, retry: str | None):
    theirs = [("retry-after", "7"), ("x-should-retry", "true")]
    response = bench.ask(failure(status, {"error": {"message": "x"}}, headers=theirs))
    assert response.headers.get("x-should-retry") == retry
    assert response.headers["retry-after"] == "7"


def test_an_error_of_any_depth_is_told(bench: Bench):
    body = b'{"error": {"message": "deep", "at": ' + b"[" * 500 + b"]" * 500 + b"}}"
    response = bench.ask(stream(b"data: " + body + b"\n\n"))
    assert (response.status_code, error_of(response)["message"]) == (502, "deep")
    assert bench.ask(failure(400, body)).content == body


def test_a_whole_message_where_a_stream_was_asked(bench: Bench):
    for tools in (TOOLS, None):
        response = bench.ask(failure(200, message("Hello")), tools=tools)
        assert response.status_code == 502
        assert 'where a stream of events was asked for ("stream": true)' in error_of(response)["message"]


@each_row("data", [b"data: {nonsense\n\n" * 3, b"data: [DONE]\n\n", b'data: {"a":1}\n\n'])
def test_events_that_are_no_answer(bench: Bench, data: bytes):
    response = bench.ask(stream([data]))
    assert response.status_code == 502
    assert "events that are not part of an answer" in error_of(response)["message"]


def test_without_tools_an_error_in_the_stream_has_a_status_too(bench: Bench):
    response = bench.ask(stream([sse({"error": {"message": "busy"}}, done=False)]), tools=None)
    assert (response.status_code, error_of(response)["message"]) == (502, "busy")


def test_a_server_that_refuses_the_tool_choice_names_the_switch(bench: Bench):
    told = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    response = bench.ask(failure(400, {"object": "error", "message": told, "code": 400}))
    assert response.json()["message"] == told
    tape = bench.tape()
    assert tape.end is not None and tape.end.value["findings"]["tool-choice-refused"] == 1
    assert any("template_tool_choice" in str(line.value["message"]) for line in tape.of("finding"))


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        (f"http://127.0.0.1:{free_port()}/v1", "refused", "Is the model server running"),
        ("http://no-such-host.invalid/v1", "dns", "cannot be found"),
    ],
    ids=["refused", "no such name"],
)
def test_no_server_there(tmp_path: Path, url: str, code: str, said: str):
    with running_proxy(tmp_path, url, "roo-xml", toml=QUICK) as proxy:
        for streamed in (True, False):
            asked = {"model": "m", "messages": []} | {"stream": streamed}
            response = http.post(f"{proxy.url}/chat/completions", json=asked, timeout=20)
            error = error_of(response)
            assert (response.status_code, error["code"]) == (502, code)
            assert said in error["message"] and url in error["message"]
        health = http.get(f"{proxy.base}/health", timeout=20)
        assert health.status_code == 503
        assert health.json()["upstreams"]["default"]["reachable"] is False


def test_a_certificate_that_nobody_signed(tmp_path: Path):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    with (
        ScriptedUpstream(ssl_context=context) as upstream,
        running_proxy(tmp_path, upstream, "roo-xml", toml=QUICK) as proxy,
    ):
        response = http.post(f"{proxy.url}/chat/completions", json={"stream": True})
    assert (response.status_code, error_of(response)["code"]) == (502, "tls")
    assert response.headers["x-should-retry"] == "false"


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """It gives up an upstream soon: for an answer's head it waits as long as both timeouts together."""
    toml = "heartbeat = 0.05\nconnect_timeout = 1\nidle_timeout = 0.6\ngrace = 0.6\n"
    with running_bench(tmp_path_factory.mktemp("impatient"), toml=toml) as bench:
        yield bench


def test_an_upstream_that_is_stuck(impatient: Bench):
    """All at once: each of them only waits."""
    stuck = {"before its head": Answer([Gate("never")]), "behind its head": Answer([HEAD, Gate("never")])}
    cases = list(itertools.product(stuck, (True, False)))

    def ask(where: str, streamed: bool) -> httpx.Response:
        body, headers = impatient.body(streamed), {"x-stuck": where}
        return impatient.client.post("/v1/chat/completions", json=body, headers=headers)

    with impatient.scripted(lambda seen: stuck[str(seen.header("x-stuck"))]), ThreadPoolExecutor(4) as pool:
        responses = list(pool.map(ask, *zip(*cases, strict=True)))
    for case, response in zip(cases, responses, strict=True):
        assert (response.status_code, error_of(response)["code"]) == (504, "idle_timeout"), case
        assert "idle_timeout" in error_of(response)["message"]


# In the middle of an answer


def broken_result(bench: Bench, answer: Answer) -> Result:
    response = bench.ask(answer)
    assert response.status_code == 200
    tape = bench.tape()
    assert b"".join(tape.sent) == response.content
    assert replayed(tape) == by_transformer(tape)
    return result(response.content.replace(COMMENT, b""))


@each_row("end", [Reset(), Close()])
@each_row("before", [TEXT, HALF_CALL, TEXT + b'data: {"choices":[{"index":0,"delta":{"cont'])
def test_a_stream_that_breaks_off_ends_with_an_error(bench: Bench, before: bytes, end: Any):
    got = broken_result(bench, Answer([HEAD, Send(before), BREATH, end]))
    assert got.content.startswith("Hello") and not got.calls
    assert got.error is not None and "the upstream default" in got.error["message"]
    assert got.error["type"] == "upstream_broke"


@each_row("end", [Reset(), Close()])
def test_a_stream_that_breaks_off_behind_a_call_ends_with_that_call(bench: Bench, end: Any):
    """A client that asked again would run the tool twice."""
    got = broken_result(bench, Answer([HEAD, Send(WHOLE_CALL), BREATH, end]))
    assert got.calls == [("read_file", '{"path":"a.py"}')]
    assert (got.error, got.finish_reason) == (None, "tool_calls")
    end_line = bench.tape().end
    assert end_line is not None and end_line.value["findings"]["broke-after-call"] == 1


def test_without_tools_a_break_ends_with_an_error_event(bench: Bench):
    half = TEXT + b'data: {"choi'
    response = bench.ask(Answer([HEAD, Send(half), BREATH, Reset()]), tools=None)
    assert response.content.startswith(half)
    told = json.loads(response.content.removeprefix(half).split(b"data: ")[1])
    assert told["error"]["type"] == "upstream_broke"
    assert response.content.endswith(b"data: [DONE]\n\n")


def test_an_upstream_that_falls_silent_in_the_middle(impatient: Bench):
    response = impatient.ask(Answer([HEAD, Send(TEXT), Gate("never")]))
    got = result(response.content.replace(COMMENT, b""))
    assert response.content.count(COMMENT) > 3
    assert got.content == "Hello" and got.error is not None and got.error["code"] == "idle_timeout"


def test_an_error_object_in_the_middle(bench: Bench):
    told = {"error": {"message": "out of memory", "type": "internal", "code": 500}}
    got = broken_result(bench, stream([TEXT, sse(told, done=False)]))
    assert got.content == "Hello" and got.error is not None and got.error["message"] == "out of memory"


@each_row(
    ("event", "finding"),
    [
        (b"data: {not json\n\n", "bad-json-event"),
        (b'data: {"choices":[{"index":0,"delta":{"content":"\xff\xfe"}}]}\n\n', "invalid-utf8"),
    ],
)
def test_a_bad_event_does_not_cost_the_rest(bench: Bench, event: bytes, finding: str):
    got = broken_result(bench, stream([event, DATA]))
    assert got.calls and got.error is None
    end_line = bench.tape().end
    assert end_line is not None and finding in end_line.value["findings"]
    assert event in b"".join(bench.tape().reads)


def test_a_clean_end_without_done_is_an_end(bench: Bench):
    got = broken_result(bench, stream([WHOLE_CALL]))
    assert got.calls and got.finish_reason == "tool_calls"


def ask_late(hasty: Bench, before: list[Step], late: list[Step], tools: Any = TOOLS) -> tuple[int, bytes]:
    """The answer to a client that has got its head, as nothing came for too long; then upstream goes on."""
    gate = f"late {next(_numbers)}"
    with hasty.asking(Answer([*before, Gate(gate), *late]), tools=tools) as response:
        hasty.upstream.open(gate)
        return response.status_code, response.read()


_numbers = itertools.count()


def test_an_http_error_behind_a_long_silence_is_an_error_event(hasty: Bench):
    late = failure(400, {"error": {"message": "too late", "type": "invalid_request_error"}})
    status, content = ask_late(hasty, [], list(late.steps))
    got = result(content.replace(COMMENT, b""))
    assert status == 200
    assert got.error is not None and got.error["message"] == "too late"


@each_row("tools", [TOOLS, None])
@each_row(
    ("body", "said"),
    [
        (b"", "an empty answer"),
        (json.dumps(message("Hello")).encode(), "chat.completion"),
        (b"<html>oops</html>", "oops"),
        (b'{"error": {"message": "over quota"}}', "over quota"),
    ],
)
def test_no_answer_behind_a_long_wait_is_an_error_event(hasty: Bench, body: bytes, said: str, tools: Any):
    late: list[Step] = [*([Send(body)] if body else []), Finish()]
    status, content = ask_late(hasty, [HEAD], late, tools)
    assert status == 200
    told = content.split(b"data: ")[-2]
    assert said in json.loads(told)["error"]["message"]
    assert content.endswith(b"data: [DONE]\n\n")
    assert b"".join(hasty.tape().sent) == content


def test_a_last_event_without_its_blank_line_is_an_answer_however_late(hasty: Bench):
    event = b'data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}'
    status, content = ask_late(hasty, [HEAD], [Send(event), Finish()], None)
    assert (status, content.replace(COMMENT, b"")) == (200, event)


# What the client sends


@each_row("body", [b"", b"[1]", b"{", b"\xff"])
def test_a_request_that_is_no_json_object(bench: Bench, body: bytes):
    asked = len(bench.upstream.requests)
    response = bench.client.post("/v1/chat/completions", content=body)
    assert response.status_code == 400 and "JSON object" in error_of(response)["message"]
    assert len(bench.upstream.requests) == asked


BROKEN_DIALECT = """
from dataclasses import replace
from transformer import DIALECTS

def fail(m, text, name):
    raise RuntimeError("ours")

def broken(rule):
    return rule._replace(action=fail) if "first parameter" in rule.why else rule

plain = DIALECTS["roo-xml"]
table = {place: tuple(map(broken, rules)) for place, rules in plain.transitions.items()}
BROKEN = replace(plain, name="broken", transitions=table)
"""


def test_a_bug_of_ours_does_not_cost_the_answer(tmp_path: Path):
    """The real proxy with a transformer that fails in the middle of a call."""
    (tmp_path / "own_dialect.py").write_text(BROKEN_DIALECT)
    path = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    with running_bench(tmp_path, dialect="own_dialect:BROKEN", env=path) as bench:
        got = result(bench.ask(stream([DATA[at : at + 50] for at in range(0, len(DATA), 50)])).content)
        assert (got.content, got.calls, got.finish_reason) == (CALL, [], "stop")
        end_line = bench.tape().end
        assert end_line is not None and end_line.value["findings"]["transformer-failed"] == 1
