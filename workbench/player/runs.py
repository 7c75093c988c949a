"""A read as it is shown: framing, and what is said in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from transformer.records import Event
from workbench.player.player import Player

# The strings of an event that say something; everything around them is framing.
_SAYS = re.compile(
    rb'"(?:content|reasoning|reasoning_content|arguments|name|finish_reason|message|text)"\s*+:\s*+'
    rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"',
    re.DOTALL,
)


class Run(NamedTuple):
    """Bytes of a read that are alike."""

    start: int
    end: int
    says: bool


def decoded(data: bytes | bytearray) -> str:
    """As text; a character that the read cut in two shows its bytes."""
    return data.decode("utf-8", "backslashreplace")


def runs_of(player: Player, read: int, step: int | None = None) -> list[Run]:
    """A read as framing and what is said, in turns, as far as that was known at a step; None means: now."""
    start, end = player.starts[read], player.read_end(read)
    runs: list[Run] = []
    at = start
    for begin, stop in _said(player, read, start, end, step):
        begin, stop = max(begin, at), min(stop, end)
        if begin < stop:
            runs += [Run(at, begin, False), Run(begin, stop, True)]
            at = stop
    runs.append(Run(at, end, False))
    return [run for run in runs if run.start < run.end]


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
