"""Messages (`POST /v1/messages`): the API of Anthropic, which Claude Code speaks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from transformer.findings import note
from transformer.frontends.errorobjects import Overflow, context_overflow
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
from transformer.frontends.items import Item, ItemWriter, arguments_of, arguments_text
from transformer.frontends.offering import OfferedTools, named
from transformer.jsontext import Object, dumps
from transformer.records import Finding

COUNT_TOKENS = "/messages/count_tokens"
PING = b'event: ping\ndata: {"type":"ping"}\n\n'

# Fields that become part of the chat request, or that concern Anthropic's own service.
_KNOWN = frozenset(
    "betas cache_control container context_management diagnostics inference_geo max_tokens mcp_servers "
    "messages metadata model output_config output_format service_tier speed stop_sequences stream system "
    "temperature thinking tool_choice tools top_p".split()
)
_STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_IMAGE = 1600


class Messages(Frontend):
    name: ClassVar[str] = "messages"
    endpoint: ClassVar[str] = "/messages"

    def to_chat(self, body: Mapping[str, Any], earlier: Earlier | None = None) -> ChatRequest:
        return _Conversion(body).made()

    def writer(self, asked: ChatRequest, answer: AnswerFacts) -> ClientWriter:
        return MessagesWriter(asked, answer)

    def call_id(self, id: str) -> str:
        return "toolu_" + id.removeprefix("call_")

    def error(
        self, status: int, error: Mapping[str, Any], permanent: bool, writer: ClientWriter | None = None
    ) -> ErrorAnswer:
        overflow = context_overflow(error)
        if overflow is not None:
            status = 400
        kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return ErrorAnswer(status, dumps(_error(kind, _message(error, overflow))))


def _error(kind: str, message: str) -> Object:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _message(error: Mapping[str, Any], overflow: Overflow | None) -> str:
    """What went wrong; for a prompt that is too long, in the words that Claude Code recognises."""
    said = str(error.get("message") or "")
    if overflow is None:
        return said
    if 0 < overflow.prompt < overflow.limit and overflow.answer:
        told = f"{overflow.prompt} + {overflow.answer} > {overflow.limit}"
        advice = "decrease input length or `max_tokens` and try again"
        return f"input length and `max_tokens` exceed context limit: {told}, {advice} ({said})"
    limit = overflow.limit or max(overflow.prompt - 1, 1)
    return f"prompt is too long: {max(overflow.prompt, limit + 1)} tokens > {limit} maximum ({said})"


class MessagesWriter(ItemWriter):
    """Events of a message. Each item is a content block; every event has its name in an `event:` line."""

    __slots__ = ()

    def _event(self, name: str, **data: Any) -> None:
        self.send(name, {"type": name, **data})

    def opening(self) -> None:
        self._event("message_start", message=self._message([], None, messages_usage({})))

    @property
    def heartbeat(self) -> bytes:
        return PING

    def _message(self, content: list[Object], stop: str | None, usage: Object) -> Object:
        return {
            "id": "msg_" + self.answer.own_id,
            "type": "message",
            "role": "assistant",
            "model": self._made["model"],
            "content": content,
            "stop_reason": stop,
            "stop_sequence": self._stop_sequence(),
            "usage": usage,
        }

    def began(self, item: Item) -> None:
        block: Object = {"type": "text", "text": ""}
        if item.kind == "reasoning":
            block = {"type": "thinking", "thinking": "", "signature": ""}
        elif item.kind == "call":
            block = {"type": "tool_use", "id": item.id, "name": item.name, "input": {}}
        self._event("content_block_start", index=item.place, content_block=block)

    def grew(self, item: Item, text: str) -> None:
        delta = {"type": "text_delta", "text": text}
        if item.kind == "reasoning":
            delta = {"type": "thinking_delta", "thinking": text}
        elif item.kind == "call":
            if self._is_held(item):
                return
            delta = {"type": "input_json_delta", "partial_json": text}
        self._event("content_block_delta", index=item.place, delta=delta)

    def _is_held(self, item: Item) -> bool:
        """JSON written by the model may be invalid, and then the SDK discards the whole answer."""
        return item.native is not None or self.answer.own_json

    def ended(self, item: Item) -> None:
        delta: Object | None = None
        if item.kind == "reasoning":
            delta = {"type": "signature_delta", "signature": _SIGNATURE}
        elif item.kind == "call" and self._is_held(item):
            delta = {"type": "input_json_delta", "partial_json": arguments_text(item)}
        if delta is not None:
            self._event("content_block_delta", index=item.place, delta=delta)
        self._event("content_block_stop", index=item.place)

    def closing(self) -> None:
        delta = {"stop_reason": self._stop_reason(), "stop_sequence": self._stop_sequence()}
        self._event("message_delta", delta=delta, usage=messages_usage(self.last_usage or {}))
        self._event("message_stop")

    def _stop_reason(self) -> str:
        # Claude Code asks again and again if a call is announced and there is none.
        if self.reason in ("length", "content_filter"):
            return _STOPS[self.reason]
        if self.has_calls:
            return "tool_use"
        return "end_turn" if self._stop_sequence() is None else "stop_sequence"

    def _stop_sequence(self) -> str | None:
        """vLLM and others say which of the client's own stop sequences ended the answer."""
        said = (self.part or {}).get("stop_reason") if self.reason is not None else None
        return (
            said if isinstance(said, str) and said in listed(self.asked.given.get("stop_sequences")) else None
        )

    def failed(self, error: Object, item: Item | None) -> None:
        overflow = context_overflow(error)
        self.send("error", _error(_failure(error, overflow), _message(error, overflow)))

    def whole(self, completion: Object) -> Object:
        blocks = [_block(item) for item in self.items]
        return self._message(blocks, self._stop_reason(), messages_usage(self.last_usage or {}))


