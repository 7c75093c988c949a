"""Where the texts of an answer stand in upstream's bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from transformer.answer.events import REASONING, parse_leniently
from transformer.provenance import Path, Piece, SourceMap, resolve
from transformer.records import Event, Ranges, Span
from workbench.errors import UserError
from workbench.player.player import Player
from workbench.tape import BOM, end_line, read_line

CHANNELS = ("content", *REASONING)


def origin_of(player: Player) -> Player:
    """A player that knows where an answer's texts stand; a UserError where there is no answer of a model."""
    refused = not 200 <= player.status.get("upstream", 200) < 300
    if player.mode == "plain" and (player.reads or refused or player.header.get("kind") == "relay"):
        raise UserError("this is no answer that a dialect reads, so there is no text of a model to change")
    if player.mode != "message" or player.sources:
        return player
    # A message that goes on as it is was not looked into. Any dialect finds the same texts in it.
    reader = Player({"dialect": "roo-xml", "stream": False})
    reader.add([read_line(0, bytes(player.data)), end_line(0, "done")])
    return reader


def choices_of(origin: Player) -> list[int]:
    """The numbers of an answer's choices."""
    parts = (origin.completion or {}).get("choices")
    numbers = [index_of(part) for part in (parts if isinstance(parts, list) else ())]
    listed = {at if number is None else number for at, number in enumerate(numbers)}
    return sorted(listed | {choice for choice, _ in origin.sources})


def index_of(part: Any) -> int | None:
    """The number that a choice gives itself."""
    index = part.get("index") if isinstance(part, dict) else None
    return index if type(index) is int else None


def text_between(origin: Player, source: SourceMap, start: int, end: int) -> str:
    """Characters of a channel, put together as the transformer does it."""
    halves = "".join(_texts(origin, source.pieces(start, end)))
    if halves.isascii():
        return halves
    # Halves of surrogate pairs that met are one character, one that stays alone is replaced.
    return halves.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _texts(origin: Player, pieces: list[Piece]) -> Iterator[str]:
    for number, path, first, last in pieces:
        event = origin.event(number)
        text = value_at(event, path) if event is not None else None
        if isinstance(text, str):
            yield text[first:last]


def value_of(event: Event) -> Any:
    """An event's JSON; None where it is none."""
    data = event.data.removeprefix(BOM)
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return parse_leniently(data.strip()).value


def value_at(event: Event, path: Path) -> Any:
    """What stands at a path of an event's JSON; None where nothing does."""
    value = value_of(event)
    try:
        for step in path:
            value = value[step]
    except (KeyError, IndexError, TypeError):
        return None
    return value


def places(origin: Player, piece: Piece) -> Iterator[Ranges]:
    """The bytes of a piece; once more where upstream says the same in a second field."""
    number, path, first, last = piece
    event = origin.event(number)
    if event is None or first >= last:
        return
    for one in (path, *_twins(event, path)):
        alone = SourceMap()
        alone.add(number, last - first, one, first=first)
        yield resolve(Span(0, "content", 0, last - first, number), alone, [event])


def _twins(event: Event, path: Path) -> Iterator[Path]:
    """Reasoning in both its fields is one channel for as long as the two are equal."""
    if path[-1] == REASONING[0]:
        twin = (*path[:-1], REASONING[1])
        if value_at(event, path) == value_at(event, twin):
            yield twin


def literal(text: str) -> bytes:
    """A text as it stands between the quotes of a JSON string."""
    # Half of a surrogate pair cannot be sent as UTF-8; every reader would replace it.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return orjson.dumps(whole)[1:-1]
