"""How calls as Python are written: states and tokens of their grammar, and the markers of a dialect of it.

What the tokens do is in `pythongrammar.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Any

from transformer.parser.jsonspelling import NAME_LIMIT, inside_string
from transformer.parser.machine import USUAL_STATES, USUAL_TOKENS, Lexicon, Machine, any_of, beginnings, upto


class State(StrEnum):
    TEXT = auto()
    MARKED = auto()
    CALL = auto()
    VALUE = auto()
    STRING = auto()
    QUOTED = auto()
    LONG_STRING = auto()
    LONG_QUOTED = auto()
    OBJECT = auto()
    OBJECT_STRING = auto()
    CLOSED = auto()
    MORE = auto()
    REJECTED = auto()
    AFTER = auto()
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    OPEN = auto()
    CLOSE = auto()
    BRACKET = auto()
    END_BRACKET = auto()
    NAME = auto()
    KEY = auto()
    OPENING = auto()
    CLOSING = auto()
    COMMA = auto()
    QUOTE = auto()
    APOSTROPHE = auto()
    LONG_QUOTE = auto()
    LONG_APOSTROPHE = auto()
    CUT = auto()
    END = auto()


S, T = State, Token

# -- how a dialect spells it

_NAME = rf"[A-Za-z_][\w.:-]{{0,{NAME_LIMIT - 1}}}+\s{{0,8}}"
# Any word: a parameter may be called like a keyword of Python.
_KEY = rf"[^\s=(),'\"\[\]{{}}<]{{1,{NAME_LIMIT}}}+\s{{0,8}}"
_SIGNS: Mapping[str, Token] = {
    "[": T.BRACKET,
    "]": T.END_BRACKET,
    ",": T.COMMA,
    '"': T.QUOTE,
    "'": T.APOSTROPHE,
    '"""': T.LONG_QUOTE,
    "'''": T.LONG_APOSTROPHE,
}
_IN_VALUE = r"'\"\[\](){},"
# Two quotes are an empty string, unless a third one follows.
_QUOTES = r'"""|\'\'\'|""(?!["]|\Z)|\'\'(?![\']|\Z)|"(?!"|\Z)|\'(?!\'|\Z)'


