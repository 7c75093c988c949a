"""How a dialect writes its table down: a block for each state, every token decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

from transformer.dialect import Rule, Table

Tokens: TypeAlias = StrEnum | tuple[StrEnum, ...]


def table(
    tokens: Sequence[StrEnum], blocks: Mapping[StrEnum, tuple[Mapping[Tokens, Rule], Rule | None]]
) -> Table:
    """Spell out `state -> ({token or tokens: rule}, rule for all others)` for every pair.

    A block that leaves a token undecided, or decides one twice, is a mistake in the dialect and
    stops the import.
    """
    spelled: dict[tuple[StrEnum, StrEnum], Rule] = {}
    for state, (rules, otherwise) in blocks.items():
        decided: dict[StrEnum, Rule] = {}
        for group, rule in rules.items():
            for token in group if isinstance(group, tuple) else (group,):
                if token in decided:
                    raise ValueError(f"{state} decides {token} twice")
                decided[token] = rule
        for token in tokens:
            found = decided.get(token, otherwise)
            if found is None:
                raise ValueError(f"{state} does not decide {token}")
            spelled[state, token] = found
    return spelled
