"""The picker: which of many tapes, captures or texts to replay; by folder, each with what is known about
it.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Input, Static

from workbench.analysis.appraisal import SMALL, Appraiser
from workbench.replay.sources import Replayable
from workbench.text import SIGNS, counted
from workbench.ui.display import Pieces, content
from workbench.ui.screens.view import HelpScreen
from workbench.ui.widgets.bars import KeyBar, PromptBar, Question
from workbench.ui.widgets.document import FactSheet
from workbench.ui.widgets.rowpane import GroupedPane, RowPane
from workbench.ui.widgets.textpane import TextPane

UNKNOWN = "·"  # it has not been looked into yet
PROBLEMS = ("error", "warning")
_NAMED = "files"  # the group of files that were named one by one
_LONGEST_NAME = 34


class ReplayableList(GroupedPane):
    """A row is the name of a folder, or the number of what can be replayed."""

    def __init__(self, replayables: Sequence[Replayable]) -> None:
        super().__init__(id="replayables")
        self.replayables = replayables
        self.entries: list[str | int] = []
        self.set_reactive(RowPane.follow, False)
        self._names = min(_LONGEST_NAME, max((len(one.title) for one in replayables), default=0))
        self._levels: dict[int, str] = {}  # as they are counted
        self._tallies: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def show_numbers(self, numbers: Sequence[int], chosen: int | None = None) -> None:
        """Only these. The selected one stays selected if it is among them."""
        chosen = self.chosen if chosen is None else chosen
        entries: list[str | int] = []
        for folder, group in groupby(numbers, key=self._folder):
            entries += [folder, *group]
        self.entries = entries
        self.count_levels()
        at = entries.index(chosen) if chosen in entries else min(1, len(entries) - 1)
        moved = not entries or entries[at] != chosen
        self.set_reactive(RowPane.cursor, at)
        self.show()
        if moved:
            self.post_message(self.Moved(self, at))

    def count_levels(self) -> None:
        """How many of each there are, by folder, as far as that is known."""
        self._levels.clear()
        self._tallies.clear()
        for number in self.entries:
            if isinstance(number, int):
                self.count_level(number)

    def count_level(self, number: int) -> None:
        """An appraisal of one of them is new."""
        appraisal, counts = self.replayables[number].appraisal, self._tallies[self._folder(number)]
        counts[self._levels.get(number, "")] -= number in self._levels
        self._levels[number] = level = appraisal.level if appraisal is not None else ""
        counts[level] += 1

    def _folder(self, number: int) -> str:
        return self.replayables[number].folder or _NAMED

    @property
    def chosen(self) -> int | None:
        entry = self.entries[self.cursor] if 0 <= self.cursor < len(self.entries) else None
        return entry if isinstance(entry, int) else None

    def in_sight(self) -> list[int]:
        """Those whose rows can be seen, the selected one first."""
        seen = [one for one in self.entries[self.top : self.top + self.size.height] if isinstance(one, int)]
        return seen if self.chosen is None else [self.chosen, *seen]

    def level(self, row: int) -> str:
        entry = self.entries[row]
        appraisal = self.replayables[entry].appraisal if isinstance(entry, int) else None
        return appraisal.level if appraisal is not None else ""

    # -- rows

    def count(self) -> int:
        return len(self.entries)

    def is_heading(self, row: int) -> bool:
        return isinstance(self.entries[row], str)

    def draw(self, row: int, width: int) -> Strip:
        entry = self.entries[row]
        pieces = self._heading(entry) if isinstance(entry, str) else self._replayable(row, entry, width)
        return self.line(pieces, width)

    def _heading(self, folder: str) -> Pieces:
        counts = self._tallies[folder]
        pieces: Pieces = [(f"─ {folder} ", "strong"), (f"{counts.total()} ", "dim")]
        for level in PROBLEMS:
            if counts[level]:
                pieces.append((f" {SIGNS[level]} {counts[level]}", level))
        return pieces

    def _replayable(self, row: int, number: int, width: int) -> Pieces:
        replayable, level = self.replayables[number], self.level(row)
        room = max(8, min(self._names, 2 * width // 5))
        title = replayable.title if len(replayable.title) <= room else f"{replayable.title[: room - 1]}…"
        looks = (*PROBLEMS, "good", "info")
        sign = SIGNS.get(level, "✖" if replayable.problem else UNKNOWN)
        return [
            (f" {sign} ", level if level in looks else "error" if replayable.problem else "dim"),
            (f"{title:{room}}  ", "bright"),
            (replayable.about, "dim"),
        ]

    def text(self, row: int) -> str:
        entry = self.entries[row]
        if isinstance(entry, str):
            return entry
        return f"{self.replayables[entry].title}: {self.replayables[entry].about}"


_LINES = 12  # of the model's text


def replayable_sheet(replayable: Replayable) -> FactSheet:
    """The worst first: what is wrong, what is in it, how it was read, how the model's text begins."""
    sheet = FactSheet()
    known, facts = replayable.appraisal, replayable.facts
    if replayable.problem is not None:
        return sheet.heading(f"{SIGNS['error']} it cannot be opened", "error").paragraph(replayable.problem)
    if known is not None:
        look = known.level if known.level in (*PROBLEMS, "good") else "info"
        sheet.heading(f"{SIGNS[known.level]} {known.sentence}", look)
    elif replayable.size > SMALL:
        sheet.heading(f"{replayable.size / (1 << 20):,.0f} MiB: it is looked into when you open it", "dim")
    sheet.fact("about", facts.about or None)
    if known is not None and known.long.casefold() != known.sentence.casefold():
        sheet.fact("in full", known.long)
    switched = "".join(f", {key} = {_words(value)}" for key, value in facts.policy.items())
    numbers = f" · {counted(known.reads, 'read')} · {counted(known.calls, 'call')}" if known else ""
    sheet.fact("dialect", f"{facts.dialect or '?'}{switched}{numbers}")
    sheet.fact("findings", ", ".join(known.codes) if known is not None and known.codes else None)
    if known is not None and known.excerpt:
        sheet.heading("The model's text begins")
        sheet.paragraph("\n".join(known.excerpt.split("\n")[:_LINES]), "plain")
    return sheet


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


