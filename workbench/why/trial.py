"""A trial: some text read on its own, by the dialect and the policy of an exchange."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson

from transformer import DIALECTS, Delta, Finding, MessageTransformer, Transition
from transformer.answer.observations import choices_of
from transformer.values.schema import Tool, offered
from workbench.player.player import Player
from workbench.recipe import Recipe, Wishes, make_recipe
from workbench.why.trace import finish_of

_BROKEN = ("truncated-call", "call-too-long", "unclosed-parameter", "malformed-call", "unnamed-call")


@dataclass(frozen=True, slots=True)
class Made:
    """A call that came out: its place in the text, and whether a client can use it."""

    name: str
    start: int
    arguments: str
    whole: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of a text."""

    text: str
    moves: tuple[Transition, ...]
    findings: tuple[Finding, ...]
    calls: tuple[Made, ...]

    @property
    def lost(self) -> Finding | None:
        """The first thing that kept a call from being one."""
        return next((finding for finding in self.findings if finding.code in _BROKEN), None)

    @property
    def errors(self) -> int:
        return sum(finding.level == "error" for finding in self.findings)

    def made_at(self, start: int) -> Made | None:
        return next((call for call in self.calls if call.start == start and call.whole), None)


class Trial:
    """Reads texts as the exchange's own transformer would, at the start of a line, all calls wanted."""

    def __init__(self, recipe: Recipe, finish: str | None = None) -> None:
        self._recipe = recipe
        self._finish = finish or "stop"
        self.dialect = recipe.dialect
        self.tools: dict[str, Tool] = dict(offered(recipe.tools))
        self.policy = recipe.policy.over(DIALECTS[recipe.dialect].policy)

    @classmethod
    def of(cls, player: Player, choice: int) -> Trial:
        """As the exchange was set."""
        return cls(make_recipe(player.header, Wishes()), finish_of(player, choice))

    @property
    def raw(self) -> bool:
        """Nothing at all is converted: no tools, or the client wants no calls."""
        return self._recipe.stream("none").setting.raw

    def otherwise(self, dialect: str, offer: str | None = None) -> Trial:
        """With another dialect, or one more tool."""
        tools = self._recipe.tools
        if offer is not None:
            tools = [*(tools or []), {"type": "function", "function": {"name": offer}}]
        return Trial(replace(self._recipe, dialect=dialect, tools=tools), self._finish)

    def read(self, text: str, **switches: Any) -> Reading:
        policy = replace(self._recipe.policy, **{"calls": "all", "channels": ("content",)} | switches)
        recipe = replace(self._recipe, policy=policy, request=None)
        transformer = recipe.message("all")
        part = {"index": 0, "message": {"content": text}, "finish_reason": self._finish}
        answer = transformer.convert({"choices": [part]})
        return _reading(text, transformer, answer)

    def tool(self, name: str) -> Tool | None:
        return self.tools.get(name)


def _reading(text: str, transformer: MessageTransformer, answer: dict[str, Any]) -> Reading:
    records = transformer.records
    findings = tuple(transformer.findings)
    begun = [record for record in records if isinstance(record, Delta) and record.kind == "call"]
    made = [call for choice in choices_of(answer) for call in choice.calls]
    cut = {finding.call for finding in findings if finding.code in ("truncated-call", "call-too-long")}
    calls = [
        Made(call.name, delta.span.start, call.arguments, delta.call not in cut and is_object(call.arguments))
        for call, delta in zip(made, begun, strict=False)
        if delta.span is not None
    ]
    moves = tuple(record for record in records if isinstance(record, Transition))
    return Reading(text, moves, findings, tuple(calls))


def is_object(text: str) -> bool:
    """Arguments that a client can read."""
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False
