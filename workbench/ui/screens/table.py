"""The table screen: the dialect's transition table, a block for each state, the current row marked,
with hits.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.timer import Timer

from transformer.dialects import loaded_dialect
from transformer.parser.dialect import EVERYWHERE, Dialect, Everywhere, Rule
from transformer.records import Transition
from workbench.analysis.explain.moves import chosen_dialect
from workbench.replay.player import Pane, Player
from workbench.ui.background import in_slices
from workbench.ui.display import Pieces
from workbench.ui.screens.view import ViewScreen
from workbench.ui.widgets.document import Sheet
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.textpane import TextPane

_BAR = 12
_BLOCKS = " ▏▎▍▌▋▊▉█"
Key = tuple[str, str, str]  # state, token, and the reason of the rule, which no two rules of an entry share
ANY = "any"  # state and token of what can happen in all of them


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule of one state, with all the tokens that lead to it."""

    state: str
    tokens: tuple[str, ...]
    rule: Rule | Everywhere
    rest: bool = False  # the rule for whatever the state does not name

    @property
    def keys(self) -> list[Key]:
        return [(self.state, token, self.rule.why) for token in self.tokens]

    @property
    def met(self) -> str:
        """Its conditions: the tokens, and the guard."""
        tokens = "anything else" if self.rest else ", ".join(self.tokens)
        return f"{tokens}, if {self.rule.condition}" if self.rule.condition else tokens


def rules_of(dialect: Dialect) -> list[RuleRow]:
    rows = []
    for state in dialect.states:
        tokens: dict[int, list[str]] = {}
        rules = {}
        for token in dialect.tokens:
            for rule in dialect.transitions[state, token]:
                rules[id(rule)] = rule
                tokens.setdefault(id(rule), []).append(str(token))
        found = [
            RuleRow(str(state), tuple(tokens[key]), rule, 2 * len(tokens[key]) > len(dialect.tokens) > 3)
            for key, rule in rules.items()
        ]
        rows += sorted(found, key=lambda row: row.rest)
    return [*rows, *(RuleRow(ANY, (ANY,), one) for one in EVERYWHERE)]


def key_of(item: Transition) -> Key:
    """The row whose rule fired."""
    state, token = (ANY, ANY) if item.rule in _WITHOUT_TABLE else (item.state, item.token)
    return state, token, item.why


_WITHOUT_TABLE = frozenset(one.name for one in EVERYWHERE if one.name)


class Hits:
    """How often each rule fired up to a step, counted little by little."""

    def __init__(self, player: Player, step: int) -> None:
        self.player = player
        self.counts: Counter[Key] = Counter()
        self.current: Key | None = None  # that of the last transition
        self._left = iter(range(player.rows(Pane.MACHINE).known_at(step)))

    def advance(self, seconds: float) -> bool:
        """True while there is more to count."""
        until = time.perf_counter() + seconds
        for row in self._left:
            item = self.player.item(Pane.MACHINE, row)
            if isinstance(item, Transition):
                self.current = key_of(item)
                self.counts[self.current] += 1
                if item.policy:
                    self.counts[ANY, ANY, item.policy] += 1
            if row % 64 == 0 and time.perf_counter() >= until:
                return True
        return False


