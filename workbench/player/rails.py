"""Which call an event has text of, and since which step that is known."""

from __future__ import annotations

from array import array

_NONE = -1


class Rails:
    """By the number of the event; the first call that an event has a part of counts, and stays."""

    __slots__ = ("_calls", "_steps")

    def __init__(self) -> None:
        self._calls = array("q")
        self._steps = array("q")

    def add(self, event: int, call: int, step: int) -> None:
        if event < 0 or self.knows(event):
            return
        missing = event + 1 - len(self._calls)
        if missing > 0:
            self._calls.extend([_NONE] * missing)
            self._steps.extend([_NONE] * missing)
        self._calls[event], self._steps[event] = call, step

    def knows(self, event: int) -> bool:
        return 0 <= event < len(self._calls) and self._calls[event] != _NONE

    def call_of(self, event: int, step: int) -> int | None:
        return self._calls[event] if self.knows(event) and self._steps[event] <= step else None
