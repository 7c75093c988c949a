"""The rewrite screen: the model's text changed by hand, or pasted."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, Static, TextArea

from workbench.ui.display import content
from workbench.ui.widgets.editor import Editor

MOST = 400_000  # characters that can be edited without the screen becoming slow
# The editor knows lines and nothing else: whatever it would take for the end of one, but for a line feed, is
# one other character while it is in there.
_BREAKS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_PRIVATE = range(0xF0000, 0xFFFFE)


class RewriteScreen(Screen[str]):
    """Its result is the new text, None when it is to stay as it is."""

    CSS_PATH = "../views.tcss"
    TITLE = "the model's text"
    HELP = (
        "Change what the model wrote; ctrl+s plays it. Everything around the text (events, reads, times) "
        "stays as it was recorded, and so does the tape itself: this is a variant of it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "play", "Play it", id="rewrite.play", tooltip="See what becomes of this text"),
        Binding("f1", "help", "Help", id="rewrite.help", tooltip="What the keys do here"),
        Binding("escape", "back", "Back", id="rewrite.back", tooltip="Back, without any change"),
    ]

    def __init__(self, title: str, text: str = "", at: int = 0) -> None:
        super().__init__()
        self._hide, self._show = disguise(text)
        self._text, self._at = self._hide(text), at
        self._leaving = False
        self.editor = Editor("", id="editor", show_line_numbers=True, highlight_cursor_line=True)
        self._head = Static(content(f" {title}").stylize("bold"), id="view-head", markup=False)
        self._said = Static("", id="edit-said", markup=False)

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.editor
        yield self._said
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.editor.load_text(self._text)
        self.editor.move_cursor(place_of(self._text, self._at), center=True)
        self.editor.focus()
        self._tell()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        self._leaving = False
        self._tell()

    @property
    def changed(self) -> bool:
        return self.editor.text != self._text

    def _tell(self) -> None:
        state = "changed" if self.changed else "as it was recorded" if self._text else "paste or type it"
        self._said.update(content(f" {len(self.editor.text):,} characters, {state}; ctrl+s plays it"))

    def action_play(self) -> None:
        if not self.editor.text and not self._text:
            self._said.update(content(" ✖ there is no text yet: paste what the model wrote").stylize("bold"))
            return
        self.dismiss(self._show(self.editor.text))

    def action_back(self) -> None:
        if self.changed and not self._leaving:
            self._leaving = True
            said = " ✖ there are changes that were not played: escape once more drops them"
            self._said.update(content(said).stylize("bold $text-error"))
            return
        self.dismiss(None)

    def action_help(self) -> None:
        from workbench.ui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self))


def disguise(text: str) -> tuple[Callable[[str], str], Callable[[str], str]]:
    """How to hide line ends from the editor, and how to bring them back."""
    # A carriage return that somebody types is a line feed to the editor, so these only come from the text.
    used = set(text)
    free = (chr(code) for code in _PRIVATE if chr(code) not in used)
    pairs = dict(zip(_BREAKS, free, strict=False))
    there, back = str.maketrans(pairs), str.maketrans({hidden: real for real, hidden in pairs.items()})
    return lambda shown: shown.translate(there), lambda hidden: hidden.translate(back)


def place_of(text: str, at: int) -> tuple[int, int]:
    """The line and the column of a character."""
    before = text[:at]
    return before.count("\n"), len(before) - (before.rfind("\n") + 1)
