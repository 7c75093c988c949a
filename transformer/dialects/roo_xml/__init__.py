"""roo-xml: `<tool><parameter>value</parameter></tool>` at the start of a line."""

from __future__ import annotations

from transformer.dialect import Dialect
from transformer.dialects.roo_xml.table import TRANSITIONS
from transformer.dialects.roo_xml.tokens import LEXICON, State, Token, classify, undecided
from transformer.policy import USUAL, Policy

ROO_XML = Dialect(
    name="roo-xml",
    summary="<tool><parameter>value</parameter></tool>, as RooCode, Cline and XML prompts have it",
    policy=Policy(
        tools="inject",
        calls="first",
        arguments="whole",
        after_call="drop",
        channels=("content",),
    ).over(USUAL),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    lexicons=dict.fromkeys(State, LEXICON),
    classify=classify,
    undecided=undecided,
    fenced=True,
)
