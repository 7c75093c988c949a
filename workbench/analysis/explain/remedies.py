"""Remedies: what would have made it a call, or kept the call as it was meant; for each code of a finding,
and for text that no rule took for a call.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from transformer.answer.leaks import Hit, hits
from transformer.dialects import DIALECTS
from transformer.dialects.foreign import json_call
from transformer.parser.mending import Broken, Edit, is_object, sentence
from transformer.records import Finding, Span
from transformer.request.writtencall import write_call
from transformer.wording import beginning, listed
from workbench.analysis.explain.rereading import (
    Case,
    EditedText,
    Made,
    Reading,
    Slice,
    Trial,
    case_of,
    in_context,
    slice_of,
    start_of,
    wants_one_call,
)
from workbench.analysis.explain.trace import Remedy, channel_of, event_of, findings_from
from workbench.analysis.variants.changes import Change, Offer, Switch
from workbench.replay.player import Player
from workbench.text import json_text

_TRIALS = 16  # for one finding
_ROUNDS = 4  # things that are wrong with one call
# Codes for which a second way would only be a worse one.
_ONE_WAY = frozenset({"truncated-call", "ambiguous-end", "value-not-of-type", "invalid-arguments"})
NAME = re.compile(r"[\w.:-]*\w")


@dataclass(frozen=True, slots=True)
class Mend:
    """Edits of a text that make its first call one that a client can use."""

    edits: tuple[Edit, ...]
    call: Made


class Mending:
    """Looks for the edits that help a call which begins where the text does."""

    def __init__(self, trial: Trial, code: str, **switches: Any) -> None:
        self._trial = trial
        self._code = code  # the finding that must disappear
        self._switches = switches
        self._left = _TRIALS
        self._leads = trial.dialect.mender.leads if trial.dialect.mender is not None else ()

    def mends(self, text: str, first: tuple[Edit, ...] = ()) -> Iterator[Mend]:
        """Different ways, likeliest first. `first` are edits that are made in any case."""
        draft = EditedText(text).edited(first)
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

    def _on(self, draft: EditedText, allowed: int, rounds: int) -> Mend | None:
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
            return None  # no tool has such a name: the text was broken elsewhere
        return made if _is_first(reading, made, self._leads) else None

    def _ideas(self, reading: Reading) -> Iterator[tuple[Edit, ...]]:
        whole = reading.calls and reading.calls[0].whole and _is_first(reading, reading.calls[0], self._leads)
        named = next((one for one in reading.findings if one.code == self._code), None)
        finding = named if whole or reading.lost is None else reading.lost
        if finding is None:
            return
        mender = self._trial.dialect.mender
        if mender is not None:
            broken = Broken(reading.text, finding, self._trial.tools)
            yield from (edits for edits in mender.ideas(broken) if edits)


def _is_first(reading: Reading, made: Made, leads: tuple[str, ...]) -> bool:
    """There is only whitespace, or markup that may lead to a call, before it."""
    before = reading.text[: made.start].strip()
    return not before or before in (*leads, "</think>")


_MOST = 3
_LONGEST_VALUE = 40
# Findings about one value of a call that came out.
_OF_VALUES = frozenset({"value-not-of-type", "duplicate-parameter"})


def remedies_of(player: Player, finding: Finding) -> tuple[Remedy, ...]:
    """Tried on the call's own text; none where nothing helps."""
    make = _OF_CODE.get(finding.code)
    case = case_of(player, finding) if make is not None else None
    if make is None or case is None:
        return ()
    found = (in_context(player, case.slice, remedy) for remedy in make(case))
    return tuple(islice(filter(None, found), _MOST))


# -- the text as the model should have written it


def _mended(case: Case) -> Iterator[Remedy]:
    for mend in Mending(case.trial, case.finding.code).mends(case.text):
        yield _written(case, mend)


def _written(case: Case, mend: Mend, *before: Change) -> Remedy:
    words = f"{sentence(mend.edits)} this is {_promise(case, mend.call)}"
    return Remedy(words, (*before, *case.slice.retexts(mend.edits)), mend.call.name)


def _promise(case: Case, call: Made) -> str:
    """The call; where one of its values was in question, with that value."""
    key = case.finding.values.get("parameter") if case.finding.code in _OF_VALUES else None
    said = f"a call to {call.name}"
    tool = case.trial.tool(call.name)
    if tool is not None and tool.required and call.arguments == "{}":
        return f"{said}, though without its arguments"
    if key is None or not is_object(call.arguments):
        return said
    value = json_text(orjson.loads(call.arguments).get(key))
    return f"{said} with {key} = {value}" if len(value) <= _LONGEST_VALUE else said


