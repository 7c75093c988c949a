"""The scene: a tape with all that breakpoints look at."""

from __future__ import annotations

from functools import cached_property

from workbench.player.assembly import Assembly
from workbench.player.breakpoints.toolnames import ToolNames
from workbench.player.channels import Channels
from workbench.player.clock import Clock
from workbench.player.player import Player
from workbench.player.tracks import Item


class Scene:
    """Keep it as long as the tape is open: what it has read of it once, it need not read again."""

    def __init__(self, player: Player, clock: Clock | None = None, assembly: Assembly | None = None) -> None:
        self.player = player
        self.clock = clock or Clock(player)
        self._assembly = assembly or Assembly(player)

    @cached_property
    def channels(self) -> Channels:
        return Channels(self.player)

    @cached_property
    def tools(self) -> ToolNames:
        return ToolNames(self.player, self._assembly)

    def item(self, step: int) -> Item:
        return self.player.item(*self.player.place(step))
