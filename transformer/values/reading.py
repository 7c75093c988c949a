"""Reading a value: what of the text between two tags it is, and which type it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from transformer.values.convert import Value, convert, convert_repeated
from transformer.values.literals import NUMBER, json_text, quote, trim
from transformer.values.schema import WORDS, Tool

# What a tag itself says about its value: that it is a string, that it is JSON, or nothing.
Kind: TypeAlias = Literal["", "text", "json"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a dialect's values are read.

    A string loses one newline at each end, which models write beside the tags; with `verbatim` it does not.
    With `guesses`, a value whose type no schema tells is JSON if it looks like anything but a string.
    """

    verbatim: bool = False
    guesses: bool = False

    def text(self, raw: str) -> str:
        """The string that stands between the tags."""
        return raw if self.verbatim else trim(raw)

    def is_text(self, tool: Tool | None, name: str, kind: Kind = "") -> bool:
        """A string whatever the text is, so that it can leave before its end."""
        known = tool is not None and tool.knows(name)
        if kind == "text":
            return tool is None or tool.may_be_text(name)
        if kind == "json" or (self.guesses and not known):
            return False
        return tool is None or tool.is_text(name)

    def value(self, texts: Sequence[str], tool: Tool | None, name: str, kind: Kind = "") -> Value:
        """The value of a parameter that was given with these texts; several are pieces of one array."""
        first = texts[0]
        string = quote(self.text(first))
        if kind == "json" and (literal := _literal(first.strip())):
            return Value(literal, True, "JSON")
        if tool is None or not tool.knows(name):
            guessed = _untyped(first.strip()) if self.guesses and kind != "text" else None
            return Value(guessed or string, True, "string")
        # Conversion takes one newline off each end of a string, and a CR before an LF is part of the newline.
        framed = [f"\n{text}\r\n" if self.verbatim else text for text in texts]
        schema, root = tool.properties[name], tool.parameters
        value = (
            convert_repeated(framed, schema, root) if len(framed) > 1 else convert(framed[0], schema, root)
        )
        return value._replace(json=string, fits=tool.may_be_text(name)) if kind == "text" else value


def _untyped(bare: str) -> str | None:
    """JSON that cannot be meant as a string: such dialects write strings without quotation marks."""
    if bare in ("true", "false", "null") or NUMBER.fullmatch(bare):
        return bare
    return json_text(bare, WORDS)


def _literal(bare: str) -> str | None:
    """JSON of any type."""
    if not bare.startswith('"'):
        return _untyped(bare)
    inside = json_text(f"[{bare}]", WORDS)
    return None if inside is None else inside[1:-1]
