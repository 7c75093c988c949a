"""Views that open over another screen: what they share, the help on keys, a list to choose from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from workbench.config.settings import default_library
from workbench.errors import UserError
from workbench.files import save
from workbench.text import counted
from workbench.ui.display import Pieces, content
from workbench.ui.widgets.bars import PLACE, SEARCH, KeyBar, PaneTabs, PromptBar
from workbench.ui.widgets.document import FactSheet, Sheet
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.textpane import TextPane

T = TypeVar("T")
_CLIPBOARD = 100_000  # characters that terminals accept without trouble
_LOOKS = {"error": "$text-error", "warning": "$text-warning", "good": "$text-success"}


class FilesFolder:
    """Where the user's files go: asked once, since it is the user's folder."""

    def __init__(self) -> None:
        self.path: Path | None = None

    def choose(self, text: str) -> None:
        if not text.strip():
            raise UserError("a folder is needed")
        self.path = Path(text.strip()).expanduser().absolute()

    @property
    def suggested(self) -> str:
        return str(default_library() / "saved")


def files_of(app: App[Any]) -> FilesFolder:
    """The folder that all screens of an application share."""
    found = getattr(app, "files", None)
    return found if isinstance(found, FilesFolder) else FilesFolder()


def pane_bindings(*names: str) -> list[BindingType]:
    """A digit for each pane."""
    return [
        Binding(f"{number}", f"pane({number - 1})", name, id=f"view.pane-{number}", show=False,
                tooltip=f"To the part “{name}”")
        for number, name in enumerate(names, 1)
    ]  # fmt: skip


def unseen(bindings: Iterable[BindingType], *keys: str) -> list[BindingType]:
    """These keys work, but the bottom line has no room for them."""
    return [replace(one, show=False) for one in bindings if isinstance(one, Binding) and one.key in keys]


class ViewScreen(Screen[T]):
    """One line that says what this is, panes below it, keys at the bottom."""

    CSS_PATH = "../views.tcss"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (120, "-wide"),
    ]
    HELP: ClassVar[str] = ""  # what is shown here, in a paragraph
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back", id="view.back", tooltip="Back to where you came from"),
        Binding("tab", "turn(1)", "Next part", id="view.turn", show=False, tooltip="To the next part"),
        Binding("shift+tab", "turn(-1)", "Part before", id="view.turn-back", show=False,
                tooltip="To the previous part"),
        Binding("slash", "search", "Search", id="view.search", key_display="/",
                tooltip="Search in this part"),
        Binding("n", "search_on(1)", "Next match", id="view.next", show=False, tooltip="The next match"),
        Binding("N", "search_on(-1)", "Previous match", id="view.previous", show=False,
                tooltip="The previous match"),
        Binding("y", "copy_line", "Copy", id="view.copy-line",
                tooltip="Copy what the mouse selected, or else this line"),
        Binding("Y,C", "save", "To file", id="view.save", key_display="Y",
                tooltip="Write this part to a file"),
        Binding("c", "copy", "Copy all", id="view.copy", tooltip="Copy all of this part"),
        Binding("question_mark", "help", "Help", id="view.help", key_display="?",
                tooltip="What the keys do here"),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.panes: Sequence[TextPane] = ()
        self.tabs = PaneTabs()
        self._head = Static("", id="view-head", markup=False)
        self._prompt = PromptBar()
        self._pane_in_use: TextPane | None = None
        self._files: FilesFolder | None = None  # for which a folder is being asked

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.tabs
        yield from self.compose_body()
        yield self._prompt
        yield KeyBar()

    def compose_body(self) -> ComposeResult:
        yield from self.panes

    def on_mount(self) -> None:
        self.tabs.show_names([pane.title for pane in self.panes])
        if self.panes:
            self.panes[0].focus()
            self._use(self.panes[0])
        self.begin()

    def begin(self) -> None:
        """Fill the panes."""

    def say(self, title: str, facts: str = "", look: str = "") -> None:
        """The line at the top."""
        head = content(title).stylize(f"bold {_LOOKS.get(look, '')}".strip())
        self._head.update(Content.assemble(head, "  ", content(facts).stylize("$text-muted")))

    # -- panes

    @property
    def pane(self) -> TextPane | None:
        """The pane that keys are for."""
        return self._pane_in_use

    def on_descendant_focus(self) -> None:
        if isinstance(self.focused, TextPane):
            self._use(self.focused)

    def _use(self, pane: TextPane) -> None:
        """If there is room for one pane only, this is the one that is shown."""
        self._pane_in_use = pane
        for other in self.panes:
            other.set_class(other is pane, "-current", update=False)
        # This asks the style sheet, for the panes too, and once: that costs more than drawing.
        self.update_classes({f"-at-{other.id}": other is pane for other in self.panes})
        self.tabs.choose(self.panes.index(pane))

    def action_pane(self, number: int) -> None:
        if number < len(self.panes):
            self._use(self.panes[number])
            self.panes[number].focus()

    def on_pane_tabs_chosen(self, event: PaneTabs.Chosen) -> None:
        event.stop()
        self.action_pane(event.number)

    def action_turn(self, way: int) -> None:
        if self.panes:
            self.action_pane((self.tabs.current + way) % len(self.panes))

    # -- going back

    def result(self) -> T | None:
        """The result for the screen below."""
        return None

    def action_back(self) -> None:
        self.dismiss(self.result())

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self))

    # -- searching

    def action_search(self) -> None:
        self._prompt.ask(SEARCH)

    def on_prompt_bar_entered(self, event: PromptBar.Entered) -> None:
        event.stop()
        files, self._files = self._files, None
        if files is not None:
            self._take_folder(files, event.text)
            return
        self._prompt.action_close()
        pane = self.pane
        if pane is not None:
            pane.search(event.text)
            self._tell_place(pane)

    def _take_folder(self, files: FilesFolder, text: str) -> None:
        try:
            files.choose(text)
        except UserError as error:
            self._files = files
            self._prompt.complain(error.message)
            return
        self._prompt.action_close()
        assert files.path is not None
        self._save(files.path)

    def on_prompt_bar_closed(self, event: PromptBar.Closed) -> None:
        event.stop()
        self._files = None
        if self.pane is not None:
            self.pane.focus()

    def action_search_on(self, way: int) -> None:
        if self.pane is not None:
            self.pane.search_on(way)
            self._tell_place(self.pane)

    def _tell_place(self, pane: TextPane) -> None:
        place = pane.place
        pane.say_found(place)
        if place == "not found" or not place:
            self.notify("not found in this part" if place else "press / to search", timeout=2)

    # -- copying

    def action_copy(self) -> None:
        if self.pane is not None:
            self._copy(self.pane.document.whole(), f"“{self.pane.title}”")

    def action_copy_line(self) -> None:
        pane, selected = self.pane, self.get_selected_text()
        if selected:
            self._copy(selected, "the selection")
        elif pane is not None and 0 <= pane.cursor < pane.count():
            self._copy(pane.copied(pane.cursor), "the line")

    def _copy(self, text: str, what: str) -> None:
        # A lone surrogate, which is half a character, cannot be written in UTF-8.
        self.app.copy_to_clipboard(text.encode("utf-8", "backslashreplace").decode())
        doubt = "; terminals may cut so long a text, Y writes it to a file" if len(text) > _CLIPBOARD else ""
        self.notify(f"copied {what}, {counted(len(text), 'character')}{doubt}", timeout=3)

    def action_save(self) -> None:
        files = files_of(self.app)
        if files.path is None:
            self._files = files
            self._prompt.ask(PLACE, files.suggested)
        else:
            self._save(files.path)

    def _save(self, folder: Path) -> None:
        if self.pane is None:
            return
        try:
            path = save(self.pane.document.whole(), f"{self.pane.title}", folder)
        except OSError as error:
            self.notify(f"no file could be written: {error}", severity="error")
            return
        self.notify(f"written to {path}", timeout=6)


_PANES = (
    ("Upstream", "what the model's server sent, read by read, exactly as it came"),
    ("Machine", "how the parser moved: state → state, the rule, the text that caused it; and findings"),
    ("Client", "what the client got: text, calls, arguments, the end"),
)
_TOGETHER = (
    "They are side by side: what a read led to is on its line, and the three scroll as one; A lets each "
    "scroll on its own. The row you select lights up the rows and the very characters of the others that it "
    "comes from or led to. Long runs of prose and data are folded: enter opens one, L all of them."
)
_SIGNS = (
    ("✖ ▲ ●", "an error, a warning, something to know"),
    ("✔ ◌", "all went well; still running"),
    ("1▌", "belongs to call 1: its colour and number run through all panes"),
    ("▸ ×99", "99 rows of prose or data, folded"),
    ("+12 held", "12 characters are held back, because it is not decided yet what they are"),
    ("↵ ⇥ ␍", "a line feed, a tab, a carriage return in the text"),
    ("\\x1b", "in reverse: a character that would control the terminal, shown instead of obeyed"),
    ("♥", "a comment to the client, so that it keeps waiting while upstream is silent"),
    ("[3c 70]", "in a dump: the bytes that the selected row comes from"),
)


class HelpScreen(ViewScreen[None]):
    """Made from the bindings that are active on the screen below, so it is never out of date."""

    def __init__(self, below: Screen[Any]) -> None:
        super().__init__()
        self.below = below
        self.sheet = help_sheet(below)
        self.text = TextPane("Help", id="help")
        self.panes = (self.text,)

    def begin(self) -> None:
        self.text.show_document(self.sheet)
        self.say(f"help: {_place(self.below)}", "escape goes back")

    def action_help(self) -> None:
        self.action_back()


def help_sheet(screen: Screen[Any]) -> FactSheet:
    sheet = FactSheet()
    about = getattr(screen, "HELP", "")
    if about:
        sheet.heading("What you see").paragraph(about)
    for heading, keys in groups(screen):
        sheet.heading(heading)
        for key, said in keys:
            sheet.fact(key, said)
    sheet.heading("The three panes")
    for name, said in _PANES:
        sheet.fact(name, said)
    sheet.paragraph(_TOGETHER)
    sheet.heading("Signs")
    for sign, said in _SIGNS:
        sheet.fact(sign, said)
    return sheet


def groups(screen: Screen[Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The active bindings by where they come from, the nearest first; one line for all keys of an action."""
    found: dict[DOMNode, dict[str, tuple[list[str], Binding]]] = {}
    for active in screen.active_bindings.values():
        actions = found.setdefault(active.node, {})
        keys, _ = actions.setdefault(active.binding.action, ([], active.binding))
        keys.append(screen.app.get_key_display(active.binding))
    for node, actions in found.items():
        lines = [
            (" ".join(dict.fromkeys(keys)), _said(binding))
            for keys, binding in actions.values()
            if not binding.system and _said(binding)
        ]
        if lines:
            yield _heading(node), lines


