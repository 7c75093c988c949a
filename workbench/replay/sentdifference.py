"""What the client got when recorded, compared with what today's code sends for the same bytes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

_BEFORE, _AFTER = 120, 200  # bytes around the difference that are kept to be shown


@dataclass(frozen=True, slots=True)
class SentDifference:
    """The first byte in which the two differ, what both had before it, and what each has from there on.

    `read` is the one with which today's code sends it; -1 if it sends nothing more.
    """

    byte: int
    read: int
    before: bytes
    sent: bytes
    made: bytes


class SentComparison:
    """Keeps only what is not compared yet."""

    __slots__ = ("_before", "_compared", "_found", "_made", "_reads", "_sent")

    def __init__(self) -> None:
        self._made = bytearray()
        self._sent = bytearray()
        self._before = b""
        self._compared = 0
        self._reads: deque[tuple[int, int]] = deque()  # the end of what a read led to, and the read
        self._found: tuple[int, int] | None = None  # the byte and the read

    @property
    def difference(self) -> SentDifference | None:
        if self._found is None:
            return None
        byte, read = self._found
        return SentDifference(byte, read, self._before, bytes(self._sent), bytes(self._made))

    def made(self, data: bytes, read: int) -> None:
        """What today's code sends next."""
        if self._found is None and data:
            end = self._reads[-1][0] if self._reads else self._compared
            self._reads.append((end + len(data), read))
        self._take(self._made, data)

    def sent(self, data: bytes) -> None:
        """What the client got next."""
        if self._made == data and not self._sent and self._found is None:
            # The usual case: exactly what was made since.
            self._compared += len(data)
            self._before = data[-_BEFORE:] if len(data) >= _BEFORE else (self._before + data)[-_BEFORE:]
            self._made.clear()
            self._reads.clear()
            return
        self._take(self._sent, data)

    def remade(self, data: bytes, read: int) -> None:
        """What today's code sends is replaced from the beginning, except for what the client has."""
        if self._found is None:
            self._made = bytearray(data[self._compared :])
            self._reads = deque([(len(data), read)])
            self._compare()

    def _take(self, side: bytearray, data: bytes) -> None:
        if self._found is None:
            side += data
            self._compare()
        elif len(side) < _AFTER:
            side += data[: _AFTER - len(side)]

    def _compare(self) -> None:
        size = min(len(self._made), len(self._sent))
        if not size:
            return
        made, sent = self._made[:size], self._sent[:size]
        equal = size if made == sent else next(at for at in range(size) if made[at] != sent[at])
        self._compared += equal
        self._before = (self._before + made[:equal])[-_BEFORE:]
        del self._made[:equal]
        del self._sent[:equal]
        while self._reads and self._reads[0][0] <= self._compared:
            self._reads.popleft()
        if equal < size:
            self._differ()

    def _differ(self) -> None:
        self._found = self._compared, self._reads[0][1] if self._reads else -1
        del self._made[_AFTER:]
        del self._sent[_AFTER:]

    def end(self) -> None:
        """Nothing more comes. A tape without what was sent has nothing to compare."""
        has_sent = self._compared or self._sent
        if self._found is None and has_sent and len(self._made) != len(self._sent):
            self._differ()
