"""Findings in words: those of the transformer, and what the review saw and no rule took for a call."""

from __future__ import annotations

import re
from weakref import WeakKeyDictionary

from transformer.answer.conformance import RULES, Check
from transformer.answer.observations import Observation
from transformer.findings import parts
from transformer.records import Finding, Span
from transformer.wording import beginning, capital, quote
from workbench.analysis.advice import advice
from workbench.analysis.explain.moves import move_words
from workbench.analysis.explain.remedies import MENDABLE, leak_remedies, remedies_of
from workbench.analysis.explain.rereading import start_of, wants_one_call
from workbench.analysis.explain.trace import (
    Channel,
    Explanation,
    Remedy,
    cause_of,
    channel_of,
    characters,
    client_deltas,
    index_of,
    move_at,
    text_of,
)
from workbench.analysis.variants.changes import Retext
from workbench.analysis.verdicts import observations_of
from workbench.replay.player import Player
from workbench.tape.recipe import chat_request

_OF_PARAMETERS = frozenset({"value-not-of-type", "duplicate-parameter"})
_FOLLOWS = frozenset({"finish-contradicts"})
_MOST_FINDINGS = 200
_QUOTED = 400  # characters of which a quote shows both ends
_TAG = re.compile(r"<[^<>\n]{1,256}>")
_OWN = "The calls are upstream's own and no text, so no change of the text would make another call of them."
# Why nothing would have made it a call; said if no remedy is found.
HOPELESS = {
    "call-after-first": "The request says parallel_tool_calls: false, and no policy overrides that.",
    "truncated-call": "It is not clear which call was meant, so any addition would be a guess.",
    "malformed-call": "It is not clear which call was meant.",
    "unnamed-call": "No offered tool takes these arguments, so an id that names one would not be enough.",
    "invalid-arguments": "No small change turns these arguments into JSON.",
    "missing-parameter": "The model did not give its value, so any addition would be a guess.",
    "cut-after-call": "The call is complete; what came after the limit of tokens was never written.",
    "number-too-long": "The text of the answer is whole; no call was lost with it.",
    "nested-too-deep": "The text of the answer is whole; no call was lost with it.",
    "choice-not-carried": "It is another answer to the same request; the first one is whole.",
    "field-not-carried": "No text of the model was in it.",
    "stray-token": "No call was lost with it.",
    "empty-section": "There is no call in the section.",
    "thought-split": "It is the mark of a thought, and not part of a call.",
    "dialect-chosen": "It says how the calls that follow are read.",
    "bad-json-event": "What the event should have said is lost; no other reading of the text brings it back.",
    "unknown-event": "No text of the model was in it.",
    "invalid-utf8": "The bytes that were replaced are lost; the call itself is not.",
    "lone-surrogate": "The other half of the character never came; the call itself is not lost.",
    "not-sse": "There is no answer of a model in it.",
    "candidate-dropped": "It is another answer to the same request; the one that was taken is whole.",
    "snapshot-rewritten": "The client has the text as it was first sent, and calls were read from that.",
    "upstream-tool": "Upstream ran the tool itself; it was never the client's to run.",
    "event-after-end": "The answer was over, so nothing in it could be a call.",
    "upstream-error": "Upstream gave up; no change of the text makes a call of what never came.",
    "upstream-broke": "Upstream broke off; no change of the text makes a call of what never came.",
    "broke-after-call": "The call before it is complete and counts.",
    "broke-after-end": "The answer was whole already.",
    "empty-answer": "There is no text that could be a call.",
    "empty-turn": "There is no text that could be a call.",
    "finish-contradicts": "No text of this answer was taken for a call, so there is nothing to make one of.",
    "native-calls": _OWN,
    "transformer-failed": "This is a fault of the workbench and not of the text.",
    "session-lost": "It is about the chat at upstream; the text of the answer is whole.",
    "history-resent": "It is about what upstream was sent; the text of the answer is whole.",
    "upstream-retried": "It is about what was sent before this answer, which is whole.",
    "answer-held": "It is about the way to the client; the text of the answer is whole.",
    "answer-released": "It is about the way to the client; the text of the answer is whole.",
    "answer-edited": "It is about the way to the client; what upstream sent is on the tape.",
    "answer-dropped": "It is about the way to the client; what upstream sent is on the tape.",
    "part-not-sent": "It is about what upstream was sent; the text of the answer is whole.",
}


def why_finding(player: Player, finding: Finding) -> Explanation:
    """What happened, what would have made it a call, where, by which rule, what became of it, what to do."""
    if isinstance(finding, Check):
        return _why_check(player, finding)
    lost = _lost_call(player, finding) if finding.code in _FOLLOWS else None
    remedies = remedies_of(player, lost or finding)
    what, fate = _told(player, finding)
    better = f"; {remedies[0].words}" if remedies else ""
    sentences = [f"{capital(what)}{better}.", _place(player, finding)]
    sentences += _rules(player, finding, remedies)
    if fate:
        sentences.append(f"{capital(fate)}.")
    if lost is not None:
        sentences.append(f"What became of the call: {lost.message}.")
    elif not remedies:
        sentences.append(_hopeless(player, finding))
    sentences.append(advice(finding.code))
    return Explanation(f"{finding.level}: {finding.code}", tuple(filter(None, sentences)), remedies)


