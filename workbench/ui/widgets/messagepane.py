"""The message as a client has put it together up to a step."""

from __future__ import annotations

from typing import TypeAlias

from rich.style import Style
from textual.strip import Strip

from workbench.player.assembly import Assembly
from workbench.ui.display import strip_of, wrapped
from workbench.ui.widgets.rowpane import RowPane

_LABEL = 11  # cells
_MOST = 2_000  # lines of one text: what came before them can be seen by stepping back

Row: TypeAlias = tuple[str, str, str]  # label, text, look


class MessagePane(RowPane):
    """A row is a line of a text, of a call's arguments, or the end."""

    NAME = "Message"

    def __init__(self) -> None:
        super().__init__(id="message", classes="rowpane messagepane")
        self.border_title = "Message, as the client has it now"
        self.rows: list[Row] = []
        self.empty = "the client has got nothing yet"

    def show_message(self, assembly: Assembly, step: int) -> None:
        if not self.display:
            return
        rows = rows_of(assembly, step)
        if rows != self.rows:  # else somebody may be reading in it
            self._replace(rows)

    def clear(self) -> None:
        self._replace([])

    def _replace(self, rows: list[Row]) -> None:
        self.rows = rows
        self.top = max(0, len(self.rows) - self.size.height)
        self._known = len(self.rows)
        self._select(len(self.rows) - 1, follow=True)

    def count(self) -> int:
        return len(self.rows)

    def draw(self, row: int, width: int) -> Strip:
        label, text, look = self.rows[row]
        pieces = [(f"{label:{_LABEL}}", self.look("dim")), (text, self.look(look))]
        return strip_of(pieces, width, self.look("plain"))

    def opened(self, row: int, width: int, most: int) -> list[Strip]:
        _, text, look = self.rows[row]
        room = width - _LABEL
        if room < 8 or len(text) <= room:
            return []
        plain: Style = self.look("plain")
        indent = strip_of([(" " * _LABEL, plain)], _LABEL, plain)
        lines = wrapped([(text, self.look(look))], room, most, plain)
        return [Strip.join((indent, line)) for line in lines]

    def text(self, row: int) -> str:
        label, text, _ = self.rows[row]
        return f"{label:{_LABEL}}{text}"


def rows_of(assembly: Assembly, step: int) -> list[Row]:
    """The texts line by line, then the calls, then how it ended; of several choices one after the other."""
    message = assembly.assembled(step)
    rows: list[Row] = []
    for answered in message.choices:
        if len(message.choices) > 1:
            rows.append((f"choice {answered.index}", "", "dim"))
        for text in answered.reasoning.values():
            rows += _lines("reasoning", text, "plain")
        rows += _lines("content", answered.content, "bright")
        for number, call in enumerate(answered.calls):
            rows.append((f"call {number}", f"{call.name}  {call.id}", "good"))
            rows += _lines("", call.arguments, "bright")
        if answered.finish is not None:
            rows.append(("finish", answered.finish, "info"))
    if message.error is not None:
        rows.append(("error", message.error, "error"))
    return rows


def _lines(label: str, text: str, look: str) -> list[Row]:
    if not text:
        return []
    lines = text.split("\n")
    left_out = len(lines) - _MOST
    if left_out > 0:
        lines = [f"… {left_out:,} lines before this one", *lines[left_out:]]
    return [(label if number == 0 else "", line, look) for number, line in enumerate(lines)]
