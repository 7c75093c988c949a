"""The body of an answer that came whole, read like the proxy reads it."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from typing import Any

import orjson

from transformer.answer.events import parse_leniently

# orjson makes a float of an integer beyond 64 bits, and an answer is not ours to round.
_LONG_NUMBER = re.compile(rb"[0-9]{19}")


def begins_object(data: bytes) -> bool:
    return data.removeprefix(BOM_UTF8).lstrip()[:1] == b"{"


def object_in(data: bytes) -> dict[str, Any] | None:
    """The JSON object that the bytes are; None where they are none, or not all of it."""
    body = data.removeprefix(BOM_UTF8)
    try:
        value = parse_leniently(body).value if _LONG_NUMBER.search(body) else orjson.loads(body)
    except orjson.JSONDecodeError:
        value = parse_leniently(body).value
    return value if isinstance(value, dict) else None
