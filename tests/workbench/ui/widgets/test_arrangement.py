"""Rows side by side on the screen: one level through all panes, an event a line, folds, a filter for rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.live import driving
from tests.support.replays import Replayer, replaying
from tests.support.streams import sse
from tests.support.tapes import TOOLS
from tests.support.tiers import exhaustive, only_exhaustive
from tests.support.views import write_tape
from transformer.records import Delta, Transition
from workbench.library.index import rebuild
from workbench.replay.player import Pane
from workbench.tape.format import make_header
from workbench.ui.screens.replay import ReplayScreen
from workbench.ui.widgets.tapepane import TapePane

WORDS = 150


def event(text: str) -> bytes:
    return sse({"choices": [{"index": 0, "delta": {"content": text}}]}, done=False)


CALL = [event(text) for text in ("\n<read_", "file>\n<path>", "src/", "a.py", "</path>\n</read_file>")]
PROSE = [event(f"word{number} ") for number in range(WORDS)]
STRANGE = [
    event(text)
    for text in (
        "你好,世界",
        "\x1b[31mred\x1b[0m",
        "[/bold][@click=x]",
        "\u202eabc",
        "👩‍👩‍👧",
        "日本" * 90,
        "e\u0301",
        "\x00\x9b",
    )
]


def tape(folder: Path, reads: list[bytes]) -> Path:
    request = {"model": "m", "tools": TOOLS}
    header = make_header("x", "roo-xml", ids="s", request=request, model="m", kind="chat", stream=True)
    folder.mkdir(parents=True, exist_ok=True)
    return write_tape(folder / "made.jsonl", header, reads)


def buffered(folder: Path) -> Path:
    """Many events in two reads, as servers behind a buffer send them; the cut is inside of an event."""
    data = b"".join([*PROSE[:4], *CALL, *PROSE[4:8]])
    return tape(folder, [data[: len(data) // 2 + 9], data[len(data) // 2 + 9 :]])


def levels(panes: tuple[TapePane, ...]) -> list[int]:
    return [pane.selected_line for pane in panes]


def seen(pane: TapePane) -> list[str]:
    return [pane.render_line(y).text[:-1].rstrip() for y in range(pane.size.height)]


async def test_each_event_stands_beside_what_it_led_to_and_the_level_goes_through_all_panes(tmp_path: Path):
    async with replaying(buffered(tmp_path), size=(150, 44)) as replay:
        upstream, machine, client = panes = replay.screen.view.panes
        player = replay.player
        assert player.reads == 2
        await replay.press("greater_than_sign")
        rows = list(zip(*(seen(pane) for pane in panes), strict=True))
        (opens,) = [row for row in rows if "begin call" in row[1]]
        assert "file>" in opens[0] and "event" in opens[0], "beside the event, not beside the read"
        (completed,) = [row for row in rows if "complete call" in row[1]]
        assert "</path>" in completed[0] or "call read_file" in completed[2]
        assert sum("event " in row[0] for row in rows) >= 10
        await replay.press("2", "g", "down", "down", "down")
        here = machine.item(machine.cursor)
        assert isinstance(here, Transition) and len(set(levels(panes))) == 1
        for key, pane in (("1", upstream), ("3", client), ("2", machine)):
            before = levels(panes)
            await replay.press(key)
            assert replay.screen.focused is pane and levels(panes) == before, "the same level"
        top = machine.top
        machine.scroll_rows(3)
        assert upstream.top == machine.top == client.top >= top
        # A search goes to the event, not to the read that brought it.
        await replay.press("1", "g", "slash")
        await replay.type("src/")
        await replay.until(lambda: "src/" in seen(upstream)[upstream.selected_line - upstream.top], "found")
        await replay.press("escape")
        # An event is copied as it came, not the read that brought it.
        await replay.press("1", "g", "down", "down", "down", "y")
        assert replay.app.clipboard.startswith("data: {") and len(replay.app.clipboard) < 120
        assert upstream.cursor <= 1 and upstream.highlighted[0][1] - upstream.highlighted[0][0] < 120


async def test_a_replay_grows_beside_what_has_come(tmp_path: Path):
    """A read is there with all its events; what they lead to comes step by step, and nothing moves."""
    async with replaying(buffered(tmp_path), size=(150, 34)) as replay:
        upstream, machine, client = panes = replay.screen.view.panes
        shown: dict[int, tuple[list[str], ...]] = {}
        on, back = (12, 8) if exhaustive() else (6, 4)
        for _ in range(on):
            await replay.press("full_stop")
            assert len(set(levels(panes))) == 1
            shown[replay.step] = tuple(seen(pane) for pane in panes)
            where, row = replay.player.place(replay.step)
            assert panes[where].cursor == row
        assert sum("event" in line for line in shown[1][0]) > 3, "they have come, though nothing was done"
        for _ in range(back):
            await replay.press("comma")
            assert tuple(seen(pane) for pane in panes) == shown[replay.step]
        assert machine.count() < 12 and client.count() < 12 and upstream.count() == 1


async def test_runs_are_folded_unfolded_and_never_hide_the_row_that_is_selected(tmp_path: Path):
    async with replaying(tape(tmp_path, [*PROSE, *CALL, *PROSE]), size=(150, 34)) as replay:
        upstream, machine, _ = panes = replay.screen.view.panes
        await replay.press("greater_than_sign", "2", "g")
        assert f"×{WORDS - 2}" in replay.text and machine.extent() < 40
        assert "begin call" in replay.text, "hundreds of rows do not hide it"
        await search(replay, "word123")
        here = machine.item(machine.cursor)
        assert isinstance(here, Transition) and "word123" in here.text
        assert any("word123" in line for line in seen(machine)), "a match is shown, whatever is folded"
        await replay.press("escape", "g", "down")
        assert machine.scroll.on_fold
        await replay.press("enter")
        assert machine.extent() > WORDS and len(set(levels(panes))) == 1
        await replay.press("l")
        assert machine.extent() < 40
        y = next(y for y, line in enumerate(seen(upstream)) if "▸" in line)
        await replay.pilot.click(upstream, offset=(8, y + 1))
        await replay.pilot.pause()
        assert upstream.extent() > WORDS, "a click opens it"
        await replay.press("L")
        assert upstream.extent() > 2 * WORDS and "▸" not in replay.text
        await replay.press("L")
        assert upstream.extent() < 40
        # Each by itself: the same folds, without the lines that only others need.
        lines = machine.extent()
        await replay.press("A")
        assert not machine.scroll.shared and 0 < machine.extent() < lines
        assert all(line for line in seen(machine)[: machine.extent()])


async def search(replay: Replayer, text: str) -> None:
    await replay.press("slash")
    await replay.type(text)
    await replay.until(lambda: "1 of" in str(replay.screen.view.panes[1].border_subtitle), "it is found")


async def test_rows_by_kind_and_by_call(tmp_path: Path):
    async with replaying(tape(tmp_path, [*PROSE[:30], *CALL, *PROSE[:9], *CALL]), size=(150, 34)) as replay:
        upstream, machine, client = replay.screen.view.panes
        await replay.press("greater_than_sign", "2", "f")
        await replay.type("verbs")
        assert "not a kind of row" in replay.text
        await replay.type("transitions")
        assert "only transitions" in str(machine.border_subtitle)
        assert "begin call" in replay.text and "▸" not in replay.text
        assert all("→" in line or not line.strip() for line in seen(machine)[: machine.extent()])
        await replay.press("f")
        await replay.type("call:1")
        assert "call read_file" in replay.text and not any("word" in line for line in seen(machine))
        # A row that is gone to is not hidden without a word.
        await replay.press("less_than_sign", "right")
        replay.screen.view.show_row(Pane.MACHINE, 0)
        await replay.until(lambda: "filter hides" in replay.told, "it says so")
        await replay.press("f")
        await replay.type("")
        assert machine.scroll.hidden is False and upstream.count() and client is not None


async def test_live_it_is_the_same_and_the_habit_goes_along_into_the_replay(tmp_path: Path):
    made = tape(tmp_path / "library" / "tapes" / "2026-11-16", [*PROSE, *CALL])
    rebuild(tmp_path / "library")
    async with driving(tmp_path / "library", (170, 34)) as driver:
        upstream, machine, client = (driver.pane(pane) for pane in Pane)
        await driver.until(lambda: driver.screen.player and driver.screen.player.complete, made.name)
        await driver.until(lambda: machine.extent() and machine.extent() < 40, "folded")
        assert min(pane.size.width for pane in (upstream, machine, client)) > 42, "the width is used"
        await driver.press("2", "G", "up", "up")
        assert isinstance(client.item(client.cursor), Delta)
        assert client.selected_line == machine.selected_line == upstream.selected_line
        await driver.press("A")
        assert not machine.scroll.shared
        await driver.press("p")
        replay = driver.app.screen
        assert isinstance(replay, ReplayScreen)
        first = replay.view.panes[0]
        await driver.until(first.extent, "its rows")
        assert not first.scroll.shared, "the habit goes along"
        await driver.press("A")
        assert first.scroll.shared


# quick: the narrow one, where each pane is shown by itself; side by side in the tests above
@pytest.mark.parametrize("size", only_exhaustive([(80, 24), (120, 30)], quick=[(80, 24)]))
async def test_strange_text_fills_its_line_and_no_more(tmp_path: Path, size: tuple[int, int]):
    reads = [*STRANGE, b"".join(STRANGE), *STRANGE * 3, *CALL]
    async with replaying(tape(tmp_path, reads), size=size) as replay:
        await replay.press("greater_than_sign")
        for keys in (("1", "g"), ("2", "g", "down"), ("3", "G"), ("L",), ("A",)):
            await replay.press(*keys)
            for pane in replay.screen.view.panes:
                if pane.display and pane.size.width:
                    lines = [pane.render_line(y) for y in range(pane.size.height)]
                    assert all(line.cell_length == pane.size.width for line in lines)
                    assert not any(ord(sign) < 32 for line in lines for sign in line.text)
        narrow = size[0] < 100
        assert narrow is (sum(pane.display for pane in replay.screen.view.panes) == 1)
        if narrow:
            machine = replay.screen.view.panes[1]
            await replay.press("2", "A", "less_than_sign", *["right"] * 12)
            assert machine.selected_line == machine.extent() - 1, "no lines for what is still to come"
            assert all(line.strip() for line in seen(machine)[: machine.extent()]), (
                "nothing beside it: no gaps"
            )
