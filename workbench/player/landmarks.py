"""Landmarks: the steps of a tape that one wants to go to."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from transformer import Finding
from transformer.records import Level
from workbench.player.assembly import Assembly
from workbench.player.following import ALL, Follower
from workbench.player.panes import Pane
from workbench.player.player import Player

_MACHINE = int(Pane.MACHINE)
_LEVELS: tuple[Level, ...] = ("error", "warning", "info")  # the worst first


class Stretch(NamedTuple):
    """What is in a stretch of steps. `level` is that of its worst finding."""

    calls: int
    findings: int
    level: Level | None


class Landmarks(Follower):
    """Calls and findings, by their steps. What the proxy found is a line of the tape itself."""

    def __init__(self, player: Player, assembly: Assembly | None = None) -> None:
        super().__init__(player)
        self.assembly = assembly or Assembly(player)
        self.findings = array("q")
        self._by_level: dict[object, array[int]] = {level: array("q") for level in _LEVELS}

    @property
    def calls(self) -> array[int]:
        """The step with which each call began for the client."""
        return self.assembly.calls

    def steps_of(self, level: Level) -> array[int]:
        """The findings of a level."""
        return self._by_level[level]

    def within(self, first: int, last: int) -> Stretch:
        """What lies between two steps, both of them included; asked for every cell of a position bar."""
        calls, findings = (_count(steps, first, last) for steps in (self.calls, self.findings))
        found = (level for level in _LEVELS if _count(self._by_level[level], first, last))
        return Stretch(calls, findings, next(found, None))

    def catch_up(self, most: int = ALL) -> bool:
        has_calls = self.assembly.catch_up(most)
        return super().catch_up(most) and has_calls

    def _look(self, step: int, pane: int, ref: int) -> None:
        if pane != _MACHINE:
            return
        if ref < 0:
            self._found(step, self.player.lines[~ref].value.get("level"))
        elif isinstance(record := self.player.records[ref], Finding):
            self._found(step, record.level)

    def _found(self, step: int, level: object) -> None:
        self.findings.append(step)
        known = isinstance(level, str) and level in self._by_level
        self._by_level[level if known else "info"].append(step)


def _count(steps: array[int], first: int, last: int) -> int:
    return bisect_right(steps, last) - bisect_left(steps, first)
