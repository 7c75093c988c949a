"""Moves of the machine in words."""

from __future__ import annotations

from transformer import DIALECTS, Rule, Transition
from workbench.player.player import Player
from workbench.why.meanings import awaited, state_meaning, token_meaning
from workbench.why.quotes import quote

_PLAIN = ("text", "space", "end")
# The machine's own way out, which is in no table.
_TOO_LONG = "the call is longer than max_call_bytes allows"


def move_words(player: Player, move: Transition) -> str:
    """State, token, rule, and where that led."""
    dialect = player.dialect
    meaning = state_meaning(dialect, move.state)
    state = f"state {move.state} ({meaning})" if meaning else f"state {move.state}"
    why = rule_why(player, move)
    reason = f" ({why})" if why else ""
    led = f"stayed in {move.to}" if move.to == move.state else f"went to {move.to}"
    return f"In {state} it met {_met(dialect, move)}; rule {move.rule} fired{reason} and it {led}."


def _met(dialect: str, move: Transition) -> str:
    said = f" {quote(move.text)}" if move.text else ""
    meaning = token_meaning(dialect, move.token)
    if move.token in _PLAIN:
        return f"{meaning}{said}"
    return f"{move.token}{said}, {meaning}"


def rule_why(player: Player, move: Transition) -> str:
    """What the table says about it; empty where the table of today has no such rule."""
    if move.rule == "too long":
        return _TOO_LONG
    rule = _rule(player, move)
    return "" if rule is None or rule.name != move.rule else rule.why


def _rule(player: Player, move: Transition) -> Rule | None:
    dialect = DIALECTS.get(player.dialect)
    if dialect is None:
        return None
    pair = ((state, token) for state in dialect.states if state == move.state for token in dialect.tokens)
    found = next((one for one in pair if one[1] == move.token), None)
    return None if found is None else dialect.transitions[found]


def held_words(move: Transition) -> str | None:
    """What is held back behind a move, and what for."""
    if not move.held:
        return None
    are = "1 character is" if move.held == 1 else f"{move.held} characters are"
    return f"{are} held back now: waiting for {awaited(move.to)}."
