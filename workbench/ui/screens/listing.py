"""A list to choose from: breakpoints, marks, switches, their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from textual.binding import Binding, BindingType

from workbench.ui.screens.view import ViewScreen
from workbench.ui.widgets.choicelist import Choice, ChoiceList
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.textpane import TextPane

Deed: TypeAlias = Literal["choose", "add", "remove"]


@dataclass(frozen=True, slots=True)
class Picked:
    """What is to be done, and with which of the choices; -1: none of them."""

    deed: Deed
    number: int


class ListScreen(ViewScreen[Picked]):
    """Its result is None when nothing was chosen. `changes`: choices can be added and removed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Choose", id="listing.choose", tooltip="Take this one"),
        Binding("a", "add", "Add", id="listing.add", tooltip="Add one to this list"),
        Binding("d,delete", "remove", "Remove", id="listing.remove", tooltip="Take this one off the list"),
    ]

    def __init__(
        self,
        title: str,
        facts: str,
        choices: Sequence[Choice],
        *,
        chosen: int = 0,
        changes: bool = False,
        help: str = "",
    ) -> None:
        super().__init__()
        self.HELP = help  # type: ignore[misc]
        self.title = title
        self._facts = facts
        self._changes = changes
        self.choices = list(choices)
        self.list = TextPane(title.capitalize(), id="listing")
        self.panes = (self.list,)
        self._chosen = chosen

    def begin(self) -> None:
        self.say(str(self.title), self._facts)
        self.list.show_document(ChoiceList(self.choices, self._chosen))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._changes if action in ("add", "remove") else True

    def on_row_pane_opened(self, event: RowPane.Opened) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        self._done("choose")

    def action_remove(self) -> None:
        self._done("remove")

    def action_add(self) -> None:
        self.dismiss(Picked("add", -1))

    def _done(self, deed: Deed) -> None:
        if 0 <= self.list.cursor < len(self.choices):
            self.dismiss(Picked(deed, self.list.cursor))
