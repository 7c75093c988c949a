"""Playing: which step it is at which time, at any speed."""

from __future__ import annotations

from tests.support.streams import chunk, sse
from tests.support.tapes import SAMPLES, live, sample
from tests.support.tiers import each_row
from workbench.replay.playback import SPEEDS, Playback
from workbench.replay.player import Player
from workbench.tape.format import Line, end_line, read_line


def ticking(*times: float, end: bool = True) -> Player:
    """A read at each of these times; every read is three steps: it, a transition, a delta."""
    lines: list[Line] = [read_line(t, sse(chunk("a word "), done=False)) for t in times]
    return live(*lines, *([end_line(times[-1], "cancelled")] if end else []))


def playing(player: Player, step: int = -1, now: float = 100.0) -> Playback:
    playback = Playback()
    playback.play(player, step, now)
    return playback


def choose(playback: Playback, speed: float | None, now: float) -> None:
    while playback.speed != speed:
        before = playback.speed
        wants_more = speed is None or (before is not None and before < speed)
        (playback.faster if wants_more else playback.slower)(now)
        assert playback.speed != before


def test_speeds_go_up_and_down_and_stop_at_the_ends():
    playback = Playback()
    assert (playback.speed, playback.changed, playback.words) == (1, False, "paused at 1×")
    seen = []
    for _ in range(20):
        playback.faster(0)
        seen.append(playback.speed)
    assert seen[:7] == [2, 5, 10, 20, 50, 100, None] and seen[-1] is None
    assert playback.words == "paused as fast as possible" and playback.changed
    seen = []
    for _ in range(20):
        playback.slower(0)
        seen.append(playback.speed)
    assert seen[:10] == [100, 50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1] and seen[-1] == 0.1
    assert playback.words == "paused at 0.1×"


@each_row("speed", SPEEDS[:-1])
def test_the_steps_come_when_they_are_due(speed: float):
    player = ticking(1, 2, 4, 8)
    playback = playing(player)
    choose(playback, speed, 100.0)
    reads = [player.step_of_read(number) for number in range(4)]
    last = [step - 1 for step in [*reads[1:], player.steps]]  # what a read leads to comes with it
    step = -1
    for tape_time, expected in [(0.99, -1), (1.01, last[0]), (1.9, last[0]), (2.01, last[1]), (4.1, last[2])]:
        step = playback.advance(100 + tape_time / speed, step)
        assert step == expected and playback.playing
    assert playback.advance(100 + 8.01 / speed, step) == last[3]
    assert not playback.playing, "the end stops it"
    assert playback.advance(1e9, 3) == 3


def test_a_pause_and_a_new_speed_keep_the_place():
    player = ticking(1, 2, 3, 4)
    playback = playing(player)
    step = playback.advance(101.5, -1)
    assert step == player.step_of_read(1) - 1
    playback.pause()
    assert playback.advance(500, step) == step
    playback.play(player, step, 600.0)
    assert playback.advance(600.9, step) == step, "from that step's time on"
    step = playback.advance(601.0, step)
    assert step == player.step_of_read(2) - 1
    playback.faster(601.5)  # half of the way at 1×, the rest at 2×
    assert playback.advance(601.74, step) == step
    assert playback.advance(601.76, step) == player.step_of_read(3) - 1


def test_who_moves_meanwhile_goes_on_from_there():
    player = ticking(1, 2, 3, 4)
    playback = playing(player)
    assert playback.advance(103.5, -1) == player.step_of_read(3) - 1
    assert playback.advance(103.6, 0) == player.step_of_read(1) - 1, "back at the first read"
    assert playback.advance(104.6, player.step_of_read(1) - 1) == player.step_of_read(2) - 1


def test_a_tape_that_grows_is_waited_for():
    player = ticking(1, 2, end=False)
    playback = playing(player)
    step = playback.advance(105.0, -1)
    assert step == player.steps - 1 and playback.playing
    assert playback.advance(106.0, step) == step and playback.playing
    player.add([read_line(5.5, sse(chunk("more "), done=False)), read_line(9, sse(chunk("x"), done=False))])
    step = playback.advance(106.1, step)
    assert step == player.step_of_read(3) - 1, "what is due already comes at once"
    player.add([end_line(9, "cancelled")])
    assert playback.advance(110, step) == player.steps - 1 and not playback.playing
    cut = ticking(1, 2, end=False)
    playback = playing(cut)
    assert playback.advance(103, -1, grows=False) == cut.steps - 1 and not playback.playing


@each_row("name", [*SAMPLES[::12], "roo-xml/letter-by-letter"])
def test_as_fast_as_possible_every_call_moves_on(name: str):
    player = sample(name)
    playback = playing(player)
    choose(playback, None, 100.0)
    step, calls = -1, 0
    while playback.playing:
        before, calls = step, calls + 1
        step = playback.advance(100.0, step)
        following = player.last_read(before) + 1
        assert step >= (player.step_of_read(following) if following < player.reads else player.steps - 1)
        assert step > before
    assert step == player.steps - 1 and calls <= 61


def test_a_long_tape_is_through_in_sixty_calls():
    player = ticking(*(float(number) for number in range(5000)))
    playback = playing(player)
    choose(playback, None, 0)
    step, calls = -1, 0
    while playback.playing:
        step, calls = playback.advance(0, step), calls + 1
    assert step == player.steps - 1 and 50 <= calls <= 61


@each_row(
    "times", [(1, 5, 2, 3, 6), (9, 1, 2, 3), (1e15, 1, 2, 1e15), (-5, -9, 0, 2), (0, 0, 0), (1, 4000, 4001)]
)
def test_absurd_times_do_not_stall_it(times: tuple[float, ...]):
    player = ticking(*times)
    playback = playing(player)
    now, step = 100.0, -1
    for _ in range(20_000):
        now += 1
        after = playback.advance(now, step)
        assert after >= step
        step = after
        if not playback.playing:
            break
    assert step == player.steps - 1


def test_a_clock_that_is_set_back_does_no_harm():
    playback = playing(ticking(1, 2))
    step = playback.advance(101.5, -1)
    assert playback.advance(50.0, step) == step
    assert playback.advance(50.4, step) == step
    assert playback.advance(50.6, step) > step


def test_another_tape():
    playback = playing(ticking(1, 2))
    other = ticking(10, 20, 30)
    playback.play(other, -1, 500.0)
    assert playback.advance(510.5, -1) == other.step_of_read(1) - 1
    assert other.step_at(50) == other.steps - 1
    playback.play(other, -1, 500.0)
    assert playback.advance(520.5, -1) == other.step_of_read(2) - 1
