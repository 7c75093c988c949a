"""`GET /v1/models`: upstream's list and the names of the settings."""

from __future__ import annotations

from pathlib import Path

from tests.support import http
from tests.support.bench import QUICK, running_bench
from tests.support.proxies import running_proxy
from tests.support.upstream.answers import whole
from tests.support.upstream.server import ScriptedUpstream

MODEL = {"id": "org/long-7b", "object": "model", "max_model_len": 8}
LIST = {"object": "list", "data": [MODEL], "more": 1}
TOML = """
[upstreams.local]
url = "{url}"
dialect = "roo-xml"
models = {{ short = "org/long-7b" }}
"""


def test_names_of_an_openai_upstream_are_listed_and_its_list_is_cached(tmp_path: Path) -> None:
    with ScriptedUpstream() as upstream:
        upstream.answer_with(lambda seen: whole(LIST))
        toml = QUICK + TOML.format(url=upstream.url)
        with (
            running_proxy(tmp_path, None, toml=toml) as proxy,
            http.client(proxy.base) as client,
        ):
            keys = [{"authorization": f"Bearer {key}"} for key in ("one", "one", "two")]
            first, again, other = (client.get("/v1/models", headers=key).json() for key in keys)
            made = {"id": "short", "object": "model", "created": 0, "owned_by": "local"}
            assert first == again == other == {"object": "list", "data": [MODEL, made]}
            asked = [dict(seen.headers).get("authorization") for seen in upstream.requests]
            assert asked == ["Bearer one", "Bearer two"], "once for each credential"
            assert client.get("/v1/models/short", headers=keys[0]).json() == made
            assert client.get("/v1/models/org/long-7b", headers=keys[0]).json() == MODEL
            assert client.get("/v1/models/none", headers=keys[0]).status_code == 404


def test_the_list_of_a_single_upstream_without_names_goes_on_unchanged(tmp_path: Path) -> None:
    with running_bench(tmp_path) as bench:
        for number in (1, 2):
            bench.upstream.answer(whole(LIST | {"more": number}))
            assert bench.client.get("/v1/models").json() == LIST | {"more": number}
        assert len(bench.upstream.requests) == 2


def test_an_address_without_a_model_is_told_what_is_served(tmp_path: Path) -> None:
    """Where there is no default upstream, nobody can be asked about an address that we do not know."""
    two = TOML.format(url="http://127.0.0.1:9") + TOML.format(url="http://127.0.0.1:9").replace(
        "local", "other"
    )
    with running_proxy(tmp_path, None, toml=QUICK + two.replace("short =", "name =", 1)) as proxy:
        answer = http.get(f"{proxy.base}/v1/nonsense")
    message = answer.json()["error"]["message"]
    assert answer.status_code == 404
    assert all(path in message for path in ("/v1/chat/completions", "/v1/responses", "/v1/messages"))
