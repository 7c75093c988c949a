"""The shape of an event: of one stream's events nearly all differ in nothing but their text.

So the second of two events with the same bytes around their text need not be parsed again, and
what is written in its envelope need not be put together again. Nothing depends on it but speed: an
event that does not have the shape takes the long way, and gives the same result there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import orjson

from transformer.provenance import locate
from transformer.sse import DONE

FIELDS = ("content", "reasoning_content", "reasoning")
_HERE = "\0 delta"
# A stream whose events all differ (a usage that grows, random padding) is left alone after this many.
PATIENCE = 8


class Shape:
    """The bytes before and behind the text of an event, and what its other bytes mean."""

    __slots__ = (
        "_after",
        "_before",
        "_end",
        "_start",
        "field",
        "fields",
        "head",
        "index",
        "obj",
        "part",
        "tail",
    )

    def __init__(self, before: bytes, after: bytes, obj: dict[str, Any], field: str, index: int) -> None:
        self._before, self._after = before, after
        self._start, self._end = len(before) - 1, 1 - len(after)
        self.obj = obj
        self.part: dict[str, Any] = obj["choices"][0]
        self.field = field
        self.fields = (field,)
        self.index = index
        self.head = self.tail = b""

    def text(self, data: bytes) -> str | None:
        """The text of an event that has this shape; None if it has another."""
        if not (data.startswith(self._before) and data.endswith(self._after)):
            return None
        try:
            # With its quotes the text is one string, or the event is not what it seems.
            text: str = orjson.loads(data[self._start : self._end])
        except orjson.JSONDecodeError:
            return None
        return text

    def chunk(self, delta: dict[str, Any], made: dict[str, Any]) -> bytes:
        """The event that carries `delta` to the client in this shape's envelope."""
        if not self.head:
            part = {**self.part, "index": self.index, "delta": _HERE, "finish_reason": None}
            whole = orjson.dumps({**made, **self.obj, "choices": [part]})
            head, _, tail = whole.partition(orjson.dumps(_HERE))
            self.head, self.tail = b"data: " + head, tail + b"\n\n"
        return self.head + orjson.dumps(delta) + self.tail


def learn(data: bytes, obj: dict[str, Any], field: str) -> Shape | None:
    """The shape of an event with one choice, whose delta has one field, and that has nothing else to say."""
    part = obj["choices"][0]
    index = part.get("index", 0)
    if obj.get("usage") is not None or part.get("logprobs") is not None or type(index) is not int:
        return None
    place = locate(data, ("choices", 0, "delta", field))
    if place is None or orjson.dumps(_HERE) in data:
        return None
    return Shape(data[: place[0]], data[place[1] :], obj, field, index)


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

    @property
    def answer_id(self) -> str:
        """Upstream's own id of the answer, else the one that was made up."""
        return str(self.envelope.get("id") or self._made.get("id", ""))

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

    def __init__(self, id: str = "") -> None:
        super().__init__({"id": id})

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
