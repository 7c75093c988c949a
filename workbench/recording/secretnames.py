"""Secret names: which headers, query parameters and JSON members hold a credential."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")
_HEADER = re.compile(r"key|token|secret|auth|cookie|password|passwd|credential|signature")
# How many tokens are left, and how one has to authenticate: what helps to understand a failure stays.
_HARMLESS_HEADER = re.compile(r"rate-?limit|^(?:www|proxy)-authenticate$|^:?authority$")
_LONGEST = 100
_ALWAYS = (
    "apikey", "accesskey", "secretkey", "privatekey", "signingkey", "encryptionkey", "subscriptionkey",
    "accountkey", "accesskeyid", "password", "passwd", "passphrase", "secret", "authorization", "credential",
    "credentials", "cookie", "cookies", "apitoken", "accesstoken", "refreshtoken", "idtoken", "authtoken",
    "bearertoken", "sessiontoken", "securitytoken", "secrettoken", "usertoken", "clienttoken", "csrftoken",
    "hftoken", "githubtoken", "jwt",
)  # fmt: skip
_SCHEMA = frozenset(("type", "description", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"))
_IN_BODY = frozenset((*_ALWAYS, "token", "xapikey", "apikeys", "accesstokens"))
_IN_QUERY = frozenset((*_ALWAYS, "token", "key", "auth", "sig", "pwd", "pass", "xapikey"))


@lru_cache(maxsize=1024)
def is_secret_header(name: str) -> bool:
    """A header of HTTP: whatever sounds like a credential."""
    name = name.lower()
    return _HEADER.search(name) is not None and _HARMLESS_HEADER.search(name) is None


def is_secret_parameter(name: str) -> bool:
    """A parameter in a URL's query."""
    name = _plain(unquote(name))
    return name in _IN_QUERY or name.endswith((*_ALWAYS, "signature"))


def is_secret_field(name: str) -> bool:
    """A member of a request's JSON. `key`, `eos_token` and `max_tokens` are ordinary words there."""
    return len(name) <= _LONGEST and _is_secret_field(name)


@lru_cache(maxsize=4096)
def _is_secret_field(name: str) -> bool:
    name = _plain(name)
    return name in _IN_BODY or name.endswith(_ALWAYS)


def is_schema(value: Any) -> bool:
    """Whether this describes a value, in a tool's parameters, and is none."""
    return isinstance(value, Mapping) and not _SCHEMA.isdisjoint(value)


def _plain(name: str) -> str:
    return _NOT_ALPHANUMERIC.sub("", name.lower())
