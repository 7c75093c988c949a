"""Redaction: no credential gets onto a tape.

In this order: names of headers, parameters and members that hold one; the credentials of the exchange itself;
the masker, which looks for these in the bytes of the answer, wherever reads cut them; and the redaction of
texts, URLs and JSON, which uses all of them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

import orjson

from workbench.errors import UserError
from workbench.recording.secretrules import Named, Rule, accepts, places, rules_for_bytes, rules_for_text

PLACEHOLDER = "workbench"  # clients insist on a key; the proxy ignores this one

# -- names that hold a credential

_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]+")
_HEADER = re.compile(r"key|token|secret|auth|cookie|password|passwd|credential|signature")
# How many tokens are left, and how one has to authenticate: values that help to understand a failure stay.
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


@lru_cache(maxsize=4096)
def is_secret_in_text(name: str) -> bool:
    """A name in JSON or in tags inside a text. Not a bare `token`: answers use it for what they generate."""
    return _plain(name).endswith(_ALWAYS)


def is_schema(value: Any) -> bool:
    """Whether this describes a value, as in a tool's parameters, instead of being one."""
    return isinstance(value, Mapping) and not _SCHEMA.isdisjoint(value)


def _plain(name: str) -> str:
    return _NOT_ALPHANUMERIC.sub("", name.lower())


# -- the credentials of an exchange

SCHEME = re.compile(
    r"\s*(?:bearer|basic|digest|token|apikey|api-key|negotiate|aws4-hmac-sha256)\s+(?=\S)", re.IGNORECASE
)
PARAMETER = re.compile(r"(?<=[?&;#])([^=&;#?]{1,100})=([^&#;]*)")
_CREDENTIALS = frozenset(("authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key"))
_COOKIE_VALUE = re.compile(r"=([^;]*)")
# Texts of people and models: a credential in there is not the upstream's.
_CONVERSATION = frozenset(("messages", "tools", "functions", "input", "prompt", "response_format"))
_SURE_LENGTH = 16  # a value this long whose name sounds like a credential is one
# Placeholders where a client insists on a key: masking these would mask ordinary words, ours included.
_NOT_KEYS = frozenset(
    (PLACEHOLDER, "password", "anything", "not-needed", "no-key-required", "lm-studio", "placeholder")
)


def own_credentials(header: Mapping[str, Any]) -> Iterator[str]:
    """The credentials in a tape's raw header itself.

    Guessed credentials must be long: `x-tokenizer: qwen2` must not mask `qwen2` everywhere.
    """
    for key in ("client_headers", "upstream_headers"):
        yield from _in_headers(header.get(key) or ())
    for key in ("url", "path"):
        yield from _in_query(str(header.get(key) or ""))
    for key in ("request", "upstream_request"):
        yield from (text for text in _in_body(header.get(key)) if len(text) >= _SURE_LENGTH)


def bare(secrets: Iterable[str]) -> Iterator[str]:
    """A credential is looked for without its scheme: an error that quotes it does not say Bearer."""
    for secret in secrets:
        scheme = SCHEME.match(secret)
        text = (secret[scheme.end() :] if scheme else secret).strip()
        if text.lower() not in _NOT_KEYS:
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
            yield from (part for part in _COOKIE_VALUE.findall(value) if len(part) >= _SURE_LENGTH)
        elif is_secret_header(name) and len(value) >= _SURE_LENGTH:
            yield value


def _in_query(url: str) -> Iterator[str]:
    for name, value in PARAMETER.findall(url):
        if len(value) >= _SURE_LENGTH and is_secret_parameter(name):
            yield from {value, unquote(value)}


def _in_body(body: Any) -> Iterator[str]:
    """A stack instead of recursion: this may be nested deeper than Python's recursion limit."""
    parts = (
        {key: value for key, value in body.items() if key not in _CONVERSATION}
        if isinstance(body, dict)
        else {}
    )
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


