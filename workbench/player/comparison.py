"""What was sent then against what would be sent today."""

from __future__ import annotations


class Comparison:
    """Keeps only what is not compared yet. `difference` is the first byte in which the two differ."""

    __slots__ = ("_compared", "_made", "_sent", "difference")

    def __init__(self) -> None:
        self._made = bytearray()
        self._sent = bytearray()
        self._compared = 0
        self.difference: int | None = None

    def made(self, data: bytes) -> None:
        """What today's code sends next."""
        self._made += data
        self._compare()

    def sent(self, data: bytes) -> None:
        """What the client got next."""
        self._sent += data
        self._compare()

    def _compare(self) -> None:
        size = min(len(self._made), len(self._sent))
        if not size or self.difference is not None:
            return
        made, sent = self._made[:size], self._sent[:size]
        if made != sent:
            self.difference = self._compared + next(at for at in range(size) if made[at] != sent[at])
            return
        self._compared += size
        del self._made[:size]
        del self._sent[:size]

    def end(self) -> None:
        """Nothing more comes. A tape without what was sent has nothing to compare."""
        has_sent = self._compared or self._sent
        if self.difference is None and has_sent and len(self._made) != len(self._sent):
            self.difference = self._compared
