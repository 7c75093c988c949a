"""The rows of a pane: numbers only, so that a hundred thousand of them weigh next to nothing."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from enum import IntEnum


class Pane(IntEnum):
    """Where a row is shown."""

    UPSTREAM = 0
    MACHINE = 1
    CLIENT = 2


class Rows:
    """One pane. A row refers to something by its number: see `Player` for what that is.

    `steps` says at which step each row became known; it only ever grows.
    """

    __slots__ = ("refs", "steps")

    def __init__(self) -> None:
        self.refs = array("q")
        self.steps = array("q")

    def __len__(self) -> int:
        return len(self.refs)

    def add(self, ref: int, step: int) -> None:
        self.refs.append(ref)
        self.steps.append(step)

    def known_at(self, step: int) -> int:
        """How many rows there are once `step` has been made."""
        return bisect_right(self.steps, step)

    def after(self, step: int) -> int | None:
        """The next step that makes a row here."""
        at = bisect_right(self.steps, step)
        return self.steps[at] if at < len(self.steps) else None

    def before(self, step: int) -> int | None:
        """The last step before this one that made a row here."""
        at = bisect_left(self.steps, step) - 1
        return self.steps[at] if at >= 0 else None
