"""The shape of an event: nearly all events of one stream differ only in their text.

So the second of two events with the same bytes around their text need not be parsed again, and
what is written in its envelope need not be put together again. It only affects speed: an
event that does not have the shape takes the long way, and gives the same result there.
"""

from __future__ import annotations

from typing import Any

import orjson

from transformer.provenance import locate

FIELDS = ("content", "reasoning_content", "reasoning")
_HERE = "\0 delta"
# A stream whose events all differ (a usage that grows, random padding) is left alone after this many.
PATIENCE = 8


class Shape:
    """The bytes before and after the text of an event, and what its other bytes mean."""

    __slots__ = (
        "_end",
        "_start",
        "after",
        "before",
        "field",
        "fields",
        "head",
        "index",
        "member",
        "obj",
        "part",
        "tail",
    )

    def __init__(self, before: bytes, after: bytes, obj: dict[str, Any], field: str, index: int) -> None:
        self.before, self.after = before, after
        self._start, self._end = len(before) - 1, 1 - len(after)
        self.obj = obj
        self.part: dict[str, Any] = obj["choices"][0]
        self.field = field
        self.fields = (field,)
        self.index = index
        self.member = b'{"%b":' % field.encode()
        self.head = self.tail = b""

    def text(self, data: bytes) -> str | None:
        """The text of an event that has this shape; None if it has another."""
        if not (data.startswith(self.before) and data.endswith(self.after)):
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
