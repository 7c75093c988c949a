"""The credentials of one exchange, which are looked for in its answer as well."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from workbench.clients.endpoint import PLACEHOLDER
from workbench.recording.secretnames import is_schema, is_secret_field, is_secret_header, is_secret_parameter

SCHEME = re.compile(
    r"\s*(?:bearer|basic|digest|token|apikey|api-key|negotiate|aws4-hmac-sha256)\s+(?=\S)", re.IGNORECASE
)
PARAMETER = re.compile(r"(?<=[?&;#])([^=&;#?]{1,100})=([^&#;]*)")
_CREDENTIALS = frozenset(("authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key"))
_COOKIE_VALUE = re.compile(r"=([^;]*)")
# What is talked about in a request, and opens no door to the upstream.
_TALK = frozenset(("messages", "tools", "functions", "input", "prompt", "response_format"))
_SURELY = 16
# What people write where a client insists on a key: masking it would eat ordinary words, of ours, too.
_NO_KEYS = frozenset(
    (PLACEHOLDER, "password", "anything", "not-needed", "no-key-required", "lm-studio", "placeholder")
)


def own_credentials(header: Mapping[str, Any]) -> Iterator[str]:
    """The credentials that a tape's raw header shows by itself.

    Whatever only sounds like one must be long: `x-tokenizer: qwen2` is no reason to mask a name everywhere.
    """
    for key in ("client_headers", "upstream_headers"):
        yield from _in_headers(header.get(key) or ())
    for key in ("url", "path"):
        yield from _in_query(str(header.get(key) or ""))
    for key in ("request", "upstream_request"):
        yield from (text for text in _in_body(header.get(key)) if len(text) >= _SURELY)


def bare(secrets: Iterable[str]) -> Iterator[str]:
    """A credential is looked for without its scheme: an error that quotes it does not say Bearer."""
    for secret in secrets:
        scheme = SCHEME.match(secret)
        text = (secret[scheme.end() :] if scheme else secret).strip()
        if text.lower() not in _NO_KEYS:
            yield text
        if scheme and scheme[0].strip().lower() == "basic":
            yield _password(text)


def _password(basic: str) -> str:
    try:
        return base64.b64decode(basic, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def _in_headers(headers: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, value in headers:
        if name.lower() in _CREDENTIALS:
            yield value
        elif name.lower() == "cookie":
            yield from (part for part in _COOKIE_VALUE.findall(value) if len(part) >= _SURELY)
        elif is_secret_header(name) and len(value) >= _SURELY:
            yield value


def _in_query(url: str) -> Iterator[str]:
    for name, value in PARAMETER.findall(url):
        if len(value) >= _SURELY and is_secret_parameter(name):
            yield from {value, unquote(value)}


def _in_body(body: Any) -> Iterator[str]:
    """A stack and no recursion: this may be nested deeper than Python can follow."""
    parts = {key: value for key, value in body.items() if key not in _TALK} if isinstance(body, dict) else {}
    todo: list[tuple[Any, bool]] = [(parts, False)]
    while todo:
        value, secret = todo.pop()
        if isinstance(value, str):
            yield from (value,) if secret else ()
        elif isinstance(value, list):
            todo += [(inner, secret) for inner in value]
        elif isinstance(value, dict):
            todo += [
                (inner, secret or (is_secret_field(str(key)) and not is_schema(inner)))
                for key, inner in value.items()
            ]
