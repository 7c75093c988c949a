"""A user's JSON file, with comments: additions that leave everything else as it is. The difference can be
shown, the file is replaced in one step, and the old one is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from workbench.cli.printing import Painted, painted_difference
from workbench.errors import UserError
from workbench.files import PRIVATE, replace_file

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


class JsoncError(ValueError):
    """The text is not JSON; the message has the line where that shows."""


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
    """The one value in the text. Trailing commas are allowed in objects and lists."""
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
    bracket = text[at : at + 1]
    if bracket == "{":
        return _object(text, at)
    if bracket == "[":
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
    """Where the next value begins, or the closing bracket is."""
    at = blank_end(text, at)
    if text[at : at + 1] == ",":
        return blank_end(text, at + 1)
    if text[at : at + 1] != closing:
        raise _error(text, at, f"a comma or a {closing} is missing")
    return at


def _error(text: str, at: int, what: str) -> JsoncError:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return JsoncError(f"line {line}, column {column}: {what}")


KeyPath: TypeAlias = tuple[str, ...]

_INDENT = re.compile(r"[ \t]*")


def merge(text: str, wanted: Mapping[str, Any], ours: Callable[[KeyPath, Any], bool]) -> str:
    """The text with everything wanted added. Objects are merged; another value that is already there
    stays, unless `ours` says of its path and the value that it may be replaced."""
    return _merge(text, (), wanted, ours)


def _merge(text: str, path: KeyPath, wanted: Any, ours: Callable[[KeyPath, Any], bool]) -> str:
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


def _at(node: Node, path: KeyPath) -> Node | None:
    for key in path:
        if node.members is None or key not in node.members:
            return None
        node = node.members[key].node
    return node


def _insert(text: str, root: Node, path: KeyPath, value: Any) -> str:
    """The text with a new member, after the others of its object, which exists."""
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
    """The text before a new member: a comma directly after the last value, not after its comment."""
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


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What a file holds (None: there is none yet) and what it is to hold."""

    path: Path
    before: bytes | None
    after: bytes

    def difference(self) -> Iterator[list[Painted]]:
        """A unified diff."""
        before = (self.before or b"").decode("utf-8", "replace").splitlines()
        after = self.after.decode("utf-8", "replace").splitlines()
        return painted_difference(before, after, str(self.path), f"{self.path} (new)")

    def carry_out(self, now: datetime) -> Path | None:
        """Write it; the result is where the old version is now."""
        try:
            if read_if_there(self.path) != self.before:
                raise UserError(f"{self.path} was changed meanwhile; nothing was written, run it again")
            target = self.path.resolve()
            if self.before is None:
                target.parent.mkdir(parents=True, exist_ok=True)
                replace_file(target, self.after, PRIVATE)  # such files tend to hold keys
                return None
            mode = target.stat().st_mode & 0o7777
            backup = _free(self.path.with_name(f"{self.path.name}.bak-{now:%Y%m%d-%H%M%S}"))
            replace_file(backup, self.before, mode)
            replace_file(target, self.after, mode)
            return backup
        except OSError as error:
            raise UserError(f"cannot write {error.filename or self.path}: {error.strerror}") from None


def read_if_there(path: Path) -> bytes | None:
    """The bytes of a file; None, when there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
