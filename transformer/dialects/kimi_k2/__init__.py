"""kimi-k2: `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{json}<|tool_call_end|>`."""

from __future__ import annotations

from transformer.dialect import Dialect
from transformer.dialects.kimi_k2.table import TRANSITIONS
from transformer.dialects.kimi_k2.tokens import LEXICONS, State, Token, classify, leftover, undecided
from transformer.policy import USUAL, Policy

KIMI_K2 = Dialect(
    name="kimi-k2",
    summary="<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{json}<|tool_call_end|>",
    policy=Policy(
        tools="template",
        calls="all",
        arguments="stream",
        after_call="keep",
        channels=("content", "reasoning"),
    ).over(USUAL),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    lexicons=LEXICONS,
    classify=classify,
    undecided=undecided,
    leftover=leftover,
    ids="upstream",
    own_json=True,
)
