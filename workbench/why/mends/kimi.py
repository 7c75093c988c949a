"""Mends of kimi-k2's calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from transformer import Finding
from transformer.jsonscan import missing_end
from transformer.parser.jsoncall import fitting_tools
from transformer.values.schema import Tool
from workbench.why.edits import Edit, append, insert, insert_behind, put
from workbench.why.mends.jsonarguments import mended
from workbench.why.trial import Reading, is_object

_BEGIN, _ARGUMENTS, _END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
_HALF_TOKEN = re.compile(r"<\|?[a-z_]*\|?\Z")
_NEXT_TOKEN = re.compile(r"\s*(<\|[a-z_]+\|>)")
_NOTHING_MORE = re.compile(r"\s*(?:<\|tool_calls?_section_end\|>|\Z)")
# What makes JSON of arguments that end in the middle of a member.
_TAILS = ("", '""', ':""', '":""', "null")


def malformed(reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """The token before the arguments is missing, or the arguments are."""
    text = reading.text
    header_end = _header_end(text)
    brace = text.find("{", len(_BEGIN))
    header = text[len(_BEGIN) : header_end].strip()
    if 0 <= brace < header_end and text[len(_BEGIN) : brace].strip():
        yield (insert_behind(brace, _ARGUMENTS, text[len(_BEGIN) : brace].strip()),)
    elif header and not re.search(r"[\s{}\"]", header):
        yield (insert_behind(header_end, _END, header),)


def _header_end(text: str) -> int:
    token = re.compile(r"<\|").search(text, len(_BEGIN))
    return len(text) if token is None else token.start()


def truncated(reading: Reading, finding: Finding, tools: Mapping[str, Tool]) -> Iterator[tuple[Edit, ...]]:
    """The rest of the id, of the JSON and of the tokens."""
    text, end = reading.text, finding.span.end
    half = _HALF_TOKEN.search(text, 0, end)
    begun = half.start() if half is not None else end
    at = text.find(_ARGUMENTS, 0, begun)
    if at < 0:
        yield from _header_completed(text, end, begun, tools)
        return
    arguments = text[at + len(_ARGUMENTS) : begun]
    for tail in _TAILS:
        closing = missing_end(arguments + tail) if arguments.strip() else "{}"
        if closing is not None and is_object(arguments + tail + closing):
            yield _at_end(text, begun, end, tail + closing + _END)
            return


def _header_completed(
    text: str, end: int, begun: int, tools: Mapping[str, Tool]
) -> Iterator[tuple[Edit, ...]]:
    """An id that was cut off names the only tool that begins so."""
    header = text[len(_BEGIN) : begun].strip()
    rest = f"{_ARGUMENTS}{{}}{_END}"
    name = header.removeprefix("functions.")
    if re.fullmatch(r"functions\..+:\d+", header):
        yield _at_end(text, begun, end, rest)
        return
    fitting = [tool for tool in tools if tool.startswith(name)] if name != header else []
    if len(fitting) == 1:
        yield _at_end(text, begun, end, f"{fitting[0][len(name) :]}:0{rest}")


def _at_end(text: str, begun: int, end: int, missing: str) -> tuple[Edit, ...]:
    """What is missing, behind a token that has begun: that one counts if it is the next to come."""
    half = text[begun:end]
    if half and missing.startswith(half):
        return (append(end, missing[len(half) :]),)
    return (put(begun, end, missing, text),) if half else (append(end, missing),)


def unnamed(reading: Reading, finding: Finding, tools: Mapping[str, Tool]) -> Iterator[tuple[Edit, ...]]:
    """An id that names one of the tools: those that the arguments fit, else those that are nearest."""
    text = reading.text
    at = text.find(_ARGUMENTS)
    header_end = _header_end(text)
    start = len(_BEGIN) + len(text[len(_BEGIN) : header_end]) - len(text[len(_BEGIN) : header_end].lstrip())
    id = text[start:header_end].rstrip()
    end = re.compile(r"<\|tool_call").search(text, at + len(_ARGUMENTS)) if at >= 0 else None
    arguments = text[at + len(_ARGUMENTS) : end.start()] if at >= 0 and end is not None else ""
    for name in fitting_tools(arguments.strip(), tools) or list(tools):
        new = f"functions.{name}:0"
        yield (put(start, start + len(id), new, text) if id else insert_behind(start, new, _BEGIN),)


def repaired(reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """The token that ends the call was read where there is none."""
    text, end = reading.text, finding.span.end
    following = _NEXT_TOKEN.match(text, end)
    if following is not None:
        if following[1] == _BEGIN and _NOTHING_MORE.match(text, following.end()):
            # A model that takes the one token for the other.
            yield (put(following.start(1), following.end(1), _END, text),)
        yield (insert(end, _END, following[1]),)
        return
    yield from truncated(reading, finding, {})


def bad_json(reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """Arguments as the JSON that was meant."""
    text = reading.text
    at = text.find(_ARGUMENTS) + len(_ARGUMENTS)
    end = finding.span.end
    end = end - len(_END) if text.endswith(_END, at, end) else end
    arguments = text[at:end].strip()
    start = text.find(arguments, at)
    for better in mended(arguments):
        yield (put(start, start + len(arguments), better, text),)


def other_id(reading: Reading, number: int) -> Iterator[tuple[Edit, ...]]:
    """An id of its own; reading tells the tool."""
    text = reading.text
    name = reading.calls[0].name if reading.calls else ""
    header_end = _header_end(text)
    header = text[len(_BEGIN) : header_end]
    if name:
        new = f"functions.{name}:{number}"
        start = len(_BEGIN) + len(header) - len(header.lstrip())
        if header.strip():
            yield (put(start, start + len(header.strip()), new, text),)
        else:
            yield (insert_behind(len(_BEGIN), new, _BEGIN),)
