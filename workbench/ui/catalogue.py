"""The catalogue: the exchanges of a library as the list shows them, as far as a filter lets them through."""

from __future__ import annotations

import time
from pathlib import Path

from workbench.filters.language import Filter, parse
from workbench.library.rows import Row
from workbench.library.viewer import Library
from workbench.player.tailing import Tail
from workbench.ui.judging import grouped, judged
from workbench.ui.widgets.exchanges import Entry, Judged

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
        self._decided: dict[str, tuple[int, bool]] = {}  # what only a tape could tell, and its size then
        self._judged: dict[str, Judged] = {}
        self.rows: list[Row] = []  # all there are, whatever the filter
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

    def poll(self) -> list[Entry] | None:
        """The list anew; None when nothing has changed."""
        try:
            if self._index is None:
                self._index = Library(self.library)
            version = self._index.data_version()
            if version == self._version and not self._may_have_died():
                return None
            self.rows = self._index.rows(limit=_MOST)
        except Exception:
            self._index, self._version = None, -1
            raise
        self._version, self._looked_at = version, time.monotonic()
        return self._entries(self.rows)

    def _may_have_died(self) -> bool:
        """The writer of a running exchange cannot tell the index that it is no more."""
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
        return grouped(shown, folds=not self._unfolded)

    def _lets_through(self, entry: Judged) -> bool:
        if self._filter is None:
            return True
        answer = self._filter.matches(entry.row, entry.verdict)
        if answer is not None:
            return answer
        size, known = self._decided.get(entry.row.path, (-1, False))
        if size != entry.row.size:
            self.undecided.append(entry.row)  # what was known of a tape that has grown counts until then
        return known

    def decide(self, row: Row, tail: Tail) -> None:
        """A tape has been read: now it can be told whether its exchange is one of those."""
        fits = self._filter is not None and tail.player is not None and self._filter.matches_tape(tail.player)
        self._decided[row.path] = row.size, fits
        self._version = -1
