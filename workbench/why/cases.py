"""A case: one call of an answer about which something was found, with its text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from transformer import Finding, Transition
from workbench.player.player import Player
from workbench.variants.changes import Retext
from workbench.why.edits import Edit
from workbench.why.trace import (
    Channel,
    backward,
    channel_of,
    event_of,
    first_record,
    forward,
    index_of,
    text_of,
)
from workbench.why.trial import Trial

# Rules of the tables with which a call may begin.
_BEGINS = frozenset(
    {
        "begin call", "begin call anew", "begin unknown call", "begin unknown anew", "break off",
        "begin wrapper", "begin wrapper anew", "begin function", "begin function anew",
        "complete then wrapper", "complete then function", "complete then call", "no call then call",
    }
)  # fmt: skip
# How much of a long call is looked at, at each of its ends; and how much of what stands behind it.
_HALF = 8_000
# Findings whose place begins inside the call, not with it.
_INSIDE = frozenset(
    {
        "unclosed-parameter", "malformed-call", "repaired-parameter", "ambiguous-end", "duplicate-parameter",
        "value-not-of-type", "invalid-arguments",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slice:
    """Characters of a channel from `start` on; of a long call `gap` characters behind `cut` are left out."""

    channel: Channel
    start: int
    text: str
    cut: int = 0
    gap: int = 0

    def place(self, at: int) -> int:
        """Where a character of the slice stands in the channel."""
        return self.start + at + (self.gap if self.gap and at >= self.cut else 0)

    def retexts(self, edits: Iterable[Edit]) -> tuple[Retext, ...]:
        return tuple(
            Retext(*self.channel, self.place(edit.start), self.place(edit.end), edit.text) for edit in edits
        )


def slice_of(player: Player, channel: Channel, start: int, end: int) -> Slice:
    """A call and what stands behind it."""
    if end - start <= 2 * _HALF:
        return Slice(channel, start, text_of(player, channel, start, end + _HALF))
    head = text_of(player, channel, start, start + _HALF)
    tail = text_of(player, channel, end - _HALF, end + _HALF)
    return Slice(channel, start, head + tail, _HALF, end - start - 2 * _HALF)


@dataclass(frozen=True, slots=True)
class Case:
    """`start` is where the call begins."""

    player: Player
    finding: Finding
    trial: Trial
    start: int
    slice: Slice

    @property
    def text(self) -> str:
        return self.slice.text


def start_of(player: Player, finding: Finding) -> int | None:
    """Where the call begins that a finding is about."""
    if finding.code not in _INSIDE:
        return finding.span.start
    return call_start(player, channel_of(finding.span), finding.span.start)


def call_start(player: Player, channel: Channel, character: int) -> int | None:
    """Where the call begins that a character is in; None where that is too far away."""
    at = first_record(player, event_of(player, channel, character))
    began: Transition | None = None
    for move in forward(player, at, channel):
        if move.rule in _BEGINS and move.span.start <= character:
            began = move
        if move.span.start >= character:
            break
        at += 1
    if began is not None:
        return _whole_start(player, channel, began)
    for move in backward(player, at, channel):
        if move.rule in _BEGINS and move.span.start <= character:
            return _whole_start(player, channel, move)
    return None


def _whole_start(player: Player, channel: Channel, move: Transition) -> int:
    """The wrapper around a call is its beginning."""
    if move.state == "wrapper" and move.rule == "begin function":
        at = index_of(player, move)
        for earlier in backward(player, at or 0, channel):
            if earlier.rule != "hold":
                return earlier.span.start
    return move.span.start


def case_of(player: Player, finding: Finding) -> Case | None:
    """None where the finding is about no text, or about a call that begins too far away."""
    if not finding.span.channel:
        return None
    start = start_of(player, finding)
    if start is None:
        return None
    channel = channel_of(finding.span)
    piece = slice_of(player, channel, start, max(start, finding.span.end))
    return Case(player, finding, Trial.of(player, finding.span.choice), start, piece)
