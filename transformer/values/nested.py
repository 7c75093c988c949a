"""Nested tags -> elements: how models write a list or an object when they do not write JSON.

    <item>first</item>
    <item>second</item>

Only tags without attributes count, and a text is nested tags only if it is nothing else: whole
elements, and whitespace between them. What is inside an element is raw text, to be read again
as elements or as a value by whoever knows the schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

Tree: TypeAlias = "str | list[Tree] | dict[str, Tree]"

_OPENING = re.compile(r"\s*<([^\s<>/]+)>")
_STRUCTURE = re.compile(r"\s*(?:<[^\s<>/]+>|\Z)")

# Deeper than any value a model writes, and far from the interpreter's own limit.
MOST_LEVELS = 32


class Element(NamedTuple):
    """One tag and the raw text between its opening and its closing."""

    name: str
    text: str


def elements(text: str, level: int = 0) -> list[Element]:
    """The elements `text` consists of, none if it is anything else or lies too deep."""
    if level >= MOST_LEVELS:
        return []
    found: list[Element] = []
    at = 0
    while opening := _OPENING.match(text, at):
        name, start = opening[1], opening.end()
        end = _end(text, name, start)
        if end < 0:
            return []
        found.append(Element(name, text[start:end]))
        at = end + len(f"</{name}>")
    return found


def grouped(found: Iterable[Element]) -> dict[str, list[str]]:
    """The texts by name, in the order of the names' first appearance."""
    groups: dict[str, list[str]] = {}
    for name, text in found:
        groups.setdefault(name, []).append(text)
    return groups


def tree(text: str, level: int = 0) -> Tree:
    """What the tags alone say where no schema does: a list, an object, or the text as it is.

    One name for all children makes a list if there are several, or if that name is `item`.
    """
    found = elements(text, level)
    groups = grouped(found)
    if not found:
        return text
    if len(groups) == 1 and (len(found) > 1 or "item" in groups):
        return [tree(child, level + 1) for _, child in found]
    return members(groups, level)


def members(groups: Mapping[str, list[str]], level: int = 0) -> dict[str, Tree]:
    """The keys of an object with their trees; a repeated key has a list of them."""
    found: dict[str, Tree] = {}
    for name, texts in groups.items():
        first, *others = [tree(text, level + 1) for text in texts]
        found[name] = [first, *others] if others else first
    return found


def _end(text: str, name: str, start: int) -> int:
    """Where the element's closing tag begins, -1 if nothing closes it.

    A closing tag counts when the element's own tags are balanced and structure follows: another
    opening tag, or the end. Any other is data. Each search ends at the next closing tag, so that
    no character is looked at more than a few times, whatever the text.
    """
    opening, closing = f"<{name}>", f"</{name}>"
    depth, at = 1, start
    while (end := text.find(closing, at)) >= 0:
        depth += text.count(opening, at, end) - 1
        at = end + len(closing)
        if depth == 0:
            if _STRUCTURE.match(text, at):
                return end
            depth = 1
    return -1
