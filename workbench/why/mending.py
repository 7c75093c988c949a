"""Mending: the edits that make a call of a text which is none, found by trial."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from transformer import Finding
from workbench.why.edits import Draft, Edit
from workbench.why.mends import kimi, qwen, tags, values
from workbench.why.trial import Made, Reading, Trial

_TRIALS = 16  # for one finding
_ROUNDS = 4  # things that are wrong with one call
# Where a second way would only be a worse one.
_ONE_WAY = frozenset({"truncated-call", "ambiguous-end", "value-not-of-type", "invalid-arguments"})
NAME = re.compile(r"[\w.:-]*\w")
_BROKEN_TAG = "<parameter= is not followed"


@dataclass(frozen=True, slots=True)
class Mend:
    """Edits of a text that make its first call one that a client can use."""

    edits: tuple[Edit, ...]
    call: Made


class Mending:
    """Looks for the edits that help a call which begins where the text does."""

    def __init__(self, trial: Trial, code: str, **switches: Any) -> None:
        self._trial = trial
        self._code = code  # what shall not be said any more
        self._switches = switches
        self._left = _TRIALS

    def mends(self, text: str, first: tuple[Edit, ...] = ()) -> Iterator[Mend]:
        """Different ways, likeliest first. `first` are edits that are made in any case."""
        draft = Draft(text).edited(first)
        reading = self._read(draft.text)
        allowed = max(0, reading.errors)
        for edits in self._ideas(reading):
            mended = self._on(draft.edited(edits), allowed, _ROUNDS)
            if mended is not None:
                yield mended
                if self._code in _ONE_WAY:
                    return
        if first and (made := self._good(reading, allowed)) is not None:
            yield Mend(first, made)

    def as_it_is(self, text: str, **switches: Any) -> Mend | None:
        """No edit at all, where that is good already."""
        self._switches |= switches
        reading = self._read(text)
        made = self._good(reading, reading.errors)
        return None if made is None else Mend((), made)

    def _on(self, draft: Draft, allowed: int, rounds: int) -> Mend | None:
        """This draft if it is good, else one that mends what is still wrong."""
        if self._left <= 0:
            return None
        reading = self._read(draft.text)
        made = self._good(reading, allowed)
        if made is not None:
            return Mend(draft.edits, made)
        if rounds > 1:
            for edits in self._ideas(reading):
                found = self._on(draft.edited(edits), allowed, rounds - 1)
                if found is not None:
                    return found
        return None

    def _read(self, text: str) -> Reading:
        self._left -= 1
        return self._trial.read(text, **self._switches)

    def _good(self, reading: Reading, allowed: int) -> Made | None:
        made = reading.calls[0] if reading.calls else None
        again = any(finding.code == self._code and finding.call in (0, None) for finding in reading.findings)
        if made is None or not made.whole or again or reading.errors > allowed:
            return None
        if made.name not in self._trial.tools and not NAME.fullmatch(made.name):
            return None  # a name that nobody gives to a tool: the text was broken elsewhere
        return made if _is_first(reading, made) else None

    def _ideas(self, reading: Reading) -> Iterator[tuple[Edit, ...]]:
        whole = reading.calls and reading.calls[0].whole and _is_first(reading, reading.calls[0])
        named = next((one for one in reading.findings if one.code == self._code), None)
        finding = named if whole or reading.lost is None else reading.lost
        if finding is None:
            return
        ideas = _OF_DIALECT.get(self._trial.dialect)
        if ideas is not None:
            yield from (edits for edits in ideas(self._trial, reading, finding) if edits)


def _is_first(reading: Reading, made: Made) -> bool:
    """Nothing but whitespace, or a section's token, stands before it."""
    before = reading.text[: made.start].strip()
    return not before or before in ("<|tool_calls_section_begin|>", "</think>")


def _tag_ideas(
    spelling: tags.Tags, trial: Trial, reading: Reading, finding: Finding
) -> Iterator[tuple[Edit, ...]]:
    tool = trial.tool(tags.tool_in(spelling, reading.text))
    match finding.code:
        case "unclosed-parameter":
            yield from tags.unclosed(spelling, reading, finding, tool)
        case "truncated-call":
            yield from tags.truncated(spelling, reading, finding)
        case "malformed-call" if _BROKEN_TAG in finding.message:
            yield from qwen.broken_tag(reading, finding, tool)
        case "malformed-call":
            yield from tags.no_structure(spelling, reading, finding)
        case "ambiguous-end":
            yield from tags.unclosed_example(spelling, reading, finding)
        case "repaired-parameter" if reading.text.startswith("<parameter=", finding.span.start):
            yield from qwen.inline_parameter(reading, finding)
        case "repaired-parameter":
            yield from tags.repaired_parameter(spelling, reading, finding)
        case "repaired-call":
            yield from tags.repaired_call(spelling, reading, finding)
        case "value-not-of-type":
            yield from values.other_value(spelling, reading, finding, tool)
        case "duplicate-parameter":
            yield from values.without_repeats(spelling, reading, finding)


def _kimi_ideas(trial: Trial, reading: Reading, finding: Finding) -> Iterator[tuple[Edit, ...]]:
    match finding.code:
        case "malformed-call":
            yield from kimi.malformed(reading, finding)
        case "truncated-call":
            yield from kimi.truncated(reading, finding, trial.tools)
        case "unnamed-call":
            yield from kimi.unnamed(reading, finding, trial.tools)
        case "repaired-call":
            yield from kimi.repaired(reading, finding)
        case "invalid-arguments":
            yield from kimi.bad_json(reading, finding)


_Ideas = Callable[[Trial, Reading, Finding], Iterator[tuple[Edit, ...]]]
_OF_DIALECT: dict[str, _Ideas] = {
    "roo-xml": lambda trial, reading, finding: _tag_ideas(tags.ROO, trial, reading, finding),
    "qwen3-coder": lambda trial, reading, finding: _tag_ideas(tags.QWEN, trial, reading, finding),
    "kimi-k2": _kimi_ideas,
}
