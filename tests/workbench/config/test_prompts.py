"""The configuration file, as `workbench prompt` uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.project import ROOT

REQUEST = {
    "messages": [{"role": "user", "content": "Read it."}],
    "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
}


def prompt(folder: Path, *flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "request.json").write_text(json.dumps(REQUEST))
    command = [sys.executable, "-m", "workbench", "prompt", "request.json", "--out", "system", *flags]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("WORKBENCH_")}
    environment = kept | {"PYTHONPATH": str(ROOT)} | variables
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def configure(folder: Path, text: str) -> None:
    (folder / "workbench.toml").write_text(text)


def test_the_template_of_the_configuration_is_used_and_a_change_takes_effect(tmp_path: Path) -> None:
    configure(tmp_path, 'dialect = "roo-xml"\n[prompts]\nroo-xml = "mine/first.jinja"\n')
    (tmp_path / "mine").mkdir()
    template = tmp_path / "mine" / "first.jinja"
    template.write_text("You have {{ tools | length }} tool.")
    assert prompt(tmp_path).stdout == "You have 1 tool.\n"
    template.write_text("Tools: {% for tool in tools %}{{ tool.name }}{% endfor %}.")
    assert prompt(tmp_path).stdout == "Tools: read.\n"


def test_flags_win_over_the_configuration(tmp_path: Path) -> None:
    configure(tmp_path, 'dialect = "kimi-k2"\n[prompts]\nroo-xml = "mine.jinja"\n')
    (tmp_path / "mine.jinja").write_text("mine")
    (tmp_path / "other.jinja").write_text("other")
    assert prompt(tmp_path, "--dialect", "roo-xml").stdout == "mine\n"
    assert prompt(tmp_path, "--dialect", "roo-xml", "--prompt", "other.jinja").stdout == "other\n"


def test_the_environment_may_name_the_file(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    configure(elsewhere, 'dialect = "roo-xml"\n[prompts]\nroo-xml = "mine.jinja"\n')
    (elsewhere / "mine.jinja").write_text("from elsewhere")
    found = prompt(tmp_path, WORKBENCH_CONFIG=str(elsewhere / "workbench.toml"))
    assert found.stdout == "from elsewhere\n"


def test_a_failing_template_of_the_configuration_is_named_with_its_line(tmp_path: Path) -> None:
    configure(tmp_path, 'dialect = "roo-xml"\n[prompts]\nroo-xml = "mine.jinja"\n')
    (tmp_path / "mine.jinja").write_text("fine\n{% for %}")
    found = prompt(tmp_path)
    assert found.returncode == 1
    assert "mine.jinja:2: " in found.stderr
    assert found.stdout.startswith("You have access to tools"), "the built-in one takes its place"


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
def test_a_wrong_configuration_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    configure(tmp_path, text)
    found = prompt(tmp_path, "--dialect", "roo-xml")
    assert found.returncode == 2
    assert said in found.stderr
    assert "Traceback" not in found.stderr


def test_without_a_configuration_nothing_changes(tmp_path: Path) -> None:
    assert prompt(tmp_path, "--dialect", "roo-xml").stdout.startswith("You have access to tools")
    gone = prompt(tmp_path, WORKBENCH_CONFIG=str(tmp_path / "gone.toml"))
    assert gone.returncode == 2 and "gone.toml" in gone.stderr
