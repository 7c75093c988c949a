"""What a prompt template sees of the tools: their parameters in words, and an example call of each."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from transformer.jsonscan import parsed
from transformer.parser.dialect import Dialect
from transformer.parser.writing import TagSyntax, nested_tags
from transformer.request.offer import Offer, json_of, key_of
from transformer.request.writtencall import reads_back, written_call
from transformer.values.convert import convert
from transformer.values.schema import Branch, Tool, branches, declared, offered, required

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")

# By a word of the parameter's name; the last word of a name says most about it.
_TEXTS: Mapping[str, str] = {
    "path": "/path/to/file",
    "paths": "/path/to/file",
    "filepath": "/path/to/file",
    "file": "/path/to/file",
    "files": "/path/to/file",
    "filename": "example.txt",
    "dir": "/path/to/directory",
    "directory": "/path/to/directory",
    "folder": "/path/to/directory",
    "workdir": "/path/to/directory",
    "cwd": "/path/to/directory",
    "command": "npm install",
    "cmd": "npm install",
    "description": "Install dependencies",
    "url": "https://example.com/page",
    "uri": "https://example.com/page",
    "link": "https://example.com/page",
    "glob": "src/**/*.py",
    "include": "*.py",
    "exclude": "*.log",
    "pattern": "*.py",
    "regex": "def \\w+",
    "query": "how to read a file",
    "search": "how to read a file",
    "question": "Which file should be changed?",
    "prompt": "Find where the configuration is loaded",
    "task": "Find where the configuration is loaded",
    "content": "Hello, world",
    "contents": "Hello, world",
    "text": "Hello, world",
    "message": "Fix the failing test",
    "title": "A short title",
    "name": "example",
    "code": "print('Hello, world')",
    "old": "old text",
    "new": "new text",
    "language": "python",
    "branch": "main",
    "email": "user@example.com",
    "date": "2025-01-31",
    "time": "12:00",
    "city": "Berlin",
    "location": "Berlin",
    "id": "abc123",
    "key": "key",
    "host": "localhost",
}
_NUMBERS: Mapping[str, float] = {
    "timeout": 30000,
    "milliseconds": 30000,
    "ms": 30000,
    "seconds": 30,
    "offset": 10,
    "limit": 50,
    "line": 10,
    "lines": 50,
    "end": 20,
    "count": 5,
    "max": 10,
    "depth": 2,
    "port": 8080,
    "temperature": 0.7,
    "width": 800,
    "height": 600,
}
_FORMATS: Mapping[str, str] = {
    "uri": "https://example.com/page",
    "url": "https://example.com/page",
    "email": "user@example.com",
    "date": "2025-01-31",
    "time": "12:00:00Z",
    "date-time": "2025-01-31T12:00:00Z",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
}

# An example shows the shape; it need not show every corner of it.
_MOST_LEVELS = 4
_MOST_MEMBERS = 16
_MEMBERS_BELOW = 4

_IS: Mapping[str, Any] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict,
}  # fmt: skip


def example(name: str, schema: Any, root: Any = None, level: int = 0) -> Any:
    """A value for the parameter `name`: what the schema itself suggests, or what the name makes likely."""
    branch = _branch(branches(schema, schema if root is None else root))
    suggested = next(_suggested(branch), None)
    if suggested is not None:
        return suggested
    match branch.word:
        case "boolean":
            return True
        case "null":
            return None
        case "integer" | "number":
            return _number(name, branch)
        case "array":
            return _array(name, branch.schema, root, level)
        case "object":
            return _object(branch.schema, root, level)
    return _text(name, branch.schema)


def _branch(found: Sequence[Branch]) -> Branch:
    """The type to show. In a union with a string only lists and objects are not read as one."""
    real = [branch for branch in found if branch.word != "null"] or list(found)
    if real[0].word in ("array", "object"):
        return real[0]
    return next((branch for branch in real if branch.word == "string"), real[0])


def _suggested(branch: Branch) -> Iterator[Any]:
    """Values that the schema names, if they are of its type: the default first, then examples and words."""
    schema = branch.schema
    listed = [schema.get(key) for key in ("examples", "enum")]
    allowed = listed[1] if isinstance(listed[1], list) and listed[1] else None
    named = [schema.get("const"), schema.get("default"), schema.get("example")]
    named += [value for values in listed if isinstance(values, list) for value in values]
    for value in named:
        right = isinstance(value, _IS.get(branch.word, ())) and not (
            isinstance(value, bool) and branch.word != "boolean"
        )
        if isinstance(value, float) and not math.isfinite(value):
            continue  # not JSON, and nothing a model should write
        # An empty text or list is a common default, and shows nothing.
        if right and value not in ("", [], {}) and (allowed is None or value in allowed):
            yield value


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _text(name: str, schema: Mapping[str, Any]) -> str:
    words = _words(name)
    text = _FORMATS.get(str(schema.get("format")), "")
    if not text and words[-1:] == ["path"] and {"dir", "directory", "folder"} & set(words):
        text = _TEXTS["directory"]
    if not text and "pattern" in words and "regular expression" in str(schema.get("description")).lower():
        text = _TEXTS["regex"]
    text = text or next((_TEXTS[word] for word in reversed(words) if word in _TEXTS), "")
    text = text or f"example {' '.join(words)}".strip()
    low, high = schema.get("minLength"), schema.get("maxLength")
    if isinstance(low, int) and len(text) < low <= 1000:
        text = text.ljust(low, "x")
    return text[:high] if isinstance(high, int) and high > 0 else text


def _number(name: str, branch: Branch) -> float:
    known = next((_NUMBERS[word] for word in reversed(_words(name)) if word in _NUMBERS), 1)
    for value in _candidates(known, branch):
        if _fits(value, branch):
            return int(value) if float(value).is_integer() else value
    return int(known)


def _candidates(known: float, branch: Branch) -> Iterator[float]:
    schema = branch.schema
    step = _finite(schema.get("multipleOf"), 1) or 1
    low = _finite(schema.get("minimum"), _finite(schema.get("exclusiveMinimum"), None))
    high = _finite(schema.get("maximum"), _finite(schema.get("exclusiveMaximum"), None))
    yield known
    yield 1
    for bound in (low, high):
        if bound is not None:
            whole = math.ceil(bound / step) * step if abs(bound / step) < 1e15 else bound
            yield from (bound, whole, whole + step, whole - step)
    if low is not None and high is not None:
        yield (low + high) / 2


def _fits(value: float, branch: Branch) -> bool:
    schema = branch.schema
    low, high = _finite(schema.get("minimum"), value), _finite(schema.get("maximum"), value)
    above, below = (
        _finite(schema.get("exclusiveMinimum"), None),
        _finite(schema.get("exclusiveMaximum"), None),
    )
    step = _finite(schema.get("multipleOf"), None)
    return (
        (branch.word == "number" or float(value).is_integer())
        and (low is None or value >= low)
        and (high is None or value <= high)
        and (above is None or value > above)
        and (below is None or value < below)
        and (not step or math.isclose(value / step, round(value / step), abs_tol=1e-9))
    )


def _finite(value: Any, otherwise: float | None) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e300:
        return otherwise
    return value


def _array(name: str, schema: Mapping[str, Any], root: Any, level: int) -> list[Any]:
    if level >= _MOST_LEVELS:
        return []
    items = schema.get("items")
    return [example(name, items if isinstance(items, Mapping) else {}, root, level + 1)]


def _object(schema: Mapping[str, Any], root: Any, level: int) -> dict[str, Any]:
    if level >= _MOST_LEVELS:
        return {}
    properties, needed = declared(schema), required(schema)
    names = list(properties)[:_MOST_MEMBERS]
    if level > 1:
        names = ([name for name in properties if name in needed] or names)[:_MEMBERS_BELOW]
    if not names:
        others = schema.get("additionalProperties")
        return {"key": example("value", others if isinstance(others, Mapping) else {}, root, level + 1)}
    return {name: example(name, properties[name], root, level + 1) for name in names}


_LONG_TEXTS = {"content", "contents", "code", "diff", "patch", "body"}
# Parameters inside parameters are described as deep as people write them.
_MOST_NESTED_VIEWS = 3
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
    """One tool. `function` is the JSON as the client sent it, `usage` an example call in the dialect.

    Expensive parts are made when a template asks for them: most ask for little.
    """

    def __init__(self, tool: Tool, function: Mapping[str, Any], dialect: Dialect) -> None:
        self.name = tool.name
        self.description = tool.description.strip()
        self.function = function
        self._tool = tool
        self._dialect = dialect

    @cached_property
    def parameters(self) -> tuple[ParameterView, ...]:
        return tuple(_parameters(self._tool))

    @cached_property
    def usage(self) -> str:
        return _usage(self._tool, self._dialect)


def views(offer: Offer, dialect: Dialect) -> list[ToolView]:
    """Every offered tool, in order, each once."""
    found: dict[str, ToolView] = {}
    for entry in offer.entries:
        view = _view(key_of(entry), dialect)
        if view is not None:
            found.setdefault(view.name, view)
    return list(found.values())


@lru_cache(maxsize=256)
def _view(key: bytes, dialect: Dialect) -> ToolView | None:
    """The view of one entry, by its content: lists that share tools share their views."""
    entry = json.loads(key)
    tool = next(iter(offered([entry]).values()), None)
    return None if tool is None else ToolView(tool, entry.get("function", entry), dialect)


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
        if level + 1 < _MOST_NESTED_VIEWS:
            for inner in _inner(found, root):
                yield from _lines(declared(inner), required(inner), root, level + 1)


def _inner(found: tuple[Branch, ...], root: Any) -> Iterator[Mapping[str, Any]]:
    """The object that a value is, or the objects of which it is a list."""
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


def _usage(tool: Tool, dialect: Dialect) -> str:
    """An example call, in the dialect's own text."""
    values = {name: example(name, schema, tool.parameters) for name, schema in tool.properties.items()}
    writer = dialect.writer
    if writer is None:
        return json_of({"name": tool.name, "arguments": values})
    if writer.tags is None or writer.tags.reading.verbatim:
        return written_call(dialect, tool.name, values, tool).text
    return _tagged_usage(tool, values, dialect, writer.tags)


