"""The timeline: every way to a step, and back; every word for a place."""

from __future__ import annotations

import re
from array import array
from functools import cache

import pytest

from tests.support.cost import calls_made
from tests.support.samples import DIALECTS
from tests.support.streams import chunk, sse, stream_of
from tests.support.tapes import CALL, SAMPLES, as_message, items, live, sample, samples_of, tape_of
from tests.support.tiers import each_row, some
from transformer import Delta, Finding, Transition
from transformer.answer.observations import choices_of
from workbench.errors import UserError
from workbench.replay.player import LEVELS, Item, Pane, Player
from workbench.replay.timeline import Destination, Timeline, Unit
from workbench.tape.format import Line, end_line, finding_line, read_line, sent_line, status_line


def calls_of(player: Player) -> array[int]:
    """The steps with which calls begin."""
    timeline = Timeline(player)
    while not timeline.catch_up(1000):
        pass
    return timeline.calls


def way(player: Player, unit: Unit, direction: int) -> list[int]:
    """Every step that seeking leads to, from one end to the other."""
    timeline = Timeline(player)
    found, here = [], -1 if direction > 0 else player.steps
    while (step := timeline.seek(here, unit, direction)) is not None:
        found.append(step)
        here = step
    return found


def wanted(player: Player, unit: Unit) -> list[int]:
    """The same, by looking at every row."""
    calls: set[tuple[int, int | None, str]] = set()
    found = []
    for step, pane, item in items(player):
        if _is(unit, pane, item, calls):
            found.append(step)
    return found


def _is(unit: Unit, pane: Pane, item: Item, calls: set[tuple[int, int | None, str]]) -> bool:
    if unit is Unit.STEP:
        return True
    if unit is Unit.TRANSITION:
        return isinstance(item, Transition)
    if unit is Unit.READ:
        return isinstance(item, int)
    if unit is Unit.DELTA:
        return pane is Pane.CLIENT
    if unit is Unit.FINDING:
        return isinstance(item, Finding) or (isinstance(item, Line) and "finding" in item.value)
    if not isinstance(item, Delta) or item.kind not in ("call", "native"):
        return False
    call = (item.choice, item.call, item.kind)
    is_new = call not in calls
    calls.add(call)
    return is_new


@each_row("dialect", DIALECTS)
def test_seeking_finds_every_row_of_a_kind_both_ways(dialect: str):
    for name in samples_of(dialect):
        player = sample(name)
        for unit in Unit:
            expected = wanted(player, unit)
            assert way(player, unit, 1) == expected, (name, unit)
            back = [*reversed(expected)] + ([-1] if unit is Unit.STEP else [])
            assert way(player, unit, -1) == back, (name, unit)


@each_row("dialect", DIALECTS)
def test_forward_and_back_returns(dialect: str):
    for name in samples_of(dialect):
        player = sample(name)
        timeline = Timeline(player)
        for unit in Unit:
            for step in wanted(player, unit):
                after = timeline.seek(step, unit, 1)
                if after is not None:
                    assert after > step, (name, unit)
                    assert timeline.seek(after, unit, -1) == step, (name, unit)


@each_row("dialect", DIALECTS)
def test_every_landmark_is_reached_and_every_call_has_one(dialect: str):
    for name in samples_of(dialect):
        for player in (sample(name), as_message(name)):
            calls = calls_of(player)
            assert way(player, Unit.FINDING, 1) == list(player.finding_steps.all), name
            assert way(player, Unit.CALL, 1) == sorted(set(calls)), name
            assert len(calls) == sum(len(one.calls) for one in choices_of(player.completion)), name


@each_row("dialect", DIALECTS)
def test_a_tape_that_grows_has_the_same_landmarks_and_times(dialect: str):
    for name in samples_of(dialect):
        tape, whole = tape_of(name), sample(name)
        player = Player(tape.header)
        timeline = Timeline(player)
        for line in tape.lines:
            player.add([line])
            while not timeline.catch_up(3):
                pass
        assert timeline.calls == calls_of(whole), name
        assert player.finding_steps.all == whole.finding_steps.all, name
        assert [player.seconds(step) for step in range(-1, player.steps)] == [
            whole.seconds(step) for step in range(-1, whole.steps)
        ]


