"""Credentials in the bytes of an answer, masked at equal length, wherever reads and deltas cut them.

An answer is searched twice: as bytes, and as the texts of its events. A model that repeats a key writes
a few letters of it in each event, and no search in the bytes would find it. So every text of an event (its
content, its reasoning, the arguments of a call) belongs to a channel, and what is found in a channel is
masked at the places in the stream where it came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from workbench.recording.redaction import BYTE_RULES, NAME_HINTS, SHORTEST, Masker, Piece, Secret
from workbench.recording.secretrules import Rule, accepts, places

_LETTERS = tuple(rule.letters for rule in BYTE_RULES if rule.named is None)
# A text that ends with the beginning of one of these may go on as a credential. Where the letters only
# precede one, nothing is held back: they are remembered.
_INCLUDED = tuple(rule.letters for rule in BYTE_RULES if rule.included)
_PARTIAL = frozenset(letters[:n] for letters in _INCLUDED for n in range(1, len(letters)))
_LETTER = frozenset(bytes([code]) for code in range(256) if chr(code).isascii() and chr(code).isalnum())
_IN_WORD = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_TEXT = re.compile(
    rb'"(content|reasoning_content|reasoning|arguments|text|thinking|partial_json|delta)"\s*:\s*'
    rb'"((?:[^"\\]++|\\.)*+)"'
)
_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+')
_INDEXES = re.compile(rb'index"\s*:\s*(\d+)')
_EVENT = b"data:"
_LONGEST_LINE = 1 << 16  # longer ones are whole answers, whose texts are in one piece
_MOST_CHANNELS = 64


def _any_of(words: Iterable[bytes]) -> bytes:
    """A pattern for any of these words, with common prefixes written once, which is much faster to search."""
    tree: dict[int, list[bytes]] = {}
    for word in words:
        tree.setdefault(word[0], []).append(word[1:])
    parts = [
        re.escape(bytes([first])) + (b"" if b"" in rests else _any_of(rests)) for first, rests in tree.items()
    ]
    return b"(?:" + b"|".join(parts) + b")"


def _spellings(hint: bytes) -> tuple[bytes, ...]:
    return hint, hint.capitalize(), hint.upper()


_HINT = _any_of(spelling for hint in NAME_HINTS for spelling in _spellings(hint))
_HINT_SEARCH = re.compile(_HINT)
# The letters of English and of code, the frequent ones first.
_FREQUENT = b" etaoinsrhldcumfpgwybvkxjqz"
_NOT_A_NAME = rb'(?!(?:s(?:_details)?|_ids)"\s?:\s?[\d{\[n])'  # numbers of tokens are in every other event


def _trigger() -> re.Pattern[bytes]:
    """One regex for all rules' required words, anchored at each word's rarest letter: 4× faster than the
    first."""
    words = [(letters, b"") for letters in _LETTERS]
    words += [(spelling, _NOT_A_NAME) for hint in NAME_HINTS for spelling in _spellings(hint)]
    by_letter: dict[bytes, list[bytes]] = {}
    for word, unless in words:
        at = max(range(len(word)), key=lambda at: (_FREQUENT.find(word[at]) % 99, -at))
        before, rest = re.escape(word[: at + 1]), re.escape(word[at + 1 :])
        by_letter.setdefault(word[at : at + 1], []).append(b"(?<=%b)%b%b" % (before, rest, unless))
    return re.compile(
        b"|".join(re.escape(one) + b"(?:" + b"|".join(rests) + b")" for one, rests in by_letter.items())
    )


_TRIGGER = _trigger()
_OVERLAP = max(map(len, (*_LETTERS, *NAME_HINTS))) - 1
_LONGEST_NAME = 180  # with what may be between it and its value


class Passed:
    """The last text that was plain, and the events it came in, where these were as usual. What is sent to the
    client is most often what was just read, so the two directions of an exchange share it."""

    __slots__ = ("after", "before", "data", "lines", "usual")

    def __init__(self) -> None:
        self.before = self.data = self.after = self.lines = b""
        self.usual: tuple[bytes, bytes] | None = None  # head and rest of such events


class Scanner:
    """Searches bytes that come in parts, each with its place in the stream.

    Of what came before, two things are kept: the tail, which may still become a credential and so is not
    decided, and before it as much as a name may need, whose value is then masked from its first byte on.
    """

    __slots__ = ("_near", "_parts", "_passed", "_runs", "_secrets", "_sure", "context", "tail")

    def __init__(self, secrets: Sequence[Secret], passed: Passed | None = None) -> None:
        self.tail = b""  # what may still become a credential
        self.context = b""  # what precedes it
        self._near = 0  # for this many more bytes the context may contain a secret's name
        self._secrets = secrets
        self._passed = Passed() if passed is None else passed
        self._parts: list[tuple[int, int]] = []  # of the tail: where in the stream, how long
        self._runs: list[re.Pattern[bytes]] = []  # of matches that go on
        self._sure = 0  # this many bytes at the tail's end are probably the start of a credential

    @property
    def idle(self) -> bool:
        """Whether earlier parts cannot affect later ones."""
        return not self.tail and not self._runs and self._near <= 0

    def open_from(self, decided: int) -> int | None:
        """The first undecided place in the stream; everything before it is decided."""
        if not self._parts or sum(self._parts[-1]) <= decided:
            return None
        return max(decided, self._parts[0][0])

    def passes(self, data: bytes) -> bool:
        """A cheap check whether the next part is plain and decided; if not, it has to be fed."""
        if self.tail or self._runs or self._near > 0:
            return False
        passed, context = self._passed, self.context
        if data == passed.data and self.repeats():
            return True
        window = context[-_OVERLAP:] + data
        if _TRIGGER.search(window) is not None or _partial(window):
            return False
        for secret in self._secrets:
            if secret.data in window or _beginning(window, secret.data):
                return False
        self.context = (context + data)[-_LONGEST_NAME:]
        passed.before, passed.data, passed.after, passed.lines = context, data, self.context, b""
        return True

    def repeats(self) -> bool:
        """Whether the text that was just found plain is plain here, too: the same text precedes it."""
        same = self.context == self._passed.before and self.idle
        if same:
            self.context = self._passed.after
        return same

    def feed(self, data: bytes, at: int) -> Iterator[tuple[int, int]]:
        """The next part; the ranges of the stream that are to be masked."""
        if self._runs:
            yield from self._go_on(data, at)
        skip = len(self.context)
        window = self.context + self.tail + data
        if self._parts and sum(self._parts[-1]) == at:
            self._parts[-1] = (self._parts[-1][0], self._parts[-1][1] + len(data))
        else:
            self._parts.append((at, len(data)))
        hint = _last_hint(window, max(0, skip - _OVERLAP))
        named = self._near > 0 or hint >= 0  # a name before this part, or in it: the value may be long
        self._near -= len(data)
        if hint >= 0:
            self._near = max(self._near, hint + _LONGEST_NAME - len(window))
        opened, sure = len(window), len(window)
        plain = not named and _TRIGGER.search(window, max(0, skip - _OVERLAP)) is None
        rules = () if plain else tuple(_present(window, named=named))
        for start, end, goes_on in self._found(window, rules):
            yield from self._in_stream(max(start, skip) - skip, end - skip)
            if goes_on is not None and end == len(window) and goes_on not in self._runs:
                self._runs.append(goes_on)
        for start, certain in self._opening(window, rules):
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

    def _found(
        self, window: bytes, rules: Sequence[Rule[bytes]]
    ) -> Iterator[tuple[int, int, re.Pattern[bytes] | None]]:
        for secret in self._secrets:
            at = window.find(secret.data)
            while at >= 0:
                yield at, at + len(secret.data), None
                at = window.find(secret.data, at + secret.step)
        for rule in rules:
            for at in places(window, rule.letters):
                if (match := _match(rule, window, at)) is not None:
                    yield *match.span("secret"), rule.run

    def _opening(self, window: bytes, rules: Sequence[Rule[bytes]]) -> Iterator[tuple[int, bool]]:
        """Where an incomplete match begins, and whether it is most likely a credential. A named value is
        masked as it comes: nothing of it is held back."""
        for secret in self._secrets:
            if (length := _beginning(window, secret.data)) > 0:
                yield len(window) - length, True
        for rule in rules:
            if rule.named is not None:
                continue
            for at in places(window, rule.letters):
                # A match that was found already continues as a run.
                if rule.opening.match(window, at) is not None and _match(rule, window, at) is None:
                    yield at, rule.sure
        if length := _partial(window):
            yield len(window) - length, False

    def _keep(self, window: bytes, opened: int, sure: int, skip: int) -> None:
        dropped = opened - skip
        self.tail = window[opened:]
        self._sure = len(window) - sure
        self.context = window[max(0, opened - _LONGEST_NAME) : opened]
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


def _present(window: bytes, named: bool) -> Iterator[Rule[bytes]]:
    """The rules that can find something at all."""
    for rule in BYTE_RULES:
        if rule.letters in window and (rule.named is None or named):
            yield rule


def _match(rule: Rule[bytes], window: bytes, at: int) -> re.Match[bytes] | None:
    match = rule.pattern.match(window, at)
    return match if match is not None and (rule.named is None or accepts(rule, match["name"])) else None


def _last_hint(window: bytes, start: int) -> int:
    """The end of the last possible part of a secret's name; -1 if there is none."""
    last = -1
    for match in _HINT_SEARCH.finditer(window, start):
        last = match.end()
    return last


