"""Playing: the cursor in time moves by itself, as fast as it was recorded, or otherwise."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from workbench.player.playback import Playback

if TYPE_CHECKING:
    from workbench.ui.screens.replay import ReplayScreen

_FRAME = 1 / 30


class Playing:
    """One for a screen: the speed stays when another tape is opened."""

    def __init__(self, screen: ReplayScreen) -> None:
        self._screen = screen
        self._playback = Playback()

    @property
    def on(self) -> bool:
        return self._playback.playing

    @property
    def words(self) -> str:
        return self._playback.words if self.on or self._playback.changed else ""

    def begin(self) -> None:
        """The screen is there."""
        self._screen.set_interval(_FRAME, self._frame)

    def toggle(self) -> None:
        player, view = self._screen.player, self._screen.replay
        if self.on or player is None:
            self.stop()
            return
        if view.step >= player.steps - 1 and player.complete:
            view.move_to(-1)  # from the end there is only the beginning to play
        self._playback.play(player, view.step, monotonic(), view.timeline.clock if view.timeline else None)
        self._screen.tell()

    def stop(self) -> None:
        if self.on:
            self._playback.pause()
            self._screen.tell()

    def change_speed(self, way: int) -> None:
        change = self._playback.faster if way > 0 else self._playback.slower
        change(monotonic())
        self._screen.tell()

    def _frame(self) -> None:
        if not self.on:
            return
        before = self._screen.replay.step
        step = self._playback.advance(monotonic(), before, grows=self._screen.replay.growing)
        if not self._screen.runner.stopped_between(before, step) and step != before:
            self._screen.replay.move_to(step)
        if not self.on:
            self._screen.tell()
