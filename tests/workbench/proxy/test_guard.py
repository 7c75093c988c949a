"""What may come in, and what the listener says to the rest."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import httpx
import pytest

from tests.support import http
from tests.support.bench import QUICK, Bench
from tests.support.commands import RunCommand
from tests.support.proxies import running_proxy
from tests.support.tiers import each, each_row
from tests.support.upstream.answers import whole
from tests.support.upstream.server import ScriptedUpstream, free_port
from workbench.proxy.guard import is_loopback

MODELS = whole({"object": "list", "data": []})
TOKEN = "a-token-of-our-own"


@each_row(
    ("host", "expected"),
    [
        ("127.0.0.1", True), ("127.8.9.1", True), ("localhost", True), ("LOCALHOST.", True),
        ("app.localhost", True), ("::1", True), ("[::1]", True),
        ("0.0.0.0", False), ("192.168.0.1", False), ("evil.example", False), ("", False),
        ("localhost.evil.example", False), ("127.0.0.1.nip.io", False),
    ],
)  # fmt: skip
def test_loopback(host: str, expected: bool):
    assert is_loopback(host) is expected


def get(bench: Bench, path: str = "/v1/models", **headers: str) -> httpx.Response:
    bench.upstream.answer(MODELS)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return bench.client.get(path, headers=named)


@each_row("host", ["127.0.0.1:1234", "localhost", "[::1]:99"])
def test_this_machine_by_any_of_its_own_names(bench: Bench, host: str):
    assert get(bench, host=host).status_code == 200


@each_row(
    ("headers", "said"),
    [
        ({"host": "evil.example"}, "allow_hosts"),
        ({"host": "127.0.0.1.evil.example:8788"}, "allow_hosts"),
        ({"host": "192.168.1.5"}, "allow_hosts"),
        ({"host": "[::1].evil.example"}, "allow_hosts"),
        ({"host": "localhost:80.evil.example"}, "allow_hosts"),
        ({"host": "evil.example:80@localhost"}, "allow_hosts"),
        ({"origin": "https://evil.example"}, "allow_origins"),
        ({"origin": "null"}, "allow_origins"),
        ({"origin": "http://localhost:3000"}, "allow_origins"),
        ({"sec_fetch_site": "cross-site"}, "web page"),
    ],
)
@each_row("path", ["/v1/models", "/health", "/_workbench/status"])
def test_strangers_are_refused(bench: Bench, headers: dict[str, str], said: str, path: str):
    asked = len(bench.upstream.requests)
    response = bench.client.get(path, headers={key.replace("_", "-"): v for key, v in headers.items()})
    assert response.status_code == 403 and said in response.json()["error"]["message"]
    assert len(bench.upstream.requests) == asked


def test_what_is_allowed_comes_in(tmp_path: Path):
    toml = QUICK + 'allow_hosts = ["box.lan"]\nallow_origins = ["http://localhost:3000/"]\n'
    open_to_all = whole({}, headers=[("access-control-allow-origin", "*")])
    with ScriptedUpstream() as upstream, running_proxy(tmp_path, upstream, toml=toml) as proxy:
        upstream.answer(MODELS, open_to_all)
        with http.client(proxy.base) as client:
            assert client.get("/v1/models", headers={"host": "box.lan:80"}).status_code == 200
            page = {"origin": "http://localhost:3000"}
            answer = client.get("/v1/models", headers=page)
            allowed = answer.headers.get_list("access-control-allow-origin")
            assert allowed == ["http://localhost:3000"], "a browser takes none of two"
            asks = page | {"access-control-request-method": "POST", "access-control-request-headers": "x-a"}
            before = client.options("/v1/chat/completions", headers=asks)
            assert before.status_code == 204 and before.headers["access-control-allow-headers"] == "x-a"
        assert len(upstream.requests) == 2


def test_bodies_and_headers_have_limits(tmp_path: Path):
    toml = QUICK + "max_body_bytes = 1000\nmax_header_bytes = 2000\n"
    with ScriptedUpstream() as upstream, running_proxy(tmp_path, upstream, toml=toml) as proxy:
        with http.client(proxy.base) as client:
            said = client.post("/v1/chat/completions", content=b"{" + b" " * 2000)
            assert said.status_code == 413 and "max_body_bytes" in said.json()["error"]["message"]
            chunks = iter([b"{", b" " * 600, b" " * 600])
            assert client.post("/v1/chat/completions", content=chunks).status_code == 413
            assert client.get("/v1/models", headers={"x-long": "x" * 3000}).status_code == 431
        host, port = proxy.base.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), 10) as raw:
            raw.sendall(b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Endless: ")
            raw.sendall(b"x" * 3000)
            assert raw.recv(100).startswith(b"HTTP/1.1 431 ")
        assert upstream.requests == []


def test_another_address_needs_a_token(tmp_path: Path, run: RunCommand):
    done = run("serve", "--upstream", "http://127.0.0.1:1", "--listen", "0.0.0.0")
    assert done.code == 2 and "needs a token" in done.err.replace("\n", " ")
    with (
        ScriptedUpstream() as upstream,
        running_proxy(
            tmp_path, upstream, None, "--listen", "0.0.0.0", env={"WORKBENCH_TOKEN": TOKEN}
        ) as proxy,
        http.client(proxy.base) as client,
    ):
        upstream.answer(*[MODELS] * 5)
        assert client.get("/v1/models").status_code == 401
        assert client.get("/v1/models", headers={"authorization": "Bearer wrong"}).status_code == 401
        with_key = client.get("/v1/models", headers={"authorization": f"Bearer {TOKEN}", "host": "10.1.2.3"})
        assert with_key.status_code == 200, "an address cannot be rebound, a name could"
        assert upstream.requests[-1].header("authorization") is None, "our token is nobody else's business"
        mine = {"x-workbench-token": TOKEN, "authorization": "Bearer for-upstream"}
        assert client.get("/v1/models", headers=mine).status_code == 200
        assert upstream.requests[-1].header("authorization") == "Bearer for-upstream"
        assert upstream.requests[-1].header("x-workbench-token") is None
        evil = {"host": "evil.example", "x-workbench-token": TOKEN}
        assert client.get("/v1/models", headers=evil).status_code == 403


def test_a_port_that_is_taken(run: RunCommand):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run("serve", "--upstream", "http://127.0.0.1:1", "--port", port)
    assert done.code == 2
    assert f"port {port} is taken" in done.err and "--port" in done.err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--upstream", "http://127.0.0.1:1", "--listen", "203.0.113.7", "--token", "x" * 20],
         "not an address of this machine"),
        ([], "there is no upstream"),
        (["--upstream", "http://127.0.0.1:1", "--dialect", "roo"], "did you mean roo-xml?"),
        (["--upstream", "http://127.0.0.1:1", "--set", "malformed=fix"], "malformed is one of"),
        (["--upstream", "not a url"], "not a url"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_said_at_once(run: RunCommand, flags: list[str], said: str):
    done = run("serve", "--port", free_port(), *flags)
    assert done.code == 2 and said in done.err.replace("\n", " ")


def test_only_the_control_endpoints_do_without_the_clients_token(tmp_path: Path):
    def check(path: str) -> None:
        said = said_to(proxy.base, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert said.startswith("HTTP/1.1 401 ")
        assert upstream.requests == []

    paths = ["/_workbench", "/_workbenchx", "/_workbenchx/../models", "/%5fworkbenchx/%2e%2e/models"]
    with (
        ScriptedUpstream() as upstream,
        running_proxy(tmp_path, upstream, toml=QUICK, env={"WORKBENCH_TOKEN": TOKEN}) as proxy,
    ):
        upstream.answer(MODELS)
        each([*paths, "/health"], check)


def test_a_page_that_is_allowed_needs_the_token_but_not_to_ask_whether_it_may(tmp_path: Path):
    toml = QUICK + 'allow_origins = ["http://localhost:3000"]\n'
    page = {"origin": "http://localhost:3000"}
    with (
        ScriptedUpstream() as upstream,
        running_proxy(tmp_path, upstream, toml=toml, env={"WORKBENCH_TOKEN": TOKEN}) as proxy,
        http.client(proxy.base) as client,
    ):
        upstream.answer(MODELS)
        before = client.options("/v1/models", headers=page | {"access-control-request-method": "GET"})
        assert before.status_code == 204
        refused = client.get("/v1/models", headers=page)
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == "http://localhost:3000", (
            "so that it can be read"
        )
        assert client.get("/v1/models", headers=page | {"x-workbench-token": TOKEN}).status_code == 200


def said_to(base: str, request: str) -> str:
    """The answer to a request that no client library would send."""
    host, port = base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as raw:
        raw.sendall(request.encode())
        return raw.recv(65536).decode()


@each_row("cut", [0, 30, 150])
def test_a_wish_for_another_protocol_is_overheard(bench: Bench, cut: int):
    """Java's client has one with every first request, and a body behind it."""
    bench.upstream.answer(MODELS)
    request = (
        b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
        b'Upgrade: h2c\r\nHTTP2-Settings: AAEA\r\nContent-Length: 14\r\n\r\n{"input": "x"}'
    )
    host, port = bench.proxy.base.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 10) as raw:
        for part in (request[:cut], request[cut:]):
            raw.sendall(part)
            time.sleep(0.05)  # two TCP segments
        assert raw.recv(65536).startswith(b"HTTP/1.1 200 ")
    seen = bench.upstream.requests[-1]
    assert seen.json == {"input": "x"} and seen.header("http2-settings") is None


def test_a_tunnel_is_refused(bench: Bench):
    request = "CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert said_to(bench.proxy.base, request).startswith("HTTP/1.1 400 ")
