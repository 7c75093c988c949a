"""The application after the guard: a client's request becomes an exchange, which is carried out to its end,
whatever that is. Here is everything that lives as long as the process.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sqlite3
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from starlette.types import Receive, Scope, Send

from transformer.frontends import FRONTENDS
from transformer.frontends.messages import counted_tokens
from transformer.jsontext import dumps
from transformer.upstreams import find_kind
from workbench.config.settings import Settings, Upstream
from workbench.library.turns import Chats
from workbench.library.turns import Turn as KnownTurn
from workbench.proxy.chats import ChatTurn, plan
from workbench.proxy.client import DIRECT, disconnected
from workbench.proxy.conversations import Conversations, Match, Turn, said_session, traces
from workbench.proxy.earlier import EarlierResponses
from workbench.proxy.encodings import DecodingError
from workbench.proxy.exchange import Exchange
from workbench.proxy.faults import Fault, Faulted
from workbench.proxy.guard import bearer, refuse, respond, same
from workbench.proxy.incoming import SERVED, SERVES, Incoming, Left, TooLarge, read_incoming
from workbench.proxy.intercept import Intercept
from workbench.proxy.models import MODELS, Models
from workbench.proxy.outgoing import Note, Outgoing, Routes, UpstreamBody, frontend_of, prepare
from workbench.proxy.relay import Relay, relay_for
from workbench.proxy.team import Team
from workbench.proxy.upstream import Limits, UpstreamClient
from workbench.recording.recorder import Recorder
from workbench.recording.recording import Recording, Unrecorded
from workbench.text import say

RESPONSES, MESSAGES = FRONTENDS["responses"], FRONTENDS["messages"]
_LARGE = 32 << 10  # a body whose rewriting takes so long that other streams would notice


class Proxy:
    """An ASGI application for all paths that go to an upstream."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        breakpoints: Sequence[str] = (),
        team: Team | None = None,
    ) -> None:
        self.settings = settings
        self.team = team
        self.recorder = recorder
        self.routes = Routes(settings)
        self.upstream_client = UpstreamClient(
            Limits(settings.connect_timeout, settings.idle_timeout, settings.answer_timeout)
        )
        for upstream in settings.upstreams.values():
            self.upstream_client.prepare(upstream)
        self.running: set[Exchange] = set()
        self.intercept = Intercept(breakpoints)
        # The last Authorization that clients sent for an upstream: for resends, in memory only.
        self.authorizations: dict[str, str] = {}
        self._telling: set[asyncio.Future[Any]] = set()
        self._conversations = Conversations()
        self._earlier = EarlierResponses(settings.library)
        self._models = Models(self.routes, self.upstream_client)
        self._chats: Chats | None = None
        self._opening = threading.Lock()
        self._stopped: Fault | None = None  # for exchanges that begin after all others were ended

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
        except DecodingError as error:
            await refuse(send, _bad(400, f"the request's body cannot be read: {error}"))
            return
        if incoming.method == "GET" and incoming.path.startswith(MODELS) and self._lists_models(incoming):
            await self._list_models(self._without_token(incoming), send)
            return
        upstream = self.routes.find(incoming.model)
        refusal = _refusal(incoming)
        if upstream is None or refusal is not None:
            await refuse(send, refusal or self._no_upstream(incoming), incoming.frontend)
            return
        incoming = self._without_token(incoming)
        if incoming.counts_tokens and counts_for(upstream):
            await respond(send, 200, [("content-type", "application/json")], _token_count(incoming))
            return
        self._remember_authorization(upstream.name, incoming.authorization)
        exchange = await self.begin(incoming, upstream, send)
        exchange.client.direct = scope.get("extensions", {}).get(DIRECT)
        watch = asyncio.ensure_future(_watch(exchange, receive))
        try:
            await self.carry_out(exchange, self.intercept.relay(exchange))
        finally:
            watch.cancel()

    def _lists_models(self, incoming: Incoming) -> bool:
        """If there is one upstream without names of ours, its own list is passed on unchanged."""
        upstreams = self.routes.upstreams.values()
        plain = all(find_kind(one.kind).relays and not one.models for one in upstreams)
        wanted = incoming.path == MODELS or incoming.path.startswith(f"{MODELS}/")
        return wanted and not (plain and len(upstreams) == 1)

    async def _list_models(self, incoming: Incoming, send: Send) -> None:
        try:
            body = await self._models.body(incoming)
        except Faulted as broken:
            await refuse(send, broken.fault)
            return
        if body is None:
            await refuse(send, _bad(404, f"there is no model {incoming.path.rpartition('/')[2]!r}"))
        else:
            await respond(send, 200, [("content-type", "application/json")], body)

    def _no_upstream(self, incoming: Incoming) -> Fault:
        model = incoming.model
        asked = f"no upstream serves the model {model!r}" if model else "no model is named"
        known = ", ".join(self.routes.upstreams)
        where = f"{asked} and there is no default upstream; there are {known} (workbench config)"
        return _bad(404, where if model else f"{where}. {SERVES}.")

    def _without_token(self, incoming: Incoming) -> Incoming:
        """Our own token must not be passed on."""
        token = self.settings.token
        if token is None or not same(bearer(incoming.authorization), token):
            return incoming
        ours = ("authorization", "x-api-key")
        return replace(incoming, headers=[pair for pair in incoming.headers if pair[0] not in ours])

    # -- an exchange

    async def begin(
        self,
        incoming: Incoming,
        upstream: Upstream,
        send: Send,
        *,
        body: UpstreamBody | None = None,
        **more: Any,
    ) -> Exchange:
        """A new exchange; nothing is sent yet. `more` goes into the tape's header."""
        started, begun = time.time(), time.perf_counter()
        if body is None:
            body = await self._body(incoming, upstream)
        turn = await self._turn(incoming, upstream, body)
        chat = None
        if frontend_of(incoming, upstream) is not None and find_kind(upstream.kind).remembers:
            chat = await asyncio.to_thread(self._chat_turn, incoming, upstream, body, said_session(incoming))
            call = chat.call(chat.place)
            notes = (*body.notes, *(Note(one.code, one.level, one.message) for one in chat.notes))
            body = replace(body, data=b"", changed=call.body, notes=notes)
        outgoing = Outgoing(incoming, upstream, body, started, turn, chat)
        recording = self._record(outgoing, more)
        exchange = Exchange(self.settings, self.upstream_client, outgoing, recording, send, begun)
        exchange.on_end = self._ended
        for note in body.notes:
            exchange.note(note.code, note.level, note.message, "request")
        return exchange

    async def _turn(self, incoming: Incoming, upstream: Upstream, body: UpstreamBody) -> Turn:
        if frontend_of(incoming, upstream) is None:
            return Turn(said_session(incoming))
        chat = incoming.json if body.chat is None else body.chat
        elsewhere = None if self.team is None else await self._match_elsewhere(self.team, incoming, chat)
        new = f"conversation-{secrets.token_hex(4)}"
        return self._conversations.turn(incoming, new, chat, elsewhere)

    # -- what workers of a team know of each other

    async def _match_elsewhere(self, team: Team, incoming: Incoming, chat: object) -> Match | None:
        """The session of a request whose earlier turns another worker had."""
        digests, ids = traces(incoming, chat)
        own = self._conversations.match(digests, ids)
        if not digests or (own is not None and own.rank == 3 and own.depth >= len(digests) - 1):
            return None
        said = await team.ask("POST", "/known", {"digests": digests, "ids": ids})
        return max((Match(*one["match"]) for one in said if one.get("match")), default=None)

    async def _learn_earlier(self, team: Team, request: Mapping[str, Any]) -> None:
        """A response that another worker has just given: its tape may not be written yet."""
        id = request["previous_response_id"]
        for one in await team.ask("POST", "/known", {"response": id}):
            if one.get("response"):
                asked, output = one["response"]
                self._earlier.remember(asked, {"id": id, "output": output})

    def remembered(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """For another worker."""
        return {
            "match": self._conversations.match(wanted.get("digests") or [], wanted.get("ids") or []),
            "response": self._earlier.known(wanted.get("response")),
        }

    def _remember_authorization(self, name: str, authorization: str | None) -> None:
        if authorization and authorization != self.authorizations.get(name):
            self.authorizations[name] = authorization
            if self.team is not None:
                told = self.team.ask("POST", "/shared", {"authorizations": {name: authorization}})
                self._telling.add(task := asyncio.ensure_future(told))
                task.add_done_callback(self._telling.discard)

    def _ended(self, exchange: Exchange, summary: Mapping[str, Any]) -> None:
        outgoing = exchange.outgoing
        self._conversations.answered(outgoing.turn, summary.get("answer"))
        if outgoing.frontend is RESPONSES and exchange.answer is not None:
            self._earlier.remember(outgoing.incoming.json, exchange.answer)
        chat, sent, place = exchange.chat, exchange.sent_place, exchange.place
        if chat is not None and sent is not None and place is not None and "error" not in summary:
            tape = exchange.recording.id or None
            turn = chat.answered(summary.get("answer"), place._replace(chat=sent.chat), tape)
            if turn is not None:
                self._remember(turn)

    def _chat_turn(
        self, incoming: Incoming, upstream: Upstream, body: UpstreamBody, session: str | None
    ) -> ChatTurn:
        asked = incoming.json if body.chat is None else body.chat
        sent = asked if body.changed is None else body.changed
        return plan(asked, sent, upstream, self.chats(), session, incoming.wants_stream)

    def chats(self) -> Chats:
        """What is known of chats that upstreams keep; opened when one is first needed."""
        with self._opening:
            if self._chats is None:
                self._chats = Chats(self.settings.library)
                for upstream in self.settings.upstreams.values():
                    self._chats.expire(upstream.name, time.time() - upstream.session_hours * 3600)
            return self._chats

    def _remember(self, turn: KnownTurn) -> None:
        try:
            self.chats().remember(turn)
        except sqlite3.Error as error:  # the conversation begins another chat next time
            say(f"workbench: the chat {turn.chat} cannot be remembered: {error}")

    async def _body(self, incoming: Incoming, upstream: Upstream) -> UpstreamBody:
        if frontend_of(incoming, upstream) is None:
            return UpstreamBody(incoming.body)
        if self.team is not None and self._earlier.reads(incoming.json):
            assert incoming.json is not None
            await self._learn_earlier(self.team, incoming.json)
        template = self.routes.template(upstream)
        arguments = (incoming, upstream, template, None, self._earlier.items)
        if len(incoming.body) < _LARGE and not self._earlier.reads(incoming.json):
            return prepare(*arguments)
        return await asyncio.to_thread(prepare, *arguments)

    def _record(self, outgoing: Outgoing, more: dict[str, Any]) -> Recording:
        if outgoing.incoming.method != "POST":
            return Unrecorded()
        upstream = outgoing.upstream
        known = (upstream.api_key, self.settings.token, *upstream.secrets)
        secrets = [secret for secret in known if secret]
        return self.recorder.begin(outgoing.tape_header(**more), secrets, outgoing.seed)

    async def carry_out(self, exchange: Exchange, relay: Relay | None = None) -> None:
        """To its end, whatever that is: the tape is closed, upstream's connection given back."""
        exchange.task = asyncio.current_task()
        self.running.add(exchange)
        if self._stopped is not None:
            exchange.interrupt(self._stopped)
        try:
            await (relay or relay_for(exchange)).run()
        except asyncio.CancelledError:
            if not exchange.client_left:
                raise
            assert exchange.task is not None
            exchange.task.uncancel()
        except Exception as error:
            await _tell(exchange, _own_fault(error, f"tape {exchange.recording.id}"))
        finally:
            exchange.end("cancelled", error=exchange.why_cancelled)
            self.running.discard(exchange)
            exchange.close()

    # -- the end

    def interrupt_all(self, message: str) -> None:
        """End running exchanges, and those that begin from now on, with an error for the client."""
        self._stopped = Fault(503, message, "upstream_error", "shutdown")
        for exchange in list(self.running):
            exchange.interrupt(self._stopped)

    async def close(self) -> None:
        """The tapes get their ends, the connections are closed."""
        for exchange in list(self.running):
            exchange.end("cancelled", error="the proxy was stopped")
        self.upstream_client.close()
        if self.team is not None:
            self.team.close()
        await asyncio.to_thread(self.recorder.close)
        if self._chats is not None:
            self._chats.close()


def _refusal(incoming: Incoming) -> Fault | None:
    if incoming.path in SERVED and incoming.method == "POST" and incoming.json is None:
        return _bad(400, "the body of a request is a JSON object; this one is not")
    if _climbs(incoming.path):
        return _bad(400, "a path with . or .. in it would lead out of upstream's API")
    return None


def counts_for(upstream: Upstream) -> bool:
    """Tokens are estimated here if upstream does not speak Messages itself."""
    return frontend_of(Incoming("POST", MESSAGES.endpoint, "", [], b""), upstream) is not None


def _token_count(incoming: Incoming) -> bytes:
    return dumps({"input_tokens": counted_tokens(MESSAGES.to_chat(incoming.json).body)})


def _climbs(path: str) -> bool:
    """Libraries resolve such segments, also encoded ones: a path below /v1 could lead anywhere."""
    return not {".", ".."}.isdisjoint(unquote(path).split("/"))


async def _watch(exchange: Exchange, receive: Receive) -> None:
    await disconnected(receive)
    exchange.leave()


def _own_fault(error: Exception, where: str) -> Fault:
    """A bug in the proxy: written to standard error, for the person who can report it."""
    message = f"the workbench itself failed: {type(error).__name__}: {error}"
    say(f"workbench: {message} ({where})")
    if os.environ.get("WORKBENCH_TRACEBACK"):
        for line in "".join(traceback.format_exception(error)).splitlines():
            say(line)
    return Fault(500, f"{message}. This is a bug: please report it.", "workbench_error", permanent=True)


async def _tell(exchange: Exchange, fault: Fault) -> None:
    """Tell the client, if that is still possible; otherwise the server hangs up."""
    if not exchange.client.started:
        await exchange.answer_fault(fault)
    exchange.end("error", error=fault.error)


def _bad(status: int, message: str) -> Fault:
    return Fault(status, message, "invalid_request_error", permanent=True)
