"""The conditions that a breakpoint can have."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

from transformer import Finding, Transition
from workbench.player.breakpoints.scene import Scene
from workbench.player.following import Follower
from workbench.player.panes import Pane
from workbench.tape import Line

_SHOWN = 60
ALL_PANES = tuple(Pane)


@dataclass(frozen=True, slots=True)
class Breakpoint(ABC):
    """One line. Whether a step is a hit depends on nothing but the tape: so it is the same both ways."""

    source: str

    def __str__(self) -> str:
        return self.source

    @property
    def panes(self) -> Sequence[Pane]:
        """Only the rows of these can be hits."""
        return (Pane.MACHINE,)

    def needs(self, scene: Scene) -> Follower | None:
        """What has to be caught up with the tape before anybody asks."""
        return None

    @abstractmethod
    def hit(self, scene: Scene, step: int) -> str | None:
        """What happens with a step, if it is what is waited for."""


@dataclass(frozen=True, slots=True)
class Entering(Breakpoint):
    """A machine enters a state."""

    pattern: re.Pattern[str] = field(compare=False)

    def hit(self, scene: Scene, step: int) -> str | None:
        item = scene.item(step)
        if not isinstance(item, Transition) or not _fits(self.pattern, item.to):
            return None
        return None if _fits(self.pattern, item.state) else f"enters {item.to} by {item.rule}"


@dataclass(frozen=True, slots=True)
class ByRule(Breakpoint):
    """A machine follows a rule."""

    pattern: re.Pattern[str] = field(compare=False)

    def hit(self, scene: Scene, step: int) -> str | None:
        item = scene.item(step)
        if not isinstance(item, Transition) or not _fits(self.pattern, item.rule):
            return None
        return f"{item.rule} in state {item.state}"


@dataclass(frozen=True, slots=True)
class Finds(Breakpoint):
    """There is something to tell."""

    pattern: re.Pattern[str] = field(compare=False)

    def hit(self, scene: Scene, step: int) -> str | None:
        item = scene.item(step)
        if isinstance(item, Finding):
            code, message = item.code, item.message
        elif isinstance(item, Line):
            code, message = str(item.value.get("finding")), str(item.value.get("message"))
        else:
            return None
        return f"{code}: {message}" if _fits(self.pattern, code) else None


@dataclass(frozen=True, slots=True)
class Matching(Breakpoint):
    """A text, wherever rows cut it."""

    regex: re.Pattern[str] = field(compare=False)
    where: tuple[Pane, ...]

    @property
    def panes(self) -> Sequence[Pane]:
        return self.where

    def needs(self, scene: Scene) -> Follower | None:
        return scene.channels

    def hit(self, scene: Scene, step: int) -> str | None:
        found = scene.channels.match(self.regex, step)
        if found is None:
            return None
        pane = scene.player.place(step)[0].name.lower()
        return f"“{found if len(found) <= _SHOWN else f'{found[:_SHOWN]}…'}” in the {pane} pane"


@dataclass(frozen=True, slots=True)
class Calling(Breakpoint):
    """A call of a tool."""

    pattern: re.Pattern[str] = field(compare=False)

    @property
    def panes(self) -> Sequence[Pane]:
        return ALL_PANES

    def needs(self, scene: Scene) -> Follower | None:
        return scene.tools

    def hit(self, scene: Scene, step: int) -> str | None:
        name = next((name for name in scene.tools.at(step) if _fits(self.pattern, name)), None)
        return None if name is None else f"a call of {name}"


@dataclass(frozen=True, slots=True)
class HeldMuch(Breakpoint):
    """More characters are held back than that. The same hold is no hit again."""

    characters: int

    @property
    def panes(self) -> Sequence[Pane]:
        return ALL_PANES

    def hit(self, scene: Scene, step: int) -> str | None:
        held = self._held(scene, step)
        if held <= self.characters or self._held(scene, step - 1) > self.characters:
            return None
        return f"{held} characters are held back"

    def _held(self, scene: Scene, step: int) -> int:
        held = scene.player.held_at(step) if step >= 0 else None
        return 0 if held is None else held.characters


@dataclass(frozen=True, slots=True)
class HeldLong(Breakpoint):
    """Something has been held back for longer than that when a step is made, be it the one that ends it."""

    seconds: float

    @property
    def panes(self) -> Sequence[Pane]:
        return ALL_PANES

    def needs(self, scene: Scene) -> Follower | None:
        return scene.clock

    def hit(self, scene: Scene, step: int) -> str | None:
        since = self._since(scene, step)
        if since is None or since == self._since(scene, step - 1):
            return None
        held = scene.player.held_at(step - 1)
        assert held is not None
        passed = scene.clock.of(step) - since
        return f"{held.characters} characters have been held back for {passed:.3f} s"

    def _since(self, scene: Scene, step: int) -> float | None:
        """When the hold began that is too long by the time of a step."""
        held = scene.player.held_at(step - 1) if step > 0 else None
        if held is None or scene.clock.of(step) - held.since <= self.seconds:
            return None
        return held.since


def _fits(pattern: re.Pattern[str], name: str) -> bool:
    return pattern.match(name.lower()) is not None
