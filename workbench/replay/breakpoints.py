"""Breakpoints: what a person waits for in a tape, one line each, and the steps at which it happens.

`parse` reads a line, `hits` goes from one hit to the next.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate

from transformer.answer.conformance import RULES
from transformer.dialects import DIALECTS
from transformer.findings import CATALOGUE
from transformer.parser.machine import TOO_LONG
from transformer.records import Finding, Transition
from workbench.errors import UserError
from workbench.patterns import Pattern, TooSlow
from workbench.replay.player import Item, Pane
from workbench.replay.rowindex import RowIndex
from workbench.replay.timeline import Timeline
from workbench.tape.format import Line
from workbench.text import counted

_SHOWN = 60
ALL_PANES = tuple(Pane)


@dataclass(frozen=True, slots=True)
class Breakpoint(ABC):
    """One line. Whether a step is a hit depends on the tape alone, so it is the same in both directions."""

    source: str

    def __str__(self) -> str:
        return self.source

    @property
    def panes(self) -> Sequence[Pane]:
        """Only the rows of these can be hits."""
        return (Pane.MACHINE,)

    def index(self, timeline: Timeline) -> RowIndex | None:
        """What has to know a step before anybody asks about it."""
        return None

    @abstractmethod
    def hit(self, timeline: Timeline, step: int) -> str | None:
        """What happens with a step, if it is what is waited for."""


@dataclass(frozen=True, slots=True)
class Entering(Breakpoint):
    """A machine enters a state."""

    pattern: re.Pattern[str] = field(compare=False)

    def hit(self, timeline: Timeline, step: int) -> str | None:
        item = _item(timeline, step)
        if not isinstance(item, Transition) or not _fits(self.pattern, item.to):
            return None
        return None if _fits(self.pattern, item.state) else f"enters {item.to} by {item.rule}"


@dataclass(frozen=True, slots=True)
class ByRule(Breakpoint):
    """A machine follows a rule."""

    pattern: re.Pattern[str] = field(compare=False)

    def hit(self, timeline: Timeline, step: int) -> str | None:
        item = _item(timeline, step)
        if not isinstance(item, Transition) or not _fits(self.pattern, item.rule):
            return None
        return f"{item.rule} in state {item.state}"


@dataclass(frozen=True, slots=True)
class Finds(Breakpoint):
    """There is something to tell."""

    pattern: re.Pattern[str] = field(compare=False)

    def hit(self, timeline: Timeline, step: int) -> str | None:
        item = _item(timeline, step)
        if isinstance(item, Finding):
            code, message = item.code, item.message
        elif isinstance(item, Line):
            code, message = str(item.value.get("finding")), str(item.value.get("message"))
        else:
            return None
        return f"{code}: {message}" if _fits(self.pattern, code) else None


@dataclass(frozen=True, slots=True)
class Matching(Breakpoint):
    """A text, wherever rows cut it."""

    regex: Pattern = field(compare=False)
    where: tuple[Pane, ...]

    @property
    def panes(self) -> Sequence[Pane]:
        return self.where

    def index(self, timeline: Timeline) -> RowIndex | None:
        return timeline.channels

    def hit(self, timeline: Timeline, step: int) -> str | None:
        try:
            found = timeline.channels.match(self.regex, step)
        except TooSlow:
            return "it takes too long on this text and is not looked for any more"
        if found is None:
            return None
        pane = timeline.player.place(step)[0].name.lower()
        return f"“{found if len(found) <= _SHOWN else f'{found[:_SHOWN]}…'}” in the {pane} pane"


@dataclass(frozen=True, slots=True)
class Calling(Breakpoint):
    """A call of a tool."""

    pattern: re.Pattern[str] = field(compare=False)

    @property
    def panes(self) -> Sequence[Pane]:
        return ALL_PANES

    def index(self, timeline: Timeline) -> RowIndex | None:
        return timeline.tools

    def hit(self, timeline: Timeline, step: int) -> str | None:
        name = next((name for name in timeline.tools.at(step) if _fits(self.pattern, name)), None)
        return None if name is None else f"a call of {name}"


@dataclass(frozen=True, slots=True)
class HeldMuch(Breakpoint):
    """More characters are held back than that. The same hold is a hit only once."""

    characters: int

    @property
    def panes(self) -> Sequence[Pane]:
        return ALL_PANES

    def hit(self, timeline: Timeline, step: int) -> str | None:
        held = self._held(timeline, step)
        if held <= self.characters or self._held(timeline, step - 1) > self.characters:
            return None
        return f"{counted(held, 'character')} held back"

    def _held(self, timeline: Timeline, step: int) -> int:
        held = timeline.player.held_at(step) if step >= 0 else None
        return 0 if held is None else held.characters


@dataclass(frozen=True, slots=True)
class HeldLong(Breakpoint):
    """Something has been held back for longer than that when a step is made, be it the one that ends it."""

    seconds: float

    @property
    def panes(self) -> Sequence[Pane]:
        return ALL_PANES

    def hit(self, timeline: Timeline, step: int) -> str | None:
        since = self._since(timeline, step)
        if since is None or since == self._since(timeline, step - 1):
            return None
        held = timeline.player.held_at(step - 1)
        assert held is not None
        passed = timeline.player.seconds(step) - since
        return f"{counted(held.characters, 'character')} held back for {passed:.3f} s"

    def _since(self, timeline: Timeline, step: int) -> float | None:
        """When the hold began that is too long by the time of a step."""
        held = timeline.player.held_at(step - 1) if step > 0 else None
        if held is None or timeline.player.seconds(step) - held.since <= self.seconds:
            return None
        return held.since


def _item(timeline: Timeline, step: int) -> Item:
    return timeline.player.item(*timeline.player.place(step))


def _fits(pattern: re.Pattern[str], name: str) -> bool:
    return pattern.match(name.lower()) is not None


_LINE = re.compile(r"\s*(?P<kind>\w+)\s*(?P<sign>[:>])\s*(?P<value>.*?)\s*", re.DOTALL)
_HELD = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(?P<unit>ms|s|ch|)")
_WILD = re.compile(r"[*?]")
_TABLES = [dialect.transitions for dialect in DIALECTS.values()]
# All that there can be, so that a typing error is told. The rule for a call that is too long is in no table.
_STATES = sorted({state for dialect in DIALECTS.values() for state in dialect.states})
_RULES = sorted({rule.name for table in _TABLES for rules in table.values() for rule in rules} | {TOO_LONG})
_CODES = sorted({*CATALOGUE, *RULES})


def parse(text: str) -> Breakpoint:
    """The breakpoint that a line stands for. A UserError says what is possible."""
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


def _known(what: str, names: Iterable[str], value: str) -> re.Pattern[str]:
    """A pattern for names that are all known; one without `*` has to be one of them."""
    right = list(names)
    if not _WILD.search(value) and value.lower() not in right:
        raise UserError(f"there is no {what} {value!r}; {_near(value.lower(), right)}")
    return _pattern(value)


def _pattern(value: str) -> re.Pattern[str]:
    # A bracket is what it is: nobody types sets of characters here, but tools may have names with brackets.
    return re.compile(translate(value.lower().replace("[", "[[]")))


def _matching(*panes: Pane) -> Callable[[str, str], Breakpoint]:
    return lambda source, value: Matching(source, Pattern(value), panes)


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
    "state": lambda source, value: Entering(source, _known("state", _STATES, value)),
    "rule": lambda source, value: ByRule(source, _known("rule", _RULES, value)),
    "finding": lambda source, value: Finds(source, _known("finding", _CODES, value)),
    "upstream": _matching(Pane.UPSTREAM),
    "machine": _matching(Pane.MACHINE),
    "client": _matching(Pane.CLIENT),
    "text": _matching(*ALL_PANES),
    "held": _held,
    "tool": lambda source, value: Calling(source, _pattern(value)),
}


def _near(word: str, names: Iterable[str]) -> str:
    right = list(names)
    near = difflib.get_close_matches(word[:100], right, n=1, cutoff=0.6)
    near = near or [name for name in right if word and word in name][:3]
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(right)}"


_SLICE = 500  # steps, a few milliseconds


@dataclass(frozen=True, slots=True)
class Hit:
    """Where to stop, because of which breakpoint, and what happens there."""

    step: int
    breakpoint: Breakpoint
    words: str


def hits(
    timeline: Timeline,
    breakpoints: Sequence[Breakpoint],
    step: int,
    way: int = 1,
    until: int | None = None,
) -> Iterator[Hit | None]:
    """The hits after a step (`way` 1) or before it (-1), one by one; None: a slice is over, and whoever
    searches may do something else before the next one. `until` is the last step that counts."""
    player = timeline.player
    indexes = [index for one in breakpoints if (index := one.index(timeline)) is not None]
    watching = [[one for one in breakpoints if pane in one.panes] for pane in Pane]
    looked, at = 0, step + way
    while 0 <= at < player.steps and (until is None or (until - at) * way >= 0):
        for index in indexes:
            while index.known <= at and not index.catch_up(_SLICE):
                yield None
        if (hit := _hit(timeline, watching[player.panes_of_steps[at]], at)) is not None:
            yield hit
        looked, at = looked + 1, at + way
        if looked % _SLICE == 0:
            yield None


def next_hit(
    timeline: Timeline,
    breakpoints: Sequence[Breakpoint],
    step: int,
    way: int = 1,
    until: int | None = None,
) -> Hit | None:
    """The first of them, however long that takes."""
    return next((hit for hit in hits(timeline, breakpoints, step, way, until) if hit is not None), None)


def _hit(timeline: Timeline, breakpoints: Sequence[Breakpoint], step: int) -> Hit | None:
    for one in breakpoints:
        if (words := one.hit(timeline, step)) is not None:
            return Hit(step, one, f"breakpoint {one}: {words}")
    return None
