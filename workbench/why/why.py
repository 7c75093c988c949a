"""An explanation: what happened at a place, in words."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.variants.changes import Change


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would have made it a call; all the changes together, applied by `workbench.variants.apply`.

    `tool` is called then; None where the words promise something else than a call.
    """

    words: str
    changes: tuple[Change, ...]
    tool: str | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """Sentences for a person, the most telling first. The model's own words in them are as it wrote them."""

    title: str
    sentences: tuple[str, ...]
    remedies: tuple[Remedy, ...] = ()
