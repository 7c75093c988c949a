"""Two texts beside each other, line by line, with the difference marked."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, TypeAlias

from workbench.ui.display import Pieces
from workbench.ui.widgets.document import Document, cuts

Kind: TypeAlias = Literal["same", "changed", "removed", "added", "folded"]
_SIDE_BY_SIDE = 110  # cells from which there is room for two columns
_ROWS = 4  # of one line, before it is cut; opened it shows all
_CONTEXT = 3
# Comparing costs lines times lines; beyond this, all lines are shown as removed and added.
_MOST = 4_000_000
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class Pair:
    """A line of each side; None if that side has none. A fold hides `count` lines."""

    kind: Kind
    left: str | None
    right: str | None
    count: int = 1


def pairs(left: Sequence[str], right: Sequence[str]) -> list[Pair]:
    """Lines beside each other. It may take a while: call it in a thread."""
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    stop = 0
    while stop < min(len(left), len(right)) - start and left[-1 - stop] == right[-1 - stop]:
        stop += 1
    made = [Pair("same", line, line) for line in left[:start]]
    made += _compared(left[start : len(left) - stop], right[start : len(right) - stop])
    return made + [Pair("same", line, line) for line in left[len(left) - stop :]]


def _compared(left: Sequence[str], right: Sequence[str]) -> Iterator[Pair]:
    if len(left) * len(right) > _MOST:
        codes = [("replace", 0, len(left), 0, len(right))]
    else:
        codes = list(difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes())
    for code, a, b, c, d in codes:
        if code == "equal":
            yield from (Pair("same", line, line) for line in left[a:b])
        else:
            # Lines of a replaced text are unrelated unless they are similar.
            yield from _replaced(left[a:b], right[c:d])


def _replaced(left: Sequence[str], right: Sequence[str]) -> Iterator[Pair]:
    if len(left) == len(right) and all(map(_alike, left, right)):
        yield from (Pair("changed", one, other) for one, other in zip(left, right, strict=True))
        return
    yield from (Pair("removed", line, None) for line in left)
    yield from (Pair("added", None, line) for line in right)


def _alike(one: str, other: str) -> bool:
    start, end = _middle(one, other)
    return start + end >= max(len(one), len(other)) // 3


def _middle(one: str, other: str) -> tuple[int, int]:
    """How many characters are the same at the beginning, and at the end."""
    most = min(len(one), len(other))
    start = next((at for at in range(most) if one[at] != other[at]), most)
    end = next((at for at in range(most - start) if one[-1 - at] != other[-1 - at]), most - start)
    return start, end


def folded(found: Sequence[Pair]) -> list[Pair]:
    """Only the differences, with a few lines around them."""
    near: set[int] = set()
    for at, pair in enumerate(found):
        if pair.kind != "same":
            near.update(range(at - _CONTEXT, at + _CONTEXT + 1))
    made: list[Pair] = []
    for at, pair in enumerate(found):
        if at in near:
            made.append(pair)
        elif made and made[-1].kind == "folded":
            made[-1] = Pair("folded", None, None, made[-1].count + 1)
        else:
            made.append(Pair("folded", None, None, 1))
    return made


@dataclass(frozen=True, slots=True)
class _Row:
    pair: int
    left: tuple[int, int] | None
    right: tuple[int, int] | None
    first: bool
    cut: bool = False


class Difference(Document):
    """In two columns where there is room, else below each other. The first difference is in the middle."""

    ABOVE = 2

    def __init__(self, found: Sequence[Pair]) -> None:
        super().__init__()
        self.pairs = list(found)
        self._made: list[_Row] = []
        self._half = 0

    def __len__(self) -> int:
        return len(self._made)

    def _clear(self) -> None:
        self._made = []

    @property
    def goal(self) -> int | None:
        """The first difference."""
        found = (
            at for at, row in enumerate(self._made) if self.pairs[row.pair].kind not in ("same", "folded")
        )
        return next(found, 0 if self.complete else None)

    def next_difference(self, row: int, way: int) -> int | None:
        """The row with which the next run of differing lines begins, or the one before."""
        differs = [self.pairs[made.pair].kind not in ("same", "folded") for made in self._made]
        begins = [at for at, one in enumerate(differs) if one and not (at and differs[at - 1])]
        after = [at for at in begins if at > row] if way > 0 else [at for at in begins if at < row][::-1]
        return after[0] if after else None

    def _rows(self, width: int) -> Iterator[None]:
        self._half = width // 2 if width >= _SIDE_BY_SIDE else 0
        room = (self._half or width) - 3
        for number, pair in enumerate(self.pairs):
            left, right = _ranges(pair.left, room), _ranges(pair.right, room)
            if self._half or pair.kind == "same":
                self._add(number, left, right)
            else:
                self._add(number, left, [])
                self._add(number, [], right)
            if pair.kind == "folded":
                self._made.append(_Row(number, None, None, True))
            yield

    def _add(self, number: int, left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
        for at, (one, other) in enumerate(zip_longest(left[:_ROWS], right[:_ROWS])):
            cut = at == _ROWS - 1 and max(len(left), len(right)) > _ROWS
            self._made.append(_Row(number, one, other, at == 0, cut))

    # -- drawing

    def columns(self, row: int, width: int) -> list[tuple[Pieces, int]]:
        made = self._made[row]
        pair = self.pairs[made.pair]
        if pair.kind == "folded" or not self._half:
            return [(self.pieces(row), width)]
        return [
            (self._side(made, pair, right=False), self._half - 1),
            ([("│", "dim")], 1),
            (self._side(made, pair, right=True), width - self._half),
        ]

    def pieces(self, row: int) -> Pieces:
        made = self._made[row]
        pair = self.pairs[made.pair]
        if pair.kind == "folded":
            many = f"{pair.count:,} equal lines" if pair.count > 1 else "an equal line"
            return [(f"⋯ {many}", "dim")]
        return self._side(made, pair, right=made.left is None)

    def _side(self, made: _Row, pair: Pair, *, right: bool) -> Pieces:
        text, span = (pair.right, made.right) if right else (pair.left, made.left)
        if text is None or span is None:
            return []
        look = "plain" if pair.kind == "same" else "added" if right else "removed"
        # Each side says what happened to it: gone from the left, new on the right.
        sign = " " if pair.kind == "same" else "+" if right else "−"
        pieces: Pieces = [(f"{sign if made.first else ' '} ", look)]
        pieces += (
            self._marked(pair, text, span, look, right)
            if pair.kind == "changed"
            else [(text[slice(*span)], look)]
        )
        return pieces + ([("…", "dim")] if made.cut else [])

    def _marked(self, pair: Pair, text: str, span: tuple[int, int], look: str, right: bool) -> Pieces:
        """The characters that differ stand out."""
        start, end = _middle(pair.left or "", pair.right or "")
        begin, stop = max(span[0], min(start, span[1])), max(span[0], min(len(text) - end, span[1]))
        stop = max(begin, stop)
        parts = ((text[span[0] : begin], look), (text[begin:stop], "mark"), (text[stop : span[1]], look))
        return [piece for piece in parts if piece[0]]

    def opened(self, row: int) -> Pieces:
        made = self._made[row]
        if not made.cut:
            return []
        pair = self.pairs[made.pair]
        span = made.left or made.right or (0, 0)
        text = (pair.left if made.left is not None else pair.right) or ""
        return [(text[span[1] : span[1] + _LONGEST], "plain")]

    def text(self, row: int) -> str:
        made = self._made[row]
        pair = self.pairs[made.pair]
        if pair.kind == "folded":
            return self.pieces(row)[0][0]
        parts = ((pair.left, made.left), (pair.right, made.right))
        shown = [text[slice(*span)] for text, span in parts if text is not None and span is not None]
        return shown[0] if pair.kind == "same" else "  ".join(shown)

    def whole(self) -> str:
        """As a patch."""
        lines = []
        for pair in self.pairs:
            if pair.kind == "folded":
                lines.append(f"@@ {pair.count} equal lines @@")
                continue
            if pair.kind == "same":
                lines.append(f" {pair.left}")
                continue
            lines += [f"-{pair.left}"] if pair.left is not None else []
            lines += [f"+{pair.right}"] if pair.right is not None else []
        return "\n".join(lines)


def _ranges(text: str | None, room: int) -> list[tuple[int, int]]:
    """A few rows of a line, and one more that says that it goes on."""
    if text is None:
        return []
    return [span for span, _ in zip(cuts(text, 0, len(text), room), range(_ROWS + 1), strict=False)]
