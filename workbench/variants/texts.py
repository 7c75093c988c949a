"""The texts of an answer: what the model wrote, channel by channel."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from workbench.errors import UserError
from workbench.player.player import Player
from workbench.variants.changes import Retext
from workbench.variants.matching import Gap, gaps, numbered, same_ends
from workbench.variants.origins import CHANNELS, choices_of, origin_of, text_between

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
    choices = set(choices_of(origin)) or {0}
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
