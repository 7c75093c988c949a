"""The context of a call: what a remedy comes to with the text before it."""

from __future__ import annotations

from typing import Any

from transformer import Delta, Policy
from workbench.player.player import Player
from workbench.variants.changes import Offer, Retext, Switch
from workbench.why.cases import Slice
from workbench.why.edits import Edit, applied
from workbench.why.trace import channel_of, client_deltas, event_of, text_of
from workbench.why.trial import Trial
from workbench.why.why import Remedy

# More text than this before a call is not read again for it.
_BEFORE = 8_000
_DIALECT = "dialect"
_CALLS = "calls"
# What a trial sets as it needs it.
_ITS_OWN = frozenset({_DIALECT, _CALLS, "channels"})


def in_context(player: Player, piece: Slice, remedy: Remedy) -> Remedy | None:
    """The remedy as it must be where the call stands; None if it does not help there."""
    if remedy.tool is None:
        return remedy
    trial = _trial(player, piece, remedy)
    if trial.raw or not _holds(player, piece, remedy, trial):
        return None
    if _switched(remedy) & {_CALLS, _DIALECT} or not _is_second(player, piece):
        return remedy
    if wants_one_call(player):
        return None
    if trial.policy.calls == "all":
        return remedy
    words = f"with calls = all and {remedy.words.removeprefix('with ')}"
    return Remedy(words, (Switch(_CALLS, "all"), *remedy.changes), remedy.tool)


def wants_one_call(player: Player) -> bool:
    """The request itself says so, and no policy is above that."""
    request = player.header.get("request")
    return isinstance(request, dict) and request.get("parallel_tool_calls") is False


def _is_second(player: Player, piece: Slice) -> bool:
    """The client got a call before this one."""
    first = first_call(player, piece.channel[0])
    if first is None or first.span is None or channel_of(first.span) != piece.channel:
        return first is not None and first.event < event_of(player, piece.channel, piece.start)
    return first.span.start < piece.start


def _holds(player: Player, piece: Slice, remedy: Remedy, trial: Trial) -> bool:
    """The promised call comes out where it stands. Far from the beginning that is taken for granted."""
    if piece.gap or piece.start > _BEFORE:
        return True
    before = text_of(player, piece.channel, 0, piece.start)
    edits = [
        Edit(change.start, change.end, change.text, "")
        for change in remedy.changes
        if isinstance(change, Retext)
    ]
    reading = trial.read(applied(before + piece.text, edits), **_policies(remedy))
    grown = sum(len(edit.text) + edit.end - edit.start for edit in edits)
    return any(
        call.whole and call.name == remedy.tool and abs(call.start - piece.start) <= grown
        for call in reading.calls
    )


def _trial(player: Player, piece: Slice, remedy: Remedy) -> Trial:
    trial = Trial.of(player, piece.channel[0])
    offers = [change.tool for change in remedy.changes if isinstance(change, Offer)]
    dialects = [one.value for one in remedy.changes if isinstance(one, Switch) and one.key == _DIALECT]
    return trial.otherwise(dialects[0] if dialects else trial.dialect, offers[0] if offers else None)


def _switched(remedy: Remedy) -> set[str]:
    return {change.key for change in remedy.changes if isinstance(change, Switch)}


def _policies(remedy: Remedy) -> dict[str, Any]:
    """The policies that a remedy sets, as they are read."""
    said = {change.key: change.value for change in remedy.changes if isinstance(change, Switch)}
    policy = Policy.from_mapping({key: value for key, value in said.items() if key not in _ITS_OWN})
    return policy.said()


def first_call(player: Player, choice: int) -> Delta | None:
    """The first call that the client got of a choice."""
    parts = (player.completion or {}).get("choices")
    if not any(part.get("message", {}).get("tool_calls") for part in parts or () if isinstance(part, dict)):
        return None
    calls = (delta for delta in client_deltas(player) if delta.kind in ("call", "native"))
    return next((delta for delta in calls if delta.choice == choice), None)
