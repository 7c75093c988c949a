"""Prose: where a text quotes (code fences, backticks) or thinks, so that what stands there is no call."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from transformer.calls.fences import Fences

Range = tuple[int, int]

# Code in a line is short; a lone backtick must not make the rest of a long line disappear.
_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)[^\n]{1,400}?(?<!`)\1(?!`)")
_THINK = re.compile(r"<(think|thinking)>")
_INDENT = 64


class Prose:
    """Answers where a character stands. Work is done once, and only if somebody asks."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._quotes: list[Range] | None = None
        self._thoughts: list[Range] | None = None

    def quoted(self, at: int) -> bool:
        """In a code fence, or in backticks."""
        if self._quotes is None:
            fences = list(_fences(self._text))
            code = [
                match.span() for match in _CODE.finditer(self._text) if not _within(fences, match.start())
            ]
            self._quotes = sorted([*fences, *code])
        return _within(self._quotes, at)

    def thought(self, at: int) -> bool:
        """In a `<think>` block that ends: behind one that never does, the answer itself may stand."""
        if self._thoughts is None:
            self._thoughts = list(_thoughts(self._text))
        return _within(self._thoughts, at)

    def starts_line(self, at: int) -> bool:
        """Only blanks stand before it on its line."""
        before = self._text[max(0, at - _INDENT) : at]
        line = before[before.rfind("\n") + 1 :]
        return not line.strip() and (len(line) < len(before) or at <= _INDENT)


def _within(ranges: list[Range], at: int) -> bool:
    place = bisect_right(ranges, (at, 1 << 62)) - 1
    return place >= 0 and at < ranges[place][1]


def _fences(text: str) -> Iterator[Range]:
    """From behind the opening line to the closing one, or to the end of the text."""
    if "```" not in text and "~~~" not in text:
        return
    fences, at, opened = Fences(), 0, None
    while at < len(text):
        start, at = at, text.find("\n", at) + 1 or len(text)
        was = fences.open
        fences.feed(text[start:at])
        if fences.open and not was:
            opened = at
        elif was and not fences.open and opened is not None:
            yield opened, at
            opened = None
    if opened is not None:
        yield opened, len(text)


def _thoughts(text: str) -> Iterator[Range]:
    at = 0
    while opening := _THINK.search(text, at):
        end = text.find(f"</{opening[1]}>", opening.end())
        if end < 0:
            return
        yield opening.start(), end
        at = end
