"""What an upstream's event means: the JSON of one event read, whatever its server's habits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

REASONING = ("reasoning", "reasoning_content")


class Parsed(NamedTuple):
    """An event's JSON, or why it is none; `repaired` names what had to be replaced to read it."""

    value: Any
    problem: str | None = None
    repaired: str | None = None


def parse_leniently(data: bytes) -> Parsed:
    """A second reading of what orjson refused: lone surrogates, bytes that are no UTF-8."""
    repaired = None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        repaired = "invalid-utf8"
    try:
        return Parsed(json.loads(text), None, repaired)
    except ValueError as error:
        return Parsed(None, str(error))
    except RecursionError:
        return Parsed(None, "it is nested too deeply")


def stands_alone(line: bytes) -> bool:
    """A data line that is an event by itself."""
    return line.strip() in (b"", b"[DONE]") or isinstance(parse_leniently(line).value, dict)


def error_in(obj: Mapping[str, Any], name: str = "") -> Any:
    """The error an event reports, in any of the shapes servers have for it; None if it reports none."""
    error = obj.get("error")
    if error:
        return error
    if name == "error" or obj.get("object") == "error" or obj.get("success") is False:
        return obj
    return None


def reasoning_of(delta: dict[str, Any]) -> list[tuple[str, tuple[str, ...], str]]:
    """(channel, fields, text) of the reasoning in a delta; both fields with one text are one channel."""
    first, second = (delta.pop(field, None) for field in REASONING)
    if isinstance(first, str) and isinstance(second, str) and first and second:
        if first == second:
            return [("reasoning", REASONING, first)]
        return [("reasoning", REASONING[:1], first), ("reasoning_content", REASONING[1:], second)]
    found: list[tuple[str, tuple[str, ...], str]] = []
    for field, text in zip(REASONING, (first, second), strict=True):
        if isinstance(text, str):
            if text:
                found.append(("reasoning", (field,), text))
        elif text is not None:
            delta[field] = text
    return found


def phase_of(delta: dict[str, Any]) -> tuple[str | None, bool]:
    """Qwen's chat marks phases: which one this is, and whether it ends the answer."""
    phase = delta.get("phase")
    if not isinstance(phase, str):
        return None, False
    status = delta.pop("status", None)
    del delta["phase"]
    return phase, phase == "answer" and status == "finished"
