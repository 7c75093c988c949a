"""The left pane: what upstream sent, read by read, exactly as it came."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from workbench.player.panes import Pane
from workbench.player.runs import Run, decoded, runs_of
from workbench.player.tracks import Item
from workbench.tape import Line
from workbench.ui.widgets.tapepane import Pieces, TapePane


class UpstreamPane(TapePane):
    """A read takes one line, its framing shortened; the selected one is there in full, with `x` all are."""

    PANE = Pane.UPSTREAM
    NAME = "Upstream"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "exact", "Exact", id="upstream.exact", tooltip="Show the framing of every read, or not"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.exact = False

    def action_exact(self) -> None:
        self.exact = not self.exact
        self.show()

    def pieces(self, item: Item) -> Pieces:
        assert self.player is not None
        if isinstance(item, Line):
            return [("  ", self.look("plain")), self.clock(item), *self._line(item)]
        assert isinstance(item, int)
        start, end = self.player.starts[item], self.player.read_end(item)
        head: Pieces = [
            self.rail(self._call(item)),
            (f"{item + 1:5} ", self.look("number")),
            self.clock(item),
            (f"{end - start:5} ", self.look("dim")),
        ]
        runs = runs_of(self.player, item, self.step)
        if not self.exact and any(run.says for run in runs):
            return head + [piece for run in runs for piece in self._short(run)]
        return head + [piece for run in runs for piece in self._marked(run)]

    def details(self, item: Item) -> Pieces:
        assert self.player is not None
        if not isinstance(item, int):
            return []
        return [piece for run in runs_of(self.player, item, self.step) for piece in self._marked(run)]

    def _call(self, read: int) -> int | None:
        assert self.player is not None
        events = self.player.events_in(read, self.step)
        calls = (self.player.call_of(event.number, self.step) for event in events)
        return next((call for call in calls if call is not None), None)

    def _short(self, run: Run) -> Pieces:
        """Framing that stands around what is said takes one cell."""
        return self._marked(run) if run.says else [("…", self.look("dim"))]

    def _marked(self, run: Run) -> Pieces:
        """A run, with the very characters marked that the selected row comes from."""
        assert self.player is not None
        look = self.look("bright" if run.says else "dim")
        data = self.player.data
        pieces: Pieces = []
        at = run.start
        for start, end in self.lit:
            start, end = max(start, at), min(end, run.end)
            if start < end:
                pieces += [(decoded(data[at:start]), look), (decoded(data[start:end]), self.look("mark"))]
                at = end
        pieces.append((decoded(data[at : run.end]), look))
        return [piece for piece in pieces if piece[0]]

    def _line(self, line: Line) -> Pieces:
        value = line.value
        if line.kind == "status":
            kinds = [str(pair[1]) for pair in value.get("headers", ()) if _is_content_type(pair)]
            look = self.look("good" if str(value.get("status", ""))[:1] == "2" else "error")
            return [(f"HTTP {value.get('status')} ", look), (" ".join(kinds), self.look("dim"))]
        if line.kind == "end":
            error = value.get("error")
            said = error.get("message") if isinstance(error, dict) else error
            look = self.look("error" if error else "dim")
            return [(f"■ {value.get('end')}", look), (f"  {said}" if said else "", look)]
        if line.kind == "damaged":
            return [("a damaged line of the tape", self.look("error"))]
        return [(str(dict(value)), self.look("warning"))]


def _is_content_type(pair: object) -> bool:
    return isinstance(pair, list | tuple) and len(pair) == 2 and str(pair[0]).lower() == "content-type"
