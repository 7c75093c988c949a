"""The replay screen, driven by keys and mouse: stepping, playing, running, marking."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.replays import Replayer, replaying, tape
from tests.support.tiers import exhaustive, only_exhaustive, some
from transformer import Delta, Finding, Transition
from workbench.analysis.variants.changes import Cut
from workbench.files import samples_dir
from workbench.replay.player import Pane, Rows
from workbench.replay.sources import replayables_of, tape_replayable
from workbench.tape.format import Line, dump_line, end_line, make_header, read_line
from workbench.tape.recipe import Wishes
from workbench.ui.app import ReplayApp, run_replay
from workbench.ui.screens.detail import DifferenceScreen
from workbench.ui.screens.picker import PickerScreen
from workbench.ui.screens.replay import ReplayScreen
from workbench.ui.screens.view import HelpScreen, ListScreen
from workbench.ui.widgets.bars import PositionBar

SAMPLE = samples_dir() / "roo-xml" / "unclosed-parameter.jsonl"
CALLS = samples_dir() / "qwen3-coder" / "good-two-calls.jsonl"
STREAMED = samples_dir() / "qwen3-coder" / "good-streamed-arguments.jsonl"


def shows(replay: Replayer, sign: str) -> bool:
    return sign in replay.text


def is_read(item: object) -> bool:
    return isinstance(item, int)


def is_call(item: object) -> bool:
    return isinstance(item, Delta) and item.kind == "call"


def is_finding(item: object) -> bool:
    return isinstance(item, Finding) or (isinstance(item, Line) and item.kind == "finding")


# on, back, where, what is stepped to, in which tape
UNITS: list[tuple[str, str, Pane, Callable[[object], bool], Path]] = [
    ("right", "left", Pane.MACHINE, lambda item: isinstance(item, Transition), SAMPLE),
    (")", "(", Pane.CLIENT, is_call, CALLS),
]
MORE_UNITS: list[tuple[str, str, Pane, Callable[[object], bool], Path]] = [
    ("]", "[", Pane.UPSTREAM, is_read, SAMPLE),
    ("}", "{", Pane.CLIENT, lambda item: True, SAMPLE),
    ("n", "N", Pane.MACHINE, is_finding, SAMPLE),
]


async def test_stepping_by_a_unit():
    async with replaying(SAMPLE, CALLS) as replay:
        # replay/test_timeline.py has every unit
        for on, back, pane, wanted, path in [*UNITS, *(MORE_UNITS if exhaustive() else [])]:
            await replay.anew(number=[SAMPLE, CALLS].index(path))
            await step_through(replay, on, back, pane, wanted)


async def step_through(
    replay: Replayer, on: str, back: str, pane: Pane, wanted: Callable[[object], bool]
) -> None:
    rows: Rows = replay.player.rows(pane)
    all_steps = [rows.steps[row] for row in range(len(rows)) if wanted(replay.player.item(pane, row))]
    assert all_steps
    await replay.press("<")
    assert replay.step == -1
    some_steps = slice(None) if exhaustive() else slice(3)
    for step in all_steps[some_steps]:
        await replay.press(on)
        assert replay.step == step
        assert replay.pane(pane).has_class("-now") and str(replay.pane(pane).border_title).startswith("▶")
    replay.screen.model.move_to(all_steps[-1])
    await replay.press(on)
    assert replay.step == all_steps[-1], "there is no further one"
    assert "there is no" in replay.told
    for step in all_steps[-2::-1][some_steps]:
        await replay.press(back)
        assert replay.step == step


@pytest.mark.exhaustive  # quick: stepping above; replay/test_timeline.py
async def test_any_step_and_both_ends():
    async with replaying(SAMPLE) as replay:
        assert replay.step == 0
        for step in range(1, replay.player.steps):
            await replay.press(".")
            assert replay.step == step
        await replay.press(",")
        assert replay.step == replay.player.steps - 2
        await replay.press("<")
        assert replay.step == -1 and "before step 1" in replay.text
        await replay.press(">")
        assert replay.step == replay.player.steps - 1


async def each_pane_shows_what_was_known_at_that_moment(replay: Replayer) -> None:
    for step in (5, 17, 3):
        replay.screen.model.move_to(step)
        await replay.press()
        for pane in Pane:
            assert replay.pane(pane).count() == replay.player.rows(pane).known_at(step)
    await replay.press(")")  # there is no call: the cursor stays
    assert replay.step == 3


async def the_position_names_state_and_held_text(replay: Replayer) -> None:
    await replay.press(*["right"] * 9)
    words = replay.screen.replay.position.words
    assert "state value" in words and "read 10 of 16" in words, words
    assert "24 characters held for" in words and not replay.screen.replay.position.alarm


async def test_the_message_as_the_client_has_it():
    async with replaying(STREAMED) as replay:
        await replay.press(")")
        rows = replay.screen.replay.message.rows
        assert rows[-1][0] == "call 1" and rows[-1][1].startswith("write")
        await replay.press("}")
        assert replay.screen.replay.message.rows[-1][1].startswith('{"'), "a part of the arguments"
        size = len(replay.screen.replay.message.rows[-1][1])
        await replay.press("}", "}")
        assert sum(len(row[1]) for row in replay.screen.replay.message.rows) > size
        await replay.press(">")
        assert replay.screen.replay.message.rows[-1][:2] == ("finish", "tool_calls")


@pytest.mark.exhaustive  # quick: the message above
async def test_the_message_can_be_hidden_and_comes_back_up_to_date():
    async with replaying(CALLS) as replay:
        await replay.press("a")
        assert not replay.screen.replay.message.display
        await replay.press(">", "a")
        assert replay.screen.replay.message.rows[-1][1] == "tool_calls"


@pytest.mark.exhaustive  # quick: to a byte and nowhere below; test_timeline: words for places
async def test_go_to():
    places = {
        "12": 11, "0": -1, "end": 40, "start": -1, "50%": 19, "read 3": 7, "finding 1": 35, "0.3s": 9,
    }  # fmt: skip
    async with replaying(SAMPLE) as replay:
        for text, step in places.items():
            await replay.press(":")
            await replay.type(text)
            assert replay.step == step, text
            assert not replay.prompt.display, text


async def go_to_a_byte_lights_it(replay: Replayer) -> None:
    at = bytes(replay.player.data).index(b"<path>")
    await replay.press(":")
    await replay.type(f"@{at}")
    assert replay.screen.model.byte == at
    item = replay.item()
    assert isinstance(item, Transition) and item.text == "<path>"
    assert replay.pane(Pane.UPSTREAM).highlighted == ((at, at + 1),)


async def go_to_nowhere_says_what_is_possible(replay: Replayer) -> None:
    await replay.press(":")
    await replay.type("@999999")
    assert "there is no byte 999999" in replay.text
    await replay.type("somewhere")
    assert replay.prompt.display
    assert replay.step == 0
    await replay.press("escape")
    assert not replay.prompt.display


async def to_the_selected_row(replay: Replayer) -> None:
    await replay.press(">", "2", "g", "down", "down", "h")
    assert replay.step == replay.player.rows(Pane.MACHINE).steps[2]


# -- playing


@pytest.mark.exhaustive  # quick: replay/test_playback.py; the time it took below
async def test_playing_as_fast_as_possible_reaches_the_end():
    async with replaying(CALLS) as replay:
        await replay.press(*["+"] * 9)
        assert "as fast as possible" in replay.screen.replay.position.words
        await replay.press("space")
        await replay.until(lambda: replay.step == replay.player.steps - 1, "the end")
        await replay.until(lambda: not replay.screen.model.playing, "it stops there")
        await replay.press(*["-"] * 9, "space")
        assert replay.step < 2, "from the end it begins anew"


async def test_playing_takes_the_time_it_took(monkeypatch: pytest.MonkeyPatch):
    now = 100.0
    monkeypatch.setattr("workbench.ui.replaymodel.monotonic", lambda: now)
    async with replaying(SAMPLE) as replay:
        await replay.press("<", "space")
        assert "playing at 1×" in replay.screen.replay.position.words
        now += 0.3
        await replay.until(lambda: replay.step >= 0, "it moves")
        assert replay.step == 9, "all that had happened 0.3 s after the start"
        await replay.press("space")
        now += 10
        await replay.pilot.pause(0.1)
        assert replay.step == 9, "it stands still"
        await replay.press("-", "-", "space")
        now += 0.3
        await replay.pilot.pause(0.1)
        assert replay.player.time(replay.item()) < 0.4, "a fifth of the speed"


async def a_step_stops_playing(replay: Replayer) -> None:
    await replay.press("-", "-", "-", "<", "space")
    assert replay.screen.model.playing
    await replay.press("right")
    assert not replay.screen.model.playing


# -- the position bar


async def a_click_on_the_bar_goes_there(replay: Replayer) -> None:
    bar = replay.screen.query_one(PositionBar)
    strip = bar.render_line(1).text
    assert strip.count("✖") == 1
    await replay.pilot.click(PositionBar, offset=(strip.index("✖"), 1))
    await replay.pilot.pause()
    assert isinstance(replay.item(), Finding)
    await replay.pilot.click(PositionBar, offset=(bar.size.width - 1, 1))
    await replay.pilot.pause()
    assert replay.step == replay.player.steps - 1
    await replay.pilot.click(PositionBar, offset=(0, 1))
    await replay.pilot.pause()
    assert replay.step == 0


async def test_calls_and_marks_stand_on_the_bar(tmp_path: Path):
    async with replaying(tape(tmp_path, "qwen3-coder/good-two-calls")) as replay:
        bar = replay.screen.query_one(PositionBar)
        assert bar.render_line(1).text.count("●") == 2
        await replay.press("]", "m")
        await replay.type("look here")
        assert bar.render_line(1).text.count("◆") == 1


# -- breakpoints


BREAKPOINTS: dict[str, Callable[[Any], bool]] = {
    "state:value": lambda item: isinstance(item, Transition) and item.to == "value",
    "rule:open*": lambda item: isinstance(item, Transition) and item.rule == "open parameter",
    "finding:unclosed*": is_finding,
    "upstream:main": is_read,
    "machine:main": lambda item: isinstance(item, Transition) and "main" in item.text,
    "client:read the": lambda item: isinstance(item, Delta) and "the" in item.text,
    "text:</read_file>": is_read,
    "held>20": lambda item: isinstance(item, Transition) and item.held > 20,
    "held>100ms": lambda item: True,
    "tool:read_file": lambda item: isinstance(item, Transition) and item.rule == "begin call",
}


async def running_to_a_breakpoint(replay: Replayer) -> None:
    for text, wanted in some(BREAKPOINTS.items(), 2):  # replay/test_hits.py has all
        await replay.press("<", "b")
        await replay.type(text)
        await replay.press("c")
        await replay.until(lambda: replay.screen.model.reason, "a hit")
        assert text in replay.screen.model.reason, "it says which"
        assert wanted(replay.item()), (text, replay.item())
        hit = replay.step
        await replay.press(">", "C")
        await replay.until(lambda: replay.screen.model.reason, "a hit on the way back")
        assert replay.step >= hit, text
        replay.screen.model.remove_breakpoint(0)


@pytest.mark.exhaustive  # quick: replay/test_hits.py; a run with a hit above
async def test_without_a_hit_it_runs_to_the_end():
    async with replaying(SAMPLE) as replay:
        await replay.press("c")
        await replay.until(lambda: replay.step == replay.player.steps - 1, "the end")
        assert "there are no breakpoints" in replay.told
        await replay.press("<", "b")
        await replay.type("tool:nothing")
        await replay.press("c")
        await replay.until(lambda: replay.step == replay.player.steps - 1, "the end")
        assert "no breakpoint is hit" in replay.told


async def playing_stops_at_a_breakpoint(replay: Replayer) -> None:
    await replay.press("b")
    await replay.type("state:value")
    await replay.press(*["+"] * 9, "space")
    await replay.until(lambda: replay.screen.model.reason, "a hit")
    assert not replay.screen.model.playing
    assert replay.item().to == "value"


async def a_breakpoint_that_cannot_be_read(replay: Replayer) -> None:
    await replay.press("b")
    await replay.type("text:(")
    assert replay.prompt.display
    await replay.type("nonsense:x")
    assert replay.prompt.display and not replay.screen.model.breakpoints


async def test_the_list_of_breakpoints_is_kept_beside_the_tape(tmp_path: Path):
    path = tape(tmp_path, "roo-xml/unclosed-parameter")
    async with replaying(path) as replay:
        await replay.press("b")
        await replay.type("state:value")
        await replay.press("b")
        assert isinstance(replay.app.screen, ListScreen)
        await replay.press("a")
        await replay.type("tool:read*")
        await replay.press("b", "enter")
        await replay.type("state:broken")
        assert [str(one) for one in replay.screen.model.breakpoints] == ["state:broken", "tool:read*"]
    async with replaying(path) as replay:
        assert [str(one) for one in replay.screen.model.breakpoints] == ["state:broken", "tool:read*"]
        await replay.press("b", "d")
        await replay.press("escape")
        assert [str(one) for one in replay.screen.model.breakpoints] == ["tool:read*"]


# -- marks


@pytest.mark.exhaustive  # quick: breakpoints above; replay/test_marks.py
async def test_marks_are_kept_beside_the_tape(tmp_path: Path):
    path = tape(tmp_path, "roo-xml/unclosed-parameter")
    before = path.read_bytes()
    async with replaying(path) as replay:
        await replay.press("n", "m")
        await replay.type("here it breaks [/x]")
        marked = replay.step
    assert path.read_bytes() == before
    kept = json.loads((tmp_path / f"{path.name}.marks.json").read_text())
    assert kept["marks"][0]["note"] == "here it breaks [/x]" and kept["marks"][0]["step"] == marked + 1
    async with replaying(path) as replay:
        await replay.press("M")
        assert "here it breaks [/x]" in replay.text
        await replay.press("enter")
        assert replay.step == marked
        await replay.press("M", "d")
        assert not replay.screen.model.marked
    assert not (tmp_path / f"{path.name}.marks.json").exists()


async def test_marks_of_a_tape_of_no_library_land_in_the_librarys_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "workbench.toml").write_text('library = "library"\n')
    path = tape(tmp_path / "repository", "roo-xml/unclosed-parameter")
    monkeypatch.chdir(tmp_path)
    apps: list[ReplayApp] = []

    def take(app: ReplayApp) -> None:
        apps.append(app)

    monkeypatch.setattr(ReplayApp, "run", take)
    run_replay(replayables_of([str(path)], Wishes(), None, None))
    async with apps[0].run_test(size=(120, 40)) as pilot:
        replay = Replayer(apps[0], pilot)
        await replay.replay()
        await replay.press("n", "m")
        await replay.type("here it breaks")
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    (kept,) = (tmp_path / "library" / "marks").iterdir()
    assert json.loads(kept.read_text())["marks"][0]["note"] == "here it breaks"


async def nothing_is_written_beside_a_sample(replay: Replayer) -> None:
    await replay.press("m")
    await replay.type("mine")
    assert replay.screen.model.marked == (0,)
    assert "built-in sample" in replay.told


# -- what else there is


async def test_the_samples_are_two_keys_away():
    async with replaying(SAMPLE.parent, pick=True) as replay:
        await replay.until(lambda: isinstance(replay.app.screen, PickerScreen), "the picker")
        await replay.press("down", "enter")
        await replay.replay()
        first = replay.screen.sub_title
        assert replay.player.steps
        await replay.press("escape")
        await replay.until(lambda: isinstance(replay.app.screen, PickerScreen), "the picker again")
        await replay.press("down", "enter")
        await replay.replay()
        assert replay.screen.sub_title != first


@pytest.mark.exhaustive  # quick: test_picker
async def test_leaving_the_picker_without_a_choice_ends_it():
    async with replaying("samples", pick=True) as replay:
        await replay.until(lambda: isinstance(replay.app.screen, PickerScreen), "the picker")
        await replay.press("escape")
        await replay.until(lambda: replay.app.return_code is not None or not replay.app.is_running, "the end")


async def test_a_tape_that_differs_from_todays_code_says_so(tmp_path: Path):
    lines = SAMPLE.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if '"sent"' in line and "I'll" in line)
    lines[at] = lines[at].replace("I'll", "I shall")
    path = tmp_path / "then.jsonl"
    path.write_text("".join(lines))
    async with replaying(path) as replay:
        await replay.until(lambda: "today's code sends something else" in replay.text, "it says so")
        await replay.press("D")
        assert isinstance(replay.app.screen, DifferenceScreen)
        assert "The client got" in replay.text and " shall" in replay.text
    async with replaying(SAMPLE) as replay:
        await replay.press("D")
        assert "exactly what is on the tape" in replay.told
        replay.screen.attempt([Cut(2000)])
        await replay.press("D")
        assert "this was never sent" in replay.told


async def every_action_has_a_key_a_tooltip_and_a_place_in_the_palette(replay: Replayer) -> None:
    offered = {command.title for command in replay.app.get_system_commands(replay.screen)}
    seen = set()
    for active in replay.screen.active_bindings.values():
        binding = active.binding
        if binding.id and not binding.system:
            assert binding.description in offered and binding.tooltip, binding
            seen.add(binding.description)
    assert {"Step", "Step back", "Read", "Delta", "Call", "Play", "Faster", "Run", "Breakpoints", "Mark",
            "Marks", "Edit", "What if", "Cut here", "Join reads", "Split read", "Undo", "Save variant",
            "Go to", "Start", "End", "Why", "Finding", "Message", "Open",
            "Difference"} <= seen  # fmt: skip


async def help_is_about_replay(replay: Replayer) -> None:
    await replay.press("?")
    assert isinstance(replay.app.screen, HelpScreen)
    await replay.press("escape")
    await replay.replay()


@pytest.mark.parametrize("size", only_exhaustive([(80, 24), (200, 50)], quick=[(80, 24)]))
async def test_every_part_can_be_seen(size: tuple[int, int]):
    async with replaying(SAMPLE, size=size) as replay:
        await replay.press("n")
        for key, sign in {"1": "<path>", "2": "unclosed-parameter", "3": "content", "4": "I'll read"}.items():
            await replay.press(key)
            await replay.until(partial(shows, replay, sign), f"{sign} in part {key}")


@pytest.mark.exhaustive  # quick: the same in test_picker
async def test_what_cannot_be_opened_says_why(tmp_path: Path):
    """A file may break after it was listed."""
    path = tmp_path / "broken.jsonl"
    path.write_text('{"tape": 1, "dial\n')
    app = ReplayApp([tape_replayable(path, path.name, "", Wishes())])
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        replay = Replayer(app, pilot)
        await replay.until(lambda: "half written" in replay.text, "the reason")
        await replay.press(*"],.>< +-cCweduJMDSnNvhztr", "left", "right", "!", "|")
        for key in (":", "m", "b", "/"):
            await replay.press(key, "escape")
        assert isinstance(app.screen, ReplayScreen)
        assert "half written" in replay.text


async def test_a_tape_that_has_only_just_begun(tmp_path: Path):
    path = tmp_path / "young.jsonl"
    path.write_text('{"tape": 1, "dial')
    app = ReplayApp([tape_replayable(path, path.name, "", Wishes())])
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        replay = Replayer(app, pilot)
        await replay.until(lambda: "waiting: the first line" in replay.text, "it waits")
        with path.open("a") as file:
            file.write('ect": "roo-xml"}\n{"t": 0.1, "read": "data: x"}\n')
        await replay.until(lambda: "step 1 of" in replay.text, "it goes on")


async def test_a_tape_that_still_grows(tmp_path: Path):
    path = tmp_path / "live.jsonl"
    header = make_header("x", "roo-xml", request={"model": "m", "tools": []}, ids="s", now=0)
    event = b'data: {"choices":[{"index":0,"delta":{"content":"Hello "}}]}\n\n'
    path.write_bytes(dump_line(header) + dump_line(read_line(0.1, event)))
    async with replaying(path) as replay:
        await replay.press(">")
        steps, step = replay.player.steps, replay.step
        with path.open("ab") as file:
            file.write(dump_line(read_line(0.2, event)) + dump_line(end_line(0.3, "done")))
        await replay.until(lambda: replay.player.complete, "the rest comes")
        assert replay.player.steps > steps and replay.step == step, "the cursor stays where it is"
        await replay.until(lambda: f"of {replay.player.steps}" in replay.text, "the screen knows")
        await replay.press("]")
        assert replay.step > step


# -- all that needs nothing but one tape which is open


CHECKS = (
    each_pane_shows_what_was_known_at_that_moment,
    the_position_names_state_and_held_text,
    go_to_a_byte_lights_it,
    go_to_nowhere_says_what_is_possible,
    to_the_selected_row,
    a_step_stops_playing,
    a_click_on_the_bar_goes_there,
    running_to_a_breakpoint,
    playing_stops_at_a_breakpoint,
    a_breakpoint_that_cannot_be_read,
    every_action_has_a_key_a_tooltip_and_a_place_in_the_palette,
    help_is_about_replay,
    nothing_is_written_beside_a_sample,
)


async def test_what_can_be_done_with_a_tape():
    """One application for all: to start it takes longer than most of the checks."""
    async with replaying(SAMPLE) as replay:
        for check in CHECKS:
            await replay.anew()
            await check(replay)
    assert not SAMPLE.with_name(f"{SAMPLE.name}.marks.json").exists()
