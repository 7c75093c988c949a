"""Writers: a call as the text of a dialect, such that reading it gives the call again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformer.dialects.kimi_k2 import writer as kimi_writer
from transformer.dialects.qwen3_coder.writer import QWEN3_SYNTAX
from transformer.dialects.roo_xml.writer import ROO_SYNTAX
from transformer.records import Finding
from transformer.upward import tagwriter
from transformer.upward.offer import json_of
from transformer.values.schema import Tool, offered


@dataclass(frozen=True, slots=True)
class Written:
    """A call as text. Without a finding, reading the text gives the same call."""

    text: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Writer:
    """How one dialect writes a message with calls."""

    call: Callable[[str, str, Mapping[str, Tool], str | None], tuple[str, list[Finding]]]
    calls: Callable[[Sequence[str]], str]  # all the calls of a message, whatever stands around them
    gap: str  # between the message's text and its calls


def _tagged(syntax: tagwriter.TagSyntax, between: str) -> Writer:
    return Writer(
        lambda name, arguments, tools, id: tagwriter.compose(syntax, name, arguments, tools),
        between.join,
        "\n\n",
    )


WRITERS: Mapping[str, Writer] = {
    "roo-xml": _tagged(ROO_SYNTAX, "\n\n"),
    "qwen3-coder": _tagged(QWEN3_SYNTAX, "\n"),
    "kimi-k2": Writer(kimi_writer.compose, lambda calls: kimi_writer.section("".join(calls)), ""),
}


def write_call(
    dialect: str,
    name: str,
    arguments: str | Mapping[str, Any],
    tool: Tool | Mapping[str, Any] | None = None,
    id: str | None = None,
    tools: Iterable[Any] | None = None,
) -> str:
    """One call as a model would write it; `arguments` are an object, or its JSON text.

    `tool` is the tool as it was offered and `tools` all that are offered, for the text is read in their
    company; `id` only kimi-k2 writes.
    """
    return written_call(dialect, name, arguments, tool, id, tools).text


def written_call(
    dialect: str,
    name: str,
    arguments: str | Mapping[str, Any],
    tool: Tool | Mapping[str, Any] | None = None,
    id: str | None = None,
    tools: Iterable[Any] | None = None,
) -> Written:
    """The same, with findings for all that will not read back as it is."""
    if dialect not in WRITERS:
        raise ValueError(f"no call can be written in {dialect!r}; it can in {', '.join(WRITERS)}")
    writer = WRITERS[dialect]
    given = arguments if isinstance(arguments, str) else json_of(arguments)
    text, findings = writer.call(name, given, _known([tool, *(tools or ())]), id)
    return Written(writer.calls([text]), tuple(findings))


def _known(tools: Iterable[Any]) -> dict[str, Tool]:
    known: dict[str, Tool] = {}
    for tool in tools:
        for name, found in ({tool.name: tool} if isinstance(tool, Tool) else offered([tool])).items():
            known.setdefault(name, found)
    return known
