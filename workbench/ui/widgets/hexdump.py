"""Bytes as hexadecimal numbers beside their text, with some of them marked."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from transformer.records import Ranges
from workbench.ui.widgets.document import Document, Pieces

_OFFSET = 9  # cells for the place
_FOREVER = 1 << 62
_SHOWN = bytes(byte if 0x20 <= byte < 0x7F else 0xB7 for byte in range(256))  # a middle dot, in Latin-1


class HexDump(Document):
    """`base` is the place of the first byte in the stream; `marks` are places there, too.

    A marked byte stands in brackets, for those who see no colours.
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
