"""Switching: what can be switched, and what that does to a tape."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from tests.support.samples import ALL as SAMPLES
from tests.support.streams import chunk, sse
from tests.support.tiers import each_row
from tests.support.variants import HEADER, play_bytes, played_file, varied
from transformer import DIALECTS, Policy
from workbench.analysis.variants.changes import Change, Offer, PolicySwitch, Switch, switches
from workbench.analysis.variants.script import apply, script_of
from workbench.errors import UserError

REPAIRABLE = next(path for path in SAMPLES if path.stem == "unclosed-parameter")


def calls(player: Any) -> list[str]:
    message = player.completion["choices"][0]["message"]
    return [call["function"]["name"] for call in message.get("tool_calls", ())]


def test_a_policy():
    before = played_file(REPAIRABLE)
    after = varied(before, Switch("malformed", "repair"))
    assert (calls(before), calls(after)) == ([], ["read_file"])
    assert after.header["policy"] == {"malformed": "repair"}


def test_a_dialect():
    before = play_bytes(sse(chunk("<tool_call>\n<function=read_file>\n</function>\n</tool_call>")))
    assert (calls(before), calls(varied(before, Switch("dialect", "qwen3-coder")))) == ([], ["read_file"])


def test_an_offered_tool():
    before = play_bytes(sse(chunk("<grep>\n<p>a</p>\n</grep>")), policy={"unknown_tools": "text"})
    assert (calls(before), calls(varied(before, Offer("grep")))) == ([], ["grep"])


@each_row(
    ("changes", "header"),
    [
        ([Switch("max_call_bytes", " 2k ")], {"policy": {"max_call_bytes": 2048}}),
        ([Switch("channels", "reasoning,content")], {"policy": {"channels": ["content", "reasoning"]}}),
        ([Switch("calls", "all"), Switch("calls", "first")], {"policy": {"calls": "first"}}),
        ([Switch("dialect", "kimi-k2")], {"dialect": "kimi-k2"}),
        ([], {}),
    ],
)
def test_headers(changes: list[Change], header: dict[str, Any]):
    before = play_bytes(sse(chunk("x")))
    assert apply(script_of(before), before, changes).header == HEADER | header


def test_other_policies_stay():
    before = play_bytes(sse(chunk("x")), policy={"malformed": "repair"})
    new = apply(script_of(before), before, [Switch("calls", "all")])
    assert new.header["policy"] == {"malformed": "repair", "calls": "all"}


def test_a_tape_without_a_request_gets_one_for_the_offer():
    before = play_bytes(sse(chunk("x")), request=None)
    request = apply(script_of(before), before, [Offer("grep")]).header["request"]
    assert [tool["function"]["name"] for tool in request["tools"]] == ["grep"]


@each_row(
    ("change", "said"),
    [
        (Switch("dialect", "qwen"), "did you mean qwen3-coder"),
        (Switch("malformed", "mend"), "malformed is one of text, repair, not 'mend'"),
        (Switch("colour", "red"), "there is no switch 'colour'; there are after_call"),
        (Switch("max_call_bytes", "many"), "a number of bytes such as 65536"),
        (Switch("channels", "left"), "channels are some of content, reasoning"),
        (Offer("read_file"), "read_file is offered already"),
        (Offer(" "), "needs a name"),
    ],
)
def test_what_is_refused(change: Change, said: str):
    before = play_bytes(sse(chunk("x")))
    with pytest.raises(UserError, match=said):
        apply(script_of(before), before, [change])


def test_the_menu_has_everything_with_what_is_in_force():
    by_key = {switch.key: switch for switch in switches(HEADER | {"policy": {"malformed": "repair"}})}
    assert list(by_key) == ["dialect", *(field.name for field in fields(Policy))]
    assert by_key["dialect"] == PolicySwitch("dialect", by_key["dialect"].about, tuple(DIALECTS), "roo-xml")
    assert (by_key["malformed"].now, by_key["malformed"].values) == ("repair", ("text", "repair"))
    assert (by_key["calls"].now, by_key["after_call"].now) == ("first", "drop")
    assert (by_key["max_call_bytes"].now, by_key["max_call_bytes"].values) == (str(16 << 20), ())
    assert by_key["channels"].values == ("content", "reasoning", "content,reasoning")
    assert all(switch.about for switch in by_key.values())


def test_every_choice_of_the_menu_can_be_made():
    before = play_bytes(sse(chunk("x")))
    for switch in switches(HEADER):
        for value in switch.values or (switch.now,):
            new = apply(script_of(before), before, [Switch(switch.key, value)])
            assert next(one for one in switches(new.header) if one.key == switch.key).now == value


@each_row(
    ("header", "key", "now"),
    [
        ({"dialect": "kimi-k2"}, "channels", "content,reasoning"),
        ({"dialect": "passthrough"}, "channels", "none"),
        ({"dialect": "kimi-k2", "request": {"parallel_tool_calls": False}}, "calls", "first"),
        ({"dialect": "klingon"}, "dialect", "klingon"),
        ({"dialect": "roo-xml", "policy": {"colour": "red"}}, "malformed", ""),
    ],
)
def test_what_is_in_force(header: dict[str, Any], key: str, now: str):
    assert next(switch.now for switch in switches(header) if switch.key == key) == now
