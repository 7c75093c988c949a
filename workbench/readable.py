"""A request as lines a person reads: texts unfolded, one tool a line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.output import Painted
from workbench.visible import json_text

_JSON = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*')
_MARKUP = re.compile(r"</?[^\s<>]+>")
_DIFF_COLOURS: Mapping[str, str] = {"+": "green", "-": "red", "@": "cyan"}


def readable(body: Mapping[str, Any]) -> list[str]:
    """Lines for comparing two bodies: in JSON a long text is one line, and nothing can be seen in it."""
    lines: list[str] = []
    for key, value in body.items():
        if key == "messages" and isinstance(value, list):
            for index, message in enumerate(value):
                lines += _message(index, message)
        elif key == "tools" and isinstance(value, list):
            lines += [f"tools[{index}]: {json_text(tool)}" for index, tool in enumerate(value)]
        else:
            lines.append(f"{key}: {json_text(value)}")
    return lines


def _message(index: int, message: Any) -> Iterator[str]:
    if not isinstance(message, Mapping):
        yield f"messages[{index}]: {json_text(message)}"
        return
    yield f"messages[{index}] {message.get('role')}"
    for key, value in message.items():
        if key == "content" and isinstance(value, str):
            yield from (f"    {line}" if line else "" for line in value.split("\n"))
        elif isinstance(value, list):
            yield from (f"  {key}: {json_text(part)}" for part in value)
        elif key != "role":
            yield f"  {key}: {json_text(value)}"


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[list[Painted]]:
    """What was changed in a body, as a unified diff."""
    return painted_difference(readable(before), readable(after), "client", "upstream")


def painted_difference(
    before: Sequence[str], after: Sequence[str], old: str, new: str
) -> Iterator[list[Painted]]:
    """The unified diff of two versions, `old` and `new` by name."""
    for line in difflib.unified_diff(before, after, old, new, lineterm="", n=3):
        yield [Painted(line, _DIFF_COLOURS.get(line[:1]))]


def painted_json(value: Any) -> Iterator[list[Painted]]:
    for line in json_text(value, indent=2).split("\n"):
        yield list(_json_pieces(line))


def _json_pieces(line: str) -> Iterator[Painted]:
    at = 0
    for match in _JSON.finditer(line):
        yield Painted(line[at : match.start()])
        yield Painted(match[0], "cyan" if match[2] else "green" if match[1] else "yellow")
        at = match.end()
    yield Painted(line[at:])


def painted_text(text: str) -> Iterator[list[Painted]]:
    """A prompt: headings and markup stand out."""
    for line in text.split("\n"):
        if line.startswith("#"):
            yield [Painted(line, "cyan")]
            continue
        at, pieces = 0, []
        for match in _MARKUP.finditer(line):
            pieces += [Painted(line[at : match.start()]), Painted(match[0], "green")]
            at = match.end()
        yield [*pieces, Painted(line[at:])]
