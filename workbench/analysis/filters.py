"""The filter of the exchanges: a small language such as `model:qwen verdict:leak -has:reasoning calls>1`.

All words have to hold. `key:value` looks for a part of a text, or with `*` and `?` for the whole of it;
capitals don't matter, a minus negates, quotation marks keep blanks together. A bare word is looked for in the
model, the session and the verdict's sentence.
"""

from __future__ import annotations

import difflib
import operator
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from typing import Any

from transformer.answer.observations import OBSERVED, choices_of, text_in
from transformer.dialects import DIALECTS
from transformer.findings import CATALOGUE
from transformer.frontends import FRONTENDS
from workbench.analysis.verdicts import Kind, Verdict, facts_of_row, verdict
from workbench.errors import UserError
from workbench.library.query import parse_moment
from workbench.library.summary import Row
from workbench.library.tapefiles import is_real_file
from workbench.replay.player import Player
from workbench.tape.format import TapeError, read_tape
from workbench.tape.recipe import chat_request

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
    "try": lambda row, _: (row.try_id,),
    "prompt": lambda row, _: (row.prompt,),
    "variant": lambda row, _: (row.variant,),
    "case": lambda row, _: (row.case_name,),
    "tool": lambda row, _: row.tools,
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
    "reasoning": lambda player: any(choice.reasoning for choice in choices_of(player.completion)),
    "text": lambda player: any(choice.content.strip() for choice in choices_of(player.completion)),
    "tools": lambda player: bool(_request(player).get("tools")),
    "difference": lambda player: player.difference is not None,
}
MOMENTS = ("since", "before")
ON_TAPE = ("text", "asked")
KEYS = (*TEXTS, "has", "status", *ON_TAPE, *MOMENTS)
# Keys whose values are all known: a wrong one is reported.
VALUES: Mapping[str, tuple[str, ...]] = {
    "verdict": tuple(Kind),
    "finding": (*CATALOGUE, *OBSERVED),
    "state": ("running", "done", "eof", "error", "cancelled", "cut", "damaged"),
    "level": ("error", "warning", "info", "good", "running"),
    "kind": (*FRONTENDS, "relay"),
    "dialect": tuple(DIALECTS),
    "has": (*HAS, *HAS_ON_TAPE),
}
SIGNS = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq,
}  # fmt: skip


def like(value: str) -> Callable[[str], bool]:
    """With `*` or `?` a pattern for the whole text, after `=` the whole text as it is, else a part of it;
    capitals don't matter."""
    wanted = value.casefold()
    if wanted.startswith("=") and len(wanted) > 1:
        return lambda text: text.casefold() == wanted[1:]
    if "*" in wanted or "?" in wanted:
        # Brackets are literal: sets of characters are not needed here, but models have names with brackets.
        whole = re.compile(translate(wanted.replace("[", "[[]")))
        return lambda text: whole.match(text.casefold()) is not None
    return lambda text: wanted in text.casefold()


def answered(player: Player) -> Iterable[str]:
    for choice in choices_of(player.completion):
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
    return chat_request(player.header) or {}


