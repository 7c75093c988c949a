"""The right pane: what the client got, delta by delta, in short."""

from __future__ import annotations

import orjson

from transformer import Delta
from workbench.player.panes import Pane
from workbench.player.tracks import Item
from workbench.tape import Line
from workbench.ui.widgets.tapepane import Pieces, TapePane


class ClientPane(TapePane):
    PANE = Pane.CLIENT
    NAME = "Client"

    def pieces(self, item: Item) -> Pieces:
        if isinstance(item, Delta):
            return [self.rail(item.call), self.clock(item), *self._delta(item)]
        assert isinstance(item, Line)
        return [("  ", self.look("plain")), self.clock(item), *self._line(item)]

    def details(self, item: Item) -> Pieces:
        if isinstance(item, Delta) and item.text:
            return [(item.text, self.look("bright"))]
        if isinstance(item, Line) and item.kind == "sent":
            return [(item.data.decode("utf-8", "backslashreplace"), self.look("bright"))]
        return []

    def _delta(self, delta: Delta) -> Pieces:
        dim, bright = self.look("dim"), self.look("bright")
        choice = f"[{delta.choice}] " if delta.choice else ""
        if delta.kind == "call":
            return [(f"{choice}call ", dim), (str(delta.name), self.look("good")), (f"  {delta.id}", dim)]
        if delta.kind in ("content", "arguments"):
            return [(f"{choice}{delta.kind} ", dim), (delta.text, bright)]
        if delta.kind == "reasoning":
            return [(f"{choice}reasoning ", dim), (delta.text, self.look("plain"))]
        if delta.kind == "error":
            return [(f"{choice}error ", self.look("error")), (delta.text, self.look("error"))]
        return [(f"{choice}{delta.kind} ", self.look("info")), (delta.text, bright)]

    def _line(self, line: Line) -> Pieces:
        if line.kind == "status":
            status = str(line.value.get("status", ""))
            return [(f"HTTP {status}", self.look("good" if status[:1] == "2" else "error"))]
        by = line.value.get("by")
        if by is not None and line.data.startswith(b":"):
            return [("♥ a comment, upstream is silent", self.look("dim"))]
        said = _message(line.data) if by == "proxy" else ""
        look = self.look("error" if by == "proxy" else "plain")
        return [
            (f"{by or self._what()} ", self.look("dim")),
            (said or line.data.decode("utf-8", "backslashreplace"), look),
        ]

    def _what(self) -> str:
        return "message" if self.player is not None and self.player.mode == "message" else "bytes"


def _message(data: bytes) -> str:
    """The sentence of an error body."""
    try:
        return str(orjson.loads(data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return ""
