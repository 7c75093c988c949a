"""A call whose arguments are JSON text, while it is open: its header, and what has left of it."""

from __future__ import annotations

import re
from collections.abc import Mapping

import orjson

from transformer.calls.tagcall import tell_dropped
from transformer.growing import Text
from transformer.machine import Machine, size_of
from transformer.stream.outgoing import Arguments, Begin, Complete
from transformer.values.jsontext import missing_end
from transformer.values.schema import Tool

# A named tuple's own constructor costs as much as the rest of a step; this runs for every delta.
_new = tuple.__new__
_COUNTED = re.compile(r"(.*):\d+\Z", re.DOTALL)


class JsonCall:
    """The registers of an open call. `raw` is all its text until the client knows of it."""

    __slots__ = (
        "args",
        "args_end",
        "args_start",
        "begun",
        "closer",
        "dropped",
        "flows",
        "header",
        "id",
        "index",
        "keep",
        "live",
        "name",
        "raw",
        "settled",
        "size",
        "space",
        "start",
    )  # fmt: skip

    def __init__(self, m: Machine, text: str) -> None:
        policy = m.choice.policy
        self.start = m.pos - len(text)
        self.index = m.choice.next_index
        self.raw = Text(text)
        self.header = Text()
        self.args = Text()
        self.name = ""
        self.id = ""
        self.live = policy.arguments == "stream"
        self.keep = policy.malformed == "repair"  # a repair needs the arguments that have left
        self.closer = False  # its first token ended the call before it
        self.begun = False
        self.flows = False  # what comes goes straight on
        self.dropped = False
        self.space = Text()  # whitespace that may be the last of the arguments
        self.args_start = -1  # where the arguments begin
        self.args_end = -1  # and where they end, so far
        self.size = len(text)
        self.settled = 0

    def add(self, text: str) -> None:
        """Text of the call that is no argument."""
        self.size += size_of(text)
        if not self.begun:
            self.raw.append(text)

    def identify(self, m: Machine) -> None:
        """The header is complete: which tool, and which id."""
        self.id = str(self.header).strip()
        self.name = tool_name(self.id, m.choice.tools)
        if not self.name and len(m.choice.tools) == 1:
            self.name = next(iter(m.choice.tools))

    def argument(self, m: Machine, text: str) -> None:
        """More of the arguments, outside a string; whitespace around them is not part of them."""
        if not self.begun:
            self.raw.append(text)
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
            self.raw.append(text)
        self._send(m, text, m.pos)

    def _send(self, m: Machine, text: str, upto: int) -> None:
        self.args_end = upto
        if not self.begun:
            self.args.append(text)
            if not self.live or not self.name:
                return
            self.begin(m)
            text = str(self.args)
        elif self.keep:
            self.args.append(text)
        if not self.dropped:
            m.out.append(Arguments(self.index, text, upto - len(text), upto))
        settled = upto - self.start
        m.settled += settled - self.settled
        self.settled = settled

    def begin(self, m: Machine) -> None:
        """Tell the client that the call begins."""
        self.begun = True
        m.section = None
        m.prose.call(m.pos)
        end = self.start + self.raw.size if self.args_start < 0 else self.args_start
        admitted = m.choice.admit(m, self.name, self.id or None, self.start, end)
        self.raw = Text()
        if admitted is None:
            self.dropped = True
            return
        self.index, self.id = admitted
        self.flows = self.live and not self.keep
        m.out.append(Begin(self.index, self.id, self.name, self.start, end))

    def deliver(self, m: Machine, end: int, complete: bool) -> None:
        """The call ends at `end`; one that is not complete is closed as it is."""
        streamed = self.begun
        if not streamed:
            self.begin(m)
        if not self.dropped:
            if not streamed:
                text = str(self.args) or ("{}" if complete else "")
                start, upto = (self.args_start, self.args_end) if self.args_start >= 0 else (end, end)
                m.out.append(Arguments(self.index, text, start, upto))
            if complete:
                m.out.append(Complete(self.index, max(self.args_start, self.start), end))
        self.close(m, end)

    def close(self, m: Machine, end: int) -> None:
        tell_dropped(m, end)
        m.settled += end - self.start - self.settled
        m.prose.call(end)
        m.call = None
        m.prev = "\n"

    def release(self, m: Machine) -> None:
        """It is text after all."""
        m.call = None
        m.say_at(self.start, str(self.raw))

    def overflow(self, m: Machine) -> None:
        limit = m.choice.policy.max_call_bytes
        fate = "it was cut there" if self.begun else "it went on as text"
        m.found("call-too-long", self.start, m.pos, tool=self.name or "?", limit=limit, fate=fate)
        if self.begun:
            self.close(m, m.pos)
        else:
            self.release(m)
        m.restart()

    def repair(self, m: Machine) -> bool:
        """Close the JSON text, if then every required argument is there."""
        tool = m.tool(self.name)
        if m.choice.policy.malformed != "repair" or m.choice.was_cut or tool is None or self.args_start < 0:
            return False
        end = missing_end(str(self.args))
        if end is None:
            return False
        given = orjson.loads(str(self.args) + end)
        if not isinstance(given, dict) or not set(tool.required) <= given.keys():
            return False
        m.found("repaired-call", self.start, m.pos, tool=self.name, closing=end or "<|tool_call_end|>")
        if end:
            self._send(m, end, m.pos)
        self.deliver(m, m.pos, complete=True)
        return True

    def clone(self) -> JsonCall:
        twin = JsonCall.__new__(JsonCall)
        for slot in JsonCall.__slots__:
            setattr(twin, slot, getattr(self, slot))
        for text in ("raw", "header", "args", "space"):
            setattr(twin, text, getattr(self, text).clone())
        return twin


def tool_name(header: str, tools: Mapping[str, Tool]) -> str:
    """`functions.NAME:3`, `NAME:3`, or the plain name of an offered tool; empty if it names none."""
    prefixed = header.startswith("functions.")
    counted = _COUNTED.match(header.removeprefix("functions."))
    if counted:
        return counted.group(1).strip()
    if prefixed:
        return header.removeprefix("functions.").strip()
    return header if header in tools else ""


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
