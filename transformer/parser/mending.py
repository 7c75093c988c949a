"""Mending: what a broken call should have looked like, as small edits of its text with the words for them.

Each dialect has a `Mender` that knows how its calls break. Its ideas are only ideas: the caller that asks for
them reads the edited text again and keeps what really is a call then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import orjson

from transformer.jsonscan import missing_end
from transformer.records import Finding
from transformer.values.literals import python_literal
from transformer.values.schema import Tool
from transformer.wording import listed, quote, shortened


@dataclass(frozen=True, slots=True)
class Edit:
    """The characters `start` to `end` become `text`. `words` follow "with" or "without" in a sentence."""

    start: int
    end: int
    text: str
    words: str


Edits: TypeAlias = tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Broken:
    """A text that begins with a call, what was found about that call, and the tools that were offered.

    `name` is the tool of the call as far as a reading of the text tells it.
    """

    text: str
    finding: Finding
    tools: Mapping[str, Tool]
    name: str = ""


def no_edits(text: str) -> Edits:
    return ()


def no_other_id(broken: Broken, number: int) -> Iterator[Edits]:
    return iter(())


def rename_first(text: str, old: str, new: str) -> Iterator[Edit]:
    """The tool's name where it comes first."""
    first = text.find(old)
    if first >= 0:
        yield Edit(first, first + len(old), new, f"with {new} instead of {old}")


@dataclass(frozen=True, slots=True)
class Mender:
    """How a dialect's calls are mended.

    `ideas` gives edits that may help, best first; `renamed` puts another tool's name into the call's own
    markup; `wrapped` adds the wrapper without which a call of an unknown tool does not count; `other_id`
    gives the call of that number an id of its own. `leads` is markup that may precede the first call.
    """

    ideas: Callable[[Broken], Iterator[Edits]]
    renamed: Callable[[str, str, str], Iterator[Edit]] = rename_first
    wrapped: Callable[[str], Edits] = no_edits
    other_id: Callable[[Broken, int], Iterator[Edits]] = no_other_id
    leads: tuple[str, ...] = ()


# -- edits


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; their places count in the text as it was."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def insert(place: int, text: str, before: str) -> Edit:
    return Edit(place, place, text, f"with {spelled(text)} before {spelled(before)}")


def insert_after(place: int, text: str, anchor: str) -> Edit:
    return Edit(place, place, text, f"with {spelled(text)} after {spelled(anchor)}")


def append(place: int, text: str) -> Edit:
    """What is missing at the end of the answer."""
    return Edit(place, place, text, f"with {spelled(text)} at the end")


def remove(start: int, end: int, text: str, where: str) -> Edit:
    return Edit(start, end, "", f"without {quote(text[start:end])} {where}")


def put(start: int, end: int, new: str, text: str) -> Edit:
    """Something else in its place."""
    return Edit(start, end, new, f"with {spelled(new)} instead of {quote(text[start:end])}")


def complete(text: str, begun: int, end: int, missing: str) -> Edits:
    """What is missing at the end, where a marker has begun at `begun`: it is completed if it is the next one
    due.
    """
    half = text[begun:end]
    if half and missing.startswith(half):
        return (append(end, missing[len(half) :]),)
    return (put(begun, end, missing, text),) if half else (append(end, missing),)


def spelled(text: str) -> str:
    """Tags speak for themselves; anything else is quoted."""
    bare = text.strip()
    tags = bare.startswith("<") and bare.endswith(">") and len(bare) <= 60
    return bare if tags else quote(shortened(text))


def sentence(edits: Iterable[Edit]) -> str:
    """The words of several edits as one phrase."""
    said = [edit.words for edit in edits]
    # "with A and with B" reads better as "with A and B".
    short = [said[0], *(word.removeprefix("with ") for word in said[1:])] if said else []
    return listed(short)


# -- arguments that are nearly JSON

_CONTROL = re.compile(r"[\x00-\x1f]")
# A string as a whole, or a comma that nothing follows.
_STRING_OR_COMMA = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|,(?=\s*[}\]])', re.DOTALL)
_ODD_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(')|(u(?![0-9a-fA-F]{4})|[^\"\\/bfnrtu])|.)", re.DOTALL)
_BRACES = 20  # that are tried as the last one
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def is_object(text: str) -> bool:
    """Arguments that a client can read."""
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


def mended_json(arguments: str) -> Iterator[str]:
    """Texts that are a JSON object, likeliest first."""
    tried: set[str] = set()
    for candidate in _candidates(arguments):
        if candidate not in tried and candidate != arguments and is_object(candidate):
            yield candidate
        tried.add(candidate)


def _candidates(arguments: str) -> Iterator[str]:
    yield _STRING_OR_COMMA.sub(_tidied, arguments)
    literal = python_literal(arguments, ["object"])
    if literal is not None:
        yield literal
    closing = missing_end(arguments)
    if closing:
        yield arguments + closing
    # An object that something follows.
    for brace in islice(re.finditer("}", arguments), _BRACES):
        yield arguments[: brace.end()]
    if arguments.startswith('"'):
        yield _unwrapped(arguments)
    if not arguments.startswith("{"):
        yield f"{{{arguments}}}"
        yield f"{{{arguments}"


def _tidied(found: re.Match[str]) -> str:
    """Strings with the escapes that JSON has and needs; no comma after the last member."""
    if found[0] == ",":
        return ""
    text = _ODD_ESCAPE.sub(_escape, found[0])
    return _CONTROL.sub(lambda char: _ESCAPES.get(char[0], f"\\u{ord(char[0]):04x}"), text)


def _escape(found: re.Match[str]) -> str:
    """Models write the escapes of other languages, and backslashes that should have been two."""
    byte, apostrophe, other = found.groups()
    if byte is not None:
        return f"\\u00{byte}"
    return apostrophe or (f"\\\\{other}" if other is not None else found[0])


def _unwrapped(written: str) -> str:
    """JSON text that is inside a JSON string."""
    try:
        return str(json.loads(written, strict=False))
    except ValueError:
        return ""
