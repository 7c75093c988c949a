"""The members of a JSON object with the literal text of each value.

The literal is kept because numbers must not pass through a float or a limited integer: what a
client wrote is what goes into the prompt.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

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


# Not strict: clients pass on line breaks that a model left raw inside a string, and all the others are told.
_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_refuse, strict=False)


def members(text: str) -> list[Member] | None:
    """The members of the object that `text` is, None if it is none. Of two namesakes the last counts."""
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