class Kind(StrEnum):
    """Which ones are shown, in the order in which a key cycles through them."""

    ALL = "all"
    MALFORMED = "malformed calls only"
    PROBLEMS = "only ✖ and ▲"

    def has(self, replayable: Replayable) -> bool:
        known = replayable.appraisal
        if self is Kind.ALL or replayable.problem is not None:
            return True
        if known is None:
            return False
        return known.malformed if self is Kind.MALFORMED else known.level in PROBLEMS

    @property
    def following(self) -> Kind:
        kinds = list(Kind)
        return kinds[(kinds.index(self) + 1) % len(kinds)]


@dataclass(frozen=True, slots=True)
class PickerFilter:
    """Every one of the words has to be somewhere in what is known about it."""

    words: str = ""
    kind: Kind = Kind.ALL

    @property
    def active(self) -> bool:
        return bool(self.words.strip()) or self.kind is not Kind.ALL

    @property
    def said(self) -> Iterator[str]:
        """What it selects, in a few words."""
        if self.kind is not Kind.ALL:
            yield str(self.kind)
        if self.words.strip():
            yield self.words.strip()

    def fitting(self, replayables: Sequence[Replayable]) -> list[int]:
        """The numbers of those that it lets through."""
        wanted = self.words.casefold().split()
        return [
            number
            for number, replayable in enumerate(replayables)
            if self.kind.has(replayable) and (not wanted or _has_all(replayable, wanted))
        ]


def _has_all(replayable: Replayable, wanted: Sequence[str]) -> bool:
    parts = [replayable.title, replayable.folder]
    if replayable.facts_known:  # looking into thousands of files takes longer than a key press may
        parts += [replayable.about, replayable.facts.dialect]
    if replayable.appraisal is not None:
        parts += [replayable.appraisal.long, *replayable.appraisal.codes]
    text = " ".join(parts).casefold()
    return all(word in text for word in wanted)


_WORDS = Question("/ ", "words of a name, of what is in it, or of a finding: unclosed path")
_FRAME = 1 / 15  # seconds between two drawings of new appraisals
_SELDOM = 0.3  # the same while a filter is set: then all have to be filtered again


