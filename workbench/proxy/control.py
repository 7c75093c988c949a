"""What a running proxy can be asked: its health by anyone, all else by a viewer that has its token.

With several workers, a request here reaches any one of them. An endpoint whose answer or effect concerns all
of them says how their answers are combined (`_checked`); `team.py` explains it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from transformer.frontends import find_frontend
from transformer.frontends.frontend import Frontend
from transformer.jsontext import dumps
from transformer.policy import Policy, PolicyError
from workbench import __version__
from workbench.config.kinds import sendable
from workbench.config.settings import Upstream
from workbench.errors import UserError
from workbench.proxy.application import Proxy
from workbench.proxy.client import no_client
from workbench.proxy.guard import CONTROL, bearer, same
from workbench.proxy.incoming import Incoming, headers_for_upstream
from workbench.proxy.intercept import read_wish
from workbench.proxy.outgoing import UpstreamBody, address, prepare
from workbench.proxy.team import ALONE, Team
from workbench.tape.recipe import known_dialect
from workbench.text import json_object

Body = dict[str, Any]


class Refused(Exception):
    """A request that cannot be carried out, with the status and the sentence for it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Control:
    """The endpoints below `/_workbench`."""

    def __init__(self, proxy: Proxy, token: str, stop: Callable[[], None], team: Team | None = None) -> None:
        self._proxy = proxy
        self._team = team
        self._token = token
        self._stop = stop
        self._resends: set[asyncio.Task[None]] = set()

    def routes(self) -> Mount:
        return Mount(
            CONTROL,
            routes=[
                Route("/status", self._checked(self.status, whole_status), methods=["GET"]),
                Route("/resend", self._checked(self.resend), methods=["POST"]),
                Route("/upstreams/{name}", self._checked(self.change, _own), methods=["PATCH"]),
                Route(
                    "/breakpoints", self._checked(self.breakpoints, _own), methods=["GET", "PUT", "DELETE"]
                ),
                Route("/held", self._checked(self.held, _all_held), methods=["GET"]),
                Route("/held/{id}", self._checked(self.decide), methods=["POST"]),
                Route("/stop", self._checked(self.stop), methods=["POST"]),
                Route("/shared", self._checked(self.shared), methods=["GET", "POST"]),
                Route("/known", self._checked(self.known), methods=["POST"]),
            ],
        )

    def _checked(
        self, handler: Callable[[Request, Body], Any], together: Together | None = None
    ) -> Callable[[Request], Any]:
        """With `together`, a request to a team goes to each of its workers."""

        async def checked(request: Request) -> Response:
            given = request.headers.get("x-workbench-token") or bearer(request.headers.get("authorization"))
            if not same(given, self._token):
                return _error(401, "the control endpoints want the token of <library>/proxies/<pid>.json")
            try:
                body = await self._body(request)
                answer = await handler(request, body)
                if together is not None and self._asks_all(request):
                    answer = together(answer, await self._of_others(request, body))
                return JSONResponse(answer)
            except Refused as refused:
                return _error(refused.status, str(refused))

        return checked

    def _asks_all(self, request: Request) -> bool:
        return self._team is not None and ALONE not in request.headers

    async def _of_others(self, request: Request, body: Body) -> list[Body]:
        assert self._team is not None
        path = request.url.path.removeprefix(CONTROL)
        return await self._team.ask(request.method, path, body if request.method != "GET" else None)

    async def _body(self, request: Request) -> Body:
        limit = self._proxy.settings.max_body_bytes
        parts, size = [], 0
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            if size > limit:
                raise Refused(413, f"the request is larger than {limit} bytes")
        data = b"".join(parts)
        body = json_object(data) if data.strip() else {}
        if body is None:
            raise Refused(400, "the body is not a JSON object that can be read")
        return body

    # -- what can be asked

    async def status(self, request: Request, body: Body) -> Body:
        proxy = self._proxy
        return {
            "version": __version__,
            "pid": os.getpid() if self._team is None else self._team.pid,
            "workers": [os.getpid()],
            "upstreams": [_shown(proxy, upstream) for upstream in proxy.routes.upstreams.values()],
            "default": proxy.settings.default,
            "running": [exchange.recording.id for exchange in proxy.running if exchange.recording.id],
            "held_back": {
                exchange.recording.id: held
                for exchange in proxy.running
                if exchange.held_back is not None and (held := exchange.held_back())
            },
            "recorder": _recorder_state(proxy),
        }

    async def change(self, request: Request, body: Body) -> Body:
        """Another dialect or policy for an upstream, from the next request on."""
        upstream = self._upstream(request.path_params["name"])
        unknown = set(body) - {"dialect", "policy"}
        if unknown:
            raise Refused(
                400, f"there is no {', '.join(sorted(unknown))} to change; dialect and policy can be"
            )
        dialect, policy = _wanted(upstream, body)
        changed = self._proxy.routes.change(upstream.name, dialect=dialect, policy=policy)
        return _shown(self._proxy, changed)

    async def breakpoints(self, request: Request, body: Body) -> Body:
        """Where answers are held, from the next one on. Without them (DELETE) held answers are let go."""
        intercept = self._proxy.intercept
        if request.method == "DELETE":
            intercept.reset()
        elif request.method == "PUT":
            texts, limit = body.get("breakpoints"), body.get("limit")
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise Refused(400, 'breakpoints is a list of texts such as "tool:bash"')
            if limit is not None and (type(limit) not in (int, float) or not 0 < limit <= _LONGEST_HOLD):
                raise Refused(400, f"limit is a number of seconds up to {_LONGEST_HOLD}")
            _do(lambda: intercept.set(texts, limit))
        return {"breakpoints": [str(one) for one in intercept.breakpoints], "limit": intercept.limit}

    async def held(self, request: Request, body: Body) -> Body:
        return {"held": [hold.shown() for hold in self._proxy.intercept.held.values()]}

    async def decide(self, request: Request, body: Body) -> Body:
        """What becomes of an answer that is held: let go, edited, dropped."""
        intercept, id, what = self._proxy.intercept, request.path_params["id"], body.get("do")
        if id not in intercept.held and self._asks_all(request):
            for done in await self._of_others(request, body):
                if "refused" in done:
                    raise Refused(409, done["refused"])
                return done
        try:
            self._decide(id, what, body)
        except Refused as refused:
            # Another worker asks, and this one holds the answer: its reason is reported.
            if id in intercept.held and ALONE in request.headers:
                return {"refused": str(refused)}
            raise
        return {"id": id, "done": what}

    def _decide(self, id: str, what: object, body: Body) -> None:
        intercept = self._proxy.intercept
        if what == "release":
            _do(lambda: intercept.release(id))
        elif what == "drop":
            _do(lambda: intercept.drop(id))
        elif what == "edit":
            _do(lambda: intercept.edit(id, *read_wish(body)))
        else:
            raise Refused(400, 'do is "release", "drop" or "edit"')

    async def shared(self, request: Request, body: Body) -> Body:
        """The state that all workers share, for a replacement; or what one of them has just learnt."""
        proxy = self._proxy
        if request.method == "POST":
            proxy.authorizations.update(body.get("authorizations") or {})
            return {}
        return {
            "upstreams": [_shown(proxy, upstream) for upstream in proxy.routes.upstreams.values()],
            "breakpoints": [str(one) for one in proxy.intercept.breakpoints],
            "limit": proxy.intercept.limit,
            "authorizations": proxy.authorizations,
        }

    async def known(self, request: Request, body: Body) -> Body:
        """What this worker remembers of earlier turns, for one that gets the next."""
        return self._proxy.remembered(body)

    async def catch_up(self) -> None:
        """State copied from another worker; defaults if none answers."""
        assert self._team is not None
        proxy = self._proxy
        for state in (await self._team.ask("GET", "/shared"))[:1]:
            for one in (each for each in state["upstreams"] if each["changed"]):
                upstream = proxy.routes.upstreams[one["name"]]
                dialect, policy = _wanted(upstream, {"dialect": one["dialect"], "policy": one["policy"]})
                proxy.routes.change(upstream.name, dialect=dialect, policy=policy)
            proxy.intercept.set(state["breakpoints"], state["limit"])
            proxy.authorizations.update(state["authorizations"])

    async def stop(self, request: Request, body: Body) -> Body:
        asyncio.get_running_loop().call_soon(self._stop)
        return {"stopping": True}

    async def resend(self, request: Request, body: Body) -> Body:
        """Ask again, as a new exchange. `body` is the client's request, or with `stage` "upstream" exactly
        what goes up; then `request` is the client's, for the tools it offers."""
        upstream = self._resend_upstream(body)
        dialect, policy = _wanted(upstream, body)
        upstream = replace(upstream, dialect=dialect, policy=policy)
        # In a thread: a template is tried in its own process, and other answers must go on.
        incoming, sent = await asyncio.to_thread(self._resent, body, upstream)
        exchange = await self._proxy.begin(
            incoming, upstream, no_client, body=sent, resend_of=body.get("of"), **_labels(body.get("labels"))
        )
        task = asyncio.ensure_future(self._proxy.carry_out(exchange))
        self._resends.add(task)
        task.add_done_callback(self._resends.discard)
        return {"id": exchange.recording.id, "path": str(exchange.recording.path)}

    def _resend_upstream(self, body: Body) -> Upstream:
        if body.get("upstream") is not None:
            return self._upstream(str(body["upstream"]))
        asked = body.get("request") or body.get("body")
        model = asked.get("model") if isinstance(asked, dict) else None
        found = self._proxy.routes.find(model if isinstance(model, str) else None)
        if found is None:
            raise Refused(400, "which upstream? There is no default one")
        return found

    def _resent(self, body: Body, upstream: Upstream) -> tuple[Incoming, UpstreamBody]:
        given = body.get("body")
        if not isinstance(given, dict):
            raise Refused(400, 'the request to send is in "body", a JSON object')
        headers = [("content-type", "application/json"), ("accept", "*/*")]
        authorization = self._proxy.authorizations.get(upstream.name)
        if authorization is not None:
            headers.append(("authorization", authorization))
        if body.get("session") is not None:
            headers.append(("x-session-id", _session(body["session"])))
        if body.get("stage") not in (None, "client", "upstream"):
            raise Refused(400, 'stage is "client" or "upstream"')
        path = _frontend(body.get("frontend")).endpoint
        if body.get("stage") == "upstream":
            client = body.get("request") if isinstance(body.get("request"), dict) else given
            incoming = Incoming("POST", path, "", headers, dumps(client), client)
            return incoming, UpstreamBody(dumps(given), given)
        incoming = Incoming("POST", path, "", headers, dumps(given), given)
        return incoming, self._prepared(incoming, upstream, body.get("template"))

    def _prepared(self, incoming: Incoming, upstream: Upstream, template: object) -> UpstreamBody:
        if template is not None and not isinstance(template, str):
            raise Refused(400, "template is the text of a prompt template")
        return prepare(incoming, upstream, self._proxy.routes.template(upstream), template)

    def _upstream(self, name: str) -> Upstream:
        try:
            return self._proxy.routes.upstreams[name]
        except KeyError:
            known = ", ".join(self._proxy.routes.upstreams)
            raise Refused(404, f"there is no upstream {name!r}; there are {known}") from None


