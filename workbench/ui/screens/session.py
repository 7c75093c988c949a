"""The session screen: a session's calls beside the tool results that came back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.timer import Timer

from workbench.analysis.sessions import Link, Trouble, Turn, chain, turn_of
from workbench.replay.lines import Tail
from workbench.text import counted
from workbench.ui.display import Pieces
from workbench.ui.screens.view import ViewScreen
from workbench.ui.widgets.document import Sheet
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.textpane import TextPane

_LONGEST = 4000  # characters of one text that are shown when a row is opened
_WIDE = 100
_SAID = {
    Trouble.ERROR: "the result looks like an error",
    Trouble.MISSING: "no result came back",
    Trouble.TWICE: "more than one result came back",
    Trouble.ARGUMENTS: "the arguments are not a JSON object",
}


class SessionCalls(Sheet):
    """`names` says what an exchange is called. A row of the screen is a call or the name of an exchange."""

    def __init__(self, links: Sequence[Link], names: Mapping[str, str], chosen: str) -> None:
        super().__init__()
        self.links = list(links)
        self.names = names
        self.chosen = chosen
        self.rows: list[Link | None] = []
        self.exchanges: list[str] = []

    @property
    def goal(self) -> int | None:
        """The first call of the exchange one came from, else the first one of all."""
        here = (at for at, link in enumerate(self.rows) if link is not None and link.exchange == self.chosen)
        return next(here, int(len(self.rows) > 1) if self.complete else None)

    def _clear(self) -> None:
        super()._clear()
        self.rows, self.exchanges = [], []

    def _rows(self, width: int) -> Iterator[None]:
        before = None
        for link in self.links:
            if link.exchange != before:
                before = link.exchange
                here = "  (where you came from)" if before == self.chosen else ""
                self._add([(self.names.get(before, before) + here, "heading")], None, before)
            self._add(_call(link), link, link.exchange)
            yield

    def _add(self, pieces: Pieces, link: Link | None, exchange: str) -> None:
        self._made.append(pieces)
        self.rows.append(link)
        self.exchanges.append(exchange)

    def columns(self, row: int, width: int) -> list[tuple[Pieces, int]]:
        link = self.rows[row]
        if link is None:
            return [(self._made[row], width)]
        half = width * 9 // 20 if width >= _WIDE else width // 2
        return [(self._made[row], half - 1), ([("│", "dim")], 1), (_result(link), width - half)]

    def text(self, row: int) -> str:
        link = self.rows[row]
        if link is None:
            return super().text(row)
        return super().text(row) + "  ->  " + "".join(text for text, _ in _result(link))

    def opened(self, row: int) -> Pieces:
        link = self.rows[row]
        if link is None:
            return []
        trouble = "; ".join(_SAID[trouble] for trouble in link.troubles)
        pieces: Pieces = [(f"✖ {trouble}. ", "error")] if trouble else []
        pieces += [("arguments ", "dim"), (link.call.arguments[:_LONGEST], "bright")]
        if link.result is not None:
            look = "error" if Trouble.ERROR in link.troubles else "plain"
            pieces += [("  result ", "dim"), (link.result.text[:_LONGEST], look)]
        return pieces


def _call(link: Link) -> Pieces:
    sign, look = _sign(link)
    return [
        (f" {sign} ", look),
        (f"{link.call.name} ", "strong"),
        (link.call.arguments, "plain"),
    ]


def _sign(link: Link) -> tuple[str, str]:
    if link.troubles:
        return "✖", "error"
    return ("✔", "good") if link.result is not None else ("◌", "info")


def _result(link: Link) -> Pieces:
    if link.result is None:
        missing = Trouble.MISSING in link.troubles
        return [(" no result came back", "error") if missing else (" no result yet", "dim")]
    if Trouble.ARGUMENTS in link.troubles or Trouble.TWICE in link.troubles:
        said = "; ".join(_SAID[trouble] for trouble in link.troubles)
        return [(f" {said}: ", "error"), (link.result.text, "plain")]
    return [(" " + link.result.text, "error" if Trouble.ERROR in link.troubles else "plain")]


_SLICE, _PAUSE = 0.012, 0.02


class SessionScreen(ViewScreen[Path]):
    """`tapes` are those of a session. Its result is the tape of the chosen exchange, None when none was."""

    TITLE = "the calls of a session"
    HELP = (
        "Every call of this session, in the order they were made; beside it the result that the client sent "
        "back with its next request. ✖ marks results that look like errors, results that never came, and "
        "arguments that are not JSON. Enter opens the exchange in which the call was made."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open exchange", id="session.open",
                tooltip="Show the exchange in which this call was made"),
        Binding("e", "error(1)", "Next error", id="session.error", tooltip="To the next call with trouble"),
        Binding("E", "error(-1)", "Previous error", id="session.error-back", show=False,
                tooltip="To the call with trouble before"),
    ]  # fmt: skip

    def __init__(self, tapes: Sequence[Path], here: Path | None = None) -> None:
        super().__init__()
        self.tapes = list(tapes)
        self.here = here
        self.links: list[Link] = []
        self.list = TextPane("Calls and their results", id="session-calls")
        self.panes = (self.list,)
        self._turns: list[Turn] = []
        self._left = list(reversed(self.tapes))
        self._tail: Tail | None = None
        self._unread = 0
        self._timer: Timer | None = None

    def begin(self) -> None:
        self._timer = self.set_interval(_PAUSE, self._read)
        self._read()

    def _read(self) -> None:
        """The next slice of the tapes; the list is made when all of them are known."""
        if self._tail is None and self._left:
            self._tail = Tail(self._left.pop())
        if self._tail is not None:
            self._tail.advance(_SLICE)
            if not self._tail.behind:
                self._take(self._tail)
                self._tail = None
        if self._tail is None and not self._left:
            if self._timer is not None:
                self._timer.stop()
            self._show()
        else:
            self.say("reading the tapes of this session", f"{len(self._turns)} of {len(self.tapes)}")

    def _take(self, tail: Tail) -> None:
        if tail.player is None:
            self._unread += 1
        else:
            self._turns.append(turn_of(tail.player, str(tail.path)))

    def _show(self) -> None:
        self.links = chain(self._turns)
        turns = sorted(self._turns, key=lambda turn: turn.started)
        names = {turn.exchange: _name(number, turn) for number, turn in enumerate(turns, 1)}
        bad = sum(bool(link.troubles) for link in self.links)
        exchanges = counted(len(turns), "exchange")
        calls = f"{counted(len(self.links), 'call')} in {exchanges}"
        unread = f" · {counted(self._unread, 'tape')} could not be read" if self._unread else ""
        self.say(
            calls, f"{bad} with trouble{unread}" if bad else f"no trouble{unread}", "error" if bad else ""
        )
        self.list.show_document(SessionCalls(self.links, names, str(self.here)))
        if not self.links:
            self.say("there are no calls in this session", f"{exchanges}{unread}")

    @property
    def document(self) -> SessionCalls | None:
        document = self.list.document
        return document if isinstance(document, SessionCalls) else None

    def on_row_pane_opened(self, event: RowPane.Opened) -> None:
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        document = self.document
        if document is not None and 0 <= self.list.cursor < len(document.exchanges):
            self.dismiss(Path(document.exchanges[self.list.cursor]))

    def action_error(self, way: int) -> None:
        document = self.document
        rows = document.rows if document is not None else []
        order = range(self.list.cursor + 1, len(rows)) if way > 0 else range(self.list.cursor - 1, -1, -1)
        for at in order:
            link = rows[at]
            if link is not None and link.troubles:
                self.list.go(at)
                return
        self.notify("no further trouble", timeout=2)


def _name(number: int, turn: Turn) -> str:
    try:
        when = datetime.fromtimestamp(turn.started).strftime("%H:%M:%S") if turn.started else "?"
    except (ValueError, OverflowError, OSError):
        when = "?"
    return f"exchange {number} at {when}"
