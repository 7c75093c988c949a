"""The guard: what may come in at all. A web page, a foreign name for this machine, a wrong token may not."""

from __future__ import annotations

import hmac
import ipaddress
import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from transformer.dialects import EXAMPLE
from transformer.frontends import FRONTENDS
from transformer.frontends.frontend import Frontend
from workbench.config.settings import Settings
from workbench.errors import UserError
from workbench.proxy.faults import Fault
from workbench.proxy.incoming import Pairs, decoded, encoded, first

CONTROL = "/_workbench"
_SAME = ("none", "same-origin")
_ALLOWED = b"access-control-allow-origin"
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::[0-9]*)?")


def is_loopback(host: str) -> bool:
    """An address that only this machine reaches; `localhost` and names below it always are."""
    name = host.strip("[]").lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def bearer(value: str | None) -> str | None:
    """The token in an Authorization header."""
    scheme, _, token = (value or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def same(given: str | None, wanted: str) -> bool:
    """Compared in constant time."""
    return given is not None and hmac.compare_digest(given.encode(), wanted.encode())


class Guard:
    """An ASGI application before the real one: it refuses, or passes on."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._local = is_loopback(settings.listen)
        self._hosts = {host.lower() for host in settings.allow_hosts}
        self._origins = {origin.rstrip("/") for origin in settings.allow_origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = decoded(scope["headers"])
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await refuse(send, refusal)
            return
        origin = first(headers, "origin")
        if origin is not None:
            if scope["method"] == "OPTIONS" and first(headers, "access-control-request-method"):
                # A browser's preflight request; it has no token.
                await respond(send, 204, _preflight(origin, headers), b"")
                return
            send = _allowing(send, origin)
        if self._may_use(scope["path"], headers):
            await self._app(scope, receive, send)
        else:
            wanted = "this proxy needs its token: as the client's API key, or in x-workbench-token"
            await refuse(send, _no(401, wanted))

    def _refusal(self, scope: Scope, headers: Pairs) -> Fault | None:
        if sum(len(name) + len(value) for name, value in scope["headers"]) > self._settings.max_header_bytes:
            return _no(431, "the request's headers are too large (max_header_bytes sets the limit)")
        host = first(headers, "host") or ""
        if not self._may_be_called(_host_name(host)):
            return _no(
                403,
                f"this proxy is not called {host!r}; use http://127.0.0.1, or name it in allow_hosts",
            )
        origin = first(headers, "origin")
        allowed = origin is None or origin in self._origins or "*" in self._origins
        if not allowed or (origin is None and first(headers, "sec-fetch-site") not in (None, *_SAME)):
            page = origin or "another site"
            return _no(403, f"requests from a web page ({page}) are refused; allow_origins can allow it")
        return None

    def _may_be_called(self, host: str) -> bool:
        if is_loopback(host) or host.lower() in self._hosts or "*" in self._hosts:
            return True
        # A name can be made to point anywhere (DNS rebinding), an address cannot.
        return not self._local and _is_address(host)

    def _may_use(self, path: str, headers: Pairs) -> bool:
        token = self._settings.token
        # The control endpoints have a token of their own. Only for paths below them: all others go upstream.
        if token is None or path.startswith(f"{CONTROL}/"):
            return True
        # Clients of Messages send their key in a header of its own.
        given = (
            first(headers, "x-workbench-token"),
            bearer(first(headers, "authorization")),
            first(headers, "x-api-key"),
        )
        return any(same(one, token) for one in given)


def _no(status: int, message: str) -> Fault:
    return Fault(status, message, "workbench_refused", permanent=True)


def _host_name(host: str) -> str:
    """Without the port; an IPv6 address keeps its brackets. Empty, where it is not a host and a port."""
    found = _HOST.fullmatch(host)
    return found[1] if found else ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _preflight(origin: str, headers: Pairs) -> Pairs:
    wanted = first(headers, "access-control-request-headers") or "*"
    return [
        *_allow(origin),
        ("access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE"),
        ("access-control-allow-headers", wanted),
        ("access-control-max-age", "600"),
    ]


def _allow(origin: str) -> Pairs:
    return [("access-control-allow-origin", origin), ("vary", "Origin")]


def _allowing(send: Send, origin: str) -> Send:
    """With headers that tell the browser that its page may read the answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            # Upstream may allow pages as well: if there are two such headers, a browser accepts neither.
            others = [pair for pair in message["headers"] if pair[0].lower() != _ALLOWED]
            message = {**message, "headers": [*others, *encoded(_allow(origin))]}
        await send(message)

    return sending


async def refuse(send: Send, fault: Fault, frontend: Frontend | None = None) -> None:
    """An answer of our own: in OpenAI's shape, unless the client's API has another."""
    said = (frontend or FRONTENDS["chat"]).error(fault.status, fault.error, fault.permanent)
    await respond(send, said.status, [("content-type", said.type)], said.body)


async def respond(send: Send, status: int, headers: Pairs, body: bytes) -> None:
    """A whole answer, where there is no exchange."""
    length = [] if status == 204 else [("content-length", str(len(body)))]
    await send({"type": "http.response.start", "status": status, "headers": encoded([*headers, *length])})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def check_settings(settings: Settings) -> None:
    if not settings.upstreams:
        raise UserError(
            "there is no upstream to talk to: name one with --upstream http://127.0.0.1:8000/v1 --dialect "
            f"{EXAMPLE}, or write a workbench.toml with `workbench init`"
        )
    if not is_loopback(settings.listen) and settings.token is None:
        raise UserError(
            f"on {settings.listen} others can reach this proxy, and with it your models and keys: that needs "
            "a token (--token, or WORKBENCH_TOKEN), which clients then send as their API key"
        )
