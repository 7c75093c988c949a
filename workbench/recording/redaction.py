"""Redaction: no credential of a request, of a header or of a sentence gets onto a tape."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from workbench.errors import UserError
from workbench.recording.masking import SHORTEST, Masker, Secret, secrets_of
from workbench.recording.owncredentials import PARAMETER, SCHEME, bare
from workbench.recording.secretnames import is_schema, is_secret_field, is_secret_header, is_secret_parameter

# Keys that people paste into prompts and files, by how they begin: searching for a few letters is a hundred
# times cheaper than trying a pattern at every place of a long conversation.
_SHAPES: Sequence[tuple[str, re.Pattern[str]]] = [
    (letters, re.compile(pattern, re.ASCII))
    for letters, pattern in (
        # Letters in short runs are words: `sk-learn-pipeline-utilities`, `basic implementation/interface`.
        ("sk-", r"(?<![\w-])(sk-(?=[\w-]*\d|[\w-]*\w{16})[\w-]{16,})"),
        ("earer ", r"earer +((?=[\w.~+/=-]*\d)[\w.~+/=-]{8,}|[\w.~+/=-]{16,})"),
        ("asic ", r"asic +((?=[\w+/=-]*[\d=])[\w+/=-]{12,}|(?=[\w+/=-]*[a-z][A-Z])[\w+/=-]{20,})"),
        *((f"gh{letter}_", rf"\b(gh{letter}_\w{{30,}})") for letter in "opsur"),
        ("github_pat_", r"(github_pat_\w{20,})"),
        ("glpat-", r"(glpat-[\w-]{16,})"),
        ("hf_", r"\b(hf_\w{20,})"),
        ("gsk_", r"\b(gsk_\w{20,})"),
        ("xox", r"\b(xox[abeoprs]-[\w-]{10,})"),
        ("AKIA", r"\b(AKIA[0-9A-Z]{16})\b"),
        ("AIza", r"(AIza[\w-]{35})"),
        ("eyJ", r"\b(eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,})"),
        ("-----BEGIN ", r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----([\w\s+/=\\]{16,})"),
        ("://", r"://[^\s/?#@:\"'<>]{0,200}:([^\s/?#@\"'<>]{1,200})@"),
    )
]
_USERINFO = re.compile(r"^([a-zA-Z][\w+.-]*://)([^/?#@]*)@")
_URL = re.compile(r"(?:https?|wss?)://\S{1,8000}", re.IGNORECASE)
# What a replay cannot do without, and what no credential is in.
_STRUCTURE = frozenset(
    ("tape", "dialect", "policy", "started", "ids", "now", "id", "kind", "method", "stream")
)
_URLS = frozenset(("url", "path"))
_HEADERS = frozenset(("client_headers", "upstream_headers", "headers"))
_TOO_DEEP = {"not recorded": "nested too deep to be looked through"}


def check_patterns(patterns: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    """The user's own patterns, compiled; a UserError names the one that is broken."""
    checked = []
    for pattern in patterns:
        try:
            checked.append(re.compile(pattern))
        except (re.error, RecursionError, OverflowError) as error:
            raise UserError(f"redact: {pattern!r} is no regular expression: {error}") from None
    return tuple(checked)


class Redaction:
    """What is kept off the tape of one exchange: its own credentials, everybody's, what the user wants."""

    def __init__(self, patterns: Sequence[re.Pattern[str]] = (), secrets: Iterable[str] = ()) -> None:
        self._patterns = patterns
        self.secrets: tuple[Secret, ...] = secrets_of(bare(secrets))
        self._texts = tuple(_decoded(self.secrets))
        self._shapes = _SHAPES
        self._done: dict[str, str] = {}

    def masker(self) -> Masker | None:
        """For the bytes of one direction; None where there is nothing to look for."""
        return Masker(self.secrets) if self.secrets else None

    def line(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """A tape's header, or its end, with nothing in it that opens a door."""
        self._shapes = _present(line)
        try:
            return {key: self._entry(key, value) for key, value in line.items()}
        finally:
            self._shapes = _SHAPES
            self._done.clear()

    def headers(self, headers: Iterable[Sequence[str]]) -> list[list[str]]:
        """HTTP headers: the secret ones keep their names and lengths."""
        return [[str(name), self._header(str(name), str(value))] for name, value in headers]

    def text(self, text: str) -> str:
        """A sentence, or any other text."""
        text = self._own(text)
        if len(text) >= SHORTEST:
            for letters, shape in self._shapes:
                if letters in text:
                    text = _mask_shape(text, letters, shape)
        for pattern in self._patterns:
            text = pattern.sub(_stars, text)
        return text

    def url(self, url: str) -> str:
        """A URL or a path: its user, its password, its secret parameters."""
        url = _USERINFO.sub(lambda match: f"{match[1]}{'*' * len(match[2])}@", url)
        return self.text(PARAMETER.sub(_mask_parameter, url))

    def value(self, value: Any) -> Any:
        """JSON of any kind. A member is masked for its name where it is text, or holds texts: `max_tokens` is
        a number, and the property `token` of a tool a schema."""
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
            # What cannot be looked through is not kept.
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
    """As many stars as there were characters, behind the word that says what kind of credential it was."""
    scheme = SCHEME.match(text)
    start = scheme.end() if scheme else 0
    return text[:start] + "*" * (len(text) - start)


def _decoded(secrets: Iterable[Secret]) -> Iterator[str]:
    for secret in secrets:
        with suppress(UnicodeDecodeError):  # its form of Latin-1
            yield secret.data.decode()


def _present(line: Mapping[str, Any]) -> Sequence[tuple[str, re.Pattern[str]]]:
    """The shapes that can be in there at all: once through the whole saves many times through its parts."""
    try:
        data = orjson.dumps(dict(line))
    except orjson.JSONEncodeError:
        return _SHAPES
    return [(letters, shape) for letters, shape in _SHAPES if letters.encode() in data]


def _mask_shape(text: str, letters: str, shape: re.Pattern[str]) -> str:
    parts = []
    done = 0
    at = text.find(letters)
    while at >= 0:
        found = shape.match(text, at)
        if found and found.start(1) >= done:
            parts += [text[done : found.start(1)], "*" * len(found[1])]
            done = found.end(1)
        at = text.find(letters, max(at + len(letters), done))
    return "".join(parts) + text[done:]


def _mask_parameter(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    return f"{name}={'*' * len(value)}" if is_secret_parameter(name) else match[0]


def _stars(match: re.Match[str]) -> str:
    return "*" * len(match[0])