def _hopeless(player: Player, finding: Finding) -> str:
    """Why there is no remedy."""
    if finding.code not in MENDABLE:
        return HOPELESS.get(finding.code, "")
    if finding.call is not None and start_of(player, finding) is None:
        return "The call begins too far back for its text to be tried out here."
    if finding.call and wants_one_call(player):
        return HOPELESS["call-after-first"]
    return HOPELESS.get(finding.code, "No small change of this text was found that makes it a call.")


def _lost_call(player: Player, finding: Finding) -> Finding | None:
    """The call that is missing where upstream said that there is one."""
    for other in player.findings[:_MOST_FINDINGS]:
        if other.code in MENDABLE and other.level == "error" and other.span.choice == finding.span.choice:
            return other
    return None


def _told(player: Player, finding: Finding) -> tuple[str, str]:
    """What happened, and what became of it; the catalogue's sentences are made of the two."""
    what, fate = parts(finding)
    if finding.code == "malformed-call" and finding.values:
        return str(finding.values["reason"]), f"the call to {finding.values['tool']} {fate}"
    if finding.code == "unclosed-parameter":
        span = finding.span
        tag = _TAG.match(text_of(player, channel_of(span), span.start, min(span.end, span.start + 300)))
        if tag is not None:
            return f"{tag[0]} is never closed", fate
    return (f"the parameter {what}" if finding.code in _OF_PARAMETERS else what), fate


def _place(player: Player, finding: Finding) -> str:
    """Where it is, with the text itself."""
    span, read = finding.span, f"read {finding.read + 1}" if finding.read >= 0 else "the end"
    if not span.channel:
        return f"It was found with event {finding.event + 1}, in {read}." if finding.event >= 0 else ""
    half = _QUOTED // 2
    if len(span) > _QUOTED:
        text = text_of(player, channel_of(span), span.start, span.start + half)
        text += text_of(player, channel_of(span), span.end - half, span.end)
    else:
        text = text_of(player, channel_of(span), span.start, span.end)
    return f"It is about {characters(span)}, {quote(text)}, and was found with {read}." if text else ""


def _rules(player: Player, finding: Finding, remedies: tuple[Remedy, ...]) -> list[str]:
    """The move with which it was found; before that, the one at the place where something is missing."""
    at = index_of(player, finding)
    cause = cause_of(player, finding, at) if at is not None else None
    said = []
    change = next((one for one in remedies[0].changes if isinstance(one, Retext)), None) if remedies else None
    if change is not None and change.start < finding.span.end:
        there = move_at(player, channel_of(finding.span), change.start)
        if there is not None and there != cause:
            said.append(f"At that place: {_small(move_words(player, there))}")
    if cause is not None:
        said.append(f"Then: {_small(move_words(player, cause))}" if said else move_words(player, cause))
    return said


def _why_check(player: Player, check: Check) -> Explanation:
    rule = RULES.get(check.code)
    sentences = [
        f"{capital(check.message)}.",
        f"It was found with event {check.event + 1}, in read {check.read + 1}.",
    ]
    if rule is not None and rule.level != "info":
        costs = (
            "costs a client the call or the answer"
            if rule.level == "error"
            else "is one both clients cope with"
        )
        sentences.append(f"A breach of this rule {costs}.")
        if check.call is not None:
            sentences.append(_OWN)
    sentences.append(advice(check.code))
    return Explanation(f"{check.level}: {check.code}", tuple(sentences))


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


_MOST_OBSERVED = 200
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


def why_seen(player: Player, seen: Observation) -> Explanation:
    """An observation in words."""
    span = next((span for one, span in seen_in(player) if one == seen), None)
    remedies = leak_remedies(player, span) if span is not None else _cut_call(player, seen)
    sentences = [f"{capital(seen.message)}."]
    if span is not None:
        text = text_of(player, channel_of(span), span.start, span.start + 200)
        sentences.append(f"The text is {beginning(text)}, from character {span.start} of {span.channel} on.")
    if remedies:
        sentences.append(f"{capital(remedies[0].words)}.")
    elif (hopeless := _hopeless_observation(player, seen)) is not None:
        sentences.append(hopeless)
    sentences.append(advice(seen.code))
    return Explanation(f"{seen.level}: {seen.code}", tuple(sentences), remedies)


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
    """If the limit cut a call off, what is missing from it."""
    if seen.code == "cut-by-length":
        for finding in reversed(player.findings[-_MOST_OBSERVED:]):
            if finding.code == "truncated-call" and finding.span.choice == seen.choice:
                return remedies_of(player, finding)
    return ()


def _hopeless_observation(player: Player, seen: Observation) -> str | None:
    """Why nothing would have made it a call."""
    request = chat_request(player.header) or {}
    if seen.channel and request.get("tool_choice") == "none":
        return "Nothing makes it a call as long as the client itself says tool_choice none."
    return _HOPELESS_OBSERVATIONS.get(seen.code)


_HOPELESS_OBSERVATIONS = {
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
