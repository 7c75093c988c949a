"""Calls with names in attributes: `<invoke name="tool"><parameter name="key">value</parameter></invoke>`.

MiniMax, DeepSeek and all models taught by such prompts write them so, in different wrappers and
with different prefixes to the names of their tags.
"""

from __future__ import annotations

import re
from typing import Any

from transformer.parser.markers import SPACE, Marker, Part, joined, marker, name
from transformer.parser.mending import Mender
from transformer.parser.tagcall import NAME_LIMIT
from transformer.parser.taggrammar import tag_grammar
from transformer.parser.tagmending import TagMending
from transformer.parser.tagspelling import Spelling
from transformer.parser.writing import TagSyntax, tag_writer
from transformer.values.convert import Kind, Reading

NO_PREFIX = Part("")
_READING = Reading(verbatim=True)  # the chat templates write values directly between their tags
_NAME = rf"[^\"'<>\s][^\"'<>\n]{{0,{NAME_LIMIT}}}"
# In double or single quotation marks, or in none.
_QUOTED = name(
    rf"\"[^\"<\n]{{1,{NAME_LIMIT}}}\"|'[^'<\n]{{1,{NAME_LIMIT}}}'|[^\s\"'<>]{{1,{NAME_LIMIT}}}",
    begun=rf"\"[^\"<\n]{{0,{NAME_LIMIT}}}|'[^'<\n]{{0,{NAME_LIMIT}}}",
)
_ATTRIBUTES = Part(r"(?:\s[^<>\n]{0,128})?")
# What DeepSeek, and models that imitate it, say about a value.
_STRING = re.compile(r"\sstring\s{0,8}=\s{0,8}[\"']?(true|false)\b")


def invoke_tags(
    dialect: str,
    wrapper: str,
    opened: Marker,
    closed: Marker,
    prefix: Part = NO_PREFIX,
    written_prefix: str = "",
    typed: bool = False,
) -> dict[str, Any]:
    """Table, words, writer and mender of a dialect of such calls.

    `wrapper` is the name of the tag around all calls as it is written, `opened` and `closed` are its tags
    as they may be read. `prefix` precedes the names of the other tags. With `typed`, the writer says of
    every value whether it is a string.
    """
    spelling = Spelling(
        call=_opening("invoke", prefix, written_prefix),
        parameter=_opening("parameter", prefix, written_prefix),
        close_call=_closing("invoke", prefix, written_prefix),
        close_parameter=_closing("parameter", prefix, written_prefix),
        wrapper=opened,
        close_wrapper=closed,
        json=True,
        quoted=True,
        on_one_line=True,
        reading=_READING,
        wrappers=("arguments", "input"),
        kind=_kind,
        closers=_closers,
    )
    return {
        **tag_grammar(spelling),
        "writer": tag_writer(_syntax(dialect, wrapper, written_prefix, typed), "\n"),
        "mender": Mender(_mending(wrapper, prefix, written_prefix).ideas),
    }


def _opening(tag: str, prefix: Part, written: str) -> Marker:
    attribute = (Part(r"\s{1,64}"), "name", SPACE, "=", SPACE, _QUOTED, _ATTRIBUTES, SPACE, ">")
    return marker(joined("<", prefix, tag), *attribute, shown=f'<{written}{tag} name="name">')


def _closing(tag: str, prefix: Part, written: str) -> Marker:
    return marker(joined("</", prefix, tag), SPACE, ">", shown=f"</{written}{tag}>")


def _kind(tag: str) -> Kind:
    said = _STRING.search(tag)
    return "" if said is None else "text" if said[1] == "true" else "json"


def _closers(tag: str) -> tuple[str, str]:
    prefix = tag[1 : tag.index("invoke")]
    return f"</{prefix}invoke>", f"</{prefix}parameter>"


def _syntax(dialect: str, wrapper: str, prefix: str, typed: bool) -> TagSyntax:
    def parameter(key: str, text: str, said: str = ' string="true"' if typed else "") -> str:
        return f'<{prefix}parameter name="{key}"{said}>{text}</{prefix}parameter>'

    return TagSyntax(
        dialect=dialect,
        name=re.compile(rf"(?!\s){_NAME}(?<!\s)"),
        marks=re.compile(rf"</?(?:{re.escape(prefix)}(?:invoke|parameter)|{re.escape(wrapper)})\b()"),
        parameter=parameter,
        json_parameter=(lambda key, text: parameter(key, text, ' string="false"')) if typed else None,
        call=lambda tool, parts: "\n".join((f'<{prefix}invoke name="{tool}">', *parts, f"</{prefix}invoke>")),
        wrap=lambda calls: f"<{wrapper}>\n{calls}\n</{wrapper}>",
        on_one_line=True,
        reading=_READING,
    )


def _mending(wrapper: str, prefix: Part, written: str) -> TagMending:
    named = rf"\s+name\s*=\s*[\"']?({_NAME}?)[\"']?(?:\s[^<>\n]*)?>"
    return TagMending(
        parameter=re.compile(f"<{prefix.whole}parameter{named}"),
        call=re.compile(f"<{prefix.whole}invoke{named}"),
        parameter_closer=lambda key: f"</{written}parameter>",
        call_closer=lambda tool: f"</{written}invoke>",
        wrapper_closer=f"</{wrapper}>",
        broken_parameter=re.compile(f"<{prefix.whole}parameter[^<>\\n]{{0,256}}>?"),
        opening=lambda key: f'<{written}parameter name="{key}">',
    )
