"""qwen3-coder: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`."""

from __future__ import annotations

import re

from transformer.parser.dialect import Dialect
from transformer.parser.functiontags import function_tags
from transformer.parser.leakmarks import NAME, leak_mark
from transformer.parser.writing import packaged_template
from transformer.policy import USUAL, Policy


def _parameter(key: str, text: str) -> str:
    # Strings bring their own line breaks; numbers and JSON get them here, where the reader ignores them.
    body = text if text.startswith("\n") else f"\n{text}\n"
    return f"<parameter={key}>{body}</parameter>"


# Not in the wrapper of another dialect that writes functions so.
_CALL_SHAPE = re.compile(r"(?<!:tool_call>\n)<function=[^<>\n]+>\s*<parameter=")

QWEN3_CODER = Dialect(
    name="qwen3-coder",
    summary="<tool_call><function=name><parameter=key>value</parameter></function></tool_call>",
    policy=Policy(in_think="call").over(USUAL),  # the model ends its thoughts with a call
    **function_tags("qwen3-coder", "tool_call", _parameter, on_one_line=False),
    template=packaged_template("qwen3_coder.jinja"),
    taught_by=(
        "<function=example_function",
        "<function=...>",
        "<tools>\n<function>",
        lambda text: _CALL_SHAPE.search(text) is not None,
    ),
    leak_marks=(
        leak_mark("<tool_call>", rf"<tool_call>\s*<function=(?P<name>{NAME})>", "name or line"),
        leak_mark(
            "<function=",
            rf"<function=(?P<name>{NAME})>(?=\s*(?:<parameter=|</function>))",
            "name or line",
        ),
    ),
    models=("qwen3-coder", "qwen3.5", "qwen3.6", "qwen3.8", "mimo", "step-3.5", "nemotron-3-nano"),
)