def test_findings_by_level():
    levels = ["info", "error", "warning", None, "strange", ["odd"]]
    lines = [finding_line(0, "code", level, "m", "proxy") for level in levels]  # type: ignore[arg-type]
    player = live(*lines, read_line(1, stream_of(CALL)), end_line(2, "done"))
    assert [list(player.finding_steps.of(level)) for level in LEVELS] == [[1], [2], [0, 3, 4, 5]]
    assert list(player.finding_steps.all) == [0, 1, 2, 3, 4, 5]


# places


def made() -> Player:
    """Two reads with a call in each, a heartbeat, a finding of the proxy."""
    first, second = (stream_of(text, done=False, finish=None) for text in (CALL, CALL.replace("a.py", "b")))
    return live(
        status_line(0.1, "upstream", 200),
        finding_line(0.1, "template-failed", "error", "no", "request"),
        read_line(0.5, first),
        sent_line(1.0, b": waiting\n\n", "heartbeat"),
        read_line(62.5, second + b"data: [DONE]\n\n"),
        end_line(63.0, "done"),
        policy={"calls": "all"},
    )


def steps_of(player: Player) -> dict[str, int]:
    """The steps that are spoken of, by name."""
    first_call, second_call = calls_of(player)
    return {
        "start": -1,
        "end": player.steps - 1,
        "first read": player.step_of_read(0),
        "second read": player.step_of_read(1),
        "before second": player.step_of_read(1) - 1,
        "heartbeat": player.step_of_read(1) - 1,
        "before heartbeat": player.step_of_read(1) - 2,
        "finding": 1,
        "first call": first_call,
        "second call": second_call,
    }


@each_row(
    ("text", "step", "byte"),
    [
        ("0", -1, None), ("1", 0, None), ("#1", 0, None), (" # 3 ", 2, None), ("start", -1, None),
        ("end", "end", None), ("END", "end", None), ("0%", -1, None), ("100%", "end", None),
        ("+2", 6, None), ("-2", 2, None), ("-5", -1, None), ("- 1", 3, None), ("+0", 4, None),
        ("0s", -1, None), ("100ms", 1, None), ("0.5s", "before heartbeat", None),
        ("500 ms", "before heartbeat", None),
        ("62.499s", "heartbeat", None), ("1:02.499", "heartbeat", None), ("1:02.5", "end-1", None),
        ("0:01:03", "end", None), ("63s", "end", None), ("63.0s", "end", None),
        ("read 1", "first read", 0), ("read 2", "second read", "second"),
        ("reads 2", "second read", "second"),
        ("read #1", "first read", 0), ("call 1", "first call", None), ("call 2", "second call", None),
        ("finding 1", "finding", None), ("event 1", "first read", 0), ("Call 2", "second call", None),
    ],
)  # fmt: skip
def test_words_for_places(text: str, step: str | int, byte: str | int | None):
    player = made()
    named = steps_of(player) | {"end-1": player.steps - 2}
    expected = named[step] if isinstance(step, str) else step
    start = player.starts[1] if isinstance(byte, str) else byte
    assert Timeline(player).goto(text, 4) == Destination(expected, start)


@each_row(
    ("text", "said"),
    [
        ("", "a place is"), ("nowhere", "a place is"), ("1.5", "a place is"), ("--1", "a place is"),
        ("call", "a place is"), ("@", "a place is"), ("@0xzz", "a place is"), ("9" * 5000, "a place is"),
        ("١", "a place is"), ("12,34", "a place is"),
        ("10000", r"from 0, before everything, to {steps}$"), ("10,000", "there is no step 10000"),
        ("+10000", r"from here one can go from -5 to \+{on}$"), ("-6", "from here one can go from -5"),
        ("64s", r"from 0 s to 63\.000 s$"), ("64000ms", "after the end"), ("9:00", "after the end"),
        ("@99999", "they go from 0 to {last}$"), ("byte 0xfffff", "they go from 0 to {last}$"),
        ("read 3", "they go from 1 to 2$"), ("read 0", "they go from 1 to 2$"), ("call 3", "from 1 to 2$"),
        ("finding 3", "they go from 1 to 2$"), ("event 900", "they go from 1 to"),
        ("101%", "from 0% to 100%"),
    ],
)  # fmt: skip
def test_a_place_that_is_none_is_told_with_what_is_possible(text: str, said: str):
    player = made()
    known = {"{steps}": player.steps, "{on}": player.steps - 5, "{last}": len(player.data) - 1}
    for key, value in known.items():
        said = said.replace(key, str(value))
    with pytest.raises(UserError) as told:
        Timeline(player).goto(text, 4)
    assert re.search(said, told.value.message)