_TERM = re.compile(
    r'(?P<minus>-?)(?:(?P<key>\w+)(?P<sign>:|>=|<=|>|<|=))?(?P<value>(?:"(?:[^"\\]|\\.)*"|[^\s"])*)'
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


class FilterError(ValueError):
    """A filter that cannot be understood: `message` says why, `position` where."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


@dataclass(frozen=True, slots=True)
class Term:
    """One condition. `row` decides by the index; where it is None, only the tape can tell."""

    source: str
    negated: bool
    row: Test | None = None
    tape: TapeTest | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """All terms have to hold; the empty filter takes everything."""

    terms: tuple[Term, ...] = ()

    @property
    def needs_tape(self) -> bool:
        return any(term.row is None for term in self.terms)

    def matches(self, row: Row, verdict: Verdict) -> bool | None:
        """None: as far as the index can tell, yes, but only `matches_tape` knows."""
        for term in self.terms:
            if term.row is not None and term.row(row, verdict) == term.negated:
                return False
        return None if self.needs_tape else True

    def matches_tape(self, player: Player) -> bool:
        """The conditions that only the tape can decide."""
        return all(term.tape(player) != term.negated for term in self.terms if term.tape is not None)


def fits_exchange(wanted: Filter, row: Row, library: Path) -> bool:
    """By the index, and where that cannot tell, by the tape, which is read for it."""
    found = wanted.matches(row, verdict(facts_of_row(row)))
    if found is None:
        if not is_real_file(library / row.path):
            return False
        try:
            tape = read_tape(library / row.path)
        except (TapeError, OSError):  # a damaged tape does not match
            return False
        player = Player(tape.header)
        player.add(tape.lines)
        return wanted.matches_tape(player)
    return found


def parse(text: str, now: float | None = None) -> Filter:
    """The filter that a text means. `now` is what `since:2h` counts from."""
    terms, at = [], 0
    now = time.time() if now is None else now
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TERM.match(text, at)
        assert match is not None  # it matches the empty text as well
        if match.end() < len(text) and text[match.end()] == '"':
            raise FilterError("a quotation mark is opened here and never closed", match.end())
        terms.append(_term(match, now))
        at = match.end()
    return Filter(tuple(terms))


def _term(match: re.Match[str], now: float) -> Term:
    key, sign, at = match["key"], match["sign"], match.start()
    value = _QUOTED.sub(lambda quoted: re.sub(r"\\(.)", r"\1", quoted[1]), match["value"])
    negated = bool(match["minus"])
    if key is None:
        if not value:
            raise FilterError("there is nothing after the minus", at)
        return Term(match[0], negated, _bare(value))
    key = key.lower()
    _known_key(key, sign, at)
    if not value:
        raise FilterError(f"{key}{sign} needs a value{_examples(key)}", match.end())
    if sign != ":":
        return Term(match[0], negated, _number(key, sign, value, match.start("value")))
    _known_value(key, value, match.start("value"))
    if key in ON_TAPE or (key == "has" and value.lower() in HAS_ON_TAPE):
        return Term(match[0], negated, tape=_tape_test(key, value))
    return Term(match[0], negated, _row_test(key, value, now, match.start("value")))


def _known_key(key: str, sign: str, at: int) -> None:
    right: Iterable[str] = KEYS if sign == ":" else NUMBERS
    if key in right:
        return
    if key in NUMBERS:
        raise FilterError(f"{key} is a number: write {key}>1, {key}<=10 or {key}=0", at)
    if key in KEYS:
        raise FilterError(f"{key} is not a number: write {key}:…", at)
    what = "key" if sign == ":" else "number"
    raise FilterError(f"there is no {what} {key!r}; {_hint(key, right)} (quote a text that has a {sign})", at)


def _known_value(key: str, value: str, at: int) -> None:
    right = VALUES.get(key)
    if right is None:
        return
    exact = key == "has"
    if not any(value.lower() == known if exact else like(value)(known) for known in right):
        raise FilterError(f"there is no {key} {value!r}; {_hint(value.lower(), right)}", at)


def _hint(word: str, right: Iterable[str]) -> str:
    names = list(right)
    near = difflib.get_close_matches(word[:100], names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]}?"
    shown = ", ".join(names[:12])
    return f"there are {shown}{' and others' if len(names) > 12 else ''}"


def _examples(key: str) -> str:
    known = VALUES.get(key) or {"status": ("404", "5xx"), "since": ("2h", "today")}.get(key, ())
    return f", such as {' or '.join(known[:2])}" if known else ""


def _row_test(key: str, value: str, now: float, at: int) -> Test:
    if key == "has":
        return HAS[value.lower()]
    if key == "status":
        return _status(value, at)
    if key in MOMENTS:
        return _moment(key, value, now, at)
    fits, texts = like(value), TEXTS[key]
    return lambda row, verdict: any(fits(text) for text in texts(row, verdict) if text)


def _bare(value: str) -> Test:
    fits = like(value)
    return lambda row, verdict: any(fits(text) for text in (row.model, row.session, verdict.sentence) if text)


def _status(value: str, at: int) -> Test:
    digits = value.lower()
    if not re.fullmatch(r"[1-9][\dx]{2}", digits):
        raise FilterError(f"a status is a number such as 404 or a class such as 5xx, not {value!r}", at)
    wanted = re.compile(digits.replace("x", r"\d"))
    return lambda row, _: row.status is not None and wanted.fullmatch(str(row.status)) is not None


def _moment(key: str, value: str, now: float, at: int) -> Test:
    try:
        moment = parse_moment(value, now)
    except UserError as error:
        raise FilterError(error.message, at) from None
    if key == "since":
        return lambda row, _: row.started >= moment
    return lambda row, _: row.started < moment


def _number(key: str, sign: str, value: str, at: int) -> Test:
    if not re.fullmatch(r"\d{1,15}(?:\.\d{1,9})?", value):
        raise FilterError(f"{key}{sign} needs a number, not {value!r}", at)
    bound, compare, number = float(value), SIGNS[sign], NUMBERS[key]

    def test(row: Row, _: Verdict) -> bool:
        has = number(row)
        return has is not None and bool(compare(has, bound))

    return test


def _tape_test(key: str, value: str) -> TapeTest:
    if key == "has":
        return HAS_ON_TAPE[value.lower()]
    fits = like(f"*{value}*" if "*" in value or "?" in value else value)
    texts = answered if key == "text" else asked
    return lambda player: any(fits(text) for text in texts(player))


_WORD = re.compile(r"\S*\Z")


def complete(text: str, cursor: int, known: Mapping[str, Iterable[str]] | None = None) -> list[str]:
    """The best first. `known` has values of other keys, such as the models there are."""
    word = _WORD.search(text[: max(0, cursor)])
    typed = word[0] if word else ""
    minus, body = ("-", typed[1:]) if typed.startswith("-") else ("", typed)
    key, colon, begun = body.partition(":")
    if not colon:
        names = [f"{name}:" for name in KEYS] + [f"{name}>" for name in NUMBERS]
        return [minus + name for name in names if name.startswith(body.lower())]
    values = [*VALUES.get(key.lower(), ()), *((known or {}).get(key.lower(), ()))]
    wanted = begun.casefold().strip('"')
    found = [value for value in dict.fromkeys(values) if wanted in value.casefold()]
    begin = [value for value in found if value.casefold().startswith(wanted)]
    return [f"{minus}{key.lower()}:{_quoted(value)}" for value in begin or found]


def exactly(key: str, value: str) -> str:
    """The condition that a text is this one, to be typed or to be joined with others."""
    return f"{key}:={_quoted(value)}"


def _quoted(value: str) -> str:
    if not re.search(r'[\s"]', value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
