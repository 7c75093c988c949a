"""Values that fit their type, made from one that does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from transformer import Finding
from transformer.jsonscan import missing_end
from transformer.values.convert import convert
from transformer.values.schema import Tool, branches, declared, required
from workbench.visible import json_text
from workbench.why.edits import Edit, put, remove
from workbench.why.mends.tags import Tags
from workbench.why.trial import Reading

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_DEEPEST = 4
_EXAMPLES: dict[str, Any] = {
    "number": 0,
    "integer": 0,
    "boolean": True,
    "array": [],
    "null": None,
    "string": "",
}


def other_value(
    tags: Tags, reading: Reading, finding: Finding, tool: Tool | None
) -> Iterator[tuple[Edit, ...]]:
    """The value as what was meant, or as anything of its type."""
    text, (start, end) = reading.text, (finding.span.start, finding.span.end)
    opening = _opening(tags, text, start)
    key = opening[1].strip() if opening is not None else ""
    if tool is None or not tool.knows(key):
        return
    value = text[start:end]
    inner = value.strip()
    place = start + value.find(inner)
    for better in fitting(inner, tool.properties[key], tool.parameters):
        yield (put(place, place + len(inner), better, text),)


def _opening(tags: Tags, text: str, end: int) -> re.Match[str] | None:
    """The tag right before a value."""
    return next((found for found in tags.opened.finditer(text, 0, end) if found.end() == end), None)


def fitting(text: str, schema: Any, root: Any) -> Iterator[str]:
    """Texts of the wanted type, the nearest first."""
    tried = {text}
    for candidate in _candidates(text, schema, root):
        if candidate not in tried and convert(candidate, schema, root).fits:
            yield candidate
        tried.add(candidate)


def _candidates(text: str, schema: Any, root: Any) -> Iterator[str]:
    closing = missing_end(text)
    if closing:
        yield text + closing
    numbers = _NUMBER.findall(text)
    if len(numbers) == 1:
        yield numbers[0]
        yield numbers[0].split(".")[0]
    if numbers and text[:1] == "[":
        yield f"[{', '.join(numbers)}]"
    yield f"[{text}]"
    yield json_text([line.strip() for line in text.splitlines() if line.strip()])
    yield json_text(example(schema, root))


def example(schema: Any, root: Any, depth: int = 0) -> Any:
    """The simplest value of a type."""
    for branch in branches(schema, root):
        options = branch.schema.get("enum")
        if isinstance(options, list) and options:
            return options[0]
        if branch.word == "object" and depth < _DEEPEST:
            members, wanted = declared(branch.schema), required(branch.schema)
            return {name: example(members.get(name, {}), root, depth + 1) for name in wanted}
        return _EXAMPLES.get(branch.word, {})
    return ""


def without_repeats(tags: Tags, reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """One of two parameters of the same name is left out: the second, or the first."""
    text, start = reading.text, finding.span.start
    second = _opening(tags, text, start)
    if second is None:
        return
    closer = tags.close_parameter(second[1].strip())
    first = next((match for match in tags.opened.finditer(text) if match[1] == second[1]), second)
    for opening, word in ((second, "second"), (first, "first")):
        end = text.find(closer, opening.end())
        if end >= 0:
            edit = remove(opening.start(), end + len(closer), text, "")
            yield (Edit(edit.start, edit.end, "", f"{edit.words.rstrip()} (the {word} {second[1].strip()})"),)
