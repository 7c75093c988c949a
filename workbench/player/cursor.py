"""The cursor: a place in a tape, and the ways that lead on from it."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from enum import StrEnum

from workbench.player.clock import Clock
from workbench.player.landmarks import Landmarks
from workbench.player.places import Place, Places
from workbench.player.player import Player

__all__ = ["Cursor", "Place", "Unit"]


class Unit(StrEnum):
    """What one goes by. A delta is everything that the client got: its status, heartbeats, whole messages."""

    STEP = "step"
    TRANSITION = "transition"
    READ = "read"
    DELTA = "delta"
    CALL = "call"
    FINDING = "finding"


class Cursor:
    """Stands at a step; -1 is before everything. The tape may still grow."""

    def __init__(
        self, player: Player, landmarks: Landmarks | None = None, clock: Clock | None = None
    ) -> None:
        self.player = player
        self.step = -1
        self.landmarks = landmarks or Landmarks(player)
        self._places = Places(player, self.landmarks, clock or Clock(player))

    def seek(self, unit: Unit, way: int) -> int | None:
        """The next step of its kind (`way` 1), or the one before (-1); None: there is none."""
        self.landmarks.catch_up()
        if unit is Unit.STEP:
            step = self.step + way
            return step if -1 <= step < self.player.steps else None
        upstream, machine, client = (rows.steps for rows in self.player.panes)
        if unit is Unit.TRANSITION:
            return _nearest(self.player.rows_of_moves, self.step, way, machine.__getitem__)
        if unit is Unit.READ:
            return _nearest(self.player.rows_of_reads, self.step, way, upstream.__getitem__)
        if unit is Unit.DELTA:
            return _nearest(client, self.step, way)
        steps = self.landmarks.calls if unit is Unit.CALL else self.landmarks.findings
        return _nearest(steps, self.step, way)

    def goto(self, text: str) -> Place:
        """The place that a person means; see `Places`."""
        return self._places.find(text, self.step)


def _nearest(
    numbers: array[int], step: int, way: int, step_of: Callable[[int], int] = lambda number: number
) -> int | None:
    if way > 0:
        at = bisect_right(numbers, step, key=step_of)
        return step_of(numbers[at]) if at < len(numbers) else None
    at = bisect_left(numbers, step, key=step_of) - 1
    return step_of(numbers[at]) if at >= 0 else None
