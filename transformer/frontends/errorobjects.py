"""What went wrong, in the shape of OpenAI's error objects.

And what such an object says of a prompt that is too long, in the words of many servers: clients shorten the
prompt if they recognise the words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from transformer.jsontext import Object, dumps


def refusal(tool: str) -> Object:
    """The error a client gets for a call to a tool that it did not offer, where the policy wants that."""
    message = f"the model called {tool!r}, which is not one of the tools offered"
    return {"message": message, "type": "invalid_tool_call", "param": None, "code": tool}


def as_error(error: object, kind: str) -> Object:
    """Whatever went wrong, in the shape of OpenAI's error objects."""
    if isinstance(error, Mapping):
        inner = error.get("error", error)
        if isinstance(inner, Mapping):
            message = inner.get("message") or inner.get("detail") or dumps(dict(inner)).decode()
            rest = {k: v for k, v in inner.items() if k not in ("message", "type", "param", "code")}
            return {
                "message": str(message),
                "type": str(inner.get("type") or kind),
                "param": inner.get("param"),
                "code": inner.get("code"),
                **rest,
            }
        error = inner
    return {"message": str(error) or type(error).__name__, "type": kind, "param": None, "code": None}


# -- a prompt that is too long

_CODES = ("context_length_exceeded", "exceed_context_size_error")
_WORDS = re.compile(
    r"maximum context length|context (?:length|size|window)|prompt is too long|input is too long|"
    r"longer than the model's|exceeds? (?:the )?(?:available|maximum) (?:context|number of tokens)",
    re.IGNORECASE,
)
_EXCEEDS = re.compile(
    r"exceed|too long|longer|maximum context length|larger than|greater than", re.IGNORECASE
)
_NUMBER = r"(\d[\d,_]{0,14})"
_LIMITS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"maximum context length is {_NUMBER}",
        rf"(?:context (?:length|size|window)|available context size) ?(?:of |is |\(|: ?|= ?){_NUMBER}",
        rf"> {_NUMBER} maximum",
        rf"(?:limit|maximum) (?:of|is) {_NUMBER}",
    )
]
_ASKED = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_NUMBER} (?:tokens )?in the (?:messages|prompt|input)",
        rf"(?:prompt|input|request) (?:contains |has |of |is |\(|with )(?:at least )?{_NUMBER}",
        rf"{_NUMBER} (?:input|prompt) tokens",
        rf"(?:requested|resulted in) (?:about )?{_NUMBER}",
        rf"too long: {_NUMBER}",
    )
]
_WANTED = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_NUMBER} (?:tokens )?in the completion",
        rf"{_NUMBER} (?:output|completion) tokens",
        rf"tokens'? is too large: {_NUMBER}",
    )
]


class Overflow(NamedTuple):
    """The tokens of the prompt, of the answer that was asked for, and the limit; 0 where unknown."""

    prompt: int
    answer: int
    limit: int


def context_overflow(error: Mapping[str, Any]) -> Overflow | None:
    """What an error says of a prompt that does not fit; None if it is about something else."""
    message = str(error.get("message") or "")
    known = error.get("code") in _CODES or error.get("type") in _CODES
    if not known and not (_WORDS.search(message) and _EXCEEDS.search(message)):
        return None
    return Overflow(
        _count(error.get("n_prompt_tokens")) or _first(_ASKED, message),
        _first(_WANTED, message),
        _count(error.get("n_ctx")) or _first(_LIMITS, message),
    )


def _first(patterns: list[re.Pattern[str]], message: str) -> int:
    found = next((match for pattern in patterns if (match := pattern.search(message))), None)
    return int(re.sub(r"\D", "", found[1])) if found else 0


def _count(value: object) -> int:
    return value if type(value) is int else 0
