"""The texts of the panes and the calls of tools, each piece with the step that brought it: what
breakpoints search.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator
from typing import NamedTuple

from transformer.records import Delta, Effect, Event, Transition
from workbench.replay.answers import calls_of, parts_of
from workbench.replay.follower import ALL, Follower, GrowingText
from workbench.replay.message import Assembly
from workbench.replay.player import Pane, Player
from workbench.replay.rowtext import decoded, row_text

# How far before a row's own text a match may begin.
WINDOW = 400
_MACHINE, _CLIENT = int(Pane.MACHINE), int(Pane.CLIENT)
_FLOWS = ("content", "reasoning", "arguments", "native")
_SAYS = ("content", "reasoning", "reasoning_content")


class Piece(NamedTuple):
    """A part of a channel's text."""

    text: str  # of the channel, all of it
    start: int
    end: int


class _Pane:
    """The channels of one pane, and which of them each step has a piece of."""

    def __init__(self) -> None:
        self._channels: dict[Hashable, int] = {}
        self._growths: list[GrowingText] = []
        self._steps = array("q")
        self._owners = array("q")
        self._numbers = array("q")  # of the piece in its channel

    def add(self, channel: Hashable, step: int, text: str) -> None:
        owner = self._channels.setdefault(channel, len(self._growths))
        if owner == len(self._growths):
            self._growths.append(GrowingText())
        growth = self._growths[owner]
        self._steps.append(step)
        self._owners.append(owner)
        self._numbers.append(len(growth))
        growth.add(step, text)

    def at(self, step: int) -> Iterator[Piece]:
        for at in range(bisect_left(self._steps, step), bisect_right(self._steps, step)):
            growth = self._growths[self._owners[at]]
            yield Piece(growth.text, *growth.piece(self._numbers[at]))


class Channels(Follower):
    """What upstream said, what the machines read, what the client got: each channel of each choice is a text.

    A text is cut anywhere on its way. So a match counts for the row with which it is complete, and may begin
    in the rows before.
    """

    def __init__(self, player: Player) -> None:
        super().__init__(player)
        self._panes = (_Pane(), _Pane(), _Pane())
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
            self._said(event)
        return rows and event is None

    def match(self, regex: re.Pattern[str], step: int) -> str | None:
        """What a row has that the expression finds; an empty match is none."""
        pane, row = self.player.place(step)
        item = self.player.item(pane, row)
        if isinstance(item, int):
            found = self._in_bytes(regex, item)
        else:
            found = next((one[0] for one in regex.finditer(row_text(self.player, item)) if one[0]), None)
        if found is not None:
            return found
        return next((one for piece in self._panes[pane].at(step) if (one := _ending(regex, piece))), None)

    def _in_bytes(self, regex: re.Pattern[str], read: int) -> str | None:
        data, start, end = self.player.data, self.player.starts[read], self.player.read_end(read)
        low = max(0, start - WINDOW)
        while low and data[low] & 0xC0 == 0x80 and low > start - WINDOW - 4:
            low -= 1  # a character is not to be cut
        text = data[low:end].decode("utf-8", "surrogateescape")
        for match in regex.finditer(text):
            if match[0] and low + len(_encoded(text[: match.end()])) > start:
                return decoded(_encoded(match[0]))
        return None

    def _look(self, step: int, pane: int, ref: int) -> None:
        if ref < 0:
            return
        if pane == _MACHINE:
            record = self.player.records[ref]
            if isinstance(record, Transition) and record.text:
                self._panes[pane].add((record.span.choice, record.span.channel), step, record.text)
        elif pane == _CLIENT:
            delta = self.player.records[ref]
            if isinstance(delta, Delta) and delta.text and delta.kind in _FLOWS:
                channel = delta.span.channel if delta.kind == "reasoning" and delta.span is not None else ""
                self._panes[pane].add((delta.choice, delta.kind, delta.call, channel), step, delta.text)

    def _step_of(self, event: Event) -> int:
        """An event is said with the read in which it ends."""
        return self.player.step_of_read(self.player.read_at(event.end - 1))

    def _said(self, event: Event) -> None:
        step = self._step_of(event)
        pane = self._panes[Pane.UPSTREAM]
        for choice, said in parts_of(event.data, whole=self.player.mode == "message"):
            for field in _SAYS:
                if isinstance(text := said.get(field), str) and text:
                    pane.add((choice, field), step, text)
            for call in calls_of(said):
                for field, text in (("name", call.name), ("arguments", call.arguments)):
                    if text:
                        pane.add((choice, field, call.number), step, text)


def _ending(regex: re.Pattern[str], piece: Piece) -> str | None:
    """A match that ends inside the piece; what comes behind it is not known yet."""
    text, start, end = piece
    for match in regex.finditer(text, max(0, start - WINDOW), end):
        if match[0] and match.end() > start:
            return match[0]
    return None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


_MACHINE_PANE, _CLIENT_PANE = int(Pane.MACHINE), int(Pane.CLIENT)


class ToolNames(Follower):
    """A machine knows the tool long before the client does, and also of what turns out not to be a call.

    Where no machine tells it, the delta with which the call leaves does.
    """

    def __init__(self, player: Player, assembly: Assembly) -> None:
        super().__init__(player)
        self._assembly = assembly
        self._steps = array("q")
        self._names: list[str] = []
        self._natives = 0  # so many of the assembly's have been taken
        self._told: dict[tuple[int, str], str] = {}  # by choice and channel: the tool named last

    def at(self, step: int) -> list[str]:
        """The tools that are known with a step."""
        return self._names[bisect_left(self._steps, step) : bisect_right(self._steps, step)]

    def catch_up(self, most: int = ALL) -> bool:
        return self._assembly.catch_up(most) and super().catch_up(most)

    def _look(self, step: int, pane: int, ref: int) -> None:
        if ref >= 0 and pane == _MACHINE_PANE:
            record = self.player.records[ref]
            if isinstance(record, Transition):
                self._moved(step, record)
        elif ref >= 0 and pane == _CLIENT_PANE:
            delta = self.player.records[ref]
            if isinstance(delta, Delta) and delta.kind == "call":
                self._left(step, delta)
        natives = self._assembly.natives
        while self._natives < len(natives) and natives[self._natives].step <= step:
            self._add(step, natives[self._natives].name)
            self._natives += 1

    def _moved(self, step: int, move: Transition) -> None:
        place = (move.span.choice, move.span.channel)
        if Effect.NAMES in move.effect and move.tool:
            self._told[place] = move.tool
            self._add(step, move.tool)
        elif Effect.BEGINS in move.effect:
            self._told.pop(place, None)

    def _left(self, step: int, delta: Delta) -> None:
        place = (delta.choice, delta.span.channel if delta.span is not None else "")
        if self._told.pop(place, None) != delta.name:
            self._add(step, delta.name or "")

    def _add(self, step: int, name: str) -> None:
        self._steps.append(step)
        self._names.append(name)
