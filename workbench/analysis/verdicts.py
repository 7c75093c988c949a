"""Verdicts: one sentence about an exchange, and the row that proves it.

The transformer says what it met on the way (its findings); the review looks at the whole answer and says what
only that shows. Both, with the state of the exchange, are the facts from which `verdict` makes one sentence:
the first rule of the table that holds. The index has the same facts as a player, so the list says the same as
the bar above the panes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from transformer.answer.observations import OBSERVED, Observation, choices_of
from transformer.answer.review import observed
from transformer.dialects import loaded_dialect
from transformer.records import Delta, Finding
from workbench.library.summary import Level, Row
from workbench.replay.player import Pane, Player
from workbench.tape.format import Line
from workbench.tape.recipe import chat_request
from workbench.text import status_text

_FAILED = "transformer-failed"


@dataclass(frozen=True, slots=True)
class Facts:
    """An index row has all of them except `said`: the sentences of the findings, by code."""

    state: str = "running"
    status: int | None = None
    calls: int = 0
    findings: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
    kind: str | None = None
    dialect: str | None = None
    lost: int = 0
    problem: str | None = None
    said: Mapping[str, str] = field(default_factory=dict)

    def has(self, code: str) -> bool:
        return bool(self.findings.get(code))

    @property
    def converts(self) -> bool:
        """Whether the dialect converts text to calls; an unknown one is assumed to."""
        dialect = loaded_dialect(self.dialect or "")
        return dialect is None or dialect.converts


def facts_of_row(row: Row) -> Facts:
    """Without opening the tape."""
    return Facts(
        row.state,
        row.status,
        row.calls,
        row.findings,
        row.error,
        row.kind,
        row.dialect,
        row.lost,
        row.problem,
    )


def facts_of_player(
    player: Player, *, live: bool = True, seen: tuple[Observation, ...] | None = None
) -> Facts:
    """From the tape itself. `live`: a tape that has no end is still being written. `seen` saves a second
    look.

    Linear in the answer: while a tape grows, a few times a second is often enough.
    """
    answer, end = player.completion, player.end.value if player.end is not None else {}
    seen = observations_of(player, answer) if seen is None else seen
    told = [(finding.code, _with_place(finding)) for finding in player.findings]
    told += [_told(line) for line in player.lines if line.kind == "finding"]
    told += [(observation.code, observation.message) for observation in seen]
    counts = Counter(code for code, _ in told)
    failure = player.problem if player.mode != "plain" else None
    if failure is not None or _FAILED in _object(end.get("findings")):
        counts[_FAILED] += 1  # now, or when it was recorded
    said = dict(reversed(told)) | ({_FAILED: failure} if failure else {})
    return Facts(
        _state_of(player, live),
        _status(end, player),
        sum(len(choice.calls) for choice in choices_of(answer)),
        counts,
        _error(end.get("error")),
        _text(player.header.get("kind")),
        _text(player.header.get("dialect")),
        sum(_lost_lines(line) for line in player.lines if line.kind == "lost"),
        player.problem,
        said,
    )


def observations_of(player: Player, answer: dict[str, Any] | None = None) -> tuple[Observation, ...]:
    """A review of a player's answer as far as it has come."""
    answer = player.completion if answer is None else answer
    if answer is None:
        return ()
    header = player.header
    policy = header.get("policy")
    return observed(
        answer, chat_request(header), player.dialect, policy if isinstance(policy, Mapping) else None
    )


def _status(end: Mapping[str, Any], player: Player) -> int | None:
    """As the index has it: upstream's own where it refused, though the client was told 200 long before."""
    status = end.get("status")
    return status if type(status) is int else player.status.get("client")


def _state_of(player: Player, live: bool) -> str:
    if player.problem is not None and player.mode == "plain":
        return "damaged"  # as the index has it: how this was to be converted is unknown
    if player.end is not None:
        return player.end.ended
    return "running" if live else "cut"


def _with_place(finding: Finding) -> str:
    span = finding.span
    place = f" ({span.channel}, from character {span.start})" if span.channel else ""
    return f"{finding.message}{place}"


def _told(line: Line) -> tuple[str, str]:
    return str(line.finding), line.message


def _lost_lines(line: Line) -> int:
    lines = _object(line.value.get("lost")).get("lines")
    return lines if type(lines) is int and lines > 0 else 0


