"""Every screen there is, on a library of attacks, one after the other: a program for a terminal.

    python -m tests.support.tour LIBRARY SEEN

The file SEEN gets the names of the screens that were shown. A screen that is new needs a line in `TOUR`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

import workbench.ui
from tests.support.hostile import HOSTILE
from workbench.cli.compare import opened
from workbench.proxy.asking import HeldAnswer
from workbench.proxy.process import ProcessExit
from workbench.replay.sources import replayables_of
from workbench.tape.recipe import Wishes
from workbench.ui.app import CompareApp, ReplayApp, WorkbenchApp
from workbench.ui.screens import problem
from workbench.ui.screens.held import HeldAnswers, HeldEditor, HeldScreen
from workbench.ui.screens.stream import StreamScreen

# Where to begin, and the keys that lead to the screen from there.
TOUR: dict[str, tuple[str, str]] = {
    "StreamScreen": ("stream", "ctrl+p down escape"),
    "DetailScreen": ("stream", "3 home down enter"),
    "WhyScreen": ("stream", "w"),
    "RequestScreen": ("stream", "r"),
    "EditScreen": ("stream", "r e"),
    "PromptLab": ("stream", "r p"),
    "TableScreen": ("stream", "t"),
    "SessionScreen": ("stream", "s"),
    "HelpScreen": ("stream", "question_mark"),
    "TrialScreen": ("stream", "T"),
    "ReplayScreen": ("replay", ""),
    "ListScreen": ("replay", "d"),
    "RewriteScreen": ("replay", "e"),
    "DifferenceScreen": ("replay", "D"),
    "PickerScreen": ("picker", ""),
    "CompareScreen": ("compare", ""),
    "ProblemScreen": ("problem", ""),
    "HeldScreen": ("held", ""),
    "HeldEditor": ("held", ""),
}
_SHOWN = ("problem", "held")  # screens that no key leads to here: they are made, and shown
_LOOK = ("end", "tab", "end", "tab", "pagedown")  # what may be pressed on any of them
_PATIENCE = 10.0


def screens() -> Iterator[type[Screen[Any]]]:
    """All screens that can be shown; base classes cannot."""
    for module in walk_packages(workbench.ui.__path__, "workbench.ui."):
        import_module(module.name)
    found = set(_below(Screen))
    for one in found:
        is_base = any(other.__bases__[0] is one for other in found)
        if one.__module__.startswith("workbench.") and (one.__name__ in TOUR or not is_base):
            yield one


def _below(of: type[Screen[Any]]) -> Iterator[type[Screen[Any]]]:
    for one in of.__subclasses__():
        yield one
        yield from _below(one)


def starts(library: Path) -> dict[str, App[Any]]:
    tapes = sorted(library.glob("tapes/*/*.jsonl"))
    good, malformed, sent = (
        next(str(tape) for tape in tapes if name in tape.name) for name in ("good", "malformed", "sent")
    )
    every = replayables_of([str(library / "tapes")], Wishes())
    return {
        "stream": WorkbenchApp(library),
        "replay": ReplayApp(replayables_of([sent], Wishes())),
        "picker": ReplayApp(every, pick=True),
        "compare": CompareApp(opened(good, Wishes()), opened(malformed, Wishes()), (HOSTILE, HOSTILE)),
        "problem": WorkbenchApp(library),
        "held": WorkbenchApp(library),
    }


class _HeldAnswers(HeldAnswers):
    """It holds an answer whose every word is an attack, and there is no proxy that could be asked."""

    async def look(self) -> None:
        tape = next(self.library.glob("tapes/*/*good*.jsonl"))
        self.held = [HeldAnswer("1", str(tape), HOSTILE, HOSTILE, 60.0, False, 0)]


def made(start: str, library: Path) -> list[Screen[Any]]:
    """The screens of `_SHOWN`."""
    if start == "held":
        return [HeldScreen(_HeldAnswers(library)), HeldEditor(HOSTILE, HOSTILE, lambda: 60.0)]
    return [
        problem.no_configuration(HOSTILE),
        problem.other_flags(HOSTILE, [HOSTILE]),
        problem.proxy_died(ProcessExit(1, (HOSTILE, HOSTILE))),
    ]


async def until(pilot: Pilot[Any], holds: Callable[[], Any], what: str) -> None:
    for _ in range(int(_PATIENCE / 0.02)):
        if holds():
            return
        await pilot.pause(0.02)
    raise AssertionError(f"{what}; there is {pilot.app.screen_stack}")


async def ready(pilot: Pilot[Any], start: str) -> Screen[Any]:
    """The screen that it begins with, filled."""
    await until(pilot, lambda: len(pilot.app.screen_stack) > 1, f"{start} begins")
    if start == "stream":
        screen = pilot.app.screen
        assert isinstance(screen, StreamScreen)
        await until(pilot, lambda: screen.catalogue.rows, "the list is filled")
        (good,) = (row.path for row in screen.catalogue.rows if "good" in row.path)
        assert screen._list.choose(good)
    await pilot.pause(0.2)
    return pilot.app.screen


async def visit(pilot: Pilot[Any], name: str, keys: str, seen: list[str]) -> None:
    first = pilot.app.screen
    for key in keys.split():
        await pilot.press(key)
        await pilot.pause()
    await until(pilot, lambda: type(pilot.app.screen).__name__ == name, f"{keys!r} opens {name}")
    await look(pilot, seen)
    for _ in range(10):
        if pilot.app.screen is first:
            return
        await pilot.press("escape")
        await pilot.pause()
    raise AssertionError(f"no way back from {name}")


async def look(pilot: Pilot[Any], seen: list[str]) -> None:
    screen = pilot.app.screen
    seen.append(type(screen).__name__)
    for key in _LOOK:
        await pilot.press(key)
    await pilot.pause()
    while pilot.app.screen is not screen and len(pilot.app.screen_stack) > 1:  # a key opened another one
        pilot.app.pop_screen()
    await pilot.pause(0.05)


def _is_on(screen: Screen[Any]) -> bool:
    return screen.is_mounted and screen.is_active


def _is_read(screen: HeldScreen) -> bool:
    return screen.player is not None


async def tour(start: str, app: App[Any], library: Path, seen: list[str]) -> None:
    async def drive(pilot: Pilot[Any]) -> None:
        await ready(pilot, start)
        for name, (begins, keys) in TOUR.items():
            if begins == start and start not in _SHOWN:
                await visit(pilot, name, keys, seen)
        for one in made(start, library) if start in _SHOWN else ():
            app.push_screen(one)
            await until(pilot, partial(_is_on, one), "it is shown")
            if isinstance(one, HeldScreen):
                await until(pilot, partial(_is_read, one), "the held answer is read")
            await look(pilot, seen)
            one.dismiss()
        app.exit()

    await app.run_async(auto_pilot=drive)
    if app._exception is not None:
        raise app._exception


def main() -> None:
    library, file = map(Path, sys.argv[1:3])
    seen: list[str] = []
    for start, app in starts(library).items():
        asyncio.run(tour(start, app, library, seen))
    file.write_text("\n".join(seen))


if __name__ == "__main__":
    main()
