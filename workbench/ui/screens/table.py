"""The table screen: the dialect's transition table, the current row lit, with hits."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.timer import Timer

from transformer import DIALECTS, Transition
from workbench.player.panes import Pane
from workbench.player.player import Player
from workbench.ui.screens.view import ViewScreen
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.rulelist import Hits, RuleList, RuleRow, rules_of
from workbench.ui.widgets.textpane import TextPane

_SLICE, _PAUSE = 0.01, 0.02


class TableScreen(ViewScreen[int]):
    """Its result is the step at which the chosen rule fired, None when no rule was chosen."""

    TITLE = "the table of the dialect"
    HELP = (
        "The whole parser as a table: in each state, which token leads to which rule and which next state. "
        "▶ is the rule that fired last, the numbers say how often each one fired so far. "
        "Enter goes to the next row of the machine pane that used the selected rule."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "jump(1)", "Next use", id="table.jump",
                tooltip="To the next row of the machine pane that used this rule"),
        Binding("backspace", "jump(-1)", "Previous use", id="table.jump-back", show=False,
                tooltip="To the last row before that used this rule"),
        Binding("a,space", "fired", "Hits / all", id="table.toggle", key_display="a",
                tooltip="Show only the rules that fired, or all of them"),
    ]  # fmt: skip

    def __init__(self, player: Player, step: int) -> None:
        super().__init__()
        self.player = player
        self.step = step
        self.only_hits = False
        self.table = TextPane("Table", id="table")
        self.panes = (self.table,)
        self._dialect = DIALECTS.get(player.dialect)
        self._rules = rules_of(self._dialect) if self._dialect is not None else []
        self._hits = Hits(player, step)
        self._timer: Timer | None = None

    def begin(self) -> None:
        self._count()
        self._timer = self.set_interval(_PAUSE, self._count, pause=not self._counting)

    def _count(self) -> None:
        self._counting = self._hits.advance(_SLICE)
        if self._timer is not None and not self._counting:
            self._timer.stop()
        self._show()

    def _show(self) -> None:
        row = self._chosen()
        document = RuleList(self._rules, self._hits, only_hits=self.only_hits)
        self.table.show_document(document)
        if row in document.rules:
            self.table.go(document.rules.index(row), tell=False)
        if self._dialect is None:
            self.say(f"there is no dialect {self.player.dialect!r} here, so there is no table", "", "error")
            return
        used = sum(1 for rule in self._rules if document.count(rule))
        counted = "counting … " if self._counting else ""
        kind = "only rules that fired" if self.only_hits else "all rules"
        self.say(
            f"the table of {self._dialect.name}",
            f"{counted}{used} of {len(self._rules)} rules fired up to step {self.step + 1} · {kind}",
        )

    def _chosen(self) -> RuleRow | None:
        document = self.table.document
        if isinstance(document, RuleList) and 0 <= self.table.cursor < len(document.rules):
            return document.rules[self.table.cursor]
        return None

    def action_fired(self) -> None:
        self.only_hits = not self.only_hits
        self._show()

    def on_row_pane_opened(self, event: RowPane.Opened) -> None:
        event.stop()
        self.action_jump(1)

    def action_jump(self, way: int) -> None:
        chosen = self._chosen()
        if chosen is None:
            self.notify("choose a rule, not a heading", timeout=2)
            return
        step = self._step_of(chosen, way)
        if step is None:
            self.notify("this rule fired nowhere in this answer", timeout=3)
        else:
            self.dismiss(step)

    def _step_of(self, rule: RuleRow, way: int) -> int | None:
        """The next step that used the rule, around the end."""
        rows = self.player.rows(Pane.MACHINE)
        here = rows.known_at(self.step)
        order = (
            [*range(here, len(rows)), *range(here)]
            if way > 0
            else [*range(here - 2, -1, -1), *range(len(rows) - 1, here - 2, -1)]
        )
        pairs = set(rule.pairs)
        for row in order:
            item = self.player.item(Pane.MACHINE, row)
            if isinstance(item, Transition) and (item.state, item.token) in pairs:
                return int(rows.steps[row])
        return None
