"""Mends of what only qwen3-coder can break."""

from __future__ import annotations

import re
from collections.abc import Iterator

from transformer import Finding
from transformer.values.schema import Tool
from workbench.why.edits import Edit, insert_behind
from workbench.why.mends.tags import QWEN
from workbench.why.trial import Reading

_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_TAG = "<parameter="


def broken_tag(reading: Reading, finding: Finding, tool: Tool | None) -> Iterator[tuple[Edit, ...]]:
    """`<parameter=` without a name, or without the > behind it."""
    text = reading.text
    place = text.find(_TAG, finding.span.start)
    if place < 0:
        return
    place += len(_TAG)
    name = _name_at(text, place, tool)
    if not name:
        given = {match[1].strip() for match in QWEN.opened.finditer(text, 0, place)}
        for key in _wanted(tool, given)[:1]:
            yield (insert_behind(place, f"{key}>", _TAG),)
        return
    behind = place + len(name)
    if text.startswith("=", behind):
        yield (_ended(behind, name),)
        return
    yield (insert_behind(behind, ">", _TAG + name),)


def _name_at(text: str, place: int, tool: Tool | None) -> str:
    """A parameter of the tool that stands there, else any word."""
    known = sorted(tool.properties, key=len, reverse=True) if tool is not None else ()
    for key in known:
        if text.startswith(key, place):
            return key
    word = _NAME.match(text, place)
    return word[0] if word is not None else ""


def _wanted(tool: Tool | None, given: set[str]) -> list[str]:
    """The parameters that a nameless one may be: required ones first."""
    if tool is None:
        return []
    keys = [*tool.required, *(key for key in tool.properties if key not in tool.required)]
    return [key for key in keys if key not in given]


def inline_parameter(reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """`<parameter=key=value</parameter>`, which was read as if its tag had ended."""
    start = finding.span.start + len(_TAG)
    place = reading.text.find("=", start)
    if place >= 0:
        yield (_ended(place, reading.text[start:place]),)


def _ended(place: int, name: str) -> Edit:
    return Edit(place, place + 1, ">", f"with > instead of = behind {_TAG}{name}")
