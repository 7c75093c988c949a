"""The comparison of two exchanges: prompt, message, calls and rows, opened where they first differ; and which
exchange one was sent again from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from workbench.analysis.exchangediff import Aligned, ExchangeDifference, Section, compare
from workbench.errors import UserError
from workbench.lab.store import origin_of
from workbench.library.summary import started_of
from workbench.replay.player import Player
from workbench.tape.format import TapeError, read_tape
from workbench.text import date_and_time
from workbench.ui.background import in_background
from workbench.ui.display import content, sign_of
from workbench.ui.screens.view import ViewScreen, pane_bindings, unseen
from workbench.ui.widgets.diffview import Difference, Pair, folded
from workbench.ui.widgets.document import FactSheet
from workbench.ui.widgets.textpane import TextPane

_NAMES = ("Prompt", "Message", "Calls", "Machine", "Client")


class CompareScreen(ViewScreen[None]):
    """Opens the part in which the two differ first."""

    TITLE = "two exchanges"
    HELP = (
        "Left: one exchange. Right: the other. What the model was asked, its answer, the calls, how the "
        "parser moved, what the client got. − is only on the left, + only on the right. The part in which "
        "they differ first is the one that is opened; n and N go from one difference to the next."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "fold", "Fold equal", id="compare.fold", tooltip="Show only what differs, or all lines"),
        Binding("n", "search_on(1)", "Next difference", id="view.next",
                tooltip="Next difference or search match"),
        Binding("N", "search_on(-1)", "Previous difference", id="view.previous", show=False,
                tooltip="Previous difference or search match"),
        *unseen(ViewScreen.BINDINGS, "c", "Y,C"),
        *pane_bindings(*_NAMES),
    ]  # fmt: skip

    def __init__(self, left: Player, right: Player, titles: Sequence[str]) -> None:
        super().__init__()
        self.left, self.right = left, right
        self.titles = tuple(titles)
        self.comparison: ExchangeDifference | None = None
        self.folds = True
        self._sides = Static("", id="compare-sides", markup=False)
        self.panes = tuple(TextPane(name, id=f"compare-{name.lower()}") for name in _NAMES)

    def compose_body(self) -> ComposeResult:
        yield self._sides
        with Container(id="view-body"):
            yield from self.panes

    def begin(self) -> None:
        self.say("comparing …")
        in_background(self, lambda: compare(self.left, self.right), self._fill)

    def _fill(self, found: ExchangeDifference) -> None:
        self.comparison = found
        told = [
            content(f" {sign} {sign_of(judged.level)} {title}: {judged.sentence}").stylize(look)
            for sign, look, title, judged in zip(
                "−+", ("$text-error", "$text-success"), self.titles, found.verdicts, strict=True
            )
        ]
        self._sides.update(Content("\n").join(told))
        self.say(found.sentence, "", "good" if found.first is None else "")
        self._show()
        if found.first is not None:
            self.action_pane(found.first[0])

    def _show(self) -> None:
        if self.comparison is None:
            return
        for pane, section in zip(self.panes, self.comparison.sections, strict=True):
            self._show_section(pane, section)

    def _show_section(self, pane: TextPane, section: Section) -> None:
        if not section.lines:
            pane.show_document(FactSheet().paragraph("There is nothing on either side.", "dim"))
            return
        lines = [_pair(line) for line in section.lines]
        pane.show_document(Difference(folded(lines) if self.folds and not section.same else lines))
        pane.border_title = content(
            "the same on both sides" if section.same else f"{self.titles[0]} − │ + {self.titles[1]}"
        )

    def action_fold(self) -> None:
        self.folds = not self.folds
        self._show()

    def action_search_on(self, way: int) -> None:
        """The next match while there is a search, else the next difference."""
        pane = self.pane
        document = pane.document if pane is not None else None
        if pane is None or pane.pattern is not None or not isinstance(document, Difference):
            super().action_search_on(way)
        elif (found := document.next_difference(pane.cursor, way)) is None:
            self.notify(f"no difference {'after' if way > 0 else 'before'} this line", timeout=2)
        else:
            pane.go(found)


def _pair(line: Aligned) -> Pair:
    return Pair(line.kind, line.left, line.right)


@dataclass(frozen=True, slots=True)
class Sides:
    """The two sides: tapes that are still to be read, or players that have played theirs."""

    left: Path | Player
    right: Path | Player
    titles: tuple[str, str]


def title_of(header: Mapping[str, Any]) -> str:
    """An exchange in a few words: when, and its id, or what it is about."""
    started = started_of(header)
    when = date_and_time(started) if started is not None else ""
    return " ".join(part for part in (when, str(header.get("id") or header.get("about") or "")) if part)


def origin_title(header: Mapping[str, Any]) -> str | None:
    """What an exchange was sent again from, in a few words; None: it was not."""
    if isinstance(header.get("resend_of"), str):
        return str(header["resend_of"])
    return str(header["case"]) if "try_id" in header and isinstance(header.get("case"), str) else None


def origin_sides(library: Path | None, player: Player) -> Sides:
    """An exchange beside the one that it was sent again from. UserError: there is none, or it is gone."""
    origin = origin_of(library, player.header) if library is not None else None
    if origin is None:
        raise UserError(
            "this exchange was not sent again from another one; c in the list chooses two to be compared"
        )
    return Sides(origin, player, (str(origin_title(player.header)), title_of(player.header)))


def open_comparison(screen: Screen[Any], sides: Sides) -> None:
    """Tapes are read in a thread; errors are shown."""

    def read() -> tuple[Player, Player] | UserError:
        try:
            return _played(sides.left), _played(sides.right)
        except UserError as error:
            return error

    def done(made: tuple[Player, Player] | UserError) -> None:
        if isinstance(made, UserError):
            screen.notify(made.message, severity="warning", timeout=6, markup=False)
        else:
            screen.app.push_screen(CompareScreen(*made, sides.titles))

    in_background(screen, read, done)


def _played(side: Path | Player) -> Player:
    if isinstance(side, Player):
        return side
    try:
        tape = read_tape(side)
    except (TapeError, OSError) as error:
        raise UserError(f"{side.name} cannot be read: {error}") from None
    player = Player(tape.header)
    player.add(tape.lines)
    return player
