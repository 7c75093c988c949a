"""What a viewer may ask of a running proxy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support import http
from tests.support.bench import CALL, HEAD, QUICK, TOOLS, Bench, running_bench, wait_for
from tests.support.client import result
from tests.support.proxies import running_proxy
from tests.support.streams import stream_of
from tests.support.tiers import each_row
from tests.support.upstream.answers import Answer, Gate, Send, stream
from tests.support.upstream.server import ScriptedUpstream
from workbench.proxy.registration import registered
from workbench.tape.format import Tape

DATA = stream_of(CALL)
KEY = "sk-configured-for-this-upstream"
TEAM = "blue-team-secret"


class Viewer:
    """A client of the control endpoints that has read the registration, as the screen will."""

    def __init__(self, bench: Bench) -> None:
        self.registration = registered(bench.proxy.library)[0]
        self.bench = bench

    def ask(self, method: str, path: str, body: Any = None, token: str | None = None) -> httpx.Response:
        headers = {"x-workbench-token": token or self.registration.token}
        url = self.registration.control + path
        return http.request(method, url, json=body, headers=headers)

    def resend(self, **body: Any) -> Tape:
        """The tape of the new exchange."""
        answer = self.ask("POST", "/resend", body)
        assert answer.status_code == 200, answer.text
        made = answer.json()["id"]

        def found() -> Tape | None:
            tapes = [tape for tape in self.bench.proxy.tapes() if tape.header["id"] == made and tape.complete]
            return tapes[0] if tapes else None

        tape: Tape = wait_for(found, "the tape of the resend")
        return tape


@pytest.fixture
def viewer(bench: Bench) -> Viewer:
    return Viewer(bench)


@each_row("path", ["/status", "/stop", "/resend", "/upstreams/default"])
def test_nobody_without_the_token(viewer: Viewer, path: str):
    method = {"/status": "GET", "/upstreams/default": "PATCH"}.get(path, "POST")
    for token in ("wrong", viewer.registration.token[:-1], viewer.registration.token + "x"):
        assert viewer.ask(method, path, {}, token=token).status_code == 401
    assert http.request(method, viewer.registration.control + path).status_code == 401


def test_status(hasty: Bench):
    viewer = Viewer(hasty)
    with hasty.asking(Answer([HEAD, Send(DATA[:40]), Gate("never")])):
        status = viewer.ask("GET", "/status").json()
        assert status["running"] == [hasty.tape(complete=False).header["id"]]
        assert status["held_back"] == {}
    with hasty.asking(Answer([HEAD, Send(stream_of("<read_file>\n<pa")[:-14]), Gate("never")])):
        (id,) = wait_for(lambda: viewer.ask("GET", "/status").json()["held_back"], "text is held")
        # That the client of the one before has left is noticed a moment later.
        wait_for(lambda: viewer.ask("GET", "/status").json()["running"] == [id], "only this one runs")
    assert status["upstreams"] == [
        {"name": "default", "url": hasty.upstream.url, "dialect": "roo-xml", "policy": {}, "changed": {}}
    ]
    assert status["recorder"] == {"problem": None, "index_problem": None, "lost_lines": 0, "lost_bytes": 0}


def test_a_resend_of_the_clients_request(viewer: Viewer, bench: Bench):
    bench.ask(stream(DATA), headers={"authorization": "Bearer sk-last-seen-by-the-proxy"})
    first = bench.tape()
    edited = bench.body() | {"messages": [{"role": "user", "content": "again"}]}
    bench.upstream.answer(stream(DATA))
    tape = viewer.resend(body=edited, of=first.header["id"])
    assert tape.header["resend_of"] == first.header["id"]
    seen = bench.upstream.requests[-1]
    assert seen.json["messages"][-1]["content"] == "again" and seen.json["messages"][0]["role"] == "system"
    assert seen.header("authorization") == "Bearer sk-last-seen-by-the-proxy"
    assert result(b"".join(tape.sent)).calls == [("read_file", '{"path":"a.py"}')]
    assert tape.header["request"] == edited
    raw = b"".join(path.read_bytes() for path in bench.proxy.library.rglob("*") if path.is_file())
    assert b"sk-last-seen-by-the-proxy" not in raw, "held in memory only"


def test_a_resend_of_exactly_what_goes_up(viewer: Viewer, bench: Bench):
    up = {"model": "m", "stream": True, "messages": [{"role": "system", "content": "my own prompt"}]}
    bench.upstream.answer(stream(DATA))
    tape = viewer.resend(body=up, stage="upstream", request=bench.body(), session="ses_again")
    assert bench.upstream.requests[-1].json == up == tape.header["upstream_request"]
    assert tape.header["request"]["tools"] == TOOLS and tape.header["session"] == "ses_again"
    assert result(b"".join(tape.sent)).calls, "the client's tools decide what is a call"


def test_a_resend_with_another_template_dialect_and_policy(viewer: Viewer, bench: Bench):
    bench.upstream.answer(stream(stream_of("<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n"
                                           "</function>\n</tool_call>")))  # fmt: skip
    tape = viewer.resend(
        body=bench.body(),
        template="use {{ tools[0].name }}",
        dialect="qwen3-coder",
        policy={"tools": "inject"},
        labels={"try_id": "try-1", "prompt": "mine", "variant": "mine", "case": "reads"},
    )
    assert (tape.header["try_id"], tape.header["prompt"]) == ("try-1", "mine")
    assert bench.upstream.requests[-1].json["messages"][0]["content"] == "use read_file"
    assert result(b"".join(tape.sent)).calls == [("read_file", '{"path":"a"}')]
    assert (tape.header["dialect"], tape.header["policy"]) == ("qwen3-coder", {"tools": "inject"})
    status = viewer.ask("GET", "/status").json()
    assert status["upstreams"][0]["dialect"] == "roo-xml", "only this once"


@each_row(
    ("body", "status", "said"),
    [
        ({}, 400, '"body"'),
        ({"body": [1]}, 400, '"body"'),
        ({"body": {}, "upstream": "nope"}, 404, "there are default"),
        ({"body": {}, "dialect": "roo"}, 422, "roo-xml"),
        ({"body": {}, "policy": {"malformed": "fix"}}, 422, "malformed"),
        ({"body": {}, "policy": 7}, 422, ""),
        ({"body": {}, "template": 7}, 400, "template"),
        ({"body": {}, "session": "a\r\nx-evil: 1"}, 400, "session"),
        ({"body": {}, "stage": "upsteam"}, 400, "stage"),
        ({"body": {}, "labels": {"dialect": "x"}}, 400, "labels"),
    ],
)
def test_a_resend_that_cannot_be(viewer: Viewer, bench: Bench, body: dict[str, Any], status: int, said: str):
    asked = len(bench.upstream.requests)
    answer = viewer.ask("POST", "/resend", body)
    assert answer.status_code == status and said in answer.json()["error"]["message"]
    assert len(bench.upstream.requests) == asked


def test_a_model_that_is_no_name_goes_to_the_default(viewer: Viewer, bench: Bench):
    bench.upstream.answer(stream(DATA))
    assert viewer.resend(body=bench.body() | {"model": ["m"]}).header["upstream"] == "default"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Bench]:
    with running_bench(tmp_path) as bench:
        yield bench


def test_another_dialect_from_the_next_request_on(fresh: Bench):
    viewer = Viewer(fresh)
    assert result(fresh.ask(stream(DATA)).content).calls
    changed = viewer.ask("PATCH", "/upstreams/default", {"dialect": "kimi-k2", "policy": {"calls": "first"}})
    assert changed.json()["dialect"] == "kimi-k2" and changed.json()["policy"] == {"calls": "first"}
    assert result(fresh.ask(stream(DATA)).content).content == CALL
    assert fresh.tape().header["dialect"] == "kimi-k2"
    was = {"dialect": "roo-xml", "policy": {}}
    assert changed.json()["changed"] == was
    told = fresh.client.get("/health").json()["upstreams"]["default"]
    assert (told["dialect"], told["policy"], told["changed"]) == ("kimi-k2", {"calls": "first"}, was)
    back = viewer.ask("PATCH", "/upstreams/default", {"dialect": "roo-xml", "policy": {}}).json()
    assert back["changed"] == {}
    for wrong, status in (
        ({"dialect": "x"}, 422),
        ({"url": "http://evil"}, 400),
        ({"policy": {"a": 1}}, 422),
    ):
        assert viewer.ask("PATCH", "/upstreams/default", wrong).status_code == status
    assert viewer.ask("PATCH", "/upstreams/nope", {}).status_code == 404


def test_stop(fresh: Bench):
    assert Viewer(fresh).ask("POST", "/stop", {}).json() == {"stopping": True}
    assert fresh.proxy.process.wait(10) == 0


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[Bench]:
    with ScriptedUpstream() as upstream:
        own = f'url = "{upstream.url}"\ndialect = "roo-xml"\napi_key_env = "WB_TEST_KEY"\n'
        own += 'headers = { X-Team = "our ${WB_TEAM}" }\n'
        toml = f"{QUICK}[upstreams.own]\n{own}"
        with (
            running_proxy(tmp_path, None, toml=toml, env={"WB_TEST_KEY": KEY, "WB_TEAM": TEAM}) as proxy,
            http.client(proxy.base) as client,
        ):
            yield Bench(upstream, proxy, client)


def test_a_configured_key_wins_over_the_clients_and_is_never_kept(keyed: Bench):
    upstream = keyed.upstream
    answer = json.dumps({"error": {"message": f"the key {KEY} of {TEAM} is over quota"}})
    response = keyed.ask(
        stream(f"data: {answer}\n\n".encode()), headers={"authorization": "Bearer sk-of-the-client-itself"}
    )
    assert upstream.requests[-1].header("authorization") == f"Bearer {KEY}"
    assert KEY in response.text, "the client gets what upstream said"
    keyed.tape()
    upstream.answer(stream(DATA))
    Viewer(keyed).resend(body=keyed.body())
    assert upstream.requests[-1].header("authorization") == f"Bearer {KEY}"
    kept = b"".join(path.read_bytes() for path in keyed.proxy.library.rglob("*") if path.is_file())
    assert upstream.requests[-1].header("x-team") == f"our {TEAM}"
    assert not [secret for secret in (KEY, TEAM, "sk-of-the-client-itself") if secret.encode() in kept]


LONG = "7" * 5_000
REQUEST = '"body": {"model": "m", "messages": []}'


@each_row(
    ("method", "path", "body"),
    [
        ("POST", "/resend", f'{{{REQUEST}, "session": {LONG}}}'),
        ("POST", "/resend", f'{{{REQUEST}, "session": "\\ud800"}}'),
        ("POST", "/resend", f'{{{REQUEST}, "upstream": "\\ud800"}}'),
        ("POST", "/resend", f'{{{REQUEST}, "frontend": "\\ud800"}}'),
        ("POST", "/resend", f'{{{REQUEST}, "dialect": "\\ud800"}}'),
        ("POST", "/resend", f'{{{REQUEST}, "policy": {{"\\ud800": "\\ud800"}}}}'),
        ("POST", "/resend", f'{{{REQUEST}, "labels": {{"\\ud800": 1}}}}'),
        ("POST", "/resend", '{"body": "\\ud800"}'),
        ("PATCH", "/upstreams/default", f'{{"policy": {{"max_call_bytes": {LONG}}}}}'),
        ("PATCH", "/upstreams/default", f'{{"policy": {{"max_call_bytes": 1e{LONG}}}}}'),
        ("PATCH", "/upstreams/default", '{"\\ud800": 1}'),
        ("PATCH", "/upstreams/default", '{"dialect": ["\\ud800"]}'),
        ("PATCH", f"/upstreams/{LONG}", "{}"),
        ("PATCH", "/upstreams/%ED%A0%80", "{}"),
        ("GET", "/status", LONG),
        ("GET", "/status", "[" * 20_000),
    ],
)
def test_odd_values_are_refused_with_a_sentence(viewer: Viewer, method: str, path: str, body: str):
    registration = viewer.registration
    headers = {"x-workbench-token": registration.token}
    url = registration.control + path
    answer = http.request(method, url, content=body.encode(), headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert len(answer.json()["error"]["message"].split()) > 4
