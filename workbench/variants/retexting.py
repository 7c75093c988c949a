"""Retexting: characters of a channel replaced exactly where they stand in upstream's JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from transformer.provenance import SourceMap
from workbench.errors import UserError
from workbench.player.player import Player
from workbench.variants.changes import Retext, words
from workbench.variants.edits import Edit
from workbench.variants.newtext import first_text
from workbench.variants.origins import CHANNELS, choices_of, literal, origin_of, places, text_between

_REPLACEMENT = "\ufffd"


def edits_of(player: Player, retexts: Sequence[Retext]) -> list[Edit]:
    """What changes of the texts mean for the bytes. All of them count in the texts as they are."""
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
    choices = choices_of(origin) or [0]
    if choice not in choices:
        listed = ", ".join(map(str, choices))
        raise UserError(f"there is no choice {choice} in this answer; there are {listed}")
    source = origin.sources.get((choice, channel), SourceMap())
    joined = _joined(hunks, len(source))
    if len(source):
        for hunk in joined:
            yield from _edited(origin, source, _apart(origin, source, hunk))
    else:
        for hunk in joined:
            if hunk.text:
                yield first_text(origin, choice, channel, hunk.text)


def _joined(hunks: Iterable[Retext], size: int) -> list[Retext]:
    """In order; those that touch are one, so that each has a character of its own before and behind it."""
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


def _apart(origin: Player, source: SourceMap, hunk: Retext) -> Retext:
    """What stood between two halves of a character must not vanish without a trace: they would become one.

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
        for ranges in places(origin, piece):
            for at, (start, end) in enumerate(ranges):
                yield Edit(start, end, b"" if number or at else text)


def _inserted(origin: Player, source: SourceMap, at: int, text: bytes) -> Iterator[Edit]:
    """Right behind the character before it; at the beginning, right before the first one."""
    if not text:
        return
    pieces = source.pieces(at - 1, at) if at else source.pieces(0, 1)
    for ranges in places(origin, pieces[-1 if at else 0]):
        place = ranges[-1][1] if at else ranges[0][0]
        yield Edit(place, place, text)
