"""Looking into what can be replayed, a little at a time, so that nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from workbench.sources.appraisal import appraise
from workbench.sources.opening import Opening

SMALL = 1 << 20  # bytes: more is looked into when it is opened
_SLICE = 0.008
_REST = 0.001  # in which a key can be drawn


class Appraiser:
    """Plays every small opening once, those that can be seen first."""

    def __init__(self, openings: Sequence[Opening], in_sight: Callable[[], Iterable[int]]) -> None:
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

    async def _play(self, opening: Opening) -> None:
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


def _is_known(opening: Opening) -> bool:
    """A tape that was still being written may have grown."""
    known = opening.appraisal
    return known is not None and (known.level != "running" or known.size == opening.size)
