"""The table of a try in words: as lines for a terminal, as JSON, and its cases as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from workbench.lab.outcomes import Outcome
from workbench.lab.statistics import (
    LEVEL,
    MEASURES,
    METHOD,
    MISSING,
    Cell,
    Difference,
    Interval,
    Mean,
    Measure,
    Rate,
    Table,
    has_scipy,
)
from workbench.lab.store import Try
from workbench.text import visible_line, visible_text

if TYPE_CHECKING:
    from workbench.recording.redaction import Redaction

GAP = "   "
_LONGEST_NAME = 28


def percent(value: float) -> str:
    return f"{value * 100:.0f} %"


def value_text(measure: Measure | None, value: Rate | Mean) -> str:
    """A rate or a mean with its interval: `60 % (42–75)`; a dash where nothing was counted."""
    if value.value is None:
        return "–"
    if isinstance(value, Rate):
        return percent(value.value) + _interval_text(value.interval, 100, 0)
    digits = 2 if measure is not None and measure.unit else 0
    return f"{value.value:,.{digits}f}" + _interval_text(value.interval, 1, digits)


def _interval_text(interval: Interval | None, factor: float, digits: int) -> str:
    if interval is None or interval.low == interval.high:
        return ""
    return f" ({interval.low * factor:,.{digits}f}–{interval.high * factor:,.{digits}f})"


def p_text(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def sign(measure: Measure, first: Rate | Mean, other: Rate | Mean, difference: Difference | None) -> str:
    """An arrow for a difference that is more than chance."""
    if difference is None or not difference.called or first.value is None or other.value is None:
        return ""
    return "↑" if other.value > first.value else "↓"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table: a text for each variant. `case` is the number of the case that it is about."""

    label: str
    cells: tuple[str, ...]
    case: int | None = None


def counts(table: Table) -> Iterator[Line]:
    """What was counted over all cases: a line for each measure, and the names of the variants above them."""
    yield Line("", tuple(short(variant.name) for variant in table.plan.variants))
    labels = ["answers", *(measure.title for measure in MEASURES)]
    after = labels.index("malformed") + 1
    labels[after:after] = [f"  {code}" for code in table.rows[0].codes]
    columns = [tuple(_column(table, at)) for at in range(len(table.plan.variants))]
    for label, *cells in zip(labels, *columns, strict=True):
        yield Line(label, tuple(cells))


def counts_by_case(table: Table) -> Iterator[Line]:
    """How many answers were as wanted in each case, where there are several."""
    if len(table.plan.cases) > 1:
        yield Line("", tuple(short(variant.name) for variant in table.plan.variants))
        for number, case in enumerate(table.plan.cases):
            yield Line(short(case.name, 44), tuple(map(_of_case, table.cells[number])), number)


BY_CASE = "answers as wanted, by case"


def lines(table: Table, width: int | None = None) -> Iterator[str]:
    """All of it, no wider than `width` where the columns can be put below each other."""
    yield from blocks(list(counts(table)), width)
    yield ""
    yield from conclusions(table)
    if by_case := list(counts_by_case(table)):
        yield ""
        yield BY_CASE
        yield from blocks(by_case, width)


def _column(table: Table, variant: int) -> Iterator[str]:
    row, first = table.rows[variant], table.rows[0]
    yield f"{row.answered}" if not row.unanswered else f"{row.answered} of {row.trials}"
    for measure in MEASURES:
        value = row.values[measure.key]
        mark = sign(measure, first.values[measure.key], value, table.differences[variant].get(measure.key))
        yield f"{value_text(measure, value)} {mark}".rstrip()
        if measure.key == "malformed":
            yield from (value_text(None, found) for found in row.codes.values())


def _of_case(cell: Cell) -> str:
    return f"{cell.good.hits} of {cell.good.of}" if cell.good.of else "–"


def widths(table: Sequence[Line]) -> tuple[int, list[int]]:
    """Of the labels, and of each column."""
    sizes = [max(map(cell_len, column)) for column in zip(*(line.cells for line in table), strict=True)]
    return max(cell_len(line.label) for line in table), sizes


def blocks(table: Sequence[Line], width: int | None) -> Iterator[str]:
    """Columns that do not fit go into further blocks below, each with its labels."""
    first, sizes = widths(table)
    at = 0
    while at < len(sizes):
        end, used = at + 1, first + len(GAP) + sizes[at]
        while end < len(sizes) and (width is None or used + len(GAP) + sizes[end] <= width):
            used += len(GAP) + sizes[end]
            end += 1
        if at:
            yield ""
        for line in table:
            cells = [padded(line.cells[one], sizes[one]) for one in range(at, end)]
            yield GAP.join([padded(line.label, first), *cells]).rstrip()
        at = end


def padded(text: str, size: int) -> str:
    return text + " " * (size - cell_len(text))


