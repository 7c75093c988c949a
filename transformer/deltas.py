"""Deltas -> chat.completion.chunk objects as SSE bytes, with upstream's metadata around them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from transformer.sse import DONE
from transformer.stream.shape import Shape

Object = dict[str, Any]
_DEEPEST = 100
_METADATA = ("id", "object", "created", "model")


def dumps(obj: Any) -> bytes:
    """Compact JSON; the slow way for what orjson refuses: huge integers, lone surrogates, depth."""
    try:
        return orjson.dumps(obj)
    except TypeError:
        pass
    try:
        return json.dumps(obj, separators=(",", ":")).encode()
    except RecursionError:
        return json.dumps(_pruned(obj, _DEEPEST), separators=(",", ":")).encode()


def _pruned(value: Any, levels: int) -> Any:
    """What nests deeper than any encoder goes is nobody's data: null takes its place."""
    if isinstance(value, dict):
        return {key: _pruned(item, levels - 1) for key, item in value.items()} if levels else None
    if isinstance(value, list):
        return [_pruned(item, levels - 1) for item in value] if levels else None
    return value


class ChunkWriter:
    """Writes chunks in the envelope of the upstream event that caused them.

    The event's own object is written to again and again: what a chunk does not change (metadata,
    unknown fields) is thereby kept, and nothing is copied on the way.
    """

    __slots__ = ("_made", "envelope", "last_usage", "out", "part", "shape", "usage_told")

    def __init__(self, made: Mapping[str, Any]) -> None:
        self._made = dict(made)
        self.envelope: Object = {}  # the event that is being worked on
        self.part: Object | None = None  # and the choice in it
        self.shape: Shape | None = None  # where it is one of many
        self.out: list[bytes] = []
        self.last_usage: Object | None = None
        self.usage_told = True  # the client has the last one

    def made(self, key: str, value: Any) -> None:
        """Better metadata than what was made up, learned on the way."""
        self._made[key] = value

    @property
    def metadata(self) -> Object:
        known = {key: self.envelope.get(key, self._made[key]) for key in _METADATA}
        if "system_fingerprint" in self.envelope:
            known["system_fingerprint"] = self.envelope["system_fingerprint"]
        return known

    def write(self, index: int, delta: Object, finish: str | None = None) -> None:
        shape = self.shape
        if shape is not None and finish is None and shape.index == index:
            self.out.append(shape.chunk(delta, self._made))
            return
        obj, part = self.envelope, self.part
        if part is None:
            part = {}
        if "id" not in obj or "model" not in obj or "created" not in obj or "object" not in obj:
            obj = self.envelope = {**self._made, **obj}
        part["index"] = index
        part["delta"] = delta
        part["finish_reason"] = finish
        obj["choices"] = [part]
        try:
            self.out.append(b"data: %b\n\n" % orjson.dumps(obj))
        except TypeError:
            self.out.append(b"data: %b\n\n" % dumps(obj))
        # What describes the event as a whole is said once, with its first chunk.
        if "usage" in obj and obj["usage"] is not None:
            del obj["usage"]
            self.usage_told = True
        if part.get("logprobs") is not None:
            del part["logprobs"]

    def arguments(self, index: int, call: int, text: str) -> None:
        """More of a call's arguments: where a call streams, the chunk that comes most often."""
        shape = self.shape
        if shape is None or shape.index != index or not shape.head:
            self.write(index, {"tool_calls": [{"index": call, "function": {"arguments": text}}]})
            return
        self.out.append(
            b'%b{"tool_calls":[{"index":%d,"function":{"arguments":%b}}]}%b'
            % (shape.head, call, orjson.dumps(text), shape.tail)
        )

    def usage(self, obj: Object) -> None:
        """A chunk without choices that says what the answer cost."""
        known = self.metadata | obj
        self.out.append(b"data: " + dumps(known | {"choices": [], "usage": obj["usage"]}) + b"\n\n")

    def other(self, obj: Object) -> None:
        """An event without choices that is none of ours."""
        self.out.append(b"data: " + dumps(obj) + b"\n\n")

    def error(self, error: Object) -> None:
        self.out.append(b"data: " + dumps({"error": error}) + b"\n\n")

    def done(self) -> None:
        self.out.append(DONE)

    def take(self) -> bytes:
        out, self.out = self.out, []
        return out[0] if len(out) == 1 else b"".join(out)

    def clone(self) -> ChunkWriter:
        twin = ChunkWriter(self._made)
        twin.envelope, twin.shape = dict(self.envelope), self.shape
        twin.part = None if self.part is None else dict(self.part)
        twin.last_usage, twin.usage_told = self.last_usage, self.usage_told
        return twin


class NoChunks(ChunkWriter):
    """For a whole message: nobody reads chunks."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__({})

    def write(self, index: int, delta: Object, finish: str | None = None) -> None:
        pass

    def arguments(self, index: int, call: int, text: str) -> None:
        pass


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


def openai_usage(usage: Object) -> Object:
    """Usage as OpenAI counts it; Qwen's chat counts input and output tokens."""
    if "prompt_tokens" in usage or not ("input_tokens" in usage or "output_tokens" in usage):
        return usage
    given, made, total = (_count(usage.get(f"{word}_tokens")) for word in ("input", "output", "total"))
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": total or given + made}


def _count(tokens: object) -> int:
    return tokens if isinstance(tokens, int) else 0
