"""The names of a view's parts in one line, the current one marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from workbench.ui.display import content


class PaneTabs(Static):
    """`1 About  2 JSON`: the digit is the key, a click does the same."""

    @dataclass
    class Chosen(Message):
        """Somebody clicked on a name."""

        number: int

    def __init__(self, first: int = 1) -> None:
        super().__init__("", id="view-tabs", markup=False)
        self._first = first  # the digit of the first name
        self.names: list[str] = []
        self.current = 0

    def show_names(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.set_class(len(self.names) < 2, "-alone")
        self.choose(self.current)

    def choose(self, number: int) -> None:
        self.current = number
        parts = []
        for at, label in enumerate(self._labels()):
            here = at == number
            parts.append(content(f"▸{label[1:]}" if here else label).stylize("bold reverse" if here else ""))
        self.update(Content.assemble(*parts))

    def _labels(self) -> list[str]:
        return [f" {number} {name} " for number, name in enumerate(self.names, self._first)]

    async def _on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        at = 0
        for number, label in enumerate(self._labels()):
            at += cell_len(label)
            if offset is not None and offset.x < at:
                self.post_message(self.Chosen(number))
                return
