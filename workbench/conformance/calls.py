"""One native call, delta by delta, against what clients want of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from transformer.records import Event
from transformer.setting import Setting
from workbench.conformance.arguments import Arguments, misfits
from workbench.conformance.checks import Check, Tally, make_check, short

Delta: TypeAlias = Mapping[str, Any]


class CallCheck:
    """What is known of a call so far. `number` counts the calls of its choice."""

    __slots__ = ("_arguments", "_choice", "_fitted", "_ids", "_names", "_setting", "event", "id", "name", "number", "tally")

    def __init__(self, setting: Setting, choice: int, number: int, event: Event) -> None:
        self._setting = setting
        self._choice = choice
        self.number = number
        self.event = event  # in which it begins
        self.id = ""
        self.name = ""
        self.tally = Tally()
        self._arguments = Arguments()
        self._fitted = False

    def __str__(self) -> str:
        return f"call {self.number} {short(self.name)}".rstrip()

    def _breach(self, code: str, event: Event, **said: object) -> Iterator[Check]:
        if self.tally.is_first(code):
            yield make_check(code, event, self._choice, self.number, call_=None, call=self, **said)

    def begin(self, delta: Delta, event: Event, ids: Mapping[str, int]) -> Iterator[Check]:
        """Its first delta. `ids` are those of the calls before it."""
        function = _object(delta.get("function"))
        self.id, self.name = _text(delta.get("id")), _text(function.get("name"))
        if not self.name:
            yield from self._breach("check-name-missing", event)
        elif self._setting.tools_known and self.name not in self._setting.tools:
            yield from self._breach("check-tool-unknown", event)
        if not self.id:
            yield from self._breach("check-id-missing", event)
        elif self.id in ids:
            yield from self._breach("check-id-shared", event, id=short(self.id))
        yield from self._more(function, event)
