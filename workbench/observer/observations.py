"""Observations: what a whole answer shows that its conversion did not name, as a catalogue of codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from transformer.records import Level

# As in the transformer's catalogue: what happened, then what became of it.
OBSERVED: Mapping[str, tuple[Level, str]] = {
    "leaked-markers": ("error", "a call written as {found} reached the client as text: {why}"),
    "other-dialect": (
        "error",
        "this text is a call to {tool} in {found}, but the upstream is set to {dialect}; it stayed text",
    ),
    "call-in-reasoning": (
        "error",
        "a call to {tool}, written as {found}, stands in the reasoning and stayed there; nobody runs it",
    ),
    "cut-by-length": (
        "warning",
        "the answer was cut off: the model reached the limit of tokens (finish_reason length)",
    ),
    "content-filter": (
        "warning",
        "upstream's content filter ended the answer (finish_reason content_filter)",
    ),
    "only-reasoning": ("warning", "the model only thought: the answer has neither text nor a call"),
    "silent-turn": ("warning", "the answer, passed through unchanged, has neither text nor a call"),
    "finish-mismatch": ("warning", "the client was told finish_reason {said!r}, but there is {what}"),
    "bad-arguments": ("warning", "the arguments of the call to {tool} are no JSON object: {why}"),
    "incomplete-call": ("error", "a call came without {what}; clients fail on it"),
    "repeated-id": ("warning", "two calls have the id {id!r}; clients keep only one of them"),
    "nothing-offered": ("info", "the request offered no tools, so the answer was passed through unchanged"),
}


@dataclass(frozen=True, slots=True)
class Observation:
    """One of them with its place: characters of a field of the client's message; "" is the whole choice."""

    code: str
    level: Level
    message: str
    choice: int = 0
    channel: str = ""
    start: int = 0
    end: int = 0
    call: int | None = None


def observation(
    code: str, place: tuple[int, str, int, int] = (0, "", 0, 0), call: int | None = None, **values: object
) -> Observation:
    level, sentence = OBSERVED[code]
    return Observation(code, level, sentence.format_map(values), *place, call)
