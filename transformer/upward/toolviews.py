"""What a prompt template sees of the tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from transformer.arguments import convert
from transformer.upward.examples import example
from transformer.upward.offer import Offer, json_of, key_of
from transformer.upward.readback import reads_back
from transformer.values.jsonmembers import parsed
from transformer.values.schema import Branch, Tool, branches, declared, offered, required

_TAG = re.compile(r"[^\s<>/]+")
_LONG_TEXTS = {"content", "contents", "code", "diff", "patch", "body"}
# Parameters inside parameters are described as deep as people write them.
_MOST_LEVELS = 3
_MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class ParameterView:
    """One parameter; those inside a list or an object follow it with a higher `level`."""

    name: str
    required: bool
    type: str
    description: str
    hint: str  # the words it may be, and its default, in parentheses
    level: int


class ToolView:
    """One tool. `function` is the JSON as the client sent it, `usage` an example call in roo-xml.

    What takes time is made when a template asks for it: most ask for little.
    """

    def __init__(self, tool: Tool, function: Mapping[str, Any]) -> None:
        self.name = tool.name
        self.description = tool.description.strip()
        self.function = function
        self._tool = tool

    @cached_property
    def parameters(self) -> tuple[ParameterView, ...]:
        return tuple(_parameters(self._tool))

    @cached_property
    def usage(self) -> str:
        return _usage(self._tool)


def views(offer: Offer) -> list[ToolView]:
    """Every offered tool, in order, each once."""
    found: dict[str, ToolView] = {}
    for entry in offer.entries:
        view = _view(key_of(entry))
        if view is not None:
            found.setdefault(view.name, view)
    return list(found.values())


@lru_cache(maxsize=256)
def _view(key: bytes) -> ToolView | None:
    """The view of one entry, by its content: lists that share tools share their views."""
    entry = json.loads(key)
    tool = next(iter(offered([entry]).values()), None)
    return None if tool is None else ToolView(tool, entry.get("function", entry))


def _parameters(tool: Tool) -> Iterator[ParameterView]:
    return islice(_lines(tool.properties, tool.required, tool.parameters, 0), _MOST_LINES)


def _lines(
    properties: Mapping[str, Any], needed: tuple[str, ...], root: Any, level: int
) -> Iterator[ParameterView]:
    for name, schema in properties.items():
        found = branches(schema, root)
        words = dict.fromkeys(branch.word for branch in found)
        keywords = found[0].schema
        description = keywords.get("description")
        text = description.strip() if isinstance(description, str) else ""
        yield ParameterView(name, name in needed, " or ".join(words), text, _hint(found), level)
        if level + 1 < _MOST_LEVELS:
            for inner in _inner(found, root):
                yield from _lines(declared(inner), required(inner), root, level + 1)


def _inner(found: tuple[Branch, ...], root: Any) -> Iterator[Mapping[str, Any]]:
    """The objects that a value is or is a list of."""
    for branch in found:
        if branch.word == "object":
            yield branch.schema
        elif branch.word == "array":
            items = branches(branch.schema.get("items"), root)
            yield from (item.schema for item in items if item.word == "object")


def _hint(found: tuple[Branch, ...]) -> str:
    keywords = found[0].schema
    allowed, default = keywords.get("enum"), keywords.get("default")
    parts = []
    if isinstance(allowed, list) and allowed:
        parts.append("one of: " + ", ".join(map(_plain, allowed)))
    if default is not None and default not in ("", [], {}):
        parts.append(f"default: {_plain(default)}")
    return f" ({'; '.join(parts)})" if parts else ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json_of(value)


def _usage(tool: Tool) -> str:
    """An example call. Lists and objects are nested tags wherever those read as what they mean, else JSON."""
    values = {name: example(name, schema, tool.parameters) for name, schema in tool.properties.items()}
    shown = {name: _shown(name, value) for name, value in values.items()}
    plain = {name: json_of(value) if _is_nested(value) else shown[name] for name, value in values.items()}
    for name, schema in tool.properties.items():
        read = convert(shown[name], schema, tool.parameters).json if shown[name] != plain[name] else None
        if read is not None and not _is(values[name], read):
            shown[name] = plain[name]
    # A key inside may have the name of a parameter, which would end the value there.
    if shown != plain and not _reads_back(tool, _call(tool, shown), values):
        shown = plain
    return _call(tool, shown)


def _call(tool: Tool, texts: Mapping[str, str]) -> str:
    return "\n".join(
        (f"<{tool.name}>", *(f"<{name}>{text}</{name}>" for name, text in texts.items()), f"</{tool.name}>")
    )


def _reads_back(tool: Tool, text: str, values: Mapping[str, Any]) -> bool:
    try:
        meant = parsed(json_of(values))
    except (ValueError, RecursionError):  # a default such as Infinity, which is not JSON
        return False
    return reads_back("roo-xml", text, {tool.name: tool}, tool.name, meant)


def _shown(name: str, value: Any) -> str:
    if isinstance(value, str):
        return f"\n{value}\n" if name.lower() in _LONG_TEXTS or "\n" in value else value
    text = _tags(value, 1)
    return f"{text}\n" if text.startswith("\n") else text


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | dict)


def _tags(value: Any, level: int) -> str:
    if not isinstance(value, list | dict) or not value:
        return _plain(value)
    members = [("item", item) for item in value] if isinstance(value, list) else list(value.items())
    if not all(_TAG.fullmatch(name) for name, _ in members):
        return json_of(value)
    lines = []
    for name, item in members:
        inner = _tags(item, level + 1)
        end = f"\n{'  ' * level}" if inner.startswith("\n") else ""
        lines.append(f"\n{'  ' * level}<{name}>{inner}{end}</{name}>")
    return "".join(lines)


def _is(value: Any, read: str) -> bool:
    try:
        return bool(parsed(read) == parsed(json_of(value)))
    except (ValueError, RecursionError):
        return False
