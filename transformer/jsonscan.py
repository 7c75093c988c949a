"""JSON text while it arrives: where it is in strings and brackets, its outermost members, its end.

`JsonScanner` is the one incremental reader of JSON in this package. It keeps no text, looks at each character
once, and trusts nothing: what is not JSON at all only gives other numbers. `members` and `parsed` read a
whole object and keep the literal text of its values, because numbers must not pass through a float or a
limited integer: what a client wrote is what goes into the prompt.

Brackets are counted in a few other places, for reasons of their own: those of Python's literals, which end
differently (`values/literals.py`, and the table of calls as Python, where a bracket is a token); those of
bytes that are there as a whole, for the way back to a string (`provenance.py`); and those of a text that
nests too deeply for any reader (`jsontext.py`).
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

import orjson

_CLOSER = {"{": "}", "[": "]"}
_STRING_END = re.compile(r'["\\]')
_BRACKET = re.compile(r'["{}\[\]]')
_AT_TOP = re.compile(r'["{}\[\],:]|[^\s"{}\[\],:]')


class MemberSpan(NamedTuple):
    """A member of the outermost object: its key, and where its value starts and ends; -1 while that is
    open.
    """

    key: str
    start: int
    end: int = -1


class JsonScanner:
    """Feed it pieces; places count from the first character fed.

    With `members`, the members of the outermost object are noted as they come. It stops at the bracket that
    closes the outermost one: what follows that is not part of the value.
    """

    __slots__ = (
        "_at", "_escaped", "_key", "_key_parts", "_members", "_top", "end", "in_string", "members",
        "mismatched", "opened", "stack", )  # fmt: skip

    def __init__(self, members: bool = False) -> None:
        self.stack: list[str] = []  # the closing brackets that are still missing
        self.in_string = False
        self.opened = False  # an array or object has begun
        self.mismatched = False  # a closing bracket that is not the one that was due
        self.end = -1  # after the bracket that closed the outermost value
        self.members: list[MemberSpan] = []
        self._members = members
        self._escaped = False  # the last piece ended with a backslash inside a string
        self._at = 0
        self._top = "key"  # in the outermost object: what comes next
        self._key = ""
        self._key_parts: list[str] | None = None  # of a key that is being read

    @property
    def depth(self) -> int:
        return len(self.stack)

    @property
    def whole(self) -> bool:
        """All brackets that were opened are closed."""
        return self.opened and not self.stack and not self.in_string

    def feed(self, text: str) -> int:
        """Read on; returns how much of the text belongs to the value: all of it, until the value ends."""
        if self.end >= 0:
            return 0
        at, size = 0, len(text)
        while at < size:
            if self.in_string:
                at = self._string(text, at)
            elif self._members and len(self.stack) == 1 and self.stack[0] == "}":
                at = self._member(text, at)
            else:
                at = self._brackets(text, at)
            if self.end >= 0:
                self.end = self._at + at
                break
        self._at += at
        return at

    def closing(self) -> str:
        """What would close it: the quotation mark and the brackets that are missing."""
        return ('"' if self.in_string else "") + "".join(reversed(self.stack))

    def _string(self, text: str, at: int) -> int:
        begun = at
        if self._escaped:
            self._escaped = False
            at += 1
        while (match := _STRING_END.search(text, at)) is not None:
            at = match.end()
            if match[0] == '"':
                self.in_string = False
                if self._key_parts is not None:
                    self._end_key(text[begun : at - 1])
                return at
            if at == len(text):
                self._escaped = True
                break
            at += 1
        if self._key_parts is not None:
            self._key_parts.append(text[begun:])
        return len(text)

    def _end_key(self, rest: str) -> None:
        assert self._key_parts is not None
        raw = "".join((*self._key_parts, rest))
        self._key_parts = None
        try:
            self._key = json.loads(f'"{raw}"', strict=False)
        except ValueError:
            self._key = raw
        self._top = "colon"

    def _brackets(self, text: str, at: int) -> int:
        while (match := _BRACKET.search(text, at)) is not None:
            at = match.end()
            sign = match[0]
            if sign == '"':
                self.in_string = True
                return at
            if sign in _CLOSER:
                self.stack.append(_CLOSER[sign])
                self.opened = True
                if self._members:
                    return at
            else:
                self._close(sign)
                if self.end >= 0 or self._members:
                    return at
        return len(text)

    def _close(self, sign: str) -> None:
        if not self.stack:
            self.mismatched = True
            return
        self.mismatched = self.mismatched or self.stack.pop() != sign
        if not self.stack:
            self.end = 0

    def _member(self, text: str, at: int) -> int:
        """One sign of the outermost object: its keys, and where their values start and end."""
        match = _AT_TOP.search(text, at)
        if match is None:
            return len(text)
        sign, place, at = match[0], self._at + match.start(), match.end()
        if self._top == "value":
            self.members.append(MemberSpan(self._key, place))
            self._top = "comma"
        if sign == '"':
            self.in_string = True
            if self._top == "key":
                self._key_parts = []
        elif sign in _CLOSER:
            self.stack.append(_CLOSER[sign])
        elif sign == ":" and self._top == "colon":
            self._top = "value"
        elif sign in ",}":
            if self._top == "comma" and self.members and self.members[-1].end < 0:
                self.members[-1] = self.members[-1]._replace(end=place)
            self._top = "key"
            if sign == "}":
                self._close(sign)
        elif sign == "]":
            self._close(sign)
        return at

    def clone(self) -> JsonScanner:
        twin = JsonScanner.__new__(JsonScanner)
        for slot in JsonScanner.__slots__:
            setattr(twin, slot, getattr(self, slot))
        twin.stack = self.stack.copy()
        twin.members = self.members.copy()
        twin._key_parts = None if self._key_parts is None else self._key_parts.copy()
        return twin


def missing_end(text: str) -> str | None:
    """The closing quote, brackets and braces that make `text` whole; None if nothing simple does."""
    scanner = JsonScanner()
    taken = scanner.feed(text)
    if scanner.mismatched or text[taken:].strip():
        return None
    end = scanner.closing()
    try:
        orjson.loads(text + end)
    except orjson.JSONDecodeError:
        return None
    return end


# -- whole objects

_SPACE = re.compile(r"[ \t\n\r]*")


class Member(NamedTuple):
    """One key, its value, and the value's JSON text. Numbers are `(text,)`, so that none equals a string."""

    key: str
    value: Any
    raw: str


