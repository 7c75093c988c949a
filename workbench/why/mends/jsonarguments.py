"""Arguments that are nearly JSON: what was meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from transformer.jsonscan import missing_end
from transformer.values.literals import python_literal
from workbench.why.trial import is_object

_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_CONTROL = re.compile(r"[\x00-\x1f]")
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACES = 20  # that are tried as the last one
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def mended(arguments: str) -> Iterator[str]:
    """Texts that are a JSON object, likeliest first."""
    tried: set[str] = set()
    for candidate in _candidates(arguments):
        if candidate not in tried and candidate != arguments and is_object(candidate):
            yield candidate
        tried.add(candidate)


def _candidates(arguments: str) -> Iterator[str]:
    yield _TRAILING_COMMA.sub("", arguments)
    yield _STRING.sub(_escaped, arguments)
    literal = python_literal(arguments, ["object"])
    if literal is not None:
        yield literal
    closing = missing_end(arguments)
    if closing:
        yield arguments + closing
    # An object with something behind it.
    for brace in islice(re.finditer("}", arguments), _BRACES):
        yield arguments[: brace.end()]
    if not arguments.startswith("{"):
        yield f"{{{arguments}}}"
        yield f"{{{arguments}"


def _escaped(string: re.Match[str]) -> str:
    """Line breaks and the like may stand in a JSON string only as escapes."""
    return _CONTROL.sub(lambda char: _ESCAPES.get(char[0], f"\\u{ord(char[0]):04x}"), string[0])
