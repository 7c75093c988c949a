"""Where in the exchange we are: a line in words, and a bar on which calls, findings and marks stand."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from workbench.ui.display import strip_of


@dataclass(frozen=True, slots=True)
class Signs:
    """Steps that have one sign on the bar, in order."""

    sign: str
    look: str
    steps: Sequence[int]

    def within(self, first: int, behind: int) -> int | None:
        """The first of them from `first` on, and before `behind`."""
        at = bisect_left(self.steps, first)
        return self.steps[at] if at < len(self.steps) and self.steps[at] < behind else None


class PositionBar(Widget):
    """Every cell of the bar is a share of the steps. A click goes there: to the sign, where one stands."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "position--words", "position--alarm", "position--line", "position--done", "position--here",
        "position--error", "position--warning", "position--call", "position--mark", "position--info",
    }  # fmt: skip

    @dataclass
    class Chosen(Message):
        """Somebody clicked on the bar."""

        step: int

    def __init__(self) -> None:
        super().__init__(id="position")
        self.tooltip = "● a call, ✖ ▲ · findings, ◆ a mark: click to go there"
        self.place = ""  # what is said in any case
        self.words = ""
        self.alarm = ""
        self.step = -1
        self.steps = 0
        self.signs: tuple[Signs, ...] = ()  # the first that has a step in a cell is drawn there
        self._styles: dict[str, Style] = {}

    def tell(
        self, place: str, words: str, alarm: str, step: int, steps: int, signs: tuple[Signs, ...]
    ) -> None:
        """`words` are all that is to be said about the place."""
        self.place, self.words, self.alarm = place, words, alarm
        self.step, self.steps, self.signs = step, steps, signs
        self.refresh()

    # -- drawing

    def _look(self, name: str) -> Style:
        style = self._styles.get(name)
        if style is None:
            style = self._styles[name] = self.get_component_rich_style(f"position--{name}")
        return style

    def notify_style_update(self) -> None:
        self._styles.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            words, alarm = self._look("words"), self._look("alarm")
            pieces = [(" ", words), (f"{self.alarm}  " if self.alarm else "", alarm), (self.words, words)]
            if cell_len(f" {self.alarm}  {self.place}") > width:  # nobody would see where we are
                pieces = [(f" {self.place}  ", words), (self.alarm, alarm)]
            return strip_of(pieces, width, words)
        return Strip([self._cell(x, width) for x in range(width)], width)

    def _cell(self, x: int, width: int) -> Segment:
        first, behind = self._share(x, width)
        here = first <= max(self.step, 0) < behind
        found = next((signs for signs in self.signs if signs.within(first, behind) is not None), None)
        if found is not None:
            sign, look = found.sign, found.look
        else:
            sign, look = ("━", "done") if first <= self.step else ("─", "line")
        style = self._look(look)
        if here:
            return Segment(sign if found is not None else "┃", style + self._look("here"))
        return Segment(sign, style)

    def _share(self, x: int, width: int) -> tuple[int, int]:
        """The steps of a cell: from the first of them to the one behind the last."""
        return self.steps * x // max(1, width), self.steps * (x + 1) // max(1, width)

    # -- going there

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        offset = event.get_content_offset(self)
        if offset is not None and offset.y == 1 and self.steps:
            self.post_message(self.Chosen(self.step_at(offset.x)))

    def step_at(self, x: int) -> int:
        """The step that a click on a cell means: a sign, where one stands there, else the cell's first."""
        first, behind = self._share(x, self.size.width)
        found = (signs.within(first, behind) for signs in self.signs)
        step = next((step for step in found if step is not None), first)
        return self.steps - 1 if x >= self.size.width - 1 else step
