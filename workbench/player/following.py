"""Following: every row of a tape looked at once, in the order of steps, while the tape grows."""

from __future__ import annotations

from workbench.player.player import Player

ALL = 1 << 62  # more rows than any tape has


class Follower:
    """What is derived from the rows of a tape. It reads on from where it stopped."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self._next = 0  # the step to look at
        self._rows = [0, 0, 0]  # of each pane, so many have been looked at

    def catch_up(self, most: int = ALL) -> bool:
        """Look at the rows that came since, but not at more than so many; True: there are none left."""
        player, rows = self.player, self._rows
        panes, refs = player.panes_of_steps, [rows.refs for rows in player.panes]
        end = min(player.steps, self._next + most)
        for step in range(self._next, end):
            pane = panes[step]
            row = rows[pane]
            rows[pane] = row + 1
            self._next = step + 1
            self._look(step, pane, refs[pane][row])
        return end == player.steps

    def _look(self, step: int, pane: int, ref: int) -> None:
        """`ref` is the row's number, as `Tracks` explains it."""
        raise NotImplementedError
