"""A call whose arguments are the model's own JSON text, passed on as it was written."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from transformer.journal import Text
from transformer.jsonscan import missing_end
from transformer.parser.dialect import guard
from transformer.parser.machine import Machine, size_of
from transformer.parser.opencall import OpenCall
from transformer.parser.output import Arguments, Complete
from transformer.values.schema import Tool

# A named tuple's own constructor costs as much as the rest of a step; this runs for every delta.
_new = tuple.__new__


class JsonCall(OpenCall):
    """The registers of an open call. `text` is all its text until the client knows of it."""

    __slots__ = ("args", "args_end", "args_start", "closer", "flows", "header", "keep", "space", "text")

    def __init__(self, m: Machine, text: str, name: str = "") -> None:
        super().__init__(m, name, m.pos - len(text), live=True)
        self.text = Text(text)
        self.header = Text()
        self.args = Text()
        self.keep = m.choice.policy.malformed == "repair"  # a repair needs the arguments that have left
        self.closer = False  # its first token ended the call before it
        self.flows = False  # what comes goes straight on
        self.space = Text()  # whitespace that may be the last of the arguments
        self.args_start = -1  # where the arguments begin
        self.args_end = -1  # and where they end, so far
        self.size = len(text)

    def raw(self) -> str:
        return str(self.text)

    def add(self, text: str) -> None:
        self.size += size_of(text)
        if not self.begun:
            self.text.append(text)

    def argument(self, m: Machine, text: str) -> None:
        """More of the arguments, outside a string; whitespace around them is not part of them."""
        if not self.begun:
            self.text.append(text)
        self.size += size_of(text)
        if self.args_start < 0:
            text = text.lstrip()
            if not text:
                return
            self.args_start = m.pos - len(text)
        body = text.rstrip()
        if body:
            body, self.space = str(self.space) + body, Text(text[len(body) :])
            self._send(m, body, m.pos - self.space.size)
        else:
            self.space.append(text)

    def pass_on(self, m: Machine, text: str) -> None:
        """More of a string in the arguments. Once they flow, nothing else is to be done."""
        size = len(text)
        self.size += size if text.isascii() else size_of(text)
        if self.flows:
            pos = m.pos
            m.out.append(_new(Arguments, (self.index, text, pos - size, pos)))
            self.settled += size
            m.settled += size
            return
        if not self.begun:
            self.text.append(text)
        self._send(m, text, m.pos)

    def _send(self, m: Machine, text: str, upto: int) -> None:
        self.args_end = upto
        if not self.begun:
            self.args.append(text)
            if not self.live or not self.name:
                return
            self._begin(m)
            text = str(self.args)
        elif self.keep:
            self.args.append(text)
        if not self.dropped:
            m.out.append(Arguments(self.index, text, upto - len(text), upto))
        settled = upto - self.start
        m.settled += settled - self.settled
        self.settled = settled

    def _begin(self, m: Machine) -> None:
        self.announce(m, self.named_until())
        self.text = Text()
        self.flows = self.live and not self.keep and not self.dropped

    def named_until(self) -> int:
        """The name ends before this place."""
        return self.start + self.text.size if self.args_start < 0 else self.args_start

    def deliver(self, m: Machine, end: int, complete: bool) -> None:
        """The call ends at `end`; one that is not complete is closed as it is."""
        streamed = self.begun
        if not streamed:
            self._begin(m)
        if not self.dropped:
            if not streamed:
                text = str(self.args) or ("{}" if complete else "")
                start, upto = (self.args_start, self.args_end) if self.args_start >= 0 else (end, end)
                m.out.append(Arguments(self.index, text, start, upto))
            if complete:
                m.out.append(Complete(self.index, max(self.args_start, self.start), end))
        self.close(m, end)

    def close(self, m: Machine, end: int) -> None:
        super().close(m, end)
        m.prev = "\n"

    def missing_end(self, m: Machine) -> str | None:
        """What closes the JSON text so that every required argument is there, where the policy repairs."""
        tool = m.tool(self.name)
        if self.begun and m.choice.next_index > self.index + 1:
            return None  # another channel has begun a call since: this one is over for the client
        if m.choice.policy.malformed != "repair" or m.choice.was_cut or tool is None or self.args_start < 0:
            return None
        end = missing_end(str(self.args))
        if end is None:
            return None
        given = orjson.loads(str(self.args) + end)
        return end if isinstance(given, dict) and set(tool.required) <= given.keys() else None

    def repair(self, m: Machine, closer: str) -> None:
        """Close the JSON text and the call, which `closer` should have ended."""
        end = self.missing_end(m)
        assert end is not None
        m.found("repaired-call", self.start, m.pos, tool=self.name, closing=end or closer)
        if end:
            self._send(m, end, m.pos)
        self.deliver(m, m.pos, complete=True)

    def fitting(self, m: Machine) -> list[str]:
        return fitting_tools(str(self.args), m.choice.tools)

    def clone(self) -> JsonCall:
        twin = self.copied()
        assert isinstance(twin, JsonCall)
        twin.text, twin.header = self.text.clone(), self.header.clone()
        twin.args, twin.space = self.args.clone(), self.space.clone()
        return twin


class JsonMachine(Machine):
    """A machine that has such a call open."""

    __slots__ = ()
    call: JsonCall


@guard("the policy repairs, and the JSON can be closed with every required argument in it")
def is_repairable(m: JsonMachine, name: str) -> bool:
    return m.call.missing_end(m) is not None


def fitting_tools(args: str, tools: Mapping[str, Tool]) -> list[str]:
    """The offered tools that these arguments fit: no key they don't know, none missing."""
    try:
        given = orjson.loads(args or "{}")
    except orjson.JSONDecodeError:
        return []
    if not isinstance(given, dict):
        return []
    keys = given.keys()
    return [
        name
        for name, tool in tools.items()
        if set(tool.required) <= keys and all(tool.knows(key) for key in keys)
    ]
