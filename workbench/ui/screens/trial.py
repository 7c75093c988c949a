"""A try from the screen: requests sent again in several ways, and the table as it fills."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen
from textual.widgets import SelectionList, Static
from textual.widgets.selection_list import Selection

from workbench.analysis.filters import exactly
from workbench.errors import UserError
from workbench.lab.outcomes import Outcome
from workbench.lab.plan import BUILT_IN, RECORDED, Case, check_variants, parse_variant, read_case
from workbench.lab.report import BY_CASE, GAP, Line, conclusions, counts, counts_by_case, padded, widths
from workbench.lab.statistics import Table, load, tabulate
from workbench.lab.store import Try, create_try
from workbench.lab.suite import plan_of
from workbench.lab.trials import Trials, proxy_for
from workbench.proxy.asking import ProxyConnection
from workbench.ui.display import Pieces, content
from workbench.ui.screens.view import HelpScreen
from workbench.ui.widgets.bars import KeyBar, PromptBar, Question
from workbench.ui.widgets.document import FactSheet, Sheet
from workbench.ui.widgets.textpane import TextPane

_TIMES = (5, 10, 20, 50)
_MOST_FILES = 20
_NARROW = 100
_NEW = Question(
    "another way ", "built-in dialect=NAME model=NAME temperature=0.7 malformed=repair; enter adds it"
)

_BEFORE = (
    "ctrl+r sends the requests in each of the chosen ways, in turns, and here the answers are counted: valid "
    "calls, what was expected, what was malformed, and whether a difference is more than chance."
)


class TableSheet(Sheet):
    """The table of a try, with one of its columns highlighted, and as many others as fit."""

    def __init__(self, table: Table, column: int) -> None:
        super().__init__()
        self.table = table
        self.column = column
        self.cases: list[int | None] = []  # by row: the case that it is about
        self._ends: list[tuple[int, int]] = []  # where each column that is shown ends, and its number

    def _rows(self, width: int) -> Iterator[None]:
        self.cases = []
        self._add(list(counts(self.table)), width)
        self._say(["", *conclusions(self.table)], width)
        if by_case := list(counts_by_case(self.table)):
            self._say(["", BY_CASE], width)
            self._add(by_case, width)
        yield

    def _say(self, texts: Sequence[str], width: int) -> None:
        sheet = FactSheet()
        for text in texts:
            sheet.paragraph(text or " ")
        sheet.fit(width)
        sheet.advance(1)
        self._made += [sheet.pieces(row) for row in range(len(sheet))]
        self.cases += [None] * len(sheet)

    def _add(self, lines: Sequence[Line], width: int) -> None:
        label, sizes = widths(lines)
        label = min(label, max(8, width // 2))
        shown = self._shown(sizes, width - label)
        for number, line in enumerate(lines):
            row: Pieces = [(padded(line.label[:label], label), "dim")]
            for at in shown:
                here = at == self.column
                look = "strong" if here else "heading" if number == 0 else "plain"
                row += [(" ▸ " if here else GAP, "info"), (padded(line.cells[at], sizes[at]), look)]
            self._made.append(row)
            self.cases.append(line.case)
        used, self._ends = label, []
        for at in shown:
            used += len(GAP) + sizes[at]
            self._ends.append((used, at))

    def _shown(self, sizes: Sequence[int], room: int) -> range:
        """The columns that are shown, the chosen one among them, from as far left as possible."""
        first = 0
        while (
            first < self.column
            and sum(sizes[first : self.column + 1]) + (len(GAP) * (self.column + 1 - first)) > room
        ):
            first += 1
        last = first
        while last + 1 < len(sizes) and sum(sizes[first : last + 2]) + len(GAP) * (last + 2 - first) <= room:
            last += 1
        return range(first, last + 1)

    def column_at(self, x: int) -> int:
        return next((at for end, at in self._ends if x < end), self._ends[-1][1] if self._ends else 0)


class TrialTable(TextPane):
    """A cell leads to its exchanges: those of a variant, and in the lines of a case those of that case."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Exchanges", id="table.open", tooltip="Show the exchanges of this cell"),
        Binding("left,h", "column(-1)", "Variant before", id="table.left", show=False,
                tooltip="To the previous column"),
        Binding("right,l", "column(1)", "Next variant", id="table.right", show=False,
                tooltip="To the next column"),
    ]  # fmt: skip

    @dataclass
    class Chosen(Message):
        """The user wants to see the exchanges of a cell."""

        variant: int
        case: int | None

    def __init__(self) -> None:
        super().__init__("Table", id="trial-table")
        self.column = 0

    def show_table(self, table: Table) -> None:
        """Keeps the scroll position."""
        cursor, top = self.cursor, self.top
        self.column = min(self.column, len(table.plan.variants) - 1)
        self.show_document(TableSheet(table, self.column))
        self.top = top
        self.go(max(0, min(cursor, self.count() - 1)), tell=False)

    @property
    def sheet(self) -> TableSheet | None:
        return self.document if isinstance(self.document, TableSheet) else None

    def action_column(self, way: int) -> None:
        if self.sheet is not None:
            self.column = (self.column + way) % len(self.sheet.table.plan.variants)
            self.show_table(self.sheet.table)

    def action_open(self) -> None:
        if self.sheet is not None and 0 <= self.cursor < len(self.sheet.cases):
            self.post_message(self.Chosen(self.column, self.sheet.cases[self.cursor]))

    def on_click(self, event: events.Click) -> None:
        """Before the row is chosen: which column was meant."""
        offset = event.get_content_offset(self)
        if self.sheet is not None and offset is not None:
            self.column = self.sheet.column_at(offset.x)
            self.show_table(self.sheet.table)


