"""What is to be seen on a screen of the application, as text."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.notifications import Notification


def text_of(app: App[Any]) -> str:
    """All of it, line by line. Textual has no public way to this, so it stands here and nowhere else."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


def told_by(app: App[Any]) -> str:
    """What the notifications say."""
    return "\n".join(str(toast.render()) for toast in app.screen.query("Toast"))


def notifications_of(app: App[Any]) -> list[Notification]:
    """As they were sent. Textual has no public way to this either."""
    return list(app._notifications)
