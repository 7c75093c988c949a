"""Reading back: whether a call that was written is the call that would be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformer.policy import Policy
from transformer.values.jsonmembers import parsed
from transformer.values.schema import Tool
from transformer.whole import transform_message

_POLICY = Policy(calls="all", unknown_tools="call", malformed="text")


def reads_back(
    dialect: str, text: str, tools: Mapping[str, Tool], name: str, arguments: Any, id: str | None = None
) -> bool:
    """The text is exactly one call, to `name`, with these arguments (and this id, if one is given)."""
    message = {"role": "assistant", "content": text}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    offered = [{"name": tool.name, "parameters": tool.parameters} for tool in tools.values()]
    read = transform_message(body, dialect, offered or None, _POLICY)["choices"][0]["message"]
    calls = read.get("tool_calls") or []
    if len(calls) != 1 or read["content"]:
        return False
    function = calls[0]["function"]
    same = function["name"] == name and _parsed(function["arguments"]) == arguments
    return same and (id is None or calls[0]["id"] == id)


def _parsed(text: str) -> Any:
    try:
        return parsed(text)
    except (ValueError, RecursionError):
        return text
