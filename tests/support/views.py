"""A tiny application that opens one view over nothing, and ways to look at it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from tests.support.project import ROOT
from tests.support.screens import text_of
from tests.support.streams import sse
from tests.support.tiers import only_exhaustive
from workbench.files import samples_dir
from workbench.replay.lines import Tail
from workbench.replay.player import Player
from workbench.tape.format import dump_line, end_line, make_header, read_line, status_line
from workbench.ui.screens.request import Resent
from workbench.ui.screens.view import FilesFolder
from workbench.ui.widgets.textpane import TextPane

STYLES = ROOT / "workbench" / "ui" / "styles.tcss"
SIZES = [(80, 24), (200, 50)]
each_size = pytest.mark.parametrize("size", only_exhaustive(SIZES, quick=SIZES[:1]))
# Escapes, C1, bidirectional controls, half a character, markup that would crash or act.
HOSTILE = "\x1b[2J\x1b]0;t\x07\x9b31m\u202eevil\u202c\x00\x7f [/x] [@click=app.quit]press[/] [bold red]"
HALF = "\ud800"
# What a terminal obeys instead of drawing it.
_STEERS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class ViewApp(App[None]):
    """Shows one screen; keeps what it returned and what it told."""

    CSS_PATH = STYLES

    def __init__(self, view: Screen[Any]) -> None:
        super().__init__()
        self.view: Any = view  # tests look into it
        self.results: list[Any] = []
        self.files = FilesFolder()
        self.resent: list[Resent] = []
        self.pilot: Pilot[None]

    def on_mount(self) -> None:
        self.push_screen(self.view, self.results.append)

    def on_resent(self, event: Resent) -> None:
        self.resent.append(event)

    async def show(self, view: Screen[Any]) -> None:
        """Another screen in place of the previous one; starting an application would take longer."""
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self.clear_notifications()
        self.view, self.results = view, []
        await self.push_screen(view, self.results.append)
        await self.settle()

    @property
    def seen(self) -> list[str]:
        """The lines on the screen, none of which may contain anything that controls a terminal."""
        lines = text_of(self).split("\n")
        for line in lines:
            found = _STEERS.search(line)
            assert found is None, f"{found[0]!r} is on the screen: {line!r}"
        return lines

    def sees(self, *texts: str) -> bool:
        shown = "\n".join(line.rstrip() for line in self.seen)
        return all(text in shown for text in texts)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def settle(self) -> None:
        """Until every document is laid out. A pause ends with the layout of the screen, and only the next one
        waits until the parts have heard of it."""
        await self.pilot.pause()
        await self.until(lambda: not any(pane.busy for pane in self.screen.query(TextPane)), "the layout")

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        for _ in range(1000):
            await self.pilot.pause()
            if condition():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"{what} did not happen; on the screen:\n" + "\n".join(self.seen))


@asynccontextmanager
async def shown(view: Screen[Any], size: tuple[int, int] = (120, 26)) -> AsyncIterator[ViewApp]:
    app = ViewApp(view)
    async with app.run_test(size=size, notifications=True) as pilot:
        app.pilot = pilot
        await app.settle()
        yield app


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


def sample(name: str) -> Player:
    """A sample as the screen has it once it is read."""
    tail = Tail(samples_dir() / f"{name}.jsonl")
    while tail.advance(1):
        pass
    assert tail.player is not None, tail.problem
    return tail.player


def played(*reads: bytes, dialect: str = "roo-xml", **header: Any) -> Player:
    """A tape made on the spot."""
    player = Player(make_header("made by a test", dialect, ids="x", now=0, **header))
    lines = [status_line(0.1, "upstream", 200, [("content-type", HOSTILE)])]
    lines += [read_line(0.2 + number / 100, part) for number, part in enumerate(reads)]
    player.add([*lines, end_line(0.9, "done")])
    return player


def hostile_player(**header: Any) -> Player:
    """A stream in which every text is an attack."""
    call = f"{HOSTILE}\n<read_file>\n<path>{HOSTILE}</path>\n</read_file>"
    events = [{"choices": [{"delta": {"content": part}}]} for part in (*call.partition("<path>"), HALF)]
    data = json.dumps(events[-1]).encode() + b"\n\n"
    reads = [sse(event, done=False) for event in events[:-1]]
    asked = {"model": HOSTILE, "messages": [{"role": "user", "content": HOSTILE}], "tools": [hostile_tool()]}
    return played(*reads, b"data: " + data, HOSTILE.encode(), request=asked, **header)


def hostile_tool() -> Mapping[str, Any]:
    parameters = {"type": "object", "properties": {"path": {"type": "string", "description": HOSTILE}}}
    function = {"name": "read_file", "description": HOSTILE, "parameters": parameters}
    return {"type": "function", "function": function}


def write_tape(path: Path, header: Mapping[str, Any], reads: Iterable[bytes]) -> Path:
    lines = [read_line(number / 100, part) for number, part in enumerate(reads)]
    path.write_bytes(dump_line(header) + b"".join(map(dump_line, [*lines, end_line(1, "done")])))
    return path
