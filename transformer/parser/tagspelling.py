"""How wrapped calls are written: the states and tokens of their grammar, and the markers of a dialect of it.

What the tokens do is in `taggrammar.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from functools import cached_property
from typing import Any

from transformer.parser.dialect import USUAL_STATES, USUAL_TOKENS, Lexicon, upto
from transformer.parser.machine import Machine
from transformer.parser.markers import Marker, Part, begun_pattern, token_pattern, word
from transformer.parser.tagcall import AS_LINES
from transformer.values.convert import Kind, Reading


class State(StrEnum):
    TEXT = auto()
    WRAPPER = auto()
    CALL = auto()
    VALUE = auto()
    CLOSED = auto()
    UNCLOSED = auto()
    EXAMPLE = auto()
    EXAMPLE_CLOSED = auto()
    JSON = auto()
    AFTER = auto()
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    WRAPPER = auto()
    CALL = auto()
    PARAMETER = auto()
    IRREGULAR = auto()
    REST = auto()
    INLINE = auto()
    JSON = auto()
    CLOSE_PARAMETER = auto()
    CLOSE_CALL = auto()
    CLOSE_WRAPPER = auto()
    END = auto()


S, T = State, Token

# -- how a dialect spells it


def untyped(tag: str) -> Kind:
    """The tag says nothing about its value."""
    return ""


@dataclass(frozen=True)
class Spelling:
    """The markers of a dialect of this grammar, and how it reads the text between them.

    A call counts without its wrapper if its tool was offered; with `bare`, any call does. With `quoted`,
    names may be in quotation marks, which are not part of them. `irregular` is a parameter's tag of which
    a part is missing or doubled, `rest` one whose beginning is missing altogether, `inline` one with its
    value inside; `regular` writes a tag as it should be. With `on_one_line`, parameters follow each other
    without a newline, so that a missing closing tag shows in the middle of a line. With `json`, a call may
    have one JSON object instead of parameters. `kind` tells what a parameter's tag says about the type of
    its value. `closers` are the closing tags of a call and of its parameters in the way in which this
    call's own tag is written, where there are several ways.
    """

    call: Marker
    parameter: Marker
    close_call: Marker
    close_parameter: Marker
    wrapper: Marker | None = None
    close_wrapper: Marker | None = None
    irregular: Marker | None = None
    rest: Marker | None = None
    inline: Marker | None = None
    json: bool = False
    bare: bool = False
    quoted: bool = False
    on_one_line: bool = False
    reading: Reading = AS_LINES
    wrappers: tuple[str, ...] = ()  # parameters that may hold all arguments
    regular: Callable[[str], str] = str
    kind: Callable[[str], Kind] = untyped
    closers: Callable[[str], tuple[str, str]] | None = None

    @cached_property
    def markers(self) -> Mapping[StrEnum, Part]:
        """Every token that is a marker, in the order in which they are tried."""
        found = {
            T.WRAPPER: self.wrapper,
            T.CLOSE_PARAMETER: self.close_parameter,
            T.CLOSE_CALL: self.close_call,
            T.CLOSE_WRAPPER: self.close_wrapper,
            T.CALL: self.call,
            T.PARAMETER: self.parameter,
            T.IRREGULAR: self.irregular,
            T.INLINE: self.inline,
            T.REST: self.rest,
        }
        parts: dict[StrEnum, Part] = {token: one.part for token, one in found.items() if one is not None}
        return {**parts, T.JSON: word("{")} if self.json else parts

    @cached_property
    def tokens(self) -> tuple[StrEnum, ...]:
        return tuple(token for token in Token if token in self.markers or token in _ALWAYS)

    def lexicon(self, state: StrEnum) -> Lexicon:
        """Only between parameters may a tag's beginning be missing, or may JSON occur."""
        left_out = _BETWEEN.get(state, (T.REST, T.JSON))
        parts = {token: part for token, part in self.markers.items() if token not in left_out}
        firsts = "".join(dict.fromkeys("".join(part.firsts for part in parts.values())))
        return Lexicon(
            upto(firsts),
            token_pattern({str(token): part for token, part in parts.items()}),
            begun_pattern(*parts.values()),
        )

    def read(self, match: re.Match[str]) -> tuple[StrEnum, str]:
        """The token that a match of the lexicon is, and the name in it."""
        token = T(str(match.lastgroup))
        group = f"{token}_name"
        if group not in match.re.groupindex:
            return token, ""
        found = (match[group] or "").strip()
        if self.quoted and found[:1] in ("'", '"'):
            found = found[1:-1].strip()
        return (token if found or token is T.REST else T.TEXT), found

    def holds(self, m: Machine, text: str, start: int) -> bool:
        """Outside a call only what may begin one is held back, and after one what may belong to it."""
        if m.call is not None:
            return True
        part = text[start:]
        if m.state is S.AFTER and self._closing.match(part):
            return True
        if self.wrapper is not None and self._wrapping.match(part):
            return True
        if not self._calling.match(part):
            return False
        if m.wrapped or self.bare:
            return True
        before, after = self._around
        head = before.match(part)
        if head is None:
            return True
        # As `read` takes it: blanks around a name, and around its quotation marks, are not part of it.
        named = part[head.end() :].lstrip()
        bare = named[1:].lstrip() if named[:1] in ("'", '"') else named
        return any(
            known.startswith(bare)
            or (bare.startswith(known) and after.match(bare[len(known) :].lstrip().lstrip("\"'")))
            for known in m.choice.tools
        )

    @cached_property
    def _closing(self) -> re.Pattern[str]:
        closers = [self.markers[token] for token in (T.CLOSE_CALL, T.CLOSE_WRAPPER) if token in self.markers]
        return re.compile(begun_pattern(*closers))

    @cached_property
    def _wrapping(self) -> re.Pattern[str]:
        return re.compile(begun_pattern(self.markers[T.WRAPPER]))

    @cached_property
    def _calling(self) -> re.Pattern[str]:
        return re.compile(begun_pattern(self.markers[T.CALL]))

    @cached_property
    def _around(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        return self.call.around_name()

    def closing_tags(self, tag: str) -> tuple[str, str]:
        """Those of a call with this tag, and of its parameters."""
        return self.closers(tag) if self.closers else (self.close_call.shown, self.close_parameter.shown)

    def words(self) -> tuple[Mapping[Any, str], Mapping[Any, str], Mapping[Any, str]]:
        """What states and tokens are, and what a state waits for."""
        call, end, value_end = self.call.shown, self.close_call.shown, self.close_parameter.shown
        states = {
            **USUAL_STATES,
            S.WRAPPER: f"after {self.wrapper.shown if self.wrapper else ''}, waiting for a call",
            S.CALL: f"after {call}, before its first parameter",
            S.CLOSED: f"after {value_end}, which ends the value if a parameter or {end} follows",
            S.UNCLOSED: f"after {end} with the parameter still open: the call's end, or data",
            S.EXAMPLE: "inside a value, in an example of a call",
            S.EXAMPLE_CLOSED: f"in such an example, after {value_end}",
            S.JSON: "inside a JSON object that stands for all parameters",
        }
        tokens = {
            **USUAL_TOKENS,
            T.WRAPPER: "the wrapper's tag",
            T.CALL: "a call's tag",
            T.PARAMETER: "a parameter's tag",
            T.IRREGULAR: "a parameter's tag with a part missing or doubled",
            T.REST: "a parameter's tag without its beginning",
            T.INLINE: "a parameter with its value inside the tag",
            T.JSON: "the beginning of a JSON object",
            T.CLOSE_PARAMETER: "a parameter's closing tag",
            T.CLOSE_CALL: "the call's closing tag",
            T.CLOSE_WRAPPER: "the wrapper's closing tag",
        }
        waits = {
            S.WRAPPER: call,
            S.CALL: f"a parameter or {end}",
            S.VALUE: "the tag that closes the parameter",
            S.CLOSED: "what follows the closing tag: a parameter, or the call's end",
            S.UNCLOSED: f"what follows {end}",
            S.EXAMPLE: "the end of the example",
            S.EXAMPLE_CLOSED: "the end of the example",
            S.JSON: end,
        }
        return states, tokens, waits


_ALWAYS = frozenset({T.TEXT, T.SPACE, T.END})
_BETWEEN: Mapping[StrEnum, tuple[StrEnum, ...]] = {S.CALL: (), S.CLOSED: (T.JSON,)}


def spelling_of(m: Machine) -> Spelling:
    spelling = m.dialect.spelling
    assert isinstance(spelling, Spelling)
    return spelling
