"""Breakpoints: what a person waits for in a tape, one line each, and the steps at which it happens.

`parse` reads a line, `BreakpointContext` is the tape they are looked for in, `hits` goes from one hit to the
next.
"""

from __future__ import annotations

import difflib
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cached_property

from transformer.answer.conformance import RULES
from transformer.dialects import DIALECTS
from transformer.findings import CATALOGUE
from transformer.parser.machine import TOO_LONG
from transformer.records import Finding, Transition
from workbench.errors import UserError
from workbench.replay.channels import Channels, ToolNames
from workbench.replay.follower import Clock, Follower
from workbench.replay.message import Assembly
from workbench.replay.player import Item, Pane, Player
from workbench.tape.format import Line


class BreakpointContext:
    """Keep it as long as the tape is open: what it has read of it once, it need not read again."""

    def __init__(self, player: Player, clock: Clock | None = None, assembly: Assembly | None = None) -> None:
        self.player = player
        self.clock = clock or Clock(player)
        self._assembly = assembly or Assembly(player)

    @cached_property
    def channels(self) -> Channels:
        return Channels(self.player)

    @cached_property
    def tools(self) -> ToolNames:
        return ToolNames(self.player, self._assembly)

    def item(self, step: int) -> Item:
        return self.player.item(*self.player.place(step))


_SHOWN = 60
ALL_PANES = tuple(Pane)


@dataclass(frozen=True, slots=True)
class Breakpoint(ABC):
    """One line. Whether a step is a hit depends on nothing but the tape: so it is the same both ways."""

    source: str

    def __str__(self) -> str:
        return self.source

    @property
    def panes(self) -> Sequence[Pane]:
        """Only the rows of these can be hits."""
        return (Pane.MACHINE,)

    def needs(self, scene: BreakpointContext) -> Follower | None:
        """What has to be caught up with the tape before anybody asks."""
        return None

    @abstractmethod
    def hit(self, scene: BreakpointContext, step: int) -> str | None:
        """What happens with a step, if it is what is waited for."""


@dataclass(frozen=True, slots=True)
class Entering(Breakpoint):
    """A machine enters a state."""

    pattern: re.Pattern[str] = field(compare=False)

    def hit(self, scene: BreakpointContext, step: int) -> str | None:
        item = scene.item(step)
        if not isinstance(item, Transition) or not _fits(self.pattern, item.to):
            return None
        return None if _fits(self.pattern, item.state) else f"enters {item.to} by {item.rule}"


@dataclass(frozen=True, slots=True)
class ByRule(Breakpoint):
    """A machine follows a rule."""

    pattern: re.Pattern[str] = field(compare=False)

    def hit(self, scene: BreakpointContext, step: int) -> str | None:
        item = scene.item(step)
        if not isinstance(item, Transition) or not _fits(self.pattern, item.rule):
            return None
        return f"{item.rule} in state {item.state}"


@dataclass(frozen=True, slots=True)
class Finds(Breakpoint):
    """There is something to tell."""

    pattern: re.Pattern[str] = field(compare=False)

    def hit(self, scene: BreakpointContext, step: int) -> str | None:
        item = scene.item(step)
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

    regex: re.Pattern[str] = field(compare=False)
    where: tuple[Pane, ...]

    @property
    def panes(self) -> Sequence[Pane]:
        return self.where

    def needs(self, scene: BreakpointContext) -> Follower | None:
        return scene.channels

    def hit(self, scene: BreakpointContext, step: int) -> str | None:
        found = scene.channels.match(self.regex, step)
        if found is None:
            return None
        pane = scene.player.place(step)[0].name.lower()
        return f"“{found if len(found) <= _SHOWN else f'{found[:_SHOWN]}…'}” in the {pane} pane"


@dataclass(frozen=True, slots=True)
class Calling(Breakpoint):
    """A call of a tool."""

    pattern: re.Pattern[str] = field(compare=False)

    @property
    def panes(self) -> Sequence[Pane]:
        return ALL_PANES

    def needs(self, scene: BreakpointContext) -> Follower | None:
        return scene.tools

    def hit(self, scene: BreakpointContext, step: int) -> str | None:
        name = next((name for name in scene.tools.at(step) if _fits(self.pattern, name)), None)
        return None if name is None else f"a call of {name}"


@dataclass(frozen=True, slots=True)
class HeldMuch(Breakpoint):
    """More characters are held back than that. The same hold is no hit again."""

    characters: int

    @property
    def panes(self) -> Sequence[Pane]:
        return ALL_PANES

    def hit(self, scene: BreakpointContext, step: int) -> str | None:
        held = self._held(scene, step)
        if held <= self.characters or self._held(scene, step - 1) > self.characters:
            return None
        return f"{held} characters are held back"

    def _held(self, scene: BreakpointContext, step: int) -> int:
        held = scene.player.held_at(step) if step >= 0 else None
        return 0 if held is None else held.characters


