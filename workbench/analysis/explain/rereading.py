"""Reading again: the text of a call with small edits, read on its own by the dialect and the policy of its
exchange (a `Trial`), and in the context of the text before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from transformer.answer.observations import choices_of
from transformer.answer.whole import MessageTransformer
from transformer.dialects import find_dialect
from transformer.parser.mending import Edit, applied, is_object
from transformer.policy import Policy
from transformer.records import Delta, Effect, Finding, Transition
from transformer.values.schema import Tool, offered
from workbench.analysis.explain.trace import (
    Channel,
    Remedy,
    backward,
    channel_of,
    client_deltas,
    event_of,
    finish_of,
    first_record,
    forward,
    index_of,
    text_of,
)
from workbench.analysis.variants.changes import Offer, Retext, Switch
from workbench.replay.player import Player
from workbench.tape.recipe import Recipe, Wishes, chat_request, make_recipe


class EditedText:
    """A text that is edited step by step, which remembers its edits as edits of the first text."""

    def __init__(self, text: str) -> None:
        self.first = text
        self.text = text
        self.edits: tuple[Edit, ...] = ()

    def edited(self, edits: Iterable[Edit]) -> EditedText:
        """A further draft; the edits count in this one."""
        twin = EditedText(self.first)
        new = tuple(self._back(edit) for edit in edits)
        twin.edits = _joined(sorted([*self.edits, *new], key=lambda edit: edit.start))
        twin.text = applied(self.first, twin.edits)
        return twin

    def _back(self, edit: Edit) -> Edit:
        return Edit(self._place(edit.start), self._place(edit.end), edit.text, edit.words)

    def _place(self, place: int) -> int:
        """Where a place of this draft is in the first text."""
        shift = 0
        for edit in self.edits:
            if edit.start + shift + len(edit.text) > place:
                break
            shift += len(edit.text) - (edit.end - edit.start)
        return max(0, place - shift)


def _joined(edits: list[Edit]) -> tuple[Edit, ...]:
    """Consecutive insertions at one place are one edit."""
    joined: list[Edit] = []
    for edit in edits:
        last = joined[-1] if joined else None
        if last is not None and last.start == last.end == edit.start == edit.end:
            words = f"{last.words} and {edit.words.removeprefix('with ')}"
            joined[-1] = Edit(last.start, last.end, last.text + edit.text, words)
        else:
            joined.append(edit)
    return tuple(joined)


_BROKEN = ("truncated-call", "call-too-long", "unclosed-parameter", "malformed-call", "unnamed-call")


@dataclass(frozen=True, slots=True)
class Made:
    """A call that came out: its place in the text, and whether a client can use it."""

    name: str
    start: int
    arguments: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of a text."""

    text: str
    moves: tuple[Transition, ...]
    findings: tuple[Finding, ...]
    calls: tuple[Made, ...]

    @property
    def lost(self) -> Finding | None:
        """The first thing that kept a call from being one."""
        return next((finding for finding in self.findings if finding.code in _BROKEN), None)

    @property
    def errors(self) -> int:
        return sum(finding.level == "error" for finding in self.findings)

    def made_at(self, start: int) -> Made | None:
        return next((call for call in self.calls if call.start == start and call.whole), None)


class Trial:
    """Reads texts as the exchange's own transformer would, at the start of a line, all calls wanted."""

    def __init__(self, recipe: Recipe, finish: str | None = None) -> None:
        self._recipe = recipe
        self._finish = finish or "stop"
        self.dialect = find_dialect(recipe.dialect)
        self.tools: dict[str, Tool] = dict(offered(recipe.tools))
        self.policy = recipe.policy.over(self.dialect.policy)

    @classmethod
    def of(cls, player: Player, choice: int) -> Trial:
        """As the exchange was set."""
        return cls(make_recipe(player.header, Wishes()), finish_of(player, choice))

    @property
    def raw(self) -> bool:
        """Nothing at all is converted: no tools, or the client wants no calls."""
        return self._recipe.stream("none").setting.raw

    def otherwise(self, dialect: str | None = None, offer: str | None = None) -> Trial:
        """The same with another dialect, or one more tool."""
        dialect, tools = dialect or self._recipe.dialect, self._recipe.tools
        if offer is not None:
            tools = [*(tools or []), {"type": "function", "function": {"name": offer}}]
        return Trial(replace(self._recipe, dialect=dialect, tools=tools), self._finish)

    def read(self, text: str, **switches: Any) -> Reading:
        policy = replace(self._recipe.policy, **{"calls": "all", "channels": ("content",)} | switches)
        recipe = replace(self._recipe, policy=policy, request=None)
        transformer = recipe.message("all")
        part = {"index": 0, "message": {"content": text}, "finish_reason": self._finish}
        answer = transformer.convert({"choices": [part]})
        return _reading(text, transformer, answer)

    def tool(self, name: str) -> Tool | None:
        return self.tools.get(name)


