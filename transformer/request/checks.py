"""What a person should know about the tools and the system prompt of a request, before a model sees them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from transformer.dialects import DIALECTS
from transformer.findings import note
from transformer.parser.dialect import Dialect
from transformer.parser.tagcall import NAME_LIMIT
from transformer.records import Finding
from transformer.request.offer import Offer, json_of, remembered
from transformer.request.writtencall import reader
from transformer.values.schema import Tool, offered

# What shows that a prompt explains calls, by dialect. Plain searches: a system prompt has 16 KB and more.
_TAUGHT_BY: Mapping[str, tuple[str | Callable[[str], bool], ...]] = {
    name: dialect.taught_by for name, dialect in DIALECTS.items() if dialect.taught_by
}

_ALL = "the server gets them all, and answers are read by the first one"
_FIRST = "only the first one counts"
_GOES_UP = "the server gets it as it is"
_LEFT_OUT = "it was left out"


def tool_findings(dialect: Dialect, offer: Offer, sent: bool) -> tuple[Finding, ...]:
    """About the offered tools; `sent`: the server gets them. Remembered by content, as the prompt is."""
    return _remembered(dialect, offer.key, sent)


@lru_cache(maxsize=64)
def _remembered(dialect: Dialect, key: bytes, sent: bool) -> tuple[Finding, ...]:
    return tuple(_about_tools(dialect, remembered(key), sent))


@lru_cache(maxsize=8)
def system_findings(dialect: Dialect, text: str) -> tuple[Finding, ...]:
    """A system prompt that already explains how to call tools, in a dialect other than this one.

    A client sends the same one with every request of a session.
    """
    return tuple(
        note("tool-prompt-present", found=found, dialect=dialect.name)
        for found, signs in _TAUGHT_BY.items()
        if found != dialect.name and any(_shows(sign, text) for sign in signs)
    )


def _shows(sign: str | Callable[[str], bool], text: str) -> bool:
    return sign in text if isinstance(sign, str) else sign(text)


def _about_tools(dialect: Dialect, offer: Offer, sent: bool) -> Iterator[Finding]:
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
            if twin != tool.name and not _reads_back(dialect, offer, tool):
                yield note("name-collides", index, what=f"the tool {tool.name}", other=f"offered as {twin}")
            seen[tool.name] = tool.name


def _about_tool(dialect: Dialect, offer: Offer, tool: Tool, index: int) -> Iterator[Finding]:
    if not _carries(dialect, tool.name, None):
        reason = _reason(tool.name)
        yield note(
            "name-not-carried", index, what=f"the tool {tool.name!r}", dialect=dialect.name, reason=reason
        )
    elif (other := dialect.names_taken(tool.name)) and _is_ambiguous(dialect, offer, tool):
        yield note("name-collides", index, what=f"the tool {tool.name}", other=other)
    for name in tool.properties:
        what = f"the parameter {name!r} of {tool.name}"
        if not _carries(dialect, "t0" if name == "t" else "t", name):
            yield note("name-not-carried", index, what=what, dialect=dialect.name, reason=_reason(name))
        elif dialect.tags_are_names and name in offer.tools and not _reads_back(dialect, offer, tool, name):
            yield note("name-collides", index, what=what, other="the name of a tool")


def _is_ambiguous(dialect: Dialect, offer: Offer, tool: Tool) -> bool:
    """A tag that is also something else is a call by the parameter in it: an empty one can be either."""
    return not tool.required or not _reads_back(dialect, offer, tool)


def _reads_back(dialect: Dialect, offer: Offer, tool: Tool, parameter: str | None = None) -> bool:
    """A call among all the offered tools, with this parameter or any, reads as it was written."""
    names = [*tool.properties][:1] if parameter is None else [parameter]
    arguments = json_of(dict.fromkeys(names, "x"))
    return dialect.writer is None or not _lost(
        dialect.writer.call(tool.name, arguments, offer.tools, None, reader(dialect))[1]
    )


def _lost(findings: list[Finding]) -> bool:
    return any(finding.code == "call-not-carried" for finding in findings)


@lru_cache(maxsize=1024)
def _carries(dialect: Dialect, name: str, parameter: str | None) -> bool:
    """The dialect's own writer says it: a call with this name, or this parameter, reads back as it was."""
    writer = dialect.writer
    if writer is None:
        return True
    properties = {} if parameter is None else {parameter: {"type": "string"}}
    tool = Tool(name, parameters={"type": "object", "properties": properties})
    # Beside another tool that fits as well: a single one is called whatever its name reads as.
    twin = Tool("t2" if name == "t1" else "t1", parameters=tool.parameters)
    arguments = json_of(dict.fromkeys(properties, "x"))
    return not _lost(writer.call(name, arguments, {name: tool, twin.name: twin}, None, reader(dialect))[1])


def _reason(name: str) -> str:
    """Why a name cannot be used where the dialect puts it."""
    if re.search(r"\s", name):
        return "it has a blank in it"
    odd = re.search(r"[<>/]", name)
    if odd:
        return f"it has a {odd[0]} in it"
    if not name:
        return "it is empty"
    return "it is too long" if len(name) > NAME_LIMIT else "it reads as something else"
