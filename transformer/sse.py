"""Server-sent events: bytes -> events with their byte ranges, and back."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import orjson

from transformer.records import Ranges

DONE = b"data: [DONE]\n\n"
_BOM = b"\xef\xbb\xbf"
_LF = 10
# LF, CRLF and CR end a line, and nothing else does: JSON may hold U+2028, U+0085, VT and FF raw.
_LINE_END = re.compile(rb"\r\n|\n|\r")
# Enough of a body that is not SSE to say what it was.
_STRAY_KEPT = 64 * 1024


# An event as the decoder gives it: data, name, start and end with its framing, and the ranges of
# its data lines. A plain tuple, because one is made for every event of every stream.
Frame: TypeAlias = tuple[bytes, str, int, int, Ranges]


def encode(obj: Any) -> bytes:
    """One event that carries `obj`."""
    return b"data: " + orjson.dumps(obj) + b"\n\n"


class SSEDecoder:
    """Feed it bytes cut anywhere; it returns the events that are complete."""

    __slots__ = (
        "_after_cr",
        "_data",
        "_first",
        "_line",
        "_lines",
        "_name",
        "_offset",
        "_start",
        "lost",
        "rests",
        "stray",
    )

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of the line that is not complete yet
        self._offset = 0  # where that line begins in the stream
        self._after_cr = False  # a LF that comes now belongs to the CR before it
        self._first = True
        self.rests = False  # between two events: the next byte begins one
        self._data: list[bytes] = []
        self._lines: list[tuple[int, int]] = []
        self._name = ""
        self._start = -1
        self.stray: list[bytes] = []  # lines that are not a field of SSE
        self.lost = 0  # bytes in such lines

    @property
    def idle(self) -> bool:
        """Nothing of an event has arrived that was not returned."""
        return not self._line and not self._data

    def skip(self, size: int) -> None:
        """Skips whole events that were read elsewhere; it rests."""
        self._offset += size

    def feed(self, chunk: bytes) -> list[Frame]:
        if (
            self.rests
            and chunk.find(b"\n") == len(chunk) - 2
            and chunk[:6] == b"data: "
            and chunk[-1] == _LF
            and b"\r" not in chunk
        ):
            # One whole event and nothing else: what nearly every read is.
            offset = self._offset
            self._offset = end = offset + len(chunk)
            return [(chunk[6:-2], "", offset, end, ((offset + 6, end - 2),))]
        cr = self._after_cr or b"\r" in chunk
        frames = self._feed_any(chunk) if cr else self._feed_lines(chunk)
        self.rests = self._start < 0 and not (self._line or self._after_cr or self._first)
        return frames

    def _feed_lines(self, chunk: bytes) -> list[Frame]:
        """Where every line ends with LF."""
        lines = chunk.split(b"\n")
        rest = lines.pop()
        frames: list[Frame] = []
        if not lines:
            if rest:
                self._line.append(rest)
            return frames
        if self._line:
            self._line.append(lines[0])
            lines[0] = b"".join(self._line)
        self._line = [rest] if rest else []
        self._offset = self._take_all(lines, self._offset, frames)
        return frames

    def _take_all(self, lines: list[bytes], offset: int, frames: list[Frame]) -> int:
        """Nearly every event is one data line and a blank one: these two are taken at one go."""
        last = len(lines) - 1
        plain = self._start < 0 and not self._first
        pos = 0
        while pos <= last:
            line = lines[pos]
            end = offset + len(line) + 1
            if plain and pos < last and line[:6] == b"data: " and not lines[pos + 1]:
                frames.append((line[6:], "", offset, end + 1, ((offset + 6, end - 1),)))
                offset = end + 1
                pos += 2
                continue
            self._take(line, offset, end, frames)
            plain = self._start < 0
            offset = end
            pos += 1
        return offset

    def _feed_any(self, chunk: bytes) -> list[Frame]:
        frames: list[Frame] = []
        pos = 0
        if self._after_cr and chunk[:1] == b"\n":
            pos = 1
            self._offset += 1
        self._after_cr = chunk[-1:] == b"\r" if chunk else self._after_cr
        for match in _LINE_END.finditer(chunk, pos):
            self._line.append(chunk[pos : match.start()])
            line = b"".join(self._line)
            self._line = []
            end = self._offset + len(line) + match.end() - match.start()
            self._take(line, self._offset, end, frames)
            self._offset = end
            pos = match.end()
        if pos < len(chunk):
            self._line.append(chunk[pos:])
        return frames

    def flush(self) -> list[Frame]:
        """The end of the stream: a last event may lack its blank line, and that line its end."""
        frames: list[Frame] = []
        if self._line:
            line = b"".join(self._line)
            self._line = []
            end = self._offset + len(line)
            self._take(line, self._offset, end, frames)
            self._offset = end
        self._dispatch(self._offset, frames)
        return frames

    def _take(self, line: bytes, start: int, end: int, frames: list[Frame]) -> None:
        if not line:
            self._dispatch(end, frames)
            return
        if self._first:
            self._first = False
            if line.startswith(_BOM):
                self._take(line[3:], start + 3, end, frames)
                return
        if self._start < 0:
            self._start = start
        if line.startswith(b"data:"):
            skip = 6 if line[5:6] == b" " else 5
            self._data.append(line[skip:])
            self._lines.append((start + skip, start + len(line)))
        else:
            self._other(line, start)

    def _other(self, line: bytes, start: int) -> None:
        field, _, value = line.partition(b":")
        if field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")
        elif field == b"data":
            self._data.append(b"")
            self._lines.append((start + 4, start + 4))
        elif field and field not in (b"id", b"retry"):
            if self.lost < _STRAY_KEPT:
                self.stray.append(line)
            self.lost += len(line)

    def _dispatch(self, end: int, frames: list[Frame]) -> None:
        self._first = False
        data = self._data
        if data:
            whole = data[0] if len(data) == 1 else b"\n".join(data)
            frames.append((whole, self._name, self._start, end, tuple(self._lines)))
            self._data = []
            self._lines = []
        self._name = ""
        self._start = -1

    def clone(self) -> SSEDecoder:
        """A copy that goes on independently; the lists are short, except for the pieces of one long line."""
        twin = SSEDecoder.__new__(SSEDecoder)
        for slot in SSEDecoder.__slots__:
            value = getattr(self, slot)
            setattr(twin, slot, value.copy() if isinstance(value, list) else value)
        return twin
