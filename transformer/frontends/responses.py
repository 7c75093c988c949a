"""Responses (`POST /v1/responses`): what Codex and the newer SDKs of OpenAI speak.

A request is a list of items and so is its answer. Tools may be in a namespace or take a plain text
(`custom`); both are offered as functions and get their own shape back. Tools that OpenAI's servers run
themselves are left out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from transformer.findings import note
from transformer.frontends.errorobjects import context_overflow
from transformer.frontends.frontend import (
    AnswerFacts,
    ChatRequest,
    ClientWriter,
    Earlier,
    ErrorAnswer,
    Frontend,
    count,
    effort,
    listed,
    mapping,
    passed_on,
)
from transformer.frontends.items import Item, ItemWriter, custom_input
from transformer.frontends.offering import OfferedTools, named
from transformer.jsontext import Object, dumps
from transformer.records import Finding

# Fields of the request that the answer repeats.
_ECHOED: Mapping[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": None,
    "service_tier": None,
    "store": True,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": None,
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}
# Fields that become part of the chat request, that are answered here, or that concern OpenAI's own service.
_KNOWN = frozenset(
    "background client_metadata context_management conversation include input instructions max_output_tokens "
    "max_tool_calls metadata model parallel_tool_calls previous_response_id prompt prompt_cache_key "
    "prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream "
    "stream_options temperature text tool_choice tools top_logprobs top_p truncation user".split()
)
_SUMMARIES = ("auto", "concise", "detailed")
_CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}
_ENCRYPTED = "reasoning.encrypted_content"
# Reasoning that travels through the client and comes back with the next request. Encoded, not encrypted.
_CARRIED = "workbench:"


class Responses(Frontend):
    name: ClassVar[str] = "responses"
    endpoint: ClassVar[str] = "/responses"

    def to_chat(self, body: Mapping[str, Any], earlier: Earlier | None = None) -> ChatRequest:
        return _Conversion(body, earlier).made()

    def writer(self, asked: ChatRequest, answer: AnswerFacts) -> ClientWriter:
        return ResponsesWriter(asked, answer)

    def error(
        self, status: int, error: Mapping[str, Any], permanent: bool, writer: ClientWriter | None = None
    ) -> ErrorAnswer:
        if writer is not None and context_overflow(error) is not None:
            writer.error(dict(error))  # Codex shortens its history when a stream says so, and only then
            return ErrorAnswer(200, writer.take(), "text/event-stream; charset=utf-8")
        told = {key: error.get(key) for key in ("message", "type", "param", "code")}
        if context_overflow(error) is not None:
            told |= {"type": "invalid_request_error", "code": "context_length_exceeded"}
        if permanent and status >= 500:
            status = 400  # Codex asks up to thirty times again for anything else
        # Without it Codex gives up at once.
        wait = (("retry-after", "5"),) if status == 429 and not permanent else ()
        return ErrorAnswer(status, dumps({"error": told}), headers=wait)


class ResponsesWriter(ItemWriter):
    """Events of a response. Codex reads the items from `output_item.done` and the end from `completed`."""

    __slots__ = ("_id", "_in_progress", "_number", "_output", "_summarised")

    def __init__(self, asked: ChatRequest, answer: AnswerFacts) -> None:
        super().__init__(asked, answer)
        self._id = answer.own_id
        self._number = 0  # of the next event
        self._in_progress = b""
        self._output: list[Object] = []  # the items as they ended
        # A client that asks for a summary shows one; the others get the reasoning itself.
        self._summarised = mapping(asked.given.get("reasoning")).get("summary") in _SUMMARIES

    def _event(self, event: str, **data: Any) -> None:
        self.send(event, {"type": event, "sequence_number": self._number, **data})
        self._number += 1

    # -- the response

    def opening(self) -> None:
        response = self._response("in_progress")
        self._event("response.created", response=response)
        self._event("response.in_progress", response=response)
        self._in_progress = self.out[-1]

    @property
    def heartbeat(self) -> bytes:
        """The second event again, with the same number: Codex wants data, and no client minds the
        repetition."""
        return self._in_progress

    def _response(self, status: str, **more: Any) -> Object:
        given = self.asked.given
        echoed = {
            key: given.get(key) if given.get(key) is not None else usual for key, usual in _ECHOED.items()
        }
        return {
            "id": f"resp_{self._id}",
            "object": "response",
            "created_at": self._made["created"],
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "model": self._made["model"],
            "output": self._output,
            "usage": None,
            **echoed,
            **more,
        }

    def closing(self) -> None:
        whole = self.whole({})
        self._event(f"response.{whole['status']}", response=whole)

    def whole(self, completion: Object) -> Object:
        usage = None if self.last_usage is None else responses_usage(self.last_usage)
        why = _CUT.get(self.reason or "")
        if why is None:
            return self._response("in_progress" if self.reason is None else "completed", usage=usage)
        return self._response("incomplete", usage=usage, incomplete_details={"reason": why})

    def failed(self, error: Object, item: Item | None) -> None:
        told = {"code": _failure(error), "message": str(error.get("message"))}
        output = self._output if item is None else [*self._output, self._item(item)]
        self._event("response.failed", response=self._response("failed", error=told, output=output))

    # -- its items

    def _place(self, item: Item) -> Object:
        return {"item_id": self._item_id(item), "output_index": item.place}

    def _item_id(self, item: Item) -> str:
        kind = {"reasoning": "rs", "call": "fc"}.get(item.kind, "msg")
        if item.kind == "call" and self.tool(item).custom:
            kind = "ctc"
        return f"{kind}_{self._id}_{item.place}"

    def began(self, item: Item) -> None:
        self._event("response.output_item.added", output_index=item.place, item=self._item(item))
        if item.kind == "reasoning" and self._summarised:
            part = {"type": "summary_text", "text": ""}
            self._event(
                "response.reasoning_summary_part.added", **self._place(item), summary_index=0, part=part
            )
        elif item.kind != "call":
            part = _part(item, "")
            self._event("response.content_part.added", **self._place(item), content_index=0, part=part)

    def grew(self, item: Item, text: str) -> None:
        if item.kind == "text":
            more: Object = {"content_index": 0, "delta": text, "logprobs": []}
            self._event("response.output_text.delta", **self._place(item), **more)
        elif item.kind == "refusal":
            self._event("response.refusal.delta", **self._place(item), content_index=0, delta=text)
        elif item.kind == "reasoning" and self._summarised:
            self._event(
                "response.reasoning_summary_text.delta", **self._place(item), summary_index=0, delta=text
            )
        elif item.kind == "reasoning":
            self._event("response.reasoning_text.delta", **self._place(item), content_index=0, delta=text)
        elif not self.tool(item).custom:
            self._event("response.function_call_arguments.delta", **self._place(item), delta=text)

    def ended(self, item: Item) -> None:
        text, place = str(item.text), self._place(item)
        if item.kind == "call":
            self._call_ended(item, text, place)
        elif item.kind == "reasoning" and self._summarised:
            part = {"type": "summary_text", "text": text}
            self._event("response.reasoning_summary_text.done", **place, summary_index=0, text=text)
            self._event("response.reasoning_summary_part.done", **place, summary_index=0, part=part)
        else:
            self._text_ended(item, text, place)
        done = self._item(item)
        self._output.append(done)
        self._event("response.output_item.done", output_index=item.place, item=done)

    def _call_ended(self, item: Item, text: str, place: Object) -> None:
        tool = self.tool(item)
        if tool.custom:
            given = custom_input(text)
            self._event("response.custom_tool_call_input.delta", **place, delta=given)
            self._event("response.custom_tool_call_input.done", **place, input=given)
        else:
            done = {"name": tool.name, "arguments": text}
            self._event("response.function_call_arguments.done", **place, **done)

    def _text_ended(self, item: Item, text: str, place: Object) -> None:
        endings: Mapping[str, tuple[str, Object]] = {
            "text": ("output_text", {"text": text, "logprobs": []}),
            "refusal": ("refusal", {"refusal": text}),
            "reasoning": ("reasoning_text", {"text": text}),
        }
        name, said = endings[item.kind]
        self._event(f"response.{name}.done", **place, content_index=0, **said)
        self._event("response.content_part.done", **place, content_index=0, part=_part(item, text))

    def _item(self, item: Item) -> Object:
        """The item as it is now."""
        status = "in_progress" if not item.ended else "completed" if item.complete else "incomplete"
        known: Object = {"id": self._item_id(item)}
        text = str(item.text) if item.ended else ""
        if item.kind == "call":
            return known | self._call(item, text, status)
        if item.kind == "reasoning":
            return known | self._reasoning(text)
        content = [_part(item, text)] if item.ended else []
        return known | {"type": "message", "role": "assistant", "status": status, "content": content}

    def _call(self, item: Item, text: str, status: str) -> Object:
        tool = self.tool(item)
        known: Object = {"call_id": item.id, "name": tool.name}
        if tool.namespace is not None:
            known["namespace"] = tool.namespace
        if tool.custom:
            return {
                "type": "custom_tool_call",
                "status": status,
                "input": text and custom_input(text),
                **known,
            }
        return {"type": "function_call", "status": status, "arguments": text, **known}

    def _reasoning(self, text: str) -> Object:
        known: Object = {"type": "reasoning", "summary": []}
        if self._summarised:
            known["summary"] = [{"type": "summary_text", "text": text}] if text else []
        else:
            known["content"] = [{"type": "reasoning_text", "text": text}] if text else []
        if _ENCRYPTED in listed(self.asked.given.get("include")):
            known["encrypted_content"] = carried(text) if text else None
        return known

    def clone(self) -> Self:
        twin = super().clone()
        twin._number, twin._in_progress = self._number, self._in_progress
        twin._output = self._output.copy()
        return twin


def _part(item: Item, text: str) -> Object:
    if item.kind == "refusal":
        return {"type": "refusal", "refusal": text}
    if item.kind == "reasoning":
        return {"type": "reasoning_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def carried(text: str) -> str:
    return _CARRIED + base64.b64encode(text.encode("utf-8", "replace")).decode()


def uncarried(content: object) -> str:
    """Reasoning as `carried` made it; nothing for what another server has encrypted."""
    if not isinstance(content, str) or not content.startswith(_CARRIED):
        return ""
    try:
        return base64.b64decode(content.removeprefix(_CARRIED), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""


def responses_usage(usage: Mapping[str, Any]) -> Object:
    """A chat's usage as a response counts it."""
    given, made, total = (count(usage.get(f"{word}_tokens")) for word in ("prompt", "completion", "total"))
    cached = count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens"))
    thought = count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": total or given + made,
    }