def _lost(case: Case) -> Iterator[Remedy]:
    """A call that was broken: what is missing, and what a repair would do."""
    yield from islice(_mended(case), _MOST - 1)
    yield from _repaired(case)


def _repaired(case: Case) -> Iterator[Remedy]:
    reading = case.trial.read(case.text, malformed="repair")
    made = reading.made_at(0)
    still = any(finding.code == case.finding.code and finding.call == 0 for finding in reading.findings)
    if made is not None and not still and case.trial.policy.malformed != "repair":
        words = f"with malformed = repair this is a call to {made.name}"
        yield Remedy(words, (Switch("malformed", "repair"),), made.name)


def _too_long(case: Case) -> Iterator[Remedy]:
    """A limit that this call stays under; the size of everything upstream sent is enough for any call."""
    limit = 1 << max(10, len(case.player.data).bit_length())
    switch = Switch("max_call_bytes", str(limit))
    said = f"max_call_bytes = {limit}"
    yield from _whole(case, Mending(case.trial, "call-too-long", max_call_bytes=limit), said, switch)


def _thought(case: Case) -> Iterator[Remedy]:
    """The thought ends before the call."""
    tag = case.text[: case.finding.span.end - case.finding.span.start]
    ended = Edit(0, 0, "</think>\n", f"with </think> before {tag}")
    for mend in Mending(case.trial, "call-in-thought").mends(case.text, (ended,)):
        yield _written(case, mend)


# -- tools


def _unoffered(case: Case) -> Iterator[Remedy]:
    tool, code = str(case.finding.values["tool"]), case.finding.code
    offering = Mending(case.trial.otherwise(offer=tool), code)
    yield from _whole(case, offering, f"{tool} among the offered tools", Offer(tool))
    if code == "refused-tool":
        passing = Mending(case.trial, code, unknown_tools="call")
        yield from _whole(case, passing, "unknown_tools = call", Switch("unknown_tools", "call"))
    yield from _renamed(case, tool)


def _whole(case: Case, mending: Mending, said: str, change: Change) -> Iterator[Remedy]:
    """With a change, the call as it is; one that is broken besides is mended."""
    mend = mending.as_it_is(case.text) or next(mending.mends(case.text), None)
    if mend is not None:
        remedy = _written(case, mend, change)
        edited = f"and {remedy.words.removeprefix('with ')}" if mend.edits else remedy.words.strip()
        yield Remedy(f"with {said} {edited}", remedy.changes, remedy.tool)


def _renamed(case: Case, tool: str) -> Iterator[Remedy]:
    """A tool of nearly the same name may have been meant."""
    mender = case.trial.dialect.mender
    for near in difflib.get_close_matches(tool, case.trial.tools, n=1) if mender is not None else ():
        edits = tuple(mender.renamed(case.text, tool, near)) if mender is not None else ()
        for mend in Mending(case.trial, case.finding.code).mends(case.text, edits):
            yield _written(case, mend)


def _further(case: Case) -> Iterator[Remedy]:
    if not wants_one_call(case.player):
        made = case.trial.read(case.text).made_at(0)
        if made is not None:
            yield Remedy(
                f"with calls = all this is a call to {made.name}", (Switch("calls", "all"),), made.name
            )


def _other_id(case: Case) -> Iterator[Remedy]:
    reading, mender = case.trial.read(case.text), case.trial.dialect.mender
    if mender is None or not reading.calls:
        return
    tool = reading.calls[0].name
    broken = Broken(case.text, case.finding, case.trial.tools, tool)
    for edits in mender.other_id(broken, case.finding.call or 0):
        words = f"{sentence(edits)} this is a call to {tool} with an id of its own"
        yield Remedy(words, case.slice.retexts(edits), tool)


def _kept(case: Case) -> Iterator[Remedy]:
    yield Remedy("with after_call = keep the client gets this text", (Switch("after_call", "keep"),))


_Make = Callable[[Case], Iterator[Remedy]]
_OF_CODE: Mapping[str, _Make] = {
    "unclosed-parameter": _lost,
    "truncated-call": _lost,
    "malformed-call": _lost,
    "unnamed-call": _mended,
    "call-too-long": _too_long,
    "call-in-thought": _thought,
    "refused-tool": _unoffered,
    "unknown-tool": _unoffered,
    "call-after-first": _further,
    "repaired-parameter": _mended,
    "repaired-tag": _mended,
    "repaired-call": _mended,
    "repaired-arguments": _mended,
    "ambiguous-end": _mended,
    "duplicate-parameter": _mended,
    "value-not-of-type": _mended,
    "invalid-arguments": _mended,
    "generated-id": _other_id,
    "text-after-call": _kept,
}
MENDABLE = frozenset(_OF_CODE)


