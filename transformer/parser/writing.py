"""Writing calls: how a dialect puts a call into its own text, and what that text cannot carry.

A writer does not trust itself: whatever is not plainly safe is read back by the dialect's own parser, and a
finding names what would come out changed. Reading needs a whole transformer, so it is passed in.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from transformer.findings import note
from transformer.jsonscan import Member, members, parsed
from transformer.records import Finding
from transformer.values.convert import Kind, Reading
from transformer.values.literals import quote
from transformer.values.schema import Tool

# Whether a text, read with these tools, is exactly one call: to this name, with these arguments and this id.
ReadsBack: TypeAlias = Callable[[str, Mapping[str, Tool], str, Any, str | None], bool]


def packaged_template(*files: str, package: str = "transformer.dialects") -> str:
    """The prompt template beside the dialects of a package; several files are one template.

    Read once, while the package is imported, by the same loader that reads its code: from here on a
    template is a constant like any other, and a call does no I/O.
    """
    parts = [pkgutil.get_data(package, file) for file in files]
    return b"".join(part for part in parts if part is not None).decode("utf-8")


@dataclass(frozen=True, slots=True)
class IdForm:
    """Ids that hold the tool's name, for dialects in which the model reads it there and nowhere else."""

    make: Callable[[str, int], str]  # for the call of that number to that tool
    names: Callable[[str, str], bool]  # whether an id names that tool


@dataclass(frozen=True, slots=True)
class Writer:
    """How one dialect writes a message with calls.

    `call` takes the name, the arguments' JSON text, the offered tools, the id and a `ReadsBack`; it
    returns the text of the call, and a finding for all that will not read back as it is.
    """

    call: Callable[[str, str, Mapping[str, Tool], str | None, ReadsBack], tuple[str, list[Finding]]]
    calls: Callable[[Sequence[str]], str]  # all the calls of a message, with whatever surrounds them
    gap: str  # between the message's text and its calls
    ids: IdForm | None = None
    tags: TagSyntax | None = None  # where parameters are tags


_SURROGATE = re.compile("[\ud800-\udfff]")
_SHOWN = 60

# -- arguments that are JSON, as the client sent them

_PLAIN_NAME = re.compile(r"[\w-]{1,64}", re.ASCII)


def json_writer(
    dialect: str, call: Callable[[str, str], str], calls: Callable[[Sequence[str]], str], gap: str
) -> Writer:
    """The writer of a dialect whose arguments are JSON; `call` takes the name and the arguments."""

    def compose(
        name: str, arguments: str, tools: Mapping[str, Tool], id: str | None, reads_back: ReadsBack
    ) -> tuple[str, list[Finding]]:
        # JSON can hold half of a surrogate pair only as an escape.
        raw = _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", arguments).strip() or "{}"
        try:
            meant = parsed(raw)
        except (ValueError, RecursionError):
            meant = raw
        told = [] if isinstance(meant, dict) else [note("arguments-not-json", tool=name)]
        text = call(name, raw)
        if not told and _PLAIN_NAME.fullmatch(name):
            return text, told
        if reads_back(calls([text]), tools, name, meant, None):
            return text, told
        return text, [*told, note("call-not-carried", tool=name, dialect=dialect)]

    return Writer(compose, calls, gap)


# -- arguments as tags


@dataclass(frozen=True, slots=True)
class TagSyntax:
    """What the dialects whose parameters are tags do not share."""

    dialect: str
    name: re.Pattern[str]  # what can be in a tag
    marks: re.Pattern[str]  # what may end a value
    parameter: Callable[[str, str], str]
    call: Callable[[str, Sequence[str]], str]
    on_one_line: bool  # a short string is written directly between its tags
    reading: Reading = field(default_factory=Reading)
    nested: bool = False  # lists and objects are nested tags wherever those read back as what they are
    # Where the tag itself says that its value is not a string.
    json_parameter: Callable[[str, str], str] | None = None
    wrap: Callable[[str], str] = str  # what surrounds all calls of a message


def tag_writer(syntax: TagSyntax, between: str) -> Writer:
    """The writer of a dialect whose parameters are tags; `between` is put between two calls."""
    return Writer(
        lambda name, arguments, tools, id, reads_back: _compose(syntax, name, arguments, tools, reads_back),
        lambda calls: syntax.wrap(between.join(calls)),
        "\n\n",
        tags=syntax,
    )


