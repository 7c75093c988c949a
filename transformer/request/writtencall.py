"""Calls written in a dialect's text, and read back to see whether they are still the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from transformer.answer.whole import transform_message
from transformer.dialects import DIALECTS, find_dialect
from transformer.jsonscan import parsed
from transformer.parser.dialect import Dialect
from transformer.parser.writing import ReadsBack, Writer
from transformer.policy import Policy
from transformer.records import Finding
from transformer.request.offer import json_of
from transformer.values.schema import Tool, offered

_POLICY = Policy(calls="all", unknown_tools="call", malformed="text")


def writer_of(dialect: str | Dialect) -> Writer:
    chosen = dialect if isinstance(dialect, Dialect) else find_dialect(dialect)
    if chosen.writer is None:
        able = ", ".join(name for name, known in DIALECTS.items() if known.writer is not None)
        raise ValueError(f"no call can be written in {chosen.name!r}; it can in {able}")
    return chosen.writer


def reader(dialect: str | Dialect) -> ReadsBack:
    """What a writer of this dialect checks its text with."""
    return lambda text, tools, name, arguments, id: reads_back(dialect, text, tools, name, arguments, id)


def reads_back(
    dialect: str | Dialect,
    text: str,
    tools: Mapping[str, Tool],
    name: str,
    arguments: Any,
    id: str | None = None,
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


@dataclass(frozen=True, slots=True)
class Written:
    """A call as text. Without a finding, reading the text gives the same call."""

    text: str
    findings: tuple[Finding, ...] = ()


def write_call(
    dialect: str | Dialect,
    name: str,
    arguments: str | Mapping[str, Any],
    tool: Tool | Mapping[str, Any] | None = None,
    id: str | None = None,
    tools: Iterable[Any] | None = None,
) -> str:
    """One call as a model would write it; `arguments` are an object, or its JSON text.

    `tool` is the tool as it was offered and `tools` all that are offered, since the text is read with all of
    them; `id` is written where the dialect's text has ids.
    """
    return written_call(dialect, name, arguments, tool, id, tools).text


def written_call(
    dialect: str | Dialect,
    name: str,
    arguments: str | Mapping[str, Any],
    tool: Tool | Mapping[str, Any] | None = None,
    id: str | None = None,
    tools: Iterable[Any] | None = None,
) -> Written:
    """The same, with findings for all that will not read back as it is."""
    writer = writer_of(dialect)
    given = arguments if isinstance(arguments, str) else json_of(arguments)
    text, findings = writer.call(name, given, _known([tool, *(tools or ())]), id, reader(dialect))
    return Written(writer.calls([text]), tuple(findings))


def _known(tools: Iterable[Any]) -> dict[str, Tool]:
    known: dict[str, Tool] = {}
    for tool in tools:
        for name, found in ({tool.name: tool} if isinstance(tool, Tool) else offered([tool])).items():
            known.setdefault(name, found)
    return known
