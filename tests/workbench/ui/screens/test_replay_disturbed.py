"""The replay while other things happen: a tape is still read, keys come early, another one is opened."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.widgets import Input

from tests.support.replays import Replayer, replaying, tape
from tests.support.streams import chunk
from tests.support.tiers import exhaustive, only_exhaustive
from workbench.analysis.variants.changes import Cut, Split, Switch
from workbench.files import samples_dir
from workbench.replay.lines import MemoryTape
from workbench.replay.player import Pane
from workbench.tape.format import Line, dump_line, end_line, make_header, read_line
from workbench.ui.screens.detail import WhyScreen
from workbench.ui.screens.table import TableScreen
from workbench.ui.widgets.bars import PositionBar

SAMPLE = samples_dir() / "roo-xml" / "unclosed-parameter.jsonl"
CALLS = samples_dir() / "qwen3-coder" / "good-two-calls.jsonl"
TABLE = samples_dir() / "roo-xml" / "good-read.jsonl"
_READS = 600  # more than is read before the first frame, where this is as little as can be


def written(
    path: Path, reads: int, *, times: Callable[[int], float] = float, end: bool = True, **head: Any
) -> Path:
    """A tape of so many words, each in a read of its own."""
    head |= {"request": {"model": "m", "tools": []}, "ids": "s", "now": 0, "stream": True}
    header = make_header("x", "roo-xml", **head)
    lines: list[Line] = [read_line(times(number), _event(f"word{number} ")) for number in range(reads)]
    lines += [end_line(times(reads), "done")] if end else []
    path.write_bytes(dump_line(header) + b"".join(map(dump_line, lines)))
    return path


def _event(text: str) -> bytes:
    return b"data: " + json.dumps(chunk(text)).encode() + b"\n\n"


@pytest.fixture
def bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tape is opened with one block of it, however fast the machine is."""
    monkeypatch.setattr("workbench.ui.opentape.SLICE", 0)


@pytest.fixture
def long(tmp_path: Path, bit_by_bit: None) -> Path:
    return written(tmp_path / "long.jsonl", _READS)


