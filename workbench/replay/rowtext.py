"""Rows as text: what a read says between its framing, and a row to be searched or printed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from transformer.records import Event
from workbench.breakpoints import record_text
from workbench.replay.player import Item, Player
from workbench.tape.format import Line

# The strings of an event that have content; everything around them is framing.
_SAYS = re.compile(
    rb'"(?:content|reasoning|reasoning_content|arguments|name|finish_reason|message|text)"\s*+:\s*+'
    rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"',
    re.DOTALL,
)


class ReadPart(NamedTuple):
    """Bytes of a read that are alike."""

    start: int
    end: int
    says: bool


def decoded(data: bytes | bytearray) -> str:
    """As text; a character that the read cut in two shows its bytes."""
    return data.decode("utf-8", "backslashreplace")


def read_parts(player: Player, read: int, step: int | None = None) -> list[ReadPart]:
    """A read as framing and what is said, in turns, as far as that was known at a step; None means: now."""
    start, end = player.starts[read], player.read_end(read)
    return _parts(_said(player, read, start, end, step), start, end)


def event_parts(event: Event, start: int, end: int) -> list[ReadPart]:
    """The same for the bytes of a read that belong to one event."""
    return _parts(_said_in(event), start, end)


def _parts(said: Iterable[tuple[int, int]], start: int, end: int) -> list[ReadPart]:
    parts: list[ReadPart] = []
    at = start
    for begin, stop in said:
        begin, stop = max(begin, at), min(stop, end)
        if begin < stop:
            parts += [ReadPart(at, begin, False), ReadPart(begin, stop, True)]
            at = stop
    parts.append(ReadPart(at, end, False))
    return [part for part in parts if part.start < part.end]


def _said(player: Player, read: int, start: int, end: int, step: int | None) -> Iterator[tuple[int, int]]:
    if player.mode == "message":
        yield from (match.span(1) for match in _SAYS.finditer(player.data, start, end))
        return
    for event in player.events_in(read, step):
        yield from _said_in(event)


def _said_in(event: Event) -> Iterator[tuple[int, int]]:
    if len(event.lines) != 1:
        return
    first = event.lines[0][0]
    for match in _SAYS.finditer(event.data):
        yield first + match.start(1), first + match.end(1)


def row_text(player: Player, item: Item) -> str:
    """All that the screen shows of a row, except its number and its time."""
    if isinstance(item, int):
        return read_text(player, item)
    return line_text(item) if isinstance(item, Line) else record_text(item)


def read_text(player: Player, read: int) -> str:
    """The content of a read, its framing shortened; its bytes as they came if it has no content."""
    return "…".join(said_in(player, read)) or decoded(player.read(read)).strip()


def said_in(player: Player, read: int) -> list[str]:
    """The texts in a read, without their framing."""
    return [decoded(player.data[part.start : part.end]) for part in read_parts(player, read) if part.says]


def line_text(line: Line) -> str:
    """A line of the tape itself."""
    if line.kind == "status":
        return f"HTTP {line.status}"
    if line.kind == "finding":
        return f"{line.finding} {line.message}"
    if line.kind == "sent":
        return f"{sender(line)} {decoded(line.data)}"
    if line.kind == "hold":
        return f"HELD at {line.hold}: {line.message}"
    if line.kind == "release":
        return released(line)
    if line.kind == "end":
        said = line.error_message
        return f"end: {line.ended}{f', {said}' if said else ''}"
    return f"{line.kind} {dict(line.value)}"


_RELEASED = {
    "unchanged": "let go unchanged",
    "edited": "let go, edited by hand",
    "dropped": "dropped by hand",
    "limit": "let go unchanged: not decided in time",
    "left": "over: the client went away",
    "stopped": "over: the proxy was stopped",
}


def released(line: Line) -> str:
    """How a hold ended, and after how long."""
    how, seconds = line.released, line.value.get("seconds")
    after = f" after {seconds:.1f} s" if isinstance(seconds, int | float) else ""
    return f"{_RELEASED.get(how, how)}{after}"


def sender(line: Line) -> str:
    """Who sent a piece to the client; for the transformer's own output only the bytes are shown."""
    return line.by or "bytes"
