"""Code fences: whether the text so far ends inside a fenced block of Markdown."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)\Z")
# A fence line is short; of a longer one the beginning tells all there is to know.
_LINE_KEPT = 256


class Fences:
    """Sees every line of prose once. Only whole lines count, so a cut line cannot mislead it."""

    __slots__ = ("_fence", "_line")

    def __init__(self) -> None:
        self._line = ""
        self._fence = ""

    @property
    def open(self) -> bool:
        return bool(self._fence)

    def feed(self, text: str) -> None:
        if "\n" not in text:
            if len(self._line) < _LINE_KEPT:
                self._line = (self._line + text)[:_LINE_KEPT]
            return
        first, *lines = text.split("\n")
        self._end(self._line + first)
        for line in lines[:-1]:
            self._end(line)
        self._line = lines[-1][:_LINE_KEPT]

    def _end(self, line: str) -> None:
        match = _FENCE.match(line[:_LINE_KEPT])
        if not match:
            return
        fence, info = match.group(1), match.group(2)
        if not self._fence:
            if fence[0] == "~" or "`" not in info:
                self._fence = fence
        elif fence.startswith(self._fence) and not info.strip():
            self._fence = ""

    def clone(self) -> Fences:
        twin = Fences()
        twin._line, twin._fence = self._line, self._fence
        return twin