def translated(text: str, trial: Trial) -> tuple[int, str, str] | None:
    """Where the call at the beginning of a text ends, how the dialect writes it, and its tool."""
    call = json_call(text)
    if call is None or trial.dialect.writer is None:
        return None
    written = write_call(trial.dialect, call.name, call.arguments, trial.tool(call.name), tools=None)
    return call.end, written, call.name


def leak_remedies(player: Player, span: Span) -> tuple[Remedy, ...]:
    """Another dialect, another channel, another place, or the dialect's own way to write it."""
    for finding in findings_from(player, event_of(player, channel_of(span), span.start)):
        if _is_about(player, finding, span):
            return remedies_of(player, finding)
    piece = slice_of(player, channel_of(span), span.start, span.start)
    hit = next((hit for hit in hits(piece.text) if hit.start == 0), None)
    found = _read_otherwise(player, piece, hit) if hit is not None else ()
    return tuple(filter(None, (in_context(player, piece, remedy) for remedy in found)))


def _is_about(player: Player, finding: Finding, span: Span) -> bool:
    """What kept it from being a call was reported already."""
    if channel_of(finding.span) != channel_of(span) or finding.code not in MENDABLE:
        return False
    if finding.code == "text-after-call" or finding.span.end < span.start:
        return False
    start = start_of(player, finding)
    return start is not None and start <= span.start < max(finding.span.end, start + 1)


def _read_otherwise(player: Player, piece: Slice, hit: Hit) -> Iterator[Remedy]:
    trial = Trial.of(player, piece.channel[0])
    found = hit.mark.dialect
    if found not in DIALECTS:
        yield from _rewritten(trial, piece)
        return
    mender = DIALECTS[found].mender
    switches = [Switch("dialect", found)] if found != trial.dialect.name else []
    if needed := _channels(trial, found, piece):
        switches.append(needed)
    wrapper = mender.wrapped(piece.text) if mender is not None else ()
    offers = [None] if hit.name in trial.tools or not hit.name else [hit.name, None]
    for offer in offers:
        if offer is not None and not NAME.fullmatch(offer):
            continue
        other = trial.otherwise(found, offer)
        unknown = [] if offer is not None or not offers[0] else [Switch("unknown_tools", "call")]
        changes: tuple[Change, ...] = (*switches, *([Offer(offer)] if offer is not None else unknown))
        first = wrapper if unknown else ()
        if not (unknown and trial.policy.unknown_tools == "call"):
            yield from _with(piece, Mending(other, "leaked-markers"), changes)
        elif first:
            yield from _with(piece, Mending(other, "leaked-markers"), tuple(switches), first)


def _with(
    piece: Slice,
    mending: Mending,
    changes: tuple[Change, ...],
    first: tuple[Edit, ...] = (),
) -> Iterator[Remedy]:
    switches = {
        one.key: one.value for one in changes if isinstance(one, Switch) and one.key == "unknown_tools"
    }
    mend = None if first else mending.as_it_is(piece.text, **switches)
    mend = mend or next(mending.mends(piece.text, first), None)
    if mend is not None and (changes or mend.edits):
        edits = piece.retexts(mend.edits)
        yield Remedy(_words(changes, mend), (*changes, *edits), mend.call.name)


def _words(changes: tuple[Change, ...], mend: Mend) -> str:
    said = []
    for change in changes:
        if isinstance(change, Switch):
            said.append(f"{change.key} = {change.value}")
        elif isinstance(change, Offer):
            said.append(f"{change.tool} among the offered tools")
    edits = sentence(mend.edits)
    if said:
        edits = f"with {listed([*said, *([edits.removeprefix('with ')] if edits else [])])}"
    return f"{edits} this is a call to {mend.call.name}"


def _channels(trial: Trial, dialect: str | None, piece: Slice) -> Switch | None:
    """The reasoning is parsed only if the policy says so."""
    wanted = "reasoning" if piece.channel[1].startswith("reasoning") else "content"
    policy = trial.otherwise(dialect).policy
    if wanted in (policy.channels or ()):
        return None
    return Switch("channels", "content,reasoning")


def _rewritten(trial: Trial, piece: Slice) -> Iterator[Remedy]:
    """A dialect that we do not read, written as the one that is set."""
    found = translated(piece.text, trial)
    if found is None:
        return
    end, text, name = found
    needed = _channels(trial, None, piece)
    edit = Edit(0, end, text, f"with {beginning(text)} instead of {beginning(piece.text[:end])}")
    changes: tuple[Change, ...] = () if needed is None else (needed,)
    made = trial.read(text).calls
    if made and made[0].whole and made[0].name == name:
        mend = Mend((edit,), made[0])
        yield Remedy(_words(changes, mend), (*changes, *piece.retexts((edit,))), name)
