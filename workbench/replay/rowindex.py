"""Indexes over the rows of a tape: each looks at every row once, a slice at a time, while the tape grows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right

from workbench.replay.player import Item, Pane, Player

ALL = 1 << 62  # more rows than any tape has
_UPSTREAM = int(Pane.UPSTREAM)


class RowIndex(ABC):
    """Data derived from the rows of a tape. It continues where it stopped.

    A slice costs what its rows cost, however long the tape is. A caller that needs a certain step asks for
    slices until `known` is beyond it; one that only shows what there is asks for one slice per frame.
    """

    def __init__(self, player: Player) -> None:
        self.player = player
        self._next = 0  # the step to look at
        self._rows = [0, 0, 0]  # rows looked at so far, by pane

    @property
    def known(self) -> int:
        """How many steps it has fully processed."""
        return self._next

    def catch_up(self, most: int = ALL) -> bool:
        """Look at the rows that came since, up to a limit; True: there are none left."""
        player, rows = self.player, self._rows
        panes, refs = player.panes_of_steps, [rows.refs for rows in player.panes]
        lines, records = player.lines, player.records
        for step in range(self._next, min(self._reach(), self._next + most)):
            pane = panes[step]
            row = rows[pane]
            ref = refs[pane][row]
            rows[pane], self._next = row + 1, step + 1
            self._look(step, lines[~ref] if ref < 0 else ref if pane == _UPSTREAM else records[ref])
        return self._next == player.steps

    def _reach(self) -> int:
        """How many steps can be looked at; an index that needs another one cannot go further than that."""
        return self.player.steps

    @abstractmethod
    def _look(self, step: int, item: Item) -> None:
        """Process the row of the next step."""


class GrowingText:
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

    def piece_of(self, character: int) -> int:
        """The piece that a character is in."""
        return bisect_right(self.ends, character)

    def piece(self, number: int) -> tuple[int, int]:
        """Where a piece begins and ends."""
        return self.ends[number - 1] if number else 0, self.ends[number]
