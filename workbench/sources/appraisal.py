"""An appraisal: what is to be said of an opening once it has been played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.player.player import Player
from workbench.player.reel import Source
from workbench.sources.opening import Opening
from workbench.verdicts.facts import facts_of_player
from workbench.verdicts.judging import verdict
from workbench.verdicts.kinds import Level

# Findings that say: the model meant a call, and did not write it as it should.
MALFORMED = frozenset(
    """
    malformed-call unclosed-parameter truncated-call unnamed-call repaired-call repaired-parameter
    ambiguous-end invalid-arguments bad-arguments other-dialect
    """.split()
)
_EXCERPT = 800  # characters of the model's text


@dataclass(frozen=True, slots=True)
class Appraisal:
    """`codes` are of all findings; `size` is the file's when it was read: a tape may have grown since."""

    level: Level
    sentence: str
    long: str
    codes: tuple[str, ...] = ()
    calls: int = 0
    reads: int = 0
    excerpt: str = ""
    failed: bool = False
    size: int = 0

    @property
    def malformed(self) -> bool:
        return not MALFORMED.isdisjoint(self.codes)


def appraise(opening: Opening, source: Source) -> Appraisal:
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
    from workbench.variants.texts import texts_of

    texts: Mapping[str, str] = {text.channel: text.text for text in reversed(texts_of(player))}
    said = texts.get("content") or next(iter(texts.values()), "")
    return said[:_EXCERPT]
