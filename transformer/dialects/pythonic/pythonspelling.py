"""How calls as Python are written: the markers around them, and the states and tokens of their table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum, auto

from transformer.parser.dialect import USUAL_STATES, USUAL_TOKENS, Lexicon, any_of, beginnings, upto
from transformer.parser.jsonspelling import NAME_LIMIT, inside_string
from transformer.parser.machine import Machine


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

STRINGS = (S.STRING, S.QUOTED, S.LONG_STRING, S.LONG_QUOTED, S.OBJECT_STRING)

STATES: Mapping[str, str] = {
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
TOKENS: Mapping[str, str] = {
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
WAITS_FOR: Mapping[str, str] = {
    S.MARKED: "a call",
    S.CALL: "an argument, or the closing parenthesis",
    S.VALUE: "a comma, or the closing parenthesis",
    S.OBJECT: "the closing brace",
    S.CLOSED: "a comma, or the end of the list",
    **dict.fromkeys(STRINGS, "the end of the string"),
}

# -- what may stand in each state

OPENERS = ("<|python_start|>", "<|tool_call_start|>", "<function_calls>")  # Llama 4, LFM2, Olmo 3
_CLOSERS = ("<|python_end|>", "<|tool_call_end|>", "</function_calls>", "<|eot|>")
_STARTS = "".join(sorted({re.escape(word[0]) for word in (*OPENERS, *_CLOSERS)}))
_NAME = rf"[A-Za-z_][\w.:-]{{0,{NAME_LIMIT - 1}}}+\s{{0,8}}"
_NAMED = rf"(?P<name>{_NAME})\("
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


def _lexicon(own: str, begun: str = "", starts: str = "", close: bool = True) -> Lexicon:
    markers = (*OPENERS, *(_CLOSERS if close else ()))
    whole = [f"(?P<open>{any_of(OPENERS)})", f"(?P<close>{any_of(_CLOSERS)})" if close else "", own]
    halves = [beginnings(*markers), begun]
    return Lexicon(
        starts or upto(f"{_STARTS}\\["),
        "|".join(filter(None, whole)),
        rf"(?:{'|'.join(filter(None, halves))})\Z",
    )


def _inside_long(sign: str) -> Lexicon:
    starts = rf"(?s:[^{sign}\\]++|\\.)*+[{sign}\\]"
    return Lexicon(starts, sign * 3, rf"(?:{sign}{{1,2}}|\\)\Z")


# Where plain text leads back to prose, all that counts there does.
LEXICONS: Mapping[StrEnum, Lexicon] = {
    S.TEXT: _lexicon(r"\[", close=False),
    S.MARKED: _lexicon(rf"{_NAMED}|[\[\]{{]", _NAME, r"\s*+\S"),
    S.CALL: _lexicon(rf"(?P<key>{_KEY})=|\)|\[", _KEY, r"\s*+\S"),
    S.VALUE: _lexicon(rf"{_QUOTES}|[\[\](){{}},]", r"\"{1,2}|'{1,2}", upto(f"{_STARTS}{_IN_VALUE}")),
    S.STRING: inside_string('"'),
    S.QUOTED: inside_string("'"),
    S.LONG_STRING: _inside_long('"'),
    S.LONG_QUOTED: _inside_long("'"),
    S.OBJECT: _lexicon(r'["{}]', "", upto(f'{_STARTS}"{{}}')),
    S.OBJECT_STRING: inside_string('"'),
    S.CLOSED: _lexicon(rf"{_NAMED}|[\[\],]", _NAME, r"\s*+\S"),
    S.MORE: _lexicon(rf"{_NAMED}|[\[\]{{,]", _NAME, r"\s*+\S"),
    S.REJECTED: _lexicon(rf"{_NAMED}|[\[\]{{,]", _NAME, r"\s*+\S"),
    S.AFTER: _lexicon(r"\["),
    S.DONE: _lexicon(r"\["),
}


def read(match: re.Match[str]) -> tuple[StrEnum, str]:
    kind, text = match.lastgroup, match[0]
    if kind in ("name", "key"):
        return Token(kind), match[kind].strip()
    if kind is not None:
        return Token(kind), ""
    if text in ('""', "''"):
        return T.TEXT, ""
    return _SIGNS.get(text) or (T.OPENING if text in "({" else T.CLOSING), text


def leftover(m: Machine, rest: str) -> StrEnum:
    """What the beginning of a token is at the end of the answer."""
    if m.call is not None:
        return T.TEXT if m.state in STRINGS else T.CUT
    half = len(rest) > 1 and any(close.startswith(rest) for close in _CLOSERS)
    return T.CUT if half and m.state in (S.MORE, S.AFTER) else T.TEXT
