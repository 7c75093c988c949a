"""What the list shows of an exchange: columns, as many as fit, none of them empty; and by which of them the
list is sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from rich.cells import cell_len, set_cell_size

from workbench.analysis.verdicts import Facts, Verdict, verdict
from workbench.library.summary import Row
from workbench.text import visible_line
from workbench.ui.display import Pieces, look_of, sign_of

_GAP = 2
_MEASURED = 300  # rows that decide how wide a column is: those that the user sees first
_LONGEST = 400  # characters of a cell that are looked at
_SESSION = 10


@dataclass(frozen=True, slots=True)
class Judged:
    """An exchange and its verdict."""

    row: Row
    verdict: Verdict

    @property
    def level(self) -> str:
        return self.verdict.level

    @property
    def sentence(self) -> str:
        return self.verdict.sentence

    @property
    def is_bad(self) -> bool:
        """The client could not use it, or not all of it."""
        return self.verdict.level in ("error", "warning")


def judged(row: Row) -> Judged:
    """The verdict on an exchange from the index alone."""
    findings = tuple(row.findings.items())
    return Judged(
        row,
        _verdict(
            findings,
            row.state,
            row.status,
            row.calls,
            row.error,
            row.kind,
            row.dialect,
            row.lost,
            row.problem,
        ),
    )


@lru_cache(maxsize=4096)
def _verdict(
    findings: tuple[tuple[str, int], ...],
    state: str,
    status: int | None,
    calls: int,
    error: str | None,
    kind: str | None,
    dialect: str | None,
    lost: int,
    problem: str | None,
) -> Verdict:
    """Cached: most of thousands of exchanges went like others."""
    return verdict(Facts(state, status, calls, dict(findings), error, kind, dialect, lost, problem))


Cell = Callable[[Judged], str]


@dataclass(frozen=True, slots=True)
class Column:
    """A column with fewer than `least` cells is useless; more than `most` are never taken. `key` is what rows
    are sorted by, where it is not the text; None is sorted last. `first_down`: the largest first."""

    name: str
    text: Cell
    least: int
    most: int
    look: str = "plain"
    right: bool = False
    key: Callable[[Judged], Any] | None = None
    first_down: bool = False

    def sort_key(self, entry: Judged) -> Any:
        value = self.key(entry) if self.key is not None else self.text(entry).casefold()
        return None if value == "" else value


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02}s" if minutes < 600 else f"{minutes // 60} h"


def _asked(entry: Judged) -> str:
    """The user's words, or a tool's result after the tool's name."""
    row = entry.row
    return f"{row.asked_by} → {row.asked or '(nothing)'}" if row.asked_by else row.asked or ""


def _status(entry: Judged) -> str:
    """The status, and how it ended where that was not the usual way; the verdict says that it runs."""
    row = entry.row
    state = "" if row.state in ("done", "eof", "running") else row.state
    return " ".join(part for part in (str(row.status or ""), state) if part)


def _tokens(entry: Judged) -> str:
    row = entry.row
    if row.prompt_tokens is None and row.completion_tokens is None:
        return "" if row.total_tokens is None else f"{row.total_tokens:,}"
    return f"{row.prompt_tokens or 0:,}+{row.completion_tokens or 0:,}"


def _all_tokens(entry: Judged) -> int | None:
    row = entry.row
    parts = (row.prompt_tokens, row.completion_tokens)
    return sum(part or 0 for part in parts) if any(part is not None for part in parts) else row.total_tokens


def _tools(entry: Judged) -> str:
    """The tools by name; repeated names with a count."""
    counts: dict[str, int] = {}
    for name in entry.row.tools:
        counts[name] = counts.get(name, 0) + 1
    named = ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())
    return named or (f"{entry.row.calls} ⚒" if entry.row.calls else "")


def short_session(name: str) -> str:
    """The ids of sessions begin alike: their ends tell them apart."""
    return name if len(name) <= _SESSION else f"…{name[1 - _SESSION :]}"