class Shelf:
    """Work that is done when the test says so, in place of a thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._jobs: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []
        monkeypatch.setattr("workbench.ui.replaymodel._STEPS", 0)
        monkeypatch.setattr(
            "workbench.ui.screens.replay.in_background",
            lambda _, work, done: self._jobs.append((work, done)),
        )

    @property
    def full(self) -> bool:
        return bool(self._jobs)

    def work_off(self) -> None:
        jobs, self._jobs = self._jobs, []
        for work, done in jobs:
            done(work())


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    return Shelf(monkeypatch)


# -- a tape that is still read


async def test_a_place_far_behind_is_reached_when_it_is_there_and_changes_wait_until_then(long: Path):
    async with replaying(long) as replay:
        replay.screen.open_number(0, at=_READS)
        step = replay.step
        assert step < _READS, "it is not read yet"
        replay.screen.action_join()
        assert replay.step == step, "a change that comes too early moves nothing"
        await replay.until(lambda: "still being read" in replay.told, "it says why")
        await replay.replay()
        await replay.until(lambda: replay.step == _READS, "the place")
        assert not replay.screen.model.is_variant


@pytest.mark.exhaustive  # quick: a place far behind, above
async def test_whoever_moves_meanwhile_stays_there(long: Path):
    async with replaying(long) as replay:
        replay.screen.open_number(0, at=_READS)
        replay.screen.action_edge(0)
        await replay.replay()
        await replay.until(lambda: replay.screen.model.loaded, "all of it is shown")
        assert replay.step == -1


@pytest.mark.exhaustive  # quick: test_whatif has it for a tape that is read at once
@pytest.mark.parametrize("place", ["end", "read 400"])
async def test_a_long_variant_is_shown_at_the_same_place(long: Path, place: str):
    async with replaying(long) as replay:
        await replay.press(":")
        await replay.type(place)
        read = replay.player.last_read(replay.step)
        replay.screen.attempt([Switch("calls", "all")])
        await replay.replay()
        await replay.until(lambda: replay.screen.model.loaded, "all of it is shown")
        assert replay.screen.model.is_variant
        assert replay.player.last_read(replay.step) == read
        await replay.press("u")
        await replay.replay()
        assert replay.player.last_read(replay.step) == read


@pytest.mark.parametrize(
    ("reads", "at_once"),
    only_exhaustive([(520, 200), (2000, 2000), (5200, 2000), (7000, 2000)], quick=[(520, 200)], arguments=2),
)
async def test_the_message_becomes_whole_without_a_key(
    tmp_path: Path, reads: int, at_once: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("workbench.ui.replaymodel._ROWS", at_once)
    path = written(tmp_path / "some.jsonl", reads)
    async with replaying(path) as replay:
        source = replay.screen.view.tape.source
        assert source is not None
        monkeypatch.setattr(replay.screen.replayables[0], "open", lambda: source)
        replay.screen.open_number(0, at=replay.player.steps)
        await replay.until(lambda: f"word{reads - 1} " in replay.screen.replay.message.rows[0][1], "the end")


@pytest.mark.exhaustive  # quick: test_replay: calls and marks
async def test_marks_far_behind_stand_on_the_bar(long: Path):
    async with replaying(long) as replay:
        await replay.press(">", "m")
        await replay.type("the end")
        replay.screen.open_number(0)
        assert not replay.screen.model.marked
        await replay.until(lambda: replay.screen.model.marked, "the mark")


@pytest.mark.usefixtures("bit_by_bit")
async def test_the_verdict_is_about_all_of_a_tape_without_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("workbench.ui.opentape._JUDGE", 1000)
    path = written(tmp_path / "cut.jsonl", _READS, end=False)
    async with replaying(path) as replay:
        await replay.until(lambda: replay.screen.model.loaded, "all of it is shown")
        assert replay.screen.view.tape.judged_steps == replay.player.steps


# -- keys that come early


async def changes_one_right_after_the_other(replay: Replayer) -> None:
    await replay.pilot.press("]", "J", "J", "J")
    await replay.replay()
    assert replay.player.reads == 13


async def undo_while_a_change_is_tried(replay: Replayer, shelf: Shelf) -> None:
    replay.screen.attempt([Cut(100)])
    assert "trying" in replay.screen.replay.position.alarm
    replay.screen.attempt([Cut(50)])
    await replay.press()
    assert "still being tried" in replay.told
    await replay.press("u")
    shelf.work_off()
    assert not replay.screen.model.is_variant and replay.player.reads == 16
    assert "trying" not in replay.screen.replay.position.alarm


async def undo_before_the_differences_are_known(replay: Replayer, shelf: Shelf) -> None:
    replay.screen.attempt([Cut(100)])
    shelf.work_off()
    await replay.until(lambda: shelf.full, "the differences are looked for")
    await replay.press("u")
    shelf.work_off()
    assert all(pane.changed is None for pane in replay.screen.view.panes)


async def another_tape_while_a_change_is_tried(replay: Replayer, shelf: Shelf) -> None:
    replay.screen.attempt([Cut(100)])
    replay.screen.open_number(1)
    shelf.work_off()
    await replay.replay()
    assert not replay.screen.model.is_variant and len(replay.calls) == 2


async def test_what_comes_while_a_change_is_tried(shelf: Shelf):
    checks = (
        undo_while_a_change_is_tried,
        undo_before_the_differences_are_known,
        another_tape_while_a_change_is_tried,
    )
    async with replaying(SAMPLE, CALLS) as replay:
        for check in checks:
            await replay.anew()
            await check(replay, shelf)


async def until(holds: Callable[[], object], what: str) -> None:
    for _ in range(1000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{what} did not happen")


# quick: escape; that the others halt the model as well: test_replaymodel, another key forgets
@pytest.mark.parametrize("key", only_exhaustive(["less_than_sign", "escape", "w", "space"], quick=["escape"]))
async def test_a_key_stops_a_run(monkeypatch: pytest.MonkeyPatch, key: str):
    monkeypatch.setattr("workbench.ui.replaymodel.hits", lambda *_: repeat(None))
    async with replaying(SAMPLE) as replay:
        await replay.press("b")
        await replay.type("state:value")
        model = replay.screen.model
        # Not as `press` does it: that waits until nothing is to be done, and there is always more to search.
        replay.app.post_message(events.Key("c", "c"))
        await until(lambda: model.searching, "it runs")
        replay.app.post_message(events.Key(key, None))
        await until(lambda: not model.searching, "it stops")


LOOKING = ["m", "b", ":", "/", "M", "enter", "w", "t", "?", "down", "v", "o"]


async def test_what_one_looks_at_does_not_play_on():
    async with replaying(SAMPLE) as replay:
        screen = replay.screen
        for key in LOOKING if exhaustive() else ("m", "w"):  # a line to type into, and another screen
            await replay.press("5", "]", "]", "right", "-", "-", "-", "space")
            assert screen.model.playing, key
            await replay.press(key)
            assert not screen.model.playing, key
            await replay.press("escape")
            if replay.app.screen is not screen:
                replay.app.pop_screen()
            await replay.anew()


async def a_key_that_is_held_down_is_answered_once(replay: Replayer) -> None:
    await replay.press(">", *["right"] * 5)
    assert replay.told == "there is no transition after this step"
    await replay.press("n")
    assert replay.told.endswith("there is no finding after this step")


# -- what was open before


async def test_nothing_is_left_of_the_tape_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (broken := tmp_path / "broken.jsonl").write_bytes(b"")
    async with replaying(tape(tmp_path, "roo-xml/unclosed-parameter"), TABLE) as replay:
        await replay.press(">", "/")
        await replay.type("path")
        replay.screen.replayables[1].path = broken
        monkeypatch.setattr(replay.screen.replayables[1], "open", lambda: MemoryTape("x", {}, ()))
        replay.screen.open_number(1)
        await replay.press("/")
        assert replay.prompt.query_one(Input).value == "", "nothing is searched for any more"
        assert replay.screen.replay.message.rows == [] and "step 41" not in replay.text


async def an_original_is_as_alive_as_it_was(replay: Replayer) -> None:
    assert not replay.screen.view.tape.running
    replay.screen.attempt([Cut(100)])
    await replay.press("u")
    assert not replay.screen.view.tape.running


async def test_a_variant_of_a_tape_that_still_grows(tmp_path: Path):
    path = written(tmp_path / "live.jsonl", 5, end=False, pid=os.getpid())
    async with replaying(path) as replay:
        await replay.press(">")
        replay.screen.attempt([Switch("calls", "all")])
        await replay.replay()
        with path.open("ab") as file:
            file.write(dump_line(read_line(9, _event("more "))))
        assert "still running" in replay.text, "nobody has cut it off"
        await replay.press("space")
        await replay.until(lambda: not replay.screen.model.playing, "a variant has an end")
        await replay.press("u")
        await replay.until(lambda: replay.player.reads == 6, "the original has grown")
        assert replay.player.last_read(replay.step) == 4, "and the cursor is where it was"


@pytest.mark.exhaustive  # quick: replay/test_marks.py
async def test_a_mark_with_a_byte_that_a_variant_has_not(tmp_path: Path):
    async with replaying(tape(tmp_path, "roo-xml/unclosed-parameter")) as replay:
        await replay.press(":")
        await replay.type("@2000")
        await replay.press("m")
        await replay.type("far")
        replay.screen.attempt([Cut(500)])
        await replay.replay()
        await replay.press("M", "enter")
        assert replay.screen.model.byte is None
        await replay.press("w")
        assert isinstance(replay.app.screen, WhyScreen)


@pytest.mark.exhaustive  # quick: replay/test_timeline.py
async def test_reads_of_the_same_time_are_told_apart(tmp_path: Path):
    async with replaying(written(tmp_path / "same.jsonl", 20, times=lambda number: 0.0)) as replay:
        await replay.press(":")
        await replay.type("read 5")
        replay.screen.attempt([Switch("calls", "all")])
        await replay.replay()
        assert replay.player.last_read(replay.step) == 4


# -- where one is


async def a_row_that_is_still_to_come_is_gone_to(replay: Replayer) -> None:
    await replay.press("right", "enter", "right", "right", "escape")
    await replay.replay()
    assert replay.pane(Pane.MACHINE).cursor == 2
    assert replay.step == replay.player.rows(Pane.MACHINE).steps[2]


async def no_rule_has_fired_before_the_start(replay: Replayer) -> None:
    await replay.press("<", "t")
    assert isinstance(replay.app.screen, TableScreen)
    assert replay.app.screen.step == -1
    await replay.press("escape")


async def a_click_on_the_words_goes_nowhere(replay: Replayer) -> None:
    await replay.press("]")
    step = replay.step
    await replay.pilot.click(PositionBar, offset=(50, 0))
    await replay.pilot.pause()
    assert replay.step == step


async def an_opened_row_has_the_colours_of_the_theme(replay: Replayer) -> None:
    await replay.press(*["right"] * 8, "1")
    pane = replay.pane(Pane.UPSTREAM)
    replay.app.theme = "textual-light"
    await replay.press()
    pieces = [piece for line in range(pane.size.height) for piece in pane.render_line(line)]
    seen = [piece.style for piece in pieces if "<path>" in piece.text and piece.style is not None]
    assert len(seen) == 2, "in the row, and opened below it"
    assert all(style.color != style.bgcolor for style in seen)


async def the_bytes_of_a_step_are_lit_in_the_opened_row(replay: Replayer) -> None:
    await replay.press(*["right"] * 8, "1")
    pane = replay.pane(Pane.UPSTREAM)
    pieces = [piece for line in range(pane.size.height) for piece in pane.render_line(line)]
    seen = [piece.style for piece in pieces if "<path>" in piece.text and piece.style is not None]
    assert [style.underline for style in seen] == [True, True], "in the row, and opened below it"


@pytest.mark.exhaustive  # quick: test_replay: the position
async def test_where_we_are_is_seen_whatever_else_is_said():
    async with replaying(SAMPLE, size=(80, 24)) as replay:
        replay.screen.attempt([Switch("malformed", "repair")])
        await replay.press("b")
        await replay.type("state:value")
        await replay.press("c")
        await replay.until(lambda: replay.screen.model.reason, "a hit")
        line = replay.screen.replay.position.render_line(0).text
        assert f"step {replay.step + 1} of" in line and "VARIANT malformed = repair" in line


async def a_byte_is_named_as_long_as_it_is_meant(replay: Replayer) -> None:
    await replay.press(":")
    await replay.type("@1500")
    assert "byte 1,500" in replay.screen.replay.position.words
    await replay.press("up")
    assert "byte" not in replay.screen.replay.position.words


async def reading_in_the_message_is_not_disturbed(replay: Replayer) -> None:
    await replay.press(">", "4", "g")
    assert replay.screen.replay.message.cursor == 0
    await replay.press("+")
    assert replay.screen.replay.message.cursor == 0


@pytest.mark.exhaustive  # quick: test_replay: every part can be seen
@pytest.mark.parametrize("size", only_exhaustive([(80, 24), (120, 40)], quick=[(80, 24)]))
async def test_the_message_is_never_lost(size: tuple[int, int]):
    async with replaying(CALLS, size=size) as replay:
        message = replay.screen.replay.message
        for keys in (("a",), ("a",), ("4", "a"), ("z", "a"), ("a",), ("z",)):
            await replay.press(*keys)
            shown = [part for part in replay.screen.parts if part.region.area]
            assert replay.screen.focused in shown, keys
        await replay.press("4")
        assert message.region.area and replay.screen.focused is message


async def a_single_byte_cannot_be_split(replay: Replayer) -> None:
    replay.screen.attempt([Split(1)])
    await replay.press("<", "]", "|")
    assert "a single byte" in replay.told and not replay.prompt.display


CHECKS = (
    (SAMPLE, changes_one_right_after_the_other),
    (SAMPLE, a_key_that_is_held_down_is_answered_once),
    (SAMPLE, an_original_is_as_alive_as_it_was),
    (SAMPLE, a_click_on_the_words_goes_nowhere),
    (SAMPLE, the_bytes_of_a_step_are_lit_in_the_opened_row),
    (SAMPLE, a_single_byte_cannot_be_split),
    (SAMPLE, a_byte_is_named_as_long_as_it_is_meant),
    (SAMPLE, a_row_that_is_still_to_come_is_gone_to),
    (CALLS, reading_in_the_message_is_not_disturbed),
    (TABLE, no_rule_has_fired_before_the_start),
    (SAMPLE, an_opened_row_has_the_colours_of_the_theme),
)


async def test_what_may_be_done_with_any_tape():
    """One application for all: to start it takes longer than most of the checks."""
    files = SAMPLE, CALLS, TABLE
    async with replaying(*files, size=(120, 36)) as replay:
        for path, check in CHECKS:
            await replay.anew(files.index(path))
            await check(replay)
