"""The completion of filters: what the word at the cursor may become."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from workbench.filters.vocabulary import KEYS, NUMBERS, VALUES

_WORD = re.compile(r"\S*\Z")


def complete(text: str, cursor: int, known: Mapping[str, Iterable[str]] | None = None) -> list[str]:
    """The best first. `known` has values of other keys, such as the models there are."""
    word = _WORD.search(text[: max(0, cursor)])
    typed = word[0] if word else ""
    minus, body = ("-", typed[1:]) if typed.startswith("-") else ("", typed)
    key, colon, begun = body.partition(":")
    if not colon:
        names = [f"{name}:" for name in KEYS] + [f"{name}>" for name in NUMBERS]
        return [minus + name for name in names if name.startswith(body.lower())]
    values = [*VALUES.get(key.lower(), ()), *((known or {}).get(key.lower(), ()))]
    wanted = begun.casefold().strip('"')
    found = [value for value in dict.fromkeys(values) if wanted in value.casefold()]
    begin = [value for value in found if value.casefold().startswith(wanted)]
    return [f"{minus}{key.lower()}:{_quoted(value)}" for value in begin or found]


def _quoted(value: str) -> str:
    if not re.search(r'[\s"]', value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
