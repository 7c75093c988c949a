"""Documents: text laid out as rows of a given width, little by little, so that a huge one does not block;
facts under headings, and several documents below each other.
"""

from __future__ import annotations

import re
import time
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from workbench.ui.display import Pieces, cells, marked

# With fewer cells than this a text would become a column of letters.
_NARROWEST = 8
_MARKUP = re.compile(r"</?[^\s<>]{1,80}>|<\|[^|<>]{1,80}\|>|\{[{%#].*?[#%}]\}")


class Document:
    """Rows to be drawn. Subclasses lay them out in `_rows`, which pauses (yields) as often as it can."""

    ABOVE: ClassVar[int] = 3  # its main row is drawn at height // ABOVE

    def __init__(self) -> None:
        self.complete = False  # all of it is laid out
        self._width = 0
        self._work: Iterator[None] = iter(())

    def fit(self, width: int) -> bool:
        """Lay it out for a width; False when the width is the same as before, and nothing is done."""
        width = max(width, _NARROWEST)
        if width == self._width:
            return False
        self._width, self.complete = width, False
        self._clear()
        self._work = self._rows(width)
        return True

    def advance(self, seconds: float) -> bool:
        """Lay out more for about this long; True while there is more to do."""
        until = time.perf_counter() + seconds
        self.complete = not any(time.perf_counter() >= until for _ in self._work)
        return not self.complete

    @property
    def goal(self) -> int | None:
        """The row to begin with; None until it is laid out."""
        return 0

    def __len__(self) -> int:
        raise NotImplementedError

    def pieces(self, row: int) -> Pieces:
        """A row as it is drawn."""
        raise NotImplementedError

    def columns(self, row: int, width: int) -> list[tuple[Pieces, int]]:
        """A row as columns, each with its width."""
        return [(self.pieces(row), width)]

    def text(self, row: int) -> str:
        return "".join(text for text, _ in self.pieces(row))

    def opened(self, row: int) -> Pieces:
        """More of a row, shown below it when it is selected."""
        return []

    def whole(self) -> str:
        """All of it, as it is copied."""
        return "\n".join(self.text(row) for row in range(len(self)))

    def matches(self, pattern: re.Pattern[str]) -> list[int]:
        """The rows in which something is found, in order."""
        return [row for row in range(len(self)) if pattern.search(self.text(row))]

    def _clear(self) -> None:
        raise NotImplementedError

    def _rows(self, width: int) -> Iterator[None]:
        raise NotImplementedError


class Sheet(Document):
    """A document of few rows that are made at once, for any width."""

    def __init__(self) -> None:
        super().__init__()
        self._made: list[Pieces] = []

    def __len__(self) -> int:
        return len(self._made)

    def pieces(self, row: int) -> Pieces:
        return self._made[row]

    def _clear(self) -> None:
        self._made = []


class Source(Document):
    """Rows that are ranges of one long text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.starts = array("q")
        self.ends = array("q")

    def __len__(self) -> int:
        return len(self.starts)

    def whole(self) -> str:
        return self.source

    def matches(self, pattern: re.Pattern[str]) -> list[int]:
        """Searched in the source: rows would cut words in two."""
        if not self.starts:
            return []
        found = (bisect_right(self.starts, match.start()) - 1 for match in pattern.finditer(self.source))
        return list(dict.fromkeys(max(0, row) for row in found))

    def _clear(self) -> None:
        del self.starts[:], self.ends[:]

    def _row(self, start: int, end: int) -> None:
        self.starts.append(start)
        self.ends.append(end)


class Prose(Source):
    """Text with its own line breaks, wrapped between words; headings and markup stand out."""

    def pieces(self, row: int) -> Pieces:
        text = self.source[self.starts[row] : self.ends[row]]
        if text.startswith("#"):
            return [(text, "heading")]
        return marked(text, _MARKUP, "plain", "key")

    def _rows(self, width: int) -> Iterator[None]:
        at, end = 0, len(self.source)
        while at <= end:
            stop = self.source.find("\n", at)
            stop = end if stop < 0 else stop
            for start, cut in cuts(self.source, at, stop, width):
                self._row(start, cut)
                yield
            at = stop + 1


def cuts(text: str, start: int, end: int, room: int) -> Iterator[tuple[int, int]]:
    """A range as rows of at most `room` cells, cut after a blank where there is one."""
    if start == end:
        yield start, end
    while start < end:
        cut = fitting(text, start, end, room)
        if cut < end:
            blank = text.rfind(" ", start + (cut - start) // 2, cut)
            cut = blank + 1 if blank >= 0 else cut
        yield start, cut
        start = cut


def fitting(text: str, start: int, end: int, room: int) -> int:
    """How far a range may go without taking more than `room` cells; always at least one character."""
    part = text[start : min(end, start + room)]
    if part.isascii() and part.isprintable():
        return start + max(1, len(part))
    used = 0
    for at, character in enumerate(part):
        used += cells(character)
        if used > room:
            return start + max(1, at)
    return start + len(part)


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


_LABEL = 12
# Longer texts are shown elsewhere, as JSON or as bytes.
_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class Fact:
    """Without a label it is a paragraph; without a text it is a heading."""

    label: str
    text: str
    look: str


class FactSheet(Sheet):
    """Filled before it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: list[Fact] = []

    def heading(self, text: str, look: str = "heading") -> FactSheet:
        self.facts.append(Fact(text, "", look))
        return self

    def fact(self, label: str, value: object, look: str = "plain") -> FactSheet:
        """None is left out."""
        if value is not None:
            self.facts.append(Fact(label, str(value) or "(empty)", look))
        return self

    def paragraph(self, text: str, look: str = "plain") -> FactSheet:
        self.facts += [Fact("", line, look) for line in text.split("\n")]
        return self

    def _rows(self, width: int) -> Iterator[None]:
        for fact in self.facts:
            if not fact.text:
                self._made += [[]] if self._made else []
                self._made.append([(fact.label, fact.look)])
            elif fact.label:
                self._made += self._labelled(fact, width)
            else:
                self._made += [[(line, fact.look)] for line in _lines(fact.text, width)]
            yield

    def _labelled(self, fact: Fact, width: int) -> Iterator[Pieces]:
        column = min(_LABEL, width // 3)
        # A long label has its own line.
        if len(fact.label) >= column:
            yield [(fact.label, "dim")]
        for number, line in enumerate(_lines(fact.text, width - column)):
            label = fact.label if number == 0 and len(fact.label) < column else ""
            yield [(f"{label:{column}}", "dim"), (line, fact.look)]


def _lines(text: str, width: int) -> Iterator[str]:
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    for start, end in cuts(shown, 0, len(shown), max(4, width)):
        yield shown[start:end]
