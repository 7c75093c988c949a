"""functions-invoke: `<function_calls><invoke name="tool"><parameter name="key">value</parameter></invoke></function_calls>`.

Many prompts teach it, and many models fall back to it.
"""

from __future__ import annotations

from transformer.parser.dialect import Dialect
from transformer.parser.invoketags import invoke_tags
from transformer.parser.leakmarks import WORD, leak_mark
from transformer.parser.markers import marker
from transformer.parser.writing import packaged_template
from transformer.policy import USUAL, Policy

FUNCTIONS_INVOKE = Dialect(
    name="functions-invoke",
    summary='<function_calls><invoke name="tool"><parameter name="key">value</parameter></invoke></function_calls>',
    policy=Policy(tools="inject").over(USUAL),
    **invoke_tags(
        "functions-invoke",
        "function_calls",
        opened=marker("<function_calls>"),
        closed=marker("</function_calls>"),
    ),
    template=packaged_template("functions_invoke.jinja"),
    taught_by=("<function_calls>\n<invoke name=",),
    openers=lambda tools: ("<function_calls>", "<invoke name="),
    leak_marks=(
        leak_mark("<function_calls>", r"<function_calls>\s*<invoke\b"),
        leak_mark(
            "<invoke name=",
            rf"<invoke name=[\"']?(?P<name>{WORD})[\"']?>(?=\s*<(?:parameter\b|{WORD}>))",
            "name or line",
        ),
    ),
)
