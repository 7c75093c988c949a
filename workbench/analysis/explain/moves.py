"""Moves of the machine in words, with its states and tokens, which fit into a sentence."""

from __future__ import annotations

from transformer.dialects import loaded_dialect
from transformer.records import Transition
from transformer.wording import quote
from workbench.replay.player import Player


def chosen_dialect(player: Player, choice: int = 0) -> str:
    """The tape's dialect; where that one chooses another, the one it chose, as the finding tells."""
    own = loaded_dialect(player.dialect)
    if own is None or not own.chooses:
        return player.dialect
    told = (one for one in player.findings if one.code == "dialect-chosen" and one.span.choice == choice)
    return next((str(one.values.get("dialect")) for one in told), player.dialect)


def dialect_of(player: Player, state: str, choice: int = 0) -> str:
    """The dialect whose state it is: before it chose, the tape's own is in states of its own."""
    own = loaded_dialect(player.dialect)
    return player.dialect if own is not None and state in own.states else chosen_dialect(player, choice)


def state_meaning(dialect: str, state: str) -> str:
    """What this state means; empty for one that no current dialect has."""
    known = loaded_dialect(dialect)
    return known.states_in_words.get(state, "") if known is not None else ""


def token_meaning(dialect: str, token: str) -> str:
    known = loaded_dialect(dialect)
    return known.tokens_in_words.get(token, token) if known is not None else token


def awaited(player: Player, state: str, choice: int = 0) -> str:
    """What would decide about text that is held back in this state."""
    known = loaded_dialect(dialect_of(player, state, choice))
    usual = "the next characters: a call may begin here"
    return known.waits_for.get(state, usual) if known is not None else usual


_PLAIN = ("text", "space", "end")


def move_words(player: Player, move: Transition) -> str:
    """State, token, rule, and where that led."""
    dialect = move.dialect
    meaning = state_meaning(dialect, move.state)
    state = f"state {move.state} ({meaning})" if meaning else f"state {move.state}"
    because = "; ".join(filter(None, (move.why, move.policy)))
    reason = f" ({because})" if because else ""
    led = f"stayed in {move.to}" if move.to == move.state else f"went to {move.to}"
    return f"In {state} it met {_met(dialect, move)}; rule {move.rule} fired{reason} and it {led}."


def _met(dialect: str, move: Transition) -> str:
    said = f" {quote(move.text)}" if move.text else ""
    meaning = token_meaning(dialect, move.token)
    if move.token in _PLAIN:
        return f"{meaning}{said}"
    guard = f" ({move.guard})" if move.guard else ""
    return f"{move.token}{said}, {meaning}{guard}"


def held_words(player: Player, move: Transition) -> str | None:
    """What is held back after a move, and why."""
    if not move.held:
        return None
    are = "1 character is" if move.held == 1 else f"{move.held} characters are"
    return f"{are} held back now: waiting for {awaited(player, move.to, move.span.choice)}."
