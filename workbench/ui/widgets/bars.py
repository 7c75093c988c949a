"""The lines above and below: the parts of a view, a verdict, the position in time, and a line to type
into.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Input, Static

from workbench.text import visible_line
from workbench.ui.display import content, sign_of, strip_of
from workbench.ui.widgets.looks import LooksWidget


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
        # One line, as wide as the screen: nothing else has to be laid out again.
        self.update(Content.assemble(*parts), layout=False)

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
NOTE = Question("note ", "what is to be remembered about this exchange; enter keeps it")
FILTER = Question("filter ", 'tool:bash since:2h verdict:leak model:qwen finding:unclos* text:"…" -has:mark')
ROWS = Question("rows ", "transitions findings markup deltas calls held call:2 -prose -data; empty shows all")


class PlainInput(Input):
    """Pasted text may come from a stream: it is drawn like all untrusted text."""

    def replace(self, text: str, start: int, end: int) -> None:
        super().replace(visible_line(text), start, end)


class PromptBar(Horizontal):
    """Hidden until it is needed."""

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
        self._input.cursor_blink = False  # nothing on this screen moves except the traffic
        self.display = False

    def compose(self) -> ComposeResult:
        yield self._label
        yield self._input
        yield self._problem

    def ask(self, question: Question, text: str = "", *, replace: bool = True) -> None:
        """`replace`: typed text replaces `text`, otherwise it follows it."""
        self._input.select_on_focus = replace
        self._label.update(content(question.label))
        self._input.placeholder = question.placeholder
        self._input.value = text
        self.complain("")
        self.display = True
        self._input.cursor_position = len(text)
        self._input.focus()

    def complain(self, sentence: str) -> None:
        """Say why the typed text cannot be used."""
        self._problem.update(content(sentence))
        self._problem.display = bool(sentence)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Entered(event.value))

    def action_close(self) -> None:
        self.display = False
        self.post_message(self.Closed())


_COLOURS = {"error": "$text-error", "warning": "$text-warning", "good": "$text-success", "info": "$text"}


@dataclass(frozen=True, slots=True)
class KeyWord:
    """A key and what it does, as the bottom line says it."""

    key: str  # as Textual calls it
    shown: str
    word: str
    tip: str
    enabled: bool

    @property
    def width(self) -> int:
        """` k Word `: with the blanks around it."""
        return cell_len(self.shown) + cell_len(self.word) + (3 if self.word else 2)


# The last parts of ids: these are at the right, in this order, and are placed before all others.
_LAST = ("help", "close", "back", "quit", "palette")
_MORE = " …"


class KeyBar(LooksWidget, can_focus=False):
    """The bottom line of every screen: the keys that do something now, and a word for each.

    Enter comes first, then the keys of the focused part, then the screen's; help and quit are at the right
    and are never left out for others. A key that does not fit is left out whole. Textual's footer makes a
    widget for each key whenever the focus moves; that took longer than everything else that such a key press
    does.
    """

    ALLOW_SELECT = False
    PREFIX = "keys"
    LOOKS = frozenset({"key", "word", "off", "hover"})

    def __init__(self) -> None:
        super().__init__()
        self._stale = True
        self._palette = ""  # the key of the command palette
        self._keys: list[KeyWord] = []
        self._last: list[KeyWord] = []
        self._places: list[tuple[int, int, KeyWord]] = []  # from which cell to which
        self._hover: KeyWord | None = None

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def on_unmount(self) -> None:
        self.screen.bindings_updated_signal.unsubscribe(self)

    def _bindings_changed(self, _: Screen[Any]) -> None:
        """A key press may cause this several times; bindings are looked up once, when the line is drawn."""
        self._stale = True
        self.refresh()

    def look_up(self) -> None:
        self._stale = False
        self._keys = []
        last: list[tuple[int, KeyWord]] = []
        self._palette = self.app.COMMAND_PALETTE_BINDING if self.app.ENABLE_COMMAND_PALETTE else ""
        for active in _one_of_each_action(self.screen.active_bindings.values(), self._palette):
            binding, said = active.binding, active.binding.description
            shown = self.app.get_key_display(binding)
            key = KeyWord(binding.key, shown, visible_line(said), active.tooltip or said, active.enabled)
            name = "palette" if binding.key == self._palette else (binding.id or "").rpartition(".")[2]
            if name in _LAST:
                last.append((_LAST.index(name), key))
            else:
                self._keys.append(key)
        self._last = [key for _, key in sorted(last, key=lambda one: one[0])]
        self._keys.sort(key=lambda key: key.key != "enter")  # the main action on the selected row

    @property
    def shown(self) -> list[KeyWord]:
        """The keys that fit, from left to right."""
        self._arrange()
        return [one for _, _, one in self._places]

    def _arrange(self) -> int:
        """Gives each key that fits its cells; the number of those that do not."""
        if self._stale:
            self.look_up()
        width = self.size.width
        last = _fitting(self._last, width)
        room = width - _cells(last)
        keys = _fitting(self._keys, room)
        if last and len(keys) < len(self._keys) and last[-1].key == self._palette:
            room += last.pop().width  # its key still works; others are shown first
            keys = _fitting(self._keys, room)
        missing = len(self._keys) - len(keys)
        if missing:
            keys = _fitting(self._keys, room - len(_MORE))
        self._places.clear()
        for at, group in ((0, keys), (room, last)):
            for one in group:
                self._places.append((at, at + one.width, one))
                at += one.width
        return missing

    # -- drawing

    def render_line(self, y: int) -> Strip:
        missing = self._arrange()
        width, fill = self.size.width, self.rich_style
        line: list[Segment] = []
        used = 0
        for begin, end, one in self._places:
            if begin > used:  # between the keys and those always at the right
                gap = begin - used
                line.append(
                    Segment((_MORE if missing and gap >= len(_MORE) else "").ljust(gap), self.look("word"))
                )
            off = Style() if one.enabled else self.look("off")
            over = self.look("hover") if one == self._hover else Style()
            line.append(Segment(f" {one.shown} ", self.look("key") + off + over))
            if one.word:
                line.append(Segment(f"{one.word} ", self.look("word") + off + over))
            used = end
        return Strip(line, used).adjust_cell_length(width, fill)

    # -- the mouse

    def _key_at(self, event: events.MouseEvent) -> KeyWord | None:
        offset = event.get_content_offset(self)
        if offset is None:
            return None
        return next((one for begin, end, one in self._places if begin <= offset.x < end), None)

    async def _on_click(self, event: events.Click) -> None:
        """The same as the key: whatever has the focus hears it."""
        event.stop()
        one = self._key_at(event)
        if one is not None and one.enabled:
            self.app.simulate_key(one.key)
        elif one is not None:
            self.app.bell()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._hover_over(self._key_at(event))

    def on_leave(self) -> None:
        self._hover_over(None)

    def _hover_over(self, one: KeyWord | None) -> None:
        if one != self._hover:
            self._hover = one
            self.tooltip = content(one.tip) if one is not None else None
            self.refresh()


def _one_of_each_action(active: Iterable[ActiveBinding], palette: str) -> Iterable[ActiveBinding]:
    """The keys of an action have one word; of `q` and `ctrl+q` the one without a modifier is shown."""
    found: dict[tuple[int, str], ActiveBinding] = {}
    for one in active:
        if one.binding.show or one.binding.key == palette:
            known = found.setdefault((id(one.node), one.binding.action), one)
            if "+" in known.binding.key and "+" not in one.binding.key:
                found[id(one.node), one.binding.action] = one
    return found.values()


def _cells(keys: Iterable[KeyWord]) -> int:
    return sum(key.width for key in keys)


def _fitting(keys: Sequence[KeyWord], room: int) -> list[KeyWord]:
    """The first of them, as far as all of their cells are there."""
    taken: list[KeyWord] = []
    for one in keys:
        room -= one.width
        if room < 0:
            break
        taken.append(one)
    return taken


class VerdictBar(Static):
    """Two lines: the verdict, and numbers."""

    def __init__(self) -> None:
        super().__init__(id="verdict", markup=False)

    def say(self, level: str, sentence: str, facts: str, alarm: str = "") -> None:
        """`alarm` is for things that need attention now: held-back text, a paused view."""
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


class PositionBar(LooksWidget):
    """Every cell of the bar is a share of the steps. A click goes there: to the sign, if there is one."""

    PREFIX = "position"
    LOOKS = frozenset({"words", "alarm", "line", "done", "here", "error", "warning", "call", "mark", "info"})

    @dataclass
    class Chosen(Message):
        """The user clicked on the bar."""

        step: int

    def __init__(self) -> None:
        super().__init__(id="position")
        self.tooltip = "● a call, ✖ ▲ · findings, ◆ a mark: click to go there"
        self.place = ""  # what is always shown
        self.words = ""
        self.alarm = ""
        self.step = -1
        self.steps = 0
        self.signs: tuple[Signs, ...] = ()  # the first that has a step in a cell is drawn there

    def tell(
        self, place: str, words: str, alarm: str, step: int, steps: int, signs: tuple[Signs, ...]
    ) -> None:
        """`words` are everything to show about the place."""
        self.place, self.words, self.alarm = place, words, alarm
        self.step, self.steps, self.signs = step, steps, signs
        self.refresh()

    # -- drawing

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            words, alarm = self.look("words"), self.look("alarm")
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
        style = self.look(look)
        if here:
            return Segment(sign if found is not None else "┃", style + self.look("here"))
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
        """The step that a click on a cell means: a sign, if there is one, else the cell's first."""
        first, end = self._share(x, self.size.width)
        found = (signs.within(first, end) for signs in self.signs)
        step = next((step for step in found if step is not None), first)
        return self.steps - 1 if x >= self.size.width - 1 else step
