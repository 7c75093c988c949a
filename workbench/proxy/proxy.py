"""The proxy: takes a client's request, finds its upstream, and has the exchange carried out."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
import traceback
from collections.abc import Callable
from typing import Any

from starlette.types import Receive, Scope, Send

from transformer import call_ids
from workbench.config import Settings, Upstream
from workbench.output import say
from workbench.proxy.client import Client, gone
from workbench.proxy.exchange import Exchange, Outgoing
from workbench.proxy.faults import Fault
from workbench.proxy.guard import bearer, refuse, same
from workbench.proxy.headers import Pairs, upward
from workbench.proxy.incoming import Incoming, Left, TooLarge, read_incoming
from workbench.proxy.recorder import Recorder, Recording
from workbench.proxy.relay import StreamRelay
from workbench.proxy.replies import answer_fault
from workbench.proxy.routing import Routes, Sending, address, prepare
from workbench.proxy.unrecorded import Unrecorded
from workbench.proxy.whole import AsItIs, Whole
from workbench.proxy.wire import Wire
from workbench.recipe import Recipe
from workbench.tape import make_header

CHAT = "/chat/completions"
_LARGE = 256 << 10  # a body that takes so long to rewrite that other streams would notice


class Proxy:
    """The application behind the guard, and everything that lives as long as the process."""

    def __init__(self, settings: Settings, recorder: Recorder) -> None:
        self.settings = settings
        self.recorder = recorder
        self.routes = Routes(settings)
        self.wire = Wire(settings.connect_timeout, settings.idle_timeout)
        self.live: set[Exchange] = set()
        # The last Authorization that clients sent for an upstream: for resends, in memory only.
        self.authorizations: dict[str, str] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._handle(scope, receive, send)
        except Exception as error:
            await refuse(send, _own_fault(error, "before its exchange began"))

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            incoming = await read_incoming(scope, receive, self.settings.max_body_bytes)
        except Left:
            return
        except TooLarge:
            limit = self.settings.max_body_bytes
            await refuse(send, _bad(413, f"the request is larger than {limit} bytes (max_body_bytes)"))
            return
        upstream = self.routes.find(incoming.model)
        refusal = self._refusal(incoming, upstream)
        if upstream is None or refusal is not None:
            await refuse(send, refusal or _bad(404, "no upstream"))
            return
        incoming = self._without_token(incoming)
        if incoming.authorization:
            self.authorizations[upstream.name] = incoming.authorization
        await self._run(await self.exchange(incoming, upstream, send), receive)

    def _refusal(self, incoming: Incoming, upstream: Upstream | None) -> Fault | None:
        if incoming.path == CHAT and incoming.method == "POST" and incoming.json is None:
            return _bad(400, "the body of a chat request is a JSON object; this one is not")
        if upstream is None:
            known = ", ".join(self.routes.upstreams)
            asked = (
                f"no upstream serves the model {incoming.model!r}" if incoming.model else "no model is named"
            )
            return _bad(
                404, f"{asked} and there is no default upstream; there are {known} (workbench config)"
            )
        return None

    def _without_token(self, incoming: Incoming) -> Incoming:
        """Our own token is nobody else's business."""
        token = self.settings.token
        if token is None or not same(bearer(incoming.authorization), token):
            return incoming
        kept = [pair for pair in incoming.headers if pair[0] != "authorization"]
        return Incoming(incoming.method, incoming.path, incoming.query, kept, incoming.body, incoming.json)

    # -- an exchange

    async def exchange(
        self,
        incoming: Incoming,
        upstream: Upstream,
        send: Send,
        *,
        sending: Sending | None = None,
        **more: Any,
    ) -> Exchange:
        """All that is known before anything is sent; `more` goes into the tape's header."""
        started, begun = time.time(), time.perf_counter()
        chat = incoming.path == CHAT and incoming.method == "POST"
        if sending is None:
            sending = await self._prepared(incoming, upstream) if chat else Sending(incoming.body)
        outgoing = self._outgoing(incoming, upstream, sending)
        seed, now = secrets.token_hex(6), int(started)
        recipe = _recipe(incoming, upstream, seed, now) if chat else None
        header = make_header(
            f"{incoming.method} {incoming.path}",
            upstream.dialect if chat else "passthrough",
            policy=upstream.policy.said() or None,
            model=incoming.model,
            started=started,
            ids=seed,
            now=now,
            request=_request_of(incoming),
            upstream_request=sending.changed,
            template=sending.template,
            **_facts(incoming, outgoing, chat),
            **more,
        )
        recording: Any = Unrecorded()
        if incoming.method == "POST":
            hidden = [secret for secret in (upstream.api_key, self.settings.token) if secret]
            recording = self.recorder.begin(header, hidden)
        exchange = self._made(incoming, outgoing, recipe, recording, send, begun)
        for note in sending.notes:
            exchange.note(note.code, note.level, note.message, "request")
        return exchange

    async def _prepared(self, incoming: Incoming, upstream: Upstream) -> Sending:
        template = self.routes.template(upstream)
        if len(incoming.body) < _LARGE:
            return prepare(incoming, upstream, template)
        return await asyncio.to_thread(prepare, incoming, upstream, template)

    def _outgoing(self, incoming: Incoming, upstream: Upstream, sending: Sending) -> Outgoing:
        credential = f"Bearer {upstream.api_key}" if upstream.api_key else None
        headers = upward(incoming.headers, upstream.headers, credential)
        url = address(upstream, incoming.path, incoming.query)
        return Outgoing(upstream, incoming.method, url, headers, sending.body)

    def _made(
        self,
        incoming: Incoming,
        outgoing: Outgoing,
        recipe: Recipe | None,
        recording: Recording,
        send: Send,
        begun: float,
    ) -> Exchange:
        clock = _clock(begun)
        client = Client(send, recording, clock)
        return Exchange(self.settings, self.wire, incoming, outgoing, recipe, recording, client, clock)

    async def _run(self, exchange: Exchange, receive: Receive) -> None:
        watch = asyncio.ensure_future(_watch(exchange, receive))
        try:
            await self.carry_out(exchange)
        finally:
            watch.cancel()

    async def carry_out(self, exchange: Exchange) -> None:
        """To its end, whatever that is: the tape is closed, upstream's connection given back."""
        exchange.task = asyncio.current_task()
        self.live.add(exchange)
        try:
            await _work_for(exchange).run()
        except asyncio.CancelledError:
            if not exchange.gone:
                raise
            assert exchange.task is not None
            exchange.task.uncancel()
        except Exception as error:
            await _tell(exchange, _own_fault(error, f"tape {exchange.recording.id}"))
        finally:
            why = "the client went away" if exchange.gone else "the proxy was stopped"
            exchange.end("cancelled", error=why)
            self.live.discard(exchange)
            await exchange.close()

    def interrupt_all(self, message: str) -> None:
        for exchange in list(self.live):
            exchange.interrupt(Fault(503, message, "upstream_error", "shutdown"))

    async def close(self) -> None:
        for exchange in list(self.live):
            exchange.end("cancelled", error="the proxy was stopped")
        await self.wire.close()
        await asyncio.to_thread(self.recorder.close)


