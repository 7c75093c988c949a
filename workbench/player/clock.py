"""The clock of a tape: when each step happened."""

from __future__ import annotations

from array import array
from bisect import bisect_right

from workbench.player.following import Follower
from workbench.player.panes import Pane
from workbench.player.player import Player

_UPSTREAM = int(Pane.UPSTREAM)


class Clock(Follower):
    """Seconds since the start, for every step. It never goes back, whatever times a tape has."""

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self._times = array("d")
        self._now = 0.0

    @property
    def end(self) -> float:
        """The time of the last step."""
        return self._now

    def of(self, step: int) -> float:
        """When a step happened; 0 before the first one."""
        return self._times[step] if step >= 0 else 0.0

    def at(self, seconds: float) -> int:
        """The last step that had happened by then; -1: none."""
        return bisect_right(self._times, seconds) - 1

    def _look(self, step: int, pane: int, ref: int) -> None:
        # What a machine does takes no time: it happens when the read comes that leads to it.
        if ref < 0:
            self._now = max(self._now, self.player.lines[~ref].t)
        elif pane == _UPSTREAM:
            self._now = max(self._now, self.player.times[ref])
        self._times.append(self._now)
