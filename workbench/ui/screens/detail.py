"""Views of one row: everything about it, an explanation in words, and how the data sent when recorded differs
from what would be sent today.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from transformer.records import Event, Finding
from workbench.analysis.explain.trace import Explanation, Remedy
from workbench.replay.player import Item, Pane, Player
from workbench.replay.sentdifference import SentDifference
from workbench.tape.format import Line
from workbench.ui.background import in_background
from workbench.ui.rowfacts import about, bytes_about, json_about, name_of
from workbench.ui.screens.view import ViewScreen, pane_bindings
from workbench.ui.widgets.document import Document, FactSheet, Prose
from workbench.ui.widgets.payload import HexDump
from workbench.ui.widgets.textpane import TextPane

Documents: TypeAlias = tuple[Document, Document, HexDump]
_AT_ONCE = 20_000  # bytes that are read within a few milliseconds
_WAIT = Prose("reading …")


class DetailScreen(ViewScreen[tuple[Pane, int]]):
    """Its result is the row that was shown last, for the screen below to select."""

    TITLE = "a row in full"
    HELP = (
        "One row in full: in words with the rule of the dialect's table that fired, as JSON with every digit "
        "kept, and as bytes. The bytes that the row comes from are in [brackets]. "
        "Left and right go through the rows without leaving."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,l,right_square_bracket", "row(1)", "Next row", id="detail.next", key_display="→",
                tooltip="The next row of the same pane"),
        Binding("left,h,left_square_bracket", "row(-1)", "Previous row", id="detail.previous",
                key_display="←", tooltip="The previous row of the same pane"),
        *pane_bindings("About", "JSON", "Bytes"),
    ]  # fmt: skip

    def __init__(self, player: Player, pane: Pane, row: int) -> None:
        super().__init__()
        self.player = player
        self.shown = pane
        self.row = row
        self.about = TextPane("About", id="about")
        self.json = TextPane("JSON", id="json")
        self.bytes = TextPane("Bytes", id="bytes")
        self.panes = (self.about, self.json, self.bytes)

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="view-body"):
            yield self.about
            with Vertical(id="detail-right"):
                yield self.json
                yield self.bytes

    def begin(self) -> None:
        self._show()

    def result(self) -> tuple[Pane, int]:
        return self.shown, self.row

    def action_row(self, by: int) -> None:
        count = len(self.player.rows(self.shown))
        row = self.row + by
        if 0 <= row < count:
            self.row = row
            self._show()
        else:
            self.notify("this is the last row" if by > 0 else "this is the first row", timeout=2)

    def _show(self) -> None:
        player = self.player
        count = len(player.rows(self.shown))
        if not count:
            self.say("there is no row yet")
            return
        self.row = max(0, min(self.row, count - 1))
        item = player.item(self.shown, self.row)
        place = f"{self.shown.name.capitalize()} row {self.row + 1} of {count}"
        origin = player.header.get("resend_of")
        again = f" · of an exchange sent again from {origin}" if isinstance(origin, str) else ""
        facts = f"{place} · {player.time(item):.3f} s{again}"
        self.say(name_of(player, self.shown, item), facts, _look(item))
        row = self.row

        def read() -> Documents:
            return about(player, self.shown, row), json_about(player, item), bytes_about(player, item)

        if _size(player, item) <= _AT_ONCE:
            self._fill(read())
        else:
            self._fill((_WAIT, _WAIT, HexDump(b"")))
            in_background(self, read, lambda made: self._fill(made) if row == self.row else None)

    def _fill(self, made: Documents) -> None:
        sheet, value, dump = made
        self.about.show_document(sheet)
        self.json.show_document(value)
        self.bytes.show_document(dump)
        marked = sum(end - start for start, end in dump.marks)
        self.bytes.border_title = (
            f"Bytes: {marked:,} of {len(dump.data):,} are this row's" if marked else "Bytes"
        )


def _size(player: Player, item: Item) -> int:
    """About how many bytes have to be looked at."""
    if isinstance(item, Line):
        return len(item.raw or item.data)
    if isinstance(item, int):
        return player.read_end(item) - player.starts[item]
    text = item.data if isinstance(item, Event) else item.message if isinstance(item, Finding) else item.text
    event = player.event(item.event) if not isinstance(item, Event) else None
    return max(len(text), len(event.data) if event is not None else 0)


def _look(item: object) -> str:
    if isinstance(item, Finding):
        return item.level
    return item.level if isinstance(item, Line) else ""


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

    def __init__(self, why: Explanation) -> None:
        super().__init__()
        self.why = why
        self.text = TextPane("Why", id="why")
        self.panes = (self.text,)

    def begin(self) -> None:
        hint = "a digit tries a change" if self.why.remedies else "escape goes back"
        self.say(self.why.title, hint)
        self.text.show_document(explanation_sheet(self.why))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "try":
            (number,) = parameters
            return isinstance(number, int) and number <= len(self.why.remedies)
        return True

    def action_try(self, number: int) -> None:
        self.dismiss(self.why.remedies[number - 1])


def explanation_sheet(why: Explanation) -> FactSheet:
    sheet = FactSheet()
    for sentence in why.sentences:
        sheet.paragraph(sentence).paragraph(" ")
    if why.remedies:
        sheet.heading("What would have made it a call" if len(why.remedies) > 1 else "What would help")
        for number, remedy in enumerate(why.remedies, 1):
            sheet.fact(f"{number}", remedy.words)
    return sheet


class DifferenceScreen(ViewScreen[None]):
    """Only the first one: what follows it may have other causes."""

    TITLE = "then and today"
    HELP = (
        "A tape keeps what was really sent to the client. Today's code was given the same bytes from "
        "upstream with the same settings; here is the first place where it sends something else."
    )

    def __init__(self, difference: SentDifference) -> None:
        super().__init__()
        self.difference = difference
        self.text = TextPane("Then, today", id="difference")
        self.panes = (self.text,)

    def begin(self) -> None:
        self.say(
            f"today's code sends something else from byte {self.difference.byte:,} on", "then, today", "error"
        )
        self.text.show_document(difference_sheet(self.difference))


def difference_sheet(difference: SentDifference) -> FactSheet:
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