def api_of(row: Row) -> str:
    """The client's API, where it is not the usual one."""
    return f"{row.kind} → " if row.kind in ("responses", "messages") else ""


TIME = Column(
    "time", lambda entry: _moment(entry.row.started, dates=True), 8, 15, "dim",
    key=lambda entry: entry.row.started, first_down=True,
)  # fmt: skip
# In their order from left to right.
COLUMNS: Sequence[Column] = (
    TIME,
    Column("session", lambda entry: short_session(entry.row.session or ""), _SESSION, _SESSION, "dim",
           key=lambda entry: entry.row.session or ""),
    Column("asked with", _asked, 28, 200),
    Column("calls", _tools, 10, 40, "good"),
    Column("verdict", lambda entry: entry.sentence, 30, 90),
    Column("status", _status, 3, 13, "dim", key=lambda entry: entry.row.status),
    Column("took", lambda entry: _seconds(entry.row.duration), 6, 7, right=True,
           key=lambda entry: entry.row.duration, first_down=True),
    Column("tokens", _tokens, 6, 16, "dim", right=True, key=_all_tokens, first_down=True),
    Column("model", lambda entry: entry.row.model or "", 14, 30, "bright"),
    Column("dialect", lambda entry: f"{api_of(entry.row)}{entry.row.dialect or ''}", 11, 24, "dim"),
)  # fmt: skip
BY_NAME: Mapping[str, Column] = {column.name: column for column in COLUMNS}
# Columns left out first if not all fit; then the text columns get narrower; then these are left out, too.
_SPARE = ("dialect", "model", "tokens", "status", "session", "took")
_NARROW = {"asked with": 16, "verdict": 22, "calls": 7}
_LAST = ("calls", "asked with")
# Columns that get the remaining space, in this order.
_ELASTIC = ("verdict", "asked with", "calls", "model", "dialect")


def _moment(started: float, dates: bool) -> str:
    when = datetime.fromtimestamp(started)
    return when.strftime("%d %b %H:%M:%S" if dates else "%H:%M:%S")


@dataclass(frozen=True, slots=True)
class Order:
    """By which column the list is sorted; `down`: the largest first."""

    name: str = "time"
    down: bool = True

    @property
    def usual(self) -> bool:
        return self == Order()

    def turned(self) -> Order:
        return Order(self.name, not self.down)

    def sorted(self, entries: Sequence[Judged]) -> list[Judged]:
        """`entries` come with the newest first, and stay so where the column says the same."""
        if self.usual:
            return list(entries)
        key = BY_NAME[self.name].sort_key
        known = [(key(entry), entry) for entry in entries]
        has = sorted((pair for pair in known if pair[0] is not None), key=_first, reverse=self.down)
        return [entry for _, entry in has] + [entry for value, entry in known if value is None]


def _first(pair: tuple[Any, Judged]) -> Any:
    return pair[0]


def order_by(name: str, before: Order) -> Order:
    """The same column again reverses the order."""
    return before.turned() if before.name == name else Order(name, BY_NAME[name].first_down)


