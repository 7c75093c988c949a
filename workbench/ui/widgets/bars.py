"""The lines above and below: the parts of a view, a verdict, the position in time, and a line to type
into.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Footer, Input, Static

from workbench.text import visible_line
from workbench.ui.display import content, sign_of, strip_of


class PaneTabs(Static):
    """`1 About  2 JSON`: the digit is the key, a click does the same."""

    @dataclass
    class Chosen(Message):
        """The user clicked on a name."""

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


@dataclass(frozen=True, slots=True)
class Question:
    """The words before the line, and what may be typed."""

    label: str
    placeholder: str


SEARCH = Question("/ ", "text in this pane; enter finds it, n and N go on")
PLACE = Question("files go to ", "a folder for this and all further files; enter takes it")
FILTER = Question("filter ", 'model:qwen verdict:leak finding:unclosed* has:call text:"…" -has:reasoning')


class PlainInput(Input):
    """What is pasted may come from a stream: it is drawn like everything else that does."""

    def replace(self, text: str, start: int, end: int) -> None:
        super().replace(visible_line(text), start, end)


class PromptBar(Horizontal):
    """Hidden until it is asked for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", id="prompt.close", tooltip="Close this line"),
    ]

    @dataclass
    class Entered(Message):
        """The user typed something and pressed enter."""

        text: str

    @dataclass
    class Closed(Message):
        """The line is gone again."""

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self._label = Static("", id="prompt-label", markup=False)
        self._problem = Static("", id="prompt-problem", markup=False)
        self._input = PlainInput(id="prompt-input", select_on_focus=True)
        self._input.cursor_blink = False  # nothing on this screen moves by itself but the traffic
        self.display = False

    def compose(self) -> ComposeResult:
        yield self._label
        yield self._input
        yield self._problem

    def ask(self, question: Question, text: str = "") -> None:
        self._label.update(content(question.label))
        self._input.placeholder = question.placeholder
        self._input.value = text
        self.complain("")
        self.display = True
        self._input.focus()

    def complain(self, sentence: str) -> None:
        """Why what was typed cannot be used."""
        self._problem.update(content(sentence))
        self._problem.display = bool(sentence)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Entered(event.value))

    def action_close(self) -> None:
        self.display = False
        self.post_message(self.Closed())


_COLOURS = {"error": "$text-error", "warning": "$text-warning", "good": "$text-success", "info": "$text"}


class KeyBar(Footer):
    """The keys that do something now, made anew only when they change.

    Textual's footer makes a widget for each key whenever the focus moves, although panes side by side mostly
    have the same keys: that took longer than all else that such a key press does.
    """

    def __init__(self, *, show_command_palette: bool = True) -> None:
        super().__init__(show_command_palette=show_command_palette)
        self._shown: list[tuple[str, str, str, bool, str]] = []

    def bindings_changed(self, screen: Screen[Any]) -> None:
        if screen is self.screen and self.is_attached and screen.app.app_focus:
            shown = [
                (binding.key, binding.description, binding.action, enabled, tooltip)
                for _, binding, enabled, tooltip in screen.active_bindings.values()
                if binding.show
            ]
            if shown == self._shown:
                return
            self._shown = shown
        super().bindings_changed(screen)


class VerdictBar(Static):
    """Two lines: the verdict, and numbers."""

    def __init__(self) -> None:
        super().__init__(id="verdict", markup=False)

    def say(self, level: str, sentence: str, facts: str, alarm: str = "") -> None:
        """`alarm` is for what needs attention now: text that is held back, a view that is paused."""
        first = content(f"{sign_of(level)} {sentence}").stylize(_COLOURS.get(level, "$text"))
        first = first.stylize("bold")
        second = content(facts).stylize("$text-muted")
        if alarm:
            second = Content.assemble(content(alarm).stylize("bold $text-warning"), "  ", second)
        # Its height is fixed: the screen need not be laid out again, twenty times a second.
        self.update(Content("\n").join([first, second]), layout=False)


@dataclass(frozen=True, slots=True)
class Signs:
    """Steps that have one sign on the bar, in order."""

    sign: str
    look: str
    steps: Sequence[int]

    def within(self, first: int, end: int) -> int | None:
        """The first of them from `first` on, and before `end`."""
        at = bisect_left(self.steps, first)
        return self.steps[at] if at < len(self.steps) and self.steps[at] < end else None


class PositionBar(Widget):
    """Every cell of the bar is a share of the steps. A click goes there: to the sign, where one stands."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "position--words", "position--alarm", "position--line", "position--done", "position--here",
        "position--error", "position--warning", "position--call", "position--mark", "position--info",
    }  # fmt: skip

    @dataclass
    class Chosen(Message):
        """The user clicked on the bar."""

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
            if cell_len(f" {self.alarm}  {self.place}") > width:  # the position would be cut off
                pieces = [(f" {self.place}  ", words), (self.alarm, alarm)]
            return strip_of(pieces, width, words)
        return Strip([self._cell(x, width) for x in range(width)], width)

    def _cell(self, x: int, width: int) -> Segment:
        first, end = self._share(x, width)
        here = first <= max(self.step, 0) < end
        found = next((signs for signs in self.signs if signs.within(first, end) is not None), None)
        if found is not None:
            sign, look = found.sign, found.look
        else:
            sign, look = ("━", "done") if first <= self.step else ("─", "line")
        style = self._look(look)
        if here:
            return Segment(sign if found is not None else "┃", style + self._look("here"))
        return Segment(sign, style)

    def _share(self, x: int, width: int) -> tuple[int, int]:
        """The steps of a cell: the first of them, and the one after the last."""
        return self.steps * x // max(1, width), self.steps * (x + 1) // max(1, width)

    # -- going there

    async def _on_click(self, event: events.Click) -> None:
        event.stop()
        offset = event.get_content_offset(self)
        if offset is not None and offset.y == 1 and self.steps:
            self.post_message(self.Chosen(self.step_at(offset.x)))

    def step_at(self, x: int) -> int:
        """The step that a click on a cell means: a sign, where one stands there, else the cell's first."""
        first, end = self._share(x, self.size.width)
        found = (signs.within(first, end) for signs in self.signs)
        step = next((step for step in found if step is not None), first)
        return self.steps - 1 if x >= self.size.width - 1 else step
