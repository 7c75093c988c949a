"""The verdict: one sentence about an exchange, for the list and for the bar above the panes."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.verdicts.facts import Facts
from workbench.verdicts.kinds import RULES, Kind, Level, Rule

_SHORT = 60
_LONG = 600


@dataclass(frozen=True, slots=True)
class Verdict:
    """`sentence` fits a list, `long` has the details that are known; the code is of the finding behind it."""

    kind: Kind
    level: Level
    sentence: str
    long: str
    finding_code: str | None = None


def verdict(facts: Facts) -> Verdict:
    """The first rule of the table that holds; the last one always does."""
    rule = next(rule for rule in RULES if rule.holds(facts))
    short = _cut(_filled(rule.short, facts), _SHORT)
    return Verdict(rule.kind, rule.level, short, _cut(_details(rule, facts), _LONG), rule.code)


def _details(rule: Rule, facts: Facts) -> str:
    said = facts.said.get(rule.code or "")
    general = _filled(rule.long or rule.short, facts)
    if not said:
        return general
    # What the finding says is exact, what the table says is general; one that only quotes adds nothing.
    return said if not rule.long else f"{general}: {said}"


def _filled(sentence: str, facts: Facts) -> str:
    one = facts.calls == 1
    if not facts.error:
        sentence = sentence.removesuffix(": {error}")
    values = {
        "calls_": f"{facts.calls} call{'' if one else 's'}",
        "native_": f"{facts.calls} native call{'' if one else 's'}",
        "dialect": facts.dialect or "the one set",
        "status": facts.status or "?",
        "error": _line(facts.error),
        "problem": _line(facts.problem) or "the tape cannot be read",
        "lost": facts.lost,
    }
    return sentence.format_map(values)


def _line(text: str | None) -> str:
    """A sentence of somebody else, as a part of ours."""
    return " ".join((text or "")[: 2 * _LONG].split()).removesuffix(".")


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1].rstrip() + "…"
