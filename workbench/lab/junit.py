"""The cases of a suite as JUnit XML, which every CI server reads: one test for each case and variant."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from workbench.lab.report import percent, value_text
from workbench.lab.statistics import Cell, Table
from workbench.lab.store import Try
from workbench.recording.redaction import Redaction
from workbench.text import visible_text

_SHOWN = 20


def passes(cell: Cell, rate: float) -> bool:
    """Whether enough answers are as wanted; a case that was never asked is not."""
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
