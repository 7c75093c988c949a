"""Additions to the text of a JSON file that leave everything else in it as it is, comments included."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from workbench.clients.jsonc import JsoncError, Node, blank_end, parse

Path: TypeAlias = tuple[str, ...]

_INDENT = re.compile(r"[ \t]*")


def merge(text: str, wanted: Mapping[str, Any], ours: Callable[[Path, Any], bool]) -> str:
    """The text with all that is wanted in it. Objects are joined; another value that is already there
    stays, unless `ours` says of its path and the value that it may be replaced."""
    return _merge(text, (), wanted, ours)


def _merge(text: str, path: Path, wanted: Any, ours: Callable[[Path, Any], bool]) -> str:
    root = parse(text)
    node = _at(root, path)
    if node is None:
        return _insert(text, root, path, wanted)
    if isinstance(wanted, Mapping):
        if node.members is None:
            raise JsoncError(f"{'.'.join(path) or 'the whole of it'} is not an object")
        for key, part in wanted.items():
            text = _merge(text, (*path, key), part, ours)
        return text
    if node.value == wanted or not ours(path, node.value):
        return text
    return text[: node.start] + _dump(wanted) + text[node.end :]


def _at(node: Node, path: Path) -> Node | None:
    for key in path:
        if node.members is None or key not in node.members:
            return None
        node = node.members[key].node
    return node


def _insert(text: str, root: Node, path: Path, value: Any) -> str:
    """The text with a new member, behind the others of its object. That object is there."""
    parent = _at(root, path[:-1])
    assert parent is not None and parent.members is not None
    newline = "\r\n" if "\r\n" in text else "\n"
    outer, unit = _line_indent(text, parent.start), _unit(text, root)
    inner = _member_indent(text, parent) or outer + unit
    member = f"{_dump(path[-1])}: {_dump(value, unit)}".replace("\n", newline + inner)
    close = parent.end - 1
    stop = len(text[:close].rstrip())
    tail = text[stop:close] if "\n" in text[stop:close] else newline + outer
    return _with_comma(text[:stop], parent) + newline + inner + member + tail + text[close:]


def _with_comma(head: str, parent: Node) -> str:
    """The text before a new member: a comma directly behind the last value, not behind its comment."""
    last = max((member.node.end for member in (parent.members or {}).values()), default=None)
    if last is None or head[blank_end(head, last) :].startswith(","):
        return head
    return f"{head[:last]},{head[last:]}"


def _member_indent(text: str, node: Node) -> str | None:
    """How far the members of an object are indented; None where they do not begin lines."""
    for member in (node.members or {}).values():
        indent = _line_indent(text, member.start)
        if text[: member.start].endswith("\n" + indent):
            return indent
    return None


def _line_indent(text: str, at: int) -> str:
    match = _INDENT.match(text, text.rfind("\n", 0, at) + 1)
    return match[0] if match else ""


def _unit(text: str, root: Node) -> str:
    return _member_indent(text, root) or "  "


def _dump(value: Any, indent: str | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
