"""What a person should know about the tools and the system prompt of a request, before a model sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from transformer.dialects.qwen3_coder.writer import QWEN3_SYNTAX
from transformer.dialects.roo_xml.html import HTML_ELEMENTS
from transformer.dialects.roo_xml.writer import ROO_SYNTAX
from transformer.records import Finding
from transformer.upward.notes import note
from transformer.upward.offer import Offer, remembered
from transformer.values.schema import Tool, offered

# What a tool's name must look like. In kimi-k2 it stands between other characters, and tokens end it.
_TOOL_NAMES: Mapping[str, re.Pattern[str]] = {
    "roo-xml": ROO_SYNTAX.name,
    "qwen3-coder": QWEN3_SYNTAX.name,
    "kimi-k2": re.compile(r"(?!\s)(?:(?!<\|tool_call).)+(?<!\s)", re.DOTALL),
}
_PARAMETER_NAMES: Mapping[str, re.Pattern[str]] = {
    "roo-xml": ROO_SYNTAX.name,
    "qwen3-coder": QWEN3_SYNTAX.name,
}

# Words that stand only in a prompt which explains calls. Plain searches: a system prompt has 16 KB and more.
_PROMPT_MARKS: Mapping[str, tuple[str, ...]] = {
    "roo-xml": ("<actual_tool_name>", "<tool_name>\n<parameter1", "formatted using XML-style tags"),
    "qwen3-coder": ("<function=example_function", "<function=...>"),
    "kimi-k2": ("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
    "hermes": ('{"name": <function-name>', "<tool_call>\n{"),
    "glm": ("<arg_key>",),
    "minimax-m2": ("<minimax:tool_call>",),
    "harmony": ("<|channel|>commentary", "to=functions."),
    "mistral": ("[TOOL_CALLS]", "[AVAILABLE_TOOLS]"),
    "deepseek-v3": ("<｜tool▁calls▁begin｜>",),
    "deepseek-dsml": ("<｜DSML｜",),
    "llama3-json": ("<|python_tag|>",),
}


def tool_findings(dialect: str, offer: Offer) -> tuple[Finding, ...]:
    """About the offered tools. Remembered by their content, as the prompt is."""
    return _remembered(dialect, offer.key)


@lru_cache(maxsize=64)
def _remembered(dialect: str, key: bytes) -> tuple[Finding, ...]:
    return tuple(_about_tools(dialect, remembered(key)))


def system_findings(dialect: str, text: str) -> Iterator[Finding]:
    """A system prompt that already explains how to call tools."""
    for found, marks in _PROMPT_MARKS.items():
        if any(mark in text for mark in marks):
            yield note("tool-prompt-present", found=found, dialect=dialect)


def _about_tools(dialect: str, offer: Offer) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for index, entry in enumerate(offer.entries):
        tool = next(iter(offered([entry]).values()), None)
        if tool is None:
            yield note("tool-not-understood", index, number=index)
        elif tool.name in seen.values():
            yield note("duplicate-tool", index, tool=tool.name)
        else:
            yield from _about_tool(dialect, offer, tool, index)
            twin = seen.setdefault(tool.name.lower(), tool.name)
            if twin != tool.name:
                yield note("name-collides", index, what=f"the tool {tool.name}", other=f"offered as {twin}")
            seen[tool.name] = tool.name


def _about_tool(dialect: str, offer: Offer, tool: Tool, index: int) -> Iterator[Finding]:
    reason = _reason(tool.name, _TOOL_NAMES.get(dialect))
    if reason:
        yield note("name-not-carried", index, what=f"the tool {tool.name!r}", dialect=dialect, reason=reason)
    if not tool.has_schema:
        yield note("no-properties", index, tool=tool.name)
    if dialect == "roo-xml" and tool.name.lower() in HTML_ELEMENTS:
        yield note("name-collides", index, what=f"the tool {tool.name}", other="an HTML element")
    for name in tool.properties:
        what = f"the parameter {name!r} of {tool.name}"
        reason = _reason(name, _PARAMETER_NAMES.get(dialect))
        if dialect == "roo-xml" and name == tool.name:
            reason = "it has the name of its own tool"
        if reason:
            yield note("name-not-carried", index, what=what, dialect=dialect, reason=reason)
        elif dialect == "roo-xml" and name in offer.tools:
            yield note("name-collides", index, what=what, other="the name of a tool")


def _reason(name: str, pattern: re.Pattern[str] | None) -> str:
    """Why a name cannot stand where the dialect puts it; nothing if it can."""
    if pattern is None or pattern.fullmatch(name):
        return ""
    if re.search(r"\s", name):
        return "it has a blank in it"
    odd = re.search(r"[<>/]", name)
    if odd:
        return f"it has a {odd[0]} in it"
    return "it is empty" if not name else "it is too long"
