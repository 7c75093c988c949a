"""The list of exchanges, by session, the newest first, each with its verdict; and the catalogue that fills
it with those that a filter lets through. Requests beside the conversation are folded.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from textual.strip import Strip

from workbench.analysis.filters import Filter, parse
from workbench.analysis.verdicts import Verdict, facts_of_row, verdict
from workbench.library.query import Library
from workbench.library.summary import Row
from workbench.replay.lines import Tail
from workbench.text import counted, date_and_time
from workbench.ui.display import Pieces, look_of, sentence, sign_of
from workbench.ui.widgets.rowpane import GroupedPane, RowPane

_INDENT = 3  # cells before what is opened


@dataclass(frozen=True, slots=True)
class Session:
    """The line above the exchanges of one conversation."""

    name: str
    count: int
    folded: int  # side requests that are not shown


@dataclass(frozen=True, slots=True)
class Judged:
    """An exchange and what is to be said of it."""

    row: Row
    verdict: Verdict

    @property
    def level(self) -> str:
        return self.verdict.level

    @property
    def sentence(self) -> str:
        return self.verdict.sentence


@dataclass(frozen=True, slots=True)
class Older:
    """The last line, where there are more exchanges than are listed."""

    count: int

    @property
    def sentence(self) -> str:
        are = "is" if self.count == 1 else "are"
        older = counted(self.count, "older exchange")
        return f"{older} {are} neither listed nor filtered: workbench library list has them"


Entry = Session | Judged | Older


class ExchangeList(GroupedPane):
    """A session is a group."""

    NAME = "Exchanges"

    def __init__(self) -> None:
        super().__init__(id="exchanges")
        self.border_title = self.NAME
        self.entries: list[Entry] = []
        self.follow = False
        self._met = 0.0  # when the newest exchange began that was there when the user last moved here

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
        if chosen is None:
            self._meet()
        places = {entry.row.path: at for at, entry in enumerate(self.entries) if isinstance(entry, Judged)}
        at = places.get(chosen.row.path, -1) if chosen is not None else -1
        if at < 0:
            at = next(iter(places.values()), -1)
        moved = chosen is None or at < 0 or self.entries[at].row.path != chosen.row.path  # type: ignore[union-attr]
        self.set_reactive(RowPane.cursor, at)
        self.show()
        if moved and at >= 0:
            self.post_message(self.Moved(self, at))

    @property
    def chosen(self) -> Judged | None:
        entry = self.entries[self.cursor] if 0 <= self.cursor < len(self.entries) else None
        return entry if isinstance(entry, Judged) else None

    def choose(self, path: str) -> bool:
        """Select an exchange by its tape."""
        for at, entry in enumerate(self.entries):
            if isinstance(entry, Judged) and entry.row.path == path:
                self.go(at)
                return True
        return False

    # -- rows

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

    def draw(self, row: int, width: int) -> Strip:
        match self.entries[row]:
            case Session() as session:
                pieces = self._session(session, width)
            case Older() as older:
                pieces = [(f"─ {older.sentence}", "warning")]
            case Judged() as entry:
                pieces = self._exchange(entry)
        return self.line(pieces, width)

    def _session(self, session: Session, width: int) -> Pieces:
        folded = f" (+{session.folded} side)" if session.folded else ""
        numbers = f"{session.count}{folded}"
        room = max(8, width - len(numbers) - 3)  # a client may call its sessions whatever it likes
        name = session.name if len(session.name) <= room else f"{session.name[: room - 1]}…"
        return [(f"─ {name} ", "strong"), (numbers, "dim")]

    def _exchange(self, entry: Judged) -> Pieces:
        row = entry.row
        calls = f"{row.calls}⚒ " if row.calls else "   "
        return [
            (f" {sign_of(entry.level)} ", look_of(entry.level)),
            (f"{_moment(row.started)} ", "dim"),
            (calls, "good"),
            (entry.sentence + "  ", "plain"),
            (f"{row.model or '?'} ", "bright"),
            (f"{_api(row)}{row.dialect} · {' · '.join(_numbers(row))}", "dim"),
        ]

    def opened(self, row: int, width: int, most: int) -> list[Strip]:
        entry = self.entries[row]
        if not isinstance(entry, Judged):
            return []
        facts = entry.row
        told = (
            facts.model or "?",
            f"{_api(facts)}{facts.dialect}",
            facts.state,
            *_numbers(facts),
            counted(facts.calls, "call"),
        )
        numbers = " · ".join([*map(str, told), date_and_time(facts.started), facts.id])
        plain, room = self.look("plain"), width - _INDENT
        lines = sentence(entry.sentence, self.look(look_of(entry.level)), room, min(most, 2), plain)
        lines += sentence(numbers, self.look("dim"), room, min(most, 4) - len(lines), plain)
        return [Strip.join((self.line([], _INDENT), line)) for line in lines]

    def text(self, row: int) -> str:
        entry = self.entries[row]
        if isinstance(entry, Session):
            return entry.name
        if isinstance(entry, Older):
            return entry.sentence
        return f"{entry.sentence} {entry.row.model} {_api(entry.row)}{entry.row.dialect} {entry.row.id}"


def _api(row: Row) -> str:
    """The client's API, where it is not the usual one."""
    return f"{row.kind} → " if row.kind in ("responses", "messages") else ""


