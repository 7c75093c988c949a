"""A row of the replay in words."""

from __future__ import annotations

from transformer import Event, Finding, Transition
from workbench.player.panes import Pane
from workbench.player.player import Player
from workbench.tape import Line
from workbench.why.cases import start_of
from workbench.why.deltas import why_delta
from workbench.why.finding import why_finding
from workbench.why.lines import why_line
from workbench.why.moves import held_words, move_words
from workbench.why.reads import why_read
from workbench.why.remedies import MENDABLE
from workbench.why.seen import seen_at, why_seen
from workbench.why.trace import backward, channel_of, findings_from, index_of
from workbench.why.why import Why


def why_row(player: Player, pane: Pane, row: int) -> Why:
    """Why a row is there and what it means."""
    item = player.item(pane, row)
    if isinstance(item, Line):
        return why_line(player, item)
    if isinstance(item, int):
        return why_read(player, item)
    if isinstance(item, Transition):
        return why_move(player, item)
    if isinstance(item, Finding):
        return why_finding(player, item)
    assert not isinstance(item, Event)  # events are no rows
    return why_delta(player, item)


def why_move(player: Player, move: Transition) -> Why:
    """One move of the machine; where its call failed in the end, that too."""
    sentences = [move_words(player, move)]
    at = index_of(player, move)
    before = next(backward(player, at, channel_of(move.span)), None) if at is not None else None
    if before is not None and before.span.start > move.span.start:
        sentences.append("The answer was over by then, and this text was read a second time.")
    if (held := held_words(move)) is not None:
        sentences.append(held)
    finding = finding_of_call(player, move)
    title = f"{move.state} → {move.to}: {move.rule}"
    if finding is None:
        seen = seen_at(player, channel_of(move.span), move.span.start, move.span.end)
        later = why_seen(player, seen[0]) if seen else None
        return Why(title, (*sentences, *(later.sentences if later else ())), later.remedies if later else ())
    if move.call is not None:
        sentences.append(
            f"It belongs to call {move.call + 1}, which ended in {finding.code} ({finding.level})."
        )
    later = why_finding(player, finding)
    return Why(title, tuple(dict.fromkeys((*sentences, *later.sentences))), later.remedies)


def finding_of_call(player: Player, move: Transition) -> Finding | None:
    """What was found about the call that a move is part of."""
    found = None
    for finding in findings_from(player, move.event):
        span = finding.span
        if channel_of(span) != channel_of(move.span) or finding.code not in MENDABLE:
            continue
        if finding.code == "text-after-call" or span.end < move.span.end:
            continue
        start = start_of(player, finding)
        if start is not None and start <= move.span.start and (found is None or _worse(finding, found)):
            found = finding
    return found


def _worse(one: Finding, other: Finding) -> bool:
    """An error says more than a warning; of two alike the first one counts."""
    return one.level == "error" != other.level
