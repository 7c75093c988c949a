"""qwen3-coder: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from transformer.parser.leakmarks import NAME, leak_mark
from transformer.parser.machine import Dialect
from transformer.parser.markers import Part, marker, name
from transformer.parser.mending import Broken, Edit, Edits, Mender, insert_after
from transformer.parser.tagcall import NAME_LIMIT
from transformer.parser.taggrammar import Spelling, tag_grammar
from transformer.parser.tagmending import TagMending
from transformer.parser.writing import TagSyntax, packaged_template, tag_writer
from transformer.policy import USUAL, Policy
from transformer.values.schema import Tool

_NAME = rf"[^<>\n]{{1,{NAME_LIMIT}}}"

SPELLING = Spelling(
    call=marker("<function=", name(_NAME), ">"),
    parameter=marker("<parameter=", name(_NAME), ">"),
    # `<parameter=key=value</parameter>`, a parameter whose tag never ended.
    inline=marker(
        "<parameter=", name(_NAME.replace("<>", "<>=")), "=", Part(r"[^<>\n]{0,1024}"), "</parameter>"
    ),
    close_call=marker("</function>"),
    close_parameter=marker("</parameter>"),
    wrapper=marker("<tool_call>"),
    close_wrapper=marker("</tool_call>"),
)

# -- the way up, as the model's own chat template writes it


def _parameter(key: str, text: str) -> str:
    # Strings bring their own line breaks; numbers and JSON get them here, where the reader ignores them.
    body = text if text.startswith("\n") else f"\n{text}\n"
    return f"<parameter={key}>{body}</parameter>"


def _call(name: str, parts: Sequence[str]) -> str:
    return "\n".join(("<tool_call>", f"<function={name}>", *parts, "</function>", "</tool_call>"))


SYNTAX = TagSyntax(
    dialect="qwen3-coder",
    # Blanks at the ends of a name are lost, those inside are not.
    name=re.compile(rf"(?!\s){_NAME}(?<!\s)"),
    marks=re.compile(r"</?(?:parameter|function|tool_call)[=>]()"),
    parameter=_parameter,
    call=_call,
    on_one_line=False,
)

# -- mending

_PARAMETER_TAG = "<parameter="
_WORD = re.compile(r"[A-Za-z_][\w.-]*")
_FUNCTION_TAG = re.compile(rf"<function={_NAME}>")
_MENDING = TagMending(
    re.compile(rf"<parameter=({_NAME})>"),
    re.compile(rf"<function=({_NAME})>"),
    lambda key: "</parameter>",
    lambda tool: "</function>",
    wrapper_closer="</tool_call>",
)


def ideas(broken: Broken) -> Iterator[Edits]:
    finding = broken.finding
    if finding.code == "malformed-call" and finding.values.get("broken_tag"):
        return _end_tag(broken)
    if finding.code == "repaired-parameter" and broken.text.startswith(_PARAMETER_TAG, finding.span.start):
        return _end_inline_tag(broken)
    return _MENDING.ideas(broken)


def _end_tag(broken: Broken) -> Iterator[Edits]:
    """`<parameter=` without a name, or without the > after it."""
    text, tool = broken.text, _MENDING.tool(broken)
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
        given = {match[1].strip() for match in _MENDING.parameter.finditer(text, 0, place)}
        for key in _wanted(tool, given)[:1]:
            yield (insert_after(place, f"{key}>", _PARAMETER_TAG),)


def _name_at(text: str, place: int, tool: Tool | None) -> str:
    """A parameter of the tool that stands there, else any word."""
    known = sorted(tool.properties, key=len, reverse=True) if tool is not None else ()
    for key in known:
        if text.startswith(key, place):
            return key
    word = _WORD.match(text, place)
    return word[0] if word is not None else ""


def _wanted(tool: Tool | None, given: set[str]) -> list[str]:
    """The parameters that a nameless one may be: required ones first."""
    if tool is None:
        return []
    keys = [*tool.required, *(key for key in tool.properties if key not in tool.required)]
    return [key for key in keys if key not in given]


def _end_inline_tag(broken: Broken) -> Iterator[Edits]:
    """`<parameter=key=value</parameter>`, which was read as if its tag had ended."""
    start = broken.finding.span.start + len(_PARAMETER_TAG)
    place = broken.text.find("=", start)
    if place >= 0:
        yield (_ended(place, broken.text[start:place]),)


def _ended(place: int, name: str) -> Edit:
    return Edit(place, place + 1, ">", f"with > instead of = after {_PARAMETER_TAG}{name}")


def _wrapped(text: str) -> Edits:
    """Of a tool that nobody offered a function's tag alone is not a call."""
    tag = _FUNCTION_TAG.match(text)
    return () if tag is None else (Edit(0, 0, "<tool_call>\n", f"with <tool_call> before {tag[0]}"),)


_CALL_SHAPE = re.compile(r"<function=[^<>\n]+>\s*<parameter=")

QWEN3_CODER = Dialect(
    name="qwen3-coder",
    summary="<tool_call><function=name><parameter=key>value</parameter></function></tool_call>",
    policy=Policy(
        tools="template",
        calls="all",
        arguments="whole",
        after_call="keep",
        in_think="call",  # the model ends its thoughts with a call
        channels=("content",),
    ).over(USUAL),
    **tag_grammar(SPELLING),
    writer=tag_writer(SYNTAX, "\n"),
    template=packaged_template("qwen3_coder.jinja"),
    taught_by=(
        "<function=example_function",
        "<function=...>",
        "<tools>\n<function>",
        lambda text: _CALL_SHAPE.search(text) is not None,
    ),
    leak_marks=(
        leak_mark("<tool_call>", rf"<tool_call>\s*<function=(?P<name>{NAME})>", "name or line"),
        leak_mark(
            "<function=",
            rf"<function=(?P<name>{NAME})>(?=\s*(?:<parameter=|</function>))",
            "name or line",
        ),
    ),
    mender=Mender(ideas, wrapped=_wrapped),
    models=("qwen3-coder", "qwen3.5", "qwen3.6", "qwen3.8", "mimo", "step-3.5", "nemotron-3-nano"),
)
