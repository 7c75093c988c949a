"""The arguments of a call while they grow, and whether they are what the tool's schema wants."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import orjson

from transformer.jsonscan import JsonScanner
from transformer.values.schema import Branch, Tool, branches, declared, required

# A scalar has no closing sign, so each piece of it is a try; no call's arguments are a long scalar.
_LONGEST_SCALAR = 256
# Limit on values checked in one call: beyond it they are bulk data with one schema for all.
_MOST_VALUES = 2000
_DEEPEST = 8


class Misfit(NamedTuple):
    """A parameter that is not there (`given` is empty), or of another type than wanted."""

    parameter: str
    given: str
    wanted: str


class Arguments:
    """Pieces of JSON. Linear: whether they are whole is read off brackets, then parsed once."""

    __slots__ = ("_first", "_pieces", "_scanner", "_settled", "size", "value", "whole")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._first = ""  # the first character that is not a blank
        self._scanner = JsonScanner()
        self._settled = False  # whole, or broken beyond repair
        self.size = 0
        self.whole = False  # what came so far is JSON: OpenCode runs the call now
        self.value: Any = None

    def add(self, piece: str) -> None:
        if not piece:
            return
        self._pieces.append(piece)
        self.size += len(piece)
        if not self._settled:
            self._first = self._first or piece.lstrip()[:1]
            self._scanner.feed(piece)
            if self._may_be_whole():
                self._settle()

    def _may_be_whole(self) -> bool:
        if self._scanner.depth or self._scanner.in_string or not self._first:
            return False
        return self._first in "{[" or self.size <= _LONGEST_SCALAR

    def _settle(self) -> None:
        self.value, problem = parse(str(self))
        self.whole = problem is None
        # Text with balanced brackets that is not JSON never becomes JSON. A scalar may still grow.
        self._settled = self.whole or self._first in "{["

    @property
    def problem(self) -> str | None:
        """Why a client that has all of them cannot use them."""
        text = str(self)
        if not text.strip():
            return "there are none"
        value, why = parse(text)
        if why is not None:
            return why
        return None if isinstance(value, dict) else f"they are {word_for(value)}"

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""


def parse(text: str) -> tuple[Any, str | None]:
    """The value, or why there is none."""
    try:
        return orjson.loads(text), None
    except orjson.JSONDecodeError:
        pass
    try:
        # What orjson refuses and clients take: half surrogate pairs, numbers beyond a double.
        return json.loads(text, parse_int=float, parse_constant=_refuse), None
    except ValueError as error:
        return None, str(error)[:200]
    except RecursionError:
        return None, "they are nested too deeply"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def misfits(tool: Tool, value: Mapping[str, Any]) -> Iterator[Misfit]:
    """The parameters that are missing, or not of the type they should be."""
    for name in tool.required:
        if name not in value:
            yield Misfit(name, "", "")
    look = _Look(tool.parameters)
    for name, schema in tool.properties.items():
        if name in value and (found := look.misfit(name, value[name], schema, _DEEPEST)) is not None:
            yield found


class _Look:
    """Checks one call: what a schema allows is worked out once, and not everything is checked."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = _MOST_VALUES
        self._known: dict[int, tuple[Branch, ...]] = {}

    def misfit(self, path: str, value: Any, schema: Any, levels: int) -> Misfit | None:
        self._left -= 1
        if self._left < 0 or not levels:
            return None
        if id(schema) not in self._known:
            self._known[id(schema)] = branches(schema, self._root)
        allowed = self._known[id(schema)]
        if any(_says_nothing(branch) for branch in allowed):
            return None
        fitting = [branch for branch in allowed if _is(value, branch.word)]
        if not fitting:
            return Misfit(path, word_for(value), " or ".join(dict.fromkeys(b.word for b in allowed)))
        # If several shapes fit, it is not clear which one is meant.
        return self._inside(path, value, fitting[0].schema, levels - 1) if len(fitting) == 1 else None

    def _inside(self, path: str, value: Any, schema: Mapping[str, Any], levels: int) -> Misfit | None:
        if isinstance(value, dict):
            lacks = next((name for name in required(schema) if name not in value), None)
            if lacks is not None:
                return Misfit(f"{path}.{lacks}", "", "")
            inner = (
                (f"{path}.{key}", value[key], part) for key, part in declared(schema).items() if key in value
            )
        elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
            inner = ((f"{path}[{at}]", entry, schema["items"]) for at, entry in enumerate(value))
        else:
            return None
        for place, entry, part in inner:
            if self._left <= 0:
                break
            if (found := self.misfit(place, entry, part, levels)) is not None:
                return found
        return None


def _says_nothing(branch: Branch) -> bool:
    """`branches` takes a schema without a type for a string; here it allows everything."""
    said = branch.schema.get("type")
    named = "string" in said if isinstance(said, list | tuple) else said == "string"
    return branch.word == "string" and not named and not branch.schema.keys() & {"enum", "const"}


def _is(value: Any, word: str) -> bool:
    if word == "integer":
        return _is_number(value) and (isinstance(value, int) or value.is_integer())
    return _is_number(value) if word == "number" else word_for(value) == word


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def word_for(value: Any) -> str:
    """The type of a JSON value, as schemas call it."""
    if value is None:
        return "null"
    for kind, word in ((bool, "boolean"), (int | float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return word
    return "object"
