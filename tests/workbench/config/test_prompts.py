"""The configuration file, as `workbench prompt` uses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import Run, RunCommand
from transformer import BUILTIN_TEMPLATES, prompt_for

pytestmark = pytest.mark.usefixtures("templates_in_this_process")
TOOLS = [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]
REQUEST = {"messages": [{"role": "user", "content": "Read it."}], "tools": TOOLS}


@pytest.fixture
def prompt(run: RunCommand, folder: Path) -> RunCommand:
    """`workbench prompt` for a request, in a folder that may have a configuration file."""
    (folder / "request.json").write_text(json.dumps(REQUEST))

    def prompt(*flags: str) -> Run:
        return run("prompt", "request.json", "--out", "system", *flags)

    return prompt


def configure(folder: Path, text: str) -> None:
    (folder / "workbench.toml").write_text(text)


def test_the_template_is_used_and_a_change_takes_effect(prompt: RunCommand, folder: Path) -> None:
    configure(folder, 'dialect = "roo-xml"\n[prompts]\nroo-xml = "mine/first.jinja"\n')
    (folder / "mine").mkdir()
    template = folder / "mine" / "first.jinja"
    template.write_text("You have {{ tools | length }} tool.")
    assert prompt().out == b"You have 1 tool.\n"
    template.write_text("Tools: {% for tool in tools %}{{ tool.name }}{% endfor %}.")
    assert prompt().out == b"Tools: read.\n"


def test_flags_win_over_the_configuration(prompt: RunCommand, folder: Path) -> None:
    configure(folder, 'dialect = "kimi-k2"\n[prompts]\nroo-xml = "mine.jinja"\n')
    # Built-in ones, which need no process of their own.
    mine, other = BUILTIN_TEMPLATES["hermes"], BUILTIN_TEMPLATES["glm"]
    (folder / "mine.jinja").write_text(mine)
    (folder / "other.jinja").write_text(other)
    wanted = [prompt_for(TOOLS, "roo-xml", template) + "\n" for template in (mine, other)]
    assert wanted[0] != wanted[1]
    assert prompt("--dialect", "roo-xml").out.decode() == wanted[0]
    assert prompt("--dialect", "roo-xml", "--prompt", "other.jinja").out.decode() == wanted[1]


def test_the_environment_may_name_the_file(
    prompt: RunCommand, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    configure(elsewhere, 'dialect = "roo-xml"\n[prompts]\nroo-xml = "mine.jinja"\n')
    (elsewhere / "mine.jinja").write_text("from elsewhere")
    monkeypatch.setenv("WORKBENCH_CONFIG", str(elsewhere / "workbench.toml"))
    found = prompt()
    assert found.out == b"from elsewhere\n"


def test_a_failing_template_is_named_with_its_line(prompt: RunCommand, folder: Path) -> None:
    configure(folder, 'dialect = "roo-xml"\n[prompts]\nroo-xml = "mine.jinja"\n')
    (folder / "mine.jinja").write_text("fine\n{% for %}")
    found = prompt()
    assert found.code == 1
    assert "mine.jinja:2: " in found.err
    assert found.out.startswith(b"You have access to tools"), "the built-in one takes its place"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('dialekt = "roo-xml"', "did you mean dialect?"),
        ('dialect = "roo"', "did you mean roo-xml?"),
        ('[prompts]\nroo = "a.jinja"', "did you mean roo-xml?"),
        ("[prompts]\nroo-xml = 5", "prompts is a table"),
        ("prompts = 5", "prompts is a table"),
        ("dialect = ", "is not a configuration"),
        ('[prompts]\nroo-xml = "gone.jinja"', "gone.jinja"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(
    prompt: RunCommand, folder: Path, text: str, said: str
) -> None:
    configure(folder, text)
    found = prompt("--dialect", "roo-xml")
    assert found.code == 2
    assert said in found.err


def test_without_a_configuration_nothing_changes(
    prompt: RunCommand, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert prompt("--dialect", "roo-xml").out.startswith(b"You have access to tools")
    monkeypatch.setenv("WORKBENCH_CONFIG", str(folder / "gone.toml"))
    gone = prompt()
    assert gone.code == 2 and "gone.toml" in gone.err
