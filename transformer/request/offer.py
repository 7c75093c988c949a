"""What a request says: its offered tools, known by their content, and the texts of its messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from transformer.values.schema import Tool, offered


class Content(NamedTuple):
    """The text of a message, and its other parts (images, files) as they were."""

    text: str
    others: tuple[Any, ...] = ()

    def made(self) -> str | list[Any]:
        """The content of a message again: a plain text wherever that is enough."""
        if not self.others:
            return self.text
        return [*([{"type": "text", "text": self.text}] if self.text else []), *self.others]


def content_of(value: Any) -> Content:
    """A message's `content`, whatever a client put there."""
    if value is None:
        return Content("")
    if isinstance(value, str):
        return Content(value)
    if not isinstance(value, list | tuple):
        return Content(json_of(value))
    texts, others = [], []
    for part in value:
        text = _text(part)
        if text is None:
            others.append(part)
        else:
            texts.append(text)
    return Content("\n".join(texts), tuple(others))


def joined(value: Any) -> Any:
    """A content array of nothing but texts as one text; any other content as it is."""
    if isinstance(value, list | tuple) and value and all(_text(part) is not None for part in value):
        return content_of(value).text
    return value


def _text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type") in ("text", "input_text", "output_text"):
        text = part.get("text")
        return text if isinstance(text, str) else None
    return None


# Deeper than any schema a person writes; deeper levels would not help a model either.
_DEEPEST_TOOL = 60
_MOST_NODES = 100_000
_MOST_BITS = 14_000  # Python writes no longer integer


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools by name, and the list as it was sent. Results are remembered by `key`, its JSON text."""

    key: bytes
    entries: tuple[Any, ...]
    tools: Mapping[str, Tool]


def offer_of(tools: Any) -> Offer:
    """The offer that a request's `tools` make; an empty one if they are not a list."""
    return remembered(key_of(tools if isinstance(tools, list | tuple) else []))


@lru_cache(maxsize=64)
def remembered(key: bytes) -> Offer:
    entries = json.loads(key)
    return Offer(key, tuple(entries), offered(entries))


def json_of(value: Any) -> str:
    """JSON text of any depth, as chat templates write it; levels that are too deep are left out."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(_pruned(value), ensure_ascii=False)


def key_of(tools: Any) -> bytes:
    """The JSON text by which things are remembered."""
    try:
        return orjson.dumps(tools)
    except TypeError:
        # Long integers, half surrogate pairs, many levels. The order of keys counts: it is the prompt's.
        try:
            text = json.dumps(tools)
        except (TypeError, ValueError, RecursionError):
            text = json.dumps(_pruned(tools))
        return text.encode("ascii")


def _pruned(value: Any) -> Any:
    budget = _MOST_NODES

    def copy(part: Any, level: int) -> Any:
        nonlocal budget
        budget -= 1
        if isinstance(part, int) and part.bit_length() > _MOST_BITS:
            return None
        if isinstance(part, str | int | float | None):
            return part
        if level >= _DEEPEST_TOOL or budget < 0:
            return {}
        if isinstance(part, Mapping):
            return {str(key): copy(item, level + 1) for key, item in part.items()}
        if isinstance(part, list | tuple):
            return [copy(item, level + 1) for item in part]
        return str(part)

    return copy(value, 0)
