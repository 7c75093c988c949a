"""The texts of an answer and their change: where each is in upstream's bytes, characters replaced exactly
there, and a first text for an empty channel.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Any, NamedTuple

import orjson

from transformer.answer.events import REASONING, error_in
from transformer.dialects import DIALECTS
from transformer.jsontext import parse
from transformer.provenance import Path, Piece, SourceMap, locate, resolve
from transformer.records import Event, Ranges, Span
from workbench.analysis.variants.changes import Retext, words
from workbench.analysis.variants.difference import Gap, gaps, numbered, same_ends
from workbench.errors import UserError
from workbench.replay.lines import causes_of
from workbench.replay.player import Player
from workbench.tape.format import BOM, end_line, read_line


class Edit(NamedTuple):
    """The bytes `start` to `end` become `data`."""

    start: int
    end: int
    data: bytes


class Edits:
    """All edits of a stream. They count in its old bytes and do not overlap."""

    __slots__ = ("_edits", "_ends", "_shifts", "data")

    def __init__(self, old: bytes, edits: Iterable[Edit]) -> None:
        self._edits = sorted(edits, key=lambda edit: edit[:2])
        self._ends = [edit.end for edit in self._edits]
        self._shifts = [0]  # of the bytes after the first n edits
        parts = []
        at = 0
        for start, end, data in self._edits:
            assert at <= start <= end, "edits do not overlap"
            parts += [old[at:start], data]
            self._shifts.append(self._shifts[-1] + len(data) - (end - start))
            at = end
        self.data = b"".join([*parts, old[at:]])  # the new bytes

    def moved(self, byte: int) -> int:
        """New position of a boundary. Insertions at it go before it.

        A boundary inside an edit keeps its offset in the new bytes, clamped to their length and to a
        character.
        """
        count = bisect_right(self._ends, byte)
        place = byte + self._shifts[count]
        if count == len(self._edits) or self._edits[count].start >= byte:
            return place
        start, _, data = self._edits[count]
        depth = min(byte - start, len(data))
        while 0 < depth < len(data) and data[depth] & 0xC0 == 0x80:
            depth -= 1
        return start + self._shifts[count] + depth


# -- where the texts of an answer are

CHANNELS = ("content", *REASONING)


def origin_of(player: Player) -> Player:
    """A player that knows where an answer's texts are; a UserError if there is no model's answer."""
    refused = not 200 <= player.status.get("upstream", 200) < 300
    if player.mode == "plain" and (player.reads or refused or player.header.get("kind") == "relay"):
        raise UserError("this is not an answer that a dialect reads, so it has no text of a model to change")
    if player.edited:
        again = Player(player.header)
        again.add(causes_of(player))
        return origin_of(again)
    if player.mode != "message" or player.sources:
        return player
    # A message that goes on as it is was not looked into. Any dialect that converts finds the same texts.
    dialect = next(dialect.name for dialect in DIALECTS.values() if dialect.converts)
    reader = Player({"dialect": dialect, "stream": False})
    reader.add([read_line(0, bytes(player.data)), end_line(0, "done")])
    return reader


def choice_numbers(origin: Player) -> list[int]:
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
    """An event's JSON; None where it is not JSON."""
    return parse(event.data.removeprefix(BOM).strip()).value


def value_at(event: Event, path: Path) -> Any:
    """The value at a path of an event's JSON; None if there is nothing."""
    value = value_of(event)
    try:
        for step in path:
            value = value[step]
    except (KeyError, IndexError, TypeError):
        return None
    return value


def ranges_of(origin: Player, piece: Piece) -> Iterator[Ranges]:
    """The bytes of a piece; twice if upstream repeats the text in a second field."""
    number, path, first, last = piece
    event = origin.event(number)
    if event is None or first >= last:
        return
    for one in (path, *_same_text_elsewhere(event, path)):
        alone = SourceMap()
        alone.add(number, last - first, one, first=first)
        yield resolve(Span(0, "content", 0, last - first, number), alone, [event])


def _same_text_elsewhere(event: Event, path: Path) -> Iterator[Path]:
    """Reasoning in both its fields is one channel for as long as the two are equal."""
    if path[-1] == REASONING[0]:
        twin = (*path[:-1], REASONING[1])
        if value_at(event, path) == value_at(event, twin):
            yield twin


def literal(text: str) -> bytes:
    """A text as it is written between the quotes of a JSON string."""
    # Half of a surrogate pair cannot be sent as UTF-8; every reader would replace it.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return orjson.dumps(whole)[1:-1]


# -- a first text in a channel that has said nothing: a stream gets one more event

_META = ("id", "object", "created", "model")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BLANK = re.compile(rb"(?:\r\n\r\n|\n\n|\r\r)\Z")


def first_text(origin: Player, choice: int, channel: str, text: str) -> Edit:
    """The edit that puts a text into a channel that has none."""
    if channel == REASONING[1]:
        raise UserError(f"{channel} is a channel of its own only beside another {REASONING[0]}; change that")
    field = REASONING[1] if channel == REASONING[0] else channel
    put = _in_message if origin.mode == "message" else _in_stream
    return put(origin, choice, field, literal(text))


