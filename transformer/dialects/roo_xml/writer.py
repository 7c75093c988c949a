"""roo-xml, the way up: a call as `<tool><parameter>value</parameter></tool>`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from transformer.dialects.roo_xml.tokens import NAME_LIMIT
from transformer.upward.tagwriter import TagSyntax


def _parameter(key: str, text: str) -> str:
    return f"<{key}>{text}</{key}>"


def _call(name: str, parts: Sequence[str]) -> str:
    return "\n".join((f"<{name}>", *parts, f"</{name}>"))


ROO_SYNTAX = TagSyntax(
    dialect="roo-xml",
    name=re.compile(rf"[^\s<>/]{{1,{NAME_LIMIT}}}"),
    marks=re.compile(rf"</?([^\s<>/]{{1,{NAME_LIMIT}}})>"),
    parameter=_parameter,
    call=_call,
    on_one_line=True,
)
