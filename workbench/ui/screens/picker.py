"""The picker: which of many tapes, captures or texts to replay."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Input, Static

from workbench.sources.opening import Opening
from workbench.ui.appraising import Appraiser
from workbench.ui.display import content
from workbench.ui.openingfacts import sheet_of
from workbench.ui.sieve import Sieve
from workbench.ui.widgets.factsheet import FactSheet
from workbench.ui.widgets.openinglist import PROBLEMS, OpeningList
from workbench.ui.widgets.promptbar import PromptBar, Question
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.textpane import TextPane

_WORDS = Question("words", "/ ", "words of a name, of what is in it, or of a finding: unclosed path")
_FRAME = 1 / 15  # seconds between two drawings of what was found out meanwhile
_SELDOM = 0.3  # the same, when all have to be looked through for those that fit


class PickerScreen(Screen[int | None]):
    """Its result is the number of the chosen opening, None when none was chosen."""

    TITLE = "what to replay"
    CSS_PATH: ClassVar = ["../views.tcss", "../picker.tcss"]
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it so
        (0, "-narrow"),
        (150, "-wide"),
    ]
    HELP = (
        "Everything that can be replayed, by folder: a sign that says how it ended, its name, what is in it. "
        "✖ something went wrong, ▲ something may be wrong, ✔ calls were converted, ● nothing special, "
        "◌ it is still being written, · nobody has looked into it yet. "
        "Below, or on the right, is more about the selected one, and how the model's text begins."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="picker.open", tooltip="Replay the selected one"),
        Binding("f", "sort", "Malformed / ✖ ▲ / all", id="picker.sort",
                tooltip="Show only malformed calls, then only what has problems (✖ ▲), then all again"),
        Binding("slash", "words", "Filter", id="picker.filter", key_display="/",
                tooltip="Show only what has these words in its name, its description or its findings"),
        Binding("n", "next(1)", "Next problem", id="picker.next", tooltip="To the next ✖ or ▲"),
        Binding("N", "next(-1)", "Previous problem", id="picker.previous", show=False,
                tooltip="To the previous ✖ or ▲"),
        Binding("escape", "escape", "Back", id="picker.escape", show=False,
                tooltip="Show all again; when all are shown: leave"),
        Binding("q", "back", "Back", id="picker.back", tooltip="Leave without choosing"),
        Binding("tab,shift+tab", "turn", "Other part", id="picker.turn", show=False,
                tooltip="From the list to what is said about the selected one, and back"),
        Binding("down", "move(1)", "Down", id="picker.down", show=False,
                tooltip="The next one, also while you type"),
        Binding("up", "move(-1)", "Up", id="picker.up", show=False,
                tooltip="The previous one, also while you type"),
        Binding("question_mark", "help", "Help", id="picker.help", key_display="?",
                tooltip="What the keys do here"),
    ]  # fmt: skip

    def __init__(
        self, openings: Sequence[Opening], chosen: int = 0, like: PickerScreen | None = None
    ) -> None:
        """`like` is the picker as somebody left it: who goes through some of them wants the next of these."""
        super().__init__()
        self.openings = openings
        self.sieve: Sieve = like.sieve if like is not None else Sieve()
        self.list = OpeningList(openings)
        self.list.border_title = "What can be replayed"
        self.about = TextPane("About", id="about")
        self._first = chosen
        self._kept = ""  # the words that count when the line closes
        self._told: tuple[int | None, object] | None = None  # what is said, of what
        self._head = Static("", id="view-head", markup=False)
        self._prompt = PromptBar()
        self._appraiser = Appraiser(openings, self.list.in_sight)

    def compose(self) -> ComposeResult:
        yield self._head
        with Container(id="picker-body"):
            yield self.list
            yield self.about
        yield self._prompt
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.list.focus()
        self.show_fitting(self._first)
        self._look_into_all()

    # -- which ones

    def show_fitting(self, chosen: int | None = None) -> None:
        """Those that the words and the sort let through, in their order; the chosen one is selected."""
        self.list.empty = "nothing fits; escape shows all" if self.sieve.active else ""
        self.list.show_numbers(self.sieve.fitting(self.openings), chosen)
        self._tell()

    @work(exclusive=True, group="appraise")
    async def _look_into_all(self) -> None:
        drawn = time.monotonic()
        async for number in self._appraiser.appraise():
            if not self.sieve.active:
                self.list.count_level(number)
            if time.monotonic() - drawn >= (_SELDOM if self.sieve.active else _FRAME):
                self._show_news()
                drawn = time.monotonic()
        self._show_news()

    def _show_news(self) -> None:
        if self.sieve.active:
            self.show_fitting()
        else:
            self.list.show()
            self._tell()

    # -- what is said

    def _tell(self) -> None:
        shown = sum(isinstance(entry, int) for entry in self.list.entries)
        parts = [f"choose one of {shown:,}", *self.sieve.said]
        left = self._appraiser.left
        looking = f"looking into {left:,} more …" if left else ""
        head = content(" · ".join(parts)).stylize("bold")
        self._head.update(Content.assemble(head, "  ", content(looking).stylize("$text-muted")))
        self._tell_about()

    def _tell_about(self) -> None:
        chosen = self.list.chosen
        known = self.openings[chosen].appraisal if chosen is not None else None
        if self._told != (chosen, known):
            self._told = chosen, known
            self.about.show_document(FactSheet() if chosen is None else sheet_of(self.openings[chosen]))

    def on_row_pane_moved(self, event: RowPane.Moved) -> None:
        event.stop()
        if event.pane is self.list:
            self._tell_about()

    # -- keys

    def action_open(self) -> None:
        if self.list.chosen is None:
            self.notify("nothing is selected; escape shows all", timeout=2)
        else:
            self.dismiss(self.list.chosen)

    def on_row_pane_opened(self, event: RowPane.Opened) -> None:
        event.stop()
        if event.pane is self.list:
            self.action_open()

    def action_sort(self) -> None:
        self.sieve = replace(self.sieve, sort=self.sieve.sort.following)
        self.show_fitting()

    def action_next(self, way: int) -> None:
        found = next((row for row in self.list.circle(way) if self.list.level(row) in PROBLEMS), None)
        if found is None:
            self.notify("no problem is known here", timeout=2)
        else:
            self.list.go(found)

    def action_move(self, by: int) -> None:
        self.list.action_move(by)

    def action_turn(self) -> None:
        self.set_focus(self.list if self.focused is self.about else self.about)

    def action_back(self) -> None:
        self.dismiss(None)

    def action_escape(self) -> None:
        if not self.sieve.active:
            self.action_back()
            return
        self.sieve, self._kept = Sieve(), ""
        self.show_fitting()

    def action_help(self) -> None:
        from workbench.ui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self))

    # -- words

    def action_words(self) -> None:
        self._kept = self.sieve.words
        self._prompt.ask(_WORDS, self._kept)

    def on_input_changed(self, event: Input.Changed) -> None:
        """What fits is seen while it is typed."""
        event.stop()
        if self._prompt.display and event.value != self.sieve.words:
            self._filter(event.value)

    def on_prompt_bar_entered(self, event: PromptBar.Entered) -> None:
        event.stop()
        self._kept = event.text
        self._prompt.action_close()

    def on_prompt_bar_closed(self, event: PromptBar.Closed) -> None:
        event.stop()
        self._filter(self._kept)
        self.set_focus(self.list)

    def _filter(self, words: str) -> None:
        self.sieve = replace(self.sieve, words=words)
        self.show_fitting()
