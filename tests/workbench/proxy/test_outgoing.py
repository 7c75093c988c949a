"""Where a request goes, and what goes there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.streams import tool
from tests.support.tiers import each_row
from transformer import Policy
from workbench.config.settings import Upstream
from workbench.proxy.incoming import Incoming, below_base
from workbench.proxy.outgoing import Outgoing, address, prepare
from workbench.text import json_object

TOOLS = [tool("read_file", {"path": {"type": "string"}})]


def incoming(body: dict[str, Any], spaced: bool = True) -> Incoming:
    data = json.dumps(body).encode()
    return Incoming("POST", "/chat/completions", "", [], data, json_object(data))


@each_row(
    ("url", "expected"),
    [
        ("http://h:8000/v1", "http://h:8000/v1/models"),
        ("http://h:8000/v1/", "http://h:8000/v1/models"),
        ("http://h:8000", "http://h:8000/v1/models"),
        ("http://h:8000/", "http://h:8000/v1/models"),
        ("https://h/api/openai", "https://h/api/openai/models"),
        ("https://openrouter.example/api/v1", "https://openrouter.example/api/v1/models"),
    ],
)
def test_the_address_of_a_path(url: str, expected: str):
    assert address(Upstream("u", url), "/models") == expected
    assert address(Upstream("u", url), "/models", "a=1&b") == expected + "?a=1&b"


@each_row(
    ("path", "expected"),
    [
        ("/v1/chat/completions", "/chat/completions"),
        ("/chat/completions", "/chat/completions"),
        ("/v1/models/a%2Fb", "/models/a%2Fb"),
        ("/v1", "/"),
        ("/v1beta/x", "/v1beta/x"),
    ],
)
def test_clients_may_or_may_not_say_v1(path: str, expected: str):
    assert below_base(path) == expected


def test_what_is_not_changed_goes_up_byte_for_byte():
    asked = incoming({"model": "m", "messages": [{"role": "user", "content": "hi"}], "unknown": 1})
    for upstream in (Upstream("u", "http://h"), Upstream("u", "http://h", "roo-xml")):
        sending = prepare(asked, upstream, None)
        assert sending.data is asked.body and sending.changed is None


def test_the_upstreams_settings_go_into_the_body():
    upstream = Upstream(
        "u", "http://h", models={"short": "org/long"}, extra_body={"a": {"x": 1}}, max_tokens=100
    )
    for given, most in (({}, 100), ({"max_tokens": 7}, 7), ({"max_tokens": 32000}, 100)):
        asked = incoming({"model": "short", "a": {"y": 2}, **given})
        sent = json.loads(prepare(asked, upstream, None).data)
        assert sent == {"model": "org/long", "a": {"y": 2, "x": 1}, "max_tokens": most}
    asked = incoming({"model": "other", "max_completion_tokens": 500})
    assert json.loads(prepare(asked, upstream, None).data)["max_completion_tokens"] == 100


def test_tools_are_injected_or_left_to_the_servers_template():
    asked = incoming({"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": TOOLS})
    injected = json.loads(prepare(asked, Upstream("u", "http://h", "roo-xml"), None).data)
    assert "tools" not in injected and "read_file" in injected["messages"][0]["content"]
    left = json.loads(
        prepare(asked, Upstream("u", "http://h", "qwen3-coder", template_tool_choice="auto"), None).data
    )
    assert left["tools"] == TOOLS and left["tool_choice"] == "auto"


def test_an_edited_template_is_read_anew_each_time(tmp_path: Path):
    asked = incoming({"model": "m", "messages": [], "tools": TOOLS})
    upstream, file = Upstream("u", "http://h", "roo-xml"), tmp_path / "mine.jinja"
    for text in ("first words", "second words"):
        file.write_text(text)
        sending = prepare(asked, upstream, file)
        assert text in json.loads(sending.data)["messages"][0]["content"]
        assert sending.template == text
    file.unlink()
    sending = prepare(asked, upstream, file)
    assert [note.code for note in sending.notes] == ["template-failed"]
    assert "read_file" in json.loads(sending.data)["messages"][0]["content"]


def test_a_bug_in_the_rewriting_does_not_cost_the_answer(monkeypatch: pytest.MonkeyPatch):
    def fails(*args: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr("workbench.proxy.outgoing.transform_request", fails)
    asked = incoming({"model": "m", "messages": [], "tools": TOOLS})
    sending = prepare(asked, Upstream("u", "http://h", "roo-xml", Policy()), None)
    assert sending.data is asked.body
    assert [(note.code, note.level) for note in sending.notes] == [("transformer-failed", "error")]


@each_row(
    ("body", "expected"),
    [
        (b'{"a": 12345678901234567890123}', {"a": 12345678901234567890123}),
        (b'{"a": "\\ud800"}', {"a": "\ud800"}),
        (b' \n{"a": 1}', {"a": 1}),
        (b"[1]", None),
        (b'{"a": ', None),
        (b"", None),
        (b"{" * 100_000, None),
    ],
)
def test_the_object_in_a_body(body: bytes, expected: object):
    assert json_object(body) == expected


@each_row(
    ("upstream", "expected"),
    [
        ({}, "hermes"),
        ({"models": {"team/tuned-7b": "other"}}, None),
        ({"dialect": "glm"}, None),
        ({"policy": Policy(expect="mistral")}, "mistral"),
    ],
)
def test_what_a_model_is_said_to_speak_is_on_its_tape(upstream: dict[str, Any], expected: str | None):
    speaks = {"tuned": "hermes", "tune": "glm"}
    asked = incoming({"model": "team/tuned-7b", "messages": []})
    to = Upstream("u", "http://h", **{"dialects": speaks, **upstream})
    outgoing = Outgoing(asked, to, prepare(asked, to, None), 0)
    assert outgoing.recipe is not None and outgoing.recipe.policy.expect == expected
    assert outgoing.tape_header().get("policy", {}).get("expect") == expected
