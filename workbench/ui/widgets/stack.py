"""Documents below each other, each under a heading."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from workbench.ui.widgets.document import Document, Pieces


class Stack(Document):
    """Laid out from top to bottom: a document below begins when the one above is complete."""

    def __init__(self, parts: Sequence[tuple[str, Document]], *, from_top: bool = False) -> None:
        super().__init__()
        self._from_top = from_top
        self.parts = list(parts)
        self._starts = array("q")  # the row of each part's heading, as far as they are known

    def __len__(self) -> int:
        last = len(self._starts) - 1
        return self._starts[last] + 1 + len(self.parts[last][1]) if last >= 0 else 0

    @property
    def goal(self) -> int | None:
        """That of the first document that has one of its own."""
        if self._from_top:
            return 0
        for start, (_, document) in zip(self._starts, self.parts, strict=False):
            goal = document.goal
            if goal is None or goal:
                return None if goal is None else start + 1 + goal
        return 0 if len(self._starts) == len(self.parts) else None

    def _clear(self) -> None:
        del self._starts[:]

    def _rows(self, width: int) -> Iterator[None]:
        for _, document in self.parts:
            self._starts.append(len(self))
            document.fit(width)
            while document.advance(0):
                yield
            yield

    def _find(self, row: int) -> tuple[int, int]:
        """The part, and the row in it; -1 is its heading."""
        part = bisect_right(self._starts, row) - 1
        return part, row - self._starts[part] - 1

    def pieces(self, row: int) -> Pieces:
        part, inner = self._find(row)
        heading, document = self.parts[part]
        return [(heading, "heading")] if inner < 0 else document.pieces(inner)

    def whole(self) -> str:
        return "\n".join(f"{heading}\n{document.whole()}" for heading, document in self.parts)

    def matches(self, pattern: re.Pattern[str]) -> list[int]:
        found = []
        for start, (heading, document) in zip(self._starts, self.parts, strict=False):
            found += [start] if pattern.search(heading) else []
            found += [start + 1 + row for row in document.matches(pattern)]
        return found