# -- secrets in a stream of bytes

# Shorter ones are words: masking them would spoil the answer and protect nothing.
SHORTEST = 8
_PERCENT = re.compile("%[0-9A-F]{2}")
# Characters that these two escape in JSON without need; a key in Base64 may well have a plus.
_GO = re.compile("[<>&]")
_DOTNET = re.compile("[<>&+'\"`]")


class Piece:
    """One read of a stream, and its place there. Its bytes may still be masked until it is decided."""

    __slots__ = ("data", "end", "start")

    def __init__(self, data: bytes, start: int) -> None:
        self.data = data
        self.start = start
        self.end = start + len(data)

    def mask(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Stars for those parts of the stream's ranges that are in here."""
        data = bytearray(self.data)
        for start, end in ranges:
            start, end = max(start, self.start) - self.start, min(end, self.end) - self.start
            if start < end:
                data[start:end] = b"*" * (end - start)
        self.data = bytes(data)


class Secret:
    """One thing to look for."""

    __slots__ = ("data", "step")

    def __init__(self, data: bytes) -> None:
        self.data = data
        # How far apart two overlapping occurrences can be at least: `abab` is found twice in `ababab`.
        self.step = next(n for n in range(1, len(data) + 1) if data.startswith(data[n:]))


class Masker:
    """One direction of one exchange. Text that could still become a secret is undecided until more comes.

    `decided` is the place in the stream before which nothing changes any more.
    """

    def __init__(self, secrets: Sequence[Secret]) -> None:
        self._secrets = secrets
        self._total = 0
        self.tail = b""  # the end of the stream so far, if a secret begins like this
        self._open: list[Piece] = []
        self.decided = 0

    def is_plain(self, data: bytes) -> bool:
        """A cheap check for the usual case: no part of the next read can belong to a secret. Then it may be
        skipped; otherwise it has to be fed."""
        if self.tail:
            return False
        last = data[-1:]
        for secret in self._secrets:  # noqa: SIM110 - a generator costs more than there is to do here
            if last in secret.data or secret.data in data:
                return False
        return True

    def skip(self, length: int) -> None:
        """A read of this length that is plain."""
        self._total += length
        self.decided = self._total

    def feed(self, data: bytes) -> Piece:
        """The next read; every secret that is complete with it is masked, in earlier pieces as well."""
        piece = Piece(data, self._total)
        self._total = piece.end
        window = self.tail + data if self.tail else data
        ranges = list(self._found(window, self._total - len(window)))
        if ranges:
            piece.mask(ranges)
            across = [found for found in ranges if found[0] < piece.start]
            for part in self._open:
                part.mask(across)
        self._open.append(piece)
        self.tail = self._beginning(window)
        self.decided = self._total - len(self.tail)
        if self.tail:
            self._open = [part for part in self._open if part.end > self.decided]
        else:
            self._open.clear()
        return piece

    def decide(self) -> None:
        """Time is up: undecided text is written as it is, or masked if it is most likely the secret.

        Eight bytes of a key are not there by accident, and a half that was written cannot be removed; fewer
        may be the beginning of an ordinary word. `tail` stays: the other half is recognised when it comes.
        """
        if len(self.tail) >= SHORTEST:
            for part in self._open:
                part.mask([(self._total - len(self.tail), self._total)])
        self._open.clear()
        self.decided = self._total

    def _found(self, window: bytes, start: int) -> Iterator[tuple[int, int]]:
        for secret in self._secrets:
            at = window.find(secret.data)
            while at >= 0:
                yield start + at, start + at + len(secret.data)
                at = window.find(secret.data, at + secret.step)

    def _beginning(self, window: bytes) -> bytes:
        """The longest suffix of the window that is a prefix of a secret."""
        best = b""
        last = window[-1:]
        for secret in self._secrets:
            data = secret.data
            if last not in data:
                continue
            at = window.find(data[:1], max(0, len(window) - len(data) + 1))
            while 0 <= at < len(window) - len(best):
                if data.startswith(window[at:]):
                    best = window[at:]
                    break
                at = window.find(data[:1], at + 1)
        return best


def secrets_of(texts: Iterable[str]) -> tuple[Secret, ...]:
    """The texts to search for: each as it is and as JSON and URLs write it, the longest first."""
    forms = {form for text in texts if len(text) >= SHORTEST for form in _forms(text)}
    return tuple(Secret(form) for form in sorted(forms, key=lambda form: (-len(form), form)))


def _forms(text: str) -> Iterator[bytes]:
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    go = _GO.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped)
    dotnet = _DOTNET.sub(lambda match: f"\\u{ord(match[0]):04X}", text)
    for form in (text, escaped, escaped.replace("/", "\\/"), json.dumps(text)[1:-1], go, dotnet):
        yield form.encode("utf-8", "surrogatepass")
    for safe in ("", "/"):
        form = quote(text, safe=safe, errors="replace")
        yield form.encode()
        yield _PERCENT.sub(lambda match: match[0].lower(), form).encode()
    with suppress(UnicodeEncodeError):
        yield text.encode("latin-1")  # as HTTP headers are written


