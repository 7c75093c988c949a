"""The texts of the panes and the tools that are called, each with the step that brought it: what breakpoints
and searches look through.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from transformer.records import Delta, Event, Transition
from workbench.breakpoints import WINDOW, CalledTools
from workbench.patterns import Pattern
from workbench.replay.message import Assembly, call_parts_of, parts_of
from workbench.replay.player import Item, Pane, Player
from workbench.replay.rowindex import ALL, GrowingText, RowIndex
from workbench.replay.rowtext import decoded, row_text

_SLICE, _BLOCK = 500, 1 << 18  # rows and bytes that are searched before something else may be done
_DELTAS = ("content", "reasoning", "arguments", "native")  # that are pieces of a longer text
_FIELDS = ("content", "reasoning", "reasoning_content")


class Piece(NamedTuple):
    """A part of a channel's text."""

    text: str  # of the channel, all of it
    start: int
    end: int


class Match(NamedTuple):
    """The steps that brought its first and its last character; `whole`: it is all in one piece."""

    first: int
    last: int
    whole: bool


class PaneTexts:
    """The channels of one pane, and which of them each step has a piece of."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}  # of the channels
        self._texts: list[GrowingText] = []
        self._steps = array("q")
        self._channels = array("q")
        self._pieces = array("q")  # in the channel

    def add(self, channel: Hashable, step: int, piece: str) -> None:
        number = self._numbers.setdefault(channel, len(self._texts))
        if number == len(self._texts):
            self._texts.append(GrowingText())
        text = self._texts[number]
        self._steps.append(step)
        self._channels.append(number)
        self._pieces.append(len(text))
        text.add(step, piece)

    def at(self, step: int) -> Iterator[Piece]:
        for at in range(bisect_left(self._steps, step), bisect_right(self._steps, step)):
            text = self._texts[self._channels[at]]
            yield Piece(text.text, *text.piece(self._pieces[at]))

    def matches(self, regex: re.Pattern[str]) -> Iterator[Match]:
        for text in self._texts:
            for match in regex.finditer(text.text):
                if match[0]:
                    first, last = text.piece_of(match.start()), text.piece_of(match.end() - 1)
                    yield Match(text.steps[first], text.steps[last], first == last)


class Channels(RowIndex):
    """What upstream said, what the machines read, what the client got: each channel of each choice is a text.

    A text is cut anywhere on its way. So a match counts for the row that completes it, and may begin in
    earlier rows.
    """

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self._panes = (PaneTexts(), PaneTexts(), PaneTexts())
        self._event = 0  # the next one to be read

    @property
    def known(self) -> int:
        event = self.player.event(self._event)
        return super().known if event is None else min(super().known, self._step_of(event))

    def catch_up(self, most: int = ALL) -> bool:
        rows = super().catch_up(most)
        end = self._event + most
        while (event := self.player.event(self._event)) is not None and self._event < end:
            self._event += 1
            self._add_event(event)
        return rows and event is None

    def _look(self, step: int, item: Item) -> None:
        if isinstance(item, Transition):
            if item.text:
                self._panes[Pane.MACHINE].add((item.span.choice, item.span.channel), step, item.text)
        elif isinstance(item, Delta) and item.text and item.kind in _DELTAS:
            channel = item.span.channel if item.kind == "reasoning" and item.span is not None else ""
            self._panes[Pane.CLIENT].add((item.choice, item.kind, item.call, channel), step, item.text)

    def _add_event(self, event: Event) -> None:
        step, pane = self._step_of(event), self._panes[Pane.UPSTREAM]
        for choice, said in parts_of(event.data, whole=self.player.mode == "message"):
            for field in _FIELDS:
                if isinstance(text := said.get(field), str) and text:
                    pane.add((choice, field), step, text)
            for call in call_parts_of(said):
                for field, text in (("name", call.name), ("arguments", call.arguments)):
                    if text:
                        pane.add((choice, field, call.number), step, text)

    def _step_of(self, event: Event) -> int:
        """What an event says belongs to the read in which it ends."""
        return self.player.step_of_read(self.player.read_at(event.end - 1))

    # -- searching

    def match(self, regex: Pattern, step: int) -> str | None:
        """The expression's match in a row; an empty match does not count."""
        pane, row = self.player.place(step)
        item = self.player.item(pane, row)
        if isinstance(item, int):
            found = self._match_in_bytes(regex, item)
        else:
            found = next((one[0] for one in regex.finditer(row_text(self.player, item)) if one[0]), None)
        if found is not None:
            return found
        return next((one for piece in self._panes[pane].at(step) if (one := _match_in(piece, regex))), None)

    def matches(self, regex: re.Pattern[str], pane: Pane) -> Iterator[tuple[int, int] | None]:
        """All matches in the texts that the rows of a pane make together, as first and last row; None means
        that a slice is over. Upstream's data is searched as bytes, and as the text that they encode."""
        while not self.catch_up(_SLICE):
            yield None
        rows = self.player.rows(pane)
        if pane is Pane.UPSTREAM:
            yield from self._upstream_matches(regex)
            return
        for found in self._panes[pane].matches(regex):
            yield rows.known_at(found.first) - 1, rows.known_at(found.last) - 1

    def _upstream_matches(self, regex: re.Pattern[str]) -> Iterator[tuple[int, int] | None]:
        player, places = self.player, array("q")
        for start, end in _matches_in_bytes(regex, player.data):
            if start >= 0:
                places.append(start)
                yield self._row_of_byte(start), self._row_of_byte(end - 1)
            else:
                yield None
        for found in self._panes[Pane.UPSTREAM].matches(regex):
            first, last = player.last_read(found.first), player.last_read(found.last)
            if not (found.whole and self._stands_in_bytes(first, places)):
                yield player.rows_of_reads[first], player.rows_of_reads[last]

    def _stands_in_bytes(self, read: int, places: array[int]) -> bool:
        """Whether there was a match in the bytes of the events that end in a read: then a match in their text
        does not count again."""
        player = self.player
        low = min((event.start for event in player.events_in(read)), default=player.starts[read])
        at = bisect_left(places, low)
        return at < len(places) and places[at] < player.read_end(read)

    def _row_of_byte(self, byte: int) -> int:
        return self.player.rows_of_reads[self.player.read_at(byte)]

    def _match_in_bytes(self, regex: Pattern, read: int) -> str | None:
        data, start, end = self.player.data, self.player.starts[read], self.player.read_end(read)
        low = max(0, start - WINDOW)
        while low and data[low] & 0xC0 == 0x80 and low > start - WINDOW - 4:
            low -= 1  # a character must not be cut
        text = data[low:end].decode("utf-8", "surrogateescape")
        for match in regex.finditer(text):
            if match[0] and low + len(_encoded(text[: match.end()])) > start:
                return decoded(_encoded(match[0]))
        return None


