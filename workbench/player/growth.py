"""A text that grew step by step."""

from __future__ import annotations

from array import array
from bisect import bisect_right


class Growth:
    """Knows with which step every piece came, so that the text at any step is one slice."""

    __slots__ = ("_new", "_text", "ends", "steps")

    def __init__(self) -> None:
        self._text = ""
        self._new: list[str] = []  # pieces that are not part of `_text` yet
        self.steps = array("q")
        self.ends = array("q")  # where each piece ends

    def __len__(self) -> int:
        """How many pieces it has."""
        return len(self.ends)

    def add(self, step: int, piece: str) -> None:
        self._new.append(piece)
        self.steps.append(step)
        self.ends.append((self.ends[-1] if self.ends else 0) + len(piece))

    @property
    def text(self) -> str:
        """All of it."""
        if self._new:
            self._text += "".join(self._new)
            self._new.clear()
        return self._text

    def upto(self, step: int) -> str:
        """As it was once a step had been made."""
        known = bisect_right(self.steps, step)
        return self.text[: self.ends[known - 1]] if known else ""

    def piece(self, number: int) -> tuple[int, int]:
        """Where a piece begins and ends."""
        return self.ends[number - 1] if number else 0, self.ends[number]
