"""A call -> tags: how values stand between them, and whether they read back as what they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transformer.arguments import convert
from transformer.records import Finding
from transformer.upward.notes import note
from transformer.upward.readback import reads_back
from transformer.values.jsonmembers import Member, members, parsed
from transformer.values.literals import quote, trim
from transformer.values.schema import Tool

_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class TagSyntax:
    """What the dialects whose parameters are tags do not share."""

    dialect: str
    name: re.Pattern[str]  # what can stand in a tag
    marks: re.Pattern[str]  # what may end a value
    parameter: Callable[[str, str], str]
    call: Callable[[str, Sequence[str]], str]
    on_one_line: bool  # a short string stands directly between its tags


def compose(
    syntax: TagSyntax, name: str, arguments: str, tools: Mapping[str, Tool]
) -> tuple[str, list[Finding]]:
    """The call as text, and what will not read back the same."""
    found = members(arguments.strip() or "{}")
    if found is None:
        raw = _SURROGATE.sub("\ufffd", arguments)
        return syntax.call(name, [raw]), [note("arguments-not-json", tool=name)]
    texts = {member.key: _text(member, syntax) for member in found}
    reading = {member.key: _read(member, texts[member.key], tools.get(name)) for member in found}
    told = [
        _changed(syntax, name, member, reading[member.key])
        for member in found
        if reading[member.key] != member.value
    ]
    text = _write(syntax, name, texts)
    if _is_plain(syntax, name, texts, tools.get(name)):
        return text, told
    # A tool matters to the reader only where its name stands in the text; the others would only cost time.
    near = {other: tool for other, tool in tools.items() if other in text}
    for attempt in (text, _write(syntax, name, _escaped(found, texts))):
        if reads_back(syntax.dialect, attempt, near, name, reading):
            return attempt, told
    return text, [*told, _reason(syntax, name, texts)]


def _write(syntax: TagSyntax, name: str, texts: Mapping[str, str]) -> str:
    return syntax.call(name, [syntax.parameter(key, text) for key, text in texts.items()])


def _text(member: Member, syntax: TagSyntax) -> str:
    """The value between its tags. The reader takes one newline off each end, so one is put there."""
    if not isinstance(member.value, str):
        return member.raw
    # Half of a surrogate pair cannot be sent to anybody; the comparison tells that it changed.
    text = _SURROGATE.sub("\ufffd", member.value)
    if syntax.on_one_line and "\n" not in text:
        return text
    # Behind a lone CR a line feed would look like the second half of one newline.
    return f"\n{text}\r\n" if text.endswith("\r") else f"\n{text}\n"


def _read(member: Member, text: str, tool: Tool | None) -> Any:
    """What the reader will make of the text."""
    if tool is None or not tool.knows(member.key) or tool.is_text(member.key):
        return trim(text)
    return parsed(convert(text, tool.properties[member.key], tool.parameters).json)


def _is_plain(syntax: TagSyntax, name: str, texts: Mapping[str, str], tool: Tool | None) -> bool:
    """Nothing in it can be mistaken for structure, so that it need not be read back to be sure."""
    if tool is None or name in texts or not all(map(syntax.name.fullmatch, (name, *texts))):
        return False
    return all(tool.knows(key) and "<" not in text for key, text in texts.items())


def _escaped(found: Iterable[Member], texts: Mapping[str, str]) -> dict[str, str]:
    """In JSON text a `<` stands only inside strings, where it can be written as an escape."""
    containers = {member.key for member in found if isinstance(member.value, list | dict)}
    return {key: text.replace("<", "\\u003c") if key in containers else text for key, text in texts.items()}


def _changed(syntax: TagSyntax, name: str, member: Member, read: Any) -> Finding:
    return note(
        "value-not-carried",
        parameter=member.key,
        tool=name,
        given=_excerpt(member.raw),
        dialect=syntax.dialect,
        read=_excerpt(quote(read) if isinstance(read, str) else _words(read)),
    )


def _reason(syntax: TagSyntax, name: str, texts: Mapping[str, str]) -> Finding:
    names = (name, *texts)
    if all(map(syntax.name.fullmatch, names)):
        for key, text in texts.items():
            if any(mark[1] in ("", *names) for mark in syntax.marks.finditer(text)):
                return note("value-contains-its-end", parameter=key, tool=name, dialect=syntax.dialect)
    return note("call-not-carried", tool=name, dialect=syntax.dialect)


def _words(read: Any) -> str:
    if isinstance(read, tuple):
        return str(read[0])
    if isinstance(read, list | dict):
        return "an array" if isinstance(read, list) else "an object"
    return {True: "true", False: "false", None: "null"}[read]


def _excerpt(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