def _tagged_usage(tool: Tool, values: Mapping[str, Any], dialect: Dialect, syntax: TagSyntax) -> str:
    """Lists and objects are nested tags wherever those read as what they mean, else JSON."""
    shown = {name: _shown(name, value) for name, value in values.items()}
    plain = {name: json_of(value) if _is_nested(value) else shown[name] for name, value in values.items()}
    for name, schema in tool.properties.items():
        read = convert(shown[name], schema, tool.parameters).json if shown[name] != plain[name] else None
        if read is not None and not _is(values[name], read):
            shown[name] = plain[name]
    # A key inside may have the name of a parameter, which would end the value there.
    if shown != plain and not _reads_back(tool, _call(tool, shown, syntax), values, dialect):
        shown = plain
    return _call(tool, shown, syntax)


def _call(tool: Tool, texts: Mapping[str, str], syntax: TagSyntax) -> str:
    return syntax.call(tool.name, [syntax.parameter(name, text) for name, text in texts.items()])


def _reads_back(tool: Tool, text: str, values: Mapping[str, Any], dialect: Dialect) -> bool:
    try:
        meant = parsed(json_of(values))
    except (ValueError, RecursionError):  # a default such as Infinity, which is not JSON
        return False
    return reads_back(dialect, text, {tool.name: tool}, tool.name, meant)


def _shown(name: str, value: Any) -> str:
    if isinstance(value, str):
        return f"\n{value}\n" if name.lower() in _LONG_TEXTS or "\n" in value else value
    return nested_tags(value, _plain) if _is_nested(value) and value else _plain(value)


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | dict)


def _is(value: Any, read: str) -> bool:
    try:
        return bool(parsed(read) == parsed(json_of(value)))
    except (ValueError, RecursionError):
        return False
