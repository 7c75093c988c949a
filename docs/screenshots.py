"""Makes the pictures of the README: the real program on tapes, with a fixed clock.

python docs/screenshots.py
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

DOCS = Path(__file__).resolve().parent
sys.path[0] = str(DOCS.parent)

from textual.pilot import Pilot  # noqa: E402

from workbench.demo.launch import Tips, first_tape  # noqa: E402
from workbench.demo.scripts import read_script  # noqa: E402
from workbench.files import samples_dir  # noqa: E402
from workbench.library.index import rebuild  # noqa: E402
from workbench.replay.sources import replayables_of  # noqa: E402
from workbench.tape.format import Tape, dump_tape, make_header, read_tape  # noqa: E402
from workbench.tape.recipe import Wishes  # noqa: E402
from workbench.ui.app import ReplayApp, WorkbenchApp  # noqa: E402
from workbench.ui.opentape import OpenTape  # noqa: E402
from workbench.ui.screens.stream import StreamScreen  # noqa: E402

NOW = 1_790_000_000.0
IDLE = 3.1  # seconds since the live tape last grew
PATIENCE = 20.0
# The newest first: a sample, its session, how many seconds ago it began.
LIBRARY = (
    ("roo-xml/unclosed-parameter", "ses_demo_first", 0),
    ("kimi-k2/good-two-calls", "ses_refactoring", 40),
    ("kimi-k2/call-in-reasoning", "ses_refactoring", 55),
    ("qwen3-coder/cut-by-length", "ses_tests", 80),
    ("qwen3-coder/good-said-and-called", "ses_tests", 95),
    ("roo-xml/good-read", "ses_tests", 120),
    ("passthrough/tools-but-passthrough", "ses_wrong_dialect", 300),
)
STREAMED = "roo-xml/good-multi-line"


@dataclass(frozen=True, slots=True)
class Picture:
    """A file in docs, the size of its terminal, and the keys that lead there."""

    name: str
    size: tuple[int, int]
    keys: tuple[str, ...] = ()
    live: bool = False
    replay: str = ""  # the sample that is stepped through; "samples": the picker


PICTURES = (
    Picture("demo-200x50", (200, 50)),
    Picture("demo-120x40", (120, 40)),
    Picture("demo-80x24", (80, 24)),
    Picture("live", (160, 44), live=True),
    Picture("request", (160, 44), ("r",)),
    Picture("table", (160, 44), ("t",)),
    Picture("detail", (120, 40), ("enter",)),
    Picture("replay", (160, 44), ("right",) * 10, replay="roo-xml/unclosed-parameter"),
    Picture("why", (120, 30), ("n", "w"), replay="roo-xml/unclosed-parameter"),
    Picture("variant", (160, 44), ("n", "w", "1"), replay="roo-xml/unclosed-parameter"),
    Picture("samples", (120, 36), ("f",), replay="samples"),
)


def make_library(folder: Path, live: bool) -> Path:
    """The same tapes every time; `live`: the newest one has not ended."""
    tapes = folder / "tapes" / "2026-09-21"
    tapes.mkdir(parents=True)
    for number, (sample, session, ago) in enumerate(LIBRARY):
        tape = _recorded(sample, session, NOW - ago) if number else first_tape(NOW, read_script())
        (tapes / f"{tape.header['started']:.0f}-{number:02}.jsonl").write_bytes(dump_tape(tape))
    rebuild(folder)
    if live:
        tape = _recorded(STREAMED, "ses_live", NOW + 10, pid=os.getpid())  # somebody writes it
        cut = replace(tape, lines=tape.lines[: len(tape.lines) * 3 // 4])
        (tapes / "running.jsonl").write_bytes(dump_tape(cut))
        rebuild(folder)
    return folder


def _recorded(sample: str, session: str, started: float, **more: Any) -> Tape:
    """A sample as if a proxy had recorded it."""
    tape = read_tape(samples_dir() / f"{sample}.jsonl")
    told = {key: value for key, value in tape.header.items() if key != "tape"}
    told |= {"started": started, "session": session, "stream": True, "kind": "chat", **more}
    return replace(tape, header=make_header(**told))


class Tour(WorkbenchApp):
    """As the demo begins, without its traffic."""

    CSS_PATH: ClassVar = [DOCS.parent / "workbench" / "ui" / name for name in WorkbenchApp.CSS_PATH]

    def __init__(self, library: Path, guided: bool) -> None:
        super().__init__(library)
        self.guided = guided

    def begin(self) -> None:
        screen = self.show_library(self._library)
        if self.guided:
            screen.guide(Tips())


class Steps(ReplayApp):
    """A replay."""

    CSS_PATH: ClassVar = Tour.CSS_PATH


async def take(picture: Picture, library: Path) -> str:
    app = Tour(library, guided=not picture.live)
    async with app.run_test(size=picture.size) as pilot:
        screen = app.screen
        assert isinstance(screen, StreamScreen)
        await until(pilot, lambda: screen.player is not None and screen.player.reads > 5)
        await until(pilot, lambda: picture.live or not screen.view.prove)
        await pilot.press(*picture.keys)
        await settle(pilot)
        return app.export_screenshot(title="workbench")


async def step_through(picture: Picture) -> str:
    """The same in the replay, on a sample."""
    picks = picture.replay == "samples"
    name = picture.replay if picks else str(samples_dir() / f"{picture.replay}.jsonl")
    app = Steps(replayables_of([name], Wishes()), pick=picks)
    async with app.run_test(size=picture.size) as pilot:
        await until(pilot, lambda: picks or app.screen.player is not None)  # type: ignore[attr-defined]
        await settle(pilot)
        for key in picture.keys:
            await pilot.press(key)
            await pilot.pause(0.05)
        await settle(pilot)
        return app.export_screenshot(title="workbench")


async def settle(pilot: Pilot[Any]) -> None:
    """What is read in the background, and its frames."""
    for _ in range(20):
        await asyncio.sleep(0.05)
        await pilot.pause()


async def until(pilot: Pilot[Any], holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("the screen does not come")
        await pilot.pause(0.02)


def main() -> None:
    os.environ["TZ"] = "UTC"
    time.tzset()
    for live in (False, True):
        with tempfile.TemporaryDirectory(prefix="workbench-docs.") as folder:
            library = make_library(Path(folder) / "library", live)
            for picture in PICTURES:
                if picture.live == live:
                    save(picture, library)


def save(picture: Picture, library: Path) -> None:
    with patch.object(OpenTape, "idle", IDLE):
        svg = asyncio.run(step_through(picture) if picture.replay else take(picture, library))
    path = DOCS / f"{picture.name}.svg"
    path.write_text(svg, encoding="utf-8")
    print(path.relative_to(DOCS.parent), f"{len(svg):,} bytes")


if __name__ == "__main__":
    main()
