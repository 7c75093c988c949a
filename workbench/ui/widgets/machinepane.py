"""The middle pane: how the parser moved, rule by rule, and what it found."""

from __future__ import annotations

from transformer import DIALECTS, Finding, Transition
from workbench.player.panes import Pane
from workbench.player.tracks import Item
from workbench.tape import Line
from workbench.ui.holding import characters
from workbench.ui.widgets.tapepane import Pieces, TapePane

SIGNS = {"error": "✖", "warning": "▲", "info": "●"}


class MachinePane(TapePane):
    PANE = Pane.MACHINE
    NAME = "Machine"

    def pieces(self, item: Item) -> Pieces:
        if isinstance(item, Transition):
            return self._step(item)
        if isinstance(item, Finding):
            return [self.rail(item.call), *self._finding(item.level, item.code, item.message)]
        assert isinstance(item, Line)
        value = item.value
        level = str(value.get("level", "info"))
        return [
            ("  ", self.look("plain")),
            *self._finding(level, str(value.get("finding")), str(value.get("message"))),
        ]

    def _step(self, step: Transition) -> Pieces:
        stays = step.state == step.to
        way = step.state if stays else f"{step.state} → {step.to}"
        held = f"  +{step.held} held" if step.held else ""
        return [
            self.rail(step.call),
            (f"{way} ", self.look("dim" if stays else "strong")),
            (f"{step.rule} ", self.look("info")),
            (step.text, self.look("bright")),
            (held, self.look("warning")),
        ]

    def _finding(self, level: str, code: str, message: str) -> Pieces:
        look = self.look(level if level in SIGNS else "info")
        return [(f"{SIGNS.get(level, '●')} {code} ", look), (message, self.look("plain"))]

    def remark(self, item: Item) -> str:
        if isinstance(item, Finding):
            return item.message
        if isinstance(item, Line):
            return str(item.value.get("message"))
        assert isinstance(item, Transition) and self.player is not None
        held = f" Held back: {characters(item.held)}." if item.held else ""
        return f"{item.token}: {why(self.player.dialect, item)}.{held}"

    def details(self, item: Item) -> Pieces:
        return [(item.text, self.look("bright"))] if isinstance(item, Transition) and item.text else []


def why(dialect: str, step: Transition) -> str:
    """The reason that the table gives for a rule."""
    known = DIALECTS.get(dialect)
    rules = known.transitions.items() if known is not None else ()
    return next((rule.why for key, rule in rules if key == (step.state, step.token)), step.rule)
