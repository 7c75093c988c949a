"""What goes wrong only when somebody uses the screen: lists that change, tapes that grow, keys in a hurry."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from rich.style import Style
from textual import events

from tests.support.libraries import make_library
from tests.support.live import SAMPLES, Driver, driving
from workbench.demo.launch import Tips
from workbench.files import samples_dir
from workbench.library.index import rebuild
from workbench.replay.lines import Tail
from workbench.replay.player import Pane
from workbench.ui.display import shortened
from workbench.ui.screens.stream import StreamScreen
from workbench.ui.widgets.exchanges import Catalogue
from workbench.ui.widgets.panes import alarm


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return make_library(tmp_path, SAMPLES)


def growing(library: Path, lines: int) -> tuple[Path, list[bytes]]:
    """A tape of which only some lines are there yet, and the others."""
    tape = library / "tapes" / "2026-11-16" / "000099-roo-xml-unclosed-call.jsonl"
    all_lines = tape.read_bytes().splitlines(keepends=True)
    tape.write_bytes(b"".join(all_lines[:lines]))
    return tape, all_lines[lines:]


def add(tape: Path, *lines: bytes) -> None:
    with tape.open("ab") as file:
        file.writelines(lines)


async def an_empty_list_takes_every_key(driver: Driver) -> None:
    await driver.press("f")
    await driver.type("model:nobody")
    await driver.until(lambda: not driver.list.entries, "nothing fits")
    assert "no exchange fits" in driver.text(driver.list)
    await driver.press("j", "k", "g", "G", "pagedown", "pageup", "y", "s", "n", "v", "0", "j")
    assert isinstance(driver.app.screen, StreamScreen)


async def keys_in_a_hurry_reach_the_part_that_was_chosen(driver: Driver) -> None:
    await driver.press("1", "G")
    machine = driver.pane(Pane.MACHINE)
    for event in (events.Key("2", "2"), events.Key("g", "g")):
        driver.app.post_message(event)  # both are in the queue before one is worked on
    await driver.until(lambda: machine.cursor == 0, "g is for the machine pane")
    assert driver.screen.focused is machine and not machine.follow


async def test_enter_in_the_list_goes_into_the_exchange(library: Path):
    async with driving(library, (80, 24)) as driver:
        await driver.press("0", "enter")
        assert driver.screen.focused is driver.pane(Pane.MACHINE)
        assert driver.pane(Pane.MACHINE).size.height > 3


async def test_the_names_of_the_columns_stay_in_sight(library: Path):
    async with driving(library, (120, 30)) as driver:
        await driver.press("0", "G")
        assert driver.text(driver.list).splitlines()[0].split()[:2] == ["time", "▼"]
        await driver.press("g")
        assert driver.list.top == 0 and driver.list.cursor == 0
        assert driver.text(driver.list).splitlines()[0].split()[:2] == ["time", "▼"]


async def test_the_wheel_at_the_end_changes_nothing(library: Path):
    async with driving(library, (120, 24)) as driver:
        await driver.press("1", "G", "up", "down")
        upstream = driver.pane(Pane.UPSTREAM)
        top, cursor = upstream.top, upstream.cursor
        assert top > 0 and upstream.follow
        upstream.scroll_rows(3)
        assert (upstream.top, upstream.cursor, upstream.follow) == (top, cursor, True)


@pytest.mark.exhaustive  # quick: the wheel at the end, above
async def test_the_wheel_turns_the_right_way_whatever_is_open(library: Path):
    async with driving(library, (120, 24)) as driver:
        await driver.press("1", "G")
        upstream = driver.pane(Pane.UPSTREAM)
        while upstream.top:
            top = upstream.top
            upstream.scroll_rows(-1)
            assert upstream.top == top - 1
        assert not upstream.follow
        while not upstream.follow:
            top = upstream.top
            upstream.scroll_rows(1)
            assert upstream.top > top or upstream.follow
        assert upstream.cursor == upstream.count() - 1


@pytest.mark.exhaustive  # quick: test_stream: a selected delta
async def test_rows_that_belong_together_stay_together_while_more_come(library: Path):
    tape, rest = growing(library, 12)
    async with driving(library) as driver:
        assert driver.list.choose(str(tape.relative_to(library)))
        await driver.until(lambda: driver.screen.view.tape.path == tape, "it")
        await driver.press("1", "G", "up")
        upstream, machine, client = (driver.pane(pane) for pane in Pane)
        places = [pane.cursor for pane in (upstream, machine, client)]
        add(tape, *rest)
        await driver.until(lambda: upstream.fresh and client.fresh, "new rows are counted")
        assert [pane.cursor for pane in (upstream, machine, client)] == places
        assert all("new ↓" in str(pane.border_subtitle) for pane in (upstream, client))
        assert upstream.highlighted
        await driver.press("G")
        assert upstream.follow and not upstream.fresh


@pytest.mark.exhaustive  # quick: test_stream: a selected read
async def test_what_was_lit_goes_out_when_the_cursor_follows(library: Path):
    tape, rest = growing(library, 12)
    async with driving(library) as driver:
        assert driver.list.choose(str(tape.relative_to(library)))
        await driver.until(lambda: driver.screen.view.tape.path == tape, "it")
        await driver.press("1", "up", "G")
        upstream = driver.pane(Pane.UPSTREAM)
        assert upstream.highlighted
        add(tape, *rest)
        await driver.until(lambda: driver.screen.player and driver.screen.player.complete, "the rest")
        await driver.until(lambda: upstream.cursor == upstream.count() - 1, "it follows")
        assert not upstream.highlighted


async def n_and_search_begin_again_at_the_top(driver: Driver) -> None:
    assert driver.list.choose("tapes/2026-11-16/000099-roo-xml-unclosed-call.jsonl")
    await driver.until(lambda: driver.screen.player and driver.screen.player.findings, "its findings")
    machine = driver.pane(Pane.MACHINE)
    await driver.press("2", "G", "n")
    first = machine.cursor
    await driver.press("G", "slash", *"<path>", "enter")
    await driver.until(lambda: "<path>" in machine.text(machine.cursor), "a match above")
    assert machine.cursor < first or first == 0


async def escape_closes_the_prompt_and_goes_back(driver: Driver) -> None:
    prompt = driver.screen.query_one("#prompt")
    await driver.press("3", "f", "escape")
    assert not prompt.display and driver.screen.focused is driver.pane(Pane.CLIENT)
    await driver.press("f")
    driver.screen.set_focus(driver.pane(Pane.UPSTREAM))  # a click beside it
    await driver.press("escape")
    assert not prompt.display


@pytest.mark.exhaustive  # quick: test_stream: search in a pane
async def test_a_search_survives_another_tape(library: Path):
    async with driving(library) as driver:
        await driver.press("1", "g", "slash", *"nowhere", "enter")
        driver.screen.view.open(Tail(library / "tapes" / "nothing.jsonl"))
        await driver.press("n")
        assert driver.pane(Pane.UPSTREAM).count() == 0
        assert isinstance(driver.app.screen, StreamScreen)


async def test_a_tape_that_is_deleted_while_it_is_shown_is_told_of(library: Path):
    async with driving(library) as driver:
        chosen = driver.list.chosen
        assert chosen is not None
        rows = driver.pane(Pane.UPSTREAM).count()
        (library / chosen.row.path).unlink()
        bar = driver.screen.view.bar
        await driver.until(lambda: "cannot be shown" in str(bar.render()), "the bar says so")
        assert driver.pane(Pane.UPSTREAM).count() == rows


async def test_a_library_that_comes_back_is_seen(library: Path):
    async with driving(library) as driver:
        shutil.rmtree(library)
        await driver.until(lambda: not driver.screen.catalogue.connected, "it is gone")
        target = library / "tapes" / "2026-11-16"
        target.mkdir(parents=True)
        shutil.copy(samples_dir() / "roo-xml" / "good-read.jsonl", target / "000001-new.jsonl")
        rebuild(library)
        await driver.until(lambda: driver.list.chosen and "new" in driver.list.chosen.row.path, "it is back")


def test_what_a_filter_knows_of_a_tape_counts_until_it_knows_better(library: Path):
    tape, rest = growing(library, 12)
    rebuild(library)
    catalogue = Catalogue(library)
    catalogue.filter_by('text:"Let me"')
    catalogue.poll()
    for row in catalogue.undecided:
        tail = Tail(library / row.path)
        tail.advance(5)
        catalogue.decide(row, tail)
    name = str(tape.relative_to(library))
    assert name in _paths(catalogue)
    add(tape, *rest)
    rebuild(library)
    assert name in _paths(catalogue), "it stays while it is looked into again"
    assert [row.path for row in catalogue.undecided] == [name]


def _paths(catalogue: Catalogue) -> list[str]:
    return [entry.row.path for entry in catalogue.poll() or () if hasattr(entry, "row")]


@pytest.mark.parametrize("running", [True, False])
def test_only_a_stream_that_runs_holds_anything_back(library: Path, running: bool):
    tape, _ = growing(library, 14)
    tail = Tail(tape)
    tail.advance(5)
    assert tail.player is not None
    assert bool(tail.player.held_at(tail.player.steps - 1))
    assert ("HELD BACK" in alarm(tail.player, None, running, idle=3600)) is running


async def selected_text_is_copied_until_the_cursor_moves(driver: Driver) -> None:
    await driver.press("2", "g")
    machine = driver.pane(Pane.MACHINE)
    last = machine.size.height - 2
    await driver.pilot.mouse_down(machine, offset=(1, 1))
    await driver.pilot.hover(machine, offset=(20, last))
    await driver.pilot.mouse_up(machine, offset=(20, last))
    await driver.press("y")
    lines = driver.app.clipboard.splitlines()
    assert len(lines) > 3 and not any(line.endswith(" ") for line in lines)
    await driver.press("j", "y")
    assert driver.app.clipboard == machine.copied(1)


async def test_the_rail_begins_where_the_call_does(tmp_path: Path):
    library = make_library(tmp_path, ["roo-xml/unclosed-parameter"])
    async with driving(library) as driver:
        upstream, player = driver.pane(Pane.UPSTREAM), driver.screen.player
        assert player is not None
        rails = {
            player.read(read).decode().split('"content":"')[-1].split('"')[0]: upstream.text(row)[:3]
            for read, row in enumerate(player.rows_of_reads)
        }
        marker = {
            text: rail for text, rail in rails.items() if text in ("<read_", "file>\\n", "</read", "_file>")
        }
        assert len(marker) == 4 and set(marker.values()) == {" 1▌"}, rails


async def the_guide_notices_a_step(driver: Driver) -> None:
    tips = Tips()
    driver.screen.guide(tips)
    await driver.press("v")
    assert "Step with the arrows" in tips.line
    await driver.press("up")
    await driver.until(lambda: "Lit rows belong together" in tips.line, "the next tip")
    assert "Step with the arrows" not in tips.line


def test_a_megabyte_is_not_measured_to_show_some_lines():
    shown = list(shortened([("a", Style()), ("b" * 1_000_000, Style()), ("c", Style())], 100))
    assert [len(text) for text, _ in shown] == [1, 100] and shown[-1][0].endswith("b…")


def test_text_that_flows_is_not_held_back(library: Path):
    """The blank at the end of each piece is undecided, and leaves with the next one."""
    tape = library / "tapes" / "2026-11-16" / "000099-roo-xml-unclosed-call.jsonl"
    lines = tape.read_bytes().splitlines(keepends=True)[:3]
    for number in range(20):
        event = f'data: {{"choices":[{{"index":0,"delta":{{"content":"word{number} "}}}}]}}\n\n'
        lines.append(json.dumps({"t": 1.0 + number, "read": event}).encode() + b"\n")
    tape.write_bytes(b"".join(lines))
    tail = Tail(tape)
    tail.advance(5)
    assert tail.player is not None
    held = tail.player.held_at(tail.player.steps - 1)
    assert held is not None and (held.characters, held.since) == (1, 20.0)


CHECKS = (
    keys_in_a_hurry_reach_the_part_that_was_chosen,
    n_and_search_begin_again_at_the_top,
    escape_closes_the_prompt_and_goes_back,
    selected_text_is_copied_until_the_cursor_moves,
    the_guide_notices_a_step,
    an_empty_list_takes_every_key,
)


async def test_keys_where_the_library_stays_as_it_is(library: Path):
    """One application for all: to start it takes longer than most of the checks."""
    async with driving(library) as driver:
        for check in CHECKS:
            await driver.anew()
            await check(driver)
