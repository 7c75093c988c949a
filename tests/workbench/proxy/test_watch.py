"""The watch of a live answer sees what the replay of its tape sees, with the same read."""

from __future__ import annotations

import pytest

from tests.support.tapes import SAMPLES, as_message, sample
from tests.support.tiers import some
from workbench.breakpoints import parse
from workbench.proxy.watch import Watch
from workbench.replay.hits import next_hit
from workbench.replay.player import Player
from workbench.replay.timeline import Timeline
from workbench.tape.recipe import Wishes, make_recipe

LINES = [
    "state:VALUE", "state:*closed", "rule:begin*", "finding:*call*", "finding:check-*", "upstream:</",
    "machine:value → closed", "machine:src/", "client:file", "client:^call", "text:read_file", "held>0",
    "held>40ch", "tool:*", "tool:re*",
]  # fmt: skip


def in_replay(player: Player, line: str) -> int | None:
    """The read with which a breakpoint is first hit; -1: before any; None: never."""
    hit = next_hit(Timeline(player), [parse(line)], -1)
    return None if hit is None else player.last_read(hit.step)


def live(player: Player, line: str) -> int | None:
    watch = Watch([parse(line)], make_recipe(player.header, Wishes()))
    for number in range(player.reads):
        if watch.feed(player.read(number), player.times[number]) is not None:
            return number
    return player.reads - 1 if watch.finish(player.now) is not None else None


NATIVE = "passthrough/native-calls"  # whose calls only the checks of conformance read


@pytest.mark.parametrize("line", LINES)
def test_a_stream_is_held_at_the_read_at_which_the_replay_stops(line: str):
    found = 0
    for name in (NATIVE, *some(SAMPLES, 20)):
        player = sample(name)
        broke = player.end is None or player.end.value.get("end") not in ("done", "eof")
        lines = any("finding" in one.value for one in player.lines)
        if player.mode != "stream" or broke or (lines and line.startswith("finding")):
            continue  # what the proxy itself told is on the tape, and no part of the answer
        expected, seen = in_replay(player, line), live(player, line)
        if line.startswith(("text", "client", "upstream")) and expected is not None:
            # Rows of the tape itself (a status, the end) are searched there as well.
            expected = min(expected, expected if seen is None else seen)
        assert seen == expected, name
        found += expected is not None
    assert found or line in ("finding:check-*", "state:*closed")


@pytest.mark.parametrize("line", ["tool:*", "rule:begin*", "held>1000000"])
def test_an_answer_in_one_piece(line: str):
    for name in some(SAMPLES, 10):
        player = as_message(name)
        watch = Watch([parse(line)], make_recipe(player.header, Wishes()))
        hit = watch.whole(bytes(player.data), 0.0)
        assert (hit is not None) == (in_replay(player, line) is not None), name


def test_bytes_that_nobody_understands_hold_nobody_up():
    watch = Watch([parse("tool:*"), parse("text:(a+)+b$")], make_recipe({"dialect": "roo-xml"}, Wishes()))
    assert watch.feed(b"data: {\xff\xfe\n\n" + b"a" * 5000, 0.0) is None
    assert watch.finish(0.1) is None
    assert Watch([parse("tool:*")], make_recipe({"dialect": "roo-xml"}, Wishes())).whole(b"", 0.0) is None
