"""The verdict and key figures of something replayable, which is played a little at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

from workbench.analysis.variants.texts import texts_of
from workbench.analysis.verdicts import facts_of_player, verdict
from workbench.replay.lines import LineSource
from workbench.replay.player import Player
from workbench.replay.sources import Appraisal, Replayable

_EXCERPT = 800  # characters of the model's text


def appraise(replayable: Replayable, source: LineSource) -> Appraisal:
    """Of a source that has been played as far as it goes."""
    player = source.player
    if player is None:
        problem = source.problem or "its first line is not written yet"
        return Appraisal("error", problem, problem, failed=True, size=replayable.size)
    facts = facts_of_player(player, live=replayable.running)
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
        replayable.size,
    )


def _excerpt(player: Player) -> str:
    """How the model's text begins; its reasoning, where it said nothing."""
    texts: Mapping[str, str] = {text.channel: text.text for text in reversed(texts_of(player))}
    said = texts.get("content") or next(iter(texts.values()), "")
    return said[:_EXCERPT]


SMALL = 1 << 20  # bytes: more is looked into when it is opened
_SLICE = 0.008
_REST = 0.001  # in which a key can be drawn


class Appraiser:
    """Plays everything small once, visible items first."""

    def __init__(self, replayables: Sequence[Replayable], in_sight: Callable[[], Iterable[int]]) -> None:
        self._replayables = replayables
        self._in_sight = in_sight
        self._next = 0
        self._looked: set[int] = set()

    @property
    def left(self) -> int:
        return len(self._replayables) - len(self._looked)

    async def appraise(self) -> AsyncIterator[int]:
        """The numbers of those that are known now, one after the other."""
        while (number := self._pick()) is not None:
            self._looked.add(number)
            replayable = self._replayables[number]
            if _is_known(replayable) or replayable.size > SMALL:
                continue
            await self._play(replayable)
            yield number
            await asyncio.sleep(_REST)

    async def _play(self, replayable: Replayable) -> None:
        source = replayable.open()
        while source.advance(_SLICE) and source.has_more:
            await asyncio.sleep(_REST)
        replayable.appraisal = appraise(replayable, source)

    def _pick(self) -> int | None:
        for number in self._in_sight():
            if number not in self._looked:
                return number
        while self._next < len(self._replayables) and self._next in self._looked:
            self._next += 1
        return self._next if self._next < len(self._replayables) else None


def _is_known(replayable: Replayable) -> bool:
    """A tape that was still being written may have grown."""
    known = replayable.appraisal
    return known is not None and (known.level != "running" or known.size == replayable.size)
