"""The finish_reason: the one the client gets, and why it is not upstream's."""

from __future__ import annotations

CUT = ("length", "content_filter")
_NOTHING = (None, "")


def finish_reason(said: str | None, calls: bool, upstream: bool) -> str:
    """`upstream` wants what upstream said, as far as it said something."""
    usual = "tool_calls" if calls else "stop"
    if said in _NOTHING:
        return usual
    if upstream or said in CUT:
        return said or usual
    # A client loops on tool_calls without a call, and stops on stop with one.
    return usual if said in ("stop", "tool_calls") else said or usual


def contradiction(said: str | None, given: str) -> str | None:
    """Why the client gets another reason, where a person should know. Stop becoming tool_calls is usual."""
    if said in (*_NOTHING, given, "stop"):
        return None
    return "there is no call" if said == "tool_calls" else "there is one"