class RuleList(Sheet):
    """The table with its hits. Above each state is its name; the row in use has a sign."""

    def __init__(self, rows: list[RuleRow], hits: Hits, *, only_hits: bool) -> None:
        super().__init__()
        self.hits = hits
        self.shown = [row for row in rows if self.count(row) or not only_hits]
        self.rules: list[RuleRow | None] = []  # for each row of the screen; None for a state's name
        self._most = max([1, *map(self.count, rows)])

    def count(self, row: RuleRow) -> int:
        return sum(self.hits.counts[key] for key in row.keys)

    def is_current(self, row: RuleRow) -> bool:
        return self.hits.current in row.keys

    @property
    def goal(self) -> int | None:
        """The rule that fired last, else the first one."""
        rules = [(at, rule) for at, rule in enumerate(self.rules) if rule is not None]
        found = next((at for at, rule in rules if self.is_current(rule)), None)
        return found if found is not None or not self.complete else rules[0][0] if rules else 0

    def _clear(self) -> None:
        super()._clear()
        self.rules = []

    def _rows(self, width: int) -> Iterator[None]:
        state = None
        for row in self.shown:
            if row.state != state:
                state = row.state
                if self._made:
                    self._add([], None)
                hits = sum(self.count(other) for other in self.shown if other.state == state)
                self._add(
                    [
                        (f"in state {state}   ", "heading"),
                        (f"{hits} hits" if hits else "", "dim"),
                    ],
                    None,
                )
            self._add(self._rule(row, width), row)
            yield

    def _add(self, pieces: Pieces, rule: RuleRow | None) -> None:
        self._made.append(pieces)
        self.rules.append(rule)

    def _rule(self, row: RuleRow, width: int) -> Pieces:
        count, current = self.count(row), self.is_current(row)
        look = "plain" if count else "dim"
        tokens = "anything else" if row.rest else ", ".join(row.tokens)
        wide = width >= 110
        column = 30 if wide else 20
        short = tokens if len(tokens) <= column else f"{tokens[: column - 1]}…"
        bar = [(f"{_bar(count, self._most):{_BAR}} ", "info")] if wide else []
        here = "current" if current else look
        return [
            ("▶ " if current else "  ", "current" if current else look),
            (f"{count or '':>6} ", "strong" if count else "dim"),
            *bar,
            (f"{short:{column}} ", here),
            (f"→ {row.rule.to:14} ", "dim" if row.rule.to == row.state else here),
            (f"{row.rule.name:{24 if wide else 18}} ", "info" if count else "dim"),
            (f"if {row.rule.condition}: " if wide and row.rule.condition else "", "dim"),
            (row.rule.why if wide else "", look),
        ]

    def opened(self, row: int) -> Pieces:
        rule = self.rules[row]
        if rule is None:
            return []
        effect = ", ".join(rule.rule.effect.words) or "nothing"
        return [(rule.rule.why, "good"), (f", at {rule.met} (effect: {effect})", "dim")]

    def text(self, row: int) -> str:
        rule = self.rules[row]
        if rule is None:
            return super().text(row)
        to = rule.rule
        return f"{self.count(rule)} {rule.state} {rule.met} → {to.to} {to.name}: {to.why}"


def _bar(count: int, most: int) -> str:
    """In eighths of a cell; one hit is still seen."""
    eighths = max(1, count * _BAR * 8 // most) if count else 0
    return "█" * (eighths // 8) + (_BLOCKS[eighths % 8] if eighths % 8 else "")


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
                tooltip="To the previous row that used this rule"),
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
        self._dialect = loaded_dialect(chosen_dialect(player))
        self.rules = rules_of(self._dialect) if self._dialect is not None else []
        own = loaded_dialect(player.dialect)
        if own is not None and self._dialect is not None and own is not self._dialect:
            # Before it chose, the answer was read by rules of its own.
            known = {*self._dialect.states, ANY}
            self.rules = [row for row in rules_of(own) if row.state not in known] + self.rules
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
        document = RuleList(self.rules, self._hits, only_hits=self.only_hits)
        self.table.show_document(document)
        if row in document.rules:
            self.table.go(document.rules.index(row), tell=False)
        if self._dialect is None:
            self.say(f"there is no dialect {self.player.dialect!r} here, so there is no table", "", "error")
            return
        used = sum(1 for rule in self.rules if document.count(rule))
        counted = "counting … " if self._counting else ""
        chosen = f", which {self.player.dialect} chose" if self._dialect.name != self.player.dialect else ""
        kind = "only rules that fired" if self.only_hits else "all rules"
        self.say(
            f"the table of {self._dialect.name}{chosen}",
            f"{counted}{used} of {len(self.rules)} rules fired up to step {self.step + 1} · {kind}",
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
        self._jump(chosen, way)

    @work(exclusive=True)
    async def _jump(self, rule: RuleRow, way: int) -> None:
        step = await self._step_of(rule, way)
        if step is None:
            self.notify("this rule fired nowhere in this answer", timeout=3)
        else:
            self.dismiss(step)

    async def _step_of(self, rule: RuleRow, way: int) -> int | None:
        """The next step that used the rule, around the end; of a long tape that may be all rows."""
        rows = self.player.rows(Pane.MACHINE)
        here = rows.known_at(self.step)
        order = (
            chain(range(here, len(rows)), range(here))
            if way > 0
            else chain(range(here - 2, -1, -1), range(len(rows) - 1, here - 2, -1))
        )
        keys = set(rule.keys)
        async for row in in_slices(order):
            item = self.player.item(Pane.MACHINE, row)
            if isinstance(item, Transition) and (key_of(item) in keys or (ANY, ANY, item.policy) in keys):
                return int(rows.steps[row])
        return None
