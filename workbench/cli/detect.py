"""`workbench detect`: which dialect an answer is written in. Every dialect reads it, and the evidence for and
against each is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import IntEnum
from functools import partial

from transformer.answer.observations import choices_of
from transformer.answer.recognition import dialect_of_model
from transformer.answer.review import observed
from transformer.dialects import DIALECTS
from transformer.parser.dialect import Dialect
from transformer.records import Effect, Record, Transition
from workbench.cli.printing import write
from workbench.cli.transform import wishes_of
from workbench.tape.inputs import Input, Kind, convert, load
from workbench.tape.recipe import Wishes, make_recipe
from workbench.text import json_text, visible_line


class Certainty(IntEnum):
    """How sure it is that the answer is written in a dialect."""

    NO = 0
    POSSIBLE = 1
    LIKELY = 2
    CERTAIN = 3

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One dialect: how sure, the tools of the calls it reads, what speaks for it and what against it."""

    dialect: str
    certainty: Certainty
    calls: tuple[str, ...]
    reasons: tuple[str, ...]
    against: tuple[str, ...]


def detect(given: Input, wishes: Wishes) -> list[Candidate]:
    """Every dialect with evidence for it, the surest first; empty if there is no call in the answer."""
    header = given.tape.header if given.tape is not None else {}
    model = str(header.get("model") or "")
    known = dialect_of_model(model)
    found = []
    for dialect in DIALECTS.values():
        if dialect.converts and not dialect.chooses:
            found.append(_candidate(dialect, given, wishes, known is dialect, model))
    found = [one for one in found if one.certainty]
    best = sorted(found, key=lambda one: (-one.certainty, len(one.against), -len(one.calls)))
    if len(best) > 1 and best[0].certainty == best[1].certainty == Certainty.CERTAIN:
        # Two readings that are both good: neither is certain.
        best = [replace(one, certainty=min(one.certainty, Certainty.LIKELY)) for one in best]
    return best


def _candidate(dialect: Dialect, given: Input, wishes: Wishes, by_name: bool, model: str) -> Candidate:
    name = dialect.name
    header = given.tape.header if given.tape is not None else {}
    switches = {**wishes.switches, "convert": "always", "calls": "all"}
    recipe = make_recipe(header, replace(wishes, dialect=name, switches=switches))
    result = convert(given, recipe, None, "all")
    calls = tuple(call.name for choice in choices_of(result.message or {}) for call in choice.calls)
    errors = [finding.message for finding in result.findings if finding.level == "error"]
    left = [
        one.message
        for one in observed(result.message or {}, recipe.request, name, recipe.policy)
        if one.code == "leaked-markers"
    ]
    offered = {
        str(tool.get("function", tool).get("name")) for tool in recipe.tools or () if isinstance(tool, dict)
    }
    reasons = (
        [f"reads {len(calls)} call{'s' if len(calls) != 1 else ''}: {', '.join(calls)}"] if calls else []
    )
    marked = not calls and any(map(partial(_is_markup, dialect), result.records))
    if marked:
        reasons.append("reads markup that only it has, and no call")
    if by_name:
        reasons.append(f"the model's name is {model}")
    unknown = [call for call in calls if offered and call not in offered]
    against = [*errors, *left, *(f"{call} was not offered" for call in unknown)]
    certainty = Certainty.LIKELY if marked and not against else _certainty(calls, unknown, errors, left)
    return Candidate(name, certainty, calls, tuple(reasons), tuple(against))


def _is_markup(dialect: Dialect, record: Record) -> bool:
    """It is evidence for the dialect, as a call would be."""
    return isinstance(record, Transition) and bool(record.effect & dialect.proof & Effect.MARKUP)


def _certainty(calls: tuple[str, ...], unknown: list[str], errors: list[str], left: list[str]) -> Certainty:
    if not calls:
        return Certainty.POSSIBLE if errors else Certainty.NO
    if unknown or left:
        return Certainty.POSSIBLE
    return Certainty.LIKELY if errors else Certainty.CERTAIN


_MOST_AGAINST = 3


def detect_files(files: Sequence[str], tools: str | None, kind: Kind | None, as_json: bool) -> int:
    """Print it for each file; the exit code is 1 if no dialect reads a call in one of them."""
    wishes = wishes_of(None, tools, ())
    found = {name: detect(load(None if name == "-" else name, kind), wishes) for name in files or ["-"]}
    if as_json:
        rows = {
            name: [{**asdict(one), "certainty": one.certainty.word} for one in candidates]
            for name, candidates in found.items()
        }
        write(json_text(rows, indent=2).encode() + b"\n")
    else:
        write("".join(f"{line}\n" for name in found for line in _lines(name, found[name])).encode())
    return 0 if all(found.values()) else 1


def _lines(name: str, candidates: list[Candidate]) -> list[str]:
    if not candidates:
        return [f"{visible_line(name)}: no call that any dialect reads"]
    lines = []
    for one in candidates:
        said = "; ".join(one.reasons) or "nothing that it reads as a call"
        lines.append(visible_line(f"{name}: {one.dialect}, {one.certainty.word} ({said})"))
        lines += [visible_line(f"    against: {reason}") for reason in one.against[:_MOST_AGAINST]]
    return lines