def _number(text: str) -> tuple[str]:
    return (text,)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Not strict: clients pass on line breaks that a model left raw inside a string.
_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_refuse, strict=False)


def members(text: str) -> list[Member] | None:
    """The members of an object; None if `text` is not an object. The last of duplicate keys wins."""
    try:
        return _members(text)
    except (ValueError, RecursionError):
        return None


def parsed(text: str) -> Any:
    """JSON for comparing: equal only if every number is written the same."""
    return _DECODER.decode(text)


def _members(text: str) -> list[Member]:
    found: dict[str, Member] = {}
    at = _expect(text, _skip(text, 0), "{")
    more = not text.startswith("}", at)
    while more:
        key, at = _DECODER.raw_decode(text, at)
        if not isinstance(key, str):
            raise ValueError("a key is a string")
        start = _expect(text, _skip(text, at), ":")
        value, at = _DECODER.raw_decode(text, start)
        found[key] = Member(key, value, text[start:at])
        at = _skip(text, at)
        more = text.startswith(",", at)
        at = _skip(text, at + 1) if more else at
    if _expect(text, at, "}") != len(text):
        raise ValueError("something follows the object")
    return list(found.values())


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, char: str) -> int:
    if not text.startswith(char, at):
        raise ValueError(f"{char} is missing")
    return _skip(text, at + 1)
