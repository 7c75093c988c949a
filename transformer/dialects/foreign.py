"""Ways to write calls that are recognised in a text but not read yet: their leak marks.

Such calls reach the client as text, too. When one of them becomes a dialect, its lines
move from here into its own file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from transformer.parser.leakmarks import NAME, LeakMark, leak_mark

# The generic shapes come last.
LEAK_MARKS: Mapping[str, tuple[LeakMark, ...]] = {
    "functionary": (leak_mark("<function=", rf"<function=(?P<name>{NAME})>(?=\s*\{{\s*\")", "name or line"),),
    "hunyuan": (leak_mark("<tool_calls>", r"<tool_calls>(?=\s*(?:<tool_call>|\[\s*\{))", "name or line"),),
    "kimi-k3": (leak_mark("<|open|>", r'<\|open\|>(?=tools<\|sep|[^<\n]{0,20}call tool="|argument key=")'),),
    "minimax-m3": (leak_mark("]minimax[", r"\]<\]minimax\[>\[(?=<(?:tool_call|invoke)\b)"),),
    "bracketed": (leak_mark("[TOOL_CALL]", r"\[TOOL_CALL\](?=\s*\{)", "name or line"),),
    "gemma4": (leak_mark("<|tool_call>", r"<\|tool_call>(?=\s*call:)"),),
    "functiongemma": (leak_mark("<start_function_call>", r"<start_function_call>(?=\s*call:)"),),
    "cohere": (leak_mark("<|START_ACTION|>", r"<\|START_ACTION\|>(?=\s*\[)"),),
    "granite": (
        leak_mark("<|tool_call|>", r"<\|tool_call\|>(?=\s*\[)"),
        leak_mark("<function_call>", r"<function_call>(?=\s*\{\s*\")", "name or line"),
    ),
    "internlm": (leak_mark("<|action_start|>", r"<\|action_start\|>(?=\s*<\|plugin\|>)"),),
    "apertus": (leak_mark("<|tools_prefix|>", r"<\|tools_prefix\|>(?=\s*\[)"),),
}


# -- JSON with a name and arguments, as many models write a call

_ARGUMENTS = ("arguments", "parameters")
# The tags around such a call, or the name before its JSON.
_BEFORE = re.compile(r"(?:<function_call>|<function=(?P<name>[^<>\s]{1,256})>)?\s*")
_AFTER = re.compile(r"\s*(?:</function_call>|</function>)?")


class JsonWritten(NamedTuple):
    """A call at the beginning of a text: where it ends, and what it says."""

    end: int
    name: str
    arguments: dict[str, Any]


def json_call(text: str) -> JsonWritten | None:
    """The call that a text begins with, whichever markers are around its JSON."""
    before = _BEFORE.match(text)
    assert before is not None
    try:
        value, end = json.JSONDecoder().raw_decode(text, before.end())
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    name: Any = before["name"]
    arguments: Any = value
    if name is None:
        name, arguments = value.get("name"), next((value[key] for key in _ARGUMENTS if key in value), None)
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        return None
    after = _AFTER.match(text, end)
    return JsonWritten(end if after is None else after.end(), name, arguments)
