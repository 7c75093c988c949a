"""The tools of a request, known by their content: clients send the same ones with every turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from transformer.values.schema import Tool, offered

# Deeper than any schema a person writes; what lies below says nothing to a model either.
_MOST_LEVELS = 60
_MOST_NODES = 100_000
_MOST_BITS = 14_000  # Python writes no longer integer


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools by name, and the list as it was sent. Results are remembered by `key`, its JSON text."""

    key: bytes
    entries: tuple[Any, ...]
    tools: Mapping[str, Tool]


def offer_of(tools: Any) -> Offer:
    """The offer that a request's `tools` make; an empty one if they are no list."""
    return remembered(key_of(tools if isinstance(tools, list | tuple) else []))


@lru_cache(maxsize=64)
def remembered(key: bytes) -> Offer:
    entries = json.loads(key)
    return Offer(key, tuple(entries), offered(entries))


def json_of(value: Any) -> str:
    """JSON text of any depth, as chat templates write it; what lies too deep is left out."""
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
        if level >= _MOST_LEVELS or budget < 0:
            return {}
        if isinstance(part, Mapping):
            return {str(key): copy(item, level + 1) for key, item in part.items()}
        if isinstance(part, list | tuple):
            return [copy(item, level + 1) for item in part]
        return str(part)

    return copy(value, 0)
