"""Breakpoints: what a person waits for in an answer, one line each. `parse` reads a line.

The replay looks for them in a tape, both ways; the proxy looks for them in an answer while it comes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Literal, TypeAlias

from transformer.answer.conformance import RULES
from transformer.dialects import loaded_dialects
from transformer.findings import CATALOGUE
from transformer.parser.dialect import EVERYWHERE
from transformer.records import Delta, Effect, Finding, Record, Transition
from workbench.errors import UserError
from workbench.patterns import Pattern
from workbench.text import counted

# What came, what the machines did with it, what the client gets.
Part: TypeAlias = Literal["upstream", "machine", "client"]
PARTS: tuple[Part, ...] = ("upstream", "machine", "client")
WINDOW = 400  # how far before a piece of text a match that ends in it may begin
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """One line. Whether it is hit depends on the answer alone."""

    source: str

    def __str__(self) -> str:
        return self.source

    def of_record(self, record: Record) -> str | None:
        """What happens with a record of the transformer, if it hits the breakpoint."""
        return None


@dataclass(frozen=True, slots=True)
class Entering(Breakpoint):
    """A machine enters a state."""

    pattern: re.Pattern[str] = field(compare=False)

    def of_record(self, record: Record) -> str | None:
        if not isinstance(record, Transition) or not _fits(self.pattern, record.to):
            return None
        return None if _fits(self.pattern, record.state) else f"enters {record.to} by {record.rule}"


@dataclass(frozen=True, slots=True)
class ByRule(Breakpoint):
    """A machine follows a rule."""

    pattern: re.Pattern[str] = field(compare=False)

    def of_record(self, record: Record) -> str | None:
        if not isinstance(record, Transition) or not _fits(self.pattern, record.rule):
            return None
        return f"{record.rule} in state {record.state}"


@dataclass(frozen=True, slots=True)
class Finds(Breakpoint):
    """A finding is made."""

    pattern: re.Pattern[str] = field(compare=False)

    def of_record(self, record: Record) -> str | None:
        return self.of_finding(record.code, record.message) if isinstance(record, Finding) else None

    def of_finding(self, code: str, message: str) -> str | None:
        """The same for what the proxy itself noticed."""
        return f"{code}: {message}" if _fits(self.pattern, code) else None


@dataclass(frozen=True, slots=True)
class Matching(Breakpoint):
    """A text, wherever it is cut."""

    regex: Pattern = field(compare=False)
    parts: tuple[Part, ...]

    def said(self, found: str, part: str) -> str:
        return f"“{found if len(found) <= _SHOWN else f'{found[:_SHOWN]}…'}” in the {part} pane"


@dataclass(frozen=True, slots=True)
class Calling(Breakpoint):
    """A call of a tool."""

    pattern: re.Pattern[str] = field(compare=False)

    def of_names(self, names: Iterable[str]) -> str | None:
        name = next((name for name in names if _fits(self.pattern, name)), None)
        return None if name is None else f"a call of {name}"


@dataclass(frozen=True, slots=True)
class HeldMuch(Breakpoint):
    """More characters are held back than that. The same hold is a hit only once."""

    characters: int

    def said(self, characters: int) -> str:
        return f"{counted(characters, 'character')} held back"


@dataclass(frozen=True, slots=True)
class HeldLong(Breakpoint):
    """Something has been held back for longer than that when a step is made, even the one that ends it."""

    seconds: float

    def said(self, characters: int, passed: float) -> str:
        return f"{counted(characters, 'character')} held back for {passed:.3f} s"


def _fits(pattern: re.Pattern[str], name: str) -> bool:
    return pattern.match(name.lower()) is not None


def record_text(record: Record) -> str:
    """All that the screen shows of a record, except its number and its time."""
    if isinstance(record, Transition):
        way = record.state if record.state == record.to else f"{record.state} → {record.to}"
        return _joined(way, record.rule, record.token, record.text)
    if isinstance(record, Finding):
        return f"{record.code} {record.message}"
    return _joined(record.kind, record.name, record.id, record.text) if isinstance(record, Delta) else ""


def _joined(*words: str | None) -> str:
    return " ".join(word for word in words if word)


class CalledTools:
    """The tools that are called, each when its name becomes known.

    A machine knows the tool long before the client does, even if it turns out not to be a call. If no machine
    knows it, the delta that sends the call does.
    """

    def __init__(self) -> None:
        self._told: dict[tuple[int, str], str] = {}  # by choice and channel: the tool named last

    def of_record(self, record: Record) -> str | None:
        """The tool that becomes known with a record; each record is asked about once, in order."""
        if isinstance(record, Transition):
            return self._of_transition(record)
        return self._of_call(record) if isinstance(record, Delta) and record.kind == "call" else None

    def _of_transition(self, transition: Transition) -> str | None:
        place = (transition.span.choice, transition.span.channel)
        if named := transition.named:
            self._told[place] = named
            return named
        if Effect.BEGINS in transition.effect:
            self._told.pop(place, None)
        return None

    def _of_call(self, delta: Delta) -> str | None:
        place = (delta.choice, delta.span.channel if delta.span is not None else "")
        return (delta.name or "") if self._told.pop(place, None) != delta.name else None


_LINE = re.compile(r"\s*(?P<kind>\w+)\s*(?P<sign>[:>])\s*(?P<value>.*?)\s*", re.DOTALL)
_HELD = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(?P<unit>ms|s|ch|)")
_WILD = re.compile(r"[*?]")


def parse(text: str) -> Breakpoint:
    """The breakpoint that a line means. A UserError says what is possible."""
    match = _LINE.fullmatch(text)
    kind, sign, value = (match["kind"].lower(), match["sign"], match["value"]) if match else ("", "", "")
    if kind not in KINDS:
        raise UserError(f"{text!r} is not a breakpoint; {_near(kind, KINDS)} ({_EXAMPLES})")
    if sign != (">" if kind == "held" else ":"):
        raise UserError(f"{text!r} is not a breakpoint; write it like {KINDS[kind]}")
    if not value:
        raise UserError(f"what is {kind}{sign} to wait for? Write it like {KINDS[kind]}")
    return _MAKERS[kind](f"{kind}{sign}{value}", value)


KINDS: Mapping[str, str] = {
    "state": "state:VALUE",
    "rule": "rule:open*",
    "finding": "finding:unclosed*",
    "upstream": "upstream:</read>",
    "machine": "machine:close.*",
    "client": "client:rm -rf",
    "text": "text:src/[a-z]+",
    "held": "held>200ms, held>2s or held>100",
    "tool": "tool:read*",
}
_EXAMPLES = f"such as {', '.join(KINDS.values())}"


# All that there can be, so that a typing error is told. It is asked for with each line: a dialect of a module
# is known only once somebody has named it.


def _states() -> set[str]:
    return {state for dialect in loaded_dialects() for state in dialect.states}


def _rules() -> set[str]:
    tables = (dialect.transitions for dialect in loaded_dialects())
    named = {rule.name for table in tables for rules in table.values() for rule in rules}
    return named | {one.name for one in EVERYWHERE if one.name}


def _codes() -> set[str]:
    return {*CATALOGUE, *RULES}


def _known(what: str, names: Iterable[str], value: str) -> re.Pattern[str]:
    """A pattern for names that are all known; one without `*` has to be one of them."""
    right = sorted({name.lower() for name in names})
    if not _WILD.search(value) and value.lower() not in right:
        raise UserError(f"there is no {what} {value!r}; {_near(value.lower(), right)}")
    return _pattern(value)


def _pattern(value: str) -> re.Pattern[str]:
    # Brackets are literal: sets of characters are not needed here, but tools may have names with brackets.
    return re.compile(translate(value.lower().replace("[", "[[]")))


def _matching(*parts: Part) -> Callable[[str, str], Breakpoint]:
    return lambda source, value: Matching(source, Pattern(value), parts)


def _held(source: str, value: str) -> Breakpoint:
    match = _HELD.fullmatch(value.lower())
    if match is None:
        raise UserError(f"{source!r} is not a breakpoint; write it like {KINDS['held']} (characters)")
    if match["unit"] in ("ms", "s"):
        return HeldLong(source, float(match["number"]) / (1000 if match["unit"] == "ms" else 1))
    if "." in match["number"]:
        raise UserError(f"{source!r}: there are only whole characters; a time is held>{match['number']}s")
    return HeldMuch(source, int(match["number"]))


_MAKERS: Mapping[str, Callable[[str, str], Breakpoint]] = {
    "state": lambda source, value: Entering(source, _known("state", _states(), value)),
    "rule": lambda source, value: ByRule(source, _known("rule", _rules(), value)),
    "finding": lambda source, value: Finds(source, _known("finding", _codes(), value)),
    "upstream": _matching("upstream"),
    "machine": _matching("machine"),
    "client": _matching("client"),
    "text": _matching(*PARTS),
    "held": _held,
    "tool": lambda source, value: Calling(source, _pattern(value)),
}


def _near(word: str, names: Iterable[str]) -> str:
    right = list(names)
    near = difflib.get_close_matches(word[:100], right, n=1, cutoff=0.6)
    near = near or [name for name in right if word and word in name][:3]
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(right)}"
