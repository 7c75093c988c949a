"""What stands around a call of kimi-k2, and its id, which holds the name of its tool."""

from __future__ import annotations

import re
from collections.abc import Mapping

from transformer.values.schema import Tool

SECTION_BEGIN, SECTION_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
CALL_BEGIN, ARGUMENT_BEGIN, CALL_END = (
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
)

_COUNTED = re.compile(r"(.*):\d+\Z", re.DOTALL)
NO_ID = re.compile(r'[\s{}"]')


def tool_name(header: str, tools: Mapping[str, Tool]) -> str:
    """`functions.NAME:3`, `NAME:3`, or the plain name of an offered tool; empty if it names none."""
    prefixed = header.startswith("functions.")
    counted = _COUNTED.match(header.removeprefix("functions."))
    if counted:
        return counted.group(1).strip()
    if prefixed:
        return header.removeprefix("functions.").strip()
    return header if header in tools else ""


def own_id(name: str, number: int) -> str:
    return f"functions.{name}:{number}"
