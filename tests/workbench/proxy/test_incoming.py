"""Which headers go on."""

from __future__ import annotations

from workbench.config.settings import Upstream
from workbench.proxy.incoming import headers_for_client, headers_for_upstream

CLIENT = [
    ("Host", "127.0.0.1:8788"),
    ("Authorization", "Bearer client"),
    ("Accept-Encoding", "gzip, br, zstd"),
    ("Connection", "keep-alive, X-Hop"),
    ("X-Hop", "1"),
    ("Keep-Alive", "timeout=5"),
    ("Transfer-Encoding", "chunked"),
    ("Content-Length", "12"),
    ("x-session-id", "ses_1"),
    ("User-Agent", "opencode"),
    ("x-workbench-token", "ours"),
]


def test_end_to_end_headers_go_up_and_no_others():
    assert headers_for_upstream(CLIENT, Upstream("u", "http://h")) == [
        ("authorization", "Bearer client"),
        ("x-session-id", "ses_1"),
        ("user-agent", "opencode"),
        ("accept-encoding", "identity"),
    ]


def test_a_configured_credential_takes_the_place_of_the_clients():
    up = headers_for_upstream(CLIENT, Upstream("u", "http://h", api_key="own"))
    assert [value for name, value in up if name == "authorization"] == ["Bearer own"]


def test_configured_headers_win_over_everything():
    own = {"User-Agent": "wb", "Authorization": "Basic x", "Accept-Encoding": "gzip"}
    up = headers_for_upstream(CLIENT, Upstream("u", "http://h", api_key="own", headers=own))
    for name, expected in own.items():
        assert [value for key, value in up if key == name.lower()] == [expected]


def test_the_decoded_body_has_neither_upstreams_length_nor_its_encoding():
    upstream = [("Content-Type", "text/event-stream"), ("Content-Encoding", "gzip"), ("Content-Length", "9"),
                ("Connection", "close"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"),
                ("x-request-id", "r")]  # fmt: skip
    assert headers_for_client(upstream) == [
        ("content-type", "text/event-stream"),
        ("set-cookie", "a=1"),
        ("set-cookie", "b=2"),
        ("x-request-id", "r"),
    ]
