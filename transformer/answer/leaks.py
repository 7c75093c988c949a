"""Prose: where a text quotes (code fences, backticks) or thinks, so that it has no calls there."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from transformer.answer.observations import Answered, Observation, choices_of, observation
from transformer.answer.setting import Setting
from transformer.answer.whole import transform_message
from transformer.dialects import DIALECTS
from transformer.dialects.foreign import LEAK_MARKS
from transformer.parser.leakmarks import LeakMark
from transformer.parser.output import Markdown
from transformer.policy import Policy

Range = tuple[int, int]

# Code in a line is short; a lone backtick must not make the rest of a long line disappear.
_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)[^\n]{1,400}?(?<!`)\1(?!`)")
_THINK = re.compile(r"<(think|thinking)>")
_INDENT = 64


class ProsePlaces:
    """Tells what surrounds a character. Work is done once, and only on demand."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._quotes: list[Range] | None = None
        self._thoughts: list[Range] | None = None

    def quoted(self, at: int) -> bool:
        """In a code fence, or in backticks."""
        if self._quotes is None:
            fences = list(_fences(self._text))
            code = [
                match.span() for match in _CODE.finditer(self._text) if not _within(fences, match.start())
            ]
            self._quotes = sorted([*fences, *code])
        return _within(self._quotes, at)

    def thought(self, at: int) -> bool:
        """In a `<think>` block that ends: one that never ends may contain the answer itself."""
        if self._thoughts is None:
            self._thoughts = list(_thoughts(self._text))
        return _within(self._thoughts, at)

    def starts_line(self, at: int) -> bool:
        """Only blanks are before it on its line."""
        before = self._text[max(0, at - _INDENT) : at]
        line = before[before.rfind("\n") + 1 :]
        return not line.strip() and (len(line) < len(before) or at <= _INDENT)


def _within(ranges: list[Range], at: int) -> bool:
    place = bisect_right(ranges, (at, 1 << 62)) - 1
    return place >= 0 and at < ranges[place][1]


def _fences(text: str) -> Iterator[Range]:
    """From after the opening line to the closing one, or to the end of the text."""
    if "```" not in text and "~~~" not in text:
        return
    markdown, at, opened = Markdown(), 0, None
    while at < len(text):
        start, at = at, text.find("\n", at) + 1 or len(text)
        was = markdown.fenced
        markdown.feed(text[start:at])
        if markdown.fenced and not was:
            opened = at
        elif was and not markdown.fenced and opened is not None:
            yield opened, at
            opened = None
    if opened is not None:
        yield opened, len(text)


def _thoughts(text: str) -> Iterator[Range]:
    at = 0
    while opening := _THINK.search(text, at):
        end = text.find(f"</{opening[1]}>", opening.end())
        if end < 0:
            return
        yield opening.start(), end
        at = end


@dataclass(frozen=True, slots=True)
class Mark:
    """A leak mark and the dialect that it is a mark of; not every one of these can be converted."""

    dialect: str
    shape: LeakMark


def _marks() -> tuple[Mark, ...]:
    """All of them; the generic shapes, which any XML or JSON may have, are asked last."""
    known = {name: dialect.leak_marks for name, dialect in DIALECTS.items()}
    marks = [Mark(name, shape) for name, shapes in (*known.items(), *LEAK_MARKS.items()) for shape in shapes]
    return tuple(sorted(marks, key=lambda mark: mark.shape.needs == "name and parameter"))


MARKS = _marks()


