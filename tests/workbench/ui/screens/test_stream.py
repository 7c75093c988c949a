"""The stream screen, driven by keys and mouse."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.libraries import make_library
from tests.support.live import SAMPLES, Driver, driving
from tests.support.tiers import exhaustive, only_exhaustive
from transformer import Delta, Finding, Transition
from workbench.replay.player import Pane
from workbench.ui.screens.detail import WhyScreen
from workbench.ui.screens.replay import ReplayScreen
from workbench.ui.screens.stream import StreamScreen
from workbench.ui.widgets.tapepane import TapePane


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_library(tmp_path_factory.mktemp("ui"), SAMPLES)


async def the_newest_exchange_is_open(driver: Driver) -> None:
    assert len([entry for entry in driver.list.entries if hasattr(entry, "row")]) == len(SAMPLES)
    chosen = driver.list.chosen
    assert chosen is not None and driver.screen.player is not None
    assert driver.screen.player.header["dialect"] == chosen.row.dialect


async def a_selected_delta_lights_its_transition_and_its_bytes(driver: Driver) -> None:
    path = "tapes/2026-11-16/000098-roo-xml-good-read.jsonl"
    assert driver.list.choose(path)
    await driver.until(lambda: str(driver.screen.view.tape.path).endswith(path), "the tape is open")
    await driver.until(lambda: driver.screen.player and driver.screen.player.complete, "the tape is read")
    player = driver.screen.player
    assert player is not None
    client, machine = driver.pane(Pane.CLIENT), driver.pane(Pane.MACHINE)
    seen = 0
    for row in range(client.count()):
        item = player.item(Pane.CLIENT, row)
        if not isinstance(item, Delta) or item.kind != "content":
            continue
        client.go(row)
        await driver.pilot.pause()
        related = player.item(Pane.MACHINE, machine.cursor)
        assert isinstance(related, Transition) and machine.is_highlighted(related)
        raw = b"".join(bytes(player.data[start:end]) for start, end in client.highlighted)
        assert raw.decode() == item.text, "the very characters"
        read = driver.pane(Pane.UPSTREAM).item(driver.pane(Pane.UPSTREAM).cursor)
        assert isinstance(read, int) and item.text.encode() in player.read(read)
        seen += 1
        if seen == 4 and not exhaustive():
            break
    assert seen > 3, "the tape has prose"


async def a_selected_read_lights_what_it_became(driver: Driver) -> None:
    player = driver.screen.player
    assert player is not None
    upstream, client = driver.pane(Pane.UPSTREAM), driver.pane(Pane.CLIENT)
    for read in range(0, player.reads, 1 if exhaustive() else 3):
        upstream.go(player.rows_of_reads[read])
        await driver.pilot.pause()
        wanted = [
            row
            for row in range(client.count())
            if isinstance(delta := player.item(Pane.CLIENT, row), Delta)
            and any(
                start < player.read_end(read) and end > player.starts[read]
                for start, end in player.bytes_of(delta)
            )
        ]
        lit = [row for row in range(client.count()) if client.is_highlighted(player.item(Pane.CLIENT, row))]
        assert lit == wanted


async def v_goes_to_the_row_that_proves_the_verdict(driver: Driver) -> None:
    assert driver.list.choose("tapes/2026-11-16/000099-roo-xml-unclosed-call.jsonl")
    await driver.until(lambda: driver.screen.player and driver.screen.player.findings, "its findings")
    await driver.press("v")
    machine = driver.pane(Pane.MACHINE)
    assert driver.screen.focused is machine
    item = machine.item(machine.cursor)
    assert isinstance(item, Finding) and item.code == "truncated-call"
    assert "truncated-call" in driver.text(machine)


async def moving_stops_following_and_counts_what_is_new(driver: Driver) -> None:
    await driver.press("1")
    upstream = driver.pane(Pane.UPSTREAM)
    await driver.press("G")
    assert upstream.follow
    await driver.press("up", "k")
    assert not upstream.follow and upstream.cursor == upstream.count() - 3
    await driver.press("g")
    assert upstream.cursor == 0
    await driver.press("end")
    assert upstream.follow and upstream.cursor == upstream.count() - 1


async def pause_freezes_the_view(driver: Driver) -> None:
    await driver.press("space")
    assert driver.screen.view.tape.at is not None
    assert all(pane.step is not None for pane in driver.screen.query(TapePane))
    await driver.press("space")
    assert driver.screen.view.tape.at is None


async def search_in_a_pane(driver: Driver) -> None:
    assert driver.list.choose("tapes/2026-11-16/000099-roo-xml-unclosed-call.jsonl")
    await driver.until(lambda: driver.screen.player and driver.screen.player.complete, "the tape is read")
    await driver.press("2", "g", "slash", *"PATH", "enter")
    machine = driver.pane(Pane.MACHINE)
    await driver.until(lambda: "<path>" in machine.text(machine.cursor), "the first match")
    first = machine.cursor
    await driver.press("n")
    await driver.until(lambda: machine.cursor > first, "the second match")
    await driver.press("N")
    await driver.until(lambda: machine.cursor == first, "back again")


@pytest.mark.parametrize("size", only_exhaustive([(80, 24), (120, 40), (200, 50)], quick=[(80, 24)]))
async def test_every_part_can_be_seen_at_every_size(library: Path, size: tuple[int, int]):
    async with driving(library, size) as driver:
        for key, name in (("1", "upstream"), ("2", "machine"), ("3", "client"), ("0", "exchanges")):
            await driver.press(key)
            part = driver.screen.query_one(f"#{name}")
            assert driver.screen.focused is part and part.size.height > 3 and part.size.width > 20
        await driver.press("2", "z")
        assert driver.pane(Pane.MACHINE).size.width > size[0] * 0.5
        await driver.press("escape")


async def the_mouse_selects(driver: Driver) -> None:
    upstream = driver.pane(Pane.UPSTREAM)
    await driver.press("1", "g")
    await driver.pilot.click(upstream, offset=(10, 3))
    assert upstream.cursor == 2


async def every_action_is_in_the_palette(driver: Driver) -> None:
    await driver.press("1")
    offered = {command.title for command in driver.app.get_system_commands(driver.screen)}
    for active in driver.screen.active_bindings.values():
        if active.binding.id and not active.binding.system:
            assert active.binding.description in offered
            assert active.binding.tooltip, active.binding
    assert {"Why", "Search", "Pause", "Zoom", "Exact", "Quit"} <= offered


async def exact_shows_the_framing(driver: Driver) -> None:
    await driver.press("1", "g")
    upstream = driver.pane(Pane.UPSTREAM)
    before = driver.text(upstream).count("data: {")
    await driver.press("x")
    assert driver.text(upstream).count("data: {") > before + 3


async def a_filter_and_a_wrong_one(driver: Driver) -> None:
    await driver.press("f")
    await driver.type("dialekt:kimi")
    problem = driver.screen.query_one("#prompt-problem")
    assert problem.display and "dialect" in str(problem.render())
    await driver.type("dialect:kimi*")
    await driver.until(lambda: len(driver.list.entries) == 1, "only one exchange")
    assert driver.list.chosen is not None and driver.list.chosen.row.dialect == "kimi-k2"
    await driver.press("f")
    await driver.type('text:"src/main"')
    await driver.until(
        lambda: [e.row.dialect for e in driver.list.entries if hasattr(e, "row")] == ["roo-xml"] * 2,
        "what only the tapes can tell",
    )
    await driver.press("f")
    await driver.type("")
    await driver.until(lambda: len(driver.list.entries) == 3, "all of them again")


async def the_clipboard_gets_the_row(driver: Driver) -> None:
    await driver.press("3", "g", "y")
    assert "HTTP 200" in driver.app.clipboard


VIEWS = {
    "enter": "DetailScreen", "r": "RequestScreen", "t": "TableScreen", "s": "SessionScreen",
    "question_mark": "HelpScreen",
}  # fmt: skip


async def each_view_opens_and_closes(driver: Driver) -> None:

    def shows(name: str) -> bool:
        return type(driver.app.screen).__name__ == name

    await driver.press("2", "g")
    for key, name in VIEWS.items():
        await driver.press(key)
        await driver.until(partial(shows, name), name)
        await driver.press("escape")
        await driver.until(lambda: isinstance(driver.app.screen, StreamScreen), "back")


async def a_rule_of_the_table_leads_to_its_row(driver: Driver) -> None:
    await driver.press("2", "G", "t")
    await driver.until(lambda: type(driver.app.screen).__name__ == "TableScreen", "the table")
    await driver.press("enter")
    await driver.until(lambda: isinstance(driver.app.screen, StreamScreen), "back")
    assert driver.screen.focused is driver.pane(Pane.MACHINE)


async def one_key_opens_the_replay_at_the_selected_row(driver: Driver) -> None:
    await driver.press("2", "g", "down", "down", "down")
    step, path = driver.screen.view.selected_step(), driver.screen.view.tape.path
    await driver.press("p")
    replay = driver.app.screen
    assert isinstance(replay, ReplayScreen)
    await driver.until(lambda: replay.player is not None and replay.player.complete, "the tape is read")
    assert replay.model.step == step and replay.view.tape.path == path
    await driver.press("right", "escape")
    await driver.until(lambda: isinstance(driver.app.screen, StreamScreen), "back")


@pytest.mark.exhaustive  # quick: one key opens the replay; test_replay: a tape that grows
async def test_a_running_exchange_can_be_replayed(tmp_path: Path):
    """The tape goes on growing behind the cursor."""
    library = make_library(tmp_path, ["roo-xml/good-read"])
    (tape,) = (library / "tapes").rglob("*.jsonl")
    lines = tape.read_bytes().splitlines(keepends=True)
    tape.write_bytes(b"".join(lines[: len(lines) // 2]))
    async with driving(library) as driver:
        await driver.press("1", "p")
        replay = driver.app.screen
        assert isinstance(replay, ReplayScreen)
        await driver.until(lambda: replay.player is not None and replay.player.steps, "its first half")
        assert replay.player is not None and not replay.player.complete
        await driver.press(">")
        step = replay.model.step
        with tape.open("ab") as file:
            file.write(b"".join(lines[len(lines) // 2 :]))
        player = replay.player
        await driver.until(lambda: player.complete, "the other half")
        assert replay.model.step == step
        await driver.press(">")
        assert replay.model.step == replay.player.steps - 1 > step


async def why_in_the_live_screen_and_its_change_in_the_replay(driver: Driver) -> None:
    await driver.until(lambda: (player := driver.screen.player) and player.complete, "the tape is read")
    await driver.press("v", "w")
    assert isinstance(driver.app.screen, WhyScreen)
    assert driver.app.screen.why.remedies
    await driver.press("1")
    await driver.until(lambda: isinstance(driver.app.screen, ReplayScreen), "the replay")
    replay: Any = driver.app.screen
    await driver.until(lambda: replay.model.is_variant, "the variant")
    assert replay.player.completion["choices"][0]["message"]["tool_calls"]


CHECKS = (
    the_newest_exchange_is_open,
    moving_stops_following_and_counts_what_is_new,
    a_selected_read_lights_what_it_became,
    a_selected_delta_lights_its_transition_and_its_bytes,
    v_goes_to_the_row_that_proves_the_verdict,
    pause_freezes_the_view,
    search_in_a_pane,
    the_mouse_selects,
    every_action_is_in_the_palette,
    exact_shows_the_framing,
    the_clipboard_gets_the_row,
    each_view_opens_and_closes,
    a_rule_of_the_table_leads_to_its_row,
    one_key_opens_the_replay_at_the_selected_row,
    a_filter_and_a_wrong_one,
    why_in_the_live_screen_and_its_change_in_the_replay,
)


async def test_what_can_be_done_with_a_library(library: Path):
    """One application for all: to start it takes longer than most of the checks."""
    async with driving(library) as driver:
        for check in CHECKS:
            await driver.anew()
            await check(driver)