def conclusions(table: Table) -> Iterator[str]:
    """What the numbers show, and what they do not."""
    names = [short(variant.name) for variant in table.plan.variants]
    if not has_scipy():
        yield MISSING
    called = table.called
    for variant, measure in called:
        before, after = (table.rows[at].values[measure.key] for at in (0, variant))
        p = table.differences[variant][measure.key].p
        yield (
            f"{names[variant]} against {names[0]}: {measure.title} {_plain(measure, before)} → "
            f"{_plain(measure, after)}, more than chance ({p_text(p)})"
        )
    if has_scipy() and len(names) > 1:
        other = "other " if called else ""
        yield f"no {other}difference is more than chance, at a level of {percent(LEVEL)}"
    if table.done < table.planned:
        yield f"{table.done:,} of {table.planned:,} trials are done"
    for problem, count in table.problems.items():
        yield f"{count} without an answer: {visible_line(problem)}"
    if table.estimated:
        yield "tokens are estimated: the server does not count them"


def _plain(measure: Measure, value: Rate | Mean) -> str:
    return value_text(
        measure, Rate(value.hits, value.of) if isinstance(value, Rate) else Mean(value.value, 0)
    )


def short(name: str, most: int = _LONGEST_NAME) -> str:
    name = visible_line(name)
    return name if len(name) <= most else f"{name[: most - 1]}…"


# -- as JSON


def as_json(made: Try, table: Table) -> dict[str, Any]:
    plan = table.plan
    return {
        "try": made.id,
        "library": str(made.library),
        "done": table.done,
        "planned": table.planned,
        "level": LEVEL,
        "method": METHOD if has_scipy() else MISSING,
        "tokens_estimated": table.estimated,
        "variants": [
            {
                "name": variant.name, "prompt": variant.prompt, "dialect": variant.dialect,
                "model": variant.model, "set": {**variant.switches, **variant.body},
                **_cell_json(table.rows[at]), "differences": _differences_json(table.differences[at]),
            }
            for at, variant in enumerate(plan.variants)
        ],
        "cases": [
            {
                "name": case.name, "tape": case.tape, "expected": case.expected.sentence, "rate": case.rate,
                "variants": [_cell_json(cell) for cell in table.cells[at]],
            }
            for at, case in enumerate(plan.cases)
        ],
        "outcomes": [_outcome_json(made, outcome) for outcome in made.in_order],
    }  # fmt: skip


def _cell_json(cell: Cell) -> dict[str, Any]:
    return {
        "trials": cell.trials,
        "answered": cell.answered,
        "as_wanted": _value_json(cell.good),
        "measures": {key: _value_json(value) for key, value in cell.values.items()},
        "codes": {code: _value_json(value) for code, value in cell.codes.items()},
    }


def _value_json(value: Rate | Mean) -> dict[str, Any]:
    told: dict[str, Any] = {"value": value.value, "of": value.of}
    if isinstance(value, Rate):
        told["hits"] = value.hits
    if value.interval is not None:
        told["interval"] = [value.interval.low, value.interval.high]
    return told


def _differences_json(differences: Mapping[str, Difference]) -> dict[str, Any]:
    return {key: {"p": found.p, "called": found.called} for key, found in differences.items()}


def _outcome_json(made: Try, outcome: Outcome) -> dict[str, Any]:
    plan = made.plan
    names = {"case": plan.cases[outcome.case].name, "variant": plan.variants[outcome.variant].name}
    return outcome.as_json() | names


# -- JUnit XML, which every CI server reads: one test for each case and variant

_SHOWN = 20  # answers that are named for each case which fails


def passes(cell: Cell, rate: float) -> bool:
    """Whether enough answers are as wanted; a case that was never asked does not pass."""
    return cell.good.of > 0 and cell.good.hits >= rate * cell.good.of - 1e-9


def failures(table: Table) -> list[tuple[int, int]]:
    """Case and variant of each that does not pass."""
    return [
        (case, variant)
        for case, cells in enumerate(table.cells)
        for variant, cell in enumerate(cells)
        if not passes(cell, table.plan.cases[case].rate)
    ]


def junit_xml(made: Try, table: Table, redaction: Redaction) -> bytes:
    """Nothing in it that is not on the tapes, and nothing that must not be shared."""
    from xml.etree import ElementTree as ET  # here: the screens import this module, and write no XML

    plan = table.plan
    failed = set(failures(table))

    def text(value: str) -> str:
        return visible_text(redaction.text(value))

    suite = ET.Element(
        "testsuite",
        name=text(plan.suite or made.id),
        tests=str(len(plan.cases) * len(plan.variants)),
        failures=str(len(failed)),
        errors="0",
    )
    seconds = 0.0
    for at, case in enumerate(plan.cases):
        for variant, told in enumerate(plan.variants):
            outcomes = [one for one in made.in_order if (one.case, one.variant) == (at, variant)]
            took = sum(outcome.seconds for outcome in outcomes)
            seconds += took
            test = ET.SubElement(
                suite, "testcase", classname=text(told.name), name=text(case.name), time=f"{took:.3f}"
            )
            if (at, variant) not in failed:
                continue
            cell = table.cells[at][variant]
            message = (
                f"{cell.good.hits} of {cell.good.of} answers are as wanted ({value_text(None, cell.good)}), "
                f"{percent(case.rate)} have to be; expected: {case.expected.sentence}"
            )
            failure = ET.SubElement(test, "failure", message=text(message), type="rate")
            wrong = [outcome for outcome in outcomes if not outcome.good]
            failure.text = "\n".join(text(f"{one.tape}: {one.sentence}") for one in wrong[:_SHOWN])
    suite.set("time", f"{seconds:.3f}")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"