def _said(binding: Binding) -> str:
    name, tip = binding.description, binding.tooltip
    return f"{name}: {tip}" if name and tip and name != tip else name or tip


def _heading(node: DOMNode) -> str:
    if isinstance(node, App):
        return "Keys everywhere"
    if isinstance(node, Screen):
        return "Keys of this screen"
    title = (getattr(node, "NAME", "") or node.border_title) if isinstance(node, Widget) else None
    return f"Keys in the part “{title}”" if title else "Keys in this part"


def _place(screen: Screen[Any]) -> str:
    return screen.title or type(screen).__name__.removesuffix("Screen").lower()


_MOST = 40  # cells that the names may take


@dataclass(frozen=True, slots=True)
class Choice:
    """`current` marks the active value."""

    name: str
    note: str = ""
    current: bool = False


class ChoiceList(Sheet):
    """A row of the screen is a choice; the active one is marked."""

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


Deed: TypeAlias = Literal["choose", "add", "remove"]


@dataclass(frozen=True, slots=True)
class Picked:
    """What to do, and with which of the choices; -1: with none of them."""

    deed: Deed
    number: int


class ListScreen(ViewScreen[Picked]):
    """Its result is None when nothing was chosen. `changes`: choices can be added and removed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Choose", id="listing.choose", tooltip="Take this one"),
        Binding("a", "add", "Add", id="listing.add", tooltip="Add one to this list"),
        Binding("d,delete", "remove", "Remove", id="listing.remove", tooltip="Take this one off the list"),
    ]

    def __init__(
        self,
        title: str,
        facts: str,
        choices: Sequence[Choice],
        *,
        chosen: int = 0,
        changes: bool = False,
        help: str = "",
    ) -> None:
        super().__init__()
        self.HELP = help  # type: ignore[misc]
        self.title = title
        self._facts = facts
        self._changes = changes
        self.choices = list(choices)
        self.list = TextPane(title.capitalize(), id="listing")
        self.panes = (self.list,)
        self._chosen = chosen

    def begin(self) -> None:
        self.say(str(self.title), self._facts)
        self.list.show_document(ChoiceList(self.choices, self._chosen))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._changes if action in ("add", "remove") else True

    def on_row_pane_opened(self, event: RowPane.Opened) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        self._done("choose")

    def action_remove(self) -> None:
        self._done("remove")

    def action_add(self) -> None:
        self.dismiss(Picked("add", -1))

    def _done(self, deed: Deed) -> None:
        if 0 <= self.list.cursor < len(self.choices):
            self.dismiss(Picked(deed, self.list.cursor))
