"""Proofs: the step of a player at which one sees why a verdict is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transformer import Delta, Finding
from transformer.answer.observations import OBSERVED, Observation
from workbench.player.panes import Pane
from workbench.player.player import Player
from workbench.tape import Line
from workbench.verdicts.facts import observations_of
from workbench.verdicts.judging import Verdict
from workbench.verdicts.kinds import Kind


def proof(player: Player, verdict: Verdict) -> int | None:
    """The step to go to; None where there is nothing to see."""
    code = verdict.finding_code
    if code in OBSERVED:
        seen = next((one for one in observations_of(player) if one.code == code), None)
        return None if seen is None else _seen(player, seen)
    if code is not None:
        found = _first(player, Pane.MACHINE, lambda item: _is_finding(item, code))
        if found is not None:
            return found
    return _of_kind(player, verdict.kind)


def _of_kind(player: Player, kind: Kind) -> int | None:
    if kind in (Kind.CONVERTED, Kind.NATIVE, Kind.DOUBTFUL):
        return _delta(player, "call", "native")
    if kind is Kind.UPSTREAM:
        refused = _first(player, Pane.UPSTREAM, _is_refusal)
        return refused if refused is not None else _end(player)
    if kind is Kind.INCOMPLETE:
        gap = _first(player, Pane.UPSTREAM, lambda item: isinstance(item, Line) and item.kind == "lost")
        return gap if gap is not None else _last(player)
    if kind in (Kind.GONE, Kind.FAILED):
        return _end(player)
    if kind is Kind.RUNNING:
        return _last(player)
    return _delta(player, "finish")


def _seen(player: Player, seen: Observation) -> int | None:
    if seen.channel:
        return _delta_at(player, seen)
    if seen.call is not None:
        # A native call has no delta of its own kind: the first of them is as near as it gets.
        return _delta(player, "call", "native", choice=seen.choice)
    if seen.code == "nothing-offered":
        return 0 if player.steps else None
    return _delta(player, "finish", choice=seen.choice)


def _delta_at(player: Player, seen: Observation) -> int | None:
    """The delta that brought the character with which the place begins."""
    kind = "content" if seen.channel == "content" else "reasoning"
    deltas = [
        (step, item)
        for step, item in _items(player, Pane.CLIENT)
        if isinstance(item, Delta) and item.kind == kind and item.choice == seen.choice
    ]
    channels = {item.span.channel for _, item in deltas if item.span is not None}
    at = 0
    for step, item in deltas:
        # Two fields of reasoning that differ are two channels, and each counts its own characters.
        if kind == "reasoning" and len(channels) > 1 and item.span and item.span.channel != seen.channel:
            continue
        at += len(item.text)
        if at > seen.start:
            return step
    return None


def _items(player: Player, pane: Pane) -> Iterator[tuple[int, object]]:
    for row, step in enumerate(player.rows(pane).steps):
        yield step, player.item(pane, row)


def _first(player: Player, pane: Pane, wanted: Callable[[object], bool]) -> int | None:
    return next((step for step, item in _items(player, pane) if wanted(item)), None)


def _delta(player: Player, *kinds: str, choice: int | None = None) -> int | None:
    return _first(
        player,
        Pane.CLIENT,
        lambda item: isinstance(item, Delta) and item.kind in kinds and choice in (None, item.choice),
    )


def _end(player: Player) -> int | None:
    return _first(player, Pane.UPSTREAM, lambda item: isinstance(item, Line) and item.kind == "end")


def _last(player: Player) -> int | None:
    return player.steps - 1 if player.steps else None


def _is_finding(item: object, code: str) -> bool:
    if isinstance(item, Finding):
        return item.code == code
    return isinstance(item, Line) and item.value.get("finding") == code


def _is_refusal(item: object) -> bool:
    status = item.value.get("status") if isinstance(item, Line) else None
    return isinstance(status, int) and status >= 400
