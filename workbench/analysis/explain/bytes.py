"""A byte of upstream's in words."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import NamedTuple

from transformer.dialects import loaded_dialect
from transformer.provenance import SourceMap, locate
from transformer.records import Delta, Effect, Event, Transition
from transformer.wording import quote
from workbench.analysis.explain.findings import seen_at, why_finding, why_seen
from workbench.analysis.explain.moves import move_words
from workbench.analysis.explain.rows import trouble_at
from workbench.analysis.explain.trace import (
    Channel,
    Explanation,
    delta_with,
    event_at,
    findings_at,
    move_at,
)
from workbench.replay.player import Player

_UNIT = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]++|\\", re.DOTALL
)
_OF_A_CALL = ("call", "arguments")


class Said(NamedTuple):
    """A byte that is part of the model's text."""

    channel: Channel
    character: int
    raw: bytes  # how the character is written in the JSON


def explain_byte(player: Player, byte: int) -> Explanation:
    """Which part of what event it is, and what became of it."""
    title = f"byte {byte:,}"
    if not 0 <= byte < len(player.data):
        return Explanation(title, ("There is no such byte.",))
    read = player.read_at(byte)
    event = event_at(player, byte)
    if event is None:
        return Explanation(title, (f"It came with read {read + 1}.", _outside(player)))
    place = f"It came with read {read + 1}, in event {event.number + 1}."
    said = said_at(player, event, byte)
    if said is None:
        return Explanation(title, (place, _framing(event, byte)))
    sentences = [place, _character(player, said), *_fate(player, said)]
    finding = trouble_at(player, said.channel, said.character, said.character + 1)
    seen = [] if finding is not None else seen_at(player, said.channel, said.character, said.character + 1)
    later = (
        why_finding(player, finding) if finding is not None else why_seen(player, seen[0]) if seen else None
    )
    more = later.sentences if later is not None else ()
    return Explanation(title, (*sentences, *more), later.remedies if later is not None else ())


def _outside(player: Player) -> str:
    if player.mode == "stream":
        return "It is in no whole event: its event has not ended, or these bytes are not a server-sent event."
    return "Nothing in this answer was converted, so it went on as it came."


def _framing(event: Event, byte: int) -> str:
    if any(start <= byte < end for start, end in event.lines):
        return "It is framing: part of the JSON around what the model says. The client gets JSON of our own."
    return "It is framing of server-sent events (a field name, a comment, a line end), not part of the data."


# -- from bytes to characters


def said_at(player: Player, event: Event, byte: int) -> Said | None:
    """The character of the model's text that a byte is part of."""
    inside = _in_data(event, byte)
    if inside is None:
        return None
    for channel, source in player.sources.items():
        piece = _first_piece(source, event.number)
        if piece is None:
            continue
        place = locate(event.data, source.pieces(piece, piece + 1)[-1][1])
        if place is None or not place[0] <= inside < place[1]:
            continue
        literal = event.data[place[0] : place[1]]
        number, raw = _unit(literal, inside - place[0])
        return Said(channel, piece + number - source.pieces(piece, piece + 1)[-1][2], raw)
    return None


def _in_data(event: Event, byte: int) -> int | None:
    """Where a byte of the stream is in the event's data; data lines are joined by a newline of our own."""
    offset = 0
    for start, end in event.lines:
        if start <= byte < end:
            return offset + byte - start
        offset += end - start + 1
    return None


def _first_piece(source: SourceMap, event: int) -> int | None:
    """The first character that an event brought to a channel."""
    low, high = 0, len(source)
    while low < high:
        middle = (low + high) // 2
        if source.pieces(middle, middle + 1)[-1][0] < event:
            low = middle + 1
        else:
            high = middle
    return low if low < len(source) and source.pieces(low, low + 1)[-1][0] == event else None


def _unit(literal: bytes, offset: int) -> tuple[int, bytes]:
    """The number of the character at an offset of a JSON string, and the bytes that it is written with."""
    count = 0
    for match in _UNIT.finditer(literal):
        start, end = match.span()
        raw = match[0]
        if raw[:1] == b"\\":
            if offset < end:
                return count, raw
            count += 1
            continue
        if offset >= end:
            count += len(raw.decode("utf-8", "replace"))
            continue
        begin = offset - start
        while begin and raw[begin] & 0xC0 == 0x80:
            begin -= 1
        stop = begin + 1
        while stop < len(raw) and raw[stop] & 0xC0 == 0x80:
            stop += 1
        return count + len(raw[:begin].decode("utf-8", "replace")), raw[begin:stop]
    return count, b""


# -- words


def _character(player: Player, said: Said) -> str:
    choice, channel = said.channel
    of = f" of choice {choice}" if choice else ""
    written = (
        f", written as the escape {said.raw.decode('ascii', 'replace')}" if said.raw[:1] == b"\\" else ""
    )
    place = f"character {said.character} of {channel}{of}"
    return f"It is part of what the model said: {place}, {_named(said.raw)}{written}."


def _named(raw: bytes) -> str:
    """A character with its name; controls have only a number."""
    try:
        text = json.loads(b'"%s"' % raw, strict=False)
    except ValueError:
        text = raw.decode("utf-8", "replace")
    char = text[:1]
    if not char:
        return "which is not a character"
    number = f"U+{ord(char):04X}"
    name = unicodedata.name(char, "")
    return f"“{char}” ({number}{f' {name}' if name else ''})"


def _fate(player: Player, said: Said) -> list[str]:
    channel, character = said.channel, said.character
    move = move_at(player, channel, character)
    delta = delta_with(player, channel, character)
    if move is None:
        return [_unread(player, said, delta)]
    return [move_words(player, move), _became(player, said, move, delta)]


def _unread(player: Player, said: Said, delta: Delta | None) -> str:
    if delta is not None:
        return f"No machine reads this channel; it went on as {delta.kind} with read {delta.read + 1}."
    return "It is held back: what it is cannot be decided yet, or the answer was over before it counted."


def _became(player: Player, said: Said, move: Transition, delta: Delta | None) -> str:
    if delta is not None and delta.kind not in _OF_A_CALL:
        return f"It reached the client as {delta.kind}, in {quote(delta.text)}, with read {delta.read + 1}."
    if delta is not None:
        call = f"call {(delta.call or 0) + 1}"
        if not _is_argument(move, delta):
            return f"It is markup of {call}: the client gets the call instead, with read {delta.read + 1}."
        part = f"the value of {move.parameter}" if move.parameter else "the arguments"
        return f"It is part of {part} in {call}, whose arguments left with read {delta.read + 1}."
    dropped = findings_at(player, said.channel, said.character, said.character + 1)
    if dropped:
        return f"It did not reach the client: {dropped[0].message}."
    if not player.complete:
        return "The client has not got it yet."
    return "It is markup, or whitespace next to a call, which the client does not get."


def _is_argument(move: Transition, delta: Delta) -> bool:
    """Read as a part of an argument; or as the JSON of the model's own, of which each character is one."""
    if Effect.ARGUMENT in move.effect:
        return True
    dialect = loaded_dialect(move.dialect)
    return dialect is not None and dialect.own_json and delta.kind == "arguments"
