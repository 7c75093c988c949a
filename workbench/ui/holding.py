"""What needs attention right now: text that is held back, a view that stands still."""

from __future__ import annotations

import time

from transformer import DIALECTS
from workbench.player.player import Player
from workbench.player.tracks import Held

_WORTH_SAYING = 0.5  # seconds


def alarm(player: Player, paused_at: int | None, running: bool = True) -> str:
    """A few words, or nothing. `running`: somebody still writes a tape that has no end."""
    if paused_at is not None:
        return f"PAUSED, {player.steps - 1 - paused_at} new steps (space goes on)"
    held = player.held_at(player.steps - 1) if running and not player.complete else None
    if held is None:
        return ""
    seconds = max(0.0, _clock(player) - held.since)
    if seconds < _WORTH_SAYING:
        return ""
    return f"HELD BACK {characters(held.characters)} for {seconds:.1f} s, {waiting_for(player, held)}"


def characters(number: int) -> str:
    return "1 character" if number == 1 else f"{number:,} characters"


def _clock(player: Player) -> float:
    """Where the tape would be by now, were there anything to record."""
    started = player.header.get("started")
    return max(player.now, time.time() - started) if isinstance(started, float) else player.now


def waiting_for(player: Player, held: Held) -> str:
    """The tokens that lead out of the state that holds the text."""
    if not held.state:
        return "perhaps the beginning of a marker"
    dialect = DIALECTS.get(player.dialect)
    rules = dialect.transitions.items() if dialect is not None else ()
    out = [token for (state, token), rule in rules if state == held.state and rule.to != state]
    return f"in state {held.state}, waiting for {' or '.join(out[:3])}" if out else f"in state {held.state}"
