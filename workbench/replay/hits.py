"""Breakpoints in a tape: the steps at which they are hit, whichever way one searches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.breakpoints import Breakpoint, Calling, Finds, HeldLong, HeldMuch, Matching
from workbench.patterns import TooSlow
from workbench.replay.player import Pane
from workbench.replay.rowindex import RowIndex
from workbench.replay.timeline import Timeline
from workbench.tape.format import Line

ALL_PANES = tuple(Pane)


def _panes(one: Breakpoint) -> Sequence[Pane]:
    """Only the rows of these can be hits."""
    if isinstance(one, Matching):
        return [Pane[part.upper()] for part in one.parts]
    return ALL_PANES if isinstance(one, Calling | HeldMuch | HeldLong) else (Pane.MACHINE,)


def index_for(one: Breakpoint, timeline: Timeline) -> RowIndex | None:
    """The index that must know a step before the breakpoint can be tested there."""
    if isinstance(one, Matching):
        return timeline.channels
    return timeline.tools if isinstance(one, Calling) else None


def _words(one: Breakpoint, timeline: Timeline, step: int) -> str | None:
    """What happens with a step, if it hits the breakpoint."""
    if isinstance(one, Matching):
        return _matched(one, timeline, step)
    if isinstance(one, Calling):
        return one.of_names(timeline.tools.at(step))
    if isinstance(one, HeldMuch):
        held = _held(timeline, step)
        is_new = held > one.characters and _held(timeline, step - 1) <= one.characters
        return one.said(held) if is_new else None
    if isinstance(one, HeldLong):
        return _held_long(one, timeline, step)
    item = timeline.player.item(*timeline.player.place(step))
    if isinstance(item, Line):
        if not isinstance(one, Finds) or item.finding is None:
            return None
        return one.of_finding(item.finding, item.message)
    return None if isinstance(item, int) else one.of_record(item)


def _matched(one: Matching, timeline: Timeline, step: int) -> str | None:
    try:
        found = timeline.channels.match(one.regex, step)
    except TooSlow:
        return "it takes too long on this text and is not tried any more"
    return None if found is None else one.said(found, timeline.player.place(step)[0].name.lower())


def _held(timeline: Timeline, step: int) -> int:
    held = timeline.player.held_at(step) if step >= 0 else None
    return 0 if held is None else held.characters


def _held_long(one: HeldLong, timeline: Timeline, step: int) -> str | None:
    since = _too_long_since(one, timeline, step)
    if since is None or since == _too_long_since(one, timeline, step - 1):
        return None
    return one.said(_held(timeline, step - 1), timeline.player.seconds(step) - since)


def _too_long_since(one: HeldLong, timeline: Timeline, step: int) -> float | None:
    """When the hold began that is too long by the time of a step."""
    held = timeline.player.held_at(step - 1) if step > 0 else None
    if held is None or timeline.player.seconds(step) - held.since <= one.seconds:
        return None
    return held.since


_SLICE = 500  # steps, a few milliseconds


@dataclass(frozen=True, slots=True)
class Hit:
    """Where to stop, because of which breakpoint, and what happens there."""

    step: int
    breakpoint: Breakpoint
    words: str


def hits(
    timeline: Timeline,
    breakpoints: Sequence[Breakpoint],
    step: int,
    way: int = 1,
    until: int | None = None,
) -> Iterator[Hit | None]:
    """The hits after a step (`way` 1) or before it (-1), one by one; None: a slice is over, and the caller
    may do something else before the next one. `until` is the last step that counts."""
    player = timeline.player
    indexes = [index for one in breakpoints if (index := index_for(one, timeline)) is not None]
    watching = [[one for one in breakpoints if pane in _panes(one)] for pane in Pane]
    looked, at = 0, step + way
    while 0 <= at < player.steps and (until is None or (until - at) * way >= 0):
        for index in indexes:
            while index.known <= at and not index.catch_up(_SLICE):
                yield None
        if (hit := _hit(timeline, watching[player.panes_of_steps[at]], at)) is not None:
            yield hit
        looked, at = looked + 1, at + way
        if looked % _SLICE == 0:
            yield None


def next_hit(
    timeline: Timeline,
    breakpoints: Sequence[Breakpoint],
    step: int,
    way: int = 1,
    until: int | None = None,
) -> Hit | None:
    """The first of them, however long that takes."""
    return next((hit for hit in hits(timeline, breakpoints, step, way, until) if hit is not None), None)


def _hit(timeline: Timeline, breakpoints: Sequence[Breakpoint], step: int) -> Hit | None:
    for one in breakpoints:
        if (words := _words(one, timeline, step)) is not None:
            return Hit(step, one, f"breakpoint {one}: {words}")
    return None
