"""Mends of calls that are written in tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from transformer import Finding, Transition
from transformer.values.schema import Tool
from workbench.why.edits import Edit, append, insert, put, remove
from workbench.why.trial import Reading

_OPENS = frozenset({"open parameter", "next parameter", "repair parameter"})
_HALF_TAG = re.compile(r"<[^<>\s]{0,256}\Z")


@dataclass(frozen=True, slots=True)
class Tags:
    """How a dialect spells its tags."""

    opened: re.Pattern[str]  # a parameter's tag; its group is the name
    function: re.Pattern[str]  # the tool's tag
    close_parameter: Callable[[str], str]
    close_call: Callable[[str], str]


ROO = Tags(
    re.compile(r"<([^\s<>/]{1,256})>"),
    re.compile(r"<([^\s<>/]{1,256})>"),
    lambda key: f"</{key}>",
    lambda tool: f"</{tool}>",
)
QWEN = Tags(
    re.compile(r"<parameter=([^<>\n]{1,256})>"),
    re.compile(r"<function=([^<>\n]{1,256})>"),
    lambda key: "</parameter>",
    lambda tool: "</function>",
)


def tool_in(tags: Tags, text: str) -> str:
    """The tool that a text beginning with a call names."""
    found = tags.function.search(text)
    return found[1].strip() if found is not None else ""


def unclosed(tags: Tags, reading: Reading, finding: Finding, tool: Tool | None) -> Iterator[tuple[Edit, ...]]:
    """Each parameter that is open is closed before what follows it."""
    text, name = reading.text, tool_in(tags, reading.text)
    opening = tags.opened.match(text, finding.span.start)
    end = text.find(tags.close_call(name), finding.span.start)
    if opening is None or end < 0:
        return
    parts = [opening, *_next_parameters(tags, text, opening.end(), end, opening[1], tool)]
    edits = []
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        behind = end if following is None else following.start()
        closer = tags.close_parameter(part[1].strip())
        if not text[part.end() : behind].rstrip().endswith(closer):
            follows = tags.close_call(name) if following is None else following[0]
            edits.append(insert(behind, closer, follows))
    yield tuple(edits)


def _next_parameters(
    tags: Tags, text: str, start: int, end: int, first: str, tool: Tool | None
) -> Iterator[re.Match[str]]:
    """Tags of this tool's other parameters, each at the start of a line: the open value ended before them."""
    seen = {first}
    for match in tags.opened.finditer(text, start, end):
        if (
            tool is None
            or not tool.knows(match[1])
            or match[1] in seen
            or text[match.start() - 1] not in "\r\n"
        ):
            continue
        seen.add(match[1])
        yield match


def truncated(tags: Tags, reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """The closing tags that are missing at the end, in order; one that has begun is completed."""
    text, end = reading.text, finding.span.end
    name = tool_in(tags, text)
    if not name:
        return
    half = _HALF_TAG.search(text, 0, end)
    for closers in _closers(tags, reading, name, len(text) if half is None else half.start()):
        missing = "".join(closers)
        if half is None:
            yield (append(end, missing),)
        elif closers[0].startswith(half[0]):
            yield (append(end, missing[len(half[0]) :]),)
        else:
            yield (put(half.start(), end, missing, text),)
            yield (append(end, missing),)


def _closers(tags: Tags, reading: Reading, name: str, end: int) -> Iterator[tuple[str, ...]]:
    """What may be missing, likeliest first; the text ends at `end`, or only half a tag is behind it."""
    call = tags.close_call(name)
    state, key, ahead, depth = _open_parts(tags, reading)
    value = tags.close_parameter(key)
    if reading.text[:end].rstrip().endswith(value):
        yield (call,)
    if state in ("value", "broken", "unclosed") and key:
        if ahead:
            yield (*(f"</{element}>" for element in reversed(ahead)), call)
        yield (value, call)
    elif depth:
        yield (*[call] * depth, value, call)
        yield (value, call)
    yield (call,)


def _open_parts(tags: Tags, reading: Reading) -> tuple[str, str, list[str], int]:
    """At the end of the answer: the state, the open parameter, elements in it, examples in it."""
    key, depth, state = "", 0, ""
    ahead: list[str] = []
    for move in reading.moves:
        if move.token == "end":
            state = move.state
            break
        if move.rule in _OPENS:
            key, ahead, depth = _name(tags, move), [], 0
        elif move.rule == "look ahead":
            ahead.append(_name(tags, move))
        elif move.rule == "maybe end":
            ahead = [element for element in ahead if move.text != f"</{element}>"]
        elif move.rule == "open example":
            depth += 1
        elif move.rule.startswith("close example"):
            depth -= 1
    return state, key, ahead, depth


def _name(tags: Tags, move: Transition) -> str:
    found = tags.opened.search(move.text)
    return found[1].strip() if found is not None else ""


def no_structure(tags: Tags, reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """Behind the parameter's closing tag stands something that is no part of a call."""
    text, start = reading.text, finding.span.start
    opening = tags.opened.match(text, start)
    if opening is None:
        return
    call, value = tags.close_call(tool_in(tags, text)), tags.close_parameter(opening[1].strip())
    closed = text.find(value, start)
    end = text.find(call, closed) if closed >= 0 else -1
    if end < 0:
        # The two closing tags are there in the wrong order.
        first = text.find(call, start)
        if first >= 0:
            yield (insert(first, value, call),)
        return
    behind = closed + len(value)
    element = re.compile(r"\s*<([^\s<>/]+)>").match(text, behind, end)
    if element is not None and f"</{element[1]}>" not in text[behind:end]:
        yield (insert(end, f"</{element[1]}>", call),)
    yield (remove(behind, end, text, f"between {value} and {call}"),)


def unclosed_example(tags: Tags, reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """The example inside the value is closed before the value's own end."""
    text, place = reading.text, finding.span.start
    call = tags.close_call(tool_in(tags, text))
    value = re.compile(r"</[^<>\s]{1,256}>").match(text, place)
    newline = "" if text[place - 1] in "\r\n" else "\n"
    for depth in (1, 2, 3):
        yield (insert(place, newline + f"{call}\n" * depth, value[0] if value is not None else "its end"),)


def repaired_parameter(tags: Tags, reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """A closing tag was read where there is none."""
    text, place = reading.text, finding.span.end
    opening = list(tags.opened.finditer(text, 0, finding.span.start))
    if not opening or opening[-1].end() != finding.span.start:
        return
    follows = re.compile(r"\s*(<[^<>]{1,256}>)").match(text, place)
    closer = tags.close_parameter(opening[-1][1].strip())
    yield (insert(place, closer, follows[1]) if follows is not None else append(place, closer),)


def repaired_call(tags: Tags, reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """The call's closing tag was read where there is none."""
    text, place = reading.text, finding.span.end
    call = tags.close_call(tool_in(tags, text))
    if text.endswith("</tool_call>", 0, place):
        yield (insert(place - len("</tool_call>"), call, "</tool_call>"),)
    else:
        yield (append(place, call),)
