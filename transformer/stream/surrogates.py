"""Halves of surrogate pairs: some servers cut an emoji in two and send each half in its own event."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from transformer.provenance import Path, Place

Key: TypeAlias = tuple[int, str]

_ANY = re.compile("[\ud800-\udfff]")
_HIGH_AT_END = re.compile("[\ud800-\udbff]\\Z")
_LOW = re.compile("[\udc00-\udfff]")
_REPLACED = "\ufffd"


class Part(NamedTuple):
    """Text without halves, and where it stands: as `SourceMap.add` takes it."""

    text: str
    event: int
    path: Path
    first: int = 0
    half: Place | None = None


class Surrogates:
    """Joins halves over the events of a channel; one that stays alone is replaced and told of."""

    __slots__ = ("_found", "_waiting")

    def __init__(self, found: Callable[[str], None]) -> None:
        self._found = found
        self._waiting: dict[Key, tuple[str, Place]] = {}

    def parts(self, key: Key, text: str, event: int, path: Path) -> list[Part]:
        """The text of a channel that came in an event, whole characters only."""
        parts: list[Part] = []
        half = None
        if key in self._waiting:
            high, place = self._waiting.pop(key)
            if _LOW.match(text):
                half = place
                text = (high + text[0]).encode("utf-16", "surrogatepass").decode("utf-16") + text[1:]
            else:
                parts.append(self._alone(place))
        if _HIGH_AT_END.search(text):
            self._waiting[key] = text[-1], (event, path, len(text) - 1)
            text = text[:-1]
        if _ANY.search(text):
            self._found("lone-surrogate")
            text = _ANY.sub(_REPLACED, text)
        if text:
            parts.append(Part(text, event, path, 0, half))
        return parts

    def rest(self) -> list[tuple[Key, Part]]:
        """The halves that waited in vain."""
        waiting, self._waiting = self._waiting, {}
        return [(key, self._alone(place)) for key, (_, place) in waiting.items()]

    def _alone(self, place: Place) -> Part:
        self._found("lone-surrogate")
        event, path, char = place
        return Part(_REPLACED, event, path, char)

    def clone(self, found: Callable[[str], None]) -> Surrogates:
        twin = Surrogates(found)
        twin._waiting = dict(self._waiting)
        return twin
