"""The prompt lab on the screen: live rendering, mistakes, the built-in template, saving."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support.project import SAMPLES
from tests.support.screens import until_seen
from tests.support.tiers import only_exhaustive
from workbench.lab.templates import builtin_template
from workbench.tape.format import read_tape
from workbench.ui.app import WorkbenchApp
from workbench.ui.screens.promptlab import PromptLab

pytestmark = pytest.mark.usefixtures("templates_are_tried_here")
HEADER = read_tape(SAMPLES / "roo-xml" / "good-read.jsonl").header


@pytest.mark.parametrize("size", only_exhaustive([(80, 24), (120, 30), (200, 50)], quick=[(120, 30)]))
async def test_a_template_is_edited_saved_and_taken_back(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    app, lab = WorkbenchApp(tmp_path), PromptLab(HEADER)
    async with app.run_test(size=size) as pilot:
        app.push_screen(lab)
        await until_seen(pilot, "as saved")
        lab.editor.load_text("Tools:\n{% for tool in tools %}\n- {{ tool.name }}\n{% endfor %}\n")
        text = await until_seen(pilot, "- read_file")
        assert "not saved" in text and "Tokens by part" in text
        await pilot.press("f5")
        await until_seen(pilot, "before − + now")
        await pilot.press("f5")
        lab.editor.load_text("one\n{{ nope }}")
        text = await until_seen(pilot, "line 2")
        assert "- read_file" in text, "the last good prompt stays"
        await pilot.press("escape")
        await until_seen(pilot, "press escape again to discard them")
        await pilot.press("f4")
        await until_seen(pilot, "; not saved" if lab.saved != builtin_template("roo-xml") else "as saved")
        lab.editor.load_text("{{ tools[0].name }} it is")
        await until_seen(pilot, "read_file it is")
        await pilot.press("f8")
        await until_seen(pilot, "saved as roo-xml.jinja")
        await pilot.press("escape")
        assert app.screen is not lab
    assert Path("roo-xml.jinja").read_text() == "{{ tools[0].name }} it is"
    assert 'roo-xml = "roo-xml.jinja"' in Path("workbench.toml").read_text()


async def test_the_users_own_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nprintf "edited {{ tools[0].name }}" > "$1"\n')
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))
    monkeypatch.delenv("VISUAL", raising=False)
    app, lab = WorkbenchApp(tmp_path), PromptLab(HEADER)
    monkeypatch.setattr(app, "suspend", nullcontext)  # a test has no terminal to lend
    async with app.run_test(size=(120, 30)) as pilot:
        app.push_screen(lab)
        await until_seen(pilot, "as saved")
        await pilot.press("f2")
        await until_seen(pilot, "edited read_file")
        lab.editor.undo()
        await until_seen(pilot, "as saved")
