"""A tape file read as it grows, in slices that never take long."""

from __future__ import annotations

import time
from pathlib import Path

from workbench.player.player import Player
from workbench.tape import TapeError, TapeReader

_BLOCK = 16 << 10


class Tail:
    """Reads on from where it stopped. `player` is None until the header has come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.player: Player | None = None
        self.problem: str | None = None  # why this cannot be shown
        self.done = 0  # bytes read
        self.size = 0  # bytes there are
        self._reader = TapeReader()

    @property
    def behind(self) -> bool:
        """There is more to read right now."""
        return self.problem is None and self.done < self.size

    def advance(self, seconds: float) -> bool:
        """Read on for about so long; True when something new has come."""
        if self.problem is not None:
            return False
        before, until = self.done, time.perf_counter() + seconds
        try:
            with self.path.open("rb") as file:
                self.size = file.seek(0, 2)
                file.seek(self.done)
                while self.done < self.size:
                    self._take(file.read(_BLOCK))
                    if time.perf_counter() >= until:
                        break
        except (OSError, TapeError) as error:
            self.problem = f"{self.path} cannot be shown: {error}"
        return self.done != before or self.problem is not None

    def _take(self, data: bytes) -> None:
        self.done += len(data)
        lines = self._reader.feed(data)
        if self.player is None and self._reader.header is not None:
            self.player = Player(self._reader.header)
        if self.player is not None:
            self.player.add(lines)
