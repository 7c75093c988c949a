"""Which upstream bytes a span of characters came from.

A channel's text is the concatenation, over the events, of the JSON string found at one path of
each event's data. Records store character ranges only, because that is all the machines know and
all that is cheap; the way back to bytes is resolved here, on demand.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeAlias

from transformer.journal import Growing
from transformer.records import Event, Ranges, Span

Path: TypeAlias = tuple[str | int, ...]
Piece: TypeAlias = tuple[int, Path, int, int]  # event, path, first character, after the last
Place: TypeAlias = tuple[int, Path, int]  # event, path, character

# A whole string, or one structural byte. The quantifiers are possessive and a quote that opens no
# whole string is a token of its own, so a hostile text cannot make the scan go back over itself.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\],:]', re.DOTALL)
_QUOTE, _COMMA, _COLON = b'",:'
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = b"{}[]"
_NESTING = {_OPEN_OBJECT: 1, _OPEN_ARRAY: 1, _CLOSE_OBJECT: -1, _CLOSE_ARRAY: -1}

# One character written as an escape (two escapes for a surrogate pair), or a run of raw characters.
_UNIT = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.)|[^\\]++|\\",
    re.DOTALL,
)

# What decoding with errors="replace" makes one character of: a UTF-8 sequence, or as much of one as there is.
_REPLACED = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]?"
    rb"|(?:\xe0[\xa0-\xbf]|\xed[\x80-\x9f]|[\xe1-\xec\xee\xef][\x80-\xbf])[\x80-\xbf]?"
    rb"|(?:\xf0[\x90-\xbf]|\xf4[\x80-\x8f]|[\xf1-\xf3][\x80-\xbf])(?:[\x80-\xbf][\x80-\xbf]?)?"
    rb"|.",
    re.DOTALL,
)


@dataclass(slots=True)
class _Frame:
    """An open container on the way to the path's end, and whether its current member leads on."""

    is_object: bool
    wanted: str | int
    at_key: bool
    leads_on: bool
    index: int = 0

    @classmethod
    def opened(cls, is_object: bool, wanted: str | int) -> _Frame:
        return cls(is_object, wanted, at_key=is_object, leads_on=not is_object and wanted == 0)

    def meet(self, key: bytes) -> bool:
        self.leads_on = _is_key(key, self.wanted)
        return self.leads_on

    def next_member(self) -> None:
        self.index += 1
        self.at_key = self.is_object
        self.leads_on = not self.is_object and self.wanted == self.index


def locate(data: bytes, path: Path) -> tuple[int, int] | None:
    """The bytes, inside the quotes, of the string at `path` in the JSON text `data`.

    None when nothing is there or it is not a string. Of repeated keys the last one counts, as in
    every JSON parser in use. Only containers on the path are remembered, others are counted: depth
    costs nothing.
    """
    found: tuple[int, int] | None = None
    frames: list[_Frame] = []
    beside = 0  # how many containers deep we are in something that is not on the path
    for token in _TOKEN.finditer(data):
        start, end = token.span()
        mark = data[start]
        if beside:
            beside += _NESTING.get(mark, 0)
        elif mark == _QUOTE:
            if end - start == 1:
                return None  # a string without an end: this is not JSON
            if frames and frames[-1].at_key:
                if frames[-1].meet(data[start + 1 : end - 1]):
                    found = None  # whatever an earlier member of this name held is replaced
            elif len(frames) == len(path) and (not frames or frames[-1].leads_on):
                found = (start + 1, end - 1)
        elif mark in (_OPEN_OBJECT, _OPEN_ARRAY):
            if len(frames) < len(path) and (not frames or frames[-1].leads_on):
                frames.append(_Frame.opened(mark == _OPEN_OBJECT, path[len(frames)]))
            else:
                beside = 1
        elif frames:
            _structure(frames, mark)
    return found


def _structure(frames: list[_Frame], mark: int) -> None:
    if mark == _COLON:
        frames[-1].at_key = False
    elif mark == _COMMA:
        frames[-1].next_member()
    else:
        frames.pop()


def _is_key(literal: bytes, wanted: str | int) -> bool:
    if not isinstance(wanted, str):
        return False
    if b"\\" not in literal:
        return literal == wanted.encode("utf-8", "surrogatepass")
    try:
        return bool(json.loads(b'"%s"' % literal, strict=False) == wanted)
    except ValueError:
        return False