def _beginning(window: bytes, data: bytes) -> int:
    """Length of the longest suffix of the window that is a prefix of the secret; a single letter at the end
    of a word is ignored."""
    if window[-1:] not in data:
        return 0
    at = window.find(data[:1], max(0, len(window) - len(data) + 1))
    while at >= 0:
        if data.startswith(window[at:]):
            length = len(window) - at
            return length if length > 1 or window[-2:-1] not in _LETTER else 0
        at = window.find(data[:1], at + 1)
    return 0


def _partial(text: bytes) -> int:
    """Length of the text's end that could still become the letters of a rule, from the start of a word."""
    before = text.rstrip(_IN_WORD)
    word = text[len(before) :]
    if before[-1:] == b"\\":
        word = word[1:]  # the letter belongs to the escape of a line break
    return len(word) if word in _PARTIAL else 0


class Usual(NamedTuple):
    """Most events differ from the previous one only in a text. What surrounds it is known to be plain."""

    head: bytes
    rest: bytes
    gap: bytes  # its end, which no event has inside
    channel: Scanner

    def texts(self, events: bytes) -> bytes | None:
        """The texts of one or many such events as one: a server that is fast sends many in a read. None if
        one of them has another shape."""
        head, rest, gap = self.head, self.rest, self.gap
        if not events.startswith(head) or not events.endswith(rest):
            return None
        text = events[len(head) : -len(rest)]
        if gap not in text:
            return text if _STRING.fullmatch(text) is not None else None
        # Split at something short, and compared as a whole: searching for the bytes between two texts would
        # scan them again for each text. No escape goes on over the end of a line.
        before, after = len(head), len(gap) - len(rest)
        texts = [event[before:after] for event in events[: -len(gap)].split(gap)]
        if text != (rest + head).join(texts) or _STRING.fullmatch(b"\n".join(texts)) is None:
            return None
        return b"".join(texts)


