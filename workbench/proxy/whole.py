"""Chats whose answer does not stream: the message is converted in one go."""

from __future__ import annotations

from collections import Counter
from typing import Any

from transformer.answer.chunks import dumps
from transformer.answer.events import error_in
from transformer.answer.review import observed
from workbench.proxy.converter import Converter
from workbench.proxy.exchange import Exchange
from workbench.proxy.faults import Fault, of_answer
from workbench.proxy.headers import Pairs, downward
from workbench.proxy.incoming import object_in
from workbench.proxy.replies import answer_fault, read_all, refused
from workbench.proxy.wire import Faulted, Reply
from workbench.recipe import Recipe

_LONGEST = 1 << 30


class Whole:
    """One chat whose client wants its answer in one piece."""

    def __init__(self, exchange: Exchange) -> None:
        assert exchange.recipe is not None
        self._exchange = exchange
        self._recipe: Recipe = exchange.recipe
        self._summary: dict[str, Any] = {}
        self._collected_stream = False

    async def run(self) -> None:
        try:
            with self._exchange.interruptible():
                await self._carry_out()
        except Faulted as broken:
            await self._fail(broken.fault)

    async def _carry_out(self) -> None:
        exchange = self._exchange
        reply = await exchange.open()
        if not 200 <= reply.status < 300:
            raise Faulted(await refused(exchange, reply))
        body = self._converted(await read_all(exchange, reply, _LONGEST), reply)
        await exchange.client.answer(reply.status, self._headers(reply), body)
        exchange.end("done", self._summary)

    async def _fail(self, fault: Fault) -> None:
        self._exchange.note_fault(fault)
        await answer_fault(self._exchange, fault)
        self._exchange.end("error", self._summary, fault.error)

    def _converted(self, body: bytes, reply: Reply) -> bytes:
        """The client's body. Raises Faulted where upstream's is no answer."""
        if reply.content_type == "text/event-stream":
            return self._collected(body)
        value = object_in(body)
        name = self._exchange.outgoing.upstream.name
        if not body.strip():
            raise Faulted(
                Fault(502, f"the upstream {name} sent an empty answer. Its log may say why.", code="empty")
            )
        if value is None:
            raise Faulted(of_answer(502, body, name, why="answered with something that is no JSON object"))
        if error_in(value) is not None or not isinstance(value.get("choices"), list):
            raise Faulted(of_answer(502, body, name, why="answered with JSON that is no message"))
        return self._message(value, body)

    def _message(self, value: dict[str, Any], body: bytes) -> bytes:
        message = self._recipe.message("findings")
        try:
            converted = message.convert(value, body)
        except Exception as error:  # a bug of ours never costs the user the answer
            text = f"the workbench itself failed ({type(error).__name__}: {error})"
            self._exchange.note("transformer-failed", "error", f"{text}; the answer went on as it came")
            return body
        recipe = self._recipe
        seen = observed(converted, recipe.request, recipe.dialect, recipe.policy)
        self._summary = {
            "calls": _calls_in(converted),
            "findings": dict(Counter([*(found.code for found in message.findings), *(s.code for s in seen)])),
            "usage": converted.get("usage"),
        }
        if "error" in converted and "choices" not in converted:
            raise Faulted(of_answer(502, dumps(converted), self._exchange.outgoing.upstream.name))
        return body if message.setting.raw else dumps(converted)

    def _collected(self, body: bytes) -> bytes:
        """Some servers stream whatever they are asked: the client gets the message all the same."""
        converter = Converter(self._recipe)
        if converter.raw:
            return body
        self._collected_stream = True
        converter.feed(body)
        converter.finish()
        self._summary = converter.summary()
        if converter.error is not None:
            name = self._exchange.outgoing.upstream.name
            raise Faulted(of_answer(502, dumps({"error": converter.error}), name))
        return dumps(converter.transformer.completion)

    def _headers(self, reply: Reply) -> Pairs:
        kept = downward(reply.headers)
        if self._collected_stream:
            kept = [pair for pair in kept if pair[0] != "content-type"]
            kept.append(("content-type", "application/json"))
        return kept


def _calls_in(message: dict[str, Any]) -> int:
    choices = message.get("choices") or []
    messages = [choice.get("message") for choice in choices if isinstance(choice, dict)]
    return sum(len(said.get("tool_calls") or ()) for said in messages if isinstance(said, dict))