def _compose(
    syntax: TagSyntax, name: str, arguments: str, tools: Mapping[str, Tool], reads_back: ReadsBack
) -> tuple[str, list[Finding]]:
    """The call as text, and what will not read back the same."""
    found = members(arguments.strip() or "{}")
    if found is None:
        raw = _SURROGATE.sub("\ufffd", arguments)
        return syntax.call(name, [raw]), [note("arguments-not-json", tool=name)]
    texts = {member.key: _text(member, syntax, tools.get(name)) for member in found}
    reading = {member.key: _read(syntax, member, texts[member.key], tools.get(name)) for member in found}
    told = [
        _changed(syntax, name, member, reading[member.key])
        for member in found
        if reading[member.key] != member.value
    ]
    text = _write(syntax, name, found, texts)
    if _is_plain(syntax, name, texts, tools.get(name)):
        return text, told
    # A tool matters to the reader only if its name is in the text; the others would only cost time.
    near = {other: tool for other, tool in tools.items() if other in text}
    for attempt in (text, _write(syntax, name, found, _escaped(found, texts))):
        if reads_back(syntax.wrap(attempt), near, name, reading, None):
            return attempt, told
    return text, [*told, _reason(syntax, name, texts)]


def _write(syntax: TagSyntax, name: str, found: Iterable[Member], texts: Mapping[str, str]) -> str:
    parts = []
    for member in found:
        write = (
            syntax.parameter if isinstance(member.value, str) else syntax.json_parameter or syntax.parameter
        )
        parts.append(write(member.key, texts[member.key]))
    return syntax.call(name, parts)


def _text(member: Member, syntax: TagSyntax, tool: Tool | None) -> str:
    """The value between its tags. The reader takes one newline off each end, so one is put there."""
    if syntax.nested and isinstance(member.value, list | dict) and member.value:
        tags = nested_tags(member.value, _literal)
        if not _SURROGATE.search(tags) and _read(syntax, member, tags, tool) == member.value:
            return tags
    if not isinstance(member.value, str):
        return member.raw
    # Half of a surrogate pair cannot be sent; the comparison shows that it changed.
    text = _SURROGATE.sub("\ufffd", member.value)
    if syntax.reading.verbatim or (syntax.on_one_line and "\n" not in text):
        return text
    # After a lone CR a line feed would look like the second half of one newline.
    return f"\n{text}\r\n" if text.endswith("\r") else f"\n{text}\n"


_TAG_NAME = re.compile(r"[^\s<>/]+")


def nested_tags(value: Any, plain: Callable[[Any], str], level: int = 1) -> str:
    """A list or an object as the elements that models are taught; `plain` writes all other values."""
    members = [("item", item) for item in value] if isinstance(value, list) else list(value.items())
    lines = []
    for name, item in members:
        if not _TAG_NAME.fullmatch(name):
            return plain(value)
        nested = isinstance(item, list | dict) and item
        inner = nested_tags(item, plain, level + 1).rstrip() if nested else plain(item)
        end = f"\n{'  ' * level}" if inner.startswith("\n") else ""
        lines.append(f"\n{'  ' * level}<{name}>{inner}{end}</{name}>")
    return "".join(lines) + "\n"


def _literal(value: Any) -> str:
    """A value as `parsed` gives it, in which numbers are their text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        return (
            "[]" if value == [] else "{}" if value == {} else "\0"
        )  # which no tag can hold: it would read differently
    return _words(value)


def _read(syntax: TagSyntax, member: Member, text: str, tool: Tool | None) -> Any:
    """What the reader will make of the text."""
    kind: Kind = ""
    if syntax.json_parameter is not None:
        kind = "text" if isinstance(member.value, str) else "json"
    if syntax.reading.is_text(tool, member.key, kind):
        return syntax.reading.text(text)
    return parsed(syntax.reading.value([text], tool, member.key, kind).json)


def _is_plain(syntax: TagSyntax, name: str, texts: Mapping[str, str], tool: Tool | None) -> bool:
    """Nothing in it can be mistaken for structure, so it need not be read back."""
    if tool is None or name in texts or not all(map(syntax.name.fullmatch, (name, *texts))):
        return False
    if tool.required and not texts:
        return False  # some readers want a parameter then
    return all(
        tool.knows(key) and "<" not in text and not syntax.marks.search(text) for key, text in texts.items()
    )


def _escaped(found: Iterable[Member], texts: Mapping[str, str]) -> dict[str, str]:
    """In JSON text a `<` occurs only inside strings, where it can be written as an escape."""
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
