"""The status line: parts become short, then go; none of them jumps when another comes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from workbench.ui.proxywatch import ProxyState, UpstreamState, state_of
from workbench.ui.widgets.statusline import Part, fitted, proxy_parts

LOCAL = UpstreamState("local", "http://127.0.0.1:8000/v1", "roo-xml")
STATE = ProxyState("http://127.0.0.1:8181/v1", (LOCAL,), "local")
END = (Part("▶ following", "good", "▶", "follow", rank=1),)


def line(state: ProxyState | None, width: int, url: str = "") -> str:
    upstream = state.upstream(None) if state is not None else None
    left, right = fitted(proxy_parts(state, upstream, url, True), END, width)
    text = "  ".join([text for text, _ in (*left, *right)])
    assert cell_len(text) <= width
    return text


@pytest.mark.parametrize("width", [200, 120, 80, 60, 40, 20])
def test_nothing_is_cut_and_the_rest_stays_when_streams_come(width: int):
    quiet = line(STATE, width)
    busy = line(replace(STATE, running=3, held_back=120), width)
    assert quiet.endswith(("▶ following", "▶")) or width < 30
    said = [word for word in quiet.split() if word != "idle"]
    assert [word for word in busy.split() if word in said] == said
    if width >= 80:
        assert "roo-xml" in busy and "127.0.0.1:8181" in busy and "3 streams" in busy and "120" in busy


def test_what_was_changed_is_said():
    changed = replace(
        LOCAL, dialect="kimi-k2", policy={"malformed": "repair"}, changed={"dialect": "roo-xml", "policy": {}}
    )
    state = replace(STATE, upstreams=(changed,))
    assert "kimi-k2 (changed, was roo-xml)  malformed=repair (changed)" in line(state, 200)
    assert "kimi-k2*" in line(state, 80)
    assert line(None, 80).startswith("○ no proxy runs for this library")
    assert line(None, 80, "http://127.0.0.1:1/v1").startswith("●  http://127.0.0.1:1/v1"), "nobody can ask it"


def test_a_status_of_another_version_does_no_harm():
    odd = {"upstreams": [1, {"name": "a"}], "running": 7, "held_back": [1], "recorder": None, "default": 3}
    state = state_of("u", odd)
    assert (state.running, state.held_back, state.default, state.problem) == (0, 0, None, "")
    assert state.upstream("b") == state.upstreams[0]
