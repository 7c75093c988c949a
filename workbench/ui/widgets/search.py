"""A search in a pane: in each row as the screen shows it, and in the texts that its rows form together, since
a text may be cut anywhere. In slices, so that no key waits for it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from workbench.text import counted
from workbench.ui.background import in_slices
from workbench.ui.display import SIGNS_OF_BREAKS
from workbench.ui.widgets.rowpane import RowPane

_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[nrt])|[↵⇥␍]", re.IGNORECASE)
_BREAKS = {sign: character for character, sign in SIGNS_OF_BREAKS.items()}


def pattern_of(wanted: str) -> re.Pattern[str]:
    """Case-insensitive. Invisible characters are found by what the screen shows instead: `\\x1b`, `↵`."""
    parts, at = [], 0
    for match in _ESCAPE.finditer(wanted):
        parts.append(re.escape(wanted[at : match.start()]))
        parts.append(f"(?:{re.escape(match[0])}|{re.escape(_meant(match[0]))})")
        at = match.end()
    return re.compile("".join(parts) + re.escape(wanted[at:]), re.IGNORECASE)


def _meant(shown: str) -> str:
    """The character that is shown like this."""
    if shown in _BREAKS:
        return _BREAKS[shown]
    if len(shown) == 2:
        return {"n": "\n", "r": "\r", "t": "\t"}[shown[1].lower()]
    code = int(shown[2:], 16)
    return chr(code) if code < 0x110000 else shown


class PaneSearch:
    """Knows every row in which something is found; when rows are added, it goes on from where it stopped."""

    def __init__(self, pane: RowPane, wanted: str) -> None:
        self.pane = pane
        self.wanted = wanted
        self.pattern = pattern_of(wanted)
        self._shows = pane.shows
        self._looked = 0  # number of rows searched so far
        self._alone: list[int] = []  # rows that have a match of their own
        self._found: list[tuple[int, int]] = []  # first and last row of each match

    def is_for(self, pane: RowPane, wanted: str) -> bool:
        """Whether this is the search for that pattern, in what the pane shows now."""
        return self.pane is pane and self.wanted == wanted and self._shows is pane.shows

    async def look(self) -> None:
        """Search all rows there are now."""
        async for _ in in_slices(self._work()):
            if self._shows is not self.pane.shows:
                return

    def _work(self) -> Iterator[None]:
        pane = self.pane
        while self._looked < pane.count():
            row, self._looked = self._looked, self._looked + 1
            if self.pattern.search(pane.searched(row)):
                self._alone.append(row)
            yield
        found = []
        for match in pane.joined(self.pattern):
            if match is not None:
                found.append(match)
            yield
        self._found = sorted({*found, *((row, row) for row in self._alone)})

    @property
    def rows(self) -> list[int]:
        """Where matches begin. A replay may have gone back to a step at which some were not there yet."""
        count = self.pane.count()
        return list(dict.fromkeys(first for first, last in self._found if last < count))

    def nearest(self, row: int, way: int) -> int | None:
        """The next match from a row on, or the previous one; wraps around. None: there is none."""
        rows = self.rows
        at = bisect_right(rows, row) if way > 0 else bisect_left(rows, row) - 1
        return rows[at % len(rows)] if rows else None

    def place(self, row: int) -> str:
        """A row's position among the matches: `“path” 2 of 5 rows`."""
        rows = self.rows
        return f"“{self.wanted}” {bisect_right(rows, row)} of {counted(len(rows), 'row')}"
