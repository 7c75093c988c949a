"""Credentials in the bytes of an answer, masked at equal length, wherever reads and deltas cut them.

An answer is looked through twice: as bytes, and as the texts of its events. A model that repeats a key writes
a few letters of it in each event, and no search in the bytes would find it. So every text of an event (its
content, its reasoning, the arguments of a call) belongs to a channel, and what is found in a channel is
masked at the places in the stream where it came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workbench.recording.redaction import BYTE_RULES, NAME_HINTS, SHORTEST, Masker, Piece, Secret
from workbench.recording.secretrules import Rule, accepts, places

_LETTERS = tuple(rule.letters for rule in BYTE_RULES if rule.named is None)
# A text that ends with the beginning of one of these may go on as a credential. Two of them stand inside a
# word, which has to be kept from its first letter on.
_WHOLE = {b"earer ": (b"Bearer ", b"bearer "), b"asic ": (b"Basic ", b"basic ")}
_WORDS = tuple(whole for letters in _LETTERS for whole in _WHOLE.get(letters, (letters,)))
_PARTIAL = frozenset(whole[:n] for whole in _WORDS for n in range(1, len(whole)))
_IN_WORD = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
# What each rule needs at least, in one search: a short text without it is plain.
_SUSPECT = re.compile(
    b'[-_.?&"<]|' + b"|".join(re.escape(one) for one in _LETTERS if not set(one) & set(b"-_."))
)
_OPENS_NAME = re.compile(rb'[?&"<][^\s]{0,130}\Z|"\s{0,20}:?\s{0,20}\\{0,8}"?\Z')
_TEXT = re.compile(
    rb'"(content|reasoning_content|reasoning|arguments|text|thinking|partial_json|delta)"\s*:\s*'
    rb'"((?:[^"\\]++|\\.)*+)"'
)
_LONGEST_NAME = 180  # with what may stand between it and its value
_INDEXES = re.compile(rb'index"\s*:\s*(\d+)')
_EVENT = b"data:"
_LONGEST_LINE = 1 << 16  # longer ones are whole answers, whose texts are in one piece


class Scanner:
    """Looks through bytes that come in parts, each with its place in the stream."""

    __slots__ = ("_context", "_parts", "_runs", "_secrets", "_sure", "tail")

    def __init__(self, secrets: Sequence[Secret]) -> None:
        self.tail = b""  # what may still become a credential
        self._secrets = secrets
        self._context = b""  # the two bytes before it: whether a word begins there
        self._parts: list[tuple[int, int]] = []  # of the tail: where in the stream, how long
        self._runs: list[re.Pattern[bytes]] = []  # of what was found and goes on
        self._sure = 0  # so many bytes at the tail's end are the beginning of a credential, most likely

    @property
    def idle(self) -> bool:
        return not self.tail and not self._runs

    @property
    def open_from(self) -> int | None:
        """The first place in the stream that is not decided."""
        return self._parts[0][0] if self._parts else None

    def feed(self, data: bytes, at: int) -> Iterator[tuple[int, int]]:
        """The next part; the ranges of the stream that are to be masked."""
        yield from self._go_on(data, at)
        skip = len(self._context)
        window = self._context + self.tail + data
        if self._parts and sum(self._parts[-1]) == at:
            self._parts[-1] = (self._parts[-1][0], self._parts[-1][1] + len(data))
        else:
            self._parts.append((at, len(data)))
        opened, sure = len(window), len(window)
        for start, end, goes_on in self._found(window):
            yield from self._in_stream(max(start, skip) - skip, end - skip)
            if goes_on is not None and end == len(window):
                self._runs.append(goes_on)
        for start, certain in self._opening(window):
            opened = min(opened, max(start, skip))
            if certain:
                sure = min(sure, max(start, skip))
        self._keep(window, opened, sure, skip)

    def certain(self) -> Iterator[tuple[int, int]]:
        """The part of the tail that is most likely the beginning of a credential."""
        if self._sure >= SHORTEST:
            yield from self._in_stream(len(self.tail) - self._sure, len(self.tail))

    def _go_on(self, data: bytes, at: int) -> Iterator[tuple[int, int]]:
        ends = [(match.end(), run) for run in self._runs if (match := run.match(data)) is not None]
        self._runs = [run for end, run in ends if end == len(data)]
        longest = max((end for end, _ in ends), default=0)
        if longest:
            yield at, at + longest

    def _found(self, window: bytes) -> Iterator[tuple[int, int, re.Pattern[bytes] | None]]:
        for secret in self._secrets:
            at = window.find(secret.data)
            while at >= 0:
                yield at, at + len(secret.data), None
                at = window.find(secret.data, at + secret.step)
        for rule in _present(window, names=False):
            for at in places(window, rule.letters):
                if (match := _match(rule, window, at)) is not None:
                    yield *match.span("secret"), rule.run

    def _opening(self, window: bytes) -> Iterator[tuple[int, bool]]:
        """Where something begins that more could complete, and whether it is most likely a credential."""
        for secret in self._secrets:
            if (length := _beginning(window, secret.data)) > 0:
                yield len(window) - length, True
        for rule in _present(window, names=True):
            for at in places(window, rule.letters, len(window) - _LONGEST_NAME if rule.named else 0):
                match = rule.opening.match(window, at)
                if match is None or not _may_be_secret(rule, match):
                    continue
                if _match(rule, window, at) is None:  # what is found already goes on as a run
                    yield at, rule.sure
        if length := _partial(window):
            yield len(window) - length, False

    def _keep(self, window: bytes, opened: int, sure: int, skip: int) -> None:
        dropped = opened - skip
        self.tail = window[opened:]
        self._sure = len(window) - sure
        self._context = window[max(0, opened - 2) : opened]
        parts = []
        for at, length in self._parts:
            gone = min(dropped, length)
            dropped -= gone
            if gone < length:
                parts.append((at + gone, length - gone))
        self._parts = parts

    def _in_stream(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """A range of the tail and the newest part, as ranges of the stream."""
        for at, length in self._parts:
            low, high = max(start, 0), min(end, length)
            if low < high:
                yield at + low, at + high
            start, end = start - length, end - length


def _present(window: bytes, names: bool) -> Iterator[Rule[bytes]]:
    """The rules that can find something at all. What may open a name need not be a name that counts yet."""
    if _SUSPECT.search(window) is None:
        return
    hinted = names or has_hint(window)
    for rule in BYTE_RULES:
        if rule.letters in window and (rule.named is None or hinted):
            yield rule


def _match(rule: Rule[bytes], window: bytes, at: int) -> re.Match[bytes] | None:
    match = rule.pattern.match(window, at)
    return match if match is not None and (rule.named is None or accepts(rule, match["name"])) else None


def _may_be_secret(rule: Rule[bytes], match: re.Match[bytes]) -> bool:
    groups = match.groupdict()
    return not groups.get("closed") or b'"' not in groups["closed"] + b'"' or accepts(rule, groups["name"])


def _is_plain(data: bytes) -> bool:
    """Whether no rule can find anything in there."""
    return not any(map(data.__contains__, _LETTERS)) and not has_hint(data)


def has_hint(data: bytes) -> bool:
    """Whether a name that counts may be in there."""
    low = data.lower()
    return any(map(low.__contains__, NAME_HINTS))


def _beginning(window: bytes, data: bytes) -> int:
    """How long the longest end of the window is that is the beginning of the secret."""
    if window[-1:] not in data:
        return 0
    at = window.find(data[:1], max(0, len(window) - len(data) + 1))
    while at >= 0:
        if data.startswith(window[at:]):
            return len(window) - at
        at = window.find(data[:1], at + 1)
    return 0


def _partial(text: bytes) -> int:
    """How long the end of a text is that more could make the letters of a rule, from where a word begins."""
    word = text[len(text.rstrip(_IN_WORD)) :]
    if word[:1] in (b"n", b"r", b"t") and text[: -len(word)].endswith(b"\\"):
        word = word[1:]  # the letter belongs to the escape of a line break
    dashes = word[word.find(b"-----") :] if b"-----" in word else word[len(word.rstrip(b"-")) :]
    for end in (word, dashes):
        if end in _PARTIAL:
            return len(end)
    return 2 if text.endswith(b":/") else int(text.endswith(b":"))


class AnswerMasker:
    """One direction of one exchange. Before the place `decided` in the stream nothing changes any more."""

    def __init__(self, secrets: Sequence[Secret]) -> None:
        self._own = Masker(secrets)
        self._secrets = secrets
        self._raw = Scanner(())
        self._channels: dict[tuple[bytes, ...], Scanner] = {}  # those in which something is open
        self._line = b""  # the beginning of a line that is not whole
        self._skips = False  # the rest of a line that is too long
        self._open: list[Piece] = []
        self._head, self._rest, self._to_text = b"", b"", 0  # of a plain read: around its only text
        self._total = 0
        self._floor = 0  # what was written for lack of time is decided

    @property
    def decided(self) -> int:
        opens = [scanner.open_from for scanner in self._channels.values()]
        if not self._is_masked(self._raw.tail):
            opens.append(self._raw.open_from)
        if self._line:
            opens.append(self._total - len(self._line))
        found = min((at for at in opens if at is not None), default=self._total)
        return max(self._floor, min(found, self._own.decided))

    def _is_masked(self, tail: bytes) -> bool:
        """Whether the end of the stream is stars already: then nothing can change there."""
        left = len(tail)
        for part in reversed(self._open):
            if left > 0 and part.data[-left:].strip(b"*"):
                return False
            left -= len(part.data)
        return True

    def passes(self, data: bytes) -> bool:
        """The usual case, at little cost: whether no part of the next read can belong to a secret."""
        if self._channels or self._line or self._skips or not self._raw.idle or data[-1:] != b"\n":
            return False
        if not (self._looks_like_the_last(data) or self._is_plain_read(data)) or not self._own.passes(data):
            return False
        self._total += len(data)
        return True

    def _looks_like_the_last(self, data: bytes) -> bool:
        """Most reads are one event that differs from the one before in nothing but a short text."""
        text = self._only_text(data)
        return text is not None and self._is_plain_text(text) and not self._opens(text)

    def _only_text(self, data: bytes) -> bytes | None:
        match = _TEXT.match(data, len(self._head) - self._to_text) if self._head else None
        if match is None or data[: match.start(2)] != self._head or data[match.end(2) :] != self._rest:
            return None
        return match[2]

    def _is_plain_text(self, text: bytes) -> bool:
        return _SUSPECT.search(text) is None or _is_plain(text)

    def _is_plain_read(self, data: bytes) -> bool:
        if not _is_plain(data):
            return False
        texts = list(_TEXT.finditer(data))
        if len(texts) == 1:
            (match,) = texts
            self._head, self._rest = data[: match.start(2)], data[match.end(2) :]
            self._to_text = match.start(2) - match.start()
        return not any(self._opens(match[2]) for match in texts)

    def _opens(self, text: bytes) -> bool:
        if any(_beginning(text, secret.data) for secret in self._secrets):
            return True
        return _partial(text) > 0 or _OPENS_NAME.search(text[-_LONGEST_NAME:]) is not None

    def feed(self, data: bytes) -> Piece:
        """The next read; every secret that is complete with it is masked, in earlier pieces as well."""
        at = self._total
        piece = self._own.feed(data)
        self._total += len(data)
        self._open.append(piece)
        text = self._only_text(data)
        plain = _is_plain(data) if text is None else self._is_plain_text(text)
        plain = plain and self._raw.idle and data[-1:] == b"\n"
        self._mask([*(() if plain else self._raw.feed(data, at)), *self._read_lines(data, at)])
        decided = self.decided
        self._open = [part for part in self._open if part.end > decided]
        return piece

    def decide(self) -> None:
        """Time is up: what is undecided is written as it is, or masked if it is most likely a secret."""
        self._own.decide()
        self._mask([found for one in (self._raw, *self._channels.values()) for found in one.certain()])
        self._open.clear()
        self._floor = self._total

    def _mask(self, ranges: list[tuple[int, int]]) -> None:
        if ranges:
            for part in self._open:
                part.mask(ranges)

    def _read_lines(self, data: bytes, at: int) -> Iterator[tuple[int, int]]:
        """Events are lines; a line is read when it is whole."""
        start = at - len(self._line)
        *lines, rest = (self._line + data).split(b"\n")
        for line in lines:
            if not self._skips:
                yield from self._read_texts(line, start)
            self._skips = False
            start += len(line) + 1
        other = not _EVENT.startswith(rest[: len(_EVENT)])
        self._skips = self._skips or other or len(rest) > _LONGEST_LINE
        self._line = b"" if self._skips else rest

    def _read_texts(self, line: bytes, at: int) -> Iterator[tuple[int, int]]:
        if not line.startswith(_EVENT) or len(line) > _LONGEST_LINE:
            return
        indexes: tuple[bytes, ...] | None = None
        for match in _TEXT.finditer(line):
            if not match[2]:
                continue
            indexes = tuple(_INDEXES.findall(line)) if indexes is None else indexes
            key = (match[1], *indexes)
            scanner = self._channels.pop(key, None) or Scanner(self._secrets)
            yield from scanner.feed(match[2], at + match.start(2))
            if not scanner.idle:
                self._channels[key] = scanner
