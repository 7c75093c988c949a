"""JSON with comments: its values, and where in the text each of them stands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


class JsoncError(ValueError):
    """The text is no JSON, with the line where that shows."""


class Member(NamedTuple):
    """A value in an object, and where its key begins."""

    start: int
    node: Node


@dataclass(frozen=True, slots=True)
class Node:
    """A value from `start` up to `end`. Only an object has members; of a repeated key the last one holds."""

    start: int
    end: int
    value: Any
    members: Mapping[str, Member] | None = field(default=None)


def parse(text: str) -> Node:
    """The one value that the text is. Commas may stand at the end of objects and lists, too."""
    try:
        node = _value(text, blank_end(text, 0))
    except RecursionError:
        raise JsoncError("it is nested too deeply") from None
    rest = blank_end(text, node.end)
    if rest < len(text):
        raise _error(text, rest, "something follows the end")
    return node


def blank_end(text: str, at: int) -> int:
    """Where whitespace and comments that begin here are over."""
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int) -> Node:
    opening = text[at : at + 1]
    if opening == "{":
        return _object(text, at)
    if opening == "[":
        return _list(text, at)
    try:
        value, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise _error(text, error.pos, "a value is missing or broken") from None
    return Node(at, end, value)


def _object(text: str, start: int) -> Node:
    members: dict[str, Member] = {}
    at = blank_end(text, start + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise _error(text, at, 'a key in " or a } is missing')
        key = _value(text, at)
        colon = blank_end(text, key.end)
        if text[colon : colon + 1] != ":":
            raise _error(text, colon, "a : is missing")
        node = _value(text, blank_end(text, colon + 1))
        members[key.value] = Member(at, node)
        at = _next(text, node.end, "}")
    return Node(start, at + 1, {key: member.node.value for key, member in members.items()}, members)


def _list(text: str, start: int) -> Node:
    values = []
    at = blank_end(text, start + 1)
    while text[at : at + 1] != "]":
        node = _value(text, at)
        values.append(node.value)
        at = _next(text, node.end, "]")
    return Node(start, at + 1, values)


def _next(text: str, at: int, closing: str) -> int:
    """Where the next value begins, or the closing bracket stands."""
    at = blank_end(text, at)
    if text[at : at + 1] == ",":
        return blank_end(text, at + 1)
    if text[at : at + 1] != closing:
        raise _error(text, at, f"a comma or a {closing} is missing")
    return at


def _error(text: str, at: int, what: str) -> JsoncError:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return JsoncError(f"line {line}, column {column}: {what}")
