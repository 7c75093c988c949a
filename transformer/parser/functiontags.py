"""Calls of functions: `<function=name><parameter=key>value</parameter></function>` inside a wrapper.

Qwen3-Coder and Seed-OSS write them so; the wrapper's tag and the line breaks around values differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from transformer.parser.markers import Part, marker, name
from transformer.parser.mending import Broken, Edit, Edits, Mender, insert_after
from transformer.parser.tagcall import NAME_LIMIT
from transformer.parser.taggrammar import tag_grammar
from transformer.parser.tagmending import TagMending, wanted
from transformer.parser.tagspelling import Spelling
from transformer.parser.writing import TagSyntax, tag_writer
from transformer.values.schema import Tool

_NAME = rf"[^<>\n]{{1,{NAME_LIMIT}}}"
_INLINE_NAME = rf"[^<>\n=]{{1,{NAME_LIMIT}}}"
_PARAMETER_TAG = "<parameter="
_WORD = re.compile(r"[A-Za-z_][\w.-]*")
_FUNCTION_TAG = re.compile(rf"<function={_NAME}>")


def function_tags(
    dialect: str, wrapper: str, parameter: Callable[[str, str], str], on_one_line: bool
) -> dict[str, Any]:
    """Table, words, writer and mender of a dialect with this tag around its calls. `parameter` writes one."""
    opened, closed = f"<{wrapper}>", f"</{wrapper}>"
    spelling = Spelling(
        call=marker("<function=", name(_NAME), ">"),
        parameter=marker(_PARAMETER_TAG, name(_NAME), ">"),
        # `<parameter=key=value</parameter>`, a parameter whose tag never ended.
        inline=marker(_PARAMETER_TAG, name(_INLINE_NAME), "=", Part(r"[^<>\n]{0,1024}"), "</parameter>"),
        close_call=marker("</function>"),
        close_parameter=marker("</parameter>"),
        wrapper=marker(opened),
        close_wrapper=marker(closed),
    )
    syntax = TagSyntax(
        dialect=dialect,
        # Blanks at the ends of a name are lost, those inside are not.
        name=re.compile(rf"(?!\s){_NAME}(?<!\s)"),
        marks=re.compile(rf"</?(?:parameter|function|{wrapper})[=>]()"),
        parameter=parameter,
        call=lambda tool, parts: "\n".join((opened, f"<function={tool}>", *parts, "</function>", closed)),
        on_one_line=on_one_line,
    )
    mending = TagMending(
        re.compile(rf"<parameter=({_NAME})>"),
        re.compile(rf"<function=({_NAME})>"),
        lambda key: "</parameter>",
        lambda tool: "</function>",
        wrapper_closer=closed,
    )
    return {
        **tag_grammar(spelling),
        "writer": tag_writer(syntax, "\n"),
        "mender": Mender(lambda broken: _ideas(mending, broken), wrapped=lambda text: _wrapped(opened, text)),
    }


# -- mending


def _ideas(mending: TagMending, broken: Broken) -> Iterator[Edits]:
    finding = broken.finding
    if finding.code == "malformed-call" and finding.values.get("broken_tag"):
        return _end_tag(mending, broken)
    if finding.code == "repaired-parameter" and broken.text.startswith(_PARAMETER_TAG, finding.span.start):
        return _end_inline_tag(broken)
    return mending.ideas(broken)


def _end_tag(mending: TagMending, broken: Broken) -> Iterator[Edits]:
    """`<parameter=` without a name, or without the > after it."""
    text, tool = broken.text, mending.tool(broken)
    place = text.find(_PARAMETER_TAG, broken.finding.span.start)
    if place < 0:
        return
    place += len(_PARAMETER_TAG)
    name = _name_at(text, place, tool)
    after = place + len(name)
    if name and text.startswith("=", after):
        yield (_ended(after, name),)
    elif name:
        yield (insert_after(after, ">", _PARAMETER_TAG + name),)
    else:
        given = {match[1].strip() for match in mending.parameter.finditer(text, 0, place)}
        for key in wanted(tool, given)[:1]:
            yield (insert_after(place, f"{key}>", _PARAMETER_TAG),)


def _name_at(text: str, place: int, tool: Tool | None) -> str:
    """The tool's parameter at this place, else any word."""
    known = sorted(tool.properties, key=len, reverse=True) if tool is not None else ()
    for key in known:
        if text.startswith(key, place):
            return key
    word = _WORD.match(text, place)
    return word[0] if word is not None else ""


def _end_inline_tag(broken: Broken) -> Iterator[Edits]:
    """`<parameter=key=value</parameter>`, which was read as if its tag had ended."""
    start = broken.finding.span.start + len(_PARAMETER_TAG)
    place = broken.text.find("=", start)
    if place >= 0:
        yield (_ended(place, broken.text[start:place]),)


def _ended(place: int, name: str) -> Edit:
    return Edit(place, place + 1, ">", f"with > instead of = after {_PARAMETER_TAG}{name}")


def _wrapped(wrapper: str, text: str) -> Edits:
    """For a tool that was not offered, a function's tag alone is not a call."""
    tag = _FUNCTION_TAG.match(text)
    return () if tag is None else (Edit(0, 0, f"{wrapper}\n", f"with {wrapper} before {tag[0]}"),)