# -- texts, URLs and JSON

_NAMED: Named = {"parameter": is_secret_parameter, "member": is_secret_in_text}
TEXT_RULES = rules_for_text(_NAMED)
BYTE_RULES = rules_for_bytes(_NAMED)
# Each name that counts has one of these in it: without any there is nothing to look for.
_HINTS = ("key", "pass", "secret", "auth", "credential", "cookie", "token", "jwt", "sig", "pwd")
NAME_HINTS = tuple(hint.encode() for hint in _HINTS)
_SEGMENT = re.compile(r"(?<=/)([\w.-]{1,100})/([^/?#\s]{8,})")
_USERINFO = re.compile(r"^([a-zA-Z][\w+.-]*://)([^/?#@]*)@")
_URL = re.compile(r"(?:https?|wss?)://\S{1,8000}", re.IGNORECASE)
# Fields that a replay needs and that contain no credential.
_STRUCTURE = frozenset(
    ("tape", "dialect", "policy", "started", "ids", "now", "id", "kind", "frontend", "method", "stream")
)
_URLS = frozenset(("url", "path"))
_HEADERS = frozenset(("client_headers", "upstream_headers", "headers"))
_TOO_DEEP = {"not recorded": "nested too deeply to be searched"}


def check_patterns(patterns: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    """The user's own patterns, compiled; a UserError names the one that is broken."""
    checked = []
    for pattern in patterns:
        try:
            checked.append(re.compile(pattern))
        except (re.error, RecursionError, OverflowError) as error:
            raise UserError(f"redact: {pattern!r} is not a regular expression: {error}") from None
    return tuple(checked)


class Redaction:
    """What is kept off the tape of one exchange: its own credentials, all known ones, what the user wants."""

    def __init__(self, patterns: Sequence[re.Pattern[str]] = (), secrets: Iterable[str] = ()) -> None:
        self._patterns = patterns
        self.secrets: tuple[Secret, ...] = secrets_of(bare(secrets))
        self._texts = tuple(_decoded(self.secrets))
        self._rules: Sequence[Rule[str]] = TEXT_RULES
        self._done: dict[str, str] = {}

    def line(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """A tape's header, or its end, without any credential."""
        self._rules = _present(line)
        try:
            return {key: self._entry(key, value) for key, value in line.items()}
        finally:
            self._rules = TEXT_RULES
            self._done.clear()

    def headers(self, headers: Iterable[Sequence[str]]) -> list[list[str]]:
        """HTTP headers: the secret ones keep their names and lengths."""
        return [[str(name), self._header(str(name), str(value))] for name, value in headers]

    def text(self, text: str) -> str:
        """A sentence, or any other text."""
        text = self._own(text)
        if len(text) >= SHORTEST:
            for rule in self._rules:
                if rule.letters in text:
                    text = _mask_found(text, rule)
        for pattern in self._patterns:
            text = pattern.sub(_stars, text)
        return text

    def url(self, url: str) -> str:
        """A URL or a path: its user, its password, its secret parameters."""
        url = _USERINFO.sub(lambda match: f"{match[1]}{'*' * len(match[2])}@", url)
        return self.text(_SEGMENT.sub(_mask_segment, PARAMETER.sub(_mask_parameter, url)))

    def value(self, value: Any) -> Any:
        """JSON of any kind. A member is masked because of its name if it is text, or holds texts:
        `max_tokens` is a number, and the property `token` of a tool a schema."""
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, Mapping):
            return {self._own(str(key)): self._member(str(key), inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value if value is None or isinstance(value, int | float) else self.text(str(value))

    def _string(self, text: str) -> str:
        # The request and what became of it upstream have most of their texts in common.
        known = self._done.get(text)
        if known is None:
            known = self._done[text] = self.url(text) if _URL.fullmatch(text) else self.text(text)
        return known

    def _own(self, text: str) -> str:
        for own in self._texts:
            if own in text:
                text = text.replace(own, "*" * len(own))
        return text

    def _entry(self, key: str, value: Any) -> Any:
        if key in _STRUCTURE:
            return value
        try:
            if key in _HEADERS:
                return self.headers(value)
            if key in _URLS and isinstance(value, str):
                return self.url(value)
            return self.value(value)
        except RecursionError:
            # Text that cannot be searched is not kept.
            return dict(_TOO_DEEP)

    def _member(self, key: str, value: Any) -> Any:
        return self._masked(value) if is_secret_field(key) and not is_schema(value) else self.value(value)

    def _masked(self, value: Any) -> Any:
        """Every text in it, whatever it is called."""
        if isinstance(value, str):
            return mask(value)
        if isinstance(value, Mapping):
            return {self._own(str(key)): self._masked(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._masked(inner) for inner in value]
        return self.value(value)

    def _header(self, name: str, value: str) -> str:
        if is_secret_header(name):
            return mask(value)
        return self.url(value) if "=" in value or "@" in value else self.text(value)


def mask(text: str) -> str:
    """As many stars as there were characters, after the word that says what kind of credential it was."""
    scheme = SCHEME.match(text)
    start = scheme.end() if scheme else 0
    return text[:start] + "*" * (len(text) - start)


def _decoded(secrets: Iterable[Secret]) -> Iterator[str]:
    for secret in secrets:
        with suppress(UnicodeDecodeError):  # its form of Latin-1
            yield secret.data.decode()


def _present(line: Mapping[str, Any]) -> Sequence[Rule[str]]:
    """The rules that can match at all: one search of the whole saves many searches of its parts."""
    try:
        data = orjson.dumps(dict(line))
    except orjson.JSONEncodeError:
        return TEXT_RULES
    low = data.lower()
    hinted = any(hint in low for hint in NAME_HINTS)
    return [rule for rule in TEXT_RULES if (rule.letters.encode() in data if rule.named is None else hinted)]


def _mask_found(text: str, rule: Rule[str]) -> str:
    parts = []
    done = 0
    for at in places(text, rule.letters):
        if at < done:
            continue
        found = rule.pattern.match(text, at)
        if found and found.start("secret") >= done and (rule.named is None or accepts(rule, found["name"])):
            parts += [text[done : found.start("secret")], "*" * len(found["secret"])]
            done = found.end("secret")
    return "".join(parts) + text[done:]


def _mask_parameter(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    return f"{name}={'*' * len(value)}" if is_secret_parameter(name) else match[0]


def _mask_segment(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    return f"{name}/{'*' * len(value)}" if is_secret_parameter(name) else match[0]


def _stars(match: re.Match[str]) -> str:
    return "*" * len(match[0])
