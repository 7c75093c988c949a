"""What went wrong, in the shape of OpenAI's error objects."""

from __future__ import annotations

from collections.abc import Mapping

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
