"""Calls of tools, each at the step with which its tool is known."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right

from transformer import Delta, Transition
from transformer.parser.jsoncall import tool_name
from workbench.player.assembly import Assembly
from workbench.player.following import ALL, Follower
from workbench.player.panes import Pane
from workbench.player.player import Player

_MACHINE, _CLIENT = int(Pane.MACHINE), int(Pane.CLIENT)
# In tag dialects the token that begins a call names its tool.
_BEGINS = frozenset({"call", "unknown", "function"})
_OPENERS = frozenset({"tool", "maybe_tool", "own", "own_unknown", "function"})
_TAG = re.compile(r"<(?:function=)?([^<>]+)>")
# In kimi-k2 the id does, which is complete with the token behind it.
_HEADER = frozenset({"header", "id", "id_end"})
_BEHIND_HEADER = frozenset({"argument_begin", "call_end"})


class ToolNames(Follower):
    """A machine knows the tool long before the client does, and also of what turns out to be no call.

    Where no machine tells it, the delta with which the call leaves does.
    """

    def __init__(self, player: Player, assembly: Assembly) -> None:
        super().__init__(player)
        self._assembly = assembly
        self._steps = array("q")
        self._names: list[str] = []
        self._natives = 0  # so many of the assembly's have been taken
        self._headers: dict[tuple[int, str], str] = {}  # by choice and channel: an id that is being read
        self._told: dict[tuple[int, str], str] = {}  # and the tool that its machine named last

    def at(self, step: int) -> list[str]:
        """The tools that are known with a step."""
        return self._names[bisect_left(self._steps, step) : bisect_right(self._steps, step)]

    def catch_up(self, most: int = ALL) -> bool:
        return self._assembly.catch_up(most) and super().catch_up(most)

    def _look(self, step: int, pane: int, ref: int) -> None:
        if ref >= 0 and pane == _MACHINE:
            record = self.player.records[ref]
            if isinstance(record, Transition):
                self._moved(step, record)
        elif ref >= 0 and pane == _CLIENT:
            delta = self.player.records[ref]
            if isinstance(delta, Delta) and delta.kind == "call":
                self._left(step, delta)
        natives = self._assembly.natives
        while self._natives < len(natives) and natives[self._natives].step <= step:
            self._add(step, natives[self._natives].name)
            self._natives += 1

    def _moved(self, step: int, move: Transition) -> None:
        place = (move.span.choice, move.span.channel)
        if move.token in _OPENERS and move.to in _BEGINS:
            tag = _TAG.fullmatch(move.text)
            self._tell(step, place, tag[1].strip() if tag else "")
        elif move.token == "call_begin":
            self._headers[place] = self._told[place] = ""
        elif move.rule == "header":
            self._headers[place] = self._headers.get(place, "") + move.text
        elif move.state in _HEADER and move.token in _BEHIND_HEADER:
            self._tell(step, place, tool_name(self._headers.pop(place, "").strip(), {}))

    def _left(self, step: int, delta: Delta) -> None:
        place = (delta.choice, delta.span.channel if delta.span is not None else "")
        if self._told.pop(place, None) != delta.name:
            self._add(step, delta.name or "")

    def _tell(self, step: int, place: tuple[int, str], name: str) -> None:
        self._told[place] = name
        if name:
            self._add(step, name)

    def _add(self, step: int, name: str) -> None:
        self._steps.append(step)
        self._names.append(name)
