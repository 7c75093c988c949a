"""Mending calls in tags: closing tags that are missing, values of the wrong type, examples left open."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from transformer.jsonscan import missing_end
from transformer.parser.mending import Broken, Edit, Edits, append, insert, put, remove
from transformer.values.convert import convert
from transformer.values.schema import Tool, branches, declared, required

_HALF_TAG = re.compile(r"<[^<>\s]{0,256}\Z")


@dataclass(frozen=True, slots=True)
class TagMending:
    """The ideas, for a dialect that spells its tags so. Patterns have the name as their group."""

    parameter: re.Pattern[str]  # a parameter's tag
    call: re.Pattern[str]  # the call's tag
    parameter_closer: Callable[[str], str]
    call_closer: Callable[[str], str]
    wrapper_closer: str = ""
    broken_parameter: re.Pattern[str] | None = None  # a parameter's tag that cannot be read
    opening: Callable[[str], str] = str  # a parameter's tag as it should be

    def ideas(self, broken: Broken) -> Iterator[Edits]:
        ideas = _BY_CODE.get(broken.finding.code)
        return iter(()) if ideas is None else ideas(self, broken)

    def tool_name(self, text: str) -> str:
        """The tool that a text beginning with a call names."""
        found = self.call.search(text)
        return found[1].strip() if found is not None else ""

    def tool(self, broken: Broken) -> Tool | None:
        return broken.tools.get(self.tool_name(broken.text))

    # -- closing tags

    def unclosed(self, broken: Broken) -> Iterator[Edits]:
        """Each parameter that is open is closed before what follows it."""
        text, start = broken.text, broken.finding.span.start
        closer = self.call_closer(self.tool_name(text))
        opening = self.parameter.match(text, start)
        end = text.find(closer, start)
        if opening is None or end < 0:
            return
        parts = [opening, *self._next_parameters(broken, opening, end)]
        edits = []
        for part, following in zip(parts, [*parts[1:], None], strict=True):
            after = end if following is None else following.start()
            own = self.parameter_closer(part[1].strip())
            if not text[part.end() : after].rstrip().endswith(own):
                edits.append(insert(after, own, closer if following is None else following[0]))
        yield tuple(edits)

    def _next_parameters(self, broken: Broken, first: re.Match[str], end: int) -> Iterator[re.Match[str]]:
        """Tags of this tool's other parameters, each at the start of a line: the open value ended
        before them.
        """
        text, tool, seen = broken.text, self.tool(broken), {first[1]}
        for match in self.parameter.finditer(text, first.end(), end):
            known = tool is not None and tool.knows(match[1])
            if known and match[1] not in seen and text[match.start() - 1] in "\r\n":
                seen.add(match[1])
                yield match

    def truncated(self, broken: Broken) -> Iterator[Edits]:
        """The closing tags that are missing at the end, in order; one that has begun is completed."""
        text, end = broken.text, broken.finding.span.end
        name = self.tool_name(text)
        if not name:
            return
        half = _HALF_TAG.search(text, 0, end)
        for closers in self._closers(broken, name, len(text) if half is None else half.start()):
            missing = "".join(closers)
            if half is None:
                yield (append(end, missing),)
            elif closers[0].startswith(half[0]):
                yield (append(end, missing[len(half[0]) :]),)
            else:
                yield (put(half.start(), end, missing, text),)
                yield (append(end, missing),)

    def _closers(self, broken: Broken, name: str, end: int) -> Iterator[tuple[str, ...]]:
        """What may be missing, likeliest first; the text ends at `end`, or only half a tag follows."""
        open_parts = broken.finding.values
        call, value = self.call_closer(name), self.parameter_closer(open_parts.get("parameter", ""))
        elements, examples = open_parts.get("elements", ()), open_parts.get("examples", 0)
        if broken.text[:end].rstrip().endswith(value):
            yield (call,)
        if open_parts.get("value_is_open") and open_parts.get("parameter"):
            if elements:
                yield (*(f"</{element}>" for element in reversed(elements)), call)
            yield (value, call)
        elif examples:
            yield (*[call] * examples, value, call)
            yield (value, call)
        yield (call,)

    def malformed(self, broken: Broken) -> Iterator[Edits]:
        return (
            self.broken_tag(broken) if broken.finding.values.get("broken_tag") else self.no_structure(broken)
        )

    def broken_tag(self, broken: Broken) -> Iterator[Edits]:
        """A parameter's tag without a name, or with it in the wrong place."""
        text, tool = broken.text, self.tool(broken)
        found = (
            self.broken_parameter.search(text, broken.finding.span.start) if self.broken_parameter else None
        )
        if found is None or tool is None:
            return
        named = [key for key in tool.properties if re.search(rf"\b{re.escape(key)}\b", found[0])]
        for key in (named or wanted(tool, set()))[:1]:
            yield (put(found.start(), found.end(), self.opening(key), text),)

    def no_structure(self, broken: Broken) -> Iterator[Edits]:
        """What follows the parameter's closing tag is not part of a call."""
        text, start = broken.text, broken.finding.span.start
        opening = self.parameter.match(text, start)
        if opening is None:
            return
        call, value = self.call_closer(self.tool_name(text)), self.parameter_closer(opening[1].strip())
        closed = text.find(value, start)
        end = text.find(call, closed) if closed >= 0 else -1
        if end < 0:
            # The two closing tags are there in the wrong order.
            first = text.find(call, start)
            if first >= 0:
                yield (insert(first, value, call),)
            return
        after = closed + len(value)
        element = re.compile(r"\s*<([^\s<>/]+)>").match(text, after, end)
        if element is not None and f"</{element[1]}>" not in text[after:end]:
            yield (insert(end, f"</{element[1]}>", call),)
        yield (remove(after, end, text, f"between {value} and {call}"),)

    def unclosed_example(self, broken: Broken) -> Iterator[Edits]:
        """The example inside the value is closed before the value's own end."""
        text, place = broken.text, broken.finding.span.start
        call = self.call_closer(self.tool_name(text))
        value = re.compile(r"</[^<>\s]{1,256}>").match(text, place)
        newline = "" if text[place - 1] in "\r\n" else "\n"
        for depth in (1, 2, 3):
            yield (
                insert(place, newline + f"{call}\n" * depth, value[0] if value is not None else "its end"),
            )

    def repaired_parameter(self, broken: Broken) -> Iterator[Edits]:
        """Adds a closing tag that the parser assumed."""
        text, (start, place) = broken.text, (broken.finding.span.start, broken.finding.span.end)
        opening = list(self.parameter.finditer(text, 0, start))
        if not opening or opening[-1].end() != start:
            return
        follows = re.compile(r"\s*(<[^<>]{1,256}>)").match(text, place)
        closer = self.parameter_closer(opening[-1][1].strip())
        yield (insert(place, closer, follows[1]) if follows is not None else append(place, closer),)

    def repaired_tag(self, broken: Broken) -> Iterator[Edits]:
        """The tag as it should be."""
        start, end = broken.finding.span.start, broken.finding.span.end
        yield (put(start, end, broken.finding.values["wanted"], broken.text),)

    def repaired_call(self, broken: Broken) -> Iterator[Edits]:
        """Adds the call's closing tag, which the parser assumed."""
        text, place, wrapper = broken.text, broken.finding.span.end, self.wrapper_closer
        call = self.call_closer(self.tool_name(text))
        if wrapper and text.endswith(wrapper, 0, place):
            yield (insert(place - len(wrapper), call, wrapper),)
        else:
            yield (append(place, call),)

    # -- values

    def other_value(self, broken: Broken) -> Iterator[Edits]:
        """The value as what was meant, or as anything of its type."""
        text, (start, end) = broken.text, (broken.finding.span.start, broken.finding.span.end)
        opening, tool = self._opening(text, start), self.tool(broken)
        key = opening[1].strip() if opening is not None else ""
        if tool is None or not tool.knows(key):
            return
        value = text[start:end]
        inner = value.strip()
        place = start + value.find(inner)
        for better in fitting(inner, tool.properties[key], tool.parameters):
            yield (put(place, place + len(inner), better, text),)

    def without_repeats(self, broken: Broken) -> Iterator[Edits]:
        """One of two parameters of the same name is left out: the second, or the first."""
        text = broken.text
        second = self._opening(text, broken.finding.span.start)
        if second is None:
            return
        key = second[1].strip()
        closer = self.parameter_closer(key)
        first = next((match for match in self.parameter.finditer(text) if match[1] == second[1]), second)
        for opening, word in ((second, "second"), (first, "first")):
            end = text.find(closer, opening.end())
            if end >= 0:
                edit = remove(opening.start(), end + len(closer), text, "")
                yield (Edit(edit.start, edit.end, "", f"{edit.words.rstrip()} (the {word} {key})"),)

    def _opening(self, text: str, end: int) -> re.Match[str] | None:
        """The tag right before a value."""
        return next((found for found in self.parameter.finditer(text, 0, end) if found.end() == end), None)


