"""What is to be seen on a screen of the application, as text."""

from __future__ import annotations

import asyncio
from typing import Any

from textual.app import App
from textual.events import Paste
from textual.notifications import Notification
from textual.pilot import Pilot


def text_of(app: App[Any]) -> str:
    """All of it, line by line. Textual has no public way to this, so it stands here and nowhere else."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


def told_by(app: App[Any]) -> str:
    """What the notifications say."""
    return "\n".join(str(toast.render()) for toast in app.screen.query("Toast"))


def notifications_of(app: App[Any]) -> list[Notification]:
    """As they were sent. Textual has no public way to this either."""
    return list(app._notifications)


async def until_seen(pilot: Pilot[Any], *wanted: str, without: str | None = None) -> str:
    """All of the screen as soon as all of this is on it. What lasts longer is looked at less often: to draw
    the screen takes longer than most of what is waited for."""
    waited, pause = 0.0, 0.02
    while not _fits(text := text_of(pilot.app), wanted, without):
        assert waited < 30, f"{wanted!r} without {without!r} is not on the screen:\n{text}"
        await asyncio.sleep(pause)
        waited, pause = waited + pause, min(pause * 1.5, 0.2)
    await pilot.pause()
    return text


def _fits(text: str, wanted: tuple[str, ...], without: str | None) -> bool:
    return all(one in text for one in wanted) and (without is None or without not in text)


async def paste(pilot: Pilot[Any], text: str) -> None:
    """Into whatever has the focus, as a terminal does it: each key would be drawn by itself."""
    focused = pilot.app.screen.focused
    assert focused is not None
    focused.post_message(Paste(text))
    await pilot.pause()
