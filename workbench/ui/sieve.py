"""A sieve: which of many things that can be replayed are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from workbench.sources.opening import Opening
from workbench.ui.widgets.openinglist import PROBLEMS


class Sort(StrEnum):
    """Kinds of openings, in the order in which a key goes through them."""

    ALL = "all"
    MALFORMED = "malformed calls only"
    PROBLEMS = "only ✖ and ▲"

    def has(self, opening: Opening) -> bool:
        known = opening.appraisal
        if self is Sort.ALL or opening.problem is not None:
            return True
        if known is None:
            return False
        return known.malformed if self is Sort.MALFORMED else known.level in PROBLEMS

    @property
    def following(self) -> Sort:
        sorts = list(Sort)
        return sorts[(sorts.index(self) + 1) % len(sorts)]


@dataclass(frozen=True, slots=True)
class Sieve:
    """Every one of the words has to be somewhere in what is known about an opening."""

    words: str = ""
    sort: Sort = Sort.ALL

    @property
    def active(self) -> bool:
        return bool(self.words.strip()) or self.sort is not Sort.ALL

    @property
    def said(self) -> Iterator[str]:
        """What it lets through, in a few words."""
        if self.sort is not Sort.ALL:
            yield str(self.sort)
        if self.words.strip():
            yield self.words.strip()

    def fitting(self, openings: Sequence[Opening]) -> list[int]:
        """The numbers of those that it lets through."""
        wanted = self.words.casefold().split()
        return [
            number
            for number, opening in enumerate(openings)
            if self.sort.has(opening) and (not wanted or _has_all(opening, wanted))
        ]


def _has_all(opening: Opening, wanted: Sequence[str]) -> bool:
    parts = [opening.title, opening.folder]
    if opening.glimpsed:  # to look into thousands of files takes longer than a key may
        parts += [opening.about, opening.glimpse.dialect]
    if opening.appraisal is not None:
        parts += [opening.appraisal.long, *opening.appraisal.codes]
    text = " ".join(parts).casefold()
    return all(word in text for word in wanted)
