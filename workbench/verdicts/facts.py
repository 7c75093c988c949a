"""Facts: the few things about an exchange that its verdict depends on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from transformer import Finding
from transformer.answer.observations import Observation, choices_of
from transformer.answer.review import observed
from workbench.player.player import Player
from workbench.tape import Line

if TYPE_CHECKING:
    from workbench.library.rows import Row

_FAILED = "transformer-failed"


@dataclass(frozen=True, slots=True)
class Facts:
    """An index row has all of them but `said`: the sentences of the findings, by code."""

    state: str = "running"
    status: int | None = None
    calls: int = 0
    findings: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    kind: str | None = None
    dialect: str | None = None
    lost: int = 0
    problem: str | None = None
    said: Mapping[str, str] = field(default_factory=dict)

    def has(self, code: str) -> bool:
        return bool(self.findings.get(code))


def facts_of_row(row: Row) -> Facts:
    """Without opening the tape."""
    return Facts(
        row.state,
        row.status,
        row.calls,
        row.findings,
        row.error,
        row.kind,
        row.dialect,
        row.lost,
        row.problem,
    )


def facts_of_player(
    player: Player, *, live: bool = True, seen: tuple[Observation, ...] | None = None
) -> Facts:
    """From the tape itself. `live`: somebody still writes a tape that has no end. `seen` saves a second look.

    Linear in the answer: while a tape grows, a few times a second is often enough.
    """
    answer, end = answer_of(player), player.end.value if player.end is not None else {}
    seen = observations_of(player, answer) if seen is None else seen
    told = [(finding.code, _placed(finding)) for finding in player.findings]
    told += [_told(line) for line in player.lines if line.kind == "finding"]
    told += [(seen_one.code, seen_one.message) for seen_one in seen]
    counts = Counter(code for code, _ in told)
    failure = player.problem if player.mode != "plain" else None
    if failure is not None or _FAILED in _object(end.get("findings")):
        counts[_FAILED] += 1  # today, or on the day
    said = dict(reversed(told)) | ({_FAILED: failure} if failure else {})
    return Facts(
        _state(player, live),
        player.status.get("client"),
        sum(len(choice.calls) for choice in choices_of(answer)),
        counts,
        _error(end.get("error")),
        _text(player.header.get("kind")),
        _text(player.header.get("dialect")),
        sum(_lines(line) for line in player.lines if line.kind == "lost"),
        player.problem,
        said,
    )


def observations_of(player: Player, answer: dict[str, Any] | None = None) -> tuple[Observation, ...]:
    """What the observer says of a player's answer as far as it has come."""
    answer = answer_of(player) if answer is None else answer
    if answer is None:
        return ()
    header = player.header
    policy = header.get("policy")
    return observed(
        answer, header.get("request"), player.dialect, policy if isinstance(policy, Mapping) else None
    )


def answer_of(player: Player) -> dict[str, Any] | None:
    """The answer as the client got it, whichever way it came."""
    return player.completion


def _state(player: Player, live: bool) -> str:
    if player.problem is not None and player.mode == "plain":
        return "damaged"  # as the index has it: nobody can say how this was to be converted
    if player.end is not None:
        return str(player.end.value.get("end"))
    return "running" if live else "cut"


def _placed(finding: Finding) -> str:
    span = finding.span
    return (
        f"{finding.message} ({span.channel}, from character {span.start})"
        if span.channel
        else finding.message
    )


def _told(line: Line) -> tuple[str, str]:
    return str(line.value.get("finding")), str(line.value.get("message") or "")


def _lines(line: Line) -> int:
    lines = _object(line.value.get("lost")).get("lines")
    return lines if type(lines) is int and lines > 0 else 0


def _error(error: object) -> str | None:
    """As the index has it."""
    message = error.get("message", error) if isinstance(error, Mapping) else error
    return None if message is None else str(message)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
