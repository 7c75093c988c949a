"""What the screens look like. After a wanted change: pytest -k snapshots --snapshot-update."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.support.libraries import make_library
from tests.support.tiers import only_exhaustive
from workbench.files import samples_dir
from workbench.replay.sources import replayables_of
from workbench.tape.recipe import Wishes
from workbench.ui.app import ReplayApp, WorkbenchApp
from workbench.ui.screens.problem import port_taken
from workbench.ui.screens.stream import StreamScreen

SAMPLES = (
    "roo-xml/unclosed-parameter",
    "roo-xml/good-read",
    "qwen3-coder/good-two-calls",
    "kimi-k2/missing-id",
)


@pytest.fixture(autouse=True)
def _fixed_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The list shows local times."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_library(tmp_path_factory.mktemp("snapshots"), SAMPLES)


def after(*keys: str, sample: str = SAMPLES[0]) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Open a sample, then press keys; each of them is worked on before the next."""

    async def run(pilot: Pilot[Any]) -> None:
        screen = await _stream_screen(pilot)
        name = f"{99 - SAMPLES.index(sample):06}-{sample.replace('/', '-')}.jsonl"
        screen.choose(screen.library / "tapes" / "2026-11-16" / name)
        await _settle(pilot, lambda: screen.view.tape.path is not None and screen.view.tape.path.name == name)
        await _settle(pilot, lambda: screen.player is not None and screen.player.complete)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.05)
        await pilot.pause(0.3)

    return run


async def _stream_screen(pilot: Pilot[Any]) -> StreamScreen:
    await _settle(pilot, lambda: isinstance(pilot.app.screen, StreamScreen))
    screen = pilot.app.screen
    assert isinstance(screen, StreamScreen)
    await _settle(pilot, lambda: screen.player is not None)
    return screen


async def _settle(pilot: Pilot[Any], holds: Callable[[], Any]) -> None:
    for _ in range(500):
        if holds():
            break
        await asyncio.sleep(0.01)
    assert holds()
    await pilot.pause()


CASES: dict[str, tuple[tuple[int, int], Callable[[Pilot[Any]], Awaitable[None]]]] = {
    "malformed, the proof selected": ((200, 50), after("v")),
    "a good call, a delta selected": ((160, 40), after("3", "g", "down", "down", sample=SAMPLES[1])),
    "two calls": ((120, 40), after("2", "G", sample=SAMPLES[2])),
    "narrow": ((80, 24), after("2", "g", "down")),
    "zoomed": ((120, 30), after("1", "g", "down", "down", "x", "z")),
    "a filter that is wrong": ((120, 30), after("f", *"modell:x", "enter")),
    "detail": ((120, 40), after("v", "enter")),
    "request": ((120, 40), after("r")),
    "table": ((120, 40), after("v", "t")),
    "help": ((120, 40), after("2", "question_mark")),
}
QUICK = ("malformed, the proof selected", "narrow", "detail")


@pytest.mark.parametrize("name", only_exhaustive(list(CASES), quick=QUICK))
def test_it_looks_as_before(snap_compare: Any, library: Path, name: str):
    size, run = CASES[name]
    assert snap_compare(WorkbenchApp(library), terminal_size=size, run_before=run)


def stepping(*keys: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Keys in the replay; each of them is worked on before the next."""

    async def run(pilot: Pilot[Any]) -> None:
        screen: Any = pilot.app.screen
        await _settle(pilot, lambda: screen.player is not None and screen.player.complete)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.05)
        await _settle(pilot, lambda: not screen.model.trying)
        panes = screen.view.panes  # what changed is found out in the background
        await _settle(pilot, lambda: not screen.model.is_variant or all(pane.changed for pane in panes))
        await pilot.pause(0.3)

    return run


REPLAYS: dict[str, tuple[str, tuple[int, int], Callable[[Pilot[Any]], Awaitable[None]]]] = {
    "inside the value": (SAMPLES[0], (120, 40), stepping(*["right"] * 10)),
    "narrow, at the finding": (SAMPLES[0], (80, 24), stepping("n")),
    "why": (SAMPLES[0], (120, 40), stepping("n", "w")),
    "a variant": (SAMPLES[0], (160, 44), stepping("n", "w", "1", ">")),
    "the second call": (SAMPLES[2], (200, 50), stepping(")", ")")),
    "what if": (SAMPLES[0], (120, 30), stepping("d")),
}
QUICK_REPLAYS = ("narrow, at the finding", "a variant")


@pytest.mark.parametrize("name", only_exhaustive(list(REPLAYS), quick=QUICK_REPLAYS))
def test_the_replay_looks_as_before(snap_compare: Any, name: str):
    sample, size, run = REPLAYS[name]
    replayables = replayables_of([str(samples_dir() / f"{sample}.jsonl")], Wishes(), None, None)
    assert snap_compare(ReplayApp(replayables), terminal_size=size, run_before=run)


def test_a_problem_looks_as_before(snap_compare: Any, tmp_path: Path):
    async def show(pilot: Pilot[Any]) -> None:
        pilot.app.push_screen(port_taken(8788))
        await pilot.pause(0.3)

    assert snap_compare(WorkbenchApp(tmp_path), terminal_size=(80, 24), run_before=show)
