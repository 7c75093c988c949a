"""Foreign calls: JSON with a name and arguments, as many models write it, in the dialect that is set."""

from __future__ import annotations

import json
import re
from typing import Any

from transformer import write_call
from workbench.why.trial import Trial

_ARGUMENTS = ("arguments", "parameters")
# The tags around such a call, or the name before its JSON.
_BEFORE = re.compile(
    r"(?:<(?:longcat_)?tool_call>|<function_call>|\[TOOL_CALLS\]\s*\[?|<\|python_tag\|>"
    r"|<function=(?P<name>[^<>\s]{1,256})>)?\s*"
)
_BEHIND = re.compile(r"\s*\]?\s*(?:</(?:longcat_)?tool_call>|</function_call>|</function>)?")


def translated(text: str, trial: Trial) -> tuple[int, str, str] | None:
    """Where the call at the beginning of a text ends, how the dialect writes it, and its tool."""
    before = _BEFORE.match(text)
    assert before is not None
    try:
        value, end = json.JSONDecoder().raw_decode(text, before.end())
    except (ValueError, RecursionError):
        return None
    name, arguments = _call_in(value, before["name"])
    if not name or not isinstance(arguments, dict) or trial.dialect == "passthrough":
        return None
    behind = _BEHIND.match(text, end)
    written = write_call(trial.dialect, name, arguments, trial.tool(name), tools=None)
    return (end if behind is None else behind.end()), written, name


def _call_in(value: Any, named: str | None) -> tuple[str, Any]:
    if not isinstance(value, dict):
        return "", None
    if named is not None:
        return named, value
    name = value.get("name")
    arguments = next((value[key] for key in _ARGUMENTS if key in value), None)
    return (name if isinstance(name, str) else ""), arguments
