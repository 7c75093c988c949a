"""How calls as JSON are written: the states and tokens of their grammar, and the markers of a dialect of it.

What the tokens do is in `jsongrammar.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Any

from transformer.parser.dialect import USUAL_STATES, USUAL_TOKENS, Lexicon, any_of, beginnings, upto
from transformer.parser.machine import Machine


class State(StrEnum):
    TEXT = auto()
    MARKED = auto()
    OBJECT = auto()
    NAME = auto()
    VALUE = auto()
    ARGUMENTS = auto()
    STRING = auto()
    QUOTED = auto()
    SCALAR = auto()
    OTHER = auto()
    OTHER_STRING = auto()
    NEXT = auto()
    REJECTED = auto()
    AFTER = auto()
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    OPEN = auto()
    CLOSE = auto()
    HEADER = auto()
    KEY = auto()
    NAME = auto()
    QUOTE = auto()
    APOSTROPHE = auto()
    BRACE = auto()
    END_BRACE = auto()
    BRACKET = auto()
    END_BRACKET = auto()
    COMMA = auto()
    SEPARATOR = auto()
    CUT = auto()
    END = auto()


S, T = State, Token

# -- how a dialect spells it

NAME_LIMIT = 256  # characters of a name or a key; a longer one is text
GAP = r"\s{0,64}"  # whitespace between two parts of one token; more of it is text
_SIGNS: Mapping[str, Token] = {
    "{": T.BRACE,
    "}": T.END_BRACE,
    "[": T.BRACKET,
    "]": T.END_BRACKET,
    '"': T.QUOTE,
    "'": T.APOSTROPHE,
    ",": T.COMMA,
}
NAME_KEYS = ("name",)
OTHER_KEYS = ("type", "id")  # other keys that an object without a marker may have
# In Python's spelling, too: models that write Python literals for values write them for names.
_DOUBLE = rf'"(?:[^"\\\n]|\\.){{0,{NAME_LIMIT}}}+'
_SINGLE = rf"'(?:[^'\\\n]|\\.){{0,{NAME_LIMIT}}}+"
_STRING = f"(?:{_DOUBLE}\"|{_SINGLE}')"
_STRING_BEGUN = rf"""(?:{_DOUBLE}(?:\\|"{GAP})?|{_SINGLE}(?:\\|'{GAP})?)"""


@dataclass(frozen=True, slots=True)
class Header:
    """A tool's name before its arguments: the pattern of all of it, with the groups `tool` and perhaps `id`,
    and the pattern of its beginnings.
    """

    pattern: str
    begun: str


@dataclass(frozen=True, slots=True)
class JsonSpelling:
    """The markers of a dialect of this grammar.

    Any of the opening markers may precede a call, any of the closing ones may follow it, also several of
    them. `fence` may precede a closing marker. `special` markers are tokens that nobody types: one that means
    nothing is dropped and named. With `bare` an object at the start of a line is a call without any marker,
    if it names an offered tool. `keys` are the keys of the arguments.
    """

    open: tuple[str, ...]
    close: tuple[str, ...] = ()
    fence: str = ""
    header: Header | None = None
    keys: tuple[str, ...] = ("arguments", "parameters")
    special: bool = False
    bare: bool = False

    def lexicons(self) -> dict[StrEnum, Lexicon]:
        """The tokens of each state. Where plain text leads back to prose, the tokens of prose count as
        well."""
        bare = "{" if self.bare else ""
        outside = self._lexicon(bare, close=self.special)
        header = (f"(?P<header>{self.header.pattern})", self.header.begun) if self.header else ("", "")
        key, name = (f"(?P<key>{_STRING}{GAP}:)", _STRING_BEGUN), (f"(?P<name>{_STRING})", _STRING_BEGUN)
        separator = (
            rf"(?P<separator>[,;]{GAP}(?=\{{|{any_of(self.open)}))",
            rf"[,;]{GAP}(?:{beginnings(*self.open)})?",
        )
        return {
            S.TEXT: outside,
            S.MARKED: self._lexicon("{[", *header),
            S.OBJECT: self._lexicon("}]," + bare, *key, "\"'"),
            S.NAME: self._lexicon(bare, *name, "\"'"),
            S.VALUE: self._lexicon("{}[,\"'"),
            S.ARGUMENTS: self._lexicon("{}[]\"'"),
            S.STRING: inside_string('"'),
            S.QUOTED: inside_string("'"),
            S.SCALAR: self._lexicon("},"),
            S.OTHER: self._lexicon('{}[]",'),
            S.OTHER_STRING: inside_string('"'),
            S.NEXT: self._lexicon("{}]", *separator, ",;"),
            S.REJECTED: self._lexicon("{]", *separator, ",;"),
            S.AFTER: self._lexicon(bare),
            S.DONE: outside,
        }

    def _lexicon(
        self, signs: str, token: str = "", begun: str = "", first: str = "", close: bool = True
    ) -> Lexicon:
        """Markers, some signs of JSON, and perhaps a token; by default a token may begin with any character.

        A sign that may be the beginning of a marker waits for what follows it.
        """
        closing = self.close if close else ()
        markers = (*self.open, *closing)
        fence = self.fence if closing else ""
        halves = [beginnings(*markers), begun]
        if fence:
            halves += [beginnings(f"{fence}_"), f"{re.escape(fence)}{GAP}(?:{beginnings(*closing)})?"]
        partial = rf"(?:{'|'.join(filter(None, halves))})\Z"
        wholes = [f"(?P<open>{any_of(self.open)})", token]
        if closing:
            wholes.append(
                f"(?P<close>{f'(?:{re.escape(fence)}{GAP})?' if fence else ''}(?:{any_of(closing)}))"
            )
        if signs:
            wholes.append(f"(?!{partial})[{re.escape(signs)}]")
        firsts = {word[0] for word in (*markers, *signs, *first, *fence[:1])}
        starts = r"\s*+\S" if token and not first else upto("".join(map(re.escape, sorted(firsts))))
        return Lexicon(starts, "|".join(filter(None, wholes)), partial)

    def leftover(self, m: Machine, rest: str) -> StrEnum:
        """What the beginning of a token is at the end of the answer."""
        if m.call is not None:
            return T.TEXT if m.state in (S.STRING, S.QUOTED, S.OTHER_STRING) else T.CUT
        half = len(rest) > 1 and any(close.startswith(rest.rstrip()) for close in (*self.close, self.fence))
        return T.CUT if half and m.state in (S.NEXT, S.AFTER) else T.TEXT

    def words(self) -> tuple[Mapping[Any, str], Mapping[Any, str], Mapping[Any, str]]:
        """What states and tokens are, and what a state waits for."""
        key = self.keys[0]
        states = {
            **USUAL_STATES,
            S.MARKED: f"after {self.open[0]}, before the JSON of a call",
            S.OBJECT: "in the JSON object of a call, between two members",
            S.NAME: "in that object, after the key of the tool's name",
            S.VALUE: "before the arguments",
            S.ARGUMENTS: "in the arguments' JSON, outside of its strings",
            S.STRING: "in the arguments' JSON, inside a string, where everything is data",
            S.QUOTED: "in the arguments, inside a string between apostrophes, as Python writes it",
            S.SCALAR: f"in {key} that are not an object",
            S.OTHER: "in a member of the call's object that is neither its name nor its arguments",
            S.OTHER_STRING: "in such a member, inside a string",
            S.NEXT: "after the JSON of a call, where its closing marker or another call may follow",
            S.REJECTED: "after an object that stays text",
        }
        tokens = {
            **USUAL_TOKENS,
            T.OPEN: "the marker that begins a call",
            T.CLOSE: "the marker that ends a call",
            T.HEADER: "the tool's name, and what stands between it and its arguments",
            T.KEY: "a key of the call's object",
            T.NAME: "a string where the tool's name should be",
            T.QUOTE: "a quotation mark",
            T.APOSTROPHE: "an apostrophe",
            T.BRACE: "an opening brace",
            T.END_BRACE: "a closing brace",
            T.BRACKET: "an opening bracket",
            T.END_BRACKET: "a closing bracket",
            T.COMMA: "a comma",
            T.SEPARATOR: "a comma or semicolon before another call",
            T.CUT: "the beginning of a token, cut off by the end of the answer",
        }
        waits = {
            S.MARKED: "the JSON of a call",
            S.OBJECT: f"the name, the {key} or the closing brace",
            S.NAME: "the tool's name",
            S.VALUE: f"the {key}",
            S.ARGUMENTS: f"the end of the {key}",
            S.STRING: "the end of the string",
            S.QUOTED: "the end of the string",
            S.SCALAR: "the closing brace",
            S.OTHER: "the next member",
            S.OTHER_STRING: "the end of the string",
        }
        return states, tokens, waits


def inside_string(quote: str) -> Lexicon:
    """Inside a string an escape is two characters like others: only the quote that ends it counts, and a
    backslash that is the last character so far.
    """
    return Lexicon(rf"(?s:[^{quote}\\]++|\\.)*+[{quote}\\]", quote, r"\\\Z")


def read(match: re.Match[str]) -> tuple[StrEnum, str]:
    """The token that a match of a lexicon is, and the name in it."""
    kind, text = match.lastgroup, match[0]
    if kind is None:
        return _SIGNS[text], text
    if kind in ("key", "name"):
        return Token(kind), _unquoted(text[: text.rindex(text[0]) + 1])
    return Token(kind), match["tool"] if kind == "header" else ""


def _unquoted(written: str) -> str:
    if written[0] == "'":
        return written[1:-1].replace("\\'", "'")
    try:
        return str(json.loads(written, strict=False))
    except ValueError:
        return written[1:-1]


def spelling_of(m: Machine) -> JsonSpelling:
    spelling = m.dialect.spelling
    assert isinstance(spelling, JsonSpelling)
    return spelling