def _error(error: object) -> str | None:
    """As the index has it."""
    message = error.get("message", error) if isinstance(error, Mapping) else error
    return None if message is None else str(message)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class Kind(StrEnum):
    """Also the words of the filter `verdict:`."""

    FAILED = "failed"
    UPSTREAM = "upstream-error"
    REFUSED = "refused-tool"
    REQUEST = "request-trouble"
    TRUNCATED = "truncated-call"
    MALFORMED = "malformed-call"
    OTHER_DIALECT = "other-dialect"
    LEAK = "leak"
    IN_REASONING = "call-in-reasoning"
    LENGTH = "cut-by-length"
    FILTERED = "content-filter"
    EMPTY = "empty-turn"
    FINISH = "finish-contradicts"
    BAD_CALL = "bad-call"
    GONE = "client-gone"
    GARBLED = "garbled-stream"
    INCOMPLETE = "incomplete-recording"
    RUNNING = "running"
    DOUBTFUL = "converted-with-doubts"
    NATIVE = "native-calls"
    CONVERTED = "converted"
    PASSED = "pass-through"
    NOTHING = "nothing-special"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table. It holds if `code` was found (None: no code is needed) and `when` agrees.

    `short` is for the list, about 60 characters; `long`, where there is more to say, for the bar.
    """

    kind: Kind
    level: Level
    code: str | None
    short: str
    long: str = ""
    when: Callable[[Facts], bool] | None = None

    def holds(self, facts: Facts) -> bool:
        return (self.code is None or facts.has(self.code)) and (self.when is None or self.when(facts))


def _called(facts: Facts) -> bool:
    return facts.calls > 0


def _state(*states: str) -> Callable[[Facts], bool]:
    return lambda facts: facts.state in states


def _is_held(facts: Facts) -> bool:
    over = ("answer-released", "answer-edited", "answer-dropped")
    return facts.state == "running" and facts.has("answer-held") and not any(map(facts.has, over))


K = Kind

# Worst first. What stopped an exchange comes before what went wrong in it, that before what may be wrong, and
# everything before "all is well".
RULES: tuple[Rule, ...] = (
    Rule(K.FAILED, "error", "transformer-failed", "the workbench itself failed; the answer went on as text"),
    Rule(K.INCOMPLETE, "error", None, "the tape cannot be read", "{problem}", _state("damaged")),
    Rule(
        K.RUNNING, "warning", None, "HELD: the client waits for a decision (H)", "",
        _is_held,
    ),
    Rule(K.REFUSED, "error", "answer-dropped", "dropped by hand while it was held: the client got an error"),
    Rule(K.UPSTREAM, "error", "tool-choice-refused", "upstream refuses the tool choice: a switch is needed"),
    Rule(K.REFUSED, "error", "refused-tool", "a tool that was not offered: refused, as the policy wants"),
    Rule(K.UPSTREAM, "error", "upstream-error", "upstream reported an error: {error}"),
    Rule(K.UPSTREAM, "warning", "broke-after-call", "upstream broke off after a whole call; the call counts"),
    Rule(K.UPSTREAM, "error", "upstream-broke", "upstream broke off: {error}"),
    Rule(K.UPSTREAM, "error", "not-sse", "upstream sent something that is not a stream of events"),
    Rule(K.UPSTREAM, "error", "empty-answer", "upstream sent no answer at all"),
    Rule(K.UPSTREAM, "error", "upstream-status", "{status}: {error}"),
    # Old tapes did not distinguish them; these two are the proxy's own codes for "there is no answer".
    Rule(
        K.UPSTREAM, "error", "upstream-fault", "{status}: {error}", "{status}: {error}",
        lambda facts: (facts.status or 0) >= 400 and facts.status not in (502, 504),
    ),
    Rule(K.UPSTREAM, "error", "upstream-fault", "no answer from upstream: {error}"),
    Rule(K.UPSTREAM, "error", None, "it ended with an error: {error}", "", _state("error")),
    Rule(K.UPSTREAM, "error", None, "{status}: {error}", "", lambda facts: (facts.status or 0) >= 400),
    # Proven; that the configured dialect sees a broken call of its own is only a consequence.
    Rule(K.OTHER_DIALECT, "error", "other-dialect", "a call in another dialect than {dialect} stayed text"),
    Rule(
        K.TRUNCATED, "error", "truncated-call", "cut by length in the middle of a call",
        "the limit of tokens was reached in the middle of a call", lambda facts: facts.has("cut-by-length"),
    ),
    Rule(K.TRUNCATED, "error", "truncated-call", "the answer ends in the middle of a call"),
    Rule(K.MALFORMED, "error", "unclosed-parameter", "unclosed parameter: the call stayed text"),
    Rule(K.MALFORMED, "error", "malformed-call", "malformed call: it stayed text"),
    Rule(K.MALFORMED, "error", "unnamed-call", "a call that names no tool: it stayed text"),
    Rule(K.MALFORMED, "error", "call-too-long", "a call grew too long: see max_call_bytes"),
    Rule(
        K.LEAK, "error", "leaked-markers", "a call went on as text: this endpoint is not converted", "",
        lambda facts: facts.kind == "relay",
    ),
    Rule(K.LEAK, "error", "leaked-markers", "markers of a call reached the client as text"),
    Rule(K.IN_REASONING, "error", "call-in-reasoning", "a call in the reasoning: nobody runs it"),
    Rule(
        K.IN_REASONING, "warning", "call-in-thought", "a call inside <think> stayed text", "",
        lambda facts: not facts.calls,
    ),
    Rule(K.REQUEST, "error", "messages-not-understood", "messages is not a list: no tools reach the model"),
    Rule(K.REQUEST, "error", "template-failed", "the prompt template fails; the built-in one was used"),
    Rule(K.LENGTH, "error", "cut-after-call", "cut after {calls_}: more may have been meant"),
    Rule(
        K.LENGTH, "warning", "cut-by-length", "cut by length, after {calls_}",
        "the answer was cut by the limit of tokens, after {calls_}", _called,
    ),
    Rule(K.LENGTH, "warning", "cut-by-length", "cut by length: the limit of tokens was reached"),
    Rule(K.FILTERED, "warning", "content-filter", "ended by upstream's content filter"),
    Rule(
        K.FINISH, "error", "finish-mismatch", "finish_reason says calls, there are none: clients loop", "",
        lambda facts: not facts.calls,
    ),
    Rule(K.FINISH, "warning", "finish-mismatch", "finish_reason stop, but there is a call"),
    Rule(K.EMPTY, "warning", "empty-turn", "empty turn: neither text nor a call"),
    Rule(K.EMPTY, "warning", "silent-turn", "empty turn: neither text nor a call"),
    Rule(K.EMPTY, "warning", "only-reasoning", "empty turn: reasoning only, no text and no call"),
    Rule(K.FINISH, "warning", "finish-contradicts", "finish_reason contradicts the calls; it was corrected"),
    Rule(K.BAD_CALL, "error", "incomplete-call", "a call without its name or id: clients fail on it"),
    Rule(K.BAD_CALL, "error", "repeated-id", "two calls have the same id: clients keep one of them"),
    Rule(K.BAD_CALL, "error", "bad-arguments", "a call's arguments are not a JSON object"),
    Rule(K.BAD_CALL, "error", "unknown-tool", "a call to a tool that was not offered was passed on"),
    Rule(K.BAD_CALL, "error", "missing-parameter", "a call lacks a parameter that its tool needs"),
    Rule(K.BAD_CALL, "error", "invalid-arguments", "a call's arguments are not valid JSON"),
    Rule(K.BAD_CALL, "error", "value-not-of-type", "a value in a call is not of the type its tool needs"),
    Rule(
        K.GONE, "warning", None, "the client went away", "the client went away before the answer was over",
        _state("cancelled"),
    ),
    Rule(
        K.INCOMPLETE, "warning", None, "the recording was cut off: its end is missing",
        "the recording was cut off: the proxy that wrote it is gone, and the tape has no end", _state("cut"),
    ),
    Rule(K.GARBLED, "error", "bad-json-event", "an event was not JSON: a piece of the answer is missing"),
    Rule(K.GARBLED, "warning", "invalid-utf8", "bytes that are not UTF-8 were replaced"),
    Rule(K.GARBLED, "warning", "lone-surrogate", "half a character was replaced"),
    Rule(K.GARBLED, "warning", "number-too-long", "a number of upstream's was too long: null took its place"),
    Rule(K.GARBLED, "warning", "nested-too-deep", "an event was nested too deep: a part of it is missing"),
    Rule(
        K.RUNNING, "running", None, "still running, {calls_} so far", "",
        lambda facts: facts.state == "running" and facts.calls > 0,
    ),
    Rule(K.RUNNING, "running", None, "still running", "", _state("running")),
    Rule(K.DOUBTFUL, "warning", "answer-edited", "edited by hand while it was held, {calls_}"),
    Rule(K.DOUBTFUL, "warning", "call-after-first", "only the first call counts, others were dropped"),
    Rule(K.DOUBTFUL, "warning", "ambiguous-end", "a call was converted, but where it ends is a guess"),
    Rule(K.DOUBTFUL, "warning", "repaired-call", "a call was converted after a repair"),
    Rule(K.DOUBTFUL, "warning", "repaired-parameter", "a call was converted after a repair"),
    Rule(K.DOUBTFUL, "warning", "repaired-tag", "a call was converted after a repair"),
    Rule(K.DOUBTFUL, "warning", "repaired-arguments", "a call was converted after a repair"),
    Rule(K.DOUBTFUL, "warning", "duplicate-parameter", "a call was converted, a parameter is there twice"),
    Rule(K.REQUEST, "warning", "template-empty", "the prompt template is empty: no tools reach the model"),
    Rule(
        K.INCOMPLETE, "warning", None, "the recording has gaps",
        "{lost} lines of this exchange were not recorded; the client got everything",
        lambda facts: facts.lost > 0,
    ),
    Rule(K.NATIVE, "good", "native-calls", "{native_} passed through", "", _called),
    Rule(
        K.NATIVE, "good", None, "{native_} passed through", "",
        lambda facts: not facts.converts and facts.calls > 0,
    ),
    Rule(K.CONVERTED, "good", None, "{calls_} converted", "", _called),
    Rule(K.PASSED, "info", "nothing-offered", "no tools offered: passed through unchanged"),
    Rule(
        K.PASSED, "info", None, "passed through unchanged", "",
        lambda facts: not facts.converts or facts.kind == "relay",
    ),
    Rule(K.NOTHING, "info", None, "nothing special: text and no call"),
)  # fmt: skip

# Findings that are never the verdict: each is a detail, or about a request that was answered anyway.
NOTES = frozenset(
    """
    dialect-chosen thought-split format-with-tools candidate-dropped snapshot-rewritten upstream-tool
    session-lost history-resent upstream-retried part-not-sent answer-held answer-released
    field-not-sent item-not-carried part-not-carried tool-left-out
    generated-id choice-not-carried field-not-carried text-after-call stray-token empty-section
    unknown-event event-after-end broke-after-end duplicate-tool tool-not-understood no-properties
    name-not-carried name-collides tool-prompt-present calls-without-tools result-without-call
    call-not-understood system-message-moved tool-choice-not-understood tool-choice-not-sent
    arguments-not-json value-contains-its-end value-not-carried call-not-carried id-not-carried
    """.split()
)


_SHORT = 60
_LONG = 600


@dataclass(frozen=True, slots=True)
class Verdict:
    """`sentence` fits a list, `long` has the details that are known; `finding_code` is what it is about."""

    kind: Kind
    level: Level
    sentence: str
    long: str
    finding_code: str | None = None


def verdict(facts: Facts) -> Verdict:
    """The first rule of the table that holds; the last one always does."""
    rule = next(rule for rule in RULES if rule.holds(facts))
    short = _cut(_filled(rule.short, facts), _SHORT)
    return Verdict(rule.kind, rule.level, short, _cut(_details(rule, facts), _LONG), rule.code)


def _details(rule: Rule, facts: Facts) -> str:
    said = facts.said.get(rule.code or "")
    general = _filled(rule.long or rule.short, facts)
    if not said:
        return general
    # The finding's sentence is exact, the table's is general; one that only quotes adds nothing.
    return said if not rule.long else f"{general}: {said}"


def _filled(sentence: str, facts: Facts) -> str:
    one = facts.calls == 1
    if not facts.error:
        sentence = sentence.removesuffix(": {error}")
    values = {
        "calls_": f"{facts.calls} call{'' if one else 's'}",
        "native_": f"{facts.calls} native call{'' if one else 's'}",
        "dialect": facts.dialect or "the one set",
        "status": status_text(facts.status),
        "error": _line(facts.error),
        "problem": _line(facts.problem) or "the tape cannot be read",
        "lost": facts.lost,
    }
    return sentence.format_map(values)


def _line(text: str | None) -> str:
    """A quoted sentence, as a part of ours."""
    return " ".join((text or "")[: 2 * _LONG].split()).removesuffix(".")


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1].rstrip() + "…"


def proof(player: Player, verdict: Verdict) -> int | None:
    """The step to go to; None where there is nothing to see."""
    code = verdict.finding_code
    if code in OBSERVED:
        seen = next((one for one in observations_of(player) if one.code == code), None)
        return None if seen is None else _step_of_observation(player, seen)
    if code is not None:
        found = _first(player, Pane.MACHINE, lambda item: _is_finding(item, code))
        if found is not None:
            return found
    return _PROOFS.get(verdict.kind, _first_finish)(player)


def _step_of_observation(player: Player, seen: Observation) -> int | None:
    if seen.channel:
        return _step_of_character(player, seen)
    if seen.call is not None:
        # A native call has no delta of its own kind: the first of them is as near as it gets.
        return _first_delta(player, "call", "native", choice=seen.choice)
    if seen.code == "nothing-offered":
        return 0 if player.steps else None
    return _first_delta(player, "finish", choice=seen.choice)


def _step_of_character(player: Player, seen: Observation) -> int | None:
    """The delta that brought the character with which the place begins."""
    kind = "content" if seen.channel == "content" else "reasoning"
    deltas = [
        (step, item)
        for step, item in _items(player, Pane.CLIENT)
        if isinstance(item, Delta) and item.kind == kind and item.choice == seen.choice
    ]
    channels = {item.span.channel for _, item in deltas if item.span is not None}
    at = 0
    for step, item in deltas:
        # Two fields of reasoning that differ are two channels, and each counts its own characters.
        if kind == "reasoning" and len(channels) > 1 and item.span and item.span.channel != seen.channel:
            continue
        at += len(item.text)
        if at > seen.start:
            return step
    return None


def _items(player: Player, pane: Pane) -> Iterator[tuple[int, object]]:
    for row, step in enumerate(player.rows(pane).steps):
        yield step, player.item(pane, row)


def _first(player: Player, pane: Pane, wanted: Callable[[object], bool]) -> int | None:
    return next((step for step, item in _items(player, pane) if wanted(item)), None)


def _first_delta(player: Player, *kinds: str, choice: int | None = None) -> int | None:
    return _first(
        player,
        Pane.CLIENT,
        lambda item: isinstance(item, Delta) and item.kind in kinds and choice in (None, item.choice),
    )


def _first_line(player: Player, kind: str) -> int | None:
    return _first(player, Pane.UPSTREAM, lambda item: isinstance(item, Line) and item.kind == kind)


def _first_call(player: Player) -> int | None:
    return _first_delta(player, "call", "native")


def _first_finish(player: Player) -> int | None:
    return _first_delta(player, "finish")


def _end(player: Player) -> int | None:
    return _first_line(player, "end")


def _last_step(player: Player) -> int | None:
    return player.steps - 1 if player.steps else None


def _refusal_or_end(player: Player) -> int | None:
    refused = _first(player, Pane.UPSTREAM, _is_refusal)
    return refused if refused is not None else _end(player)


def _gap_or_last_step(player: Player) -> int | None:
    gap = _first_line(player, "lost")
    return gap if gap is not None else _last_step(player)


def _is_finding(item: object, code: str) -> bool:
    if isinstance(item, Finding):
        return item.code == code
    return isinstance(item, Line) and item.finding == code


def _is_refusal(item: object) -> bool:
    status = item.status if isinstance(item, Line) else None
    return isinstance(status, int) and status >= 400


# Kinds without a finding as proof; for every other kind it is the delta that finishes the answer.
_PROOFS: Mapping[Kind, Callable[[Player], int | None]] = {
    Kind.CONVERTED: _first_call,
    Kind.NATIVE: _first_call,
    Kind.DOUBTFUL: _first_call,
    Kind.UPSTREAM: _refusal_or_end,
    Kind.INCOMPLETE: _gap_or_last_step,
    Kind.GONE: _end,
    Kind.FAILED: _end,
    Kind.RUNNING: _last_step,
}
