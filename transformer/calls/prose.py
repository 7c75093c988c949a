"""Prose: the text of one channel on its way to the client, and the whitespace that waits."""

from __future__ import annotations

from collections.abc import Callable

from transformer.stream.outgoing import Op, Piece


class Prose:
    """Passes text on at once, but for whitespace at its end: a call may follow and swallow it.

    After a call, whitespace stays behind until text follows it; alone it is dropped. Where the
    policy drops what comes after a call, everything is, and one finding names it.
    """

    __slots__ = ("_drop", "_dropped", "_found", "_spaces", "_words", "out", "quiet", "settled")

    def __init__(self, out: list[Op], drop: bool, found: Callable[[int, int], None]) -> None:
        self.out = out
        self.settled = 0
        self.quiet = False  # nothing but whitespace since a call
        self._drop = drop
        self._found = found
        self._spaces: list[Piece] = []
        self._dropped: tuple[int, int] | None = None
        self._words = False  # there is more than whitespace in what was dropped

    def text(self, start: int, text: str) -> None:
        if self._dropped is not None:
            self._dropped = (self._dropped[0], start + len(text))
            self._words = self._words or not text.isspace()
            self.settled += len(text)
            return
        body = text.rstrip()
        if not body:
            self._spaces.append(Piece(start, text))
            return
        if self._spaces:
            self._release()
        self._emit(start, body)
        self.quiet = False
        if len(body) < len(text):
            self._spaces.append(Piece(start + len(body), text[len(body) :]))

    def call(self, end: int) -> None:
        """A call was recognised that ends at `end`: the whitespace before it goes with it."""
        self._forget()
        self._report()
        self.quiet = True
        if self._drop:
            self._dropped = (end, end)

    def end(self) -> None:
        """The answer is over: whitespace that followed text was text."""
        if self.quiet:
            self._forget()
        else:
            self._release()
        self._report()

    def _emit(self, start: int, text: str) -> None:
        self.settled += len(text)
        self.out.append(Piece(start, text))

    def _release(self) -> None:
        for start, text in self._spaces:
            self._emit(start, text)
        self._spaces = []

    def _forget(self) -> None:
        self.settled += sum(len(piece.text) for piece in self._spaces)
        self._spaces = []

    def _report(self) -> None:
        if self._dropped is not None and self._words:
            self._found(*self._dropped)
        self._dropped = None
        self._words = False

    def clone(self, out: list[Op], found: Callable[[int, int], None]) -> Prose:
        twin = Prose(out, self._drop, found)
        twin.settled, twin.quiet = self.settled, self.quiet
        twin._spaces = self._spaces.copy()
        twin._dropped, twin._words = self._dropped, self._words
        return twin
