"""Chat completions (`POST /v1/chat/completions`): the API that upstream speaks itself.

A request is one already. Only what is older than `tools` (`functions`, `function_call`) and tools that take a
plain text (`custom`) are made into functions, and such a client gets its calls in the shape it knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import orjson

from transformer.frontends.frontend import (
    AnswerFacts,
    ChatRequest,
    ClientWriter,
    Earlier,
    ErrorAnswer,
    Frontend,
    ToolName,
    listed,
    mapping,
)
from transformer.frontends.items import custom_input
from transformer.frontends.offering import INPUT_SCHEMA, named, with_grammar
from transformer.frontends.shape import Shape
from transformer.journal import Text
from transformer.jsontext import Object, dumps
from transformer.sse import DONE

HEARTBEAT = b": the workbench is waiting for upstream\n\n"


class Chat(Frontend):
    name: ClassVar[str] = "chat"
    endpoint: ClassVar[str] = "/chat/completions"
    relays: ClassVar[bool] = True
    own_ids: ClassVar[bool] = False

    def to_chat(self, body: Mapping[str, Any], earlier: Earlier | None = None) -> ChatRequest:
        given: Any = body  # the same object where there is nothing to do
        if not _is_old(body):
            return ChatRequest(body, given)
        new, names = dict(body), dict[str, ToolName]()
        if "functions" in new and "tools" not in new:
            functions = listed(new.pop("functions"))
            new["tools"] = [{"type": "function", "function": function} for function in functions]
            new["parallel_tool_calls"] = False
            new["tool_choice"] = _old_choice(new.pop("function_call", "auto"))
        if "tools" in new:
            new["tools"] = [_as_function(tool, names) for tool in listed(new["tools"])]
            custom = mapping(mapping(new.get("tool_choice")).get("custom")).get("name")
            if isinstance(custom, str):
                new["tool_choice"] = named(custom)
        new["messages"] = _as_tool_calls(listed(new.get("messages")))
        return ChatRequest(body, new, names=names)

    def writer(self, asked: ChatRequest, answer: AnswerFacts) -> ClientWriter:
        if _is_legacy(asked) or asked.names:
            return OtherChunkWriter(answer.made, asked)
        return (ChunkWriter if answer.streamed else NoChunks)(answer.made)

    def error(
        self, status: int, error: Mapping[str, Any], permanent: bool, writer: ClientWriter | None = None
    ) -> ErrorAnswer:
        return ErrorAnswer(status, dumps({"error": dict(error)}))


def _is_legacy(asked: ChatRequest) -> bool:
    return "functions" in asked.given and "tools" not in asked.given


def _is_old(body: Mapping[str, Any]) -> bool:
    """It has `functions`, custom tools, or calls of either."""
    return (
        ("functions" in body and "tools" not in body)
        or any(mapping(tool).get("type") == "custom" for tool in listed(body.get("tools")))
        or any(_is_old_message(mapping(message)) for message in listed(body.get("messages")))
    )


def _is_old_message(message: Mapping[str, Any]) -> bool:
    if message.get("function_call"):
        return True
    return any(mapping(call).get("type") == "custom" for call in listed(message.get("tool_calls")))


def _old_choice(choice: Any) -> Any:
    name = mapping(choice).get("name")
    return named(name) if isinstance(name, str) else choice


def _as_function(tool: Any, names: dict[str, ToolName]) -> Any:
    custom = mapping(mapping(tool).get("custom"))
    name = custom.get("name")
    if mapping(tool).get("type") != "custom" or not isinstance(name, str):
        return tool
    names[name] = ToolName(name, custom=True)
    function = {"name": name, "description": with_grammar(custom).get("description") or ""}
    return {"type": "function", "function": {**function, "parameters": INPUT_SCHEMA}}


def _as_tool_calls(messages: Sequence[Any]) -> list[Any]:
    """Old calls have no ids: a result belongs to the last call before it."""
    new: list[Any] = []
    last = ""
    for index, message in enumerate(messages):
        known = mapping(message)
        if known.get("function_call"):
            last = f"call_{index}"
            call = {"id": last, "type": "function", "function": known["function_call"]}
            new.append({**{k: v for k, v in known.items() if k != "function_call"}, "tool_calls": [call]})
        elif known.get("role") == "function" and last:
            new.append({**known, "role": "tool", "tool_call_id": last})
        elif _is_old_message(known):
            new.append({**known, "tool_calls": [_as_function_call(call) for call in known["tool_calls"]]})
        else:
            new.append(message)
    return new


def _as_function_call(call: Any) -> Any:
    custom = mapping(mapping(call).get("custom"))
    if not custom:
        return call
    function = {"name": custom.get("name"), "arguments": dumps({"input": custom.get("input")}).decode()}
    return {"id": call.get("id"), "type": "function", "function": function}


class ChunkWriter(ClientWriter):
    """Writes chunks in the envelope of the upstream event that caused them.

    The event's own object is written to again and again: what a chunk does not change (metadata,
    unknown fields) is thereby kept, and nothing is copied on the way.
    """

    __slots__ = ("_begun",)

    def __init__(self, made: Mapping[str, Any]) -> None:
        super().__init__(made)
        self._begun: set[int] = set()  # choices whose role the client knows

    def role(self, index: int) -> bool:
        if index in self._begun:
            return False
        self.write(index, {"content": ""})
        return True

    def text(self, index: int, fields: tuple[str, ...], text: str) -> None:
        """The most common chunk; reuses the previous chunk's bytes if the event's shape is unchanged."""
        shape = self.shape
        around = None
        if shape is not None and shape.index == index and fields == shape.fields:
            around = self.around(shape)
        if around is not None:
            self.out.append(around[0] + orjson.dumps(text) + around[1])
        else:
            self.write(index, dict.fromkeys(fields, text))

    def around(self, shape: Shape) -> tuple[bytes, bytes] | None:
        # A snapshot shares the shape, and may not have sent the role yet.
        if not shape.head or shape.index not in self._begun:
            return None
        return shape.head + shape.member, b"}" + shape.tail

    def begin(self, index: int, call: int, id: str, name: str) -> None:
        function = {"name": name, "arguments": ""}
        self.write(
            index, {"tool_calls": [{"index": call, "id": id, "type": "function", "function": function}]}
        )

    def arguments(self, index: int, call: int, text: str) -> None:
        """The most common chunk while a call streams; the role and the call's head are already sent."""
        shape = self.shape
        if shape is None or shape.index != index or not shape.head:
            self.write(index, {"tool_calls": [{"index": call, "function": {"arguments": text}}]})
            return
        self.out.append(
            b'%b{"tool_calls":[{"index":%d,"function":{"arguments":%b}}]}%b'
            % (shape.head, call, orjson.dumps(text), shape.tail)
        )

    def passed(self, index: int, delta: Object) -> Sequence[str]:
        self.write(index, delta)
        return ()

    def finish(self, index: int, reason: str) -> None:
        self.write(index, {} if index in self._begun else {"content": ""}, reason)

    def write(self, index: int, delta: Object, finish: str | None = None) -> None:
        if index not in self._begun:
            self._begun.add(index)
            delta = {"role": "assistant", **delta}
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
        # Fields of the event as a whole are sent once, with its first chunk.
        if "usage" in obj and obj["usage"] is not None:
            del obj["usage"]
            self.usage_told = True
        if part.get("logprobs") is not None:
            del part["logprobs"]

    @property
    def heartbeat(self) -> bytes:
        return HEARTBEAT

    def usage(self, obj: Object) -> None:
        """A chunk without choices."""
        known = self.metadata | obj
        self.out.append(b"data: " + dumps(known | {"choices": [], "usage": obj["usage"]}) + b"\n\n")

    def other(self, obj: Object) -> None:
        self.out.append(b"data: " + dumps(obj) + b"\n\n")

    def error(self, error: Object) -> None:
        self.out.append(b"data: " + dumps({"error": error}) + b"\n\n")

    def done(self) -> None:
        self.out.append(DONE)

    def whole(self, completion: Object) -> Object:
        return completion

    def clone(self) -> Self:
        twin = self._copied_to(self._new())
        twin._begun = set(self._begun)
        return twin

    def _new(self) -> Self:
        return type(self)(self._made)