_BY_CODE: dict[str, Callable[[TagMending, Broken], Iterator[Edits]]] = {
    "unclosed-parameter": TagMending.unclosed,
    "truncated-call": TagMending.truncated,
    "malformed-call": TagMending.malformed,
    "ambiguous-end": TagMending.unclosed_example,
    "repaired-parameter": TagMending.repaired_parameter,
    "repaired-tag": TagMending.repaired_tag,
    "repaired-call": TagMending.repaired_call,
    "value-not-of-type": TagMending.other_value,
    "duplicate-parameter": TagMending.without_repeats,
}


def wanted(tool: Tool | None, given: set[str]) -> list[str]:
    """The parameters that a nameless one may be: required ones first."""
    if tool is None:
        return []
    keys = [*tool.required, *(key for key in tool.properties if key not in tool.required)]
    return [key for key in keys if key not in given]


# -- values that fit their type, made from one that does not

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_DEEPEST = 4
_SIMPLEST: dict[str, Any] = {
    "number": 0,
    "integer": 0,
    "boolean": True,
    "array": [],
    "null": None,
    "string": "",
}


def fitting(text: str, schema: Any, root: Any) -> Iterator[str]:
    """Texts of the wanted type, the nearest first."""
    tried = {text}
    for candidate in _candidates(text, schema, root):
        if candidate not in tried and convert(candidate, schema, root).fits:
            yield candidate
        tried.add(candidate)


def _candidates(text: str, schema: Any, root: Any) -> Iterator[str]:
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
    yield _json([line.strip() for line in text.splitlines() if line.strip()])
    yield _json(simplest(schema, root))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def simplest(schema: Any, root: Any, depth: int = 0) -> Any:
    """The simplest value of a type."""
    for branch in branches(schema, root):
        options = branch.schema.get("enum")
        if isinstance(options, list) and options:
            return options[0]
        if branch.word == "object" and depth < _DEEPEST:
            members, wanted = declared(branch.schema), required(branch.schema)
            return {name: simplest(members.get(name, {}), root, depth + 1) for name in wanted}
        return _SIMPLEST.get(branch.word, {})
    return ""
