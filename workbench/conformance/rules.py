"""The rules of OpenCode and of openai-python: what each of them does when one is broken.

An `error` is a rule whose breach costs a client the call or the answer; with a `warning` both clients cope.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from transformer.records import Level


class Rule(NamedTuple):
    """`sentence` says what is wrong, then which client does what with it."""

    level: Level
    sentence: str
    advice: str


_PARSER = (
    'The server\'s own parser made this. Set tools = template and template_tool_choice = "none" and let the '
    "workbench read the model's text, or update the server."
)
_MODEL = (
    "The model wrote this; the client tells it so. If it happens often, lower the temperature, or use the "
    "server's guided decoding."
)
_STREAM = (
    "The server made this. Update it, or set a dialect instead of passthrough: then the workbench writes the "
    "events itself."
)
_NOTHING = "Nothing needs to be done."

RULES: Mapping[str, Rule] = {
    # events
    "check-not-json": Rule(
        "error",
        "this event is no JSON ({why}): OpenCode stops with an error, openai-python raises JSONDecodeError",
        _STREAM,
    ),
    "check-empty-data": Rule(
        "error",
        "an event with nothing in it: OpenCode stops with an error, openai-python raises JSONDecodeError",
        _STREAM,
    ),
    "check-event-shape": Rule(
        "error", "{what}: OpenCode takes the event for garbage and stops with an error", _STREAM
    ),
    "check-answer-id": Rule(
        "warning", "the answer's id was {was}, now it is {now}: clients keep the first", _NOTHING
    ),
    "check-answer-model": Rule(
        "warning", "the answer's model was {was}, now it is {now}: clients keep the first", _NOTHING
    ),
    "check-role-repeated": Rule(
        "warning", "the role comes again: OpenCode takes it, openai-python joins it to {joined}", _NOTHING
    ),
    # calls
    "check-call-shape": Rule(
        "error", "{what}: OpenCode takes the event for garbage, openai-python cannot join it", _PARSER
    ),
    "check-name-missing": Rule(
        "error", "the first delta of {call} has no function.name: OpenCode stops with an error", _PARSER
    ),
    "check-id-missing": Rule(
        "error", "the first delta of {call} has no id: OpenCode stops with an error", _PARSER
    ),
    "check-index-missing": Rule(
        "error",
        "{call} has a delta without index: openai-python raises TypeError, OpenCode stops with an error "
        "where arguments come in pieces",
        _PARSER,
    ),
    "check-index-gap": Rule(
        "error", "{call} has index {index}, but {wanted} is next: openai-python raises IndexError", _PARSER
    ),
    "check-index-reused": Rule(
        "error",
        "a second call ({name}) at the index of {call}: OpenCode loses it, openai-python merges the two",
        _PARSER,
    ),
    "check-id-repeated": Rule(
        "error",
        "the id of {call} comes again: OpenCode takes the first, openai-python joins them to {joined}",
        _PARSER,
    ),
    "check-name-repeated": Rule(
        "error",
        "the name of {call} comes again: OpenCode takes the first, openai-python joins them to {joined}",
        _PARSER,
    ),
    "check-id-shared": Rule(
        "error", "{call} has the id of another one, {id}: OpenCode keeps only the last of them", _PARSER
    ),
    "check-tool-unknown": Rule(
        "warning", "{call} is of a tool that was not offered: OpenCode tells the model so", _MODEL
    ),
    # arguments
    "check-arguments-early": Rule(
        "error",
        "the arguments of {call} were whole JSON after {size} characters, and go on: OpenCode has run the "
        "first part and drops the rest",
        _PARSER,
    ),
    "check-arguments-json": Rule(
        "error", "the arguments of {call} are no JSON object: {why}; OpenCode tells the model so", _PARSER
    ),
    "check-parameter-missing": Rule(
        "warning",
        "{call} lacks the required parameter {parameter}: OpenCode tells the model so",
        _MODEL,
    ),
    "check-parameter-type": Rule(
        "warning",
        "in {call} {parameter} is {given} where the schema wants {wanted}: OpenCode tells the model so",
        _MODEL,
    ),
    # ends
    "check-finish-missing": Rule(
        "error", "there is no finish_reason: OpenCode asks again and again, without end", _STREAM
    ),
    "check-finish-unknown": Rule(
        "error",
        "the finish_reason {said} is none of OpenAI's: OpenCode asks again and again, without end",
        _STREAM,
    ),
    "check-finish-untrue": Rule("error", "the finish_reason is {said}, but {what}", _STREAM),
    "check-finish-repeated": Rule(
        "warning", "finish_reason comes again, {said}: clients keep the last, or stop at the first", _STREAM
    ),
    "check-after-finish": Rule(
        "warning", "{what} comes after finish_reason: a client that stops there loses it", _STREAM
    ),
    "check-done-missing": Rule(
        "warning", "there is no [DONE] at the end: OpenCode and openai-python do without", _NOTHING
    ),
    "check-after-done": Rule(
        "warning", "{what} comes after [DONE]: openai-python has stopped reading, OpenCode reads on", _STREAM
    ),
    # what is said at the end
    "check-call": Rule("info", "{call}: {said}", "The rows that name a rule say what each client does."),
    "check-stream": Rule(
        "info", "the {what}: {said}", "The rows that name a rule say what each client does."
    ),
}


def advice_on(code: str) -> str | None:
    """What to do about a breach; None for a code that is none of these."""
    rule = RULES.get(code)
    return None if rule is None else rule.advice
