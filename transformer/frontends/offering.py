"""The tools of a request as functions of a chat, and their names on the way there and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from transformer.findings import note
from transformer.frontends.frontend import ToolName, listed, mapping
from transformer.jsontext import Object
from transformer.records import Finding

_LONGEST_NAME = 64  # servers with tool calls of their own accept no longer one
_BETWEEN = "__"


class OfferedTools:
    """Functions, one for each tool that text can carry. Those that were renamed are in `names`."""

    def __init__(self, findings: list[Finding]) -> None:
        self.functions: list[Object] = []
        self.names: dict[str, ToolName] = {}
        self._findings = findings
        self._chat_names: dict[ToolName, str] = {}
        self._count = 0

    def add(self, tools: Iterable[Any]) -> None:
        for tool in tools:
            index, self._count = self._count, self._count + 1
            self._add(mapping(tool), index, None)

    def _add(self, tool: Mapping[str, Any], index: int, namespace: str | None) -> None:
        # In a chat's shape: a workbench that replays with other tools gives them so.
        tool = {"type": "function", **tool["function"]} if mapping(tool.get("function")) else tool
        kind, name = tool.get("type", "function"), tool.get("name")
        if kind == "namespace" and namespace is None and isinstance(name, str):
            for inner in listed(tool.get("tools")):
                self._add(mapping(inner), index, name)
        elif kind == "function" and isinstance(name, str) and name:
            self._offer(tool, ToolName(name, namespace), tool.get("parameters"))
        elif kind == "custom" and isinstance(name, str) and name:
            self._offer(with_grammar(tool), ToolName(name, namespace, True), INPUT_SCHEMA)
        else:
            self._findings.append(note("tool-left-out", index, tool=str(name or kind), kind=str(kind)))

    def _offer(self, tool: Mapping[str, Any], own: ToolName, parameters: Any) -> None:
        name = self._chat_name(own)
        function: Object = {"name": name, "parameters": parameters if isinstance(parameters, Mapping) else {}}
        if isinstance(tool.get("description"), str):
            function["description"] = tool["description"]
        if tool.get("strict") is True:
            function["strict"] = True
        self.functions.append({"type": "function", "function": function})
        if own != ToolName(name):
            self.names[name] = own

    def _chat_name(self, own: ToolName) -> str:
        """The same name if possible; if two would be the same, the second gets a number."""
        known = ToolName(own.name, own.namespace)
        if known not in self._chat_names:
            wanted = own.name if own.namespace is None else own.namespace.rstrip("_") + _BETWEEN + own.name
            name, number = wanted[:_LONGEST_NAME], 1
            while name in self._chat_names.values():
                number += 1
                name = f"{wanted[: _LONGEST_NAME - 4]}_{number}"
            self._chat_names[known] = name
        return self._chat_names[known]

    def chat_name(self, call: Mapping[str, Any]) -> str:
        """The name of the tool that an item of the history, or a tool choice, means."""
        name, namespace = str(call.get("name") or ""), call.get("namespace")
        return self._chat_name(ToolName(name, namespace if isinstance(namespace, str) else None))


# What a custom tool takes, as a function says it.
INPUT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "the text that the tool gets, as it is"}},
    "required": ["input"],
}


def with_grammar(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """A custom tool whose description says what its input looks like: the grammar is not enforced here."""
    format = mapping(tool.get("format"))
    format = mapping(format.get("grammar")) or format
    if not isinstance(format.get("definition"), str):
        return tool
    said = str(tool.get("description") or "").rstrip()
    words = f"The input follows this {format.get('syntax') or 'lark'} grammar:\n{format['definition']}"
    return {**tool, "description": f"{said}\n\n{words}".lstrip()}


def named(name: str) -> Object:
    """A tool choice, or an allowed tool, as a chat has it."""
    return {"type": "function", "function": {"name": name}}
