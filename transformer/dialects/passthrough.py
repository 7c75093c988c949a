"""passthrough: nothing is parsed, every byte goes on unchanged."""

from __future__ import annotations

import re
from enum import StrEnum, auto

from transformer.parser.dialect import Dialect, Lexicon, Rule, table
from transformer.parser.machine import ignore, prose
from transformer.policy import USUAL, Policy
from transformer.records import Effect as E


class State(StrEnum):
    TEXT = auto()
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    END = auto()


S, T = State, Token

_NOTHING = re.compile(r"(?!)")
_LEXICON = Lexicon(_NOTHING, _NOTHING, _NOTHING)


def read(match: re.Match[str]) -> tuple[StrEnum, str]:
    return T.TEXT, ""


TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.TEXT: Rule(S.TEXT, E.PROSE, prose, "everything goes on as it came"),
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            None,
        ),
        S.DONE: ({}, Rule(S.DONE, E.NONE, ignore, "nothing comes after the end")),
    },
)

PASSTHROUGH = Dialect(
    name="passthrough",
    summary="no calls in the text: the answer's bytes reach the client unchanged",
    policy=Policy(tools="pass", arguments="stream", finish_reason="upstream", channels=()).over(USUAL),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    lexicons=dict.fromkeys(State, _LEXICON),
    read=read,
    states_in_words={
        S.TEXT: "in the answer, which goes on as it came",
        S.DONE: "after the end of the answer",
    },
    tokens_in_words={T.TEXT: "text", T.END: "the end of the answer"},
    converts=False,
)
