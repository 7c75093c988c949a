"""An explanation and its remedies as records, and the trace of a place: which records are about it, found
without walking the tape.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from transformer.answer.conformance import Check
from transformer.records import Delta, Event, Finding, Record, Span, Transition
from workbench.analysis.variants.changes import Change
from workbench.replay.player import Pane, Player


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would have made it a call; all the changes together, applied by `analysis.variants.script.apply`.

    `tool` is called then; None if the words promise something other than a call.
    """

    words: str
    changes: tuple[Change, ...]
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Sentences for a person, the most telling first. The model's own words in them are as it wrote them."""

    title: str
    sentences: tuple[str, ...]
    remedies: tuple[Remedy, ...] = ()


Channel: TypeAlias = tuple[int, str]  # a choice and a channel of it

# How many records may be searched for one answer: a few milliseconds.
REACH = 20_000
_NEXT = 20  # findings that may be about a call at some place


def channel_of(span: Span) -> Channel:
    return span.choice, span.channel


def characters(span: Span) -> str:
    """A place in words."""
    choice = f" of choice {span.choice}" if span.choice else ""
    if span.end - span.start == 1:
        return f"character {span.start} of {span.channel}{choice}"
    return f"characters {span.start} to {span.end - 1} of {span.channel}{choice}"


def event_at(player: Player, byte: int) -> Event | None:
    """The event that a byte is in."""
    high = 1
    while (event := player.event(high)) is not None and event.end <= byte:
        high *= 2
    low = high // 2 if high > 1 else 0
    while low < high:
        middle = (low + high) // 2
        event = player.event(middle)
        if event is not None and event.end <= byte:
            low = middle + 1
        else:
            high = middle
    found = None
    # Lines that were taken apart are events inside the bytes of another one; the inner one says more.
    while (event := player.event(low)) is not None and event.start <= byte:
        found = event if byte < event.end else found
        low += 1
    return found


def event_of(player: Player, channel: Channel, character: int) -> int:
    """The number of the event that brought a character; 0 where unknown."""
    source = player.sources.get(channel)
    pieces = source.pieces(character, character + 1) if source is not None else []
    return pieces[-1][0] if pieces else 0


def first_record(player: Player, event: int) -> int:
    """Where the records begin that were made with this event or after it."""
    records = player.records
    high = len(records)
    # Records made at the end about whole calls refer to their first events.
    while high and isinstance(records[high - 1], Check):
        high -= 1
    return bisect_left(records, event, 0, high, key=_event_number)


def _event_number(record: Record) -> int:
    return record.number if isinstance(record, Event) else record.event


def index_of(player: Player, record: Record) -> int | None:
    """The place of a record among the player's."""
    start = first_record(player, _event_number(record))
    for at in range(start, min(len(player.records), start + REACH)):
        if player.records[at].seq == record.seq and type(player.records[at]) is type(record):
            return at
    return None


def forward(player: Player, at: int, channel: Channel) -> Iterator[Transition]:
    """The machine's moves in a channel from a record on."""
    for record in player.records[at : at + REACH]:
        if isinstance(record, Transition) and channel_of(record.span) == channel:
            yield record


def backward(player: Player, at: int, channel: Channel) -> Iterator[Transition]:
    """The machine's moves in a channel from before a record on, back in time."""
    for place in range(at - 1, max(-1, at - 1 - REACH), -1):
        record = player.records[place]
        if isinstance(record, Transition) and channel_of(record.span) == channel:
            yield record


def move_at(player: Player, channel: Channel, character: int) -> Transition | None:
    """The move that took a character, the first time it was read."""
    at = first_record(player, event_of(player, channel, character))
    for move in forward(player, at, channel):
        if move.span.start <= character < move.span.end:
            return move
        if move.span.start > character:
            return None
    return None


def text_of(player: Player, channel: Channel, start: int, end: int) -> str:
    """Characters of a channel as the model wrote them, as far as they were understood."""
    if start >= end:
        return ""
    pieces: list[str] = []
    at = start
    first = first_record(player, event_of(player, channel, start))
    for record in player.records[first : first + REACH]:
        if not _is_text(record, channel):
            continue
        assert isinstance(record, Transition | Delta) and record.span is not None
        if record.span.start <= at < record.span.end:
            pieces.append(record.text[at - record.span.start : end - record.span.start])
            at = record.span.end
            if at >= end:
                break
    return "".join(pieces)


def _is_text(record: Record, channel: Channel) -> bool:
    """A record whose text is the channel's own."""
    if isinstance(record, Delta):
        return (
            record.kind in ("content", "reasoning")
            and record.span is not None
            and channel_of(record.span) == channel
        )
    return isinstance(record, Transition) and channel_of(record.span) == channel


def delta_with(player: Player, channel: Channel, character: int) -> Delta | None:
    """The delta that carries a character, or the call it is markup of.

    Only the client's rows are searched: while something is held back there are none.
    """
    rows = player.rows(Pane.CLIENT)
    event = event_of(player, channel, character)
    start = bisect_left(range(len(rows)), event, key=lambda row: _event_of_row(player, row))
    for row in range(start, min(len(rows), start + REACH)):
        item = player.item(Pane.CLIENT, row)
        if not isinstance(item, Delta) or item.span is None or channel_of(item.span) != channel:
            continue
        if item.span.start <= character < item.span.end:
            return item
        if item.span.start > character:
            return None
    return None


def _event_of_row(player: Player, row: int) -> int:
    """Lines of the tape have no event; the previous delta's is used."""
    for at in range(row, max(-1, row - REACH), -1):
        item = player.item(Pane.CLIENT, at)
        if isinstance(item, Delta):
            return item.event
    return -1


def findings_from(player: Player, event: int) -> list[Finding]:
    """The next findings that were made with an event or after it."""
    findings = player.findings
    start = bisect_left(findings, event, key=lambda finding: finding.event)
    return findings[start : start + _NEXT]


def client_deltas(player: Player) -> Iterator[Delta]:
    """All that the client got, for users that need all of it."""
    for ref in player.rows(Pane.CLIENT).refs:
        if ref >= 0 and isinstance(record := player.records[ref], Delta):
            yield record


def findings_at(player: Player, channel: Channel, start: int, end: int) -> list[Finding]:
    """Findings whose place has a character in common with this one."""
    found = []
    for finding in player.findings[:REACH]:
        span = finding.span
        if (
            channel_of(span) == channel
            and span.start < max(end, start + 1)
            and start < max(span.end, span.start + 1)
        ):
            found.append(finding)
    return found


def cause_of(player: Player, finding: Finding, at: int) -> Transition | None:
    """The move with which a finding was made. It is recorded after what it led to."""
    channel = channel_of(finding.span)
    if not finding.span.channel:
        return None
    if finding.code not in ("call-too-long", "invalid-arguments"):
        following = next(forward(player, at, channel), None)
        if following is not None and following.event == finding.event:
            return following
    for move in backward(player, at, channel):
        if finding.code != "invalid-arguments" or move.span.end == finding.span.end:
            return move
    return None


def finish_of(player: Player, choice: int) -> str | None:
    """The reason with which a choice ended, as far as it has."""
    for place in range(len(player.records) - 1, max(-1, len(player.records) - 1 - REACH), -1):
        record = player.records[place]
        if isinstance(record, Delta) and record.kind == "finish" and record.choice == choice:
            return record.text
    return None
