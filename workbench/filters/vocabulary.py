"""The vocabulary of filters: the keys, the values they take, and what of an exchange each looks at."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from typing import Any

from transformer import DIALECTS
from transformer.answer.observations import OBSERVED, choices_of, text_in
from transformer.findings import CATALOGUE
from workbench.library.rows import Row
from workbench.player.player import Player
from workbench.verdicts.facts import answer_of
from workbench.verdicts.judging import Verdict
from workbench.verdicts.kinds import Kind

Test = Callable[[Row, Verdict], bool]
TapeTest = Callable[[Player], bool]

TEXTS: Mapping[str, Callable[[Row, Verdict], Iterable[str | None]]] = {
    "model": lambda row, _: (row.model,),
    "session": lambda row, _: (row.session, row.parent_session),
    "upstream": lambda row, _: (row.upstream,),
    "dialect": lambda row, _: (row.dialect,),
    "verdict": lambda _, verdict: (verdict.kind,),
    "finding": lambda row, _: (code for code, count in row.findings.items() if count),
    "state": lambda row, _: (row.state,),
    "level": lambda _, verdict: (verdict.level,),
    "kind": lambda row, _: (row.kind,),
    "id": lambda row, _: (row.id, row.resend_of),
    "error": lambda row, _: (row.error, row.problem),
}
NUMBERS: Mapping[str, Callable[[Row], float | None]] = {
    "calls": lambda row: row.calls,
    "chunks": lambda row: row.chunks,
    "bytes": lambda row: row.bytes,
    "tokens": lambda row: row.total_tokens,
    "status": lambda row: row.status,
    "seconds": lambda row: row.duration,
    "ttfb": lambda row: row.ttfb,
}
HAS: Mapping[str, Test] = {
    "call": lambda row, _: row.calls > 0,
    "finding": lambda row, _: any(row.findings.values()),
    "error": lambda row, verdict: bool(row.error) or verdict.level == "error",
    "mark": lambda row, _: row.marked,
    "gap": lambda row, _: row.lost > 0,
}
HAS_ON_TAPE: Mapping[str, TapeTest] = {
    "reasoning": lambda player: any(choice.reasoning for choice in choices_of(answer_of(player))),
    "text": lambda player: any(choice.content.strip() for choice in choices_of(answer_of(player))),
    "tools": lambda player: bool(_request(player).get("tools")),
    "difference": lambda player: player.difference is not None,
}
MOMENTS = ("since", "before")
ON_TAPE = ("text", "asked")
KEYS = (*TEXTS, "has", "status", *ON_TAPE, *MOMENTS)
# Where every right value is known, a wrong one is told.
VALUES: Mapping[str, tuple[str, ...]] = {
    "verdict": tuple(Kind),
    "finding": (*CATALOGUE, *OBSERVED),
    "state": ("running", "done", "eof", "error", "cancelled", "cut", "damaged"),
    "level": ("error", "warning", "info", "good", "running"),
    "kind": ("chat", "relay"),
    "dialect": tuple(DIALECTS),
    "has": (*HAS, *HAS_ON_TAPE),
}
SIGNS = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq,
}  # fmt: skip


def like(value: str) -> Callable[[str], bool]:
    """With `*` or `?` a pattern for the whole text, otherwise a part of it; capitals don't matter."""
    wanted = value.casefold()
    if "*" in wanted or "?" in wanted:
        # A bracket is what it is: nobody types sets of characters here, but models have names with brackets.
        whole = re.compile(translate(wanted.replace("[", "[[]")))
        return lambda text: whole.match(text.casefold()) is not None
    return lambda text: wanted in text.casefold()


def answered(player: Player) -> Iterable[str]:
    for choice in choices_of(answer_of(player)):
        yield choice.content
        yield from choice.reasoning.values()
        for call in choice.calls:
            yield from (call.name, call.arguments, call.id)


def asked(player: Player) -> Iterable[str]:
    messages = _request(player).get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, Mapping):
            yield text_in(message.get("content"))


def _request(player: Player) -> Mapping[str, Any]:
    request = player.header.get("request")
    return request if isinstance(request, Mapping) else {}
