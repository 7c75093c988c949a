"""Documents of data: JSON with a line for each value, kept to the last digit, and bytes as hexadecimal
numbers beside their text.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from transformer.records import Ranges
from workbench.ui.display import Pieces
from workbench.ui.widgets.document import Document, Source, cuts

# The text is never parsed into values: a number may be too long for any, a nesting too deep, and what is not
# JSON at all (`[DONE]`, half an object) has to be shown as well.
_TOKEN = re.compile(r'\s+|[{}\[\],:]|"(?:[^"\\]++|\\.)*+"?|[^\s{}\[\],:"]++', re.DOTALL)
_STEP = 2
# Beyond this depth only the number grows, or there would be no space for the text.
_DEEPEST = 16
_NUMBER = re.compile(r"-?\d")


class JsonText(Source):
    """A row is a range of the text and a depth; a long string takes several rows.

    `marks` are ranges of characters that stand out.
    """

    def __init__(self, source: str, marks: Sequence[tuple[int, int]] = ()) -> None:
        super().__init__(source)
        self.marks = sorted(mark for mark in marks if mark[0] < mark[1])
        self.depths = array("q")
        self._inside = bytearray()  # the row goes on in a value that began above

    def _clear(self) -> None:
        super()._clear()
        del self.depths[:], self._inside[:]

    def _rows(self, width: int) -> Iterator[None]:
        for start, end, depth in _lines(self.source):
            if start < 0:
                yield
                continue
            # One cell is for the blank after the colon.
            room = max(_STEP * 4, width - self._indent(depth) - 1)
            for number, (begin, stop) in enumerate(cuts(self.source, start, end, room)):
                self._row(begin, stop)
                self.depths.append(depth)
                self._inside.append(number > 0)
                yield

    def _indent(self, depth: int) -> int:
        return _STEP * min(depth, _DEEPEST) + (len(f"{depth} ") if depth > _DEEPEST else 0)

    def pieces(self, row: int) -> Pieces:
        depth = self.depths[row]
        indent = " " * (_STEP * min(depth, _DEEPEST))
        pieces: Pieces = [(indent + (f"{depth} " if depth > _DEEPEST else ""), "dim")]
        first = row
        while first and self._inside[first]:
            # Only a long string takes this many rows, so there is no need to search for its start.
            first -= 1
            if row - first > 50:
                return pieces + self._with_marks(self.starts[row], self.ends[row], "string")
        return pieces + self._coloured(self.starts[first], self.starts[row], self.ends[row])

    def _coloured(self, begin: int, start: int, end: int) -> Pieces:
        """The tokens of a line that begins at `begin`, as far as they are in the row."""
        pieces: Pieces = []
        keyed = _is_keyed(self.source, begin)
        for match in _TOKEN.finditer(self.source, begin):
            if match.start() >= end:
                break
            look = _look(match[0][:2], keyed)
            keyed = keyed and not match[0].startswith('"')
            shown = self._with_marks(max(start, match.start()), min(end, match.end()), look)
            pieces += shown
            if shown and match[0] == ":" and self.source[match.end() : match.end() + 1] != " ":
                pieces.append((" ", look))
        return pieces

    @property
    def goal(self) -> int | None:
        """The row with the first mark."""
        if not self.marks:
            return 0
        first = self.marks[0][0]
        known = bool(self.ends) and (self.ends[-1] > first or self.ends[-1] == len(self.source))
        return max(0, bisect_right(self.starts, first) - 1) if known else None

    def _with_marks(self, start: int, end: int, look: str) -> Pieces:
        """A range in its look, except for the marked parts."""
        pieces: Pieces = []
        at = start
        for begin, stop in self.marks:
            begin, stop = max(begin, at), min(stop, end)
            if begin < stop:
                pieces += [(self.source[at:begin], look), (self.source[begin:stop], "mark")]
                at = stop
        pieces.append((self.source[at:end], look))
        return [piece for piece in pieces if piece[0]]

    def whole(self) -> str:
        return pretty(self.source)

    def matches(self, pattern: re.Pattern[str]) -> list[int]:
        """A row has blanks that the source does not have."""
        shown = [row for row in range(len(self)) if pattern.search(self.text(row))]
        return sorted({*super().matches(pattern), *shown})


def pretty(text: str) -> str:
    """All of it with line breaks and indentation."""
    lines = (f"{' ' * (_STEP * depth)}{text[start:end]}" for start, end, depth in _lines(text) if start >= 0)
    return "\n".join(lines)


def _lines(text: str) -> Iterator[tuple[int, int, int]]:
    """Lines as ranges with their depth; a start below zero says that there is none yet."""
    depth, start, last = 0, -1, -1
    matches = _TOKEN.finditer(text)
    opened = False  # the last thing was an opening bracket, still on its line
    for number, match in enumerate(matches):
        token = match[0]
        if token.isspace():
            if start >= 0 and last >= 0 and text[last - 1] == ":":
                last = match.end()
            continue
        if number % 64 == 63:
            yield -1, -1, 0
        if token in "]}":
            if opened:
                opened, last, depth = False, match.end(), depth - 1
                continue
            if start >= 0:
                yield start, last, depth
            depth = max(0, depth - 1)
            start, last = match.start(), match.end()
            continue
        if opened:
            yield start, last, depth - 1
            start, opened = -1, False
        if token == ",":
            yield (start if start >= 0 else match.start()), match.end(), depth
            start = last = -1
            continue
        start = match.start() if start < 0 else start
        last = match.end()
        if token in "[{":
            opened, depth = True, depth + 1
    if start >= 0:
        yield start, last, depth - opened


def _is_keyed(text: str, begin: int) -> bool:
    """Whether a line begins with a key."""
    match = _TOKEN.match(text, begin)
    if match is None or not match[0].startswith('"'):
        return False
    at = match.end()
    while at < len(text) and text[at].isspace():
        at += 1
    return text[at : at + 1] == ":"


def _look(token: str, key: bool) -> str:
    if token.startswith('"'):
        return "key" if key else "string"
    if _NUMBER.match(token):
        return "value"
    return "dim" if token[0] in "{}[],:" else "value" if token[0].isalpha() else "plain"


_OFFSET = 9  # cells for the place
_FOREVER = 1 << 62
_SHOWN = bytes(byte if 0x20 <= byte < 0x7F else 0xB7 for byte in range(256))  # a middle dot, in Latin-1


class HexDump(Document):
    """`base` is the place of the first byte in the stream; `marks` are places there, too.

    A marked byte is in brackets, for users who cannot see colours.
    """

    def __init__(self, data: bytes, base: int = 0, marks: Ranges = ()) -> None:
        super().__init__()
        self.data = data
        self.base = base
        self.marks = sorted((start - base, end - base) for start, end in marks if start < end)
        self.across = 16

    def __len__(self) -> int:
        return (len(self.data) + self.across - 1) // self.across

    @property
    def goal(self) -> int:
        """The row where the first marked byte is."""
        return max(0, self.marks[0][0]) // self.across if self.marks else 0

    def _clear(self) -> None:
        pass

    def _rows(self, width: int) -> Iterator[None]:
        """Nothing to be laid out: a row's bytes follow from its number."""
        self.across = next((many for many in (32, 16, 8) if _OFFSET + 4 * many + 4 <= width), 4)
        yield

    def pieces(self, row: int) -> Pieces:
        start = row * self.across
        part = self.data[start : start + self.across]
        flags = [self._is_marked(start + at) for at in range(len(part))]
        numbers: Pieces = [(f"{self.base + start:08x}", "number")]
        before = False
        for byte, marked in zip(part, flags, strict=True):
            edge = " " if marked == before else "[" if marked else "]"
            numbers += [(edge, "mark" if edge != " " else "plain"), (f"{byte:02x}", self._look(byte, marked))]
            before = marked
        numbers.append(("]" if before else " ", "mark" if before else "plain"))
        numbers.append(("   " * (self.across - len(part)) + " ", "plain"))
        return numbers + [
            (chr(_SHOWN[byte]), self._look(byte, marked)) for byte, marked in zip(part, flags, strict=True)
        ]

    def _is_marked(self, at: int) -> bool:
        near = bisect_right(self.marks, (at, _FOREVER)) - 1
        return near >= 0 and at < self.marks[near][1]

    def _look(self, byte: int, marked: bool) -> str:
        if marked:
            return "mark"
        return "plain" if 0x20 <= byte < 0x7F else "dim"

    def matches(self, pattern: re.Pattern[str]) -> list[int]:
        """Searched in the bytes: a row would cut words in two."""
        # One character a byte, of the pattern as well.
        bytewise = re.compile(pattern.pattern.encode("utf-8", "replace").decode("latin-1"), pattern.flags)
        found = (match.start() // self.across for match in bytewise.finditer(self.data.decode("latin-1")))
        return list(dict.fromkeys(found))
