"""The application: which screen is shown, and what all of them share."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

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

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Everything that has a key can be found by its name, too."""
        yield from super().get_system_commands(screen)
        for active in screen.active_bindings.values():
            binding = active.binding
            if binding.id and not binding.system and binding.description:
                act = partial(self.run_action, binding.action, active.node)
                yield SystemCommand(binding.description, binding.tooltip or binding.key, act)

    def on_mount(self) -> None:
        self.push_screen(StreamScreen(self._library))