_LONGEST_HOLD = 3600


def _do(work: Callable[[], None]) -> None:
    try:
        work()
    except UserError as error:
        raise Refused(409, error.message) from None


def _frontend(name: object) -> Frontend:
    """The API of the request; a chat by default."""
    try:
        return find_frontend("chat" if name is None else str(name))
    except ValueError as error:
        raise Refused(400, str(error)) from None


def _session(value: object) -> str:
    if not isinstance(value, str) or not sendable(value):
        raise Refused(400, "session is the name of a conversation, as it can be sent in a header")
    return value


# Labels that a try writes on the tapes of its exchanges.
_LABELS = ("try_id", "prompt", "variant", "case")


def _labels(value: object) -> dict[str, str]:
    labels = {} if value is None else value
    if not isinstance(labels, dict) or not set(labels) <= set(_LABELS):
        raise Refused(400, f"labels is an object with texts for {', '.join(_LABELS)}")
    return {key: str(label) for key, label in labels.items()}


def _wanted(upstream: Upstream, body: Body) -> tuple[str, Policy]:
    try:
        dialect = known_dialect(body.get("dialect", upstream.dialect))
        policy = upstream.policy
        if body.get("policy") is not None:
            policy = Policy.from_mapping(body["policy"])
    except (PolicyError, TypeError, AttributeError, UserError) as error:
        raise Refused(422, str(error)) from None
    return dialect, policy


