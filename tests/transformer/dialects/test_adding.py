"""docs/adding-a-dialect.md: its excerpts are from glm, and its dialect in a module of its own works."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.cuts import check_every_split
from tests.support.explanations import calls_of, played, retried, why_of
from tests.support.project import ROOT
from tests.support.streams import message, stream_of, tool
from transformer import StreamTransformer, transform_message, transform_request, written_call
from transformer.dialects import UnknownDialect, find_dialect, loaded_dialect
from workbench.analysis.explain.moves import state_meaning
from workbench.cli.main import app

PAGE = (ROOT / "docs" / "adding-a-dialect.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
STEPS = "steps_dialect:STEPS"
READ = tool("read", {"path": {"type": "string"}, "limit": {"type": "integer"}}, required=["path"])
CALL = "<step:read><with:path>a.py</with><with:limit>5</with></step>"
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Read a.py"}], "tools": [READ]}


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The page's dialect in a module of its own, as an installed package would have it."""
    (tmp_path / "steps_dialect.py").write_text(BLOCKS[-1], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("steps_dialect", None)


def test_the_excerpts_are_from_the_source() -> None:
    source = (ROOT / "transformer" / "dialects" / "glm.py").read_text(encoding="utf-8")
    assert len(BLOCKS) == 4
    for block in BLOCKS[:-1]:
        assert block in source


def test_the_example_is_as_short_as_the_page_says() -> None:
    lines = (ROOT / "transformer" / "dialects" / "glm.py").read_text(encoding="utf-8").count("\n")
    assert f"is {round(lines, -1)} lines long" in PAGE


def test_it_is_found() -> None:
    assert find_dialect(STEPS).name == "steps"
    for wrong in ("steps_dialect:NONE", "no_such_module:STEPS", "steps_dialect:NAME", "steps"):
        with pytest.raises(UnknownDialect):
            find_dialect(wrong)


def test_what_was_named_here_is_known_and_nothing_else_is_imported() -> None:
    dialect = find_dialect(STEPS)
    assert loaded_dialect(STEPS) is dialect
    assert loaded_dialect("steps_dialect:NAME") is loaded_dialect("this:that") is None
    assert "this" not in sys.modules
    assert state_meaning(STEPS, dialect.initial) == dialect.states_in_words[dialect.initial]


def test_a_stream_is_converted_in_every_cut() -> None:
    got = check_every_split(STEPS, stream_of(f"I read it.\n{CALL}\nSo.", 7), tools=[READ])
    assert (got.content, got.calls) == ("I read it.\nSo.", [("read", '{"path":"a.py","limit":5}')])
    assert StreamTransformer(dialect=find_dialect(STEPS)).setting.dialect.name == "steps"


def test_a_missing_closing_tag_is_repaired_as_in_every_dialect_of_the_grammar() -> None:
    body = transform_message(message(CALL.replace("</with></step>", "</step>")), STEPS, [READ])
    (call,) = body["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "read", "arguments": '{"path":"a.py","limit":5}'}


def test_what_is_written_comes_back() -> None:
    written = written_call(STEPS, "read", {"path": "a\nb", "limit": 5}, READ)
    assert written.text == "<step:read>\n<with:path>\na\nb\n</with>\n<with:limit>5</with>\n</step>"
    assert written.findings == ()
    ends = written_call(STEPS, "read", {"path": "x</with></step>"}, READ)
    assert [finding.code for finding in ends.findings] == ["value-contains-its-end"]


def test_the_prompt_offers_the_tools_in_its_own_way() -> None:
    body, findings = transform_request(REQUEST, dialect=STEPS)
    assert "<step:read>\n<with:path>" in body["messages"][0]["content"] and "tools" not in body
    assert findings == []


def test_the_commands_know_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answer.txt").write_text(CALL, encoding="utf-8")
    Path("tools.json").write_text(json.dumps([READ]), encoding="utf-8")
    for args, expected in {
        ("dialects", STEPS): "open parameter",
        (
            "transform",
            "answer.txt",
            "-d",
            STEPS,
            "--tools",
            "tools.json",
            "--out",
            "message",
        ): '"name": "read"',
        ("replay", "answer.txt", "-d", STEPS, "--tools", "tools.json"): "open parameter",
    }.items():
        done = CliRunner().invoke(app, args)
        assert done.exit_code == 0 and expected in done.output, args


def test_a_replay_explains_it_and_proposes_what_helps() -> None:
    find_dialect(STEPS)  # what a tape names is not imported unless somebody here has named it
    player = played(CALL.removesuffix("</step>"), STEPS, [READ])
    why = why_of(player, "truncated-call")
    assert "the answer ended in the middle of a call to read" in why.sentences[0].lower()
    assert why.remedies[0].words == "with </step> at the end this is a call to read"
    (call,) = calls_of(retried(player, why.remedies[0]))
    assert (call.name, call.arguments) == ("read", '{"path":"a.py","limit":5}')