def _in_stream(origin: Player, choice: int, field: str, literal: bytes) -> Edit:
    newline = _newline(origin)
    new = _event(_meta(origin), choice, field, literal) + 2 * newline
    for event in _whole_events(origin):
        if _comes_after(event, choice, field):
            return Edit(event.start, event.start, new)
    size = len(origin.data)
    # The last event may lack its blank line, and the new one would become a part of it.
    ended = not size or _BLANK.search(origin.data, max(0, size - 4)) is not None
    return Edit(size, size, new if ended else 2 * newline + new)


def _whole_events(origin: Player) -> Iterator[Event]:
    """The events, except those that are only a line of the previous one."""
    number, end = 0, 0
    while (event := origin.event(number)) is not None:
        if event.start >= end:
            end = event.end
            yield event
        number += 1


def _comes_after(event: Event, choice: int, field: str) -> bool:
    """Text comes before the end of its choice, and reasoning before content."""
    value = value_of(event)
    if not isinstance(value, dict):
        return b"[DONE]" in event.data
    parts = value.get("choices")
    return error_in(value, event.name) is not None or any(
        _ends(part) or (field != "content" and _speaks(part))
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and (index_of(part) or 0) == choice
    )


def _delta(part: dict[str, Any]) -> dict[str, Any]:
    delta = part.get("delta") or part.get("message")
    return delta if isinstance(delta, dict) else {}


def _ends(part: dict[str, Any]) -> bool:
    delta = _delta(part)
    # Qwen's web chat has no finish_reason: its last phase is finished.
    over = delta.get("phase") == "answer" and delta.get("status") == "finished"
    return bool(part.get("finish_reason") or delta.get("finish_reason") or over)


def _speaks(part: dict[str, Any]) -> bool:
    delta = _delta(part)
    return bool(delta.get("content") or delta.get("tool_calls"))


def _newline(origin: Player) -> bytes:
    """How this upstream ends its lines."""
    first = origin.event(0)
    match = _LINE_END.match(origin.data, first.lines[0][1]) if first is not None else None
    return match[0] if match is not None else b"\n"


def _meta(origin: Player) -> dict[str, Any]:
    """What upstream says of the answer with each of its chunks."""
    values = map(value_of, _whole_events(origin))
    chunk = next((value for value in values if isinstance(value, dict) and "choices" in value), {})
    return {key: chunk[key] for key in _META if key in chunk}


def _event(meta: dict[str, Any], choice: int, field: str, literal: bytes) -> bytes:
    head = json.dumps(meta | {"choices": []}, separators=(",", ":")).removesuffix("]}").encode()
    part = b'{"index":%d,"delta":{"%s":"%s"},"finish_reason":null}' % (choice, field.encode(), literal)
    return b"data: " + head + part + b"]}"


# -- the same: a message gets a value, or a member


def _in_message(origin: Player, choice: int, field: str, literal: bytes) -> Edit:
    event = origin.event(0)
    if event is None:
        raise UserError("the answer is not whole, so no text can be put into it")
    for edit in _candidates(event.data, _path(event, choice, field), literal):
        return edit
    raise UserError(f"the {field} of this answer is not a text and cannot become one")


def _path(event: Event, choice: int, field: str) -> Path:
    for at, part in enumerate(value_at(event, ("choices",)) or ()):
        index = index_of(part)
        if choice == (at if index is None else index):
            return ("choices", at, "message", field)
    raise UserError(f"there is no choice {choice} in this answer")


def _candidates(data: bytes, path: Path, literal: bytes) -> Iterator[Edit]:
    """Edits of an empty string, of a null, or that add a missing member; each yields the text at this
    path."""
    if (empty := locate(data, path)) is not None:
        yield Edit(*empty, literal)
        return
    key = b'"%s"' % str(path[-1]).encode()
    for match in re.finditer(rb"%s\s*:\s*(null)" % key, data):
        yield from _if_found_again(data, path, Edit(*match.span(1), b'"%s"' % literal))
    for match in re.finditer(rb'"message"\s*:\s*\{(?!\s*\})', data):
        yield from _if_found_again(data, path, Edit(match.end(), match.end(), b'%s:"%s",' % (key, literal)))


def _if_found_again(data: bytes, path: Path, edit: Edit) -> Iterator[Edit]:
    """A place was guessed; the text must be found there again."""
    changed = data[: edit.start] + edit.data + data[edit.end :]
    place = locate(changed, path)
    if place is not None and edit.start < place[0] <= place[1] < edit.start + len(edit.data):
        yield edit


# -- characters replaced in place

_REPLACEMENT = "\ufffd"


def edits_of(player: Player, retexts: Sequence[Retext]) -> list[Edit]:
    """The byte edits for changes of the texts. All use the coordinates of the original texts."""
    if not retexts:
        return []
    origin = origin_of(player)
    hunks: dict[tuple[int, str], list[Retext]] = defaultdict(list)
    for retext in retexts:
        hunks[retext.choice, retext.channel].append(retext)
    return list(chain.from_iterable(_channel(origin, *key, found) for key, found in hunks.items()))