_FATAL = (
    "invalid_tool_call",
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "workbench_error",
)


def _failure(error: Mapping[str, Any]) -> str:
    """The code that tells Codex what to do: `server_error` means: ask again."""
    code, kind = error.get("code"), error.get("type")
    if context_overflow(error) is not None:
        return "context_length_exceeded"
    if "insufficient_quota" in (code, kind):
        return "insufficient_quota"
    if code in (429, "429", "rate_limit_exceeded") or kind in ("rate_limit_error", "rate_limit_exceeded"):
        return "rate_limit_exceeded"
    refused = type(code) is int and 400 <= code < 500 and code not in (408, 409, 425)
    return "invalid_prompt" if refused or kind in _FATAL else "server_error"


class _Conversion:
    """A request for a response, made into a chat request item by item."""

    def __init__(self, body: Mapping[str, Any], earlier: Earlier | None) -> None:
        self._given = body
        self._earlier = earlier
        self._findings: list[Finding] = []
        self._problem: Object | None = None
        self._messages: list[Object] = []
        self._tools = OfferedTools(self._findings)

    def made(self) -> ChatRequest:
        given = self._given
        items = [*self._before(), *self._input()]
        self._tools.add(listed(given.get("tools")))
        for item in items:
            if mapping(item).get("type") == "additional_tools":
                self._tools.add(listed(item.get("tools")))
        if given.get("instructions"):
            self._message("system", given["instructions"])
        for index, item in enumerate(items):
            self._item(item, index)
        body: Object = {"model": given.get("model"), "messages": self._messages, **self._settings()}
        if self._tools.functions:
            body["tools"] = self._tools.functions
            body |= self._choice()
        body |= passed_on(given, _KNOWN, self._findings)
        return ChatRequest(given, body, tuple(self._findings), self._tools.names, self._problem)

    def _before(self) -> Sequence[Any]:
        """The items of the response that this request continues."""
        id = self._given.get("previous_response_id")
        if id is None or self._earlier is None:
            return ()
        items = self._earlier(id) if isinstance(id, str) else None
        if items is None:
            message = f"Previous response with id '{id}' not found."
            self._problem = {
                "message": message,
                "type": "invalid_request_error",
                "param": "previous_response_id",
                "code": "previous_response_not_found",
            }
        return items or ()

    def _input(self) -> Sequence[Any]:
        return input_items(self._given.get("input"))

    # -- settings

    def _settings(self) -> Object:
        given = self._given
        new = {
            "max_tokens": given.get("max_output_tokens"),
            "response_format": _format(mapping(given.get("text")).get("format")),
            "reasoning_effort": effort(mapping(given.get("reasoning")).get("effort")),
        }
        new |= {key: given.get(key) for key in ("temperature", "top_p")}
        if given.get("stream"):
            new |= {"stream": True, "stream_options": {"include_usage": True}}
        return {key: value for key, value in new.items() if value is not None}

    def _choice(self) -> Object:
        new: Object = {}
        choice = self._given.get("tool_choice")
        if isinstance(choice, str):
            new["tool_choice"] = choice
        elif isinstance(choice, Mapping):
            new["tool_choice"] = self._chosen(choice)
        if isinstance(self._given.get("parallel_tool_calls"), bool):
            new["parallel_tool_calls"] = self._given["parallel_tool_calls"]
        return new

    def _chosen(self, choice: Mapping[str, Any]) -> Any:
        if choice.get("type") == "allowed_tools":
            allowed = [named(self._tools.chat_name(tool)) for tool in listed(choice.get("tools"))]
            mode = choice.get("mode") if choice.get("mode") in ("auto", "required") else "auto"
            return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": allowed}}
        if choice.get("name"):
            return named(self._tools.chat_name(choice))
        return choice  # a tool of OpenAI's own: it is not offered, and its lookup reports that

    # -- items

    def _item(self, item: Any, index: int) -> None:
        kind = mapping(item).get("type")
        match kind:
            case None | "message" if isinstance(item, Mapping) and "content" in item:
                self._message(item.get("role"), item.get("content"))
            case "function_call" | "custom_tool_call":
                self._call(item)
            case "function_call_output" | "custom_tool_call_output":
                content = self._content(item.get("output"))
                self._messages.append(
                    {"role": "tool", "tool_call_id": item.get("call_id"), "content": content}
                )
            case "reasoning":
                if text := reasoning_text(item):
                    message = self._assistant()
                    message["reasoning_content"] = message.get("reasoning_content", "") + text
            case "additional_tools":
                pass
            case _:
                what = (
                    f"an item of the type {kind!r}"
                    if isinstance(item, Mapping)
                    else "an item that is not an object"
                )
                self._findings.append(note("item-not-carried", index, what=what))

    def _message(self, role: Any, content: Any) -> None:
        made = self._content(content)
        if role == "assistant":
            message = self._assistant()
            said = message.get("content")
            message["content"] = (
                made if not said else f"{said}\n\n{made}" if isinstance(said, str) else [*said, *made]
            )
        elif role in ("system", "developer"):
            self._system(made)
        else:
            self._messages.append({"role": role or "user", "content": made})

    def _system(self, content: Any) -> None:
        """Those at the front become one message: many servers take only one, and do not know developers."""
        first = self._messages[0] if len(self._messages) == 1 else {}
        said = first.get("content")
        if first.get("role") == "system" and isinstance(said, str) and isinstance(content, str):
            first["content"] = f"{said}\n\n{content}"
            return
        self._messages.append({"role": "system", "content": content})

    def _call(self, item: Mapping[str, Any]) -> None:
        text = item.get("arguments")
        if item.get("type") == "custom_tool_call":
            text = dumps({"input": item.get("input")}).decode()
        function = {"name": self._tools.chat_name(item), "arguments": text}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        self._assistant().setdefault("tool_calls", []).append(call)

    def _assistant(self) -> Object:
        """The message that collects what the model said in one turn."""
        if not self._messages or self._messages[-1]["role"] != "assistant":
            self._messages.append({"role": "assistant", "content": None})
        return self._messages[-1]

    def _content(self, content: Any) -> Any:
        """Parts as a chat has them; texts alone are one text."""
        if not isinstance(content, list | tuple):
            return content
        parts = [self._part(mapping(part)) for part in content]
        if all(part["type"] == "text" for part in parts):
            return "\n".join(part["text"] for part in parts)
        return parts

    def _part(self, part: Mapping[str, Any]) -> Object:
        match part.get("type"):
            case "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text":
                return {"type": "text", "text": str(part.get("text") or "")}
            case "refusal":
                return {"type": "text", "text": str(part.get("refusal") or "")}
            case "input_image" if part.get("image_url"):
                detail = {"detail": part["detail"]} if part.get("detail") in ("low", "high", "auto") else {}
                return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
            case "input_file" if part.get("file_data"):
                file = {key: part[key] for key in ("filename", "file_data") if part.get(key)}
                return {"type": "file", "file": file}
        what = str(part.get("type"))
        self._findings.append(note("part-not-carried", what=what))
        return {"type": "text", "text": f"[{what}]"}


def input_items(given: Any) -> Sequence[Any]:
    """The items of `input`: a text is the user's only message."""
    if isinstance(given, str):
        return ({"type": "message", "role": "user", "content": given},)
    return listed(given)


def reasoning_text(item: Mapping[str, Any]) -> str:
    """What the model thought, as far as the client was given it and gives it back."""
    if carried_text := uncarried(item.get("encrypted_content")):
        return carried_text
    parts = listed(item.get("content")) or listed(item.get("summary"))
    texts = [mapping(part).get("text") for part in parts]
    return "\n".join(text for text in texts if isinstance(text, str))


def _format(format: Any) -> Object | None:
    kind = mapping(format).get("type")
    if kind == "json_object":
        return {"type": kind}
    if kind != "json_schema":
        return None
    schema = {key: format[key] for key in ("name", "description", "schema", "strict") if key in format}
    return {"type": kind, "json_schema": schema}
