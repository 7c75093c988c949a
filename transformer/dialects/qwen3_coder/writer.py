"""qwen3-coder, the way up: a call as the model's own chat template writes it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from transformer.upward.tagwriter import TagSyntax


def _parameter(key: str, text: str) -> str:
    # Strings bring their own line breaks; numbers and JSON get them here, where the reader ignores them.
    body = text if text.startswith("\n") else f"\n{text}\n"
    return f"<parameter={key}>{body}</parameter>"


def _call(name: str, parts: Sequence[str]) -> str:
    return "\n".join(("<tool_call>", f"<function={name}>", *parts, "</function>", "</tool_call>"))


QWEN3_SYNTAX = TagSyntax(
    dialect="qwen3-coder",
    # Blanks at the ends of a name are lost, those inside are not.
    name=re.compile(r"(?!\s)[^<>\n]{1,256}(?<!\s)"),
    marks=re.compile(r"</?(?:parameter|function|tool_call)[=>]()"),
    parameter=_parameter,
    call=_call,
    on_one_line=False,
)
