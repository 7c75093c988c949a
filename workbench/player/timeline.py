"""The timeline of a tape: everything that is known about its steps, made as the tape grows."""

from __future__ import annotations

from workbench.player.assembly import Assembly
from workbench.player.breakpoints.scene import Scene
from workbench.player.clock import Clock
from workbench.player.cursor import Cursor
from workbench.player.landmarks import Landmarks
from workbench.player.player import Player


class Timeline:
    """One look at every row serves all who ask; in slices, for a long tape has hundreds of thousands."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.clock = Clock(player)
        self.assembly = Assembly(player)
        self.landmarks = Landmarks(player, self.assembly)
        self.cursor = Cursor(player, self.landmarks, self.clock)
        self.scene = Scene(player, self.clock, self.assembly)

    def catch_up(self, most: int) -> bool:
        """Look at so many of the rows that came since; True: all that there are have been looked at."""
        landmarks = self.landmarks.catch_up(most)
        return self.clock.catch_up(most) and landmarks
