"""A delta in words."""

from __future__ import annotations

from transformer import Delta, Finding
from workbench.player.player import Player
from workbench.why.finding import why_finding
from workbench.why.moves import move_words
from workbench.why.quotes import quote
from workbench.why.remedies import MENDABLE
from workbench.why.seen import seen_at, seen_of_choice, why_seen
from workbench.why.trace import (
    Channel,
    backward,
    channel_of,
    characters,
    event_of,
    findings_at,
    index_of,
    move_at,
)
from workbench.why.why import Why

_PLAIN = {
    "role": "The answer begins: the client is told that the assistant speaks.",
    "native": "Upstream sends this call itself; it was passed on unread.",
    "other": "An event without text of the model; it was passed on unread.",
    "usage": "What the answer cost, as upstream said.",
    "done": "The end of the stream, [DONE], after which a client stops to read.",
}
_ENDS = {
    "stop": "the model said all it wanted",
    "tool_calls": "the client is to run the calls and to send their results",
    "length": "the limit of tokens was reached",
    "content_filter": "upstream's filter ended it",
}


def why_delta(player: Player, delta: Delta) -> Why:
    """From which text it was made, by which rules, and of which call it is."""
    title = f"delta: {delta.kind}{f' {delta.name}' if delta.name else ''}"
    if delta.kind == "finish":
        return _why_finish(player, delta, title)
    if delta.span is None or not delta.span.channel:
        said = _PLAIN.get(delta.kind) or f"The client got an error: {quote(delta.text)}."
        text = f"It says {quote(delta.text)}." if delta.text and delta.kind == "native" else ""
        place = f"It came with event {delta.event + 1}, in read {delta.read + 1}." if delta.event >= 0 else ""
        return Why(title, tuple(filter(None, (said, text, place))))
    sentences = [_got(delta), _origin(player, delta), *_rules(player, delta)]
    later = _trouble(player, delta)
    if later is not None:
        told = dict.fromkeys(filter(None, (*sentences, *later.sentences)))
        return Why(title, tuple(told), later.remedies)
    return Why(title, tuple(filter(None, sentences)))


def _got(delta: Delta) -> str:
    if delta.kind == "call":
        number, id = (delta.call or 0) + 1, quote(delta.id or "")
        return f"The client is told of call {number}, to {delta.name}, with the id {id}."
    if delta.kind == "arguments":
        return f"More of the arguments of call {(delta.call or 0) + 1}: {quote(delta.text)}."
    return f"The client got {quote(delta.text)} as {delta.kind}."


def _origin(player: Player, delta: Delta) -> str:
    """Its place in the model's text, and how long that was held back."""
    assert delta.span is not None
    span = delta.span
    if span.start >= span.end:
        return "The model wrote nothing of it: it follows from the end of the call."
    where = f"It was made from {characters(span)}"
    event = player.event(event_of(player, channel_of(span), span.start))
    if event is None or event.read < 0 or event.read >= delta.read:
        return f"{where}."
    waited = 1000 * (player.time(delta) - player.times[event.read])
    return f"{where}; the first of them came with read {event.read + 1} and waited {waited:,.0f} ms."


def _rules(player: Player, delta: Delta) -> list[str]:
    """The move that took its first character, and the one that let it go."""
    assert delta.span is not None
    channel = channel_of(delta.span)
    if channel not in player.sources:
        return []
    first = move_at(player, channel, delta.span.start)
    at = index_of(player, delta)
    last = next(backward(player, at, channel), None) if at is not None else None
    if first is None and last is None:
        return ["No machine reads this channel: its text goes on as it comes."]
    said = [] if first is None else [move_words(player, first)]
    if last is not None and last != first:
        said.append(f"It left with this move: {move_words(player, last)}")
    return said


def _trouble(player: Player, delta: Delta) -> Why | None:
    """A finding about the call or the text, else what the observer saw."""
    assert delta.span is not None
    channel, start, end = channel_of(delta.span), delta.span.start, delta.span.end
    finding = trouble_at(player, channel, start, end)
    if finding is not None:
        return why_finding(player, finding)
    if delta.kind in ("content", "reasoning"):
        seen = seen_at(player, channel, start, end)
        return why_seen(player, seen[0]) if seen else None
    return None


def trouble_at(player: Player, channel: Channel, start: int, end: int) -> Finding | None:
    """The worst finding about a piece of text, if a call was lost or altered there."""
    found = [one for one in findings_at(player, channel, start, end) if one.code in MENDABLE]
    return next((one for one in found if one.level == "error"), found[0] if found else None)


def _why_finish(player: Player, delta: Delta, title: str) -> Why:
    meaning = _ENDS.get(delta.text)
    said = f"The answer is over with finish_reason {quote(delta.text)}" + (
        f": {meaning}." if meaning else "."
    )
    whys = [why_seen(player, one) for one in seen_of_choice(player, delta.choice) if one.level != "info"]
    sentences = [said, *(sentence for why in whys for sentence in why.sentences)]
    return Why(title, tuple(sentences), tuple(remedy for why in whys for remedy in why.remedies))