def _reading(text: str, transformer: MessageTransformer, answer: dict[str, Any]) -> Reading:
    records = transformer.records
    findings = tuple(transformer.findings)
    begun = [record for record in records if isinstance(record, Delta) and record.kind == "call"]
    made = [call for choice in choices_of(answer) for call in choice.calls]
    cut = {finding.call for finding in findings if finding.code in ("truncated-call", "call-too-long")}
    calls = [
        Made(call.name, delta.span.start, call.arguments, delta.call not in cut and is_object(call.arguments))
        for call, delta in zip(made, begun, strict=False)
        if delta.span is not None
    ]
    moves = tuple(record for record in records if isinstance(record, Transition))
    return Reading(text, moves, findings, tuple(calls))


# How much of a long call is looked at, at each of its ends; and how much of what follows it.
_HALF = 8_000
# Findings whose place begins inside the call, not with it.
_INSIDE = frozenset(
    {
        "unclosed-parameter", "malformed-call", "repaired-parameter", "repaired-tag", "ambiguous-end",
        "duplicate-parameter", "value-not-of-type", "invalid-arguments", "repaired-arguments",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slice:
    """Characters of a channel from `start` on; of a long call `gap` characters after `cut` are left out."""

    channel: Channel
    start: int
    text: str
    cut: int = 0
    gap: int = 0

    def place(self, at: int) -> int:
        """Where a character of the slice is in the channel."""
        return self.start + at + (self.gap if self.gap and at >= self.cut else 0)

    def retexts(self, edits: Iterable[Edit]) -> tuple[Retext, ...]:
        return tuple(
            Retext(*self.channel, self.place(edit.start), self.place(edit.end), edit.text) for edit in edits
        )


def slice_of(player: Player, channel: Channel, start: int, end: int) -> Slice:
    """A call and what follows it."""
    if end - start <= 2 * _HALF:
        return Slice(channel, start, text_of(player, channel, start, end + _HALF))
    head = text_of(player, channel, start, start + _HALF)
    tail = text_of(player, channel, end - _HALF, end + _HALF)
    return Slice(channel, start, head + tail, _HALF, end - start - 2 * _HALF)


@dataclass(frozen=True, slots=True)
class Case:
    """`start` is where the call begins."""

    player: Player
    finding: Finding
    trial: Trial
    start: int
    slice: Slice

    @property
    def text(self) -> str:
        return self.slice.text


def start_of(player: Player, finding: Finding) -> int | None:
    """Where the call begins that a finding is about."""
    if finding.code not in _INSIDE:
        return finding.span.start
    return call_start(player, channel_of(finding.span), finding.span.start)


def call_start(player: Player, channel: Channel, character: int) -> int | None:
    """Where the call begins that a character is in; None where that is too far away."""
    at = first_record(player, event_of(player, channel, character))
    began: Transition | None = None
    for move in forward(player, at, channel):
        if Effect.BEGINS in move.effect and move.span.start <= character:
            began = move
        if move.span.start >= character:
            break
        at += 1
    if began is not None:
        return _whole_start(player, channel, began)
    for move in backward(player, at, channel):
        if Effect.BEGINS in move.effect and move.span.start <= character:
            return _whole_start(player, channel, move)
    return None


def _whole_start(player: Player, channel: Channel, move: Transition) -> int:
    """A wrapper around a call is its beginning: a call that was begun before and is still only held."""
    if move.effect & (Effect.GIVES_UP | Effect.COMPLETES):
        return move.span.start
    for earlier in backward(player, index_of(player, move) or 0, channel):
        if earlier.effect != Effect.HELD:
            return earlier.span.start if Effect.BEGINS in earlier.effect else move.span.start
    return move.span.start


def case_of(player: Player, finding: Finding) -> Case | None:
    """None where the finding is about no text, or about a call that begins too far away."""
    if not finding.span.channel:
        return None
    start = start_of(player, finding)
    if start is None:
        return None
    channel = channel_of(finding.span)
    piece = slice_of(player, channel, start, max(start, finding.span.end))
    return Case(player, finding, Trial.of(player, finding.span.choice), start, piece)


# More text than this before a call is not read again for it.
_BEFORE = 8_000
_DIALECT = "dialect"
_CALLS = "calls"
# Switches that a trial sets as it needs them.
_ITS_OWN = frozenset({_DIALECT, _CALLS, "channels"})


def in_context(player: Player, piece: Slice, remedy: Remedy) -> Remedy | None:
    """The remedy as it must be at the call's place; None if it does not help there."""
    if remedy.tool is None:
        return remedy
    trial = _trial(player, piece, remedy)
    if trial.raw or not _holds(player, piece, remedy, trial):
        return None
    if _switched(remedy) & {_CALLS, _DIALECT} or not _is_second(player, piece):
        return remedy
    if wants_one_call(player):
        return None
    if trial.policy.calls == "all":
        return remedy
    words = f"with calls = all and {remedy.words.removeprefix('with ')}"
    return Remedy(words, (Switch(_CALLS, "all"), *remedy.changes), remedy.tool)


def wants_one_call(player: Player) -> bool:
    """The request itself says so, and no policy overrides that."""
    return (chat_request(player.header) or {}).get("parallel_tool_calls") is False


def _is_second(player: Player, piece: Slice) -> bool:
    """The client got a call before this one."""
    first = first_call(player, piece.channel[0])
    if first is None or first.span is None or channel_of(first.span) != piece.channel:
        return first is not None and first.event < event_of(player, piece.channel, piece.start)
    return first.span.start < piece.start


def _holds(player: Player, piece: Slice, remedy: Remedy, trial: Trial) -> bool:
    """The promised call results at its place. Far from the beginning this is assumed."""
    if piece.gap or piece.start > _BEFORE:
        return True
    before = text_of(player, piece.channel, 0, piece.start)
    edits = [
        Edit(change.start, change.end, change.text, "")
        for change in remedy.changes
        if isinstance(change, Retext)
    ]
    reading = trial.read(applied(before + piece.text, edits), **_policies(remedy))
    grown = sum(len(edit.text) + edit.end - edit.start for edit in edits)
    return any(
        call.whole and call.name == remedy.tool and abs(call.start - piece.start) <= grown
        for call in reading.calls
    )


def _trial(player: Player, piece: Slice, remedy: Remedy) -> Trial:
    trial = Trial.of(player, piece.channel[0])
    offers = [change.tool for change in remedy.changes if isinstance(change, Offer)]
    dialects = [one.value for one in remedy.changes if isinstance(one, Switch) and one.key == _DIALECT]
    return trial.otherwise(dialects[0] if dialects else None, offers[0] if offers else None)


def _switched(remedy: Remedy) -> set[str]:
    return {change.key for change in remedy.changes if isinstance(change, Switch)}


def _policies(remedy: Remedy) -> dict[str, Any]:
    """The policies that a remedy sets, as they are read."""
    said = {change.key: change.value for change in remedy.changes if isinstance(change, Switch)}
    policy = Policy.from_mapping({key: value for key, value in said.items() if key not in _ITS_OWN})
    return policy.said()


def first_call(player: Player, choice: int) -> Delta | None:
    """The first call that the client got of a choice."""
    parts = (player.completion or {}).get("choices")
    if not any(part.get("message", {}).get("tool_calls") for part in parts or () if isinstance(part, dict)):
        return None
    calls = (delta for delta in client_deltas(player) if delta.kind in ("call", "native"))
    return next((delta for delta in calls if delta.choice == choice), None)
