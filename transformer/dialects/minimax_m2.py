"""minimax-m2: `<minimax:tool_call><invoke name="tool"><parameter name="key">value</parameter></invoke></minimax:tool_call>`."""

from __future__ import annotations

from transformer.parser.dialect import Dialect
from transformer.parser.invoketags import invoke_tags
from transformer.parser.leakmarks import leak_mark
from transformer.parser.markers import marker
from transformer.parser.writing import packaged_template
from transformer.policy import USUAL, Policy

MINIMAX_M2 = Dialect(
    name="minimax-m2",
    summary='<minimax:tool_call><invoke name="tool"><parameter name="key">value</parameter></invoke></minimax:tool_call>',
    policy=Policy(
        channels=("content", "reasoning"),  # the model's answers begin in the reasoning
        in_think="call",  # and a call ends it
    ).over(USUAL),
    **invoke_tags(
        "minimax-m2",
        "minimax:tool_call",
        opened=marker("<minimax:tool_call>"),
        closed=marker("</minimax:tool_call>"),
    ),
    template=packaged_template("minimax_m2.jinja"),
    taught_by=("<minimax:tool_call>",),
    leak_marks=(leak_mark("<minimax:tool_call>", r"<minimax:tool_call>\s*<invoke\b"),),
    models=("minimax-m2",),
)
