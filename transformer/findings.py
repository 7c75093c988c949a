"""The catalogue of findings: every stable code with its level and its sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from transformer.records import Finding, Level, Span


class Entry(NamedTuple):
    """One code: how bad it is, and its sentence in two parts: what happened, and what became of it."""

    level: Level
    what: str
    link: str = ""
    fate: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.what}{self.link}{self.fate}"


# Sentences are for a tired person.
CATALOGUE: Mapping[str, Entry] = {
    # a call that did not become one
    "unclosed-parameter": Entry(
        "error",
        "the parameter {parameter} is not closed before {closing}",
        ", so ",
        "this call to {tool} went to the client as text",
    ),
    "truncated-call": Entry("error", "the answer ended in the middle of a call to {tool}", "; ", "{fate}"),
    "malformed-call": Entry(
        "error", "this call to {tool} is malformed ({reason})", " and ", "went to the client as text"
    ),
    "call-too-long": Entry("error", "a call to {tool} grew beyond {limit} bytes", "; ", "{fate}"),
    "call-in-thought": Entry(
        "warning",
        "a call to {tool} stands inside <think>, where the model only thinks of it",
        "; ",
        "it stayed text",
    ),
    "unnamed-call": Entry(
        "error",
        "the id {id!r} names no tool and the arguments fit {fitting} of the offered ones",
        ", so ",
        "this call went to the client as text",
    ),
    "refused-tool": Entry(
        "error", "the model called {tool}, which was not offered, and the policy refuses that"
    ),
    # a call that became one, but not as written
    "unknown-tool": Entry(
        "error", "the model called {tool}, which was not offered", "; ", "the call was passed on"
    ),
    "call-after-first": Entry(
        "warning", "a further call, to {tool}, was dropped: only the first call of an answer counts"
    ),
    "repaired-parameter": Entry(
        "warning", "the value of {parameter} is not followed by {closing}", "; ", "it was read as if it were"
    ),
    "repaired-tag": Entry(
        "warning", "the tag of {parameter} is {written} and not {wanted}", "; ", "it was read as if it were"
    ),
    "repaired-call": Entry(
        "warning",
        "{closing} is missing at the end of the call to {tool}",
        "; ",
        "it was read as if it were there",
    ),
    "ambiguous-end": Entry(
        "warning",
        "the value of {parameter} opens an example of {tool} that is never closed",
        "; ",
        "the call was ended at the first place that could be its end",
    ),
    "duplicate-parameter": Entry(
        "warning", "{parameter} is given more than once", "; ", "only the first value counts"
    ),
    "value-not-of-type": Entry(
        "error", "{parameter} should be of type {wanted} and is not", "; ", "it was sent as a string"
    ),
    "generated-id": Entry("warning", "{reason}", "; ", "the call got the id {new!r}"),
    "invalid-arguments": Entry(
        "error",
        "the arguments of the call to {tool} are not valid JSON",
        "; ",
        "they were passed on as written",
    ),
    "missing-parameter": Entry(
        "error", "the call to {tool} lacks {parameter}, which it needs", "; ", "it was passed on as it is"
    ),
    "cut-after-call": Entry(
        "error",
        "upstream cut the answer ({said}) after a call",
        "; ",
        "the client gets the call, but more may have been meant",
    ),
    "repaired-arguments": Entry(
        "warning",
        "the arguments of the call to {tool} are not valid JSON",
        "; ",
        "they were sent as the JSON that was most likely meant",
    ),
    # text that did not reach the client
    "text-after-call": Entry(
        "info", "{count} characters after the call were dropped, as the policy after_call=drop wants"
    ),
    "stray-token": Entry("info", "{token} stands where it means nothing and was dropped"),
    "empty-section": Entry(
        "info", "{token} begins a section without any call: its tokens were dropped, other text in it stays"
    ),
    "thought-split": Entry("info", "{tag} marks a thought", "; ", "the client gets that as reasoning"),
    "dialect-chosen": Entry("info", "from here on the answer is read as {dialect}, because {why}"),
    # the stream around it
    "bad-json-event": Entry("error", "an event is not JSON ({reason}) and was not passed on: {excerpt}"),
    "unknown-event": Entry(
        "info", "an event is JSON but not part of an answer and was not passed on: {excerpt}"
    ),
    "invalid-utf8": Entry("warning", "an event holds bytes that are not UTF-8", "; ", "they were replaced"),
    "number-too-long": Entry(
        "warning", "an event holds a number of more than 4300 digits", "; ", "null took its place"
    ),
    "nested-too-deep": Entry(
        "warning",
        "an event is nested more than 100 levels deep",
        "; ",
        "null took the place of what lies deeper",
    ),
    "lone-surrogate": Entry(
        "warning", "half of a character (of a UTF-16 surrogate pair) stands alone and was replaced"
    ),
    "not-sse": Entry(
        "warning", "{count} bytes are not part of a server-sent event and were not passed on: {excerpt}"
    ),
    "candidate-dropped": Entry(
        "warning",
        "upstream gives more than one answer at once",
        "; ",
        "{taken} is the one that the client gets, {candidate} was not passed on",
    ),
    "snapshot-rewritten": Entry(
        "warning",
        "upstream changed text of the phase {phase} that it had sent before",
        "; ",
        "the client has the earlier wording",
    ),
    "upstream-tool": Entry(
        "info",
        "upstream ran a tool of its own (phase {phase})",
        "; ",
        "what it says about that went to the client as reasoning",
    ),
    "event-after-end": Entry(
        "info", "an event came after the end of the answer and was not passed on: {excerpt}"
    ),
    "upstream-error": Entry("error", "upstream reported an error: {message}"),
    "upstream-broke": Entry("error", "upstream broke off: {message}"),
    "broke-after-call": Entry(
        "error",
        "upstream broke off after a complete call ({message})",
        "; ",
        "the answer was closed with that call, because a client that asks again would run the tool twice",
    ),
    "broke-after-end": Entry("info", "upstream broke off, but the answer was whole already: {message}"),
    "empty-answer": Entry("error", "upstream sent no answer at all"),
    "empty-turn": Entry("warning", "the answer has neither text nor a call"),
    "finish-contradicts": Entry(
        "warning", "upstream said finish_reason {said!r}", "; ", "the client gets {given!r}, because {why}"
    ),
    "native-calls": Entry(
        "info", "upstream sends tool_calls itself", "; ", "they were passed through unchanged"
    ),
    "transformer-failed": Entry(
        "error",
        "the workbench itself failed here ({reason})",
        "; ",
        "the rest of the answer went on as plain text. This is a bug: please report it with this tape",
    ),
    # what the client's API cannot say
    "choice-not-carried": Entry(
        "warning",
        "upstream sent a further answer (choice {number})",
        "; ",
        "the client got only the first one, for {frontend} knows no more",
    ),
    "field-not-carried": Entry(
        "info", "upstream sent the field {field}", "; ", "{frontend} has no place for it, so it was left out"
    ),
    # the way to upstream, told by the proxy
    "session-lost": Entry(
        "warning",
        "upstream does not know the chat of this conversation any more",
        "; ",
        "a new chat was begun with the whole conversation as text",
    ),
    "history-resent": Entry(
        "info", "{reason}", "; ", "a new chat was begun with the whole conversation as text"
    ),
    "upstream-retried": Entry("warning", "upstream failed ({reason})", "; ", "the request was sent again"),
    "part-not-sent": Entry(
        "warning",
        "{count} parts of the messages are not text",
        "; ",
        "upstream takes only text, so they were left out",
    ),
    # between the answer and the client, told by the proxy
    "answer-held": Entry("info", "the answer was held at the breakpoint {breakpoint}", " ", "({what})"),
    "answer-released": Entry("info", "the answer that was held went on unchanged", " ", "({why})"),
    "answer-edited": Entry("warning", "a person changed the answer while it was held"),
    "answer-dropped": Entry(
        "error", "a person dropped the answer while it was held", "; ", "the client got an error"
    ),
    # no answer, told by the proxy
    "upstream-fault": Entry("error", "{message}"),
    "upstream-status": Entry("error", "{message}"),
    "tool-choice-refused": Entry("error", "{message}"),
    # the request
    "tool-left-out": Entry(
        "warning",
        "the tool {tool} is of the kind {kind}, which only the makers of the API can run",
        "; ",
        "it was left out",
    ),
    "item-not-carried": Entry(
        "warning", "{what} in the history has no place in a chat", "; ", "it was left out"
    ),
    "part-not-carried": Entry(
        "warning", "a part of the type {what} has no place in a chat", "; ", "only its name was sent"
    ),
    "field-not-sent": Entry(
        "info", "the field {field} of the request has no place in a chat", "; ", "it was left out"
    ),
    "duplicate-tool": Entry("warning", "{tool} is offered more than once", "; ", "{fate}"),
    "tool-not-understood": Entry(
        "warning", "tool {number} of the request is not a function with a name", "; ", "{fate}"
    ),
    "no-properties": Entry(  # only on old tapes: a tool may well need none
        "info",
        "{tool} declares no parameters",
        "; ",
        "should the model give some all the same, they are read as text",
    ),
    "name-not-carried": Entry(
        "error", "{what} cannot be written in {dialect}: {reason}", "; ", "the model cannot use it"
    ),
    "name-collides": Entry("warning", "{what} is also {other}", ", so ", "one may be mistaken for the other"),
    "tool-prompt-present": Entry(
        "warning",
        "the system prompt already explains tool calls in the way of {found}",
        "; ",
        "the model may mix that up with {dialect}",
    ),
    "calls-without-tools": Entry(
        "warning", "the history has calls but the request offers no tools", "; ", "{fate}"
    ),
    "result-without-call": Entry(
        "warning", "message {number} is the result of the call {id!r}, which is not in the history before it"
    ),
    "call-not-understood": Entry(
        "warning", "a call in message {number} names no function", "; ", "it was left out"
    ),
    "messages-not-understood": Entry(
        "error", "messages is not a list", ", so ", "the tools could not be written into the prompt"
    ),
    "system-message-moved": Entry(
        "info",
        "message {number} is a system message in the middle of the conversation",
        "; ",
        "it went to the front, for only one goes upstream",
    ),
    "tool-choice-not-understood": Entry(
        "warning", "tool_choice {given} cannot be honoured ({reason})", "; ", "the model may choose"
    ),
    "format-with-tools": Entry(
        "warning",
        "response_format asks for {kind}, and a server that enforces it keeps the model from writing calls",
        "; ",
        "{fate}",
    ),
    "tool-choice-not-sent": Entry(
        "warning",
        "tool_choice asks for a call",
        "; ",
        "with tools=template the server is sent {sent!r}, and nobody tells the model",
    ),
    "arguments-not-json": Entry(
        "warning",
        "the arguments of a call to {tool} in the history are not a JSON object",
        "; ",
        "they were written as they are",
    ),
    "value-contains-its-end": Entry(
        "warning",
        "the value of {parameter} in a call to {tool} contains what ends it in {dialect}",
        "; ",
        "the call in the prompt reads otherwise",
    ),
    "value-not-carried": Entry(
        "warning",
        "the value of {parameter} in a call to {tool} is {given}",
        "; ",
        "as {dialect} text it reads as {read}",
    ),
    "call-not-carried": Entry(
        "warning", "a call to {tool} cannot be written in {dialect} so that it reads the same"
    ),
    "id-not-carried": Entry("info", "the id {id!r} {reason} and became {new!r} in the prompt"),
    "template-failed": Entry(
        "error",
        "the prompt template fails at line {line}: {reason}",
        "; ",
        "the built-in one was used instead",
    ),
    "template-empty": Entry(
        "warning", "the prompt template gives no text at all", ", so ", "the model is not told of its tools"
    ),
}


def sentence(code: str, values: Mapping[str, object]) -> tuple[Level, str]:
    entry = CATALOGUE[code]
    return entry.level, entry.sentence.format_map(values)


def parts(finding: Finding) -> tuple[str, str]:
    """What happened, and what became of it; in one part if only the finding's message is known."""
    entry = CATALOGUE.get(finding.code)
    if entry is None:
        return finding.message, ""
    try:
        return entry.what.format_map(finding.values), entry.fate.format_map(finding.values)
    except KeyError:
        return finding.message, ""


# -- findings about a request, which has no stream: their place is a message or a tool


def note(code: str, at: int | None = None, **values: object) -> Finding:
    """A finding about the message or the tool with the index `at`, or about the request as a whole."""
    level, message = sentence(code, values)
    return Finding(0, -1, -1, code, level, message, _place(at), values=values)


def moved(finding: Finding, at: int) -> Finding:
    """The same finding about the message or the tool with the index `at`."""
    return replace(finding, span=_place(at))


def numbered(findings: Iterable[Finding]) -> list[Finding]:
    return [replace(finding, seq=seq) for seq, finding in enumerate(findings, 1)]


def _place(at: int | None) -> Span:
    return Span(0, "request", 0, 0, -1) if at is None else Span(0, "request", at, at + 1, -1)
