"""The language of breakpoints: a line becomes one, or a sentence that says what is wrong with it."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate

from transformer import DIALECTS
from transformer.answer.conformance import RULES
from transformer.findings import CATALOGUE
from workbench.errors import UserError
from workbench.player.breakpoints.conditions import (
    ALL_PANES,
    Breakpoint,
    ByRule,
    Calling,
    Entering,
    Finds,
    HeldLong,
    HeldMuch,
    Matching,
)
from workbench.player.panes import Pane

_LINE = re.compile(r"\s*(?P<kind>\w+)\s*(?P<sign>[:>])\s*(?P<value>.*?)\s*", re.DOTALL)
_HELD = re.compile(r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(?P<unit>ms|s|ch|)")
_WILD = re.compile(r"[*?]")
_TABLES = [dialect.transitions for dialect in DIALECTS.values()]
# All that there can be, so that a slip of the pen is told. A machine that gives up has a rule of its own.
_STATES = sorted({state for dialect in DIALECTS.values() for state in dialect.states})
_RULES = sorted({rule.name for table in _TABLES for rule in table.values()} | {"too long"})
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
