"""The list of exchanges, the newest first, each with what was asked, what it called and its verdict; and the
catalogue that fills it with those that a filter lets through. Side requests are folded.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from workbench.analysis.filters import Filter, parse
from workbench.library.query import Library
from workbench.library.summary import Row
from workbench.replay.lines import Tail
from workbench.text import counted, date_and_time
from workbench.ui.display import content, sentence
from workbench.ui.widgets.exchangetable import (
    COLUMNS,
    Judged,
    Order,
    Table,
    judged,
    order_by,
    without_side,
)
from workbench.ui.widgets.rowpane import GroupedPane, RowPane

_INDENT = 2  # cells before what is opened
_ROOM = 7  # lines of the list; with fewer, the selected row is not opened


@dataclass(frozen=True, slots=True)
class Older:
    """The last line, if there are more exchanges than are listed."""

    count: int

    @property
    def sentence(self) -> str:
        are = "is" if self.count == 1 else "are"
        older = counted(self.count, "older exchange")
        return f"{older} {are} neither listed nor filtered: workbench library list has them"


Entry = Judged | Older
Deed = Literal["mark", "note", "delete", "export", "compare"]


class ExchangeList(GroupedPane):
    """A table: names of columns above, a row for each exchange."""

    NAME = "Exchanges"
    HEAD = 1
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "sort(1)", "Sort", id="list.sort",
                tooltip="Sort the list by its next column; a click on a column's name does it, too"),
        Binding("O", "turn_order", "Turn order", id="list.turn", show=False,
                tooltip="Sort the list the other way round"),
        Binding("m", "do('mark')", "Mark", id="list.mark",
                tooltip="Mark this exchange, or not: a marked one is never deleted"),
        Binding("M", "do('note')", "Note", id="list.note", show=False,
                tooltip="Write a note about this exchange; it is kept with it"),
        Binding("c", "do('compare')", "Choose", id="list.compare", show=False,
                tooltip="Choose this exchange to be compared, or not; = compares the two"),
        Binding("d,delete", "do('delete')", "Delete", id="list.delete", show=False,
                tooltip="Delete this exchange and its tape, after a question"),
        Binding("e", "do('export')", "Export", id="list.export", show=False,
                tooltip="Write this exchange as a tape to a folder of yours; secrets are masked in it"),
    ]  # fmt: skip

    @dataclass
    class Replaced(Message):
        """Another exchange is selected because the previous one is not listed any more; the user has not
        moved."""

    @dataclass
    class Sorted(Message):
        """The user wants another order of the list."""

        order: Order

    @dataclass
    class Wanted(Message):
        """The user wants to do something with the selected exchange."""

        deed: Deed
        row: Row

    def __init__(self) -> None:
        super().__init__(id="exchanges")
        self.border_title = self.NAME
        self.entries: list[Entry] = []
        self.order = Order()
        self.watched = False  # the newest exchange is followed, the user does not move here
        self.note = ""  # of the selected exchange
        self.compared: list[str] = []  # the tapes of those that are to be compared, the left one first
        self.follow = False
        self._met = 0.0  # when the newest exchange began that was there when the user last moved here
        self._table: tuple[int, Order, Table] | None = None  # with the width and order it was made for
        self._before: tuple[int, Table] | None = None  # the previous one, with fewer exchanges

    # -- what is listed

    @property
    def newer(self) -> int:
        """Exchanges that began since the user was here."""
        return sum(isinstance(entry, Judged) and entry.row.started > self._met for entry in self.entries)

    def _meet(self) -> None:
        started = (entry.row.started for entry in self.entries if isinstance(entry, Judged))
        self._met = max(started, default=0.0)

    def show_entries(self, entries: Sequence[Entry]) -> None:
        """Another list; the selected exchange stays selected wherever it is now."""
        chosen = self.chosen
        self.entries = list(entries)
        if self._table is not None:
            self._before = self._table[0], self._table[2]
        self._table = None
        if chosen is None:
            self._meet()
        at = self._place(chosen.row.path) if chosen is not None else -1
        if at < 0:
            at = next((at for at, entry in enumerate(self.entries) if isinstance(entry, Judged)), -1)
        moved = chosen is None or at < 0 or self.entries[at].row.path != chosen.row.path  # type: ignore[union-attr]
        self.set_reactive(RowPane.cursor, at)
        self.show()
        if moved and at >= 0:
            self.post_message(self.Replaced())

    @property
    def chosen(self) -> Judged | None:
        entry = self.entries[self.cursor] if 0 <= self.cursor < len(self.entries) else None
        return entry if isinstance(entry, Judged) else None

    def _place(self, path: str) -> int:
        """The row of an exchange, by its tape; -1: it is not listed."""
        places = (at for at, entry in enumerate(self.entries) if _is_of(entry, path))
        return next(places, -1)

    def choose(self, path: str) -> bool:
        """Select an exchange by its tape, as the user would."""
        at = self._place(path)
        if at >= 0:
            self.go(at)
        return at >= 0

    def follow_to(self, path: str) -> bool:
        """Select an exchange because it is the one that is followed: the user has not moved."""
        at = self._place(path)
        if at >= 0:
            self._meet()
            self.set_reactive(RowPane.cursor, at)
            self.show()
        return at >= 0

    def next_bad(self, way: int) -> bool:
        """Select the next exchange with an error or a warning, in a circle; False when there is none."""
        for at in self.circle(way):
            entry = self.entries[at]
            if isinstance(entry, Judged) and entry.is_bad:
                self.go(at)
                return True
        return False

    # -- sorting

    def action_sort(self, way: int) -> None:
        names = list(self._columns(self.size.width - 1).widths)
        at = names.index(self.order.name) if self.order.name in names else -1
        name = names[(at + way) % len(names)] if names else self.order.name
        if name != self.order.name:
            self.post_message(self.Sorted(order_by(name, self.order)))

    def action_turn_order(self) -> None:
        self.post_message(self.Sorted(self.order.turned()))

    def click_head(self, x: int) -> None:
        name = self._columns(self.size.width - 1).column_at(x)
        if name is not None:
            self.post_message(self.Sorted(order_by(name, self.order)))

    def action_do(self, deed: Deed) -> None:
        chosen = self.chosen
        if chosen is not None:
            self.post_message(self.Wanted(deed, chosen.row))

    # -- rows

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)  # the frame's colour
        self.show()  # with the focus the selected row is opened

    @property
    def shows(self) -> object:
        return self.entries

    def count(self) -> int:
        return len(self.entries)

    def is_heading(self, row: int) -> bool:
        return not isinstance(self.entries[row], Judged)

    def go(self, row: int, *, tell: bool = True) -> None:
        self._meet()
        super().go(row, tell=tell)

    def _columns(self, width: int) -> Table:
        known = self._table
        if known is None or known[:2] != (width, self.order):
            listed = [entry for entry in self.entries if isinstance(entry, Judged)]
            before = self._before[1] if self._before is not None and self._before[0] == width else None
            known = self._table = width, self.order, Table(listed, width, self.order, before)
        return known[2]

    def name_list(self, name: str) -> None:
        """The name of the list. Another list has other columns."""
        if name != str(self.border_title):
            self.border_title = content(name)
            self._table = self._before = None

    def draw_head(self, y: int, width: int) -> Strip:
        return self.line(self._columns(width).head() if self.entries else [], width)

    def draw(self, row: int, width: int) -> Strip:
        entry = self.entries[row]
        if isinstance(entry, Older):
            return self.line([(f"─ {entry.sentence}", "warning")], width)
        pieces = self._columns(width).row(entry)
        if entry.row.path in self.compared:
            pieces[1] = ("−+"[self.compared.index(entry.row.path)], "info")
        return self.line(pieces, width)

    def opened(self, row: int, width: int, most: int) -> list[Strip]:
        """What does not fit the columns; a small or merely watched list needs the space for its rows."""
        entry = self.entries[row]
        if not isinstance(entry, Judged) or self.room < _ROOM or self.watched or not self.has_focus:
            return []
        facts = entry.row
        told = (
            f"note: {self.note}" if self.note else "",
            f"sent again from {facts.resend_of}, = compares" if facts.resend_of else "",
            f"{facts.try_id}, prompt {facts.prompt}" if facts.try_id else "",
            *self._columns(width).hidden(entry),
            "" if facts.ttfb is None else f"first byte {facts.ttfb:.2f} s",
            counted(facts.chunks, "read"),
            facts.upstream or "",
            date_and_time(facts.started),
            facts.id,
        )
        words = " · ".join(part for part in told if part)
        lines = sentence(words, self.look("dim"), width - _INDENT, min(2, most), self.look("plain"))
        return [Strip.join((self.line([], _INDENT), line)) for line in lines]

    def text(self, row: int) -> str:
        entry = self.entries[row]
        if isinstance(entry, Older):
            return entry.sentence
        texts = (column.text(entry) for column in COLUMNS)
        return "  ".join(text for text in (*texts, entry.row.id) if text)


def _is_of(entry: Entry, path: str) -> bool:
    return isinstance(entry, Judged) and entry.row.path == path


_MOST = 10_000
_LIVES = 2.0  # seconds between looks at whether writers still live


class Catalogue:
    """Looks at the index when that has changed. Raises UserError while there is no library."""

    def __init__(self, library: Path) -> None:
        self.library = library
        self.text = ""  # of the filter
        self._filter: Filter | None = None
        self._index: Library | None = None
        self._version = -1
        self._unfolded = False
        self._looked_at = 0.0
        self._decided: dict[
            str, tuple[int, bool]
        ] = {}  # the answers of tapes that the filter had to look into, and their sizes then
        self._judged: dict[str, Judged] = {}
        self.order = Order()
        self.listed: list[Judged] = []  # the newest first, whatever the order of the list
        self.folded = 0  # side requests that are not listed
        self.rows: list[Row] = []  # the newest, whatever the filter
        self.unfilled = False  # rows of an older version lack columns
        self.older = 0  # number of exchanges that are not in `rows`
        self.fitting = 0  # number of rows that pass the filter
        self.undecided: list[Row] = []

    def filter_by(self, text: str) -> None:
        """Raises FilterError, and then nothing has changed."""
        self._filter = parse(text) if text.strip() else None
        self.text = text.strip()
        self._version = -1
        self._decided.clear()

    def sort_by(self, order: Order) -> None:
        self.order = order
        self._version = -1

    def unfold(self) -> None:
        """Show side requests, or fold them away again."""
        self._unfolded = not self._unfolded
        self._version = -1

    @property
    def connected(self) -> bool:
        """Whether there was an index at the last poll."""
        return self._index is not None

    def poll(self) -> list[Entry] | None:
        """The list; None when nothing has changed."""
        try:
            if self._index is None:
                self._index = Library(self.library)
            version = self._index.data_version()
            if version == self._version and not self._may_have_died():
                return None
            self.rows = self._index.rows(limit=_MOST)
            self.unfilled = self._index.unfilled()
            self.older = self._index.count() - len(self.rows) if len(self.rows) == _MOST else 0
        except Exception:
            self._index, self._version = None, -1
            raise
        self._version, self._looked_at = version, time.monotonic()
        return self._entries(self.rows)

    def _may_have_died(self) -> bool:
        """The writer of a running exchange may have died without telling the index."""
        if time.monotonic() - self._looked_at < _LIVES:
            return False
        return any(row.state == "running" for row in self.rows)

    def _entries(self, rows: list[Row]) -> list[Entry]:
        self.undecided = []
        # Of thousands of rows one or two have changed.
        known, self._judged = self._judged, {}
        for row in rows:
            entry = known.get(row.path)
            same = entry is not None and (entry.row is row or entry.row == row)
            self._judged[row.path] = entry if same and entry is not None else judged(row)
        shown = [entry for entry in self._judged.values() if self._lets_through(entry)]
        self.fitting = len(shown)
        self.listed = shown if self._unfolded else without_side(shown)
        self.folded = len(shown) - len(self.listed)
        entries = self.order.sorted(self.listed)
        return [*entries, Older(self.older)] if self.older > 0 else list(entries)

    @property
    def said(self) -> str:
        """How many exchanges pass the filter, how many tapes still have to be searched, and what is
        folded."""
        folded = f"+{self.folded} side" if self.folded else ""
        if self._filter is None:
            return folded
        fits = f"{self.fitting:,} of {counted(len(self.rows), 'exchange')}"
        looks = f"looking into {counted(len(self.undecided), 'tape')} …" if self.undecided else ""
        return " · ".join(part for part in (fits, looks, folded) if part)

    def _lets_through(self, entry: Judged) -> bool:
        if self._filter is None:
            return True
        answer = self._filter.matches(entry.row, entry.verdict)
        if answer is not None:
            return answer
        size, known = self._decided.get(entry.row.path, (-1, False))
        if size != entry.row.size:
            self.undecided.append(entry.row)  # it has grown; until it is read again the old result counts
        return known

    def decide(self, row: Row, tail: Tail) -> None:
        """Note whether the exchange of a tape that has been read passes the filter."""
        fits = self._filter is not None and tail.player is not None and self._filter.matches_tape(tail.player)
        self._decided[row.path] = row.size, fits
        self._version = -1
