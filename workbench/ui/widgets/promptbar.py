"""A line at the bottom to type into: what to search for, which exchanges to show, where to go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from workbench.ui.display import content
from workbench.visible import visible_line


@dataclass(frozen=True, slots=True)
class Question:
    """What the line is for: its name for the one who asks, the words before it, and what may be typed."""

    purpose: str
    label: str
    placeholder: str


SEARCH = Question("search", "/ ", "text in this pane; enter finds it, n and N go on")
FILTER = Question(
    "filter", "filter ", 'model:qwen verdict:leak finding:unclosed* has:call text:"…" -has:reasoning'
)


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
        """Somebody typed something and pressed enter."""

        purpose: str
        text: str

    @dataclass
    class Closed(Message):
        """The line is gone again."""

        purpose: str

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self.purpose = ""
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
        self.purpose = question.purpose
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
        self.post_message(self.Entered(self.purpose, event.value))

    def action_close(self) -> None:
        self.display = False
        self.post_message(self.Closed(self.purpose))
