"""A call's arguments as JSON text, piece by piece as its parameters become certain."""

from __future__ import annotations

from typing import NamedTuple

from transformer.arguments import convert, convert_repeated
from transformer.values.literals import quote, trim
from transformer.values.schema import Tool


class Note(NamedTuple):
    """Something to tell about the value at `start`."""

    code: str
    start: int
    end: int
    values: dict[str, object]


class Fragments:
    """Give it parameters in order; it gives the JSON text that may leave, and the rest at `finish`.

    With `live`, parameters leave before the call is complete, and with `flow` a string leaves while
    it arrives. An array may be given several times, so from
    the first array on everything waits for the end of the call: order is kept. Whole and live
    use the same code, so they cannot disagree.
    """

    __slots__ = (
        "_blocked",
        "_flow",
        "_given",
        "_live",
        "_open",
        "_streamed",
        "_tail",
        "_tool",
        "_written",
        "notes",
    )

    def __init__(self, tool: Tool | None, live: bool, flow: bool) -> None:
        self._tool = tool
        self._live = live
        self._flow = live and flow
        self._given: dict[str, list[tuple[str, int]]] = {}
        self._written: set[str] = set()
        self._blocked = False
        self._open = False  # a string is being streamed
        self._tail = ""  # its end, which may still be the newline before the closing tag
        self._streamed = -1  # its characters that left; -1 before its first
        self.notes: list[Note] = []

    def open(self, name: str) -> str:
        """A parameter begins."""
        text = self._tool is None or self._tool.is_text(name)
        self._open = self._flow and not self._blocked and text and name not in self._given
        if not self._open:
            return ""
        self._tail, self._streamed = "", -1
        return self._comma() + quote(name) + ':"'

    def text(self, text: str) -> str:
        """More of the open value, certain to be data."""
        if not self._open:
            return ""
        tail = self._tail + text
        if self._streamed < 0:
            if tail in ("", "\r"):
                self._tail = tail
                return ""
            self._streamed = 0
            tail = tail.removeprefix("\r\n") if tail.startswith("\r\n") else tail.removeprefix("\n")
        keep = 2 if tail.endswith("\r\n") else 1 if tail.endswith(("\n", "\r")) else 0
        body = tail[: len(tail) - keep]
        self._tail = tail[len(body) :]
        self._streamed += len(body)
        return quote(body)[1:-1]

    def close(self, name: str, raw: str, start: int) -> str:
        """A parameter is complete: its raw text, and where that begins."""
        if self._open:
            self._open = False
            self._given[name] = [(raw, start)]
            self._written.add(name)
            return quote(trim(raw)[max(0, self._streamed) :])[1:]
        if name in self._given:
            self._repeat(name, raw, start)
            return ""
        self._given[name] = [(raw, start)]
        self._blocked = self._blocked or not self._live or self._repeats(name)
        return "" if self._blocked else self._write(name)

    def finish(self) -> str:
        """The call is complete: what has not left yet, and the closing brace."""
        rest = "".join(self._write(name) for name in self._given if name not in self._written)
        return rest + "}" if self._written else "{}"

    def _repeat(self, name: str, raw: str, start: int) -> None:
        if self._repeats(name):
            self._given[name].append((raw, start))
        else:
            self.notes.append(Note("duplicate-parameter", start, start + len(raw), {"parameter": name}))

    def _repeats(self, name: str) -> bool:
        return self._tool is not None and self._tool.repeats(name)

    def _comma(self) -> str:
        return "," if self._written else "{"

    def _write(self, name: str) -> str:
        comma = self._comma()
        self._written.add(name)
        return f"{comma}{quote(name)}:{self._value(name)}"

    def _value(self, name: str) -> str:
        given = self._given[name]
        tool = self._tool
        if tool is None or not tool.knows(name):
            return quote(trim(given[0][0]))
        schema, root = tool.properties[name], tool.parameters
        if len(given) > 1:
            value = convert_repeated([raw for raw, _ in given], schema, root)
        else:
            value = convert(given[0][0], schema, root)
        if not value.fits:
            start, end = given[0][1], given[-1][1] + len(given[-1][0])
            self.notes.append(
                Note("value-not-of-type", start, end, {"parameter": name, "wanted": value.wanted})
            )
        return value.json

    def clone(self) -> Fragments:
        twin = Fragments(self._tool, self._live, self._flow)
        twin._given = {name: texts.copy() for name, texts in self._given.items()}
        twin._written = self._written.copy()
        twin._blocked, twin._open = self._blocked, self._open
        twin._tail, twin._streamed = self._tail, self._streamed
        twin.notes = self.notes.copy()
        return twin
