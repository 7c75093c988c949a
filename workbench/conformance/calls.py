"""One native call, delta by delta, against what clients want of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from transformer.records import Event
from transformer.setting import Setting
from workbench.conformance.arguments import Arguments, misfits
from workbench.conformance.checks import Check, Tally, make_check, short


class CallCheck:
    """What is known of a call so far. `number` counts the calls of its choice."""

    __slots__ = ("_arguments", "_choice", "_read", "_setting", "event", "id", "name", "number", "tally")

    def __init__(self, setting: Setting, choice: int, number: int, event: Event) -> None:
        self._setting = setting
        self._choice = choice
        self._arguments = Arguments()
        self._read = False  # the arguments were whole, and were looked at
        self.number = number
        self.event = event  # in which it begins
        self.id = ""
        self.name = ""
        self.tally = Tally()

    def __str__(self) -> str:
        return f"call {self.number} {short(self.name)}".rstrip()

    def breach(self, code: str, event: Event, **said: object) -> Iterator[Check]:
        """Told of once in a call, counted after that."""
        if self.tally.is_first(code):
            said = {"call": self, **said}
            yield make_check(code, event, said, choice=self._choice, call=self.number)

    def begin(self, delta: Mapping[str, Any], event: Event, used: Collection[str]) -> Iterator[Check]:
        """Its first delta. `used` are the ids of the calls before it."""
        function = _object(delta.get("function"))
        self.id, self.name = _text(delta.get("id")), _text(function.get("name"))
        if not self.name:
            yield from self.breach("check-name-missing", event)
        elif self._setting.tools_known and self.name not in self._setting.tools:
            yield from self.breach("check-tool-unknown", event)
        if not self.id:
            yield from self.breach("check-id-missing", event)
        elif self.id in used:
            yield from self.breach("check-id-shared", event, id=short(self.id))
        yield from self._grow(delta, function, event)

    def go_on(self, delta: Mapping[str, Any], event: Event) -> Iterator[Check]:
        """A later delta: servers that say id or name again, if empty, do no harm."""
        function = _object(delta.get("function"))
        id, name = _text(delta.get("id")), _text(function.get("name"))
        if id and name and id != self.id and self.id:
            yield from self.breach("check-index-reused", event, name=short(name))
        else:
            if id and self.id:
                yield from self.breach("check-id-repeated", event, joined=short(self.id + id))
            if name and self.name:
                yield from self.breach("check-name-repeated", event, joined=short(self.name + name))
        # What comes late is still good for the summary; that it is late was said.
        self.id, self.name = self.id or id, self.name or name
        yield from self._grow(delta, function, event)

    def _grow(self, delta: Mapping[str, Any], function: Mapping[str, Any], event: Event) -> Iterator[Check]:
        piece = function.get("arguments")
        wrong = _shape(delta.get("id"), delta.get("function"), function.get("name"), piece)
        if wrong:
            yield from self.breach("check-call-shape", event, what=f"{wrong} of {self}")
        if not isinstance(piece, str):
            return
        if self._arguments.whole and piece.strip():
            yield from self.breach("check-arguments-early", event, size=self._arguments.size)
            return
        self._arguments.add(piece)
        if self._arguments.whole and not self._read:
            self._read = True
            yield from self._look_inside(event)

    def _look_inside(self, event: Event) -> Iterator[Check]:
        """The arguments are whole: from here on a client may have run the call."""
        value, tool = self._arguments.value, self._setting.tools.get(self.name)
        if not isinstance(value, dict) or tool is None:
            return
        for parameter, given, wanted in misfits(tool, value):
            code = "check-parameter-type" if given else "check-parameter-missing"
            said = {"parameter": short(parameter), "given": given, "wanted": wanted}
            yield from self.breach(code, event, **said)

    def end(self, event: Event) -> Iterator[Check]:
        """No more of it comes."""
        early = "check-arguments-early" in self.tally.counts
        if not early and (why := self._arguments.problem) is not None:
            yield from self.breach("check-arguments-json", event, why=why)

    def summary(self, cut: bool) -> Check:
        """`cut`: the answer was over before it was whole."""
        inside = cut and not self._arguments.whole
        said = {"call": self, "said": "the answer was cut off inside it" if inside else self.tally}
        level, choice = self.tally.level, self._choice
        return make_check("check-call", self.event, said, choice=choice, call=self.number, level=level)


def _shape(id: object, function: object, name: object, arguments: object) -> str:
    """Which part of a delta has a type that no client takes."""
    if not isinstance(function, Mapping | None):
        return "the function"
    for value, what in ((id, "the id"), (name, "the name"), (arguments, "the arguments")):
        if not isinstance(value, str | None):
            return f"{what} that is no string"
    return ""


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
