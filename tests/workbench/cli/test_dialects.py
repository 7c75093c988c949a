"""`workbench dialects`, and dialects that a module has."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.support.commands import (
    CALLED,
    GOOD,
    READ_FILE,
    RunCommand,
    tape,
)
from tests.support.tiers import each_row
from transformer import DIALECTS
from transformer.parser.dialect import EVERYWHERE


def test_dialects_lists_them(run: RunCommand):
    result = run("dialects")
    assert result.code == 0
    assert [line.split()[0] for line in result.out.decode().splitlines()] == list(DIALECTS)


@each_row("name", DIALECTS)
def test_the_table_has_every_pair(run: RunCommand, name: str):
    result = run("dialects", name)
    assert result.code == 0
    dialect = DIALECTS[name]
    rows = result.out.decode().splitlines()[4:]
    assert sum(map(bool, rows)) == sum(map(len, dialect.transitions.values())) + len(EVERYWHERE)
    for one in EVERYWHERE:
        assert any(row.startswith("any ") and one.condition in row and one.why in row for row in rows)
    for (state, token), rules in dialect.transitions.items():
        for rule in rules:
            assert any(
                row.startswith(state) and token in row and rule.condition in row and rule.why in row
                for row in rows
            )


@each_row("name", DIALECTS)
def test_the_diagram_has_every_state_and_step(run: RunCommand, name: str):
    result = run("dialects", name, "--mermaid")
    assert result.code == 0
    first, *lines = result.out.decode().splitlines()
    assert first == "stateDiagram-v2"
    dialect = DIALECTS[name]
    rules = [(state, rule) for (state, _), rules in dialect.transitions.items() for rule in rules]
    arrows = {(state, rule.to, rule.condition, rule.name) for state, rule in rules}
    assert sum(" --> " in line for line in lines) == len(arrows) + 1
    tokens = [line.partition(" : ")[2].partition(" / ")[0].partition(" [")[0] for line in lines]
    assert sum(len(names.split(", ")) for names in tokens if names) == len(rules)
    assert sum(" : " in line and " [" in line for line in lines) == sum(bool(arrow[2]) for arrow in arrows)


@pytest.mark.parametrize(
    ("args", "says"),
    [(["kimi"], "did you mean kimi-k2?"), (["--mermaid"], "--mermaid draws one dialect"), (["a", "b"], "b")],
)
def test_dialects_used_badly(run: RunCommand, args: list[str], says: str):
    result = run("dialects", *args)
    assert (result.code, result.out) == (2, b"")
    assert says in result.err


DIALECT_MODULE = """
from dataclasses import replace
from transformer.dialects import DIALECTS

MINE = replace(DIALECTS["roo-xml"], name="mine")
NUMBER = 5
"""


_numbers = count()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module with a dialect that nobody has registered, nor imported yet. Another one for each
    test: what was named once stays known."""
    name = f"own_dialects_{next(_numbers)}"
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / f"{name}.py").write_text(DIALECT_MODULE)
    monkeypatch.syspath_prepend(tmp_path / "path")
    yield name
    sys.modules.pop(name, None)


def test_a_dialect_of_a_module(run: RunCommand, module: str):
    name = f"{module}:MINE"
    Path("tools.json").write_text(json.dumps([READ_FILE]))
    result = run("transform", "-d", name, "--tools", "tools.json", "--out", "message", stdin=GOOD.encode())
    assert (result.code, result.answer) == (0, CALLED)
    assert run("dialects", name).out.startswith(b"mine: ")
    assert run("prompt", "--template", name).out == run("prompt", "--template", "roo-xml").out
    Path("workbench.toml").write_text(f'dialect = "{name}"\n[prompts]\n"{name}" = "mine.jinja"')
    settings = run("config", "--json", "--upstream", "http://127.0.0.1:1").json["settings"]
    assert settings["upstreams.default.dialect"]["value"] == name
    assert settings["prompts"]["value"] == {name: "mine.jinja"}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("{module}:NONE", "the dialect '{module}:NONE' cannot be loaded: module"),
        ("{module}:NUMBER", "'{module}:NUMBER' is not a Dialect"),
        ("no.such:MINE", "the dialect 'no.such:MINE' cannot be loaded: No module named 'no'"),
        ("roo-xml:", "there is no dialect 'roo-xml:'"),
    ],
)
def test_a_dialect_that_cannot_be_loaded(run: RunCommand, module: str, name: str, says: str):
    name, says = name.format(module=module), says.format(module=module)
    for result in (run("transform", "-d", name, stdin=b"x"), run("serve", "-d", name)):
        assert (result.code, result.out) == (2, b"")
        assert says in result.err and "module:NAME is a Dialect" in result.err
    Path("workbench.toml").write_text(f'[upstreams.x]\nurl = "http://127.0.0.1:1"\ndialect = "{name}"')
    assert f"workbench.toml, [upstreams.x]: dialect: {says}" in run("config").err


def test_a_tape_has_no_module_imported(run: RunCommand, module: str):
    name = f"{module}:MINE"
    result = run("transform", stdin=tape(GOOD, dialect=name))
    assert (result.code, result.out) == (2, b"")
    assert f"the tape's dialect is '{name}', which is not loaded: --dialect {name} loads it" in result.err
    assert module not in sys.modules
    assert run("transform", "-d", name, stdin=tape(GOOD, dialect=name)).code == 0
    assert run("transform", stdin=tape(GOOD, dialect=name)).code == 0, "somebody has named it"
