"""Parameter text -> JSON text, guided by the tool's schema and by how a dialect reads its tags' content."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from transformer.values.literals import (
    NUMBER,
    Element,
    Tree,
    array,
    elements,
    grouped,
    json_text,
    members,
    object_,
    python_literal,
    quote,
    scalar,
    trim,
)
from transformer.values.schema import WORDS, Tool, branches, declared, required

# What a tag itself says about its value: that it is a string, that it is JSON, or nothing.
Kind: TypeAlias = Literal["", "text", "json"]

_EMPTY = {"array": "[]", "object": "{}"}


class Value(NamedTuple):
    """A value as JSON text; whether it fits its schema; and the types, in words, that would."""

    json: str
    fits: bool
    wanted: str


def convert(text: str, schema: Any, root: Any = None) -> Value:
    """The raw text of one parameter as JSON. A text that does not fit its type stays a string."""
    return _Conversion(schema if root is None else root).value(text, schema)


def convert_repeated(texts: Sequence[str], schema: Any, root: Any = None) -> Value:
    """Several occurrences of one array parameter: items, or pieces of the array."""
    conversion = _Conversion(schema if root is None else root)
    if len(texts) == 1:
        return conversion.value(texts[0], schema)
    value = conversion.repeated(texts, schema)
    return value._replace(fits=value.fits and conversion.may_repeat(schema))


@dataclass(frozen=True, slots=True)
class _Shape:
    """The branches of one schema, as a conversion asks for them."""

    schema: Any
    words: Collection[str]
    items: Any
    objects: Sequence[Mapping[str, Any]]

    @property
    def wanted(self) -> str:
        return " or ".join(self.words)


class _Conversion:
    """Converts within one root schema.

    Which branch nested tags belong to is decided by their names before any of them is converted.
    Trying one branch after the other would double the work with every level.
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        # By identity: schemas cannot be hashed, and a list of 100 000 items has one schema.
        # A shape keeps its schema alive, so that no other one can get the same id.
        self._shapes: dict[int, _Shape] = {}

    def shape(self, schema: Any) -> _Shape:
        known = self._shapes.get(id(schema))
        if known is None:
            allowed = branches(schema, self._root)
            items = [branch.schema.get("items") for branch in allowed if branch.word == "array"]
            known = self._shapes[id(schema)] = _Shape(
                schema,
                dict.fromkeys(branch.word for branch in allowed),
                items[0] if len(items) == 1 else {"anyOf": items},
                [branch.schema for branch in allowed if branch.word == "object"],
            )
        return known

    def value(self, text: str, schema: Any, level: int = 0) -> Value:
        shape = self.shape(schema)
        words, plain = shape.words, None
        if "string" in words:
            if len(words) > 1:
                plain = "null" if "null" in words and trim(text) == "null" else json_text(text.strip(), words)
            return Value(plain or quote(trim(text)), True, shape.wanted)
        bare = text.strip()
        plain = scalar(bare, words) or json_text(bare, words) or python_literal(bare, words)
        if plain:
            return Value(plain, True, shape.wanted)
        return self.structure(bare, shape, level) or Value(quote(trim(text)), False, shape.wanted)

    def structure(self, bare: str, shape: _Shape, level: int) -> Value | None:
        """Nested tags as the array or object they are, None if they are neither."""
        empty = [_EMPTY[word] for word in shape.words if word in _EMPTY]
        if not empty:
            return None
        if not bare:
            return Value(empty[0], True, shape.wanted)
        found = elements(bare, level)
        if _declares(shape.objects, grouped(found).keys()):
            return self.object(found, shape, level)
        return self.array(found, shape, level) or self.object(found, shape, level)

    def array(self, found: list[Element], shape: _Shape, level: int) -> Value | None:
        if not found or "array" not in shape.words:
            return None
        names, item = grouped(found).keys(), self.shape(shape.items)
        # The only item, written without a tag of its own around it.
        if _declares(item.objects, names) and (len(names) > 1 or (len(found) == 1 and "item" not in names)):
            only = self.object(found, item, level)
            return only and only._replace(json=f"[{only.json}]", wanted=(shape if only.fits else only).wanted)
        if len(names) > 1:
            return None
        values = _list(shape, [self.value(text, shape.items, level + 1) for _, text in found])
        return values if values.fits else values._replace(wanted=f"{values.wanted} in <{found[0].name}>")

    def object(self, found: list[Element], shape: _Shape, level: int) -> Value | None:
        if not found or not shape.objects:
            return None
        groups = grouped(found)
        schema = max(shape.objects, key=lambda schema: _likeness(schema, groups.keys()))
        properties, others = declared(schema), schema.get("additionalProperties")
        others = others if others and isinstance(others, Mapping) else None
        if not properties and others is None:
            return Value(_inferred(members(groups, level)), True, shape.wanted)
        schemas = {name: properties.get(name, others) for name in groups}
        if any(len(texts) > 1 and not self.may_repeat(schemas[name]) for name, texts in groups.items()):
            return None
        values = {name: self.member(texts, schemas[name], level + 1) for name, texts in groups.items()}
        unfit = [f"{value.wanted} in <{name}>" for name, value in values.items() if not value.fits]
        written = object_({name: value.json for name, value in values.items()})
        return Value(written, not unfit, unfit[0] if unfit else shape.wanted)

    def may_repeat(self, schema: Any) -> bool:
        return not schema or schema is True or "array" in self.shape(schema).words

    def member(self, texts: list[str], schema: Any, level: int) -> Value:
        return self.value(texts[0], schema, level) if len(texts) == 1 else self.repeated(texts, schema, level)

    def repeated(self, texts: Sequence[str], schema: Any, level: int = 0) -> Value:
        shape = self.shape(schema)
        return _list(shape, [self.piece(text, shape, level) for text in texts])

    def piece(self, text: str, shape: _Shape, level: int) -> Value:
        """One occurrence of a repeated array: the JSON of its items, with commas but without brackets."""
        bare, item = text.strip(), self.shape(shape.items)
        # In a list of lists each occurrence is a list of its own.
        if "array" in shape.words and "array" not in item.words:
            given = json_text(bare, ["array"]) or python_literal(bare, ["array"])
            if given:
                return Value(given[1:-1].strip(), True, shape.wanted)
            several = self.several(elements(bare, level), shape, item, level)
            if several:
                return several._replace(json=several.json[1:-1])
        return self.value(text, shape.items, level + 1)

    def several(self, found: list[Element], shape: _Shape, item: _Shape, level: int) -> Value | None:
        """Nested tags inside one occurrence as a list, unless they are the keys of one item."""
        names = grouped(found).keys()
        open_ended = names != {"item"} and any(not declared(schema) for schema in item.objects)
        if open_ended or _declares(item.objects, names):
            return None
        return self.array(found, shape, level)


