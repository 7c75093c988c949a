"""What a tool's JSON schema says about its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson

WORDS = ("string", "integer", "number", "boolean", "null", "array", "object")

# Alternatives looked at in one schema. Unions of unions multiply, and a schema may be hostile.
_MOST_ALTERNATIVES = 1000

# Sets of tools that are known, and how long their JSON may be.
_MOST_KNOWN = 64
_LONGEST_KNOWN = 256 << 10

_UNIONS = ("anyOf", "oneOf")
_COMBINING = {"$ref", "allOf", *_UNIONS}
_TEXT = frozenset({"string"})


class Branch(NamedTuple):
    """One type a value may have, with the keywords that hold for it (references and `allOf` merged)."""

    word: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """One offered tool. A top-level `$ref` or `allOf` is resolved in `properties` and `required`."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    properties: Mapping[str, Any] = field(init=False, repr=False)
    required: tuple[str, ...] = field(init=False, repr=False)
    _known: dict[str, frozenset[str]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        objects = [b.schema for b in branches(self.parameters, self.parameters) if b.word == "object"]
        properties: dict[str, Any] = {}
        for schema in objects:
            properties = _both(properties, declared(schema))
        # With several shapes, only what all of them require is required.
        first, *others = [required(schema) for schema in objects] or [()]
        always = tuple(name for name in first if all(name in other for other in others))
        object.__setattr__(self, "properties", properties)
        object.__setattr__(self, "required", always)

    @property
    def has_schema(self) -> bool:
        return bool(self.properties)

    def knows(self, name: str) -> bool:
        return name in self.properties

    def repeats(self, name: str) -> bool:
        """May be given several times: an array. A parameter that may also be a string is one text."""
        words = self._words(name)
        return "array" in words and "string" not in words

    def is_text(self, name: str) -> bool:
        """A string whatever the text is, so that it can be streamed without looking ahead."""
        return self._words(name) == {"string"}

    def may_be_text(self, name: str) -> bool:
        return "string" in self._words(name)

    def _words(self, name: str) -> frozenset[str]:
        """The types of a parameter, worked out once: a value may ask for them at each of its tags."""
        if name not in self.properties:
            return _TEXT
        if name not in self._known:
            types = branches(self.properties[name], self.parameters)
            self._known[name] = frozenset(branch.word for branch in types)
        return self._known[name]


def offered(tools: Iterable[Any] | None) -> dict[str, Tool]:
    """The tools of a request by name. Entries that are not tools are skipped; of two with the same name the
    first counts.

    Each request of a session offers the same ones, so they are read once.
    """
    if not isinstance(tools, Iterable):
        return {}
    tools = list(tools)
    try:
        text = orjson.dumps(tools)
    except orjson.JSONEncodeError:  # a long integer, half a surrogate pair
        return _read(tools)
    return dict(_known(text)) if len(text) <= _LONGEST_KNOWN else _read(tools)


@lru_cache(maxsize=_MOST_KNOWN)
def _known(text: bytes) -> Mapping[str, Tool]:
    return _read(orjson.loads(text))


def _read(tools: Iterable[Any]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for entry in tools:
        function = entry.get("function", entry) if isinstance(entry, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if function is None or not isinstance(name, str) or not name or name in found:
            continue
        description, parameters = function.get("description"), function.get("parameters")
        found[name] = Tool(
            name,
            description if isinstance(description, str) else "",
            parameters if isinstance(parameters, Mapping) else None,
        )
    return found


def branches(schema: Any, root: Any = None) -> tuple[Branch, ...]:
    """The types `schema` allows, in its own order. A schema that says nothing is a string."""
    root = schema if root is None else root
    found: list[Branch] = []
    pending: list[tuple[_Reading, Any]] = [(_Reading(), schema)]
    for _ in range(_MOST_ALTERNATIVES):
        if not pending:
            break
        before, part = pending.pop()
        reading = before.joined(part, root)
        if reading.choices:
            chosen, *left = reading.choices
            rest = reading.without_choice(left)
            pending.extend((rest, alternative) for alternative in reversed(chosen))
        else:
            found.extend(reading.branches())
    return tuple(found) or (Branch("string", {}),)


def declared(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of an object schema."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: value for name, value in properties.items() if isinstance(name, str)}


def required(schema: Mapping[str, Any]) -> tuple[str, ...]:
    names = schema.get("required")
    return tuple(dict.fromkeys(name for name in _listed(names) if isinstance(name, str)))


@dataclass(frozen=True, slots=True)
class _Reading:
    """What has been read on the way to one alternative: everything here holds at the same time."""

    keywords: Mapping[str, Any] = field(default_factory=dict)
    words: tuple[str, ...] | None = None  # None: no type was named yet
    choices: Sequence[Sequence[Any]] = ()  # unions from which an alternative is still to be chosen
    seen: frozenset[int] = frozenset()
    circular: bool = False

    def joined(self, schema: Any, root: Any) -> _Reading:
        """This, and `schema` with all it refers to. A loop, not a recursion: chains may be long."""
        keywords, words, seen = dict(self.keywords), self.words, set(self.seen)
        choices, circular = list(self.choices), self.circular
        parts = [schema]
        while parts:
            part = parts.pop()
            if not isinstance(part, Mapping):
                continue
            if id(part) in seen:
                circular = True
                continue
            seen.add(id(part))
            _merge(keywords, part)
            words = _narrowed(words, part.get("type"))
            choices += [union for key in _UNIONS if (union := _listed(part.get(key)))]
            parts.extend(reversed(_listed(part.get("allOf"))))
            if "$ref" in part:
                parts.append(_resolved(part["$ref"], root))
        return _Reading(keywords, words, choices, frozenset(seen), circular)

    def without_choice(self, left: Sequence[Sequence[Any]]) -> _Reading:
        return _Reading(self.keywords, self.words, left, self.seen, self.circular)

    def branches(self) -> Iterator[Branch]:
        words = tuple(_implied(self.keywords)) if self.words is None else self.words
        # An alternative that only leads back to itself allows nothing new; any other without a type is a
        # string.
        if not words and self.words is None and not self.circular:
            words = ("string",)
        if words and self.keywords.get("nullable") and "null" not in words:
            words = (*words, "null")
        return (Branch(word, self.keywords) for word in words)


def _merge(keywords: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Add the keywords of `part`. Where two parts disagree the outer one wins."""
    for key, value in part.items():
        if key == "properties":
            keywords[key] = _both(declared(keywords), declared(part))
        elif key == "required":
            keywords[key] = [*required(keywords), *required(part)]
        elif key == "nullable":
            keywords[key] = value is True or keywords.get(key, False)
        elif key not in _COMBINING:
            keywords.setdefault(key, value)


def _both(some: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    joined = dict(some)
    for name, schema in others.items():
        known = joined.setdefault(name, schema)
        if known is not schema:
            joined[name] = {"allOf": [known, schema]}
    return joined


def _narrowed(words: tuple[str, ...] | None, said: Any) -> tuple[str, ...] | None:
    """The types left when `type` says this too. An integer is a number."""
    new = tuple(word for word in WORDS if word == said) or tuple(w for w in _listed(said) if w in WORDS)
    if words is None or not new:
        return new or words
    wide = {*new, "integer"} if "number" in new else {*new}
    kept = tuple(word for word in words if word in wide)
    return ("integer", *kept) if "number" in words and "integer" in new and "integer" not in kept else kept


def _implied(keywords: Mapping[str, Any]) -> Iterator[str]:
    """The types that follow from the other keywords when none is named."""
    values = _listed(keywords.get("enum")) or ([keywords["const"]] if "const" in keywords else [])
    if values:
        yield from dict.fromkeys(_word_of(value) for value in values)
        return
    if "properties" in keywords:
        yield "object"
    if "items" in keywords:
        yield "array"


def _word_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case Mapping():
            return "object"
        case list() | tuple():
            return "array"
    return "string"


def _resolved(reference: Any, root: Any) -> Any:
    """The schema a local JSON pointer leads to; None, which says nothing, where it leads nowhere."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    first, *steps = unquote(reference[1:]).split("/")
    if first:
        return None
    place = root
    for step in steps:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(place, Mapping):
            place = place.get(key)
        elif isinstance(place, list) and key.isascii() and key.isdigit() and len(key) < 10:
            place = place[int(key)] if int(key) < len(place) else None
        else:
            return None
    return place


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
