"""kimi-k2: `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{json}<|tool_call_end|>`."""

from __future__ import annotations

from transformer.dialect import Dialect
from transformer.dialects.kimi_k2.table import TRANSITIONS
from transformer.dialects.kimi_k2.tokens import LEXICONS, State, Token, classify, leftover, undecided
from transformer.policy import Policy

KIMI_K2 = Dialect(
    name="kimi-k2",
    summary="<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{json}<|tool_call_end|>",
    policy=Policy(
        tools="template",
        calls="all",
        unknown_tools="call",
        malformed="text",
        arguments="stream",
        after_call="keep",
        finish_reason="rewrite",
        channels=("content", "reasoning"),
        text_channel="same",
        max_call_bytes=16 << 20,
    ),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    text=Token.TEXT,
    space=Token.SPACE,
    end=Token.END,
    lexicons=LEXICONS,
    classify=classify,
    undecided=undecided,
    leftover=leftover,
    ids="upstream",
    own_json=True,
)
