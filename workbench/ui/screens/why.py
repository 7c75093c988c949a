"""The why screen: what happened at a row or a byte in words, with what would have made it a call."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from workbench.ui.screens.view import ViewScreen
from workbench.ui.widgets.factsheet import FactSheet
from workbench.ui.widgets.textpane import TextPane
from workbench.why.why import Remedy, Why

_DIGITS = range(1, 10)


class WhyScreen(ViewScreen[Remedy]):
    """Its result is the remedy that is to be tried, None when none is."""

    TITLE = "why"
    HELP = (
        "What the parser did at this place and for which reason. Where a call was lost, the changes that "
        "would have made it one are numbered: the digit tries that change in the replay; the tape stays as "
        "it is."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "try(1)", "Try it", id="why.try", tooltip="Try the first of the changes"),
        *(
            Binding(f"{digit}", f"try({digit})", f"Try change {digit}", id=f"why.try-{digit}", show=False,
                    tooltip=f"See what change {digit} leads to")
            for digit in _DIGITS
        ),
    ]  # fmt: skip

    def __init__(self, why: Why) -> None:
        super().__init__()
        self.why = why
        self.text = TextPane("Why", id="why")
        self.panes = (self.text,)

    def begin(self) -> None:
        hint = "a digit tries a change" if self.why.remedies else "escape goes back"
        self.say(self.why.title, hint)
        self.text.show_document(sheet_of(self.why))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "try":
            (number,) = parameters
            return isinstance(number, int) and number <= len(self.why.remedies)
        return True

    def action_try(self, number: int) -> None:
        self.dismiss(self.why.remedies[number - 1])


def sheet_of(why: Why) -> FactSheet:
    sheet = FactSheet()
    for sentence in why.sentences:
        sheet.paragraph(sentence).paragraph(" ")
    if why.remedies:
        sheet.heading("What would have made it a call" if len(why.remedies) > 1 else "What would help")
        for number, remedy in enumerate(why.remedies, 1):
            sheet.fact(f"{number}", remedy.words)
    return sheet