def _work_for(exchange: Exchange) -> StreamRelay | Whole | AsItIs:
    if exchange.recipe is None:
        return AsItIs(exchange)
    return StreamRelay(exchange) if exchange.incoming.wants_stream else Whole(exchange)


def _recipe(incoming: Incoming, upstream: Upstream, seed: str, now: int) -> Recipe:
    """As a replay of the tape will have it."""
    tools = incoming.json.get("tools")
    return Recipe(
        dialect=upstream.dialect,
        policy=upstream.policy,
        tools=tools if isinstance(tools, list) else None,
        request=incoming.json,
        ids=call_ids(seed),
        now=now,
    )


def _request_of(incoming: Incoming) -> Any:
    """The body as the tape keeps it. What is no JSON (a sound file, say) is named but not kept."""
    if incoming.json is not None or not incoming.body:
        return incoming.json
    return {"not_json": f"{len(incoming.body)} bytes"}


def _facts(incoming: Incoming, outgoing: Outgoing, chat: bool) -> dict[str, Any]:
    return {
        "session": incoming.session,
        "parent_session": incoming.parent_session,
        "upstream": outgoing.upstream.name,
        "url": outgoing.url,
        "method": incoming.method,
        "path": incoming.path + (f"?{incoming.query}" if incoming.query else ""),
        "client_headers": _listed(incoming.headers),
        "upstream_headers": _listed(outgoing.headers),
        "stream": incoming.wants_stream,
        "kind": "chat" if chat else "relay",
    }


def _listed(pairs: Pairs) -> list[list[str]]:
    return [list(pair) for pair in pairs]


def _clock(begun: float) -> Callable[[], float]:
    # Not the loop's clock: uvloop's counts whole milliseconds.
    now = time.perf_counter
    return lambda: now() - begun


async def _watch(exchange: Exchange, receive: Receive) -> None:
    await gone(receive)
    exchange.leave()


def _own_fault(error: Exception, where: str) -> Fault:
    """A bug in the proxy: said on standard error, where the one who can report it looks."""
    message = f"the workbench itself failed: {type(error).__name__}: {error}"
    say(f"workbench: {message} ({where})")
    if os.environ.get("WORKBENCH_TRACEBACK"):
        for line in traceback.format_exception(error):
            say(line.rstrip())
    return Fault(500, f"{message}. This is a bug: please report it.", "workbench_error", permanent=True)


async def _tell(exchange: Exchange, fault: Fault) -> None:
    """To the client, as far as it can still be told; otherwise the server hangs up."""
    if not exchange.client.started:
        await answer_fault(exchange, fault)
    exchange.end("error", error=fault.error)


def _bad(status: int, message: str) -> Fault:
    return Fault(status, message, "invalid_request_error", permanent=True)