def _list(shape: _Shape, items: list[Value]) -> Value:
    unfit = [item.wanted for item in items if not item.fits]
    # A piece that was an empty list adds nothing, not even a comma.
    written = array(item.json for item in items if item.json)
    return Value(written, not unfit, unfit[0] if unfit else shape.wanted)


def _declares(objects: Iterable[Mapping[str, Any]], names: Set[str]) -> bool:
    """One of the object schemas has all these properties."""
    return bool(names) and any(names <= declared(schema).keys() for schema in objects)


def _likeness(schema: Mapping[str, Any], names: Set[str]) -> tuple[bool, bool]:
    """How well an object schema suits these keys: it has them all, and it misses none."""
    return declared(schema).keys() >= names, set(required(schema)) <= names


def _inferred(found: Tree) -> str:
    """Nested tags of which the schema says nothing: numbers and booleans are what they look like."""
    if isinstance(found, dict):
        return object_({name: _inferred(child) for name, child in found.items()})
    if isinstance(found, list):
        return array(map(_inferred, found))
    bare = found.strip()
    if bare.lower() in ("true", "false"):
        return bare.lower()
    return bare if NUMBER.fullmatch(bare) else quote(trim(found))


@dataclass(frozen=True, slots=True)
class Reading:
    """How a dialect's values are read.

    A string loses one newline at each end, which models write beside the tags; with `verbatim` it does not.
    With `guesses`, a value whose type no schema tells is JSON if it looks like anything but a string.
    """

    verbatim: bool = False
    guesses: bool = False

    def text(self, raw: str) -> str:
        """The string between the tags."""
        return raw if self.verbatim else trim(raw)

    def is_text(self, tool: Tool | None, name: str, kind: Kind = "") -> bool:
        """A string whatever the text is, so that it can leave before its end."""
        known = tool is not None and tool.knows(name)
        if kind == "text":
            return tool is None or tool.may_be_text(name)
        if kind == "json" or (self.guesses and not known):
            return False
        return tool is None or tool.is_text(name)

    def value(self, texts: Sequence[str], tool: Tool | None, name: str, kind: Kind = "") -> Value:
        """The value of a parameter that was given with these texts; several are pieces of one array."""
        first = texts[0]
        string = quote(self.text(first))
        if kind == "json" and (literal := _literal(first.strip())):
            return Value(literal, True, "JSON")
        if tool is None or not tool.knows(name):
            guessed = _untyped(first.strip()) if self.guesses and kind != "text" else None
            return Value(guessed or string, True, "string")
        # Conversion takes one newline off each end of a string, and a CR before an LF is part of the newline.
        framed = [f"\n{text}\r\n" if self.verbatim else text for text in texts]
        schema, root = tool.properties[name], tool.parameters
        value = (
            convert_repeated(framed, schema, root) if len(framed) > 1 else convert(framed[0], schema, root)
        )
        return value._replace(json=string, fits=tool.may_be_text(name)) if kind == "text" else value


def _untyped(bare: str) -> str | None:
    """JSON that cannot be meant as a string: such dialects write strings without quotation marks."""
    if bare in ("true", "false", "null") or NUMBER.fullmatch(bare):
        return bare
    return json_text(bare, WORDS)


def _literal(bare: str) -> str | None:
    """JSON of any type."""
    if not bare.startswith('"'):
        return _untyped(bare)
    inside = json_text(f"[{bare}]", WORDS)
    return None if inside is None else inside[1:-1]