@cache
def _combined() -> re.Pattern[str]:
    """One pattern for all, compiled when it is first needed.

    By first characters, because an alternation of letters is searched for much faster than one of groups; the
    empty group after each mark says which one it was.
    """
    rests: dict[str, list[str]] = {}
    for number, mark in enumerate(MARKS):
        # A group name may occur only once in a pattern.
        own = mark.shape.written.replace("(?P<", f"(?P<of{number}_").replace("(?P=", f"(?P=of{number}_")
        size = 2 if own.startswith("\\") else 1
        rests.setdefault(own[:size], []).append(f"{own[size:]}(?P<mark{number}>)")
    return re.compile("|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in rests.items()))


@dataclass(frozen=True, slots=True)
class Hit:
    """A mark in a text; where it is decides whether it means anything."""

    mark: Mark
    start: int
    end: int
    name: str | None
    child: str | None


def hits(text: str) -> Iterator[Hit]:
    """Every mark in a text, from left to right. Each character is examined a bounded number of times."""
    for match in _combined().finditer(text):
        number = int(str(match.lastgroup).removeprefix("mark"))
        mark = MARKS[number]
        name, child = (
            match[f"of{number}_{group}"] if group in mark.shape.pattern.groupindex else None
            for group in ("name", "child")
        )
        yield Hit(mark, match.start(), match.end(), name, child)


# Names that stand for a name.
_PLACEHOLDERS = frozenset(
    """
    name tool_name toolname function_name functionname example_function_name example_function example_tool
    your_tool your_function some_tool some_function my_tool my_function func function tool n x foo bar ...
    """.split()
)
_ALL = Policy(calls="all", unknown_tools="text", channels=("content",))
# A proof reads on from the mark, but not for ever: the proxy is waiting.
_PROOF = 64 << 10


@dataclass(frozen=True, slots=True)
class LeakContext:
    """What is known besides the text: the setting, the user's last words, why nothing was converted."""

    setting: Setting
    asked: str
    why: str


def leaks(choice: Answered, context: LeakContext) -> Iterator[Observation]:
    """Marks in the content; the first of each dialect speaks for the others."""
    for hit in _first_of_each(_told(choice.content, context, thought=False)):
        yield from _leak(hit, "content", choice.content, choice.index, context)


def thoughts(choice: Answered, context: LeakContext) -> Iterator[Observation]:
    """Calls in the reasoning. A model that made a call in the end has only thought of these."""
    if choice.calls:
        return
    for hit in _first_of_each(_told(choice.content, context, thought=True)):
        yield from _thought(hit, "content", choice.content, choice, context)
    for field, text in choice.reasoning.items():
        for hit in _first_of_each(_told(text, context, thought=None)):
            yield from _thought(hit, field, text, choice, context)


def _leak(hit: Hit, field: str, text: str, choice: int, context: LeakContext) -> Iterator[Observation]:
    place, found, dialect = (
        (choice, field, hit.start, hit.end),
        hit.mark.dialect,
        context.setting.dialect.name,
    )
    unknown = (
        found == dialect
        and context.setting.tools_known
        and hit.name
        and hit.name not in context.setting.tools
    )
    why = f"the tool {hit.name} was not offered" if unknown and context.setting.converts else context.why
    yield observation("leaked-markers", place, found=found, why=why)
    if found != dialect and (tool := _converted(hit, text, context)):
        yield observation("other-dialect", place, tool=tool, found=found, dialect=dialect)


def _thought(
    hit: Hit, field: str, text: str, choice: Answered, context: LeakContext
) -> Iterator[Observation]:
    """A whole call; or half of one, if the answer has nothing else."""
    ours = hit.mark.dialect in DIALECTS
    tool = _converted(hit, text, context) if ours else hit.name
    offered = hit.name in context.setting.tools or not context.setting.tools_known
    place = (choice.index, field, hit.start, hit.end)
    found = hit.mark.dialect
    if tool and (ours or offered):
        yield observation("call-in-reasoning", place, tool=tool[:100], found=found)
    elif choice.silent:
        yield observation("leaked-markers", place, found=found, why="it stands in the reasoning")


def _converted(hit: Hit, text: str, context: LeakContext) -> str | None:
    """The tool that is called if the dialect of the mark really reads the text, from the mark on."""
    if hit.mark.dialect not in DIALECTS:
        return None
    message = {"role": "assistant", "content": text[hit.start : hit.start + _PROOF]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    tools = [
        {"function": {"name": tool.name, "parameters": tool.parameters}}
        for tool in context.setting.tools.values()
    ]
    read = transform_message(body, hit.mark.dialect, tools or None, _ALL if tools else None)
    return next((call.name for choice in choices_of(read) for call in choice.calls), None)


def _first_of_each(found: Iterator[Hit]) -> Iterator[Hit]:
    seen: set[str] = set()
    for hit in found:
        if hit.mark.dialect not in seen:
            seen.add(hit.mark.dialect)
            yield hit


def _told(text: str, context: LeakContext, thought: bool | None) -> Iterator[Hit]:
    """The marks that mean something. `thought`: only those inside (or outside) of thoughts, None: any."""
    prose = ProsePlaces(text)
    for hit in hits(text):
        if _means_it(hit, prose, context) and thought in (None, prose.thought(hit.start)):
            yield hit


def _means_it(hit: Hit, prose: ProsePlaces, context: LeakContext) -> bool:
    tools = context.setting.tools
    named, line = hit.name in tools, prose.starts_line(hit.start)
    if hit.mark.shape.needs == "name and parameter":
        means = _has_own_parameter(hit, context)
    elif hit.mark.shape.needs == "name and line":
        means = named and line
    elif hit.mark.shape.needs == "name or line":
        means = named or (line and not _is_example(hit, context))
    else:
        means = named or not _is_example(hit, context)
    return means and not prose.quoted(hit.start)


def _is_example(hit: Hit, context: LeakContext) -> bool:
    """No tool is called so, or the user has just asked what this is."""
    return (hit.name or "").lower() in _PLACEHOLDERS or hit.mark.shape.opener in context.asked


def _has_own_parameter(hit: Hit, context: LeakContext) -> bool:
    """Any XML has this shape: only a tool's own tag with one of its own parameters is more than that."""
    tool = context.setting.tools.get(hit.name or "")
    if tool is None:
        return False
    return tool.knows(hit.child) if hit.child and tool.has_schema else True
