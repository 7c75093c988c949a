"""qwen3-coder: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`."""

from __future__ import annotations

from transformer.dialect import Dialect
from transformer.dialects.qwen3_coder.table import TRANSITIONS
from transformer.dialects.qwen3_coder.tokens import LEXICON, State, Token, classify, undecided
from transformer.policy import USUAL, Policy

QWEN3_CODER = Dialect(
    name="qwen3-coder",
    summary="<tool_call><function=name><parameter=key>value</parameter></function></tool_call>",
    policy=Policy(
        tools="template",
        calls="all",
        arguments="whole",
        after_call="keep",
        channels=("content",),
    ).over(USUAL),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    lexicons=dict.fromkeys(State, LEXICON),
    classify=classify,
    undecided=undecided,
)
