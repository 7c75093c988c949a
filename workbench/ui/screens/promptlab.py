"""The prompt lab: the template on the left, its rendering for this request on the right, while one types."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static, TextArea

from workbench.analysis.requests import CHARACTERS_A_TOKEN
from workbench.config.reading import config_file, read_settings
from workbench.errors import UserError
from workbench.lab.templates import Rendering, builtin_template, name_in_settings, render, save_template
from workbench.tape.recipe import dialect_in
from workbench.text import visible_line
from workbench.ui.background import in_background
from workbench.ui.display import content
from workbench.ui.requestfacts import template_of
from workbench.ui.screens.edit import Editor
from workbench.ui.screens.view import HelpScreen
from workbench.ui.widgets.bars import KeyBar
from workbench.ui.widgets.diffview import Difference, folded, pairs
from workbench.ui.widgets.document import FactSheet, Prose
from workbench.ui.widgets.textpane import TextPane

_WAIT = 0.12  # seconds without a key before it is rendered
_BAR = 12
_LONGEST_NAME = 28
_NARROW = 100


class PromptLab(Screen[None]):
    """Edits a template of the dialect of one exchange; nothing is sent."""

    CSS_PATH = "../views.tcss"
    TITLE = "the prompt"
    HELP = (
        "Left: the template. Right: what it makes of this request's tools, as you type; below what each part "
        "costs. f5 shows what differs from the prompt before the first change, or before the last save. A "
        "template that fails is named with its line, and the last good prompt stays. ctrl+s writes the file "
        "of the settings, or DIALECT.jinja in this folder; f8 also names it in workbench.toml, for all later "
        "requests."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", id="lab.save", tooltip="Write the template to its file"),
        Binding("f8", "settle", "Into settings", id="lab.settle",
                tooltip="Save it, and name it in workbench.toml"),
        Binding("f5", "difference", "Difference", id="lab.difference",
                tooltip="What differs from the earlier prompt, or the prompt itself"),
        Binding("f2", "editor", "$EDITOR", id="lab.editor", tooltip="Edit it in your own editor"),
        Binding("f4", "builtin", "Built-in", id="lab.builtin",
                tooltip="Begin again with the dialect's own template; ctrl+z undoes that"),
        Binding("f1", "help", "Help", id="lab.help", tooltip="What the keys do here"),
        Binding("escape", "back", "Back", id="lab.back",
                tooltip="Back; asks once if there are unsaved changes"),
    ]  # fmt: skip

    def __init__(self, header: Mapping[str, Any]) -> None:
        super().__init__()
        self.dialect = dialect_in(header)
        request = header.get("request")
        self.request: Mapping[str, Any] = request if isinstance(request, Mapping) else {}
        self.saved = template_of(header) or ""
        self.rendering: Rendering | None = None
        self.baseline: str | None = None  # the prompt that differences are shown against
        self.differs = False  # whether the difference is shown
        self.editor = Editor("", id="editor", show_line_numbers=True, highlight_cursor_line=True)
        self.prompt = TextPane("Prompt", id="lab-prompt")
        self.costs = TextPane("Tokens by part", id="lab-costs")
        self._head = Static("", id="view-head", markup=False)
        self._said = Static("", id="edit-said", markup=False)
        self._timer: Timer | None = None
        self._leaving = False
        self._good: Rendering | None = None

    def compose(self) -> ComposeResult:
        yield self._head
        with Horizontal(id="lab-body"):
            yield self.editor
            with Vertical(id="lab-right"):
                yield self.prompt
                yield self.costs
        yield self._said
        yield KeyBar()

    def on_mount(self) -> None:
        self._head.update(
            content(f" the prompt template of {self.dialect}, for this request").stylize("bold")
        )
        self.editor.load_text(self.saved)
        self.editor.focus()
        if not self.saved:
            self._say(f"{self.dialect} has no prompt template: its servers render the tools", good=False)
        self._fill()

    def on_resize(self) -> None:
        self.set_class(self.size.width < _NARROW, "-narrow")

    # -- rendering

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        self._leaving = False
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_WAIT, self._fill)

    def _fill(self) -> None:
        text = self.editor.text

        def done(found: Rendering) -> None:
            if self.editor.text == text:
                self._show(found)

        in_background(self, lambda: render(text, self.dialect, self.request), done)

    def _show(self, found: Rendering) -> None:
        self.rendering = found
        if found.problem is not None:
            where = f"line {found.line}: " if found.line is not None else ""
            self._say(f"{where}{found.problem}", good=False)
            return
        self._good = found
        if self.baseline is None:
            self.baseline = found.prompt
        tokens = -(-len(found.prompt) // CHARACTERS_A_TOKEN)
        more = len(found.prompt) - len(self.baseline)
        change = f", {more:+,} characters" if more else ""
        state = "not saved" if self.editor.text != self.saved else "as saved"
        self._say(f"{len(found.prompt):,} characters, ~{tokens:,} tokens{change}; {state}", good=True)
        self._show_prompt()
        self.costs.show_document(_costs_sheet(found))

    def _show_prompt(self) -> None:
        if self._good is None:
            return
        if self.differs:
            lines = pairs((self.baseline or "").split("\n"), self._good.prompt.split("\n"))
            same = all(pair.kind == "same" for pair in lines)
            self.prompt.show_document(
                FactSheet().paragraph("The prompt is as it was.", "dim")
                if same
                else Difference(folded(lines))
            )
            self.prompt.border_title = content("before − + now")
        else:
            top = self.prompt.top
            self.prompt.show_document(Prose(self._good.prompt))
            self.prompt.top = top  # keep the scroll position
            self.prompt.border_title = content("Prompt")

    def action_difference(self) -> None:
        self.differs = not self.differs
        self._show_prompt()

    def _say(self, sentence: str, *, good: bool) -> None:
        look = "$text-success" if good else "bold $text-error"
        self._said.update(content(f" {'✔' if good else '✖'} {sentence}").stylize(look))

    # -- other texts

    def _replace(self, text: str) -> None:
        """As one edit, which ctrl+z undoes."""
        self.editor.replace(text, self.editor.document.start, self.editor.document.end)

    def action_builtin(self) -> None:
        text = builtin_template(self.dialect)
        if text is None:
            self._say(f"{self.dialect} has no prompt template of its own", good=False)
        else:
            self._replace(text)

    def action_editor(self) -> None:
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not command:
            self._say("EDITOR is not set: it names the program to edit with", good=False)
            return
        with tempfile.NamedTemporaryFile("w", suffix=".jinja", delete=False, encoding="utf-8") as file:
            file.write(self.editor.text)
        path = Path(file.name)
        try:
            with self.app.suspend():
                subprocess.run([*shlex.split(command), str(path)], check=True)
            text = path.read_text(encoding="utf-8")
        except Exception as error:  # whatever that program is, and even if the terminal cannot be suspended
            self._say(f"{command} failed: {error}", good=False)
            return
        finally:
            path.unlink(missing_ok=True)
        if text != self.editor.text:
            self._replace(text)

    # -- saving and leaving

    def _file(self) -> Path:
        """The one of the settings, else a new one in this folder."""
        named = read_settings().prompt_file(self.dialect)
        return Path(named) if named is not None else Path(f"{self.dialect.replace(':', '-')}.jinja")

    def action_save(self) -> None:
        self._save(also_settings=False)

    def action_settle(self) -> None:
        self._save(also_settings=True)

    def _save(self, *, also_settings: bool) -> None:
        text = self.editor.text
        try:
            file = self._file()
            save_template(file, text)
            if also_settings:
                name_in_settings(config_file(), self.dialect, file)
        except UserError as error:
            self._say(error.message, good=False)
            return
        self.saved = text
        if self._good is not None:
            self.baseline = self._good.prompt
        named = f", and {config_file()} names it" if also_settings else "; f8 names it in workbench.toml"
        self._say(f"saved as {file}{named}", good=True)

    def action_back(self) -> None:
        if self.editor.text != self.saved and not self._leaving:
            self._leaving = True
            self._say("the changes are not saved: press escape again to discard them", good=False)
            return
        self.dismiss(None)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self))


def _costs_sheet(found: Rendering) -> FactSheet:
    sheet = FactSheet()
    total = max(1, sum(part.characters for part in found.parts))
    most = max((part.characters for part in found.parts), default=1) or 1
    names = min(_LONGEST_NAME, max((len(part.name) for part in found.parts), default=0))
    for part in found.parts:
        bar = "█" * (part.characters * _BAR // most)
        share, name = 100 * part.characters // total, visible_line(part.name)
        name = name if len(name) <= names else f"{name[: names - 1]}…"
        sheet.paragraph(f"{f'~{part.tokens:,}':>8} {share:>3} %  {name:{names}}  {bar}".rstrip())
    return sheet
