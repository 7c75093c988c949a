"""JSON that others wrote: orjson reads it first, and what orjson refuses or would round is read again.

Servers and clients send lone surrogates, bytes that are not UTF-8 and integers of any length; code that
passes on what it got must not lose them.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from typing import Any, NamedTuple

import orjson

_DIGITS_TO_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19
_MOST_DIGITS = 4300  # Python itself refuses to read longer ones
_DEEPEST = 100
_STRUCTURE = re.compile(r'\\.|["{}\[\]]', re.DOTALL)


class Parsed(NamedTuple):
    """A JSON value, or why there is none; `repaired` names what had to be replaced to read it."""

    value: Any
    problem: str | None = None
    repaired: str | None = None


def parse(data: bytes) -> Parsed:
    """The value that the bytes encode, parsed the fast way if possible."""
    try:
        return Parsed(orjson.loads(data))
    except orjson.JSONDecodeError:
        return parse_leniently(data)


def parse_strictly(data: bytes) -> Parsed:
    """As a client that accepts only JSON reads it; half surrogate pairs and long numbers are JSON."""
    try:
        return Parsed(orjson.loads(data))
    except orjson.JSONDecodeError:
        pass
    reading = _Reading()
    text = reading.decoded(data)
    try:
        return Parsed(json.loads(text, parse_int=float), None, reading.repaired)
    except ValueError as error:
        return Parsed(None, str(error))
    except RecursionError:
        return Parsed(None, "it is nested too deeply")


def parse_leniently(data: bytes) -> Parsed:
    """A second reading of what orjson refused: lone surrogates, invalid UTF-8, raw control characters.

    A number too large to hold, and values nested too deeply, become null: the rest of what
    was said is worth more than they are.
    """
    reading = _Reading()
    text = reading.decoded(data)
    try:
        return Parsed(reading.value(text), None, reading.repaired)
    except ValueError as error:
        return Parsed(None, str(error))
    except RecursionError:
        pass
    try:
        reading.repaired = "nested-too-deep"
        return Parsed(reading.value(_shallow(text)), None, reading.repaired)
    except (ValueError, RecursionError):
        return Parsed(None, "it is nested too deeply")


def has_long_number(data: bytes) -> bool:
    """Whether there may be an integer beyond 64 bits: orjson makes a float of it, and what another program
    wrote is not ours to round.

    It is asked of every line and of many events; a regular expression takes three times as long.
    """
    return _LONG_NUMBER in data.translate(_DIGITS_TO_ZEROS)


class _Reading:
    """Reads one text, and remembers what had to be replaced for it."""

    def __init__(self) -> None:
        self.repaired: str | None = None

    def decoded(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.repaired = "invalid-utf8"
            return data.decode("utf-8", "replace")

    def value(self, text: str) -> Any:
        return json.loads(text, strict=False, parse_int=self._integer)

    def _integer(self, digits: str) -> int | None:
        if len(digits) <= _MOST_DIGITS:
            return int(digits)
        self.repaired = "number-too-long"
        return None


def _shallow(text: str) -> str:
    """The text with null instead of every array or object that is nested too deeply."""
    parts, at, depth, quoted, hidden = [], 0, 0, False, -1
    for match in _STRUCTURE.finditer(text):
        sign = match[0]
        if sign == '"':
            quoted = not quoted
        elif quoted or sign.startswith("\\"):
            continue
        elif sign in "{[":
            depth += 1
            if depth == _DEEPEST + 1:
                parts.append(text[at : match.start()] + "null")
                hidden = depth
        else:
            if depth == hidden:
                at, hidden = match.end(), -1
            depth -= 1
    return "".join(parts) + (text[at:] if hidden < 0 else "")


def begins_object(data: bytes) -> bool:
    """Whether this may be the beginning of a JSON object."""
    return data.removeprefix(BOM_UTF8).lstrip()[:1] == b"{"


Object = dict[str, Any]
_DEEPEST = 100


def dumps(obj: Any) -> bytes:
    """Compact JSON; the slow way for what orjson refuses: huge integers, lone surrogates, depth."""
    try:
        return orjson.dumps(obj)
    except TypeError:
        pass
    try:
        return json.dumps(obj, separators=(",", ":")).encode()
    except RecursionError:
        return json.dumps(_pruned(obj, _DEEPEST), separators=(",", ":")).encode()


def _pruned(value: Any, levels: int) -> Any:
    """Values nested deeper than any encoder goes are not real data: null takes their place."""
    if isinstance(value, dict):
        return {key: _pruned(item, levels - 1) for key, item in value.items()} if levels else None
    if isinstance(value, list):
        return [_pruned(item, levels - 1) for item in value] if levels else None
    return value
