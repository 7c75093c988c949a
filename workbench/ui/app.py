"""The application: which screen is shown, and what all of them share."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from workbench.ui.screens.stream import StreamScreen


class WorkbenchApp(App[int]):
    """The inspector."""

    TITLE = "workbench"
    CSS_PATH = "styles.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+q", "quit", "Quit", id="app.quit", tooltip="Leave the workbench"),
    ]

    def __init__(self, library: Path) -> None:
        super().__init__()
        self._library = library

    def on_mount(self) -> None:
        self.push_screen(StreamScreen(self._library))