class NoChunks(ChunkWriter):
    """For a whole message: its chunks are not read."""

    __slots__ = ()

    def __init__(self, made: Mapping[str, Any] | None = None) -> None:
        super().__init__(made or {})

    def write(self, index: int, delta: Object, finish: str | None = None) -> None:
        pass

    def arguments(self, index: int, call: int, text: str) -> None:
        pass


class OtherChunkWriter(ChunkWriter):
    """Calls in the shape of a client that offered `functions` or custom tools."""

    __slots__ = ("_asked", "_inputs", "_legacy")

    def __init__(self, made: Mapping[str, Any], asked: ChatRequest) -> None:
        super().__init__(made)
        self._asked = asked
        self._legacy = _is_legacy(asked)
        self._inputs: dict[tuple[int, int], Text] = {}  # of custom calls that are not complete

    def _new(self) -> Self:
        return type(self)(self._made, self._asked)

    def begin(self, index: int, call: int, id: str, name: str) -> None:
        if self._legacy:
            self.write(index, {"function_call": {"name": name, "arguments": ""}})
        elif name in self._asked.names:
            self._inputs[index, call] = Text()
            custom = {"name": name, "input": ""}
            self.write(index, {"tool_calls": [{"index": call, "id": id, "type": "custom", "custom": custom}]})
        else:
            super().begin(index, call, id, name)

    def arguments(self, index: int, call: int, text: str) -> None:
        if self._legacy:
            self.write(index, {"function_call": {"arguments": text}})
        elif (index, call) in self._inputs:
            self._inputs[index, call].append(text)
        else:
            super().arguments(index, call, text)

    def complete(self, index: int, call: int) -> None:
        if (index, call) in self._inputs:
            given = custom_input(str(self._inputs.pop((index, call))))
            self.write(index, {"tool_calls": [{"index": call, "custom": {"input": given}}]})

    def finish(self, index: int, reason: str) -> None:
        for place, call in list(self._inputs):
            if place == index:
                self.complete(index, call)
        super().finish(index, "function_call" if self._legacy and reason == "tool_calls" else reason)

    def whole(self, completion: Object) -> Object:
        choices = completion.get("choices")
        if not isinstance(choices, list):
            return completion
        return {**completion, "choices": [self._choice(choice) for choice in choices]}

    def _choice(self, choice: Object) -> Object:
        message = dict(mapping(choice.get("message")))
        calls = listed(message.get("tool_calls"))
        if not calls:
            return choice
        if not self._legacy:
            message["tool_calls"] = [self._call(call) for call in calls]
            return {**choice, "message": message}
        del message["tool_calls"]
        message["function_call"] = mapping(calls[0]).get("function")
        reason = choice.get("finish_reason")
        return {
            **choice,
            "message": message,
            "finish_reason": "function_call" if reason == "tool_calls" else reason,
        }

    def _call(self, call: Any) -> Any:
        function = mapping(mapping(call).get("function"))
        name = function.get("name")
        if name not in self._asked.names:
            return call
        custom = {"name": name, "input": custom_input(str(function.get("arguments")))}
        return {"id": call.get("id"), "type": "custom", "custom": custom}

    def clone(self) -> Self:
        twin = super().clone()
        twin._inputs = {key: text.clone() for key, text in self._inputs.items()}
        return twin