class Table:
    """Which columns are shown and how wide they are, for these exchanges and this width. `before` is the
    previous table, with fewer exchanges: its columns do not get narrower, so that nothing jumps."""

    def __init__(
        self, entries: Sequence[Judged], width: int, order: Order, before: Table | None = None
    ) -> None:
        self.order = order
        self._before = before.natural if before is not None else {}
        self._today = datetime.now().date()
        self._dates = any(self._is_other_day(entry) for entry in entries)
        self.widths = self._chosen(entries, width)

    def _is_other_day(self, entry: Judged) -> bool:
        return datetime.fromtimestamp(entry.row.started).date() != self._today

    def _text(self, column: Column, entry: Judged) -> str:
        if column is TIME:
            return _moment(entry.row.started, self._dates)
        return visible_line(column.text(entry)[:_LONGEST])

    def _chosen(self, entries: Sequence[Judged], width: int) -> dict[str, int]:
        self.natural = natural = self._natural(entries)
        room = width - 2  # the sign
        least = {
            name: min(size, max(BY_NAME[name].least, cell_len(self.title(BY_NAME[name]))))
            for name, size in natural.items()
        }
        if TIME.name in least:
            least[TIME.name] = natural[TIME.name]
        for name in _SPARE:
            if name in least and _total(least) > room:
                del least[name]
        for name, size in _NARROW.items():
            if name in least and _total(least) > room:
                least[name] = min(least[name], max(size, least[name] - _total(least) + room))
        for name in _LAST:
            if name in least and _total(least) > room:
                del least[name]
        left = room - _total(least)
        widths = dict(least)
        for name in (*(name for name in widths if name not in _ELASTIC), *_ELASTIC):
            if name in widths:
                more = max(0, min(left, natural[name] - widths[name]))
                if name == "verdict" and "asked with" in widths:  # neither takes all the space
                    more = min(more, max(0, left * 2 // 5))
                widths[name] += more
                left -= more
        if left > 0 and "verdict" in widths:
            widths["verdict"] += min(left, max(0, natural["verdict"] - widths["verdict"]))
        return {name: widths[name] for name in natural if name in widths}

    def _natural(self, entries: Sequence[Judged]) -> dict[str, int]:
        """How wide each column would be; one that is empty for all is left out."""
        natural = {}
        for column in COLUMNS:
            texts = [self._text(column, entry) for entry in entries[:_MEASURED]]
            longest = max(map(cell_len, texts), default=0)
            known = self._before.get(column.name, 0)
            if not longest and not known and not any(column.text(entry) for entry in entries[_MEASURED:]):
                continue
            natural[column.name] = max(cell_len(self.title(column)), min(longest, column.most), known)
        return natural

    def title(self, column: Column) -> str:
        if column.name != self.order.name:
            return column.name
        return f"{column.name} {'▼' if self.order.down else '▲'}"

    def head(self) -> Pieces:
        """The names of the columns."""
        pieces: Pieces = [("", "dim")]
        for name, width in self.widths.items():
            column = BY_NAME[name]
            look = "strong" if name == self.order.name else "dim"
            pieces += [(" " * _GAP, "dim"), (_fitted(self.title(column), width, column.right), look)]
        return pieces

    def column_at(self, x: int) -> str | None:
        """The column below a cell of the line of names."""
        at = 0
        for name, width in self.widths.items():
            at += _GAP + width
            if x < at:
                return name
        return None

    def row(self, entry: Judged) -> Pieces:
        mark = "◆" if entry.row.marked else " "
        pieces: Pieces = [(sign_of(entry.level), look_of(entry.level)), (mark, "warning")]
        gap = ""  # the sign takes the first one
        for name, width in self.widths.items():
            column = BY_NAME[name]
            look = look_of(entry.level) if name == "verdict" and entry.is_bad else column.look
            pieces += [(gap, "plain"), (_fitted(self._text(column, entry), width, column.right), look)]
            gap = " " * _GAP
        return pieces

    def hidden(self, entry: Judged) -> list[str]:
        """The columns that did not fit."""
        return [
            self._text(column, entry)
            for column in COLUMNS
            if column.name not in self.widths and column.text(entry)
        ]


def _total(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + _GAP * max(0, len(widths) - 1)


def _fitted(text: str, width: int, right: bool) -> str:
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…" if width > 0 else ""
    blanks = " " * (width - length)
    return blanks + text if right else text + blanks


def is_side(row: Row) -> bool:
    """A side request: a title, an embedding."""
    return row.kind == "relay" or row.offered == 0 or "nothing-offered" in row.findings


def without_side(entries: Iterable[Judged]) -> list[Judged]:
    """Without side requests; a session that has nothing else keeps them."""
    every = list(entries)
    talks = {entry.row.session for entry in every if not is_side(entry.row)}
    return [entry for entry in every if not is_side(entry.row) or entry.row.session not in talks]
