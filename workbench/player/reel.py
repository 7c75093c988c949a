"""A reel: a tape in memory, played in slices like one that is read from a file."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from workbench.player.player import Player
from workbench.tape import Line

_BATCH = 64  # lines between looks at the clock


class Source(Protocol):
    """Where a player's lines come from: a file that may still grow, or memory."""

    player: Player | None
    problem: str | None  # why this cannot be shown
    done: int
    size: int

    @property
    def name(self) -> str: ...

    @property
    def behind(self) -> bool: ...

    def advance(self, seconds: float) -> bool: ...


class Reel:
    """Lines that are all there already: a capture, a text, a variant of a tape."""

    def __init__(self, name: str, header: Mapping[str, Any], lines: Iterable[Line]) -> None:
        self.name = name
        self.player: Player | None = Player(header)
        self.problem: str | None = None
        self.lines = tuple(lines)
        self.done = 0  # lines played
        self.size = len(self.lines)

    @property
    def behind(self) -> bool:
        return self.done < self.size

    def advance(self, seconds: float) -> bool:
        """Play on for about so long; True when something new has come."""
        before, until = self.done, time.perf_counter() + seconds
        while self.behind:
            self._take(_BATCH)
            if time.perf_counter() >= until:
                break
        return self.done != before

    def play(self) -> Player:
        """All of it at once."""
        self._take(self.size)
        assert self.player is not None
        return self.player

    def _take(self, most: int) -> None:
        assert self.player is not None
        lines = self.lines[self.done : self.done + most]
        self.player.add(lines)
        self.done += len(lines)
