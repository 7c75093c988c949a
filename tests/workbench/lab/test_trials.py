"""Trials through the real proxy, against a scripted model whose failure rates are known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.support.project import SAMPLES
from workbench.demo.traffic import CAREFUL, USUAL, UnreliableModel, answer_on, asked_last
from workbench.errors import UserError
from workbench.lab.outcomes import Outcome
from workbench.lab.page import Page
from workbench.lab.plan import Plan
from workbench.lab.report import as_json, failures, junit_xml, lines
from workbench.lab.statistics import Rate, Table, tabulate
from workbench.lab.store import Try, create_try, list_tries, open_try
from workbench.lab.suite import read_suite
from workbench.lab.trials import Budget, Ending, Trials, proxy_for
from workbench.library.query import Library
from workbench.proxy.asking import ProxyConnection
from workbench.recording.redaction import Redaction, check_patterns
from workbench.tape.format import read_tape

SUITE = read_suite(str(SAMPLES / "suite.toml"))
WHOLE, SMALL = replace(SUITE, times=12), replace(SUITE, times=2)


class Model(UnreliableModel):
    """One that can be asked everything anew, and can break."""

    broken = False

    def __init__(self) -> None:
        super().__init__(
            {asked_last(case.request): answer_on(read_tape(Path(case.tape))) for case in SUITE.cases}
        )

    def forget(self) -> None:
        self._asked.clear()

    def answer(self, path: str, body: bytes) -> Any:
        answer = super().answer(path, body)
        return replace(answer, status=500, kind="application/json", pieces=()) if self.broken else answer


def comparable(outcomes: list[Outcome]) -> list[Outcome]:
    return [replace(one, tape="", id="", seconds=0.0) for one in outcomes]


def counted(table: Table) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.values.items() if key != "seconds"} for row in table.rows]


async def test_a_try_from_beginning_to_end(tmp_path: Path):
    """One proxy for all of it, for it is the starting that takes time."""
    async with (
        Model() as model,
        proxy_for(tmp_path, model.url) as proxy,
        ProxyConnection(proxy) as connection,
    ):

        async def run(made: Try, **more: Any) -> Ending:
            return await Trials(made, connection, upstream="default", **more).run()

        whole = create_try(tmp_path, WHOLE)
        assert await run(whole) is Ending.DONE
        _check_whole(whole)

        # Interrupted twice, by a budget and by a person, and gone on with: the same outcomes, the same table.
        # One job, for then the requests come in the same order.
        model.forget()
        steady, parts = create_try(tmp_path, SMALL), create_try(tmp_path, SMALL)
        assert await run(steady, jobs=1) is Ending.DONE
        model.forget()
        assert await run(parts, jobs=1, budget=Budget(requests=4)) is Ending.REQUESTS
        again = open_try(tmp_path, parts.id)
        assert len(again.outcomes) == 4
        stopped: list[Trials] = []

        def stop(outcome: Outcome) -> None:
            if len(again.outcomes) >= 8:
                stopped[0].stop()

        stopped.append(Trials(again, connection, jobs=1, upstream="default", on_outcome=stop))
        assert await stopped[0].run() is Ending.STOPPED
        assert len(again.outcomes) == 8
        last = open_try(tmp_path, "last")
        assert last.id == parts.id and await run(last, jobs=1) is Ending.DONE
        assert comparable(last.in_order) == comparable(steady.in_order)
        assert counted(tabulate(SMALL, last.in_order)) == counted(tabulate(SMALL, steady.in_order))

        # A budget of tokens; an upstream that fails is left alone, and asked again later.
        small = create_try(tmp_path, SMALL)
        assert await run(small, budget=Budget(tokens=1), jobs=1) is Ending.TOKENS
        assert len(small.outcomes) == 1
        model.broken = True
        assert await run(small, jobs=1) is Ending.FAILING
        unanswered = [one for one in small.in_order if not one.answered]
        assert len(unanswered) == 5 and "500" in unanswered[0].sentence
        assert tabulate(SMALL, small.in_order).rows[0].unanswered
        model.broken = False
        assert await run(open_try(tmp_path, small.id)) is Ending.DONE
        assert all(one.answered for one in open_try(tmp_path, small.id).in_order)

        running = Trials(create_try(tmp_path, SMALL), connection, upstream="nowhere")
        with pytest.raises(UserError, match="no upstream"):
            await running.run()
    assert len(list_tries(tmp_path)) == 5
    _check_library(whole)


def _check_whole(made: Try) -> None:
    table = tabulate(made.plan, made.in_order)
    for row, failing in zip(table.rows, (USUAL, CAREFUL), strict=True):
        valid = row.values["valid"]
        assert isinstance(valid, Rate) and valid.of == 36 and valid.interval is not None
        assert valid.interval.low <= 1 - failing <= valid.interval.high, "the known rate is inside"
    assert {(variant, measure.key) for variant, measure in table.called} >= {(1, "valid"), (1, "expected")}
    failed = failures(table)
    assert failed and all(variant == 0 for _, variant in failed), "the careful prompt reaches the rate"
    _check_reports(made, table)


def _check_library(made: Try) -> None:
    with Library(made.library) as library:
        rows = {row.id: row for row in library.rows() if row.try_id == made.id}
    assert len(rows) == 72 and {row.prompt for row in rows.values()} == {"built-in", "careful"}
    for outcome in made.in_order:
        tape = rows[outcome.id]
        assert tape.path == outcome.tape and tape.prompt == made.plan.variants[outcome.variant].prompt


def _check_reports(made: Try, table: Table) -> None:
    shown = list(lines(table, 80))
    assert any(line.startswith("valid call") and "↑" in line for line in shown)
    assert all(len(line) <= 80 for line in shown if " against " not in line)
    value = json.loads(json.dumps(as_json(made, table)))
    assert value["variants"][1]["differences"]["valid"]["called"] and len(value["outcomes"]) == 72
    tests = ET.fromstring(junit_xml(made, table, Redaction())).findall(".//testcase")
    failed = [test.get("classname") for test in tests if test.find("failure") is not None]
    assert len(tests) == 6 and failed == ["built-in"] * len(failures(table))


def test_a_page_stands_for_itself_and_tells_no_secret(tmp_path: Path):
    secret = "sk-proj-0123456789abcdefghij"
    case = replace(SUITE.cases[0], name=f"<script>alert(1)</script> {secret} \x1b[31m")
    variants = (replace(SUITE.variants[1], name="<b>mine", template=f"{secret} EMPLOYEE-77 & <i>"),)
    plan = Plan((case,), variants, 2)
    made = create_try(tmp_path, plan)
    outcome = Outcome(0, 0, 0, "", "", True, True, True, malformed=("repaired-call",), level="good")
    redaction = Redaction(check_patterns(["EMPLOYEE-\\d+"]))
    html = Page(made, tabulate(plan, [outcome]), redaction).html(0.0)
    assert secret not in html and "EMPLOYEE-77" not in html and "\x1b" not in html
    for raw in ("<script", "<b>", "<i>", "http:", "https:", "src=", "url("):
        assert raw not in html
    assert "&lt;script&gt;" in html and "default-src 'none'" in html and "repaired-call" in html


def test_only_one_process_goes_on_with_a_try(tmp_path: Path):
    made = create_try(tmp_path, SMALL)
    with (
        made.opened(),
        pytest.raises(UserError, match="running already"),
        open_try(tmp_path, made.id).opened(),
    ):
        pass
    with pytest.raises(UserError, match="there is no try"):
        open_try(tmp_path, "try-1")


def test_half_a_line_of_a_process_that_was_killed_is_left_out(tmp_path: Path):
    made = create_try(tmp_path, SMALL)
    with made.opened():
        made.add(Outcome(0, 0, 0, "t", "i", True))
    with (made.folder / "outcomes.jsonl").open("ab") as file:
        file.write(b'{"number": 1, "ca')
    assert list(open_try(tmp_path, made.id).outcomes) == [0]


def test_the_model_of_the_demo_is_the_same_every_time():
    def asked() -> list[object]:
        model = Model()
        body = json.dumps(dict(SUITE.cases[0].request)).encode()
        return [model.answer("/v1/chat/completions", body) for _ in range(10)]

    assert asked() == asked()
