"""From a client's request to the exchange that carries it out: which upstream it goes to, at which
address, with which body, and what its tape says before anything is sent.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.types import Receive, Scope, Send

from transformer.answer.chunks import dumps
from transformer.answer.setting import call_ids
from transformer.dialects import DEFAULT
from transformer.policy import Policy
from transformer.records import Finding
from transformer.request.request import merged, transform_request
from workbench.config.settings import Settings, Upstream
from workbench.proxy.exchange import Client, Exchange, Outgoing, answer_fault, gone
from workbench.proxy.faults import Fault
from workbench.proxy.guard import bearer, refuse, same
from workbench.proxy.incoming import Incoming, Left, Pairs, TooLarge, read_incoming, upward
from workbench.proxy.relay import PassThrough, StreamRelay, WholeAnswer
from workbench.proxy.upstream import UpstreamClient
from workbench.recording.recorder import Recorder
from workbench.recording.recording import Recording, Unrecorded
from workbench.tape.format import make_header
from workbench.tape.recipe import Recipe
from workbench.text import say


@dataclass(frozen=True, slots=True)
class Note:
    """Something to tell about a request before it goes up."""

    code: str
    level: str
    message: str


@dataclass(frozen=True, slots=True)
class Sending:
    """What goes up. `changed` is the body as an object where it is not the client's own."""

    body: bytes
    changed: dict[str, Any] | None = None
    template: str | None = None
    notes: tuple[Note, ...] = ()


class Routes:
    """The upstreams as they are configured, with what a viewer changed since."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.upstreams: dict[str, Upstream] = dict(settings.upstreams)

    def find(self, model: str | None) -> Upstream | None:
        upstream = self._settings.route(model)
        return None if upstream is None else self.upstreams[upstream.name]

    def change(self, name: str, dialect: str, policy: Policy) -> Upstream:
        changed = replace(self.upstreams[name], dialect=dialect, policy=policy)
        self.upstreams[name] = changed
        return changed

    def template(self, upstream: Upstream) -> Path | None:
        return self._settings.template_of(upstream)


def address(upstream: Upstream, path: str, query: str = "") -> str:
    """The full URL of a path below /v1; an upstream's URL without any path means its /v1."""
    base = upstream.url.rstrip("/")
    if not urlsplit(base).path:
        base += "/v1"
    return base + path + (f"?{query}" if query else "")


def prepare(
    incoming: Incoming, upstream: Upstream, template_file: Path | None, template: str | None = None
) -> Sending:
    """The chat request on its way up. Where nothing is to be changed, the client's own bytes go."""
    body: dict[str, Any] = incoming.json
    notes: list[Note] = []
    if template is None:
        template, notes = _template(template_file)
    try:
        new, findings = transform_request(
            body, upstream.dialect, upstream.policy, template, upstream.template_tool_choice
        )
    except Exception as error:  # a bug of ours must not cost the user the answer
        new, findings = body, list[Finding]()
        reason = f"the workbench failed to write the tools into the prompt ({type(error).__name__}: {error})"
        notes.append(Note("transformer-failed", "error", f"{reason}; the request went up as it came"))
    notes += [Note(found.code, found.level, found.message) for found in findings]
    new = _adjusted(new, upstream)
    if new is body:
        return Sending(incoming.body, None, template, tuple(notes))
    return Sending(dumps(new), new, template, tuple(notes))


def _template(file: Path | None) -> tuple[str | None, list[Note]]:
    """Read anew for each request, so that an edit takes effect with the next one."""
    if file is None:
        return None, []
    try:
        return file.read_text(encoding="utf-8"), []
    except (OSError, UnicodeDecodeError) as error:
        message = f"the prompt template {file} cannot be read ({error}); the built-in one was used instead"
        return None, [Note("template-failed", "error", message)]


def _adjusted(body: dict[str, Any], upstream: Upstream) -> dict[str, Any]:
    """What the upstream's settings add; the same object where they add nothing."""
    new: Mapping[str, Any] = body
    model = body.get("model")
    if isinstance(model, str) and upstream.models.get(model, model) != model:
        new = {**new, "model": upstream.models[model]}
    if upstream.extra_body:
        new = merged(new, upstream.extra_body)
    if upstream.max_tokens is not None:
        new = _limited(new, upstream.max_tokens)
    return body if new is body else dict(new)


def _limited(body: Mapping[str, Any], most: int) -> Mapping[str, Any]:
    given = [key for key in ("max_tokens", "max_completion_tokens") if isinstance(body.get(key), int)]
    if not given:
        return {**body, "max_tokens": most}
    lowered = {key: most for key in given if body[key] > most}
    return {**body, **lowered} if lowered else body


@dataclass(frozen=True, slots=True)
class PreparedExchange:
    """What came and what goes up; `seed` is what the ids of calls are made from."""

    incoming: Incoming
    outgoing: Outgoing
    sending: Sending
    started: float
    seed: str

    @property
    def recipe(self) -> Recipe | None:
        """As a replay of the tape will have it. None for what is relayed as it is."""
        if not self.incoming.is_chat:
            return None
        upstream, tools = self.outgoing.upstream, self.incoming.json.get("tools")
        return Recipe(
            dialect=upstream.dialect,
            policy=upstream.policy,
            tools=tools if isinstance(tools, list) else None,
            request=self.incoming.json,
            ids=call_ids(self.seed),
            now=int(self.started),
        )

    def header(self, **more: Any) -> dict[str, Any]:
        """The tape's first line."""
        incoming, upstream = self.incoming, self.outgoing.upstream
        return make_header(
            f"{incoming.method} {incoming.path}",
            upstream.dialect if incoming.is_chat else DEFAULT,
            policy=upstream.policy.said() or None,
            model=incoming.model,
            started=self.started,
            ids=self.seed,
            now=int(self.started),
            request=_request_of(incoming),
            upstream_request=self.sending.changed,
            template=self.sending.template,
            **self._facts(),
            **more,
        )

    def _facts(self) -> dict[str, Any]:
        incoming, outgoing = self.incoming, self.outgoing
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
            "kind": "chat" if incoming.is_chat else "relay",
        }


def _request_of(incoming: Incoming) -> Any:
    """The body as the tape keeps it. What is no JSON (a sound file, say) is named but not kept."""
    if incoming.json is not None or not incoming.body:
        return incoming.json
    return {"not_json": f"{len(incoming.body)} bytes"}


def _listed(pairs: Pairs) -> list[list[str]]:
    return [list(pair) for pair in pairs]


_LARGE = 256 << 10  # a body that takes so long to rewrite that other streams would notice


class Proxy:
    """The application behind the guard, and everything that lives as long as the process."""

    def __init__(self, settings: Settings, recorder: Recorder) -> None:
        self.settings = settings
        self.recorder = recorder
        self.routes = Routes(settings)
        self.wire = UpstreamClient(settings.connect_timeout, settings.idle_timeout)
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
        opening = PreparedExchange(incoming, outgoing, sending, started, secrets.token_hex(6))
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

    def _made(self, opening: PreparedExchange, recording: Recording, send: Send, begun: float) -> Exchange:
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


def _work_for(exchange: Exchange) -> StreamRelay | WholeAnswer | PassThrough:
    if exchange.recipe is None:
        return PassThrough(exchange)
    return StreamRelay(exchange) if exchange.incoming.wants_stream else WholeAnswer(exchange)


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