def _match_in(piece: Piece, regex: Pattern) -> str | None:
    """A match that ends inside the piece; what comes after it is not known yet."""
    text, start, end = piece
    for match in regex.finditer(text, max(0, start - WINDOW), end):
        if match[0] and match.end() > start:
            return str(match[0])
    return None


def _matches_in_bytes(regex: re.Pattern[str], data: bytearray) -> Iterator[tuple[int, int]]:
    """Where the matches begin and end, block by block; -1 after each block. `data` may grow meanwhile."""
    pattern = regex.pattern.encode("utf-8", "surrogatepass")
    bytewise = re.compile(pattern, regex.flags & re.IGNORECASE)
    end = len(data)
    for start in range(0, end, _BLOCK):
        block = bytes(data[start : min(end, start + _BLOCK + len(pattern))])
        for match in bytewise.finditer(block):
            if match.start() < _BLOCK and match[0]:
                yield start + match.start(), start + match.end()
        yield -1, -1


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


class ToolNames(RowIndex):
    """The tools that are called, each with the step with which its name is known."""

    def __init__(self, player: Player, assembly: Assembly) -> None:
        super().__init__(player)
        self._assembly = assembly
        self._steps = array("q")
        self._names: list[str] = []
        self._natives = 0  # how many of the assembly's have been taken
        self._called = CalledTools()

    def at(self, step: int) -> list[str]:
        """The tools that are known with a step."""
        return self._names[bisect_left(self._steps, step) : bisect_right(self._steps, step)]

    def catch_up(self, most: int = ALL) -> bool:
        self._assembly.catch_up(most)
        return super().catch_up(most)

    def _reach(self) -> int:
        return self._assembly.known

    def _look(self, step: int, item: Item) -> None:
        if isinstance(item, Transition | Delta) and (name := self._called.of_record(item)) is not None:
            self._add(step, name)
        natives = self._assembly.natives
        while self._natives < len(natives) and natives[self._natives].step <= step:
            self._add(step, natives[self._natives].name)
            self._natives += 1

    def _add(self, step: int, name: str) -> None:
        self._steps.append(step)
        self._names.append(name)
