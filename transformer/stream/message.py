"""The message of one choice as a client would put it together from its deltas."""

from __future__ import annotations

from typing import Any

import orjson

from transformer.growing import Text


class MessageCall:
    """One call of the message."""

    __slots__ = ("arguments", "extra", "id", "name")

    def __init__(self, id: str, name: str) -> None:
        self.id = id
        self.name = name
        self.arguments = Text()
        self.extra: dict[str, Any] = {}

    @property
    def is_complete(self) -> bool:
        try:
            return isinstance(orjson.loads(str(self.arguments)), dict)
        except orjson.JSONDecodeError:
            return False

    def build(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": str(self.arguments)}
        return {"id": self.id, "type": "function", "function": function, **self.extra}

    def clone(self) -> MessageCall:
        twin = MessageCall(self.id, self.name)
        twin.arguments, twin.extra = self.arguments.clone(), self.extra
        return twin


class Message:
    """Grows with the answer."""

    __slots__ = ("calls", "other", "role", "texts")

    def __init__(self) -> None:
        self.role = "assistant"
        self.texts: dict[str, Text] = {}  # content, reasoning, reasoning_content
        self.calls: dict[int, MessageCall] = {}
        self.other: dict[str, Any] = {}

    def say(self, fields: tuple[str, ...], text: str) -> None:
        for field in fields:
            if field not in self.texts:
                self.texts[field] = Text()
            self.texts[field].append(text)

    def add(self, delta: dict[str, Any]) -> None:
        """A delta that went on as upstream sent it."""
        for field, value in delta.items():
            if field == "tool_calls" and isinstance(value, list):
                self._native(value)
            elif field == "content" and isinstance(value, list):
                texts = [part.get("text") for part in value if isinstance(part, dict)]
                self.say(("content",), "".join(text for text in texts if isinstance(text, str)))
            else:
                self.other[field] = value

    def _native(self, calls: list[Any]) -> None:
        for position, call in enumerate(calls):
            if not isinstance(call, dict):
                continue
            index = call.get("index")
            index = index if isinstance(index, int) else position
            function = call.get("function")
            function = function if isinstance(function, dict) else {}
            known = self.calls.get(index)
            if known is None:
                known = self.calls[index] = MessageCall("", "")
            known.id = known.id or str(call.get("id") or "")
            known.name = known.name or str(function.get("name") or "")
            known.arguments.append(str(function.get("arguments") or ""))

    def text(self, field: str) -> str:
        return str(self.texts[field]) if field in self.texts else ""

    def build(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": self.role, "content": self.text("content") or None}
        for field in self.texts:
            if field != "content" and (text := self.text(field)):
                message[field] = text
        # What is no text must not take the place of one.
        message.update({field: value for field, value in self.other.items() if not self.text(field)})
        if self.calls:
            message["tool_calls"] = [self.calls[index].build() for index in sorted(self.calls)]
        return message

    def clone(self) -> Message:
        twin = Message()
        twin.role, twin.other = self.role, dict(self.other)
        twin.texts = {field: text.clone() for field, text in self.texts.items()}
        twin.calls = {index: call.clone() for index, call in self.calls.items()}
        return twin
