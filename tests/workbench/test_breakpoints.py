"""Breakpoints: what a line means. What hits them: `replay/test_hits.py`, `proxy/test_intercept.py`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tiers import each_row
from transformer.dialects import find_dialect
from workbench.breakpoints import KINDS, parse
from workbench.errors import UserError


@each_row(
    "line",
    [
        "state:VALUE",
        "state:*closed",
        "rule:begin*",
        "rule:prose",
        "finding:*",
        "finding:unclosed-call*",
        "upstream:\\[DONE\\]",
        "machine:value → closed",
        "client:^call",
        "text:\\w+\\.py",
        "held>0",
        "held>40ch",
        "held>50ms",
        "held>0.2s",
        "tool:re*",
        "held>2 s",
        "client:a:b>c",
        "text: with  spaces ",
        "tool:a[b]",
        "State:value",
        "HELD>5ms",
        " rule:prose ",
    ],
)
def test_a_breakpoint_reads_back(line: str):
    one = parse(line)
    assert parse(str(one)) == one and str(parse(str(one))) == str(one)
    assert str(one).lower().replace(" ", "") == line.lower().replace(" ", "")


@each_row(
    ("line", "said"),
    [
        ("", "there are state, rule, finding, upstream, machine, client, text, held, tool"),
        ("nonsense", "there are state, rule"),
        ("stat:value", "did you mean state?"),
        ("colour:red", "there are state"),
        ("state:", "state:VALUE"),
        ("state>value", "write it like state:VALUE"),
        ("held:5", "write it like held>200ms"),
        ("state:valu", "there is no state 'valu'; did you mean value?"),
        ("rule:open", "there is no rule 'open'; did you mean open example or open parameter?"),
        ("finding:unclosed-paramter", "did you mean unclosed-parameter?"),
        ("client:(", "at character 1: missing ), unterminated subpattern"),
        ("client:a{2,1}", "at character"),
        ("client:a{99999999999999}", "too large"),
        ("text:[z-a]", "at character 2: bad character range z-a"),
        ("held>much", "write it like held>200ms"),
        ("held>-5", "write it like held>200ms"),
        ("held>1.5", "only whole characters"),
        ("held>5 minutes", "write it like held>200ms"),
        ("held>" + "9" * 400, "write it like held>200ms"),
    ],
)  # fmt: skip
def test_a_line_that_is_none_is_told_with_what_is_possible(line: str, said: str):
    with pytest.raises(UserError) as told:
        parse(line)
    assert said in told.value.message


def test_every_example_is_a_breakpoint():
    for examples in KINDS.values():
        for example in re.split(", | or ", examples):
            parse(example)


@pytest.mark.filterwarnings("error")
def test_a_doubtful_expression_is_no_warning():
    parse("client:[[a]")


OWN_DIALECT = """
from dataclasses import replace
from enum import StrEnum

from transformer.dialects import DIALECTS
from transformer.parser.dialect import Rule, table
from transformer.records import Effect

PLAIN = DIALECTS["passthrough"]


class State(StrEnum):
    MURMUR = "Murmur"


def murmur_on(machine, token):
    pass


RULE = Rule(State.MURMUR, Effect.NONE, murmur_on, "it goes on")
MURMUR = replace(
    PLAIN,
    name="murmur",
    states=tuple(State),
    transitions=table(PLAIN.tokens, {State.MURMUR: ({}, RULE)}),
    lexicons=dict.fromkeys(State, PLAIN.lexicons[PLAIN.initial]),
    states_in_words={State.MURMUR: "in a murmur"},
)
"""


@pytest.fixture
def murmur(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a dialect of a module that nobody has named yet."""
    (tmp_path / "murmur_dialect.py").write_text(OWN_DIALECT)
    monkeypatch.syspath_prepend(tmp_path)
    yield "murmur_dialect:MURMUR"
    sys.modules.pop("murmur_dialect", None)


def test_states_and_rules_of_a_dialect_of_a_module_are_known_once_it_is_named(murmur: str):
    lines = ("state:murmur", "rule:murmur on")
    for line in lines:
        with pytest.raises(UserError):
            parse(line)
    find_dialect(murmur)
    assert [str(parse(line)) for line in lines] == list(lines)
    with pytest.raises(UserError, match="did you mean murmur"):
        parse("state:murmer")