@dataclass(frozen=True, slots=True)
class HeldLong(Breakpoint):
    """Something has been held back for longer than that when a step is made, be it the one that ends it."""

    seconds: float

    @property
    def panes(self) -> Sequence[Pane]:
        return ALL_PANES

    def needs(self, scene: BreakpointContext) -> Follower | None:
        return scene.clock

    def hit(self, scene: BreakpointContext, step: int) -> str | None:
        since = self._since(scene, step)
        if since is None or since == self._since(scene, step - 1):
            return None
        held = scene.player.held_at(step - 1)
        assert held is not None
        passed = scene.clock.of(step) - since
        return f"{held.characters} characters have been held back for {passed:.3f} s"

    def _since(self, scene: BreakpointContext, step: int) -> float | None:
        """When the hold began that is too long by the time of a step."""
        held = scene.player.held_at(step - 1) if step > 0 else None
        if held is None or scene.clock.of(step) - held.since <= self.seconds:
            return None
        return held.since


def _fits(pattern: re.Pattern[str], name: str) -> bool:
    return pattern.match(name.lower()) is not None


_LINE = re.compile(r"\s*(?P<kind>\w+)\s*(?P<sign>[:>])\s*(?P<value>.*?)\s*", re.DOTALL)
_HELD = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(?P<unit>ms|s|ch|)")
_WILD = re.compile(r"[*?]")
_TABLES = [dialect.transitions for dialect in DIALECTS.values()]
# All that there can be, so that a slip of the pen is told. A machine that gives up has a rule of its own.
_STATES = sorted({state for dialect in DIALECTS.values() for state in dialect.states})
_RULES = sorted({rule.name for table in _TABLES for rules in table.values() for rule in rules} | {TOO_LONG})
_CODES = sorted({*CATALOGUE, *RULES})


def parse(text: str) -> Breakpoint:
    """The breakpoint that a line stands for. A UserError says what is possible."""
    match = _LINE.fullmatch(text)
    kind, sign, value = (match["kind"].lower(), match["sign"], match["value"]) if match else ("", "", "")
    if kind not in KINDS:
        raise UserError(f"{text!r} is no breakpoint; {_near(kind, KINDS)} ({_EXAMPLES})")
    if sign != (">" if kind == "held" else ":"):
        raise UserError(f"{text!r} is no breakpoint; write it like {KINDS[kind]}")
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


def _regex(value: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about what a later Python may read otherwise
            return re.compile(value, re.MULTILINE)
    except re.error as error:
        place = f" at character {error.pos + 1}" if error.pos is not None else ""
        raise UserError(f"{value!r} is no regular expression{place}: {error.msg}") from None
    except (RecursionError, OverflowError):
        raise UserError(f"{value[:40]!r} is too large for a regular expression") from None


def _matching(*panes: Pane) -> Callable[[str, str], Breakpoint]:
    return lambda source, value: Matching(source, _regex(value), panes)


def _held(source: str, value: str) -> Breakpoint:
    match = _HELD.fullmatch(value.lower())
    if match is None:
        raise UserError(f"{source!r} is no breakpoint; write it like {KINDS['held']} (characters)")
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
    scene: BreakpointContext,
    breakpoints: Sequence[Breakpoint],
    step: int,
    way: int = 1,
    until: int | None = None,
) -> Iterator[Hit | None]:
    """The hits behind a step (`way` 1) or before it (-1), one after the other; None: a slice is over, and
    whoever searches may do something else before the next one. `until` is the last step that counts."""
    indexes = [index for one in breakpoints if (index := one.needs(scene)) is not None]
    for index in indexes:
        while not index.catch_up(_SLICE):
            yield None
    panes = scene.player.panes_of_steps
    watching = [[one for one in breakpoints if pane in one.panes] for pane in Pane]
    looked, at = 0, step + way
    while 0 <= at < scene.player.steps and (until is None or (until - at) * way >= 0):
        if (hit := _hit(scene, watching[panes[at]], at)) is not None:
            yield hit
        looked, at = looked + 1, at + way
        if looked % _SLICE == 0:
            yield None
            for index in indexes:  # the tape may have grown meanwhile
                index.catch_up()


def next_hit(
    scene: BreakpointContext,
    breakpoints: Sequence[Breakpoint],
    step: int,
    way: int = 1,
    until: int | None = None,
) -> Hit | None:
    """The first of them, however long that takes."""
    return next((hit for hit in hits(scene, breakpoints, step, way, until) if hit is not None), None)


def _hit(scene: BreakpointContext, breakpoints: Sequence[Breakpoint], step: int) -> Hit | None:
    for one in breakpoints:
        if (words := one.hit(scene, step)) is not None:
            return Hit(step, one, f"breakpoint {one}: {words}")
    return None