def _moment(started: float) -> str:
    """The time of today, the date and the time of another day."""
    when = datetime.fromtimestamp(started)
    return when.strftime("%H:%M:%S" if when.date() == datetime.now().date() else "%d %b %H:%M")


def _numbers(row: Row) -> Iterator[str]:
    if row.ttfb is not None:
        yield f"first byte {row.ttfb:.2f} s"
    if row.duration is not None:
        yield f"duration {row.duration:.1f} s"
    yield counted(row.chunks, "read")


def judged(row: Row) -> Judged:
    """What the index alone can say of an exchange."""
    return Judged(row, verdict(facts_of_row(row)))


def grouped(judged_rows: Iterable[Judged], folds: bool = True) -> list[Entry]:
    """Newest first; a session stands where its newest exchange does. Folded ones are counted only."""
    sessions: dict[str, list[Judged]] = {}
    for entry in judged_rows:
        sessions.setdefault(entry.row.session or "", []).append(entry)
    entries: list[Entry] = []
    for name, group in sessions.items():
        shown = [entry for entry in group if not (folds and is_side(entry.row))] or group
        entries.append(Session(name or "without a session", len(shown), len(group) - len(shown)))
        entries += shown
    return entries


def is_side(row: Row) -> bool:
    """A request beside the conversation: a title, an embedding."""
    return row.kind == "relay" or "nothing-offered" in row.findings


_MOST = 2000
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
        self.rows: list[Row] = []  # the newest, whatever the filter
        self.older = 0  # so many are not among them
        self.fitting = 0  # so many of them the filter lets through
        self.undecided: list[Row] = []

    def filter_by(self, text: str) -> None:
        """Raises FilterError, and then nothing has changed."""
        self._filter = parse(text) if text.strip() else None
        self.text = text.strip()
        self._version = -1
        self._decided.clear()

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
            self._judged[row.path] = entry if entry is not None and entry.row == row else judged(row)
        shown = [entry for entry in self._judged.values() if self._lets_through(entry)]
        self.fitting = len(shown)
        entries = grouped(shown, folds=not self._unfolded)
        return [*entries, Older(self.older)] if self.older > 0 else entries

    @property
    def said(self) -> str:
        """How many exchanges the filter lets through, and how many tapes it has still to look into."""
        if self._filter is None:
            return ""
        fits = f"{self.fitting:,} of {counted(len(self.rows), 'exchange')}"
        looks = f"looking into {counted(len(self.undecided), 'tape')} …" if self.undecided else ""
        return " · ".join(part for part in (fits, looks) if part)

    def _lets_through(self, entry: Judged) -> bool:
        if self._filter is None:
            return True
        answer = self._filter.matches(entry.row, entry.verdict)
        if answer is not None:
            return answer
        size, known = self._decided.get(entry.row.path, (-1, False))
        if size != entry.row.size:
            self.undecided.append(entry.row)  # it has grown; until it is read again the old answer counts
        return known

    def decide(self, row: Row, tail: Tail) -> None:
        """Note whether the filter lets the exchange of a tape through that has been read."""
        fits = self._filter is not None and tail.player is not None and self._filter.matches_tape(tail.player)
        self._decided[row.path] = row.size, fits
        self._version = -1
