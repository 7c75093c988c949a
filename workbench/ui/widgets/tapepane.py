"""A pane of the stream screen: rows of a tape, with those that belong to the selected one lit."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from textual.strip import Strip

from transformer.records import Ranges
from workbench.player.links import Light
from workbench.player.panes import Pane
from workbench.player.player import Player
from workbench.player.tracks import Item
from workbench.ui.display import sentence, strip_of, wrapped
from workbench.ui.widgets.rowpane import RowPane
from workbench.variants.difference import Marks

CALLS = 6  # colours for calls, then they begin again
Pieces = list[tuple[str, Style]]


class TapePane(RowPane):
    """Shows the player's rows up to `step`; None means up to now."""

    PANE: ClassVar[Pane]

    def __init__(self) -> None:
        super().__init__(id=self.NAME.lower(), classes="rowpane tapepane")
        self.player: Player | None = None
        self.step: int | None = None
        self.changed: Marks | None = None  # against another tape, when this is a variant of it
        self._light = Light()  # what the row that is selected in some pane has in common with others
        self.border_title = self.NAME

    def play(self, player: Player | None, step: int | None = None) -> None:
        """Show another tape, all of it or up to a step."""
        self.player, self._light, self.step, self.changed = player, Light(), step, None
        self.top, self.follow, self._known = 0, True, 0
        self.set_reactive(RowPane.cursor, -1)
        self.grown()

    @property
    def lit(self) -> Ranges:
        """Upstream bytes of the row that is selected in some pane."""
        return self._light.ranges

    def light(self, light: Light) -> None:
        if light != self._light:
            self._light = light
            self.show()  # it falls on what is opened, too

    def go_along(self, row: int, follow: bool) -> None:
        """Select what belongs to the selected row of another pane; that one decides whether to follow.

        The last row of this pane may belong to a row that is not the last of its own: following from there
        would tear the two apart.
        """
        if row < self.count():
            self._select(row, follow)

    def stand(self, step: int, row: int | None) -> None:
        """Show what was known at a step, with this row selected, or else the last one."""
        self.step = step
        count = self.count()
        chosen = count - 1 if row is None or row >= count else row
        self._known = count
        self._select(chosen, follow=True)  # nothing comes here that one could have missed

    def scroll_rows(self, by: int) -> None:
        """Whoever turns the wheel on at the end wants to see what comes."""
        top = self.top
        super().scroll_rows(by)
        if by > 0 and self.top == top and self.count() > self.size.height:
            self.go(self.count() - 1)

    # -- rows

    def count(self) -> int:
        if self.player is None:
            return 0
        rows = self.player.rows(self.PANE)
        return len(rows) if self.step is None else rows.known_at(self.step)

    def item(self, row: int) -> Item:
        assert self.player is not None
        return self.player.item(self.PANE, row)

    def is_lit(self, item: Item) -> bool:
        assert self.player is not None
        return self._light.falls_on(self.player, item)

    @property
    def difference(self) -> str:
        """What is different from the original, in a few words."""
        if self.changed is None:
            return ""
        gone = f", {self.changed.vanished} gone" if self.changed.vanished else ""
        return f" · {self.changed.count} changed{gone}"

    def mark_changed(self, changed: Marks) -> None:
        """This is a variant: which of its rows the original has not."""
        self.changed = changed
        self.show()

    def draw(self, row: int, width: int) -> Strip:
        item = self.item(row)
        pieces = self.pieces(item)
        if self.changed is not None:
            sign = "±" if row in self.changed else " "
            pieces = [(sign, self.look("warning")), *pieces]
        strip = strip_of(pieces, width, self.look("plain"))
        chosen = row == self.cursor and self.has_focus
        return strip.apply_style(self.look("related")) if not chosen and self.is_lit(item) else strip

    def opened(self, row: int, width: int, most: int) -> list[Strip]:
        item = self.item(row)
        plain, indent = self.look("plain"), "  "
        room = width - len(indent)
        lines = sentence(self.remark(item), plain, room, most, plain) if self.remark(item) else []
        pieces = self.details(item)
        if pieces and len(lines) < most:
            lines += wrapped(pieces, room, most - len(lines), plain)
        return [Strip.join((strip_of([(indent, plain)], len(indent), plain), line)) for line in lines]

    def text(self, row: int) -> str:
        item = self.item(row)
        parts = [text for text, _ in [*self.pieces(item), *self.details(item)]]
        return " ".join([*parts, self.remark(item)])

    # -- for subclasses

    def pieces(self, item: Item) -> Pieces:
        """A row as one line."""
        raise NotImplementedError

    def details(self, item: Item) -> Pieces:
        """All of a row, where one line is too short for it."""
        return []

    def remark(self, item: Item) -> str:
        """What is to be said about a row in words of ours."""
        return ""

    # -- shared looks

    def rail(self, call: int | None) -> tuple[str, Style]:
        """Which call a row belongs to: a colour, and a number for those who see none."""
        if call is None:
            return "  ", self.look("plain")
        return f"{call % 10}▌", self.look(f"call-{call % CALLS}")

    def clock(self, item: Item) -> tuple[str, Style]:
        assert self.player is not None
        return f"{self.player.time(item):8.3f} ", self.look("dim")
