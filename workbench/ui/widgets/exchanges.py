"""The list of exchanges: by session, the newest first, each with its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.style import Style
from textual.strip import Strip

from workbench.library.rows import Row
from workbench.ui.display import sentence, strip_of
from workbench.ui.widgets.groupedpane import GroupedPane
from workbench.ui.widgets.rowpane import RowPane
from workbench.verdicts.judging import Verdict
from workbench.verdicts.kinds import SIGNS

Pieces = list[tuple[str, Style]]
_INDENT = "   "


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


Entry = Session | Judged


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

    def count(self) -> int:
        return len(self.entries)

    def is_heading(self, row: int) -> bool:
        return isinstance(self.entries[row], Session)

    def go(self, row: int, *, tell: bool = True) -> None:
        self._meet()
        super().go(row, tell=tell)

    def draw(self, row: int, width: int) -> Strip:
        entry = self.entries[row]
        pieces = self._session(entry, width) if isinstance(entry, Session) else self._exchange(entry)
        return strip_of(pieces, width, self.look("plain"))

    def _session(self, session: Session, width: int) -> Pieces:
        folded = f" (+{session.folded} side)" if session.folded else ""
        numbers = f"{session.count}{folded}"
        room = max(8, width - len(numbers) - 3)  # a client may call its sessions whatever it likes
        name = session.name if len(session.name) <= room else f"{session.name[: room - 1]}…"
        return [(f"─ {name} ", self.look("strong")), (numbers, self.look("dim"))]

    def _exchange(self, entry: Judged) -> Pieces:
        row = entry.row
        calls = f"{row.calls}⚒ " if row.calls else "   "
        ttfb = f"{row.ttfb:5.1f}s " if row.ttfb is not None else "     – "
        return [
            (f" {SIGNS.get(entry.level, '●')} ", self.look(_look(entry.level))),
            (datetime.fromtimestamp(row.started).strftime("%H:%M:%S "), self.look("dim")),
            (calls, self.look("good")),
            (entry.sentence + "  ", self.look("plain")),
            (f"{row.model or '?'} ", self.look("bright")),
            (f"{row.dialect} {ttfb}{row.chunks} reads", self.look("dim")),
        ]

    def opened(self, row: int, width: int, most: int) -> list[Strip]:
        entry = self.entries[row]
        if not isinstance(entry, Judged):
            return []
        facts = entry.row
        ttfb = "–" if facts.ttfb is None else f"{facts.ttfb:.2f} s"
        took = "–" if facts.duration is None else f"{facts.duration:.1f} s"
        numbers = (
            f"{facts.model or '?'} · {facts.dialect} · {facts.state} · first byte {ttfb} · {took} · "
            f"{_number(facts.chunks, 'read')} · {_number(facts.calls, 'call')} · {facts.id}"
        )
        plain, room = self.look("plain"), width - len(_INDENT)
        lines = sentence(entry.sentence, self.look(_look(entry.level)), room, min(most, 2), plain)
        lines += sentence(numbers, self.look("dim"), room, min(most, 4) - len(lines), plain)
        return [Strip.join((strip_of([(_INDENT, plain)], len(_INDENT), plain), line)) for line in lines]

    def text(self, row: int) -> str:
        entry = self.entries[row]
        if isinstance(entry, Session):
            return entry.name
        return f"{entry.sentence} {entry.row.model} {entry.row.dialect} {entry.row.id}"


def _number(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _look(level: str) -> str:
    return level if level in ("error", "warning", "good") else "info"