@dataclass(frozen=True, slots=True)
class PythonSpelling:
    """The markers of a dialect of this grammar. A list at the start of a line needs none, if it calls an
    offered tool.
    """

    open: tuple[str, ...]
    close: tuple[str, ...]

    def lexicons(self) -> dict[StrEnum, Lexicon]:
        """What may stand in each state. Where plain text leads back to prose, all that counts there does."""
        name = rf"(?P<name>{_NAME})\("
        return {
            S.TEXT: self._lexicon(r"\[", close=False),
            S.MARKED: self._lexicon(rf"{name}|[\[\]{{]", _NAME, r"\s*+\S"),
            S.CALL: self._lexicon(rf"(?P<key>{_KEY})=|\)|\[", _KEY, r"\s*+\S"),
            S.VALUE: self._lexicon(
                rf"{_QUOTES}|[\[\](){{}},]", r"\"{1,2}|'{1,2}", upto(f"{self._set}{_IN_VALUE}")
            ),
            S.STRING: inside_string('"'),
            S.QUOTED: inside_string("'"),
            S.LONG_STRING: _inside_long('"'),
            S.LONG_QUOTED: _inside_long("'"),
            S.OBJECT: self._lexicon(r'["{}]', "", upto(f'{self._set}"{{}}')),
            S.OBJECT_STRING: inside_string('"'),
            S.CLOSED: self._lexicon(rf"{name}|[\[\],]", _NAME, r"\s*+\S"),
            S.MORE: self._lexicon(rf"{name}|[\[\]{{,]", _NAME, r"\s*+\S"),
            S.REJECTED: self._lexicon(rf"{name}|[\[\]{{,]", _NAME, r"\s*+\S"),
            S.AFTER: self._lexicon(r"\["),
            S.DONE: self._lexicon(r"\["),
        }

    @property
    def _set(self) -> str:
        return "".join(sorted({re.escape(word[0]) for word in (*self.open, *self.close)}))

    def _lexicon(self, own: str, begun: str = "", starts: str = "", close: bool = True) -> Lexicon:
        markers = (*self.open, *(self.close if close else ()))
        whole = [f"(?P<open>{any_of(self.open)})", f"(?P<close>{any_of(self.close)})" if close else "", own]
        halves = [beginnings(*markers), begun]
        return Lexicon(
            starts or upto(f"{self._set}\\["),
            "|".join(filter(None, whole)),
            rf"(?:{'|'.join(filter(None, halves))})\Z",
        )

    def leftover(self, m: Machine, rest: str) -> StrEnum:
        """What the beginning of a token is at the end of the answer."""
        if m.call is not None:
            return T.TEXT if m.state in STRINGS else T.CUT
        half = len(rest) > 1 and any(close.startswith(rest) for close in self.close)
        return T.CUT if half and m.state in (S.MORE, S.AFTER) else T.TEXT

    def words(self) -> tuple[Mapping[Any, str], Mapping[Any, str], Mapping[Any, str]]:
        """What states and tokens are, and what a state waits for."""
        states = {
            **USUAL_STATES,
            S.MARKED: "after a marker or the bracket of a list, before a call",
            S.CALL: "inside the parentheses of a call, before an argument",
            S.VALUE: "in the value of an argument, outside of its strings",
            S.STRING: "in a string between quotation marks",
            S.QUOTED: "in a string between apostrophes",
            S.LONG_STRING: "in a string between three quotation marks",
            S.LONG_QUOTED: "in a string between three apostrophes",
            S.OBJECT: "in a call as JSON, outside of its strings",
            S.OBJECT_STRING: "in a string of a call as JSON",
            S.CLOSED: "after the parenthesis of a call, before what shows that it was one",
            S.MORE: "between two calls of a list",
            S.REJECTED: "after a call that stays text",
        }
        tokens = {
            **USUAL_TOKENS,
            T.OPEN: "the marker that begins calls",
            T.CLOSE: "the marker that ends calls",
            T.BRACKET: "an opening bracket",
            T.END_BRACKET: "a closing bracket",
            T.NAME: "a name and the parenthesis after it",
            T.KEY: "the name of an argument",
            T.OPENING: "an opening parenthesis or brace",
            T.CLOSING: "a closing parenthesis or brace",
            T.COMMA: "a comma",
            T.QUOTE: "a quotation mark",
            T.APOSTROPHE: "an apostrophe",
            T.LONG_QUOTE: "three quotation marks",
            T.LONG_APOSTROPHE: "three apostrophes",
            T.CUT: "the beginning of a token, cut off by the end of the answer",
        }
        waits = {
            S.MARKED: "a call",
            S.CALL: "an argument, or the closing parenthesis",
            S.VALUE: "a comma, or the closing parenthesis",
            S.OBJECT: "the closing brace",
            S.CLOSED: "a comma, or the end of the list",
            **dict.fromkeys(STRINGS, "the end of the string"),
        }
        return states, tokens, waits


STRINGS = (S.STRING, S.QUOTED, S.LONG_STRING, S.LONG_QUOTED, S.OBJECT_STRING)


def _inside_long(sign: str) -> Lexicon:
    starts = rf"(?s:[^{sign}\\]++|\\.)*+[{sign}\\]"
    return Lexicon(starts, sign * 3, rf"(?:{sign}{{1,2}}|\\)\Z")


def read(match: re.Match[str]) -> tuple[StrEnum, str]:
    kind, text = match.lastgroup, match[0]
    if kind in ("name", "key"):
        return Token(kind), match[kind].strip()
    if kind is not None:
        return Token(kind), ""
    if text in ('""', "''"):
        return T.TEXT, ""
    return _SIGNS.get(text) or (T.OPENING if text in "({" else T.CLOSING), text
