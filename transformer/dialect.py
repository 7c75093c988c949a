"""A dialect: one way to write calls as text, as a table and what the table needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from transformer.lexer import Lexicon
from transformer.policy import Policy

if TYPE_CHECKING:
    from transformer.machine import Machine

Action = Callable[["Machine", str, str], None]


class Rule(NamedTuple):
    """What one token does in one state: where it leads, what is done, and why that is right."""

    to: StrEnum
    action: Action
    why: str

    @property
    def name(self) -> str:
        return self.action.__name__.replace("_", " ")


Table = Mapping[tuple[StrEnum, StrEnum], Rule]


@dataclass(frozen=True)
class Dialect:
    """One way to write calls as text: its table, how its text becomes tokens, and its defaults."""

    name: str
    summary: str
    policy: Policy
    states: tuple[StrEnum, ...]
    tokens: tuple[StrEnum, ...]
    transitions: Table
    lexicons: Mapping[StrEnum, Lexicon]  # per state
    classify: Callable[[Machine, str, re.Match[str]], tuple[StrEnum, str]]
    undecided: Callable[[Machine, str, int], bool]
    leftover: Callable[[Machine, str], StrEnum] | None = None  # a beginning of a token at the end
    fenced: bool = False  # code fences make a difference
    ids: Literal["generated", "upstream"] = "generated"
    own_json: bool = False  # arguments are JSON as the model wrote it

    @property
    def initial(self) -> StrEnum:
        return self.states[0]

    @cached_property
    def text(self) -> StrEnum:
        """The token for characters that mean nothing."""
        return self._token("text")

    @cached_property
    def space(self) -> StrEnum:
        """The token for whitespace that means nothing; a dialect may make no difference."""
        return self._token("space") if "space" in self.tokens else self.text

    @cached_property
    def end(self) -> StrEnum:
        """The token for the end of the answer."""
        return self._token("end")

    def _token(self, word: str) -> StrEnum:
        return next(token for token in self.tokens if token == word)

    @cached_property
    def compiled(self) -> dict[StrEnum, tuple[dict[StrEnum, Rule], Lexicon]]:
        """The table by state, so that a step is one lookup."""
        return {
            state: ({token: self.transitions[state, token] for token in self.tokens}, self.lexicons[state])
            for state in self.states
        }
