"""JSON text as models write it: what is missing at its end."""

from __future__ import annotations

import re

import orjson

_PARTS = re.compile(r'["\\{}\[\]]')
_CLOSER = {"{": "}", "[": "]"}


def missing_end(text: str) -> str | None:
    """The closing quote, brackets and braces that make `text` whole; None if nothing simple does."""
    stack: list[str] = []
    quoted = False
    skip = -1
    for match in _PARTS.finditer(text):
        if match.start() == skip:
            continue
        char = match.group()
        if quoted:
            if char == "\\":
                skip = match.end()
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char in _CLOSER:
            stack.append(_CLOSER[char])
        elif not stack or stack.pop() != char:
            return None
    end = ('"' if quoted else "") + "".join(reversed(stack))
    try:
        orjson.loads(text + end)
    except orjson.JSONDecodeError:
        return None
    return end
