"""The kinds of verdicts, and the table that decides between them: the first rule that holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from workbench.verdicts.facts import Facts

Level: TypeAlias = Literal["error", "warning", "info", "good", "running"]
SIGNS: Mapping[str, str] = {"error": "✖", "warning": "▲", "info": "●", "good": "✔", "running": "◌"}


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


K = Kind

# Worst first. What stopped an exchange comes before what went wrong in it, that before what may be wrong, and
# everything before "all is well".
RULES: tuple[Rule, ...] = (
    Rule(K.FAILED, "error", "transformer-failed", "the workbench itself failed; the answer went on as text"),
    Rule(K.INCOMPLETE, "error", None, "the tape cannot be read", "{problem}", _state("damaged")),
    Rule(K.UPSTREAM, "error", "tool-choice-refused", "upstream refuses the tool choice: a switch is needed"),
    Rule(K.REFUSED, "error", "refused-tool", "a tool that was not offered: refused, as the policy wants"),
    Rule(K.UPSTREAM, "error", "upstream-error", "upstream reported an error: {error}"),
    Rule(K.UPSTREAM, "warning", "broke-after-call", "upstream broke off after a whole call; the call counts"),
    Rule(K.UPSTREAM, "error", "upstream-broke", "upstream broke off: {error}"),
    Rule(K.UPSTREAM, "error", "not-sse", "upstream sent something that is no stream of events"),
    Rule(K.UPSTREAM, "error", "empty-answer", "upstream sent no answer at all"),
    Rule(K.UPSTREAM, "error", "upstream-fault", "no answer from upstream: {error}"),
    Rule(K.UPSTREAM, "error", None, "it ended with an error: {error}", "", _state("error")),
    Rule(K.UPSTREAM, "error", None, "answered with status {status}", "", lambda f: (f.status or 0) >= 400),
    # Proven, while what the dialect that is set takes for a broken call of its own is only a consequence.
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
    Rule(K.LEAK, "error", "leaked-markers", "markers of a call reached the client as text"),
    Rule(K.IN_REASONING, "error", "call-in-reasoning", "a call in the reasoning: nobody runs it"),
    Rule(
        K.IN_REASONING, "warning", "call-in-thought", "a call inside <think> stayed text", "",
        lambda facts: not facts.calls,
    ),
    Rule(K.REQUEST, "error", "messages-not-understood", "the request's messages are no list: no tools told"),
    Rule(K.REQUEST, "error", "template-failed", "the prompt template fails; the built-in one was used"),
    Rule(
        K.LENGTH, "warning", "cut-by-length", "cut by length, behind {calls_}",
        "the answer was cut by the limit of tokens, behind {calls_}", _called,
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
    Rule(K.BAD_CALL, "error", "bad-arguments", "a call's arguments are no JSON object"),
    Rule(K.BAD_CALL, "error", "invalid-arguments", "a call's arguments are not valid JSON"),
    Rule(
        K.GONE, "warning", None, "the client went away", "the client went away before the answer was over",
        _state("cancelled"),
    ),
    Rule(
        K.INCOMPLETE, "warning", None, "the recording was cut off: its end is missing",
        "the recording was cut off: the proxy that wrote it is gone, and the tape has no end", _state("cut"),
    ),
    Rule(K.GARBLED, "error", "bad-json-event", "an event was no JSON: a piece of the answer is missing"),
    Rule(K.GARBLED, "warning", "invalid-utf8", "bytes that are no UTF-8 were replaced"),
    Rule(K.GARBLED, "warning", "lone-surrogate", "half a character was replaced"),
    Rule(
        K.RUNNING, "running", None, "still running, {calls_} so far", "",
        lambda facts: facts.state == "running" and facts.calls > 0,
    ),
    Rule(K.RUNNING, "running", None, "still running", "", _state("running")),
    Rule(K.DOUBTFUL, "warning", "unknown-tool", "a call to a tool that was not offered was passed on"),
    Rule(K.DOUBTFUL, "warning", "call-after-first", "only the first call counts, others were dropped"),
    Rule(K.DOUBTFUL, "warning", "ambiguous-end", "a call was converted, but where it ends is a guess"),
    Rule(K.DOUBTFUL, "warning", "repaired-call", "a call was converted after a repair"),
    Rule(K.DOUBTFUL, "warning", "repaired-parameter", "a call was converted after a repair"),
    Rule(K.DOUBTFUL, "warning", "value-not-of-type", "a call was converted, a value has the wrong type"),
    Rule(K.DOUBTFUL, "warning", "duplicate-parameter", "a call was converted, a parameter is there twice"),
    Rule(K.REQUEST, "warning", "name-not-carried", "a tool's name cannot be written in {dialect}"),
    Rule(K.REQUEST, "warning", "template-empty", "the prompt template is empty: no tools told"),
    Rule(
        K.INCOMPLETE, "warning", None, "the recording has gaps",
        "{lost} lines of this exchange were not recorded; the client got everything",
        lambda facts: facts.lost > 0,
    ),
    Rule(K.NATIVE, "good", "native-calls", "{native_} passed through", "", _called),
    Rule(
        K.NATIVE, "good", None, "{native_} passed through", "",
        lambda facts: facts.dialect == "passthrough" and facts.calls > 0,
    ),
    Rule(K.CONVERTED, "good", None, "{calls_} converted", "", _called),
    Rule(K.PASSED, "info", "nothing-offered", "no tools offered: passed through unchanged"),
    Rule(
        K.PASSED, "info", None, "passed through unchanged", "",
        lambda facts: facts.dialect == "passthrough" or facts.kind == "relay",
    ),
    Rule(K.NOTHING, "info", None, "nothing special: text and no call"),
)  # fmt: skip

# Findings that never are the verdict: each is beside the point, or about a request that was answered.
NOTES = frozenset(
    """
    generated-id text-after-call stray-token empty-section unknown-event event-after-end broke-after-end
    duplicate-tool tool-not-understood no-properties name-collides tool-prompt-present calls-without-tools
    result-without-call call-not-understood system-message-moved tool-choice-not-understood
    tool-choice-not-sent arguments-not-json value-contains-its-end value-not-carried call-not-carried
    id-not-carried
    """.split()
)
