"""A request as the client sent it, read whole."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.types import Receive, Scope

from workbench.proxy.headers import Pairs, decoded, first

# orjson makes a float of an integer beyond 64 bits, and a request is not ours to round.
_LONG_NUMBER = re.compile(rb"[0-9]{19}")


CHAT = "/chat/completions"


class TooLarge(Exception):
    """The body is longer than we take."""


class Left(Exception):
    """The client went away before its request was whole."""


@dataclass(frozen=True, slots=True)
class Incoming:
    method: str
    path: str  # below /v1, whether the client said /v1 or not: "/chat/completions"
    query: str
    headers: Pairs
    body: bytes
    json: Any = None  # its body, where that is a JSON object

    @property
    def is_chat(self) -> bool:
        """The one request whose answer is converted."""
        return self.path == CHAT and self.method == "POST"

    @property
    def session(self) -> str | None:
        """What the client calls its conversation; OpenCode says it with every request."""
        return first(self.headers, "x-session-id") or first(self.headers, "session-id")

    @property
    def parent_session(self) -> str | None:
        return first(self.headers, "x-parent-session-id")

    @property
    def authorization(self) -> str | None:
        return first(self.headers, "authorization")

    @property
    def model(self) -> str | None:
        model = self.json.get("model") if self.json is not None else None
        return model if isinstance(model, str) else None

    @property
    def wants_stream(self) -> bool:
        return self.json is not None and bool(self.json.get("stream"))


async def read_incoming(scope: Scope, receive: Receive, limit: int) -> Incoming:
    """All of it. Raises TooLarge as soon as that is known, Left when the client does not finish."""
    headers = decoded(scope["headers"])
    said = first(headers, "content-length") or ""
    if said.isdigit() and int(said) > limit:
        raise TooLarge
    body = await _read_body(receive, limit)
    raw_path = scope.get("raw_path") or scope["path"].encode()
    path = raw_path.partition(b"?")[0].decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    return Incoming(scope["method"], below_v1(path), query, headers, body, object_in(body))


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


def below_v1(path: str) -> str:
    """Clients differ in whether their base URL ends with /v1: both are right."""
    return path[3:] or "/" if path == "/v1" or path.startswith("/v1/") else path


def object_in(body: bytes) -> dict[str, Any] | None:
    """The JSON object in a body, or None."""
    body = body.removeprefix(BOM_UTF8)
    if body.lstrip()[:1] != b"{":
        return None
    try:
        value = json.loads(body) if _LONG_NUMBER.search(body) else orjson.loads(body)
    except (ValueError, RecursionError):
        try:
            value = json.loads(body)  # lone surrogates, NaN: not ours to refuse
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None
