"""What the observer saw: text that is a call in some way, though no rule took it for one."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from transformer import Span
from transformer.answer.observations import Observation
from workbench.player.player import Player
from workbench.verdicts.advice import advice
from workbench.verdicts.facts import observations_of
from workbench.why.leaks import leak_remedies
from workbench.why.quotes import beginning, capital
from workbench.why.remedies import remedies_of
from workbench.why.trace import Channel, channel_of, client_deltas, text_of
from workbench.why.why import Remedy, Why

_MOST_FINDINGS = 200
# By player: the number of its steps then, and what was seen. One look at an answer is enough.
_seen: WeakKeyDictionary[Player, tuple[int, list[tuple[Observation, Span | None]]]] = WeakKeyDictionary()


def seen_in(player: Player) -> list[tuple[Observation, Span | None]]:
    """All observations, each with its place in the model's text."""
    known = _seen.get(player)
    if known is None or known[0] != player.steps:
        placed = [(one, _span(player, one) if one.channel else None) for one in observations_of(player)]
        known = _seen[player] = (player.steps, placed)
    return known[1]


def seen_at(player: Player, channel: Channel, start: int, end: int) -> list[Observation]:
    """Those that begin in a piece of text."""
    return [
        one
        for one, span in seen_in(player)
        if span is not None and channel_of(span) == channel and start <= span.start < end
    ]


def seen_of_choice(player: Player, choice: int) -> list[Observation]:
    """Those about an answer as a whole."""
    return [one for one, span in seen_in(player) if span is None and one.choice == choice]


def why_seen(player: Player, seen: Observation) -> Why:
    """An observation in words."""
    span = next((span for one, span in seen_in(player) if one == seen), None)
    remedies = leak_remedies(player, span) if span is not None else _cut_call(player, seen)
    sentences = [f"{capital(seen.message)}."]
    if span is not None:
        text = text_of(player, channel_of(span), span.start, span.start + 200)
        sentences.append(f"The text is {beginning(text)}, from character {span.start} of {span.channel} on.")
    if remedies:
        sentences.append(f"{capital(remedies[0].words)}.")
    elif (hopeless := _hopeless(player, seen)) is not None:
        sentences.append(hopeless)
    sentences.append(advice(seen.code))
    return Why(f"{seen.level}: {seen.code}", tuple(sentences), remedies)


def _span(player: Player, seen: Observation) -> Span | None:
    """Where a place in the client's text comes from."""
    kind = "content" if seen.channel == "content" else "reasoning"
    at = 0
    for delta in client_deltas(player):
        span = delta.span
        if delta.kind != kind or delta.choice != seen.choice or span is None:
            continue
        if span.channel == "reasoning_content" and seen.channel == "reasoning":
            continue  # two fields that differ are two channels, and each counts its own characters
        if at + len(delta.text) > seen.start:
            start = span.start + seen.start - at
            return Span(seen.choice, span.channel, start, start + seen.end - seen.start, span.event)
        at += len(delta.text)
    return None


def _cut_call(player: Player, seen: Observation) -> tuple[Remedy, ...]:
    """Where the limit cut a call, what is missing of that."""
    if seen.code == "cut-by-length":
        for finding in reversed(player.findings[-_MOST_FINDINGS:]):
            if finding.code == "truncated-call" and finding.span.choice == seen.choice:
                return remedies_of(player, finding)
    return ()


def _hopeless(player: Player, seen: Observation) -> str | None:
    """Why nothing would have made it a call."""
    request = player.header.get("request")
    if seen.channel and isinstance(request, dict) and request.get("tool_choice") == "none":
        return "Nothing makes it a call as long as the client itself says tool_choice none."
    return _HOPELESS.get(seen.code)


_HOPELESS = {
    "cut-by-length": "No call was cut in the middle; more of the answer would have been needed.",
    "content-filter": "Upstream ended the answer; there is no call in what came.",
    "only-reasoning": "Nothing in the reasoning has the form of a call.",
    "silent-turn": "There is no text that could be a call.",
    "finish-mismatch": "The reason is upstream's own, and no text of this answer has the form of a call.",
    "bad-arguments": "The call is upstream's own and no text, so no other reading of the text would help.",
    "incomplete-call": "The call is upstream's own and no text, so no other reading of the text would help.",
    "repeated-id": "The calls are upstream's own and no text, so no other reading of the text would help.",
    "nothing-offered": "Without tools there is nothing that could be called.",
}
