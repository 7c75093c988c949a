"""Leaks: what would have made a call of text that no rule took for one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from transformer import DIALECTS, Finding, Span
from transformer.answer.leaks import Hit, hits
from workbench.player.player import Player
from workbench.variants.changes import Change, Offer, Switch
from workbench.why.cases import Slice, slice_of, start_of
from workbench.why.context import in_context
from workbench.why.edits import Edit, sentence
from workbench.why.foreign import translated
from workbench.why.mending import NAME, Mend, Mending
from workbench.why.quotes import beginning, listed
from workbench.why.remedies import MENDABLE, remedies_of
from workbench.why.trace import channel_of, event_of, findings_from, text_of
from workbench.why.trial import Trial
from workbench.why.why import Remedy

_FUNCTION = re.compile(r"<function=[^<>\n]{1,256}>")
_LINE = 64  # characters before a place in which its line may begin


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
    """What kept it from being a call was told already."""
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
    switches = [Switch("dialect", found)] if found != trial.dialect else []
    if needed := _channels(trial, found, piece):
        switches.append(needed)
    moved = _to_line_start(player, piece) if found == "roo-xml" else ()
    wrapper = _wrapper(found, piece)
    offers = [None] if hit.name in trial.tools or not hit.name else [hit.name, None]
    for offer in offers:
        if offer is not None and not NAME.fullmatch(offer):
            continue
        other = trial.otherwise(found, offer)
        unknown = [] if offer is not None or not offers[0] else [Switch("unknown_tools", "call")]
        changes: tuple[Change, ...] = (*switches, *([Offer(offer)] if offer is not None else unknown))
        first = wrapper if unknown else ()
        if not (unknown and trial.policy.unknown_tools == "call"):
            yield from _with(piece, Mending(other, "leaked-markers"), changes, moved)
        elif first:
            yield from _with(piece, Mending(other, "leaked-markers"), tuple(switches), moved, first)


def _wrapper(dialect: str, piece: Slice) -> tuple[Edit, ...]:
    """Of a tool that nobody offered a function's tag alone is no call."""
    tag = _FUNCTION.match(piece.text) if dialect == "qwen3-coder" else None
    return () if tag is None else (Edit(0, 0, "<tool_call>\n", f"with <tool_call> before {tag[0]}"),)


def _with(
    piece: Slice,
    mending: Mending,
    changes: tuple[Change, ...],
    moved: tuple[Edit, ...],
    first: tuple[Edit, ...] = (),
) -> Iterator[Remedy]:
    switches = {
        one.key: one.value for one in changes if isinstance(one, Switch) and one.key == "unknown_tools"
    }
    mend = None if first else mending.as_it_is(piece.text, **switches)
    mend = mend or next(mending.mends(piece.text, first), None)
    if mend is not None and (changes or moved or mend.edits):
        edits = piece.retexts((*moved, *mend.edits))
        yield Remedy(_words(changes, mend, moved), (*changes, *edits), mend.call.name)


def _words(changes: tuple[Change, ...], mend: Mend, moved: tuple[Edit, ...]) -> str:
    said = []
    for change in changes:
        if isinstance(change, Switch):
            said.append(f"{change.key} = {change.value}")
        elif isinstance(change, Offer):
            said.append(f"{change.tool} among the offered tools")
    edits = sentence((*moved, *mend.edits))
    if said:
        edits = f"with {listed([*said, *([edits.removeprefix('with ')] if edits else [])])}"
    return f"{edits} this is a call to {mend.call.name}"


def _channels(trial: Trial, dialect: str, piece: Slice) -> Switch | None:
    """The reasoning is looked at only where the policy says so."""
    wanted = "reasoning" if piece.channel[1].startswith("reasoning") else "content"
    policy = trial.otherwise(dialect).policy
    if wanted in (policy.channels or ()):
        return None
    return Switch("channels", "content,reasoning")


def _to_line_start(player: Player, piece: Slice) -> tuple[Edit, ...]:
    """A tag counts only at the start of a line. Places count from the slice's beginning."""
    before = text_of(player, piece.channel, max(0, piece.start - _LINE), piece.start)
    if not before or before[-1] in "\r\n":
        return ()
    blanks = len(before) - len(before.rstrip(" \t"))
    if blanks == len(before) or before[-blanks - 1] in "\r\n":
        return (Edit(-blanks, 0, "", "without the blanks before it"),)
    return (Edit(0, 0, "\n", "with a line break before it"),)


def _rewritten(trial: Trial, piece: Slice) -> Iterator[Remedy]:
    """A dialect that nobody here reads, written as the one that is set."""
    found = translated(piece.text, trial)
    if found is None:
        return
    end, text, name = found
    needed = _channels(trial, trial.dialect, piece)
    edit = Edit(0, end, text, f"with {beginning(text)} instead of {beginning(piece.text[:end])}")
    changes: tuple[Change, ...] = () if needed is None else (needed,)
    made = trial.read(text).calls
    if made and made[0].whole and made[0].name == name:
        mend = Mend((edit,), made[0])
        yield Remedy(_words(changes, mend, ()), (*changes, *piece.retexts((edit,))), name)