# A block of thinking has one, and clients send it back. It proves nothing here, so it names its origin.
_SIGNATURE = "workbench"


def _block(item: Item) -> Object:
    if item.kind == "call":
        return {"type": "tool_use", "id": item.id, "name": item.name, "input": arguments_of(item)}
    if item.kind == "reasoning":
        return {"type": "thinking", "thinking": str(item.text), "signature": _SIGNATURE}
    return {"type": "text", "text": str(item.text)}


def _failure(error: Mapping[str, Any], overflow: Overflow | None) -> str:
    code, kind = error.get("code"), error.get("type")
    if overflow is not None or kind in ("invalid_tool_call", "invalid_request_error"):
        return "invalid_request_error"
    if isinstance(kind, str) and kind in _TYPES.values():
        return kind
    return _TYPES.get(code, "api_error") if type(code) is int else "api_error"


def messages_usage(usage: Mapping[str, Any]) -> Object:
    """A chat's usage as a message counts it: what came from a cache is counted apart."""
    cached = count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens"))
    return {
        "input_tokens": max(count(usage.get("prompt_tokens")) - cached, 0),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": count(usage.get("completion_tokens")),
    }


def counted_tokens(chat: Mapping[str, Any]) -> int:
    """How long a prompt is, roughly: exact numbers need the model's tokenizer."""
    size = images = 0
    for message in listed(chat.get("messages")):
        content = mapping(message).get("content")
        for part in content if isinstance(content, list | tuple) else ():
            images += mapping(part).get("type") == "image_url"
        size += len(dumps({key: _without_images(value) for key, value in mapping(message).items()}))
    size += len(dumps(chat.get("tools") or []))
    return size // _CHARACTERS_PER_TOKEN + images * _TOKENS_PER_IMAGE + 1


def _without_images(value: Any) -> Any:
    parts = value if isinstance(value, list | tuple) else None
    return value if parts is None else [part for part in parts if mapping(part).get("type") != "image_url"]


