"""The middle pane: how the parser moved, rule by rule, and what it found."""

from __future__ import annotations

from transformer import DIALECTS, Finding, Transition
from workbench.player import Pane
from workbench.player.player import Item
from workbench.tape import Line
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

    def details(self, item: Item) -> Pieces:
        if isinstance(item, Finding):
            return [(item.message, self.look("plain"))]
        if isinstance(item, Line):
            return [(str(item.value.get("message")), self.look("plain"))]
        assert isinstance(item, Transition) and self.player is not None
        dialect = DIALECTS.get(self.player.dialect)
        rules = dialect.transitions if dialect is not None else {}
        why = next(
            (
                rule.why
                for (state, token), rule in rules.items()
                if (state, token) == (item.state, item.token)
            ),
            "",
        )
        pieces: Pieces = [(f"{item.token}: {why}  ", self.look("dim")), (item.text, self.look("bright"))]
        if item.held:
            pieces.append((f"  {item.held} characters held back", self.look("warning")))
        return pieces