class PickerScreen(Screen[int | None]):
    """Its result is the number of the chosen one, None when none was chosen."""

    TITLE = "what to replay"
    CSS_PATH: ClassVar = ["../views.tcss", "../picker.tcss"]
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (150, "-wide"),
    ]
    HELP = (
        "Everything that can be replayed, by folder: a sign that says how it ended, its name, what is in it. "
        "✖ something went wrong, ▲ something may be wrong, ✔ calls were converted, ● nothing special, "
        "◌ it is still being written, · it has not been looked into yet. "
        "Below, or on the right, is more about the selected one, and how the model's text begins."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="picker.open", tooltip="Replay the selected one"),
        Binding("f", "kind", "Malformed / ✖ ▲ / all", id="picker.kind",
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
        self, replayables: Sequence[Replayable], chosen: int = 0, like: PickerScreen | None = None
    ) -> None:
        """`like` is the picker as it was left; its filter stays."""
        super().__init__()
        self.replayables = replayables
        self.filter: PickerFilter = like.filter if like is not None else PickerFilter()
        self.list = ReplayableList(replayables)
        self.list.border_title = "What can be replayed"
        self.about = TextPane("About", id="about")
        self._first = chosen
        self._kept = ""  # the words that the filter has once the line closes
        self._told: tuple[int | None, object] | None = None  # what is shown in “About”, and its appraisal
        self._head = Static("", id="view-head", markup=False)
        self._prompt = PromptBar()
        self._appraiser = Appraiser(replayables, self.list.in_sight)

    def compose(self) -> ComposeResult:
        yield self._head
        with Container(id="picker-body"):
            yield self.list
            yield self.about
        yield self._prompt
        yield KeyBar()

    def on_mount(self) -> None:
        self.list.focus()
        self.show_fitting(self._first)
        self._look_into_all()

    # -- which ones

    def show_fitting(self, chosen: int | None = None) -> None:
        """Those that the words and the kind let through, in their order; the chosen one is selected."""
        self.list.empty = "nothing fits; escape shows all" if self.filter.active else ""
        self.list.show_numbers(self.filter.fitting(self.replayables), chosen)
        self._tell()

    @work(exclusive=True, group="appraise")
    async def _look_into_all(self) -> None:
        drawn = time.monotonic()
        async for number in self._appraiser.appraise():
            if not self.filter.active:
                self.list.count_level(number)
            if time.monotonic() - drawn >= (_SELDOM if self.filter.active else _FRAME):
                self._show_news()
                drawn = time.monotonic()
        self._show_news()

    def _show_news(self) -> None:
        if self.filter.active:
            self.show_fitting()
        else:
            self.list.show()
            self._tell()

    # -- what is said

    def _tell(self) -> None:
        shown = sum(isinstance(entry, int) for entry in self.list.entries)
        parts = [f"choose one of {shown:,}", *self.filter.said]
        left = self._appraiser.left
        looking = f"looking into {left:,} more …" if left else ""
        head = content(" · ".join(parts)).stylize("bold")
        self._head.update(Content.assemble(head, "  ", content(looking).stylize("$text-muted")))
        self._tell_about()

    def _tell_about(self) -> None:
        chosen = self.list.chosen
        known = self.replayables[chosen].appraisal if chosen is not None else None
        if self._told != (chosen, known):
            self._told = chosen, known
            self.about.show_document(
                FactSheet() if chosen is None else replayable_sheet(self.replayables[chosen])
            )

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

    def action_kind(self) -> None:
        self.filter = replace(self.filter, kind=self.filter.kind.following)
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
        if not self.filter.active:
            self.action_back()
            return
        self.filter, self._kept = PickerFilter(), ""
        self.show_fitting()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self))

    # -- words

    def action_words(self) -> None:
        self._kept = self.filter.words
        self._prompt.ask(_WORDS, self._kept)

    def on_input_changed(self, event: Input.Changed) -> None:
        """The list is filtered while the words are typed."""
        event.stop()
        if self._prompt.display and event.value != self.filter.words:
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
        self.filter = replace(self.filter, words=words)
        self.show_fitting()
