"""The proxy: takes a client's request, finds its upstream, and has the exchange carried out."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
import traceback
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from starlette.types import Receive, Scope, Send

from workbench.config.settings import Settings, Upstream
from workbench.output import say
from workbench.proxy.asitis import AsItIs
from workbench.proxy.client import Client, gone
from workbench.proxy.exchange import Exchange, Outgoing
from workbench.proxy.faults import Fault
from workbench.proxy.guard import bearer, refuse, same
from workbench.proxy.headers import upward
from workbench.proxy.incoming import Incoming, Left, TooLarge, read_incoming
from workbench.proxy.opening import Opening
from workbench.proxy.relay import StreamRelay
from workbench.proxy.replies import answer_fault
from workbench.proxy.routing import Routes, Sending, address, prepare
from workbench.proxy.whole import Whole
from workbench.proxy.wire import Wire
from workbench.recording.recorder import Recorder
from workbench.recording.recording import Recording
from workbench.recording.unrecorded import Unrecorded

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
        self._stopped: Fault | None = None  # for what begins when all else has been ended

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
        if incoming.is_chat and incoming.json is None:
            return _bad(400, "the body of a chat request is a JSON object; this one is not")
        if _climbs(incoming.path):
            return _bad(400, "a path with . or .. in it would lead out of upstream's API")
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
        if sending is None:
            own = Sending(incoming.body)
            sending = await self._prepared(incoming, upstream) if incoming.is_chat else own
        outgoing = self._outgoing(incoming, upstream, sending)
        opening = Opening(incoming, outgoing, sending, started, secrets.token_hex(6))
        recording: Any = Unrecorded()
        if incoming.method == "POST":
            known = (upstream.api_key, self.settings.token, *upstream.secrets)
            recording = self.recorder.begin(opening.header(**more), [secret for secret in known if secret])
        exchange = self._made(opening, recording, send, begun)
        for note in sending.notes:
            exchange.note(note.code, note.level, note.message, "request")
        return exchange

    async def _prepared(self, incoming: Incoming, upstream: Upstream) -> Sending:
        template = self.routes.template(upstream)
        if len(incoming.body) < _LARGE:
            return prepare(incoming, upstream, template)
        return await asyncio.to_thread(prepare, incoming, upstream, template)

    def _outgoing(self, incoming: Incoming, upstream: Upstream, sending: Sending) -> Outgoing:
        headers = upward(incoming.headers, upstream)
        url = address(upstream, incoming.path, incoming.query)
        return Outgoing(upstream, incoming.method, url, headers, sending.body)

    def _made(self, opening: Opening, recording: Recording, send: Send, begun: float) -> Exchange:
        clock = _clock(begun)
        client = Client(send, recording, clock)
        way = (opening.incoming, opening.outgoing, opening.recipe)
        return Exchange(self.settings, self.wire, *way, recording, client, clock)

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
        if self._stopped is not None:
            exchange.interrupt(self._stopped)
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
            exchange.end("cancelled", error=exchange.why_cancelled)
            self.live.discard(exchange)
            await exchange.close()

    def interrupt_all(self, message: str) -> None:
        self._stopped = Fault(503, message, "upstream_error", "shutdown")
        for exchange in list(self.live):
            exchange.interrupt(self._stopped)

    async def close(self) -> None:
        for exchange in list(self.live):
            exchange.end("cancelled", error="the proxy was stopped")
        await self.wire.close()
        await asyncio.to_thread(self.recorder.close)


def _work_for(exchange: Exchange) -> StreamRelay | Whole | AsItIs:
    if exchange.recipe is None:
        return AsItIs(exchange)
    return StreamRelay(exchange) if exchange.incoming.wants_stream else Whole(exchange)


def _climbs(path: str) -> bool:
    """Libraries resolve such segments, encoded ones as well: what was below /v1 would be anywhere."""
    return not {".", ".."}.isdisjoint(unquote(path).split("/"))


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
        for line in "".join(traceback.format_exception(error)).splitlines():
            say(line)
    return Fault(500, f"{message}. This is a bug: please report it.", "workbench_error", permanent=True)


async def _tell(exchange: Exchange, fault: Fault) -> None:
    """To the client, as far as it can still be told; otherwise the server hangs up."""
    if not exchange.client.started:
        await answer_fault(exchange, fault)
    exchange.end("error", error=fault.error)


def _bad(status: int, message: str) -> Fault:
    return Fault(status, message, "invalid_request_error", permanent=True)