class AnswerMasker:
    """One direction of one exchange. Before the place `decided` in the stream nothing changes any more.

    All data is searched twice, and each search costs more than all other work for a tape. So whole lines are
    first compared with the usual shape, which decides nearly all of them at once.
    """

    def __init__(self, secrets: Sequence[Secret], passed: Passed | None = None) -> None:
        self._own = Masker(secrets)
        self._secrets = secrets
        self._passed = Passed() if passed is None else passed
        self._raw = Scanner(())
        self._channels: dict[tuple[bytes, ...], Scanner] = {}
        self._line = b""  # the beginning of a line that is not whole
        self._unread = 0  # bytes at its end not yet searched: they may turn out to be usual
        self._skips = False  # the rest of a line that is too long
        self._open: list[Piece] = []
        self._usual: Usual | None = None
        self._total = 0
        self.decided = 0

    def _first_open(self) -> int:
        decided = self.decided
        opens = [channel.open_from(decided) for channel in self._channels.values() if channel.tail]
        if self._raw.tail and not self._is_masked(self._raw.tail):
            opens.append(self._raw.open_from(decided))
        if self._line:
            opens.append(self._total - len(self._line))
        return min((at for at in opens if at is not None), default=self._total)

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
        if self._open or self._line or self._skips or data[-1:] != b"\n":
            return False
        if not self._repeats(data) and not (self._own.is_plain(data) and self._are_plain(data)):
            return False
        self._own.skip(len(data))
        self.decided = self._total = self._total + len(data)
        return True

    def _repeats(self, lines: bytes) -> bool:
        """Whether these lines were just found plain in the other direction, and nothing differs here."""
        passed, usual = self._passed, self._usual
        if lines != passed.lines or usual is None or passed.usual is None:
            return False
        same = passed.usual == (usual.head, usual.rest)
        return same and self._raw.idle and not self._own.tail and usual.channel.repeats()

    def _are_plain(self, lines: bytes) -> bool:
        """Whether these whole lines are events as usual, with plain texts, or have no texts at all. If not,
        nothing has happened yet: they have to be read."""
        if not self._raw.idle:
            return False
        usual = self._usual
        text = None if usual is None else usual.texts(lines)
        if text is None:
            text = self._partly_usual(lines)
            usual = self._usual
            if text is None:
                return False
        if text:
            if usual is None or not usual.channel.passes(text):
                return False
            self._passed.lines = lines
            self._passed.usual = usual.head, usual.rest  # only these: its channel refers back to this object
        self._raw.context = b"\n"
        return True

    def _partly_usual(self, lines: bytes) -> bytes | None:
        """Texts of lines outside the usual shape, all of one channel; None if they need full parsing. A
        stream's first and last events are such lines."""
        usual = self._usual
        if usual is None or usual.head not in lines:
            usual = self._learn_from_first(lines)
        start = end = len(lines)
        text: bytes | None = b""
        if usual is not None and usual.head in lines:
            start, last = lines.find(usual.head), lines.rfind(usual.rest)
            if last < start:
                return None
            end = last + len(usual.rest)
            text = usual.texts(lines[start:end])
        texts = [self._odd_text(lines[:start], usual), text, self._odd_text(lines[end:], usual)]
        return None if None in texts else b"".join(filter(None, texts))

    def _odd_text(self, lines: bytes, usual: Usual | None) -> bytes | None:
        """The texts of other events, which are few; None where there may be a secret around them, or where
        they belong to another channel than the usual one."""
        if not lines:
            return b""
        if _TRIGGER.search(lines) is not None:
            return None
        texts = list(_TEXT.finditer(lines))
        if usual is None:
            return None if texts else b""
        for text in texts:
            line = lines[lines.rfind(b"\n", 0, text.start()) + 1 : lines.find(b"\n", text.end())]
            key = (text[1], *_INDEXES.findall(line))
            if not line.startswith(_EVENT) or self._channels.get(key) is not usual.channel:
                return None
        return b"".join(text[2] for text in texts)

    def _learn(self, event: bytes, text: re.Match[bytes]) -> bool:
        """The next event will most likely look like this one, whose only text this is."""
        begin = event.rfind(b"\n", 0, text.start()) + 1
        line = event[begin : event.find(b"\n", text.end())]
        if not line.startswith(_EVENT):
            return False
        channel = self._channel((text[1], *_INDEXES.findall(line)))
        head, rest = event[: text.start(2)], event[text.end(2) :]
        self._usual = Usual(head, rest, _gap(rest), channel)
        return True

    def _learn_from_first(self, lines: bytes) -> Usual | None:
        """The same, from the second event of several: the first one of a stream is often another."""
        gap = _gap(lines)
        for event in reversed(lines.split(gap, 2)[:2]):
            texts = list(islice(_TEXT.finditer(event), 2))
            if len(texts) == 1 and _TRIGGER.search(event) is None and self._learn(event + gap, texts[0]):
                return self._usual
        return None

    def _learn_from_last(self, lines: bytes) -> None:
        """The same, from the last event."""
        gap = _gap(lines)
        if lines.endswith(gap):
            at = lines.rfind(gap, 0, -len(gap))
            event = lines[at + len(gap) if at >= 0 else 0 :]
            texts = list(islice(_TEXT.finditer(event), 2))
            if len(texts) == 1 and _TRIGGER.search(event) is None:
                self._learn(event, texts[0])

    def _channel(self, key: tuple[bytes, ...]) -> Scanner:
        channel = self._channels.get(key)
        if channel is None:
            if len(self._channels) >= _MOST_CHANNELS:  # the events count something in their keys
                self._usual = None
                self._channels = {key: one for key, one in self._channels.items() if not one.idle}
            channel = self._channels[key] = Scanner(self._secrets, self._passed)
        return channel

    def feed(self, data: bytes) -> Piece:
        """The next read; every secret that is complete with it is masked, in earlier pieces as well."""
        piece = self._own.feed(data)
        self._total += len(data)
        self._open.append(piece)
        window = self._line + data
        cut = window.rfind(b"\n") + 1
        rest = window[cut:]
        if (
            not self._skips
            and _may_be_event(rest)
            and (self._are_plain(window[:cut]) if cut else self._raw.idle)
        ):
            self._unread = len(rest) if cut else self._unread + len(data)
            self._line = rest
        else:
            self._read_bytes(window)
            self._mask(self._read_lines(data, self._total - len(data)))
            if cut:
                self._learn_from_last(window[:cut])
        # Text that was written because time was up stays decided.
        self.decided = decided = max(self.decided, min(self._first_open(), self._own.decided))
        self._open = [part for part in self._open if part.end > decided]
        return piece

    def decide(self) -> None:
        """Time is up: undecided text is written as it is, or masked if it is most likely a secret."""
        self._own.decide()
        self._read_bytes(self._line)
        self._mask(found for one in (self._raw, *self._channels.values()) for found in one.certain())
        self._open.clear()
        self.decided = self._total

    def _mask(self, ranges: Iterable[tuple[int, int]]) -> None:
        if found := list(ranges):
            for part in self._open:
                part.mask(found)

    def _read_bytes(self, window: bytes) -> None:
        """Look for secrets in the bytes: in the part of the window, which ends where the stream does, that
        was not searched yet."""
        data = window[len(self._line) - self._unread :]
        self._unread = 0
        if self._raw.idle and data[-1:] == b"\n" and _TRIGGER.search(data) is None:
            self._raw.context = b"\n"
        elif data:
            self._mask(self._raw.feed(data, self._total - len(data)))

    def _read_lines(self, data: bytes, at: int) -> Iterator[tuple[int, int]]:
        """Events are lines; a line is read when it is whole."""
        start = at - len(self._line)
        *lines, rest = (self._line + data).split(b"\n")
        for line in lines:
            if not self._skips:
                yield from self._read_texts(line, start)
            self._skips = False
            start += len(line) + 1
        self._skips = self._skips or not _may_be_event(rest)
        self._line = b"" if self._skips else rest

    def _read_texts(self, line: bytes, at: int) -> Iterator[tuple[int, int]]:
        if not line.startswith(_EVENT) or len(line) > _LONGEST_LINE:
            return
        indexes: tuple[bytes, ...] | None = None
        for match in _TEXT.finditer(line):
            text = match[2]
            if not text:
                continue
            indexes = tuple(_INDEXES.findall(line)) if indexes is None else indexes
            channel = self._channel((match[1], *indexes))
            if not channel.passes(text):
                yield from channel.feed(text, at + match.start(2))


def _gap(lines: bytes) -> bytes:
    """The bytes between two events."""
    return b"\r\n\r\n" if b"\r\n\r\n" in lines else b"\n\n"


def _may_be_event(rest: bytes) -> bool:
    """Whether an incomplete line may become one whose texts are read."""
    return _EVENT.startswith(rest[: len(_EVENT)]) and len(rest) <= _LONGEST_LINE
