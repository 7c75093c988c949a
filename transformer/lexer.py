"""The lexer: text -> tokens of a dialect, holding back what is undecided."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What may stand in one kind of place.

    `starts` matches everything up to the first character a token can begin with, and that character.
    `token` matches a whole token there, `partial` a beginning of one that reaches the end of the
    text. Each is tried once at a place, and none is ever run over the same text again because a new
    delta has come: so the work is linear.
    """

    starts: re.Pattern[str]
    token: re.Pattern[str]
    partial: re.Pattern[str]

    def find(self, text: str, pos: int) -> int:
        """Where a token may begin, at `pos` or later; -1 if nowhere."""
        match = self.starts.match(text, pos)
        return match.end() - 1 if match else -1


def upto(chars: str) -> re.Pattern[str]:
    """A pattern for `starts`: one of these characters, written as in a set of a pattern."""
    return re.compile(f"[^{chars}]*+[{chars}]")


def beginnings(*words: str) -> str:
    """A pattern for every true beginning of the words: `ab(?:c(?:d)?)?` for `abcde`."""
    nested = []
    for word in words:
        pattern = ""
        for char in reversed(word[1:-1]):
            pattern = f"(?:{re.escape(char)}{pattern})?"
        nested.append(re.escape(word[0]) + pattern)
    return "(?:" + "|".join(nested) + ")"
