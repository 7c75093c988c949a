"""What is to be seen on a screen of the application, as text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from time import monotonic
from typing import Any

from textual.app import App
from textual.events import Paste
from textual.geometry import Region
from textual.notifications import Notification
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input, TextArea

# What the screen says before any request: then it can be used.
WAITING = "waiting for the first exchange"


def text_of(app: App[Any]) -> str:
    """All of it, line by line. Textual has no public API for this, so it is only here."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


def draw_own_widgets(app: App[Any], within: Collection[Region]) -> None:
    """All lines of those of our widgets that can be seen there."""
    for widget in app.screen.query():
        if type(widget).__module__.startswith("workbench.") and _can_be_seen(widget, within):
            for y in range(widget.size.height):
                widget.render_line(y)


def _can_be_seen(widget: Widget, within: Collection[Region]) -> bool:
    return widget.is_on_screen and any(widget.region.overlaps(region) for region in within)


def told_by(app: App[Any]) -> str:
    """What the notifications say."""
    return "\n".join(str(toast.render()) for toast in app.screen.query("Toast"))


def notifications_of(app: App[Any]) -> list[Notification]:
    """As they were sent. Textual has no public API for this either."""
    return list(app._notifications)


async def until(pilot: Pilot[Any], holds: Callable[[], Any], what: str) -> None:
    """Waits until this holds; if that takes a while, also until nothing is left to be done."""
    begun, pause = monotonic(), 0.01
    if holds():
        return
    while not holds():
        assert monotonic() < begun + 30, f"{what} did not happen; on the screen:\n{text_of(pilot.app)}"
        await asyncio.sleep(pause)
        pause = min(pause * 1.3, 0.1)
    if pilot.app.is_running:
        await pilot.pause()


async def until_seen(pilot: Pilot[Any], *wanted: str, without: str | None = None) -> str:
    """All of the screen as soon as all of this is on it. The longer it lasts, the less often it is checked:
    drawing the screen takes longer than most waits."""
    begun, pause = monotonic(), 0.02
    while not _fits(text := text_of(pilot.app), wanted, without):
        assert monotonic() < begun + 30, f"{wanted!r} without {without!r} is not on the screen:\n{text}"
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 0.2)
    await pilot.pause()
    return text


def _fits(text: str, wanted: tuple[str, ...], without: str | None) -> bool:
    return all(one in text for one in wanted) and (without is None or without not in text)


async def paste(pilot: Pilot[Any], text: str) -> None:
    """Into the line that has the focus, as a terminal does it: each key would be drawn on its own."""
    await until(
        pilot, lambda: isinstance(pilot.app.screen.focused, Input | TextArea), "something to paste into"
    )
    focused = pilot.app.screen.focused
    assert focused is not None
    focused.post_message(Paste(text))
    await pilot.pause()
