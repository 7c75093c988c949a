"""The comparison on the screen opens where the two differ first; which two are compared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.live import Driver, driving
from tests.support.project import SAMPLES
from tests.support.screens import until_seen
from tests.support.tapes import tape_of
from tests.support.tiers import only_exhaustive
from workbench.lab.plan import make_variants, read_case
from workbench.lab.store import create_try
from workbench.lab.suite import plan_of
from workbench.library.index import rebuild
from workbench.replay.player import Player
from workbench.tape.format import Tape, dump_tape, read_tape
from workbench.tape.recipe import Wishes
from workbench.ui.app import CompareApp
from workbench.ui.screens.compare import CompareScreen
from workbench.ui.screens.replay import ReplayScreen
from workbench.ui.screens.request import RequestScreen

TAPE = read_tape(SAMPLES / "roo-xml" / "unclosed-parameter.jsonl")
GOOD = "roo-xml/good-read"


def shot(app: Any, name: str) -> None:
    """A picture, where somebody wants to look at it."""
    if folder := os.environ.get("WORKBENCH_SHOTS"):
        app.save_screenshot(f"{name}-{app.size.width}.svg", folder)


# quick: the one with the least room
@pytest.mark.parametrize("size", only_exhaustive([(80, 24), (200, 50)], quick=[(80, 24)]))
async def test_it_opens_at_the_first_divergence(size: tuple[int, int]):
    players = [Player(TAPE.header), Player(TAPE.header, Wishes(switches={"malformed": "repair"}))]
    for player in players:
        player.add(TAPE.lines)
    app = CompareApp(players[0], players[1], ("as it was", "repaired"))
    async with app.run_test(size=size) as pilot:
        await until_seen(pilot, "they differ first in message", "finish_reason: tool_calls")
        shot(app, "compare-message")
        await pilot.press("3")
        await until_seen(pilot, "path: src/main.py")
        await pilot.press("4")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, CompareScreen) and screen.pane is not None
        first = screen.pane.cursor
        shot(app, "compare-machine")
        await pilot.press("end", "N")
        await pilot.pause()
        assert screen.pane.cursor >= first, "N goes back to a difference"
        await pilot.press("escape")
    assert app.return_value == 0


def library_of(folder: Path) -> Path:
    """Three exchanges: a good one, the same sent again and gone wrong, one that a try made of a sample."""
    library = folder / "library"
    tapes = library / "tapes" / "2026-01-02"
    tapes.mkdir(parents=True)
    made = create_try(
        library, plan_of([read_case(SAMPLES / f"{GOOD}.jsonl")], make_variants((), (), (), ()), 1)
    )
    bad = tape_of("roo-xml/unclosed-call")
    labels = {"try_id": made.id, "case": made.plan.cases[0].name, "prompt": "mine"}
    written: tuple[tuple[str, Tape, dict[str, str]], ...] = (
        ("000001-aaaaaaaa", tape_of(GOOD), {}),
        ("000002-bbbbbbbb", bad, {"resend_of": "aaaaaaaa"}),
        ("000003-cccccccc", bad, labels),
    )
    for number, (name, tape, more) in enumerate(written):
        header = {**tape.header, "id": name[7:], "started": 1767312000.0 + number, "session": "ses_1", **more}
        (tapes / f"{name}.jsonl").write_bytes(dump_tape(Tape(header, tape.lines)))
    rebuild(library)
    return library


async def opened(driver: Driver, kind: type) -> Any:
    await driver.until(lambda: isinstance(driver.app.screen, kind), kind.__name__)
    return driver.app.screen


# quick: one with the list beside the panes; the smallest one above
@pytest.mark.parametrize("size", only_exhaustive([(80, 24), (120, 40), (200, 50)], quick=[(120, 40)]))
async def test_which_two_are_compared(tmp_path: Path, size: tuple[int, int]):
    async with driving(library_of(tmp_path), size=size) as driver:
        compared = driver.screen._list
        await driver.press("0", "g")
        # Sent again by a try from a tape that is in no library: the plan of the try knows it.
        await driver.press("equals_sign")
        screen = await opened(driver, CompareScreen)
        await driver.until(lambda: screen.comparison is not None, "it is compared")
        assert screen.titles[0] == "good-read" and screen.left.header["request"]
        await driver.press("escape")
        # Sent again from another exchange: said in the list and in the request, which opens it as well.
        await driver.press("j")
        await driver.until(lambda: driver.screen.player is not None
                           and driver.screen.player.header["id"] == "bbbbbbbb", "the next one")  # fmt: skip
        shot(driver.app, "compare-list")
        await driver.press("r")
        request = await opened(driver, RequestScreen)
        await driver.until(lambda: "sent again from aaaaaaaa" in str(request._head.render()), "its origin")
        await driver.press("equals_sign")
        screen = await opened(driver, CompareScreen)
        assert screen.titles[0] == "aaaaaaaa"
        await driver.press("escape", "escape")
        # Two that are chosen, the first one at the left.
        await driver.press("c", "G", "c")
        assert len(compared.compared) == 2 and "−" in driver.text(compared) and "+" in driver.text(compared)
        shot(driver.app, "compare-chosen")
        await driver.press("equals_sign")
        screen = await opened(driver, CompareScreen)
        assert [player.header["id"] for player in (screen.left, screen.right)] == ["bbbbbbbb", "aaaaaaaa"]
        await driver.until(lambda: screen.comparison is not None and not screen.panes[1].busy, "compared")
        await driver.pilot.pause()
        shot(driver.app, "compare-two")
        await driver.press("escape", "c")
        assert len(compared.compared) == 1


async def test_a_replay_that_is_left_goes_on_where_it_was(tmp_path: Path):
    async with driving(library_of(tmp_path)) as driver:
        await driver.press("p")
        replay = await opened(driver, ReplayScreen)
        await driver.press("less_than_sign", "right", "right", "right")
        await driver.until(lambda: replay.model.step > 1, "some steps")
        step = replay.model.step
        await driver.press("q")
        await driver.until(lambda: driver.app.screen is driver.screen, "back")
        await driver.press("p")
        again = await opened(driver, ReplayScreen)
        assert again is not replay
        await driver.until(lambda: again.model.step == step, "the step that was left")
        # A variant beside its original: the rows that are gone are there, and the original is one key away.
        await driver.press("exclamation_mark")
        await driver.until(lambda: again.model.is_variant, "the answer is cut here")
        await driver.press("equals_sign")
        screen = await opened(driver, CompareScreen)
        await driver.until(lambda: screen.comparison is not None, "compared")
        assert screen.titles[0] == "the original" and "cut after byte" in screen.titles[1]
        machine = screen.comparison.sections[3]
        assert any(line.kind == "removed" for line in machine.lines), "rows that are gone"
        await driver.press("escape", "O")
        await driver.until(lambda: "ORIGINAL" in again.model.variant, "the original")
        await driver.press("O", "u", "U")
        assert again.model.is_variant and "VARIANT cut after byte" in again.model.variant
