"""A run of prose: event after event of one shape, with nothing in it but text that goes on as it came.

Nearly all events of nearly all streams are such. The client gets each of them at once; the choice is told the
text of many of them at once. Nothing depends on it but speed: an event that does not belong to the run ends
it, and takes the long way, which would have given the same for all before it.
"""

from __future__ import annotations

from orjson import JSONDecodeError, dumps, loads

from transformer.answer.choice import Choice
from transformer.frontends.frontend import ClientWriter
from transformer.frontends.shape import Shape
from transformer.parser.dialect import Notices

_BEGIN, _END = b"data: ", b"\n\n"
_TOGETHER = 512  # texts after which the choice is told at the latest


class ProseRun:
    """Takes the events of a run."""

    __slots__ = (
        "_after", "_before", "_channel", "_choice", "_client", "_event_end", "_head", "_notices",
        "_read_after", "_read_end", "_same", "_start", "_tail", "_texts",
    )  # fmt: skip

    def __init__(
        self,
        choice: Choice,
        channel: str,
        notices: Notices,
        client: ClientWriter,
        shape: Shape,
        around: tuple[bytes, bytes],
    ) -> None:
        self._choice, self._channel, self._notices = choice, channel, notices
        self._client = client
        self._before, self._after = _BEGIN + shape.before, shape.after
        # Where the string is, with its quotes: in an event, and in a read that is one with its blank line.
        self._start, self._event_end = len(self._before) - 1, 1 - len(self._after)
        self._read_after, self._read_end = self._after + _END, self._event_end - len(_END)
        self._head, self._tail = around
        # The client gets what came, byte by byte.
        self._same = around == (self._before[:-1], self._after[1:] + _END)
        self._texts: list[str] = []

    def take(self, data: bytes) -> bool:
        """Whether this event belongs to the run; then the client has it."""
        return self.take_one(_BEGIN + data + _END)

    def take_one(self, read: bytes) -> bool:
        """The same for a read that starts an event; also False if it is more than one event."""
        if not (read.startswith(self._before) and read.endswith(self._read_after)):
            return False
        string = read[self._start : self._read_end]
        if b"\n" in string:  # these are several
            return False
        text = self._text(string)
        if text is None:
            return False
        if self._same and b"\\" not in string:
            self._client.out.append(read)
            self._texts.append(text)
            if len(self._texts) >= _TOGETHER:
                self.settle()
        else:
            self._write(read, [text], [string])
        return True

    def take_read(self, chunk: bytes) -> tuple[int, int]:
        """How many events at the start of this read continue the run, and their size in bytes; already
        sent."""
        before, after, start, end = self._before, self._after, self._start, self._event_end
        texts: list[str] = []
        strings: list[bytes] = []
        size = 0
        for event in chunk.split(_END)[:-1]:
            if not (event.startswith(before) and event.endswith(after)):
                break
            string = event[start:end]
            text = self._text(string)
            if text is None:
                break
            texts.append(text)
            strings.append(string)
            size += len(event) + 2
        if texts:
            self._write(chunk[:size], texts, strings)
        return len(texts), size

    def _text(self, string: bytes) -> str | None:
        """The text, if an event with this string belongs to the run."""
        try:
            text: str = loads(string)  # with its quotes it is one string, or the event is not what it seems
        except JSONDecodeError:
            return None
        # Whitespace at the end waits for what follows it: a call may swallow it.
        return None if not text or text[-1].isspace() or self._notices(text) is not None else text

    def _write(self, read: bytes, texts: list[str], strings: list[bytes]) -> None:
        """A string without an escape is written as it came, and so is a read where nothing else changes."""
        out = self._client.out
        if b"\\" in read:
            out += [self._head + dumps(text) + self._tail for text in texts]
        elif self._same:
            out.append(read)
        else:
            out += [self._head + string + self._tail for string in strings]
        self._texts += texts
        if len(self._texts) >= _TOGETHER:
            self.settle()

    def settle(self) -> None:
        """Tell the choice."""
        if self._texts:
            self._choice.said_at_once(self._channel, "".join(self._texts))
            self._texts = []


def begin(choice: Choice, channel: str, client: ClientWriter, shape: Shape) -> ProseRun | None:
    """A run from the next event on; None where one is not possible now."""
    around = client.around(shape)
    if around is None or b"\n" in shape.before or b"\n" in shape.after:  # such an event has several lines
        return None
    notices = choice.notices(channel, shape.fields)
    return None if notices is None else ProseRun(choice, channel, notices, client, shape, around)
