"""A request as the client sent it, read whole, and which of its headers go on, in either direction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from starlette.types import Receive, Scope

from transformer.frontends import FRONTENDS
from transformer.frontends.frontend import Frontend
from transformer.frontends.messages import COUNT_TOKENS
from workbench.config.settings import Upstream
from workbench.proxy.encodings import TooLong, decode
from workbench.text import json_object

Pairs = list[tuple[str, str]]

# Headers of one connection only (RFC 9110, 7.6.1), and those that we write ourselves, in either direction.
_HOP = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer "
    "transfer-encoding upgrade".split()
)
_WRITTEN_UP = frozenset({"host", "content-length", "accept-encoding", "expect", "x-workbench-token"})
# The body that goes down is decoded, and its length is not known before its end.
_WRITTEN_DOWN = frozenset({"content-length", "content-encoding"})


def decoded(raw: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """Headers of ASGI as text; any byte can be in a header's value."""
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw]


def encoded(pairs: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """And back."""
    return [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in pairs]


def first(pairs: Iterable[tuple[str, str]], name: str) -> str | None:
    """The value of the first header of this name, which is in lower case."""
    return next((value for key, value in pairs if key.lower() == name), None)


def headers_for_upstream(pairs: Pairs, upstream: Upstream) -> Pairs:
    """The client's headers, with the upstream's own and its credential instead of those of the same name."""
    own = {name.lower(): value for name, value in upstream.headers.items()}
    if upstream.api_key:
        own.setdefault("authorization", f"Bearer {upstream.api_key}")
    # A compressor buffers: events would come late, and many at once.
    own.setdefault("accept-encoding", "identity")
    kept = [pair for pair in _end_to_end(pairs) if pair[0] not in _WRITTEN_UP and pair[0] not in own]
    return [*kept, *own.items()]


def headers_for_client(pairs: Pairs) -> Pairs:
    """Upstream's headers, without those that are about its connection or its encoding."""
    return [pair for pair in _end_to_end(pairs) if pair[0] not in _WRITTEN_DOWN]


def _end_to_end(pairs: Pairs) -> Pairs:
    named = {
        word.strip().lower()
        for key, value in pairs
        if key.lower() == "connection"
        for word in value.split(",")
    }
    return [(key.lower(), value) for key, value in pairs if key.lower() not in _HOP | named]


CHAT = FRONTENDS["chat"].endpoint
_FRONTENDS = {frontend.endpoint: frontend for frontend in FRONTENDS.values()}
# Endpoints that are answered here if upstream does not speak the API itself.
SERVED = (*_FRONTENDS, COUNT_TOKENS)
SERVES = f"This proxy serves {', '.join(f'/v1{path}' for path in SERVED)}"
_BASES = ("/v1", "/api/v1")  # prefixes of an endpoint; doubled if a base URL has one too many


class TooLarge(Exception):
    """The body is longer than we accept."""


class Left(Exception):
    """The client went away before its request was whole."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A client's request."""

    method: str
    path: str  # below /v1, whether the client said /v1 or not: "/chat/completions"
    query: str
    headers: Pairs
    body: bytes
    json: Any = None  # its body, if that is a JSON object

    @property
    def frontend(self) -> Frontend | None:
        """The API that this is a request of; None for anything else, which is relayed unchanged."""
        return _FRONTENDS.get(self.path) if self.method == "POST" else None

    @property
    def counts_tokens(self) -> bool:
        return self.path == COUNT_TOKENS and self.method == "POST"

    @property
    def parent_session(self) -> str | None:
        return first(self.headers, "x-parent-session-id")

    @property
    def authorization(self) -> str | None:
        """The client's credential, as a server of chats wants it; clients of Messages send a key alone."""
        key = first(self.headers, "x-api-key")
        return first(self.headers, "authorization") or (f"Bearer {key}" if key else None)

    @property
    def model(self) -> str | None:
        model = self.json.get("model") if self.json is not None else None
        return model if isinstance(model, str) else None

    @property
    def wants_stream(self) -> bool:
        return self.json is not None and bool(self.json.get("stream"))


async def read_incoming(scope: Scope, receive: Receive, limit: int) -> Incoming:
    """All of it. Raises TooLarge as soon as that is known, Left when the client does not finish.

    The body of what may be converted is decoded, which raises DecodingError if it fails.
    """
    headers = decoded(scope["headers"])
    said = first(headers, "content-length") or ""
    if said.isdigit() and int(said) > limit:
        raise TooLarge
    body = await _read_body(receive, limit)
    raw_path = scope.get("raw_path") or scope["path"].encode()
    path = raw_path.partition(b"?")[0].decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    path = below_base(path)
    if path in SERVED:
        try:
            body = decode(body, first(headers, "content-encoding"), limit)
        except TooLong:
            raise TooLarge from None
    return Incoming(scope["method"], path, query, headers, body, json_object(body))


async def _read_body(receive: Receive, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Left
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLarge
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


def below_base(path: str) -> str:
    """The path without /v1: clients differ in whether their base URL ends with it, and both are right.

    Our endpoints are also recognised with an extra slash or an extra base.
    """
    plain = "/" + "/".join(part for part in path.split("/") if part)
    for _ in range(2):
        base = next((base for base in _BASES if plain.startswith(f"{base}/")), "")
        plain = plain.removeprefix(base)
    if plain in SERVED:
        return plain
    return path[3:] or "/" if path == "/v1" or path.startswith("/v1/") else path
