"""Masking: an exchange's own credentials in the bytes of an answer, wherever reads cut them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from urllib.parse import quote

# Shorter ones are words: masking them would eat the answer and protect nobody.
SHORTEST = 8
_PERCENT = re.compile("%[0-9A-F]{2}")
# What the JSON of these two escapes beyond need; a key in Base64 may well have a plus.
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
    """One direction of one exchange. What could still become a secret is undecided until more comes.

    `decided` is the place in the stream before which nothing changes any more.
    """

    def __init__(self, secrets: Sequence[Secret]) -> None:
        self._secrets = secrets
        self._total = 0
        self._tail = b""  # the end of the stream so far, if a secret begins like this
        self._open: list[Piece] = []
        self.decided = 0

    def passes(self, data: bytes) -> bool:
        """The usual case, at little cost: nothing in the next read could be of a secret, and it is done with.
        Otherwise it is still to be fed."""
        if self._tail:
            return False
        last = data[-1:]
        for secret in self._secrets:
            if last in secret.data or secret.data in data:
                return False
        self._total += len(data)
        self.decided = self._total
        return True

    def feed(self, data: bytes) -> Piece:
        """The next read; every secret that is complete with it is masked, in earlier pieces as well."""
        piece = Piece(data, self._total)
        self._total = piece.end
        window = self._tail + data if self._tail else data
        ranges = list(self._found(window, self._total - len(window)))
        if ranges:
            piece.mask(ranges)
            across = [found for found in ranges if found[0] < piece.start]
            for part in self._open:
                part.mask(across)
        self._open.append(piece)
        self._tail = self._beginning(window)
        self.decided = self._total - len(self._tail)
        if self._tail:
            self._open = [part for part in self._open if part.end > self.decided]
        else:
            self._open.clear()
        return piece

    def decide(self) -> None:
        """Time is up: what is undecided is written as it is, or masked if it is most likely the secret.

        Eight bytes of a key are no accident, and a half that was written cannot be taken back; fewer are the
        beginning of many a word. `_tail` stays: the other half is still recognised when it comes.
        """
        if len(self._tail) >= SHORTEST:
            for part in self._open:
                part.mask([(self._total - len(self._tail), self._total)])
        self._open.clear()
        self.decided = self._total

    def _found(self, window: bytes, start: int) -> Iterator[tuple[int, int]]:
        for secret in self._secrets:
            at = window.find(secret.data)
            while at >= 0:
                yield start + at, start + at + len(secret.data)
                at = window.find(secret.data, at + secret.step)

    def _beginning(self, window: bytes) -> bytes:
        """The longest end of the window that is the beginning of a secret."""
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
    """What to look for: each text as it is, as JSON and URLs write it, the longest first."""
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
