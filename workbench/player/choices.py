"""The choices in one event of upstream's, read without trusting any of its types."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from transformer.answer.events import parse_leniently


class Part(NamedTuple):
    """What an event says of one choice: a delta, or a whole message."""

    choice: int
    said: Mapping[str, Any]


class CallPart(NamedTuple):
    """What a part says of one call of upstream's own; empty where it says nothing."""

    number: int
    id: str
    name: str
    arguments: str


def parts_of(data: bytes, *, whole: bool = False) -> Iterator[Part]:
    """The parts of an event's JSON. `whole`: of an answer that came in one piece, whose choices are numbered
    by their places where they have no index."""
    value = _parsed(data.removeprefix(BOM_UTF8))
    choices = value.get("choices") if isinstance(value, dict) else None
    for place, choice in enumerate(choices if isinstance(choices, list) else ()):
        if not isinstance(choice, dict):
            continue
        index = choice.get("index")
        delta, message = choice.get("delta"), choice.get("message")
        said = delta if isinstance(delta, dict) else message
        if isinstance(said, dict):
            yield Part(index if type(index) is int else place * whole, said)


def calls_of(said: Mapping[str, Any]) -> Iterator[CallPart]:
    """Its calls as the transformer's own message puts them together: without an index, the place counts."""
    calls = said.get("tool_calls")
    for place, call in enumerate(calls if isinstance(calls, list) else ()):
        if not isinstance(call, dict):
            continue
        index, function = call.get("index"), call.get("function")
        function = function if isinstance(function, dict) else {}
        id, name, arguments = call.get("id"), function.get("name"), function.get("arguments")
        yield CallPart(
            index if type(index) is int else place, str(id or ""), str(name or ""), str(arguments or "")
        )


def _parsed(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return parse_leniently(data).value