def _channel(origin: Player, choice: int, channel: str, hunks: list[Retext]) -> Iterator[Edit]:
    if channel not in CHANNELS:
        raise UserError(f"there is no channel {channel!r}; there are {', '.join(CHANNELS)}")
    choices = choice_numbers(origin) or [0]
    if choice not in choices:
        listed = ", ".join(map(str, choices))
        raise UserError(f"there is no choice {choice} in this answer; there are {listed}")
    source = origin.sources.get((choice, channel), SourceMap())
    joined = _joined(hunks, len(source))
    if len(source):
        for hunk in joined:
            yield from _edited(origin, source, _kept_apart(origin, source, hunk))
    else:
        for hunk in joined:
            if hunk.text:
                yield first_text(origin, choice, channel, hunk.text)


def _joined(hunks: Iterable[Retext], size: int) -> list[Retext]:
    """In order; those that touch are one, so that each has a character of its own before and after it."""
    joined: list[Retext] = []
    for hunk in sorted(hunks, key=lambda hunk: (hunk.start, hunk.end)):
        if not 0 <= hunk.start <= hunk.end <= size:
            raise UserError(f"{words(hunk)}: there are only {size} characters")
        last = joined[-1] if joined else None
        if last is not None and hunk.start < last.end:
            raise UserError(f"{words(last)} and {words(hunk)} overlap; make one change of the two")
        if last is not None and hunk.start == last.end:
            joined[-1] = replace(last, end=hunk.end, text=last.text + hunk.text)
        else:
            joined.append(hunk)
    return joined


def _kept_apart(origin: Player, source: SourceMap, hunk: Retext) -> Retext:
    """If everything between two halves of a character vanished, they would become one character.

    Halves of surrogate pairs and of UTF-8 sequences read as U+FFFD; it is written instead of the first one.
    """
    start, end = hunk.start, hunk.end
    if hunk.text or start == end or not 0 < start <= end < len(source):
        return hunk
    around = text_between(origin, source, start - 1, start) + text_between(origin, source, end, end + 1)
    return replace(hunk, start=start - 1, text=_REPLACEMENT) if around == 2 * _REPLACEMENT else hunk


def _edited(origin: Player, source: SourceMap, hunk: Retext) -> Iterator[Edit]:
    text = literal(hunk.text)
    if hunk.start == hunk.end:
        yield from _inserted(origin, source, hunk.start, text)
        return
    for number, piece in enumerate(source.pieces(hunk.start, hunk.end)):
        for ranges in ranges_of(origin, piece):
            for at, (start, end) in enumerate(ranges):
                yield Edit(start, end, b"" if number or at else text)


def _inserted(origin: Player, source: SourceMap, at: int, text: bytes) -> Iterator[Edit]:
    """Right after the previous character; at the beginning, right before the first one."""
    if not text:
        return
    pieces = source.pieces(at - 1, at) if at else source.pieces(0, 1)
    for ranges in ranges_of(origin, pieces[-1 if at else 0]):
        place = ranges[-1][1] if at else ranges[0][0]
        yield Edit(place, place, text)


# -- the changes that make one text of another

_LINE = re.compile(r"[^\n]*+\n|[^\n]+\Z")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Text:
    """All characters of a channel, as the spans of the transformer's records count them."""

    choice: int
    channel: str
    text: str


def texts_of(player: Player) -> list[Text]:
    """By choice and channel. Every choice has a content, though it may be empty: text can be put there."""
    try:
        origin = origin_of(player)
    except UserError:
        return []
    choices = set(choice_numbers(origin)) or {0}
    keys = {(choice, "content") for choice in choices} | set(origin.sources)
    texts = []
    for choice, channel in sorted(keys, key=lambda key: (key[0], CHANNELS.index(key[1]))):
        source = origin.sources.get((choice, channel))
        text = "" if source is None else text_between(origin, source, 0, len(source))
        texts.append(Text(choice, channel, text))
    return texts


def retexts(old: Text, new: str) -> list[Retext]:
    """The smallest changes that make one text of the other: of lines first, then of the words in them."""
    hunks = [
        (start + word, start + word_end, text[to:to_end])
        for start, end, begin, stop in _differing(old.text, new, _LINE)
        for text in [new[begin:stop]]
        for word, word_end, to, to_end in _differing(old.text[start:end], text, _WORD)
    ]
    return [Retext(old.choice, old.channel, start, end, text) for start, end, text in hunks]


def _differing(before: str, after: str, unit: re.Pattern[str]) -> Iterator[Gap]:
    """Where two texts differ, in characters, when whole units of them are compared."""
    units, others = unit.findall(before), unit.findall(after)
    places, other_places = (list(accumulate(map(len, found), initial=0)) for found in (units, others))
    numbers: dict[Hashable, int] = {}
    for gap in gaps(numbered(units, numbers), numbered(others, numbers)):
        a, a_end = places[gap.a], places[gap.a_end]
        b, b_end = other_places[gap.b], other_places[gap.b_end]
        head, tail = same_ends(before[a:a_end], after[b:b_end])
        yield Gap(a + head, a_end - tail, b + head, b_end - tail)
