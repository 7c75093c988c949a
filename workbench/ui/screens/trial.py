"""A try from the screen: requests sent again with the chosen prompts, and the table as it fills."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import SelectionList, Static
from textual.widgets.selection_list import Selection

from workbench.errors import UserError
from workbench.lab.outcomes import Outcome
from workbench.lab.plan import BUILT_IN, RECORDED, Case, make_variants, read_case
from workbench.lab.report import lines
from workbench.lab.statistics import tabulate
from workbench.lab.store import Try, create_try
from workbench.lab.suite import plan_of
from workbench.lab.trials import Trials, proxy_for
from workbench.proxy.asking import ProxyConnection
from workbench.ui.display import content
from workbench.ui.screens.view import HelpScreen
from workbench.ui.widgets.bars import KeyBar
from workbench.ui.widgets.document import FactSheet
from workbench.ui.widgets.textpane import TextPane

_TIMES = (5, 10, 20, 50)
_MOST_FILES = 20


class TrialScreen(Screen[str]):
    """Its result is the filter that shows the exchanges of a variant, None where nobody wants to see them."""

    CSS_PATH = "../views.tcss"
    TITLE = "try prompts"
    HELP = (
        "Choose prompts with space: those of the tapes, the built-in one, the templates (*.jinja) in this "
        "folder. ctrl+r sends the requests with each of them, and the table fills; ctrl+x stops, and what is "
        "there is kept. e shows the exchanges of a prompt. workbench try does the same on the command line."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "run", "Run", id="trial.run", tooltip="Send the requests with the chosen prompts"),
        Binding("ctrl+x", "stop", "Stop", id="trial.stop", tooltip="No more requests; what is there is kept"),
        Binding("n", "times", "How often", id="trial.times", tooltip="How often each request is asked"),
        Binding("e", "exchanges", "Exchanges", id="trial.exchanges",
                tooltip="Show the exchanges of this prompt"),
        Binding("question_mark", "help", "Help", id="trial.help", key_display="?",
                tooltip="What the keys do here"),
        Binding("escape,q", "back", "Back", id="trial.back", tooltip="Back; a run that goes on is stopped"),
    ]  # fmt: skip

    def __init__(self, library: Path, tapes: Sequence[Path]) -> None:
        super().__init__()
        self.library = library
        self.tapes = list(tapes)
        self.cases: list[Case] = []
        self.times = _TIMES[1]
        self.made: Try | None = None
        files = sorted(str(path) for path in Path().glob("*.jinja"))[:_MOST_FILES]
        self.prompts = [RECORDED, BUILT_IN, *files]
        self.choice = SelectionList[str](
            *(Selection(content(name), name, name in (RECORDED, BUILT_IN)) for name in self.prompts),
            id="trial-prompts",
        )
        self.table = TextPane("Table", id="trial-table")
        self._head = Static("", id="view-head", markup=False)
        self._said = Static("", id="edit-said", markup=False)
        self._trials: Trials | None = None

    def compose(self) -> ComposeResult:
        yield self._head
        with Horizontal(id="trial-body"):
            yield self.choice
            yield self.table
        yield self._said
        yield KeyBar()

    def on_mount(self) -> None:
        self.choice.focus()
        try:
            self.cases = [read_case(tape) for tape in self.tapes]
        except UserError as error:
            self._say(error.message, good=False)
        self._tell()

    def _tell(self) -> None:
        count = len(self.cases)
        told = f" {count} request{'' if count == 1 else 's'}, {self.times} times with each chosen prompt"
        self._head.update(content(told).stylize("bold"))

    def _say(self, sentence: str, *, good: bool = True) -> None:
        look = "$text-success" if good else "bold $text-error"
        self._said.update(content(f" {'✔' if good else '✖'} {sentence}").stylize(look))

    def action_times(self) -> None:
        self.times = _TIMES[(_TIMES.index(self.times) + 1) % len(_TIMES)]
        self._tell()

    # -- the run

    def action_run(self) -> None:
        if self._trials is not None:
            self._say("it runs already; ctrl+x stops it", good=False)
            return
        chosen = [name for name in self.prompts if name in self.choice.selected]
        try:
            variants = make_variants(chosen, (), (), ())
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
                ending = await self._trials.run()
            self._say(f"{made.id}: {ending}; e shows the exchanges of a prompt")
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
        sheet = FactSheet()
        for line in lines(tabulate(made.plan, made.in_order), max(40, self.table.size.width - 2)):
            sheet.paragraph(line)
        self.table.show_document(sheet)

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
        prompt = Path(self.prompts[at]).stem if at > 1 else self.prompts[at]
        self._leave(f"try:{self.made.id} prompt:{prompt}")

    def action_back(self) -> None:
        self._leave(None)

    def _leave(self, result: str | None) -> None:
        if self._trials is not None:
            self._trials.stop()
        self.dismiss(result)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self))
