"""passthrough: nothing is parsed, every byte goes on unchanged."""

from __future__ import annotations

import re
from enum import StrEnum, auto

from transformer.calls.tags import ignore, prose
from transformer.dialect import Dialect, Rule
from transformer.dialects.tables import table
from transformer.lexer import Lexicon
from transformer.machine import Machine
from transformer.policy import USUAL, Policy


class State(StrEnum):
    TEXT = auto()
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    END = auto()


_NOTHING = re.compile(r"(?!)")
_LEXICON = Lexicon(_NOTHING, _NOTHING, _NOTHING)


def classify(m: Machine, text: str, match: re.Match[str]) -> tuple[StrEnum, str]:
    return Token.TEXT, ""


def undecided(m: Machine, text: str, start: int) -> bool:
    return False


TRANSITIONS = table(
    tuple(Token),
    {
        State.TEXT: (
            {
                Token.TEXT: Rule(State.TEXT, prose, "everything goes on as it came"),
                Token.END: Rule(State.DONE, ignore, "the answer is over"),
            },
            None,
        ),
        State.DONE: ({}, Rule(State.DONE, ignore, "nothing comes behind the end")),
    },
)

PASSTHROUGH = Dialect(
    name="passthrough",
    summary="no calls in the text: the answer's bytes reach the client unchanged",
    policy=Policy(
        tools="pass",
        calls="all",
        arguments="stream",
        after_call="keep",
        finish_reason="upstream",
        channels=(),
    ).over(USUAL),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    lexicons=dict.fromkeys(State, _LEXICON),
    classify=classify,
    undecided=undecided,
)
