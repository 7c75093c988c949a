"""Suites: read, refused with a sentence, and made from tapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.project import SAMPLES
from tests.support.tiers import each_row
from workbench.errors import UserError
from workbench.lab.plan import Expected
from workbench.lab.suite import read_suite, write_suite

TAPE = SAMPLES / "roo-xml" / "good-read.jsonl"


def suite(folder: Path, text: str) -> str:
    (folder / "good-read.jsonl").write_bytes(TAPE.read_bytes())
    (folder / "mine.jinja").write_text("mine")
    file = folder / "suite.toml"
    file.write_text(text)
    return str(file)


def test_the_sample():
    plan = read_suite(str(SAMPLES / "suite.toml"))
    assert [variant.name for variant in plan.variants] == ["built-in", "careful"]
    assert plan.cases[0].expected == Expected("read_file", {"path": "src/main.py"})
    assert plan.cases[2].expected == Expected("run"), "what the tape's own answer called"
    assert all(case.rate == 0.75 for case in plan.cases) and plan.times == 20


def test_everything_that_can_be_said(tmp_path: Path):
    plan = read_suite(
        suite(
            tmp_path,
            """
            times = 3
            [[variant]]
            name = "v"
            prompt = "mine.jinja"
            dialect = "qwen3-coder"
            model = "m"
            set = { temperature = 0.5, malformed = "repair" }
            [[case]]
            tape = "good-read.jsonl"
            expect_call = false
            rate = 0.5
            [[case]]
            tape = "good-read.jsonl"
            """,
        )
    )
    (variant,) = plan.variants
    assert (variant.template, variant.prompt, variant.dialect) == ("mine", "mine", "qwen3-coder")
    assert (variant.switches, variant.body) == ({"malformed": "repair"}, {"temperature": 0.5})
    assert [case.name for case in plan.cases] == ["good-read 1", "good-read 2"]
    assert plan.cases[0].expected == Expected(call=False) and plan.cases[1].rate == 1.0


@each_row(
    ("text", "said"),
    [
        ("", "no case"),
        ("times = 0\n[[case]]\ntape = 'good-read.jsonl'", "times is at least 1"),
        ("[[case]]\nname = 'x'", "tape is missing"),
        ("[[case]]\ntape = 'missing.jsonl'", "missing.jsonl"),
        ("[[case]]\ntape = 'good-read.jsonl'\nexpect_tol = 'x'", "did you mean expect_tool"),
        ("[[case]]\ntape = 'good-read.jsonl'\nrate = 2", "rate is a part"),
        ("[[case]]\ntape = 'good-read.jsonl'\nexpect_tool = 1", "expect_tool is a text"),
        (
            "[[case]]\ntape = 'good-read.jsonl'\nexpect_tool = 'x'\nexpect_call = false",
            "leave one of them out",
        ),
        ("[[case]]\ntape = 'good-read.jsonl'\n[[variant]]\nset = { malformd = 'x' }", "there is no switch"),
        ("[[case]]\ntape = 'good-read.jsonl'\n[[variant]]\ndialect = 'roo'", "did you mean roo-xml"),
        ("[[case]]\ntape = 'good-read.jsonl'\n[[variant]]\nprompt = 'no.jinja'", "no.jinja"),
        ("[[case]", "is not a suite"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str):
    with pytest.raises(UserError, match=said):
        read_suite(suite(tmp_path, text))


def test_a_new_one_can_be_read_and_moved(tmp_path: Path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    other = SAMPLES / "roo-xml" / "good-no-call.jsonl"
    assert write_suite(here / "mine.toml", [TAPE, other], 4) == 2
    here.rename(there)
    plan = read_suite(str(there / "mine.toml"))
    assert plan.times == 4 and [case.expected.tool for case in plan.cases] == ["read_file", None]
    assert plan.cases[0].name == "What does src/main.py do? 1"
    with pytest.raises(UserError, match="there already"):
        write_suite(there / "mine.toml", [TAPE])
    with pytest.raises(UserError, match="no exchange is marked"):
        write_suite(there / "new.toml", [])
