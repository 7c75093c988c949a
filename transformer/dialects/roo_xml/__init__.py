"""roo-xml: `<tool><parameter>value</parameter></tool>` at the start of a line."""

from __future__ import annotations

from transformer.dialect import Dialect
from transformer.dialects.roo_xml.table import TRANSITIONS
from transformer.dialects.roo_xml.tokens import LEXICON, State, Token, classify, undecided
from transformer.policy import Policy

ROO_XML = Dialect(
    name="roo-xml",
    summary="<tool><parameter>value</parameter></tool>, as RooCode, Cline and XML prompts have it",
    policy=Policy(
        tools="inject",
        calls="first",
        unknown_tools="call",
        malformed="text",
        arguments="whole",
        after_call="drop",
        finish_reason="rewrite",
        channels=("content",),
        text_channel="same",
        max_call_bytes=16 << 20,
    ),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    text=Token.TEXT,
    space=Token.SPACE,
    end=Token.END,
    lexicons=dict.fromkeys(State, LEXICON),
    classify=classify,
    undecided=undecided,
    fenced=True,
)
