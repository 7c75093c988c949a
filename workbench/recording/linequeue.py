"""The lines of one tape on their way to its file, in order, held back while a secret may be in them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from workbench.recording.masking import Masker, Piece
from workbench.recording.redaction import Redaction
from workbench.recording.tapelines import data_line

# How long a line waits for the rest of what may be a secret.
HOLD = 0.04


class Weight(NamedTuple):
    """What is missing when a line is: itself, or what a `lost` line speaks of, which is `counted` already."""

    lines: int = 1
    payload: int = 0
    counted: bool = False


class Ready:
    """Lines that can be written: joined at once, for thousands of small pieces of memory are expensive."""

    __slots__ = ("data", "t", "weights")

    def __init__(self) -> None:
        self.data = bytearray()
        self.weights: list[Weight] = []
        self.t = 0.0

    def add(self, t: float, line: bytes, weight: Weight) -> None:
        if not self.weights:
            self.t = t
        self.data += line
        self.weights.append(weight)


@dataclass(frozen=True, slots=True)
class _Held:
    """A line that waits: for its own piece to be decided, or behind one that does."""

    since: float
    t: float
    weight: Weight
    line: bytes = b""
    key: str = ""
    by: str | None = None
    piece: Piece | None = None
    masker: Masker | None = None

    @property
    def decided(self) -> bool:
        return self.piece is None or self.masker is None or self.piece.end <= self.masker.decided

    def encoded(self) -> bytes:
        return self.line if self.piece is None else data_line(self.key, self.t, self.piece.data, self.by)


class LineQueue:
    """Each direction has a masker of its own. While one line waits, those behind it wait as well: a tape
    whose lines are out of order would tell another story."""

    def __init__(self, redaction: Redaction) -> None:
        self._maskers = {"read": redaction.masker(), "sent": redaction.masker()}
        self._ready = Ready()
        self._held: deque[_Held] = deque()

    @property
    def deadline(self) -> float | None:
        """When the line that has waited longest must go."""
        return self._held[0].since + HOLD if self._held else None

    def data(self, now: float, key: str, t: float, data: bytes, by: str | None) -> None:
        """A `read` or `sent` line."""
        masker = self._maskers[key]
        weight = Weight(1, len(data))
        if masker is None or (not self._held and masker.passes(data)):
            self._ready.add(t, data_line(key, t, data, by), weight)
            return
        piece = masker.feed(data)
        if not self._held and piece.end <= masker.decided:
            self._ready.add(t, data_line(key, t, piece.data, by), weight)
        else:
            self._held.append(_Held(now, t, weight, b"", key, by, piece, masker))

    def line(self, now: float, t: float, line: bytes, weight: Weight | None = None) -> None:
        """Any other line; it is redacted already."""
        weight = weight or Weight()
        if self._held:
            self._held.append(_Held(now, t, weight, line))
        else:
            self._ready.add(t, line, weight)

    def take(self, now: float) -> Ready:
        """The lines that may be written by now."""
        while self._held:
            first = self._held[0]
            if not first.decided:
                if now < first.since + HOLD:
                    break
                assert first.masker is not None
                first.masker.decide()
            self._held.popleft()
            self._ready.add(first.t, first.encoded(), first.weight)
        ready, self._ready = self._ready, Ready()
        return ready
