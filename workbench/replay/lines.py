"""Where a player's lines come from: a tape file that may grow, or lines in memory; both in short slices."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from workbench.replay.player import Pane, Player
from workbench.tape.format import Line, TapeError, TapeReader, read_line
from workbench.tape.recipe import Wishes, wished

_BATCH = 64  # lines between looks at the clock
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none


class LineSource(Protocol):
    """Where a player's lines come from: a file that may still grow, or memory."""

    player: Player | None
    problem: str | None  # why this cannot be shown
    done: int
    size: int

    @property
    def name(self) -> str: ...

    @property
    def has_more(self) -> bool: ...

    def advance(self, seconds: float) -> bool: ...


class MemoryTape:
    """Lines that are all there already: a capture, a text, a variant of a tape."""

    def __init__(self, name: str, header: Mapping[str, Any], lines: Iterable[Line]) -> None:
        self.name = name
        self.player: Player | None = Player(header)
        self.problem: str | None = None
        self.lines = tuple(lines)
        self.done = 0  # lines played
        self.size = len(self.lines)

    @property
    def has_more(self) -> bool:
        return self.done < self.size

    def advance(self, seconds: float) -> bool:
        """Play on for about this long; True when something new has come."""
        before, until = self.done, time.perf_counter() + seconds
        while self.has_more:
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


_BLOCK = 8 << 10


class Tail:
    """Reads on from where it stopped. `player` is None until the header has come.

    With wishes it is a variant: the same reads, converted as the wishes say.
    """

    def __init__(self, path: Path, wishes: Wishes | None = None, *, follow: bool = False) -> None:
        """`follow`: the file may be a link. In a library it may not: a stranger may have left it there."""
        self.path = path
        self._follow = follow
        self.player: Player | None = None
        self.problem: str | None = None  # why this cannot be shown
        self.done = 0  # bytes read
        self.size = 0  # bytes there are
        self._reader = TapeReader()
        self._wishes = wishes if wishes != Wishes() else None

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def has_more(self) -> bool:
        """There is more to read right now."""
        return self.problem is None and self.done < self.size

    def advance(self, seconds: float) -> bool:
        """Read on for about this long; True when something new has come."""
        if self.problem is not None:
            return False
        before, until = self.done, time.perf_counter() + seconds
        try:
            with open(self.path, "rb", opener=self._opened) as file:
                self.size = file.seek(0, 2)
                if self.size < self.done:
                    raise TapeError("it was replaced by something shorter; open it again")
                file.seek(self.done)
                while self.done < self.size:
                    self._take(file.read(_BLOCK))
                    if time.perf_counter() >= until:
                        break
        except (OSError, TapeError) as error:
            self.problem = f"{self.path} cannot be shown: {error}"
        return self.done != before or self.problem is not None

    def _opened(self, path: str, _: int) -> int:
        """Waiting for a pipe, or reading a device to its end, would take for ever."""
        if not self._follow and self.path.parent.is_symlink():
            raise TapeError("its folder is a link")
        descriptor = os.open(path, _READ if self._follow else _READ | _NO_LINK)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise TapeError("it is not a file")

    def _take(self, data: bytes) -> None:
        self.done += len(data)
        lines = self._reader.feed(data)
        if self.done >= self.size:
            lines += self._reader.settle()
        if self.player is None and self._reader.header is not None:
            self.player = Player(self._header(self._reader.header))
        if self.player is not None:
            self.player.add(lines if self._wishes is None else (one for one in lines if not was_sent(one)))

    def _header(self, header: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._wishes is None:
            return header
        return wished(header, self._wishes) | {"variant_of": self.name}


class Unreadable:
    """A source that only says why there is nothing to show."""

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.player: Player | None = None
        self.problem: str | None = problem
        self.done = 0
        self.size = 0

    @property
    def has_more(self) -> bool:
        return False

    def advance(self, seconds: float) -> bool:
        return True


def was_sent(line: Line) -> bool:
    """Whether the transformer sent this when recorded, which says nothing about a variant."""
    return line.kind == "sent" and line.by is None


# An end line also summarises the original findings and calls, which say nothing about a variant.
_CAUSES = ("t", "end", "error", "message", "lost")


def causes_of(player: Player) -> list[Line]:
    """What upstream and the proxy did, in their order, without what the transformer sent. Where a person
    changed a held answer, it is the changed one, as if upstream had sent it."""
    causes: list[Line] = []
    for line in _causes(player):
        if (replacement := line.replacement) is not None:
            keep, reads = replacement
            ats = [at for at, one in enumerate(causes) if one.kind == "read"][keep:]
            causes = [one for at, one in enumerate(causes) if at not in {*ats}]
            causes += [read_line(line.t, data) for data in reads]
        elif line.kind not in ("hold", "release"):
            causes.append(line)
    return causes


def _causes(player: Player) -> Iterator[Line]:
    rows = [iter(pane.refs) for pane in player.panes]
    for pane in player.panes_of_steps:
        ref = next(rows[pane])
        if ref >= 0:
            if pane == Pane.UPSTREAM:
                yield read_line(player.times[ref], player.read(ref))
        elif not was_sent(line := player.lines[~ref]):
            yield (
                Line({key: line.value[key] for key in _CAUSES if key in line.value})
                if (line.kind == "end")
                else line
            )
