"""auto: reads nothing itself; it looks for the first call, in whatever dialect that is written."""

from __future__ import annotations

import re
from enum import StrEnum, auto

from transformer.parser.dialect import USUAL_TOKENS, Dialect, Lexicon, Rule, table
from transformer.parser.machine import ignore, prose
from transformer.policy import USUAL, Policy
from transformer.records import Effect as E


class State(StrEnum):
    LOOKING = auto()
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    END = auto()


S, T = State, Token

_NOTHING = re.compile(r"(?!)")
_LEXICON = Lexicon(_NOTHING, _NOTHING, _NOTHING)


def read(match: re.Match[str]) -> tuple[StrEnum, str]:
    return T.TEXT, ""


AUTO = Dialect(
    name="auto",
    summary="recognises the dialect from the first call in the answer, and reads on in that",
    policy=Policy(
        tools="pass",
        in_think="call",
        channels=("content", "reasoning"),
    ).over(USUAL),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=table(
        tuple(Token),
        {
            S.LOOKING: (
                {T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over, and no call was in it")},
                Rule(S.LOOKING, E.PROSE, prose, "no call of any dialect begins here"),
            ),
            S.DONE: ({}, Rule(S.DONE, E.NONE, ignore, "nothing comes after the end")),
        },
    ),
    lexicons=dict.fromkeys(State, _LEXICON),
    read=read,
    states_in_words={
        S.LOOKING: "in the prose, looking for the first call in any dialect",
        S.DONE: "after the end of the answer",
    },
    tokens_in_words=USUAL_TOKENS,
    fenced=True,
    chooses=True,
)
