"""A whole message: one non-streaming completion, converted by the same machines as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from transformer.answer.answer import Surrogates
from transformer.answer.choice import Choice, Message
from transformer.answer.events import REASONING, reasoning_of
from transformer.answer.setting import make_setting
from transformer.frontends.errorobjects import as_error, refusal
from transformer.frontends.frontend import Frontend
from transformer.journal import Journal, Keep
from transformer.jsontext import Object, dumps
from transformer.parser.dialect import Dialect
from transformer.policy import Policy
from transformer.provenance import Path, SourceMap, resolve
from transformer.records import Finding, Ranges, Record, Span
from transformer.upstreams.kind import Place, UpstreamKind, openai_usage


class MessageTransformer:
    """Converts one completion; its records say the same things as a stream's."""

    def __init__(
        self,
        dialect: str | Dialect,
        tools: Iterable[Any] | None = None,
        policy: Policy | Mapping[str, Any] | None = None,
        request: Mapping[str, Any] | None = None,
        ids: Callable[[int], str] | None = None,
        now: float = 0,
        records: Keep = "all",
        frontend: str | Frontend = "chat",
        upstream: str | UpstreamKind = "openai",
    ) -> None:
        self.setting = make_setting(dialect, tools, policy, request, ids, now, frontend, upstream)
        self._journal = Journal(records)
        self._client = self.setting.writer(streamed=False)
        self.completion: Object | None = None  # the answer as a chat has it, whatever the client's API
        self._choices: list[Choice] = []
        self.sources: dict[tuple[int, str], SourceMap] = {}  # by choice and channel
        self._calls = 0
        self._path: Path = ()  # to the completion in the body that came
        self.place: Place | None = None  # where upstream's own conversation goes on, if it keeps one

    def convert(self, body: Mapping[str, Any], data: bytes | None = None) -> Object:
        """The client's body for upstream's; `data` are its bytes, for provenance."""
        whole = self.completion = self._unwrapped(body)
        choices = whole.get("choices")
        if not isinstance(choices, list):
            return whole
        self._client.made("id", str(whole.get("id") or ""))
        self._journal.read += 1
        self._journal.event += 1
        if self._journal.all:
            data = dumps(whole) if data is None else data
            self._journal.saw((data, "", 0, len(data), ((0, len(data)),)))
        if self.setting.raw:
            return whole
        if isinstance(whole.get("usage"), dict):
            whole["usage"] = openai_usage(whole["usage"])
        if not choices:
            self._journal.found("empty-answer")
            error = as_error("upstream sent an answer without choices", "upstream_error")
            self.completion = {"error": error}
            return self.completion
        whole["choices"] = [self._choice(part, position) for position, part in enumerate(choices)]
        refused = next((choice.refused for choice in self._choices if choice.refused), None)
        if refused:
            self.completion = {"error": refusal(refused)}
            return self.completion
        self._client.last_usage = whole.get("usage")
        return self._client.whole(whole)

    def _unwrapped(self, body: Mapping[str, Any]) -> Object:
        found = self.setting.upstream.whole(body)
        if found is None:
            return dict(body)
        self._path, self.place = found.path, found.place
        made = {"id": "", "object": "chat.completion", "created": int(self.setting.now)}
        return {**made, "model": self.setting.model, **found.completion}

    def _choice(self, part: Any, position: int) -> Any:
        message = part.get("message") if isinstance(part, dict) else None
        if not isinstance(message, dict):
            return part
        index = part.get("index")
        choice = Choice(
            index if isinstance(index, int) else position,
            self.setting,
            self._client,
            self._journal,
            self._number,
        )
        choice.message = choice.message or Message()  # the result itself, whatever records are kept
        self._choices.append(choice)
        finish = part.get("finish_reason") or message.get("finish_reason")
        choice.upstream_finish = str(finish) if finish else None
        self._client.part = part
        self._read(choice, message, position)
        choice.end()
        if isinstance(message.get("tool_calls"), list) and message["tool_calls"]:
            choice.pass_on({"tool_calls": message["tool_calls"]})
        choice.finish()
        return {**part, "message": _rewritten(message, choice), "finish_reason": choice.finished}

    def _read(self, choice: Choice, message: Mapping[str, Any], position: int) -> None:
        texts = reasoning_of(dict(message))
        content = message.get("content")
        if isinstance(content, str) and content:
            texts.append(("content", ("content",), content))
        halves = Surrogates(self._journal.found)
        for channel, fields, text in texts:
            path = (*self._path, "choices", position, "message", fields[0])
            parts = halves.parts((choice.index, channel), text, self._journal.event, path)
            for part in [*parts, *(part for _, part in halves.rest())]:
                source = self.sources.setdefault((choice.index, channel), SourceMap())
                source.add(part.event, len(part.text), part.path, first=part.first, half=part.half)
                choice.text(channel, fields, part.text)

    def _number(self) -> int:
        self._calls += 1
        return self._calls - 1

    @property
    def records(self) -> list[Record]:
        return self._journal.records.items

    @property
    def findings(self) -> list[Finding]:
        return self._journal.findings.items

    @property
    def unaccounted(self) -> int:
        return sum(choice.unaccounted for choice in self._choices)

    def bytes_of(self, span: Span) -> Ranges:
        source = self.sources.get((span.choice, span.channel), SourceMap())
        return resolve(span, source, self._journal.events.items)


def _rewritten(message: Mapping[str, Any], choice: Choice) -> Object:
    """The message with its texts replaced by what became of them; every other field stays."""
    assert choice.message is not None
    new = dict(message)
    new.pop("tool_calls", None)
    new.pop("finish_reason", None)
    if message.get("content") is None or isinstance(message["content"], str):
        new["content"] = choice.message.text("content") or None
    for field in REASONING:
        text = choice.message.text(field)
        if text or isinstance(message.get(field), str):  # a thought may have been in the content
            new[field] = text or None
    built = choice.message.build().get("tool_calls", [])
    native = message.get("tool_calls") or []
    if built:
        # Upstream's own calls stay as they are, after those that were made from the text.
        new["tool_calls"] = built[: len(built) - len(native)] + native
    return new


def transform_message(
    body: Mapping[str, Any],
    dialect: str | Dialect,
    tools: Iterable[Any] | None = None,
    policy: Policy | Mapping[str, Any] | None = None,
    request: Mapping[str, Any] | None = None,
    ids: Callable[[int], str] | None = None,
    now: float = 0,
    frontend: str | Frontend = "chat",
    upstream: str | UpstreamKind = "openai",
) -> Object:
    """One non-streaming completion as the client gets it."""
    made = MessageTransformer(dialect, tools, policy, request, ids, now, "findings", frontend, upstream)
    return made.convert(body)
