"""Whether the JSON of a call's arguments is whole by now, found out without keeping it."""

from __future__ import annotations

import re

_STRUCTURE = re.compile(r'["\\{}\[\]]')


class Wholeness:
    """Feed it the pieces as they leave; it counts brackets outside strings."""

    __slots__ = ("_depth", "_escaped", "_opened", "_quoted")

    def __init__(self) -> None:
        self._depth = 0
        self._opened = False
        self._quoted = False
        self._escaped = False  # the last piece ended with a backslash inside a string

    def feed(self, text: str) -> None:
        at = 1 if self._escaped and text else 0
        self._escaped = self._escaped and not text
        while (match := _STRUCTURE.search(text, at)) is not None:
            at = match.end()
            sign = match[0]
            if self._quoted:
                if sign == "\\":
                    self._escaped = at == len(text)
                    at += 1
                elif sign == '"':
                    self._quoted = False
            elif sign == '"':
                self._quoted = True
            elif sign in "{[":
                self._depth, self._opened = self._depth + 1, True
            elif sign in "}]":
                self._depth -= 1

    @property
    def whole(self) -> bool:
        return self._opened and self._depth == 0 and not self._quoted

    def clone(self) -> Wholeness:
        twin = Wholeness()
        twin._depth, twin._opened = self._depth, self._opened
        twin._quoted, twin._escaped = self._quoted, self._escaped
        return twin