Together = Callable[[Body, list[Body]], Body]


def _own(own: Body, others: list[Body]) -> Body:
    """All workers have done the same."""
    return own


def _all_held(own: Body, others: list[Body]) -> Body:
    return {"held": [held for one in (own, *others) for held in one["held"]]}


def whole_status(own: Body, others: list[Body]) -> Body:
    """A team's status: what runs in any worker, what any recorder has lost."""
    every = (own, *others)
    recorder = dict(own["recorder"])
    for key in ("problem", "index_problem"):
        recorder[key] = next((one["recorder"][key] for one in every if one["recorder"][key]), None)
    for key in ("lost_lines", "lost_bytes"):
        recorder[key] = sum(one["recorder"][key] for one in every)
    lists = {key: [item for one in every for item in one[key]] for key in ("workers", "running")}
    held = {id: what for one in every for id, what in one["held_back"].items()}
    return own | lists | {"recorder": recorder, "held_back": held}


_HEALTH_TIMEOUT = 2.0


async def health(proxy: Proxy) -> Response:
    """Whether a request would get through, and whether it would be kept. Anyone may ask that."""
    reached = asyncio.gather(*(_reachable(proxy, name) for name in proxy.routes.upstreams))
    state: Body = {"workers": [], "running": list(proxy.running), "held_back": {}}
    state["recorder"] = _recorder_state(proxy)
    if proxy.team is not None:
        state = whole_status(state, await proxy.team.ask("GET", "/status"))
    upstreams, recorder = dict(await reached), state["recorder"]
    well = recorder["problem"] is None and all(one["reachable"] for one in upstreams.values())
    library = str(proxy.settings.library)
    tapes = {"writable": recorder["problem"] is None, "library": library, **recorder}
    running = len(state["running"])
    body = {"ok": well, "version": __version__, "running": running, "upstreams": upstreams, "tapes": tapes}
    return JSONResponse(body, 200 if well else 503)


async def _reachable(proxy: Proxy, name: str) -> tuple[str, Body]:
    upstream = proxy.routes.upstreams[name]
    url, headers = address(upstream, "/models"), headers_for_upstream([], upstream)
    problem = await proxy.upstream_client.reachable(upstream, url, headers, _HEALTH_TIMEOUT)
    said = {key: value for key, value in _shown(proxy, upstream).items() if key != "name"}
    return name, said | {"reachable": problem is None, "problem": problem}


def _recorder_state(proxy: Proxy) -> Body:
    recorder = proxy.recorder
    return {
        "problem": recorder.problem,
        "index_problem": recorder.index_problem,
        "lost_lines": recorder.lost_lines,
        "lost_bytes": recorder.lost_bytes,
    }


def _shown(proxy: Proxy, upstream: Upstream) -> Body:
    """`changed` has the configured values of what a viewer changed."""
    return {
        "name": upstream.name,
        "url": upstream.url,
        "dialect": upstream.dialect,
        "policy": upstream.policy.said(),
        "changed": proxy.routes.changed(upstream.name),
    }


def _error(status: int, message: str) -> Response:
    body = {"error": {"message": message, "type": "workbench_refused", "param": None, "code": None}}
    return Response(dumps(body), status, media_type="application/json")