class _Conversion:
    """A request for a message, made into a chat request block by block."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._given = body
        self._findings: list[Finding] = []
        self._messages: list[Object] = []
        self._tools = OfferedTools(self._findings)

    def made(self) -> ChatRequest:
        given = self._given
        if given.get("system"):
            self._messages.append({"role": "system", "content": self._content(given["system"], "\n\n")})
        for index, message in enumerate(listed(given.get("messages"))):
            self._message(mapping(message), index)
        self._tools.add(self._offered())
        body: Object = {"model": given.get("model"), "messages": self._messages, **self._settings()}
        if self._tools.functions:
            body["tools"] = self._tools.functions
            body |= self._choice()
        body |= passed_on(given, _KNOWN, self._findings)
        return ChatRequest(given, body, tuple(self._findings), self._tools.names)

    def _settings(self) -> Object:
        given = self._given
        output = mapping(given.get("output_config"))
        new = {
            "max_tokens": given.get("max_tokens"),
            "stop": list(listed(given.get("stop_sequences"))) or None,
            "response_format": _format(output.get("format") or given.get("output_format")),
            "reasoning_effort": effort(output.get("effort")),
        }
        new |= {key: given.get(key) for key in ("temperature", "top_p")}
        if given.get("stream"):
            new |= {"stream": True, "stream_options": {"include_usage": True}}
        return {key: value for key, value in new.items() if value is not None}

    # -- tools

    def _offered(self) -> Iterator[Object]:
        """As functions. A tool that is to be loaded later is offered once the history has loaded it."""
        tools = [mapping(tool) for tool in listed(self._given.get("tools"))]
        deferred = not any(str(tool.get("type") or "").startswith("tool_search_tool") for tool in tools)
        loaded = set(_references(self._given.get("messages"))) if deferred else set()
        for tool in tools:
            if mapping(tool.get("function")):
                yield dict(tool)
            elif not (deferred and tool.get("defer_loading") and tool.get("name") not in loaded):
                kind = tool.get("type") or "custom"
                known = {key: tool[key] for key in ("name", "description", "strict") if key in tool}
                # What Anthropic calls custom is a function; all other types are known to its models alone.
                yield {
                    "type": "function" if kind == "custom" else kind,
                    "parameters": tool.get("input_schema"),
                    **known,
                }

    def _choice(self) -> Object:
        choice = mapping(self._given.get("tool_choice"))
        new: Object = {}
        if choice.get("disable_parallel_tool_use") is True:
            new["parallel_tool_calls"] = False
        match choice.get("type"):
            case "auto" | "none" as word:
                new["tool_choice"] = word
            case "any":
                new["tool_choice"] = "required"
            case "tool":
                new["tool_choice"] = named(self._tools.chat_name(choice))
        return new

    # -- messages

    def _message(self, message: Mapping[str, Any], index: int) -> None:
        role, content = message.get("role"), message.get("content")
        blocks = [mapping(block) for block in listed(content)] or [{"type": "text", "text": content or ""}]
        if role == "assistant":
            self._messages.append(self._assistant(blocks, index))
            return
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            self._messages.append(
                {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": self._result(block)}
            )
        others = [block for block in blocks if block.get("type") != "tool_result"]
        if others or not results:
            self._messages.append({"role": role or "user", "content": self._content(others)})

    def _assistant(self, blocks: list[Mapping[str, Any]], index: int) -> Object:
        """Text, thoughts and calls of one turn."""
        texts, thoughts, calls = [], [], []
        for block in blocks:
            match block.get("type"):
                case "text":
                    texts.append(str(block.get("text") or ""))
                case "thinking":
                    thoughts.append(str(block.get("thinking") or ""))
                case "tool_use":
                    function = {
                        "name": block.get("name"),
                        "arguments": dumps(block.get("input") or {}).decode(),
                    }
                    calls.append({"id": block.get("id"), "type": "function", "function": function})
                case "redacted_thinking":
                    pass
                case kind:
                    what = f"a block of the type {kind!r}"
                    self._findings.append(note("item-not-carried", index, what=what))
        made: Object = {"role": "assistant", "content": "\n\n".join(texts) or None}
        if thoughts:
            made["reasoning_content"] = "\n".join(thoughts)
        if calls:
            made["tool_calls"] = calls
        return made

    def _result(self, block: Mapping[str, Any]) -> Any:
        """What a tool returned. A chat has no flag for errors, so the text says that it is one."""
        content = self._content(block.get("content"))
        if block.get("is_error") is True and isinstance(content, str) and not _ERROR.search(content):
            return f"Error: {content}"
        return content

    def _content(self, content: Any, between: str = "\n") -> Any:
        """Parts as a chat has them; texts alone are one text."""
        if not isinstance(content, list | tuple):
            return "" if content is None else content
        parts = [part for block in content for part in self._parts(mapping(block))]
        if all(part["type"] == "text" for part in parts):
            return between.join(part["text"] for part in parts)
        return parts

    def _parts(self, block: Mapping[str, Any]) -> Iterator[Object]:
        kind, source = block.get("type"), mapping(block.get("source"))
        if kind == "text":
            yield {"type": "text", "text": str(block.get("text") or "")}
        elif kind == "tool_reference":
            yield {
                "type": "text",
                "text": f"The tool {block.get('tool_name')} is loaded and can be called now.",
            }
        elif kind == "document" and source.get("type") == "text":
            title = block.get("title")
            yield {"type": "text", "text": (f"{title}\n" if title else "") + str(source.get("data") or "")}
        elif kind == "document" and source.get("type") == "content":
            content = self._content(source.get("content"))
            yield from [{"type": "text", "text": content}] if isinstance(content, str) else content
        elif kind == "search_result":
            about = f"{block.get('title') or ''} ({block.get('source') or ''})\n"
            yield {"type": "text", "text": about + str(self._content(block.get("content")))}
        elif kind == "image" and (url := _url(source)):
            yield {"type": "image_url", "image_url": {"url": url}}
        elif kind == "document" and (url := _url(source)):
            yield {
                "type": "file",
                "file": {"filename": block.get("title") or "document.pdf", "file_data": url},
            }
        else:
            self._findings.append(note("part-not-carried", what=str(kind)))
            yield {"type": "text", "text": f"[{kind}]"}


_ERROR = re.compile("error", re.IGNORECASE)


def _url(source: Mapping[str, Any]) -> str | None:
    if source.get("type") == "base64":
        return f"data:{source.get('media_type')};base64,{source.get('data')}"
    url = source.get("url")
    return url if source.get("type") == "url" and isinstance(url, str) else None


def _references(messages: Any) -> Iterator[str]:
    """The tools that the history has loaded or called."""
    for message in listed(messages):
        for block in listed(mapping(message).get("content")):
            kind = mapping(block).get("type")
            if kind == "tool_use":
                yield str(block.get("name"))
            for inner in listed(block.get("content")) if kind == "tool_result" else ():
                if mapping(inner).get("type") == "tool_reference":
                    yield str(inner.get("tool_name"))


def _format(format: Any) -> Object | None:
    schema = mapping(format).get("schema")
    if mapping(format).get("type") != "json_schema" or schema is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
