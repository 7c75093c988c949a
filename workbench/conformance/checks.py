"""Checks: what is said of a rule, at the place in the stream where it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from transformer.records import Event, Finding, Level, Span
from workbench.conformance.rules import RULES

_LONGEST = 60
_ORDER: tuple[Level, ...] = ("info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Check(Finding):
    """A finding that no transformer makes: it is about the clients of an answer that nobody converts."""


class Tally:
    """The breaches of one call, or of all that is no call: each rule is told of once, then counted."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def is_first(self, code: str) -> bool:
        self.counts[code] += 1
        return self.counts[code] == 1

    @property
    def level(self) -> Level:
        """The worst one."""
        return max((RULES[code].level for code in self.counts), key=_ORDER.index, default="info")

    def __str__(self) -> str:
        if not self.counts:
            return "conforms"
        broken = [f"{code}{f' ({count} times)' if count > 1 else ''}" for code, count in self.counts.items()]
        return f"breaks {', '.join(broken)}"


def make_check(
    code: str,
    event: Event,
    said: Mapping[str, object],
    *,
    choice: int = 0,
    call: int | None = None,
    level: Level | None = None,
) -> Check:
    """`said` fills the rule's sentence in; `level` is another one than the rule's own."""
    rule = RULES[code]
    place = Span(choice, "", 0, 0, event.number)
    message = rule.sentence.format_map(said)
    return Check(event.seq, event.read, event.number, code, level or rule.level, message, place, call)


def short(text: object) -> str:
    """Somebody else's word as a part of our sentence."""
    said = str(text)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
