"""The states and tokens of kimi-k2, and how its text becomes tokens."""

from __future__ import annotations

import re
from enum import StrEnum, auto

from transformer.lexer import Lexicon, beginnings, upto
from transformer.machine import Machine


class State(StrEnum):
    TEXT = auto()
    SECTION = auto()  # inside a section, or behind a call that needed none
    HEADER = auto()  # behind <|tool_call_begin|>, before the id
    ID = auto()  # the id, which holds the name
    ID_END = auto()  # behind the id
    ARGUMENTS = auto()  # JSON, outside its strings
    STRING = auto()  # JSON, inside a string: a token here is data
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    SECTION_BEGIN = auto()
    SECTION_END = auto()
    CALL_BEGIN = auto()
    ARGUMENT_BEGIN = auto()
    CALL_END = auto()
    QUOTE = auto()
    CUT = auto()  # the beginning of a token at the end of the answer
    END = auto()


_MARKERS = {
    "<|tool_calls_section_begin|>": Token.SECTION_BEGIN,
    "<|tool_call_section_begin|>": Token.SECTION_BEGIN,
    "<|tool_calls_section_end|>": Token.SECTION_END,
    "<|tool_call_section_end|>": Token.SECTION_END,
    "<|tool_call_begin|>": Token.CALL_BEGIN,
    "<|tool_call_argument_begin|>": Token.ARGUMENT_BEGIN,
    "<|tool_call_end|>": Token.CALL_END,
    '"': Token.QUOTE,
}
_WORDS = [word for word in _MARKERS if word != '"']
_ANY = "|".join(re.escape(word) for word in _WORDS)
_PARTIAL = re.compile(beginnings(*_WORDS) + r"\Z")
_OUTSIDE = Lexicon(upto("<"), re.compile(_ANY), _PARTIAL)
_JSON = Lexicon(upto('<"'), re.compile(f'{_ANY}|"'), _PARTIAL)
# An id has no whitespace: what has some in the middle is prose that names the token.
_IN_HEADER = Lexicon(upto("<\\s"), re.compile(rf"{_ANY}|\s+"), _PARTIAL)
# Inside a string an escape is two characters like others: only the quote that ends it counts, and a
# backslash that is the last character so far.
_IN_STRING = Lexicon(re.compile(r'(?:[^"\\]++|\\.)*+["\\]', re.DOTALL), re.compile('"'), re.compile(r"\\\Z"))
LEXICONS: dict[StrEnum, Lexicon] = {
    State.TEXT: _OUTSIDE,
    State.SECTION: _OUTSIDE,
    State.HEADER: _IN_HEADER,
    State.ID: _IN_HEADER,
    State.ID_END: _IN_HEADER,
    State.ARGUMENTS: _JSON,
    State.STRING: _IN_STRING,
    State.DONE: _OUTSIDE,
}


def classify(m: Machine, text: str, match: re.Match[str]) -> tuple[StrEnum, str]:
    return _MARKERS.get(match.group(), Token.SPACE), ""


def undecided(m: Machine, text: str, start: int) -> bool:
    return True


def leftover(m: Machine, rest: str) -> StrEnum:
    return Token.CUT if rest.startswith("<|") else Token.TEXT
