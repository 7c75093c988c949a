"""The difference screen: what the client got then, beside what today's code would send."""

from __future__ import annotations

from workbench.player.comparison import Difference
from workbench.ui.screens.view import ViewScreen
from workbench.ui.widgets.factsheet import FactSheet
from workbench.ui.widgets.textpane import TextPane


class DifferenceScreen(ViewScreen[None]):
    """Only the first one: what comes behind it need not have anything to do with it."""

    TITLE = "then and today"
    HELP = (
        "A tape keeps what was really sent to the client. Today's code was given the same bytes from "
        "upstream with the same settings; here is the first place where it sends something else."
    )

    def __init__(self, difference: Difference) -> None:
        super().__init__()
        self.difference = difference
        self.text = TextPane("Then, today", id="difference")
        self.panes = (self.text,)

    def begin(self) -> None:
        self.say(
            f"today's code sends something else from byte {self.difference.byte:,} on", "then, today", "error"
        )
        self.text.show_document(sheet_of(self.difference))


def sheet_of(difference: Difference) -> FactSheet:
    where = f"with read {difference.read + 1}" if difference.read >= 0 else "nothing more"
    return (
        FactSheet()
        .heading("Both, up to there")
        .paragraph(_text(difference.before) or "(nothing: they differ from the first byte on)")
        .heading("The client got")
        .paragraph(_text(difference.sent) or "(nothing more)", "removed")
        .heading(f"Today's code sends ({where})")
        .paragraph(_text(difference.made) or "(nothing more)", "added")
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
