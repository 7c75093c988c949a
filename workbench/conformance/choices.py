"""One choice of an answer that is not converted: its calls, its role, its finish_reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from transformer.records import Event
from transformer.setting import Setting
from workbench.conformance.calls import CallCheck
from workbench.conformance.checks import Check, Tally, make_check, short

REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")
_CUT = ("length", "content_filter")
_SAID = ("content", "reasoning_content", "reasoning", "tool_calls", "refusal")


class ChoiceCheck:
    """`tally` counts what concerns no single call; all choices of an answer share it."""

    __slots__ = ("_by_index", "_ids", "_role", "_setting", "_tally", "calls", "finish", "index", "touched")

    def __init__(self, setting: Setting, index: int, tally: Tally) -> None:
        self._setting = setting
        self.index = index
        self._tally = tally
        self._role = ""
        self._by_index: dict[int, CallCheck] = {}
        self._ids: set[str] = set()
        self.calls: list[CallCheck] = []
        self.finish: str | None = None
        self.touched: int | None = None  # the first call that the delta given last has something of

    def breach(self, code: str, event: Event, **said: object) -> Iterator[Check]:
        if self._tally.is_first(code):
            yield make_check(code, event, said, choice=self.index)

    def delta(self, delta: Mapping[str, Any], event: Event) -> Iterator[Check]:
        """All of it where nothing is converted; otherwise only the calls are upstream's own."""
        self.touched = None
        if self._setting.raw:
            yield from self._order(delta, event)
        calls = delta.get("tool_calls")
        if calls is None:
            return
        if not isinstance(calls, list):
            yield from self.breach("check-call-shape", event, what="tool_calls that are no list")
            return
        for entry in calls:
            if isinstance(entry, Mapping):
                yield from self._call(entry, event)
            else:
                yield from self.breach("check-call-shape", event, what="a call that is no object")

    def _order(self, delta: Mapping[str, Any], event: Event) -> Iterator[Check]:
        role = delta.get("role")
        if isinstance(role, str) and role:
            if self._role:
                yield from self.breach("check-role-repeated", event, joined=short(self._role + role))
            self._role = self._role or role
        late = next((field for field in _SAID if delta.get(field)), None)
        if self.finish is not None and late is not None:
            yield from self.breach("check-after-finish", event, what=f"more {late}")

    def _call(self, delta: Mapping[str, Any], event: Event) -> Iterator[Check]:
        said = delta.get("index")
        index = said if type(said) is int else None
        call = self._without_index(delta) if index is None else self._by_index.get(index)
        if call is not None:
            yield from call.go_on(delta, event)
        else:
            call = CallCheck(self._setting, self.index, len(self.calls), event)
            self.calls.append(call)
            self._by_index[call.number if index is None else index] = call
            yield from call.begin(delta, event, self._ids)
            if index not in (None, call.number):
                yield from call.breach("check-index-gap", event, index=index, wanted=call.number)
        if index is None:
            yield from call.breach("check-index-missing", event)
        self._ids.add(call.id)
        self.touched = call.number if self.touched is None else self.touched

    def _without_index(self, delta: Mapping[str, Any]) -> CallCheck | None:
        """Which call is meant: a new one has a name, or an id of its own."""
        last = self.calls[-1] if self.calls else None
        function, id = delta.get("function"), delta.get("id")
        named = isinstance(function, Mapping) and bool(function.get("name"))
        known = last is not None and id == last.id
        return last if known or not (named or id) else None

    # -- the end

    def finished(self, said: object, event: Event) -> Iterator[Check]:
        """A finish_reason came."""
        reason = said if isinstance(said, str) else str(type(said).__name__)
        if self.finish is not None:
            if self._setting.raw:
                yield from self.breach("check-finish-repeated", event, said=short(reason))
            return
        self.finish = reason
        for call in self.calls:
            # A call that was cut is nobody's mistake.
            if reason not in _CUT:
                yield from call.end(event)
        if self._setting.raw:
            yield from self._reason(reason, event)

    def _reason(self, reason: str, event: Event) -> Iterator[Check]:
        if reason not in REASONS:
            yield from self.breach("check-finish-unknown", event, said=short(reason))
        elif reason == "tool_calls" and not self.calls:
            what = "there is no call: OpenCode asks again and again, without end"
            yield from self.breach("check-finish-untrue", event, said=reason, what=what)
        elif reason == "stop" and self.calls:
            what = "there is a call: a client may end its turn and leave the call without a result"
            yield from self.breach("check-finish-untrue", event, said=reason, what=what)

    def end(self, event: Event) -> Iterator[Check]:
        """The stream is over."""
        if self.finish is None:
            for call in self.calls:
                yield from call.end(event)
            if self._setting.raw:
                yield from self.breach("check-finish-missing", event)

    def summaries(self, cut: bool) -> Iterator[Check]:
        for call in self.calls:
            yield call.summary(cut or self.finish in _CUT)