class TrialScreen(Screen[str]):
    """Its result is the filter that shows the exchanges of a cell, None if the user does not want to see
    them."""

    CSS_PATH = "../views.tcss"
    TITLE = "try prompts"
    HELP = (
        "Choose with space in which ways the requests are asked: with the prompts of the tapes, the built-in "
        "one, the templates (*.jinja) in this folder. a adds another way: a prompt, a dialect, a model, "
        "settings such as temperature=0.7. ctrl+r sends the requests in each of them, and the table fills; "
        "ctrl+x stops, and what is there is kept. In the table left and right choose a column, and enter "
        "shows the exchanges of the cell; in the lines of a case those of that case. workbench try does the "
        "same on the command line."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "run", "Run", id="trial.run", tooltip="Send the requests in the chosen ways"),
        Binding("ctrl+x", "stop", "Stop", id="trial.stop", tooltip="No more requests; what is there is kept"),
        Binding("a", "add", "Add", id="trial.add",
                tooltip="Another way to ask: a prompt, a dialect, a model, settings"),
        Binding("n", "times", "How often", id="trial.times", tooltip="How often each request is asked"),
        Binding("e", "exchanges", "Exchanges", id="trial.exchanges",
                tooltip="Show the exchanges of this way to ask"),
        Binding("question_mark", "help", "Help", id="trial.help", key_display="?",
                tooltip="What the keys do here"),
        Binding("escape,q", "back", "Back", id="trial.back", tooltip="Back; a running try is stopped"),
    ]  # fmt: skip

    def __init__(self, library: Path, tapes: Sequence[Path]) -> None:
        super().__init__()
        self.library = library
        self.tapes = list(tapes)
        self.cases: list[Case] = []
        self.times = _TIMES[1]
        self.made: Try | None = None
        files = sorted(str(path) for path in Path().glob("*.jinja"))[:_MOST_FILES]
        self.ways = [RECORDED, BUILT_IN, *map(shlex.quote, files)]  # to ask, as they can be typed
        self.choice = SelectionList[str](
            *(Selection(content(way), way, way in (RECORDED, BUILT_IN)) for way in self.ways),
            id="trial-ways",
        )
        self.choice.border_title = "Ways to ask"
        self.table = TrialTable()
        self._head = Static("", id="view-head", markup=False)
        self._said = Static("", id="edit-said", markup=False)
        self._prompt = PromptBar()
        self._trials: Trials | None = None

    def compose(self) -> ComposeResult:
        yield self._head
        with Horizontal(id="trial-body"):
            yield self.choice
            yield self.table
        yield self._said
        yield self._prompt
        yield KeyBar()

    def on_mount(self) -> None:
        self.choice.focus()
        try:
            self.cases = [read_case(tape) for tape in self.tapes]
        except UserError as error:
            self._say(error.message, good=False)
        self._tell()

    def on_resize(self) -> None:
        self.set_class(self.size.width < _NARROW, "-narrow")

    def _tell(self) -> None:
        count = len(self.cases)
        told = f" {count} request{'' if count == 1 else 's'}, {self.times} times in each chosen way"
        self._head.update(content(told).stylize("bold"))
        if self.made is None:
            self.table.show_document(FactSheet().paragraph(_BEFORE, "dim"))

    def _say(self, sentence: str, *, good: bool = True) -> None:
        look = "$text-success" if good else "bold $text-error"
        self._said.update(content(f" {'✔' if good else '✖'} {sentence}").stylize(look))

    def action_times(self) -> None:
        self.times = _TIMES[(_TIMES.index(self.times) + 1) % len(_TIMES)]
        self._tell()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "exchanges" or self.focused is self.choice  # enter does it in the table

    # -- ways to ask

    def action_add(self) -> None:
        """Start with the selected one: most ways differ in one thing only."""
        at = self.choice.highlighted
        self._prompt.ask(_NEW, f"{self.ways[at]} " if at is not None else "", replace=False)

    def on_prompt_bar_entered(self, event: PromptBar.Entered) -> None:
        event.stop()
        way = event.text.strip()
        try:
            name = parse_variant(way).name
            if any(parse_variant(other).name == name for other in self.ways):
                raise UserError("this way is in the list already")
        except UserError as error:
            self._prompt.complain(error.message)
            return
        self.ways.append(way)
        self.choice.add_option(Selection(content(way), way, True))
        self.choice.highlighted = len(self.ways) - 1
        self._prompt.action_close()

    def on_prompt_bar_closed(self, event: PromptBar.Closed) -> None:
        event.stop()
        self.choice.focus()

    # -- the run

    def action_run(self) -> None:
        if self._trials is not None:
            self._say("it runs already; ctrl+x stops it", good=False)
            return
        try:
            variants = [parse_variant(way) for way in self.ways if way in self.choice.selected]
            if not variants:
                raise UserError("no way to ask is chosen: space chooses one, a adds one")
            check_variants(variants)
            self.made = create_try(self.library, plan_of(self.cases, variants, self.times))
        except UserError as error:
            self._say(error.message, good=False)
            return
        self._carry_out(self.made)

    @work(exclusive=True, group="trial")
    async def _carry_out(self, made: Try) -> None:
        self._say(f"{made.id} begins")
        try:
            async with proxy_for(self.library) as proxy, ProxyConnection(proxy) as connection:
                self._trials = Trials(made, connection, on_outcome=self._counted)
                await asyncio.to_thread(load)  # the screen would freeze if the first table did it
                ending = await self._trials.run()
            self._say(f"{made.id}: {ending}; enter on a cell shows its exchanges")
        except UserError as error:
            self._say(error.message, good=False)
        finally:
            self._trials = None
        self._show(made)

    def _counted(self, outcome: Outcome) -> None:
        made = self.made
        if made is not None and self.is_attached:
            self._show(made)
            self._say(f"{made.id}: {len(made.outcomes):,} of {len(made.plan.trials):,}; ctrl+x stops")

    def _show(self, made: Try) -> None:
        self.table.show_table(tabulate(made.plan, made.in_order))

    def action_stop(self) -> None:
        if self._trials is not None:
            self._trials.stop()
            self._say("no more requests; those that run are waited for")

    # -- leaving

    def action_exchanges(self) -> None:
        at = self.choice.highlighted
        if self.made is None or at is None:
            self._say("nothing was sent yet: ctrl+r sends it", good=False)
            return
        name = parse_variant(self.ways[at]).name
        self._leave(f"try:{self.made.id} {exactly('variant', name)}")

    def on_trial_table_chosen(self, event: TrialTable.Chosen) -> None:
        event.stop()
        if self.made is not None:
            plan = self.made.plan
            told = [f"try:{self.made.id}", exactly("variant", plan.variants[event.variant].name)]
            told += [exactly("case", plan.cases[event.case].name)] if event.case is not None else []
            self._leave(" ".join(told))

    def on_row_pane_opened(self, event: TrialTable.Opened) -> None:
        event.stop()
        self.table.action_open()

    def action_back(self) -> None:
        self._leave(None)

    def _leave(self, result: str | None) -> None:
        if self._trials is not None:
            self._trials.stop()
        self.dismiss(result)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self))
