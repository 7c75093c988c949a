"""Remedies: for each code what would have made it a call, or kept the call as it was meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import orjson

from transformer import Finding
from workbench.player.player import Player
from workbench.variants.changes import Change, Offer, Switch
from workbench.visible import json_text
from workbench.why.cases import Case, case_of
from workbench.why.context import in_context, wants_one_call
from workbench.why.edits import Edit, sentence
from workbench.why.mending import Mend, Mending
from workbench.why.mends import kimi
from workbench.why.trial import Made, is_object
from workbench.why.why import Remedy

_MOST = 3
_LONGEST_VALUE = 40
_PARAMETER = re.compile(r"(?P<key>.+?) (?:should be of type|is given more than once)")
_TOOL = re.compile(r"the model called (?P<tool>.+?), which was not offered")


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
    match = _PARAMETER.match(case.finding.message)
    said = f"a call to {call.name}"
    tool = case.trial.tool(call.name)
    if tool is not None and tool.required and call.arguments == "{}":
        return f"{said}, though without its arguments"
    if match is None or not is_object(call.arguments):
        return said
    value = json_text(orjson.loads(call.arguments).get(match["key"]))
    return f"{said} with {match['key']} = {value}" if len(value) <= _LONGEST_VALUE else said


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
    """A limit that this call stays under; all that upstream sent is more than any of its calls."""
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
    match = _TOOL.match(case.finding.message)
    if match is None:
        return
    tool, code = match["tool"], case.finding.code
    offering = Mending(case.trial.otherwise(case.trial.dialect, tool), code)
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
    for near in difflib.get_close_matches(tool, case.trial.tools, n=1):
        edits = tuple(_renaming(case.trial.dialect, case.text, tool, near))
        for mend in Mending(case.trial, case.finding.code).mends(case.text, edits):
            yield _written(case, mend)


def _renaming(dialect: str, text: str, old: str, new: str) -> Iterator[Edit]:
    """The name in the call's own tags."""
    first = text.find(old)
    yield Edit(first, first + len(old), new, f"with {new} instead of {old}")
    closing = text.find(f"</{old}>") + 2
    if dialect == "roo-xml" and closing > 1:
        yield Edit(closing, closing + len(old), new, f"</{new}>")


def _further(case: Case) -> Iterator[Remedy]:
    if not wants_one_call(case.player):
        made = case.trial.read(case.text).made_at(0)
        if made is not None:
            yield Remedy(
                f"with calls = all this is a call to {made.name}", (Switch("calls", "all"),), made.name
            )


def _other_id(case: Case) -> Iterator[Remedy]:
    reading = case.trial.read(case.text)
    for edits in kimi.other_id(reading, case.finding.call or 0):
        tool = reading.calls[0].name
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
    "repaired-call": _mended,
    "ambiguous-end": _mended,
    "duplicate-parameter": _mended,
    "value-not-of-type": _mended,
    "invalid-arguments": _mended,
    "generated-id": _other_id,
    "text-after-call": _kept,
}
MENDABLE = frozenset(_OF_CODE)
