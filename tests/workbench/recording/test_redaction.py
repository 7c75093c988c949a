"""What must not get onto a tape, and what must stay as it is."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.cost import grows_evenly
from tests.support.tiers import each_row
from workbench.errors import UserError
from workbench.recording.redaction import PLACEHOLDER, Redaction, check_patterns, own_credentials

KEY = "sk-live-0123456789abcdef"


def stars(text: str) -> str:
    return "*" * len(text)


@each_row(
    ("name", "value", "kept"),
    [
        ("Authorization", f"Bearer {KEY}", f"Bearer {stars(KEY)}"),
        ("authorization", "Basic dXNlcjpwYXNz", "Basic ************"),
        ("authorization", "opaque", "******"),
        ("authorization", "my secret", "*********"),
        ("authorization", "Bearer", "******"),
        ("authorization", "", ""),
        ("Proxy-Authorization", "Basic YWI6Y2Q=", "Basic ********"),
        ("Cookie", "a=1; b=2", "********"),
        ("Set-Cookie", "sid=1; Path=/", stars("sid=1; Path=/")),
        ("X-API-Key", "abc", "***"),
        ("api-key", "abc", "***"),
        ("x-goog-api-key", "abc", "***"),
        ("x-amz-security-token", "abc", "***"),
        ("x-my-secret", "abc", "***"),
        ("x-auth", "abc", "***"),
        ("x-password", "abc", "***"),
        ("x-session-token", "abc", "***"),
        ("x-session-id", "s-1", "s-1"),
        ("x-parent-session-id", "s-0", "s-0"),
        ("x-ratelimit-remaining-tokens", "149984", "149984"),
        ("www-authenticate", 'Bearer realm="x"', 'Bearer realm="x"'),
        ("content-type", "text/event-stream; charset=utf-8", "text/event-stream; charset=utf-8"),
        ("referer", "http://u:p@h/?api_key=abc&x=1", "http://***@h/?api_key=***&x=1"),
        ("location", "/v1?token=abc#frag", "/v1?token=***#frag"),
        ("x-note", f"it was {KEY}", f"it was {stars(KEY)}"),
    ],
)
def test_headers(name: str, value: str, kept: str):
    assert Redaction().headers([(name, value)]) == [[name, kept]]
    assert len(kept) == len(value)


@each_row(
    ("url", "kept"),
    [
        ("https://api.test/v1/chat/completions", "https://api.test/v1/chat/completions"),
        ("https://api.test/v1?key=abc", "https://api.test/v1?key=***"),
        ("/v1/models?api_key=abc&limit=5", "/v1/models?api_key=***&limit=5"),
        ("/v1/models?limit=5&API-Key=abc", "/v1/models?limit=5&API-Key=***"),
        ("/v1?access_token=a%20b&z", "/v1?access_token=*****&z"),
        ("/v1?api%5Fkey=abc", "/v1?api%5Fkey=***"),
        ("/v1?X-Amz-Signature=abc&X-Amz-Date=1", "/v1?X-Amz-Signature=***&X-Amz-Date=1"),
        ("/v1?max_tokens=5&monkey=1&tokens=7", "/v1?max_tokens=5&monkey=1&tokens=7"),
        ("/v1?key=", "/v1?key="),
        ("http://user:pass@host:8000/v1", "http://*********@host:8000/v1"),
        ("http://token@host/v1", "http://*****@host/v1"),
        ("http://host/v1/a@b", "http://host/v1/a@b"),
        ("/proxy/token/hunter2hunter2/v1/models", "/proxy/token/**************/v1/models"),
        ("/v1/sk-proj-aB3dEfGh1jKlMn0pQr/chat", "/v1/**************************/chat"),
    ],
)
def test_urls(url: str, kept: str):
    assert Redaction().url(url) == kept
    assert len(kept) == len(url)


@each_row(
    ("body", "kept"),
    [
        ({"api_key": "abc"}, {"api_key": "***"}),
        ({"apiKey": "abc", "api-key": "x"}, {"apiKey": "***", "api-key": "*"}),
        ({"authorization": "Bearer abc"}, {"authorization": "Bearer ***"}),
        ({"a": [{"b": {"password": "x"}}]}, {"a": [{"b": {"password": "*"}}]}),
        ({"client_secret": "x", "access_token": "y"}, {"client_secret": "*", "access_token": "*"}),
        ({"aws_secret_access_key": "abc"}, {"aws_secret_access_key": "***"}),
        ({"token": "abc"}, {"token": "***"}),
        ({"api_keys": ["a", "bc", 3]}, {"api_keys": ["*", "**", 3]}),
        ({"credentials": {"a": ["b", {"c": "d"}]}}, {"credentials": {"a": ["*", {"c": "*"}]}}),
        ({"api_keys": [{"value": "abc"}]}, {"api_keys": [{"value": "***"}]}),
        ({"max_tokens": 5, "prompt_tokens": 3}, {"max_tokens": 5, "prompt_tokens": 3}),
        ({"max_tokens": "5", "eos_token": "</s>"}, {"max_tokens": "5", "eos_token": "</s>"}),
        ({"key": "b", "prompt_cache_key": "c"}, {"key": "b", "prompt_cache_key": "c"}),
        ({"properties": {"token": {"type": "string"}}}, {"properties": {"token": {"type": "string"}}}),
        ({"credentials": {"description": "who asks"}}, {"credentials": {"description": "who asks"}}),
        ({"required": ["token", "password"]}, {"required": ["token", "password"]}),
        ({"password": None, "secret": True}, {"password": None, "secret": True}),
        ({"url": "https://h/a.png?sig=abc"}, {"url": "https://h/a.png?sig=***"}),
        ({"n": 10**30, "x": "\ud800"}, {"n": 10**30, "x": "\ud800"}),
    ],
)
def test_request_bodies(body: dict[str, Any], kept: dict[str, Any]):
    assert Redaction().value(body) == kept
    assert Redaction().line({"request": body, "upstream_request": [body]}) == {
        "request": kept,
        "upstream_request": [kept],
    }


@each_row(
    ("text", "kept"),
    [
        (f"use {KEY}, please", f"use {stars(KEY)}, please"),
        ('-H "Authorization: Bearer abcdefg1"', '-H "Authorization: Bearer ********"'),
        ("bearer abcdefghijklmnop", "bearer ****************"),
        ("Bearer authentication is used", "Bearer authentication is used"),
        ("Bearer $OPENAI_API_KEY", "Bearer $OPENAI_API_KEY"),
        ("a task-with-a-long-name-indeed", "a task-with-a-long-name-indeed"),
        ("sk-short", "sk-short"),
        ("sk-learn-pipeline-utilities", "sk-learn-pipeline-utilities"),
        ("sk-" + "aB-c_dEfG-hI" * 3 + "7", "*" * 40),
        ("Bearer authorization(RFC6750)", "Bearer authorization(RFC6750)"),
        ("Basic implementation/interface", "Basic implementation/interface"),
        ("Basic QWxhZGRpbjpvcGVuLXNlc2FtZQ==", "Basic " + "*" * 28),
        ("sk-sk-sk-" + "a" * 20, stars("sk-sk-sk-" + "a" * 20)),
        ("ghp_" + "a1" * 18, "*" * 40),
        ("AKIAIOSFODNN7EXAMPLE!", "*" * 20 + "!"),
        ("git clone https://me:pw@host/x.git", "git clone https://me:**@host/x.git"),
        ("ssh://git@github.com/x", "ssh://git@github.com/x"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "*" * 38),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg==\n-----END",
            "-----BEGIN PRIVATE KEY-----" + "*" * 18 + "-----END",
        ),
        ("through the night, xoxo", "through the night, xoxo"),
        ("get https://h/v1?limit=5&api_key=hunter2 now", "get https://h/v1?limit=5&api_key=******* now"),
        ('{"api_key": "hunter2", "path": "a"}', '{"api_key": "*******", "path": "a"}'),
        (r'{"env": "{\"client_secret\": \"hunter2\"}"}', r'{"env": "{\"client_secret\": \"*******\"}"}'),
        ("<password>hunter2</password>", "<password>*******</password>"),
        ('{"token": "Hello", "logprob": -0.1}', '{"token": "Hello", "logprob": -0.1}'),
    ],
)
def test_keys_that_look_like_keys(text: str, kept: str):
    assert Redaction().text(text) == kept
    # The same inside a header, where the shapes are looked for in the whole before the parts.
    assert Redaction().line({"request": {"messages": [{"content": text}]}}) == {
        "request": {"messages": [{"content": kept}]}
    }


def test_what_a_replay_needs_stays():
    header = {
        "tape": 1,
        "dialect": "roo-xml",
        "ids": KEY,
        "now": 7,
        "policy": {"calls": "all"},
        "started": 1.5,
    }
    assert Redaction(check_patterns(["."])).line(header) == header


def test_own_credentials_are_masked_in_texts_and_names():
    redaction = Redaction((), ['Bearer p@ss/word"x', "short"])
    assert redaction.text('it says p@ss/word"x') == "it says ***********"
    assert redaction.text('{"a": "p@ss/word\\"x"}') == '{"a": "************"}'
    assert redaction.text(quote('p@ss/word"x', safe="")) == "*" * 17
    assert redaction.value({'p@ss/word"x': "short"}) == {"***********": "short"}


def test_the_users_patterns_are_masked_at_equal_length():
    redaction = Redaction(check_patterns([r"ACME-\d+", "hush"]))
    header = {"session": "ACME-12", "request": {"messages": [{"content": "hush ACME-345"}], "hush": "x"}}
    assert redaction.line(header) == {
        "session": "*******",
        "request": {"messages": [{"content": "**** ********"}], "hush": "x"},
    }


@each_row("pattern", ["(", "[a", "*", "(?P<n>", "a{99999999999}"])
def test_a_broken_pattern_is_named(pattern: str):
    with pytest.raises(UserError, match="not a regular expression") as error:
        check_patterns(["fine", pattern])
    assert repr(pattern) in error.value.message


def test_the_credentials_that_a_header_shows():
    header = {
        "client_headers": [
            ["Authorization", "Bearer abc"],
            ["x-tokenizer", "qwen2.5-coder"],
            ["accept", "x" * 40],
        ],
        "upstream_headers": [["x-my-key", "k" * 20], ["cookie", f"a=1; token={'t' * 20}"]],
    }
    assert list(own_credentials(header)) == ["Bearer abc", "k" * 20, "t" * 20]
    assert list(own_credentials({})) == []


@each_row(
    ("header", "found"),
    [
        ({"path": f"/v1/x?key={'k' * 16}&limit={'5' * 16}"}, {"k" * 16}),
        ({"url": f"https://h/?sig={'a' * 15}%2F"}, {"a" * 15 + "%2F", "a" * 15 + "/"}),
        ({"path": "/v1/x?key=short"}, set()),
        ({"request": {"api_key": "k" * 16, "user": "u" * 20}}, {"k" * 16}),
        ({"upstream_request": {"x": [{"credentials": {"v": ["k" * 16]}}]}}, {"k" * 16}),
        ({"request": {"messages": [{"token": "a word of the talk"}], "password": "short"}}, set()),
        ({"request": {"token": {"type": "string", "description": "a property's schema"}}}, set()),
        ({"request": "no object", "path": 5}, set()),
    ],
)
def test_the_credentials_in_a_query_and_in_a_body(header: dict[str, Any], found: set[str]):
    assert set(own_credentials(header)) == found


def test_the_password_of_basic_authentication_is_looked_for_by_itself():
    said = base64.b64encode(b"alice:open sesame:1").decode()
    redaction = Redaction((), [f"Basic {said}"])
    assert redaction.text(f"{said} is alice with open sesame:1") == f"{stars(said)} is alice with {'*' * 13}"
    assert Redaction((), ["Basic no base64!", "Basic /w=="]).text("alice") == "alice"


@pytest.mark.parametrize("key", [PLACEHOLDER, "Bearer password", "LM-Studio"])
def test_a_word_that_stands_for_no_key_is_left_alone(key: str):
    redaction = Redaction((), [key])
    assert redaction.text(f"the toolcall-{key}") == f"the toolcall-{key}"
    assert not redaction.secrets
    assert redaction.headers([("authorization", key)])[0][1].endswith("***")


def test_what_is_nested_too_deep_is_not_kept():
    deep: Any = KEY
    for _ in range(900):
        deep = [deep]
    kept = Redaction().line({"dialect": "x", "request": deep})
    assert kept["dialect"] == "x"
    assert KEY not in json.dumps(kept)


@pytest.mark.parametrize("unit", ["sk-", "Bearer ", "://", "a:", "eyJ.", "?a=", "-----BEGIN ", "asic a"])
def test_a_long_text_takes_no_longer_than_its_length(unit: str):
    redaction = Redaction((), [KEY])

    def mask(size: int) -> None:
        text = unit * (size // len(unit))
        redaction.value([text, {"url": "https://h/?" + text}])

    assert grows_evenly(mask, 10_000)
