"""Two exchanges beside each other: what was asked, what was answered, the calls, how the parser moved, what
the client got, line by line, and where they first differ.

Rows that say more of the same (text after text in one state) are one line here: two answers are cut into
different pieces even where they say the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from transformer.answer.observations import choices_of
from transformer.records import Delta, Finding, Transition
from workbench.analysis.requests import readable
from workbench.analysis.variants.difference import gaps, numbered
from workbench.analysis.verdicts import Verdict, facts_of_player, verdict
from workbench.replay.player import Pane, Player

Kind: TypeAlias = Literal["same", "changed", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Aligned:
    """A line of each side; None if that side has none."""

    kind: Kind
    left: str | None
    right: str | None


@dataclass(frozen=True, slots=True)
class Section:
    """One part of two exchanges."""

    name: str
    lines: tuple[Aligned, ...]

    @property
    def first(self) -> int | None:
        """The line with which they begin to differ."""
        return next((at for at, line in enumerate(self.lines) if line.kind != "same"), None)

    @property
    def same(self) -> bool:
        return self.first is None

    @property
    def differing(self) -> int:
        return sum(line.kind != "same" for line in self.lines)


@dataclass(frozen=True, slots=True)
class ExchangeDifference:
    """The comparison of two exchanges; `verdicts` has the verdict on each."""

    verdicts: tuple[Verdict, Verdict]
    sections: tuple[Section, ...]

    @property
    def first(self) -> tuple[int, int] | None:
        """Section and line of the first divergence; None: they say the same."""
        for at, section in enumerate(self.sections):
            if section.first is not None:
                return at, section.first
        return None

    @property
    def sentence(self) -> str:
        found = self.first
        if found is None:
            return "both say the same"
        section = self.sections[found[0]]
        others = [one.name for one in self.sections if not one.same and one is not section]
        also = f", then in {', '.join(others)}" if others else ""
        return f"they differ first in {section.name}, line {found[1] + 1}{also}"


def compare(left: Player, right: Player) -> ExchangeDifference:
    """Compares two players that have played all of their tapes."""
    parts: Sequence[tuple[str, Callable[[Player], Iterable[str]]]] = (
        ("prompt", _prompt),
        ("message", _message),
        ("calls", _calls),
        ("machine", lambda player: _rows(player, Pane.MACHINE)),
        ("client", lambda player: _rows(player, Pane.CLIENT)),
    )
    sections = tuple(Section(name, tuple(align(list(of(left)), list(of(right))))) for name, of in parts)
    judged = (verdict(facts_of_player(left, live=False)), verdict(facts_of_player(right, live=False)))
    return ExchangeDifference(judged, sections)


def align(left: Sequence[str], right: Sequence[str]) -> Iterator[Aligned]:
    """Lines beside each other, in nearly linear time."""
    numbers: dict[Any, int] = {}
    at = to = 0
    for gap in gaps(numbered(left, numbers), numbered(right, numbers)):
        yield from (Aligned("same", line, line) for line in left[at : gap.a])
        yield from _replaced(left[gap.a : gap.a_end], right[gap.b : gap.b_end])
        at, to = gap.a_end, gap.b_end
    yield from (Aligned("same", one, other) for one, other in zip(left[at:], right[to:], strict=True))


_MOST = 250_000  # pairs of lines that are compared; if there are more, lines are paired in their order


def _replaced(left: Sequence[str], right: Sequence[str]) -> Iterator[Aligned]:
    """Similar lines are put beside each other; all others are removed or new."""
    at = to = 0
    for one, other in _pairs(left, right):
        yield from (Aligned("removed", line, None) for line in left[at:one])
        yield from (Aligned("added", None, line) for line in right[to:other])
        same = left[one] == right[other]
        yield Aligned("same" if same else "changed", left[one], right[other])
        at, to = one + 1, other + 1
    yield from (Aligned("removed", line, None) for line in left[at:])
    yield from (Aligned("added", None, line) for line in right[to:])


def _pairs(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Which lines belong together, in order: as much as possible of what they have in common."""
    if len(left) * len(right) > _MOST:
        return [(at, at) for at in range(min(len(left), len(right)))]
    if len(left) == len(right) == 1:
        return [(0, 0)]
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    alike = [[_alike(one, other) for other in right] for one in left]
    for at in range(len(left) - 1, -1, -1):
        for to in range(len(right) - 1, -1, -1):
            paired = alike[at][to] + best[at + 1][to + 1] if alike[at][to] else 0
            best[at][to] = max(paired, best[at + 1][to], best[at][to + 1])
    found, at, to = [], 0, 0
    while at < len(left) and to < len(right):
        if alike[at][to] and best[at][to] == alike[at][to] + best[at + 1][to + 1]:
            found.append((at, to))
            at, to = at + 1, to + 1
        elif best[at][to] == best[at + 1][to]:
            at += 1
        else:
            to += 1
    return found


def _alike(one: str, other: str) -> int:
    """How many characters two lines have in common at their ends; 0 where that is less than a third."""
    most = min(len(one), len(other))
    start = next((at for at in range(most) if one[at] != other[at]), most)
    end = next((at for at in range(most - start) if one[-1 - at] != other[-1 - at]), most - start)
    return start + end if 3 * (start + end) >= max(len(one), len(other)) and most else 0


def _prompt(player: Player) -> Iterable[str]:
    """What the model was asked: the request as it went upstream."""
    sent = player.header.get("upstream_request") or player.header.get("request")
    try:
        return readable(sent) if isinstance(sent, Mapping) else []
    except RecursionError:
        return ["(nested too deep to be compared)"]


def _message(player: Player) -> Iterator[str]:
    for choice in choices_of(player.completion):
        for name, text in choice.reasoning.items():
            yield f"{name}:"
            yield from (f"  {line}" for line in text.split("\n"))
        if choice.content:
            yield from choice.content.split("\n")
        yield f"finish_reason: {choice.finish}"


def _calls(player: Player) -> Iterator[str]:
    """Without ids, which differ in every answer; arguments member by member."""
    for choice in choices_of(player.completion):
        for call in choice.calls:
            yield call.name or "(no name)"
            yield from _arguments(call.arguments)


def _arguments(text: str) -> Iterator[str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        yield from (f"  {line}" for line in text.split("\n"))
        return
    for key, member in value.items():
        shown = member if isinstance(member, str) else json.dumps(member, ensure_ascii=False)
        first, *rest = shown.split("\n")
        yield f"  {key}: {first}"
        yield from (f"    {line}" for line in rest)


def _rows(player: Player, pane: Pane) -> Iterator[str]:
    """Rows that say more of the same are joined."""
    key: object = None
    text = ""
    for row in range(len(player.rows(pane))):
        item = player.item(pane, row)
        if isinstance(item, Transition):
            way = item.state if item.state == item.to else f"{item.state} → {item.to}"
            new: tuple[object, ...] = (way, item.rule)
            said = item.text
        elif isinstance(item, Delta):
            new, said = (item.kind, f"#{item.choice}", item.name), item.text
        elif isinstance(item, Finding):
            new, said = (item.code,), item.message
        else:
            continue  # lines of the tape itself: times, statuses and what was sent
        if new == key:
            text += said
            continue
        if key is not None:
            yield _joined(key, text)
        key, text = new, said
    if key is not None:
        yield _joined(key, text)


def _joined(key: object, text: str) -> str:
    words = [str(word) for word in (key if isinstance(key, tuple) else ()) if word]
    return " ".join([*words, text.replace("\n", "\\n")]).rstrip()
