"""What is to be said of something that can be replayed, found out by playing it, a little at a time so
that nobody waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

from workbench.analysis.verdicts import facts_of_player, verdict
from workbench.replay.lines import LineSource
from workbench.replay.player import Player
from workbench.replay.sources import Appraisal, Replayable

_EXCERPT = 800  # characters of the model's text


def appraise(opening: Replayable, source: LineSource) -> Appraisal:
    """Of a source that has been played as far as it goes."""
    player = source.player
    if player is None:
        problem = source.problem or "its first line is not written yet"
        return Appraisal("error", problem, problem, failed=True, size=opening.size)
    facts = facts_of_player(player, live=opening.running)
    judged = verdict(facts)
    return Appraisal(
        judged.level,
        judged.sentence,
        judged.long,
        tuple(facts.findings),
        facts.calls,
        player.reads,
        _excerpt(player),
        judged.level == "error" or any(finding.level == "error" for finding in player.findings),
        opening.size,
    )


def _excerpt(player: Player) -> str:
    """How the model's text begins; what it thought, where it said nothing."""
    from workbench.analysis.variants.texts import texts_of

    texts: Mapping[str, str] = {text.channel: text.text for text in reversed(texts_of(player))}
    said = texts.get("content") or next(iter(texts.values()), "")
    return said[:_EXCERPT]


SMALL = 1 << 20  # bytes: more is looked into when it is opened
_SLICE = 0.008
_REST = 0.001  # in which a key can be drawn


class Appraiser:
    """Plays every small opening once, those that can be seen first."""

    def __init__(self, openings: Sequence[Replayable], in_sight: Callable[[], Iterable[int]]) -> None:
        self._openings = openings
        self._in_sight = in_sight
        self._next = 0
        self._looked: set[int] = set()

    @property
    def left(self) -> int:
        return len(self._openings) - len(self._looked)

    async def appraise(self) -> AsyncIterator[int]:
        """The numbers of those that are known now, one after the other."""
        while (number := self._pick()) is not None:
            self._looked.add(number)
            opening = self._openings[number]
            if _is_known(opening) or opening.size > SMALL:
                continue
            await self._play(opening)
            yield number
            await asyncio.sleep(_REST)

    async def _play(self, opening: Replayable) -> None:
        source = opening.open()
        while source.advance(_SLICE) and source.behind:
            await asyncio.sleep(_REST)
        opening.appraisal = appraise(opening, source)

    def _pick(self) -> int | None:
        for number in self._in_sight():
            if number not in self._looked:
                return number
        while self._next < len(self._openings) and self._next in self._looked:
            self._next += 1
        return self._next if self._next < len(self._openings) else None


def _is_known(opening: Replayable) -> bool:
    """A tape that was still being written may have grown."""
    known = opening.appraisal
    return known is not None and (known.level != "running" or known.size == opening.size)
