"""Things to choose from, a line each, with what there is to say about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.ui.widgets.document import Pieces, Sheet

_MOST = 40  # cells that the names may take


@dataclass(frozen=True, slots=True)
class Choice:
    """`current` is what is in force now."""

    name: str
    note: str = ""
    current: bool = False


class ChoiceList(Sheet):
    """A row of the screen is a choice; the one that is in force is marked."""

    def __init__(self, choices: Sequence[Choice], chosen: int = 0) -> None:
        super().__init__()
        self.choices = list(choices)
        self.chosen = chosen

    @property
    def goal(self) -> int:
        return max(0, min(self.chosen, len(self.choices) - 1))

    def _rows(self, width: int) -> Iterator[None]:
        names = max((len(choice.name) for choice in self.choices), default=0)
        room = min(names, _MOST, max(8, width - 6))
        for choice in self.choices:
            self._made.append(self._row(choice, room))
            yield

    def _row(self, choice: Choice, room: int) -> Pieces:
        sign = "▸ " if choice.current else "  "
        look = "strong" if choice.current else "plain"
        return [(sign, "good"), (f"{choice.name:{room}}  ", look), (choice.note, "dim")]

    def opened(self, row: int) -> Pieces:
        choice = self.choices[row]
        return [(choice.note, "dim")] if len(choice.note) > max(0, self._width - _MOST) else []
