"""Mends: what a broken call should have looked like, for each way to write calls.

Each function gives the edits that may help, best first; whether they do is found out by a trial.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from transformer.jsonscan import missing_end
from transformer.parser.jsoncall import fitting_tools
from transformer.records import Finding, Transition
from transformer.values.convert import convert
from transformer.values.literals import python_literal
from transformer.values.schema import Tool, branches, declared, required
from workbench.analysis.explain.trials import (
    Edit,
    Reading,
    append,
    insert,
    insert_behind,
    is_object,
    put,
    remove,
)
from workbench.text import json_text

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


_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_DEEPEST = 4
_EXAMPLES: dict[str, Any] = {
    "number": 0,
    "integer": 0,
    "boolean": True,
    "array": [],
    "null": None,
    "string": "",
}


def other_value(
    tags: Tags, reading: Reading, finding: Finding, tool: Tool | None
) -> Iterator[tuple[Edit, ...]]:
    """The value as what was meant, or as anything of its type."""
    text, (start, end) = reading.text, (finding.span.start, finding.span.end)
    opening = _opening(tags, text, start)
    key = opening[1].strip() if opening is not None else ""
    if tool is None or not tool.knows(key):
        return
    value = text[start:end]
    inner = value.strip()
    place = start + value.find(inner)
    for better in fitting(inner, tool.properties[key], tool.parameters):
        yield (put(place, place + len(inner), better, text),)


def _opening(tags: Tags, text: str, end: int) -> re.Match[str] | None:
    """The tag right before a value."""
    return next((found for found in tags.opened.finditer(text, 0, end) if found.end() == end), None)


def fitting(text: str, schema: Any, root: Any) -> Iterator[str]:
    """Texts of the wanted type, the nearest first."""
    tried = {text}
    for candidate in _value_candidates(text, schema, root):
        if candidate not in tried and convert(candidate, schema, root).fits:
            yield candidate
        tried.add(candidate)


def _value_candidates(text: str, schema: Any, root: Any) -> Iterator[str]:
    closing = missing_end(text)
    if closing:
        yield text + closing
    numbers = _NUMBER.findall(text)
    if len(numbers) == 1:
        yield numbers[0]
        yield numbers[0].split(".")[0]
    if numbers and text[:1] == "[":
        yield f"[{', '.join(numbers)}]"
    yield f"[{text}]"
    yield json_text([line.strip() for line in text.splitlines() if line.strip()])
    yield json_text(example(schema, root))


def example(schema: Any, root: Any, depth: int = 0) -> Any:
    """The simplest value of a type."""
    for branch in branches(schema, root):
        options = branch.schema.get("enum")
        if isinstance(options, list) and options:
            return options[0]
        if branch.word == "object" and depth < _DEEPEST:
            members, wanted = declared(branch.schema), required(branch.schema)
            return {name: example(members.get(name, {}), root, depth + 1) for name in wanted}
        return _EXAMPLES.get(branch.word, {})
    return ""


def without_repeats(tags: Tags, reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """One of two parameters of the same name is left out: the second, or the first."""
    text, start = reading.text, finding.span.start
    second = _opening(tags, text, start)
    if second is None:
        return
    closer = tags.close_parameter(second[1].strip())
    first = next((match for match in tags.opened.finditer(text) if match[1] == second[1]), second)
    for opening, word in ((second, "second"), (first, "first")):
        end = text.find(closer, opening.end())
        if end >= 0:
            edit = remove(opening.start(), end + len(closer), text, "")
            yield (Edit(edit.start, edit.end, "", f"{edit.words.rstrip()} (the {word} {second[1].strip()})"),)


_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_TAG = "<parameter="


def broken_tag(reading: Reading, finding: Finding, tool: Tool | None) -> Iterator[tuple[Edit, ...]]:
    """`<parameter=` without a name, or without the > behind it."""
    text = reading.text
    place = text.find(_TAG, finding.span.start)
    if place < 0:
        return
    place += len(_TAG)
    name = _name_at(text, place, tool)
    if not name:
        given = {match[1].strip() for match in QWEN.opened.finditer(text, 0, place)}
        for key in _wanted(tool, given)[:1]:
            yield (insert_behind(place, f"{key}>", _TAG),)
        return
    behind = place + len(name)
    if text.startswith("=", behind):
        yield (_ended(behind, name),)
        return
    yield (insert_behind(behind, ">", _TAG + name),)


def _name_at(text: str, place: int, tool: Tool | None) -> str:
    """A parameter of the tool that stands there, else any word."""
    known = sorted(tool.properties, key=len, reverse=True) if tool is not None else ()
    for key in known:
        if text.startswith(key, place):
            return key
    word = _NAME.match(text, place)
    return word[0] if word is not None else ""


def _wanted(tool: Tool | None, given: set[str]) -> list[str]:
    """The parameters that a nameless one may be: required ones first."""
    if tool is None:
        return []
    keys = [*tool.required, *(key for key in tool.properties if key not in tool.required)]
    return [key for key in keys if key not in given]


def inline_parameter(reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """`<parameter=key=value</parameter>`, which was read as if its tag had ended."""
    start = finding.span.start + len(_TAG)
    place = reading.text.find("=", start)
    if place >= 0:
        yield (_ended(place, reading.text[start:place]),)


def _ended(place: int, name: str) -> Edit:
    return Edit(place, place + 1, ">", f"with > instead of = behind {_TAG}{name}")


_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_CONTROL = re.compile(r"[\x00-\x1f]")
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACES = 20  # that are tried as the last one
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def mended_json(arguments: str) -> Iterator[str]:
    """Texts that are a JSON object, likeliest first."""
    tried: set[str] = set()
    for candidate in _json_candidates(arguments):
        if candidate not in tried and candidate != arguments and is_object(candidate):
            yield candidate
        tried.add(candidate)


def _json_candidates(arguments: str) -> Iterator[str]:
    yield _TRAILING_COMMA.sub("", arguments)
    yield _STRING.sub(_escaped, arguments)
    literal = python_literal(arguments, ["object"])
    if literal is not None:
        yield literal
    closing = missing_end(arguments)
    if closing:
        yield arguments + closing
    # An object with something behind it.
    for brace in islice(re.finditer("}", arguments), _BRACES):
        yield arguments[: brace.end()]
    if not arguments.startswith("{"):
        yield f"{{{arguments}}}"
        yield f"{{{arguments}"


def _escaped(string: re.Match[str]) -> str:
    """Line breaks and the like may stand in a JSON string only as escapes."""
    return _CONTROL.sub(lambda char: _ESCAPES.get(char[0], f"\\u{ord(char[0]):04x}"), string[0])


_BEGIN, _ARGUMENTS, _END = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
_HALF_TOKEN = re.compile(r"<\|?[a-z_]*\|?\Z")
_NEXT_TOKEN = re.compile(r"\s*(<\|[a-z_]+\|>)")
_NOTHING_MORE = re.compile(r"\s*(?:<\|tool_calls?_section_end\|>|\Z)")
# What makes JSON of arguments that end in the middle of a member.
_TAILS = ("", '""', ':""', '":""', "null")


def kimi_malformed(reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
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


def kimi_truncated(
    reading: Reading, finding: Finding, tools: Mapping[str, Tool]
) -> Iterator[tuple[Edit, ...]]:
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


def kimi_unnamed(reading: Reading, finding: Finding, tools: Mapping[str, Tool]) -> Iterator[tuple[Edit, ...]]:
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


def kimi_repaired(reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """The token that ends the call was read where there is none."""
    text, end = reading.text, finding.span.end
    following = _NEXT_TOKEN.match(text, end)
    if following is not None:
        if following[1] == _BEGIN and _NOTHING_MORE.match(text, following.end()):
            # A model that takes the one token for the other.
            yield (put(following.start(1), following.end(1), _END, text),)
        yield (insert(end, _END, following[1]),)
        return
    yield from kimi_truncated(reading, finding, {})


def kimi_bad_json(reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    """Arguments as the JSON that was meant."""
    text = reading.text
    at = text.find(_ARGUMENTS) + len(_ARGUMENTS)
    end = finding.span.end
    end = end - len(_END) if text.endswith(_END, at, end) else end
    arguments = text[at:end].strip()
    start = text.find(arguments, at)
    for better in mended_json(arguments):
        yield (put(start, start + len(arguments), better, text),)


def kimi_other_id(reading: Reading, number: int) -> Iterator[tuple[Edit, ...]]:
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
