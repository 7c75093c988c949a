"""What a person should know about the tools and the system prompt of a request, before a model sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from transformer.dialects.roo_xml.html import HTML_ELEMENTS
from transformer.dialects.roo_xml.tokens import NAME_LIMIT
from transformer.records import Finding
from transformer.upward.notes import note
from transformer.upward.offer import Offer, json_of, remembered
from transformer.upward.writers import WRITERS
from transformer.values.schema import Tool, offered

# Words that stand only in a prompt which explains calls. Plain searches: a system prompt has 16 KB and more.
_PROMPT_MARKS: Mapping[str, tuple[str, ...]] = {
    "roo-xml": (
        "<actual_tool_name>",
        "<tool_name>\n<parameter1",
        "formatted using XML-style tags",
        "## Available Tools\n",
    ),
    "qwen3-coder": ("<function=example_function", "<function=...>", "<tools>\n<function>"),
    "kimi-k2": ("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
    "hermes": ('{"name": <function-name>', "<tool_call>\n{", "<tools></tools>", "<tools>\n{", "<tools>\n["),
    "glm": ("<arg_key>",),
    "minimax-m2": ("<minimax:tool_call>",),
    "harmony": ("<|channel|>commentary", "to=functions."),
    "mistral": ("[TOOL_CALLS]", "[AVAILABLE_TOOLS]"),
    "deepseek-v3": ("<｜tool▁calls▁begin｜>",),
    "deepseek-dsml": ("<｜DSML｜",),
    "llama3-json": ("<|python_tag|>",),
}
# The same for what has a name in it: one tool as Roo describes it, with its example; one example of a call.
_ROO_TOOL = re.compile(r"^## ([\w.-]+)\n(?:Description|Parameters|Usage):", re.MULTILINE)
_PROMPT_SHAPES: Mapping[str, re.Pattern[str]] = {
    "qwen3-coder": re.compile(r"<function=[^<>\n]+>\s*<parameter="),
}

_THINKING = ("think", "thinking")
_ALL = "the server gets them all, and answers are read by the first one"
_FIRST = "only the first one counts"
_GOES_UP = "the server gets it as it is"
_LEFT_OUT = "it was left out"


def tool_findings(dialect: str, offer: Offer, sent: bool) -> tuple[Finding, ...]:
    """About the offered tools; `sent`: the server gets them. Remembered by content, as the prompt is."""
    return _remembered(dialect, offer.key, sent)


@lru_cache(maxsize=64)
def _remembered(dialect: str, key: bytes, sent: bool) -> tuple[Finding, ...]:
    return tuple(_about_tools(dialect, remembered(key), sent))


@lru_cache(maxsize=8)
def system_findings(dialect: str, text: str) -> tuple[Finding, ...]:
    """A system prompt that already explains how to call tools, in another way than this dialect's.

    A client sends the same one with every request of a session.
    """
    return tuple(
        note("tool-prompt-present", found=found, dialect=dialect)
        for found, marks in _PROMPT_MARKS.items()
        if found != dialect and (any(mark in text for mark in marks) or _has_shape(found, text))
    )


def _has_shape(dialect: str, text: str) -> bool:
    if dialect == "roo-xml":
        return any(f"<{tool[1]}>\n<" in text for tool in _ROO_TOOL.finditer(text))
    shape = _PROMPT_SHAPES.get(dialect)
    return shape is not None and shape.search(text) is not None


def _about_tools(dialect: str, offer: Offer, sent: bool) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for index, entry in enumerate(offer.entries):
        tool = next(iter(offered([entry]).values()), None)
        if tool is None:
            yield note("tool-not-understood", index, number=index, fate=_GOES_UP if sent else _LEFT_OUT)
        elif tool.name in seen.values():
            yield note("duplicate-tool", index, tool=tool.name, fate=_ALL if sent else _FIRST)
        else:
            yield from _about_tool(dialect, offer, tool, index)
            twin = seen.setdefault(tool.name.lower(), tool.name)
            if twin != tool.name:
                yield note("name-collides", index, what=f"the tool {tool.name}", other=f"offered as {twin}")
            seen[tool.name] = tool.name


def _about_tool(dialect: str, offer: Offer, tool: Tool, index: int) -> Iterator[Finding]:
    if not _carries(dialect, tool.name, None):
        reason = _reason(tool.name)
        yield note("name-not-carried", index, what=f"the tool {tool.name!r}", dialect=dialect, reason=reason)
    if not tool.has_schema:
        yield note("no-properties", index, tool=tool.name)
    if dialect == "roo-xml":
        other = "an HTML element" if tool.name.lower() in HTML_ELEMENTS else ""
        other = "the tag in which models think" if tool.name.lower() in _THINKING else other
        if other:
            yield note("name-collides", index, what=f"the tool {tool.name}", other=other)
    for name in tool.properties:
        what = f"the parameter {name!r} of {tool.name}"
        if dialect == "roo-xml" and name == tool.name:
            reason = "it has the name of its own tool"
            yield note("name-not-carried", index, what=what, dialect=dialect, reason=reason)
        elif not _carries(dialect, "t0" if name == "t" else "t", name):
            yield note("name-not-carried", index, what=what, dialect=dialect, reason=_reason(name))
        elif dialect == "roo-xml" and name in offer.tools:
            yield note("name-collides", index, what=what, other="the name of a tool")


@lru_cache(maxsize=1024)
def _carries(dialect: str, name: str, parameter: str | None) -> bool:
    """The dialect's own writer says it: a call with this name, or this parameter, reads back as it was."""
    writer = WRITERS.get(dialect)
    if writer is None:
        return True
    properties = {} if parameter is None else {parameter: {"type": "string"}}
    tool = Tool(name, parameters={"type": "object", "properties": properties})
    # Beside another tool that fits as well: an only one is called whatever its name reads as.
    twin = Tool("t2" if name == "t1" else "t1", parameters=tool.parameters)
    arguments = json_of(dict.fromkeys(properties, "x"))
    findings = writer.call(name, arguments, {name: tool, twin.name: twin}, None)[1]
    return not any(finding.code == "call-not-carried" for finding in findings)


def _reason(name: str) -> str:
    """Why a name cannot stand where the dialect puts it."""
    if re.search(r"\s", name):
        return "it has a blank in it"
    odd = re.search(r"[<>/]", name)
    if odd:
        return f"it has a {odd[0]} in it"
    if not name:
        return "it is empty"
    return "it is too long" if len(name) > NAME_LIMIT else "it reads as something else"
