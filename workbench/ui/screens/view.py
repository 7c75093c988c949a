"""A full-screen view: what all the screens share that are opened from the stream screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from workbench.ui.display import content
from workbench.ui.savedfile import save
from workbench.ui.widgets.panetabs import PaneTabs
from workbench.ui.widgets.promptbar import SEARCH, PromptBar
from workbench.ui.widgets.textpane import TextPane

T = TypeVar("T")
_CLIPBOARD = 100_000  # characters that terminals take without trouble
_LOOKS = {"error": "$text-error", "warning": "$text-warning", "good": "$text-success"}


def pane_bindings(*names: str) -> list[BindingType]:
    """A digit for each pane."""
    return [
        Binding(f"{number}", f"pane({number - 1})", name, id=f"view.pane-{number}", show=False,
                tooltip=f"To the part “{name}”")
        for number, name in enumerate(names, 1)
    ]  # fmt: skip


class ViewScreen(Screen[T]):
    """One line that says what this is, panes below it, keys at the bottom."""

    CSS_PATH = "../views.tcss"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it so
        (0, "-narrow"),
        (120, "-wide"),
    ]
    HELP: ClassVar[str] = ""  # what is seen here, in a paragraph
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back", id="view.back", tooltip="Back to where you came from"),
        Binding("tab", "turn(1)", "Next part", id="view.turn", show=False, tooltip="To the next part"),
        Binding("shift+tab", "turn(-1)", "Part before", id="view.turn-back", show=False,
                tooltip="To the part before"),
        Binding("slash", "search", "Search", id="view.search", key_display="/",
                tooltip="Search in this part"),
        Binding("n", "search_on(1)", "Next match", id="view.next", show=False, tooltip="The next match"),
        Binding("N", "search_on(-1)", "Previous match", id="view.previous", show=False,
                tooltip="The previous match"),
        Binding("c", "copy", "Copy", id="view.copy",
                tooltip="Copy what the mouse selected, or else all of this part"),
        Binding("y", "copy_line", "Copy line", id="view.copy-line", show=False, tooltip="Copy this line"),
        Binding("C", "save", "To file", id="view.save", tooltip="Write this part to a file"),
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

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.tabs
        yield from self.compose_body()
        yield self._prompt
        yield Footer(show_command_palette=False)

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
        """Where there is room for one pane only, this is the one that is seen."""
        self._pane_in_use = pane
        for number, other in enumerate(self.panes):
            other.set_class(other is pane, "-current")
            self.set_class(other is pane, f"-at-{other.id}")
            if other is pane:
                self.tabs.choose(number)

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
        """What the screen below learns."""
        return None

    def action_back(self) -> None:
        self.dismiss(self.result())

    def action_help(self) -> None:
        from workbench.ui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self))

    # -- searching

    def action_search(self) -> None:
        self._prompt.ask(SEARCH)

    def on_prompt_bar_entered(self, event: PromptBar.Entered) -> None:
        event.stop()
        self._prompt.action_close()
        pane = self.pane
        if pane is not None:
            pane.search(event.text)
            self._tell_place(pane)

    def on_prompt_bar_closed(self, event: PromptBar.Closed) -> None:
        event.stop()
        if self.pane is not None:
            self.pane.focus()

    def action_search_on(self, way: int) -> None:
        if self.pane is not None:
            self.pane.search_on(way)
            self._tell_place(self.pane)

    def _tell_place(self, pane: TextPane) -> None:
        place = pane.place
        pane.border_subtitle = content(place)
        if place == "not found" or not place:
            self.notify("not found in this part" if place else "press / to search", timeout=2, markup=False)

    # -- copying

    def action_copy(self) -> None:
        selected = self.get_selected_text()
        if selected:
            self._copy(selected, "the selection")
        elif self.pane is not None:
            self._copy(self.pane.document.whole(), f"“{self.pane.title}”")

    def action_copy_line(self) -> None:
        pane = self.pane
        if pane is not None and 0 <= pane.cursor < pane.count():
            self._copy(pane.text(pane.cursor).strip(), "the line")

    def _copy(self, text: str, what: str) -> None:
        # Half a character (a lone surrogate) is not to be had in UTF-8.
        self.app.copy_to_clipboard(text.encode("utf-8", "backslashreplace").decode())
        doubt = "; terminals may cut so long a text, C writes it to a file" if len(text) > _CLIPBOARD else ""
        self.notify(f"copied {what}, {len(text):,} characters{doubt}", timeout=3, markup=False)

    def action_save(self) -> None:
        if self.pane is None:
            return
        try:
            path = save(self.pane.document.whole(), f"{self.pane.title}")
        except OSError as error:
            self.notify(f"no file could be written: {error}", severity="error", markup=False)
            return
        self.notify(f"written to {path}", timeout=6, markup=False)
