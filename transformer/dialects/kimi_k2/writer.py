"""kimi-k2, the way up: a call in the model's tokens, its arguments as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping

from transformer.records import Finding
from transformer.upward.notes import note
from transformer.upward.readback import reads_back
from transformer.values.jsonmembers import parsed
from transformer.values.schema import Tool

_SURROGATE = re.compile("[\ud800-\udfff]")
# What needs no reading back: no blank at an end, no token, only the name between `functions.` and `:`.
_PLAIN_NAME = re.compile(r"[\w.-]+")


def section(calls: str) -> str:
    """The calls of one message, in the one section it has."""
    return f"<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>"


def compose(
    name: str, arguments: str, tools: Mapping[str, Tool], id: str | None
) -> tuple[str, list[Finding]]:
    """The call as text, without its section, and what will not read back the same."""
    # JSON can hold half of a surrogate pair only as an escape.
    raw = _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", arguments).strip() or "{}"
    told = []
    try:
        meant = parsed(raw)
    except (ValueError, RecursionError):
        meant = raw
    if not isinstance(meant, dict):
        told.append(note("arguments-not-json", tool=name))
    own = f"functions.{name}:0"
    header = id or own
    text = _write(header, raw)
    if (
        not told
        and _PLAIN_NAME.fullmatch(name)
        and re.fullmatch(rf"functions\.{re.escape(name)}:[0-9]+", header)
    ):
        return text, told
    if reads_back("kimi-k2", section(text), tools, name, meant, header):
        return text, told
    # The name matters more than the id: a model that sees no name calls nothing.
    named = _write(own, raw)
    if header != own and reads_back("kimi-k2", section(named), tools, name, meant, own):
        return named, [*told, note("id-not-carried", id=header, reason=f"does not name {name}", new=own)]
    return text, [*told, note("call-not-carried", tool=name, dialect="kimi-k2")]


def _write(header: str, arguments: str) -> str:
    return f"<|tool_call_begin|>{header}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"
