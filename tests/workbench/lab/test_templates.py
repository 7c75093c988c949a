"""A template while it is edited: its rendering, its costs, and where it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.project import SAMPLES
from tests.support.tiers import each_row
from workbench.config.reading import read_settings
from workbench.errors import UserError
from workbench.lab.templates import builtin_template, name_in_settings, render, save_template
from workbench.tape.format import read_tape

pytestmark = pytest.mark.usefixtures("templates_in_this_process")
REQUEST = read_tape(SAMPLES / "roo-xml" / "good-read.jsonl").header["request"]


def test_a_rendering_and_its_parts():
    template = builtin_template("roo-xml")
    assert template is not None
    found = render(template, "roo-xml", REQUEST)
    assert found.problem is None and "## read_file" in found.prompt
    assert [part.name for part in found.parts] == [
        "the client's system text", "the template itself", "read_file",
    ]  # fmt: skip
    assert sum(part.characters for part in found.parts[1:]) == len(found.prompt)


@each_row(
    ("template", "line", "said"),
    [
        ("one\n{{ nope }}", 2, "nope"),
        ("one\ntwo\n{% for tool in tools %}", 3, "end"),
        ("{{ tools[99].name }}", 1, ""),
    ],
)
def test_a_mistake_has_its_line(template: str, line: int, said: str):
    found = render(template, "roo-xml", REQUEST)
    assert found.line == line and found.problem is not None and said in found.problem


@pytest.mark.parametrize(
    "text",
    [
        "",
        "port = 1\n",
        '# mine\n[prompts]\nqwen3-coder = "q.jinja" # keep\n\n[upstreams.a]\nurl = "http://x/v1"\n',
        '[prompts]\nroo-xml = "old.jinja"\n[upstreams.a]\nurl = "http://x/v1"\n',
        '[prompts]\n"roo-xml" = "old.jinja"',
    ],
)
def test_the_settings_name_it_and_keep_the_rest(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "workbench.toml"
    if text:
        settings.write_text(text)
    save_template(Path("mine.jinja"), "mine")
    name_in_settings(settings, "roo-xml", Path("mine.jinja"))
    name_in_settings(settings, "roo-xml", Path("mine.jinja"))
    assert read_settings().prompt_file("roo-xml") == "mine.jinja"
    assert set(text.split("\n")) - set(settings.read_text().split("\n")) <= {
        'roo-xml = "old.jinja"', '"roo-xml" = "old.jinja"',
    }  # fmt: skip


def test_settings_that_cannot_be_changed_safely_are_left_alone(tmp_path: Path):
    settings = tmp_path / "workbench.toml"
    text = 'prompts = { roo-xml = "a.jinja" }\n'
    settings.write_text(text)
    with pytest.raises(UserError, match="by hand"):
        name_in_settings(settings, "roo-xml", tmp_path / "b.jinja")
    assert settings.read_text() == text