@each_row("text", ["1", "+1", "1s", "@0", "read 1", "call 1", "finding 1", "event 1"])
def test_in_an_empty_tape_there_is_only_the_start(text: str):
    timeline = Timeline(live())
    with pytest.raises(UserError, match=r"there is|from|nothing"):
        timeline.goto(text, -1)
    assert [timeline.goto(text, -1).step for text in ("0", "start", "end", "50%", "0s", "-0")] == [-1] * 6
    assert all(timeline.seek(-1, unit, way) is None for unit in Unit for way in (1, -1))


@each_row("name", some(SAMPLES, 15))
def test_a_byte_leads_to_the_transition_that_took_it(name: str):
    player = sample(name)
    timeline = Timeline(player)
    taken: dict[int, int] = {}
    for step, _, item in items(player):
        if isinstance(item, Transition):
            for start, end in player.bytes_of(item):
                for byte in range(start, end):
                    taken.setdefault(byte, step)
    for byte in range(0, len(player.data), 31):
        arrived = player.step_of_read(player.read_at(byte))
        assert timeline.goto(f"@{byte}", -1) == Destination(taken.get(byte, arrived), byte)
        assert timeline.goto(f"byte 0x{byte:x}", -1) == timeline.goto(f"@{byte}", -1)


def test_every_event_can_be_gone_to():
    player = sample("roo-xml/letter-by-letter")
    timeline, number = Timeline(player), 0
    while (event := player.event(number)) is not None:
        number += 1
        place = timeline.goto(f"event {number}", -1)
        assert place == Destination(player.step_of_read(event.read), event.start)
    with pytest.raises(UserError, match=f"from 1 to {number}$"):
        timeline.goto(f"event {number + 1}", -1)


@each_row("text", ["0.5s", "500ms", "0:00.5"])
def test_a_time_may_be_typed_as_it_is_shown(text: str):
    player = live(read_line(0.5004, b"x"), read_line(0.5006, b"y"))
    assert Timeline(player).goto(text, -1).step == 0


def test_times_that_go_back_or_are_absurd():
    times = [5.0, 2.0, float("inf"), -7.0, 1e300, 3.0, 6.0]
    lines = [read_line(0, sse(chunk(f"{number}"), done=False)) for number in range(len(times))]
    lines = [Line({**line.value, "t": t}) for line, t in zip(lines, times, strict=True)]
    player = live(*lines)
    seen = [player.seconds(step) for step in range(-1, player.steps)]
    assert seen == sorted(seen) and seen[-1] == 6.0
    timeline = Timeline(player)
    assert timeline.goto("5.9s", -1).step == player.step_of_read(6) - 1
    assert timeline.goto("4s", -1).step == -1


def test_a_step_in_a_long_row_of_findings_costs_no_more():
    lines = [read_line(0, b"data: {nonsense\n\n" * 3_000), read_line(1, stream_of("text"))]
    player = live(*lines, end_line(2, "done"))
    timeline = Timeline(player)
    assert len(player.finding_steps.all) >= 3_000
    found = timeline.seek(5, Unit.TRANSITION, 1)
    assert found is not None and found > 3_000
    assert calls_made(lambda: timeline.seek(5, Unit.TRANSITION, 1)) < 200


@cache
def long_tape() -> Player:
    """A call after much text. It is shared, so nobody may add to it."""
    reads = [read_line(number, sse(chunk("text "), done=False)) for number in range(2_000)]
    return live(*reads, read_line(2_000, stream_of(CALL)), end_line(2_001, "done"))


@each_row("unit", Unit)
def test_the_first_step_in_a_long_tape_looks_at_no_more_than_a_slice(unit: Unit):
    player = long_tape()
    search = Timeline(player).search(-1, unit, 1)
    found: list[int | None] = []
    work = calls_made(lambda: found.append(next(search, None)))
    if unit is Unit.CALL:
        assert found == [None] and work < 40_000, "the call is at the very end"
        assert [step for step in search if step is not None] == list(calls_of(player))
    else:
        assert found == [next(iter(wanted(player, unit)), None)] and work < 200
