"""A call as Python while it is being read, and the one that is written as JSON instead."""

from __future__ import annotations

from typing import NamedTuple

from transformer.journal import Text
from transformer.jsonscan import members
from transformer.parser.machine import Machine, size_of
from transformer.parser.opencall import OpenCall
from transformer.parser.output import Arguments, Complete
from transformer.values.literals import python_or_json, quote


class PythonCall(OpenCall):
    """The registers of an open call; all of it is held until it is complete."""

    __slots__ = ("arguments", "bare", "closed", "depth", "json", "text", "value", "value_start")

    def __init__(self, m: Machine, text: str, bare: bool) -> None:
        super().__init__(m, "", m.pos - len(text), live=False)
        self.text = Text(text)
        self.size = size_of(text)
        self.bare = bare  # there is no marker before the list
        self.arguments: dict[str, tuple[str, int]] = {}
        self.depth = 0  # brackets that are open in the value; of a call as JSON the braces alone
        self.json = ""  # all arguments of a call that is written as JSON
        self.value = Text()
        self.value_start = -1
        self.closed = -1  # after its closing parenthesis

    def raw(self) -> str:
        return str(self.text)

    def add(self, text: str) -> None:
        self.size += size_of(text)
        self.text.append(text)

    def open(self, m: Machine, text: str, key: str) -> None:
        self.add(text)
        self.key, self.value, self.value_start, self.depth = key, Text(), m.pos, 0

    def data(self, text: str) -> None:
        self.add(text)
        self.value.append(text)

    def commit(self, m: Machine) -> None:
        """The open value is complete. The first of two with the same name counts."""
        if self.key in self.arguments:
            m.found(
                "duplicate-parameter",
                self.value_start,
                self.value_start + self.value.size,
                parameter=self.key,
            )
        else:
            self.arguments[self.key] = (str(self.value), self.value_start)

    def deliver(self, m: Machine) -> None:
        """The call is complete; what was read after its parenthesis only showed that."""
        self.announce(m, self.start + self.text.size)
        if not self.dropped:
            parts = [f"{quote(key)}:{self._json(m, key)}" for key in self.arguments]
            text = self.json or f"{{{','.join(parts)}}}"
            m.out.append(Arguments(self.index, text, self.start, self.closed))
            m.out.append(Complete(self.index, self.start, self.closed))
        end = self.start + self.text.size
        self.close(m, end)
        m.prev = "\n"

    def _json(self, m: Machine, key: str) -> str:
        """A value that is not a literal, such as the name of a variable, goes on as the text that it is."""
        text, start = self.arguments[key]
        written = python_or_json(text)
        if written is None:
            m.found("value-not-of-type", start, start + len(text), parameter=key, wanted="literal")
            return quote(text.strip())
        return written

    def clone(self) -> PythonCall:
        twin = self.copied()
        assert isinstance(twin, PythonCall)
        twin.text, twin.value = self.text.clone(), self.value.clone()
        twin.arguments = dict(self.arguments)
        return twin


class PythonMachine(Machine):
    """A machine that has such a call open."""

    __slots__ = ()
    call: PythonCall


class WrittenAsJson(NamedTuple):
    name: str
    arguments: str


def json_call(text: str) -> WrittenAsJson | None:
    """The call that a JSON object represents; None if it is not a call."""
    found = {member.key: member for member in members(text) or ()}
    named = found.get("name")
    given = found.get("arguments") or found.get("parameters")
    if named is None or not isinstance(named.value, str) or not named.value:
        return None
    if given is None or given.value is None:
        return WrittenAsJson(named.value, "{}")
    return WrittenAsJson(named.value, given.raw.strip()) if isinstance(given.value, dict) else None