def byte_offsets(literal: bytes, start: int, end: int) -> tuple[int, int]:
    """The bytes of characters `start` to `end` inside the raw bytes of a JSON string literal."""
    if b"\\" not in literal and literal.isascii():
        return min(start, len(literal)), min(end, len(literal))
    first: int | None = None
    chars = 0
    for unit in _UNIT.finditer(literal):
        offset, after = unit.span()
        size = 1 if unit[1] else _length(unit[0])
        if first is None and start < chars + size:
            first = offset + _prefix(unit[0], start - chars)
        if end <= chars + size:
            last = after if end == chars + size else offset + _prefix(unit[0], end - chars)
            return (last if first is None else first), last
        chars += size
    return (len(literal) if first is None else first), len(literal)


def _length(run: bytes) -> int:
    try:
        return len(run) if run.isascii() else len(run.decode())
    except UnicodeDecodeError:
        return sum(1 for _ in _REPLACED.finditer(run))


def _prefix(run: bytes, chars: int) -> int:
    """How many bytes the first `chars` characters of a run have."""
    if chars <= 0 or run.isascii():
        return max(chars, 0)
    try:
        return len(run.decode()[:chars].encode())
    except UnicodeDecodeError:
        return sum(len(char[0]) for char in islice(_REPLACED.finditer(run), chars))


class _Source(NamedTuple):
    event: int
    path: Path
    first: int
    half: Place | None


class SourceMap:
    """For one channel: which event, and which string in it, each character came from."""

    __slots__ = ("_length", "_sources", "_starts")

    def __init__(self) -> None:
        self._starts: Growing[int] = Growing()
        self._sources: Growing[_Source] = Growing()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(
        self, event_number: int, length: int, path: Path, *, first: int = 0, half: Place | None = None
    ) -> None:
        """The channel grew by `length` characters, found at `path` of that event's data.

        They are those of the string from `first` on. `half` is where the other half of the first one is: some
        servers cut a surrogate pair in two and send each half in its own event.
        """
        if length <= 0:
            return
        self._starts.append(self._length)
        self._sources.append(_Source(event_number, path, first, half))
        self._length += length

    def pieces(self, start: int, end: int) -> list[Piece]:
        """The strings that hold characters `start` to `end`: event, path, and the range in the string."""
        found: list[Piece] = []
        starts, sources = self._starts.items, self._sources.items
        start, end = max(start, 0), min(end, self._length)
        at = bisect_right(starts, start) - 1
        while start < end:
            begin, source = starts[at], sources[at]
            stop = starts[at + 1] if at + 1 < len(starts) else self._length
            if source.half is not None and start == begin:
                event, path, place = source.half
                found.append((event, path, place, place + 1))
            shift = source.first - begin
            found.append((source.event, source.path, start + shift, min(end, stop) + shift))
            start = stop
            at += 1
        return found

    def clone(self) -> SourceMap:
        """A copy that goes on independently, for snapshots."""
        twin = SourceMap()
        twin._starts, twin._sources = self._starts.clone(), self._sources.clone()
        twin._length = self._length
        return twin


def resolve(span: Span, sources: SourceMap, events: Sequence[Event]) -> Ranges:
    """The ranges of the upstream byte stream a span came from, in order, adjacent ones merged.

    A span without a channel belongs to its event as a whole. Events that are not in `events` (they
    need not all be kept) contribute nothing.
    """
    if not span.channel:
        whole = _event(events, span.event)
        return _merged(whole.lines) if whole else ()
    ranges: list[tuple[int, int]] = []
    for number, path, first, last in sources.pieces(span.start, span.end):
        event = _event(events, number)
        place = locate(event.data, path) if event else None
        if event is None or place is None:
            continue
        begin, end = byte_offsets(event.data[place[0] : place[1]], first, last)
        ranges.extend(_through_lines(event, place[0] + begin, place[0] + end))
    return _merged(ranges)


def _event(events: Sequence[Event], number: int) -> Event | None:
    if 0 <= number < len(events) and events[number].number == number:
        return events[number]
    at = bisect_left(events, number, key=lambda event: event.number)
    return events[at] if at < len(events) and events[at].number == number else None


def _through_lines(event: Event, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where a range of an event's data lies in the stream: data lines are joined by a newline of our own."""
    offset = 0
    for line_start, line_end in event.lines:
        length = line_end - line_start
        first, last = max(start - offset, 0), min(end - offset, length)
        if first < last:
            yield line_start + first, line_start + last
        offset += length + 1


def _merged(ranges: Sequence[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return tuple(merged)
