"""The base of the three panes of an exchange: rows of a tape up to a step, on lines they may share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from transformer.records import Ranges
from workbench.analysis.variants.difference import ChangedRows
from workbench.replay.alignment import Alignment
from workbench.replay.channels import Channels
from workbench.replay.links import Highlight, highlight_of, overlap
from workbench.replay.outline import Entry, Outline, Shown
from workbench.replay.player import Item, Pane, Player
from workbench.ui.display import Pieces, sentence
from workbench.ui.widgets.rowpane import RowPane

_INDENT = 2  # cells before what is opened
CALLS = 6  # colours for calls, then they begin again
_SHARE = 3  # a third of the screen may be taken by the selected row, opened


class LineScroll:
    """The lines of one pane, or of several side by side: which are visible, and which is selected.

    Panes that share one scroll as one: the selected line goes through all of them, and is opened in all.
    """

    def __init__(self, *panes: TapePane) -> None:
        self.panes = panes
        self.outline: Outline | None = None
        self.top = 0
        self.line = -1  # of the alignment
        self.on_fold = False  # the fold that begins with this line is selected, not the line
        self._shown: Shown | None = None
        self._key: tuple[object, ...] = ()
        self._extent = 0
        self._place = -1
        self._stale = True  # something changed since lines were given to rows of the screen

    @property
    def shared(self) -> bool:
        return len(self.panes) > 1

    # -- lines

    def show(self, outline: Outline | None) -> None:
        """Other lines, or the same ones folded differently."""
        self.outline, self._shown, self._key = outline, None, ()
        self.changed()

    @property
    def alignment(self) -> Alignment | None:
        return self.outline.alignment if self.outline is not None else None

    @property
    def shown(self) -> Shown | None:
        """The lines that there are now."""
        outline = self.outline
        if outline is None:
            return None
        step = self.panes[0].step
        if step is None:
            outline.alignment.catch_up()
        else:
            outline.alignment.catch_up_to(step)
        outline.catch_up()
        known = self._known(outline.alignment)
        selected = None if self.on_fold or self.line < 0 else self.line
        key = (outline.version, known, selected)
        if self._shown is None or key != self._key:
            self._key, self._shown = key, outline.shown(known, selected)
        return self._shown

    def _known(self, alignment: Alignment) -> int:
        step = self.panes[0].step
        if step is None:
            return len(alignment)
        counts = [rows.known_at(step) for rows in alignment.player.panes]
        if not self.shared:  # rows that other panes still get do not matter here
            counts = [
                count if pane is self.panes[0].PANE else 0 for pane, count in zip(Pane, counts, strict=True)
            ]
        return alignment.lines_at(*counts)

    @property
    def extent(self) -> int:
        if self._stale:
            shown = self.shown
            return len(shown) if shown is not None else 0
        return self._extent

    @property
    def place(self) -> int:
        """Of the selected line, on the screen; -1: none is."""
        if not self._stale:
            return self._place
        shown = self.shown
        if shown is None or self.line < 0:
            return -1
        return min(shown.number_of(self.line), len(shown) - 1)

    @property
    def hidden(self) -> bool:
        """Whether a filter hides the selected line."""
        place = self.place
        if place < 0:  # nothing passes the filter
            return self.line >= 0
        entry = self.entry(place)
        return not entry.start <= self.line < entry.end

    def entry(self, number: int) -> Entry:
        shown = self._shown if not self._stale else self.shown
        assert shown is not None
        return shown.entry(number)

    def is_last(self, line: int) -> bool:
        """Whether a line belongs to the last that is known."""
        shown, alignment = self.shown, self.alignment
        if shown is None or alignment is None or not len(shown):
            return True
        return line >= alignment.level_of(shown.entry(len(shown) - 1).start)[0]

    # -- selecting

    def select(self, line: int, *, follow: bool, on_fold: bool = False) -> None:
        self.line, self.on_fold = line, on_fold
        self._stale = True
        for pane in self.panes:
            pane.stand_at(line, follow)
        self.changed()

    def select_entry(self, number: int) -> None:
        """Select what is on a line of the screen. The last one follows new rows."""
        shown = self.shown
        if shown is None or not len(shown):
            return
        number = max(0, min(number, len(shown) - 1))
        entry = shown.entry(number)
        self.select(entry.start, follow=number == len(shown) - 1, on_fold=entry.folded)

    # -- the rows of the screen

    def changed(self) -> None:
        self._stale = True
        for pane in self.panes:
            pane.refresh()

    def arrange(self) -> None:
        """Give lines to the rows of the screen, if anything changed since that was done."""
        if not self._stale:
            return
        panes = [pane for pane in self.panes if pane.size.height > 0 and pane.size.width > 1]
        extent, place = self.extent, self.place
        self._stale, self._extent, self._place = False, extent, place
        if not panes or not extent:
            for pane in self.panes:
                pane.lay_lines([], [])
            return
        height = max(pane.size.height for pane in panes)
        opened = [self.opened_in(pane, place) for pane in panes]
        panes[0].place_lines(place, max(map(len, opened)), height, extent)
        for pane, lines in zip(panes, opened, strict=True):
            pane.lay_lines(panes[0].layout_of_lines, lines)

    def opened_in(self, pane: TapePane, number: int) -> list[Strip]:
        if number < 0:
            return []
        return pane.open_line(number, pane.size.width - 1, max(0, pane.size.height // _SHARE))


class TapePane(RowPane):
    """Shows the player's rows up to `step`; None means up to now."""

    PANE: ClassVar[Pane]
    MARGIN = 3  # the rows after the selected one are visible, too
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "unfold", "Unfold", id="rows.unfold", show=False,
                tooltip="Show the rows that are folded here"),
        Binding("l", "fold", "Fold", id="rows.fold",
                tooltip="Fold the run of prose or data that this row is in, or unfold it"),
        Binding("L", "fold_all", "Fold all", id="rows.fold-all", show=False,
                tooltip="Fold all long runs of prose and data, or none"),
        Binding("f", "filter", "Filter rows", id="rows.filter",
                tooltip="Show only some rows: transitions findings markup deltas call:2 -prose -data"),
        Binding("A", "align", "Side by side", id="rows.align", show=False,
                tooltip="Cause and effect on one line, or each pane scrolls on its own"),
    ]  # fmt: skip

    @dataclass
    class Asked(Message):
        """The user wants another layout of the rows."""

        pane: TapePane
        what: str  # "run", "all", "align" or "filter"

        @property
        def control(self) -> TapePane:
            return self.pane

    def __init__(self) -> None:
        self.scroll = LineScroll(self)
        super().__init__(id=self.NAME.lower(), classes="rowpane tapepane")
        self.player: Player | None = None
        self.step: int | None = None
        self.changed: ChangedRows | None = None  # against another tape, when this is a variant of it
        self._channels: Channels | None = None  # the texts that rows make together, once searched
        self._pressed: tuple[int, int | None] | None = (
            None  # where the mouse button went down, and on which line
        )
        self._common = Highlight()  # what the selected row of any pane has in common with others
        self.border_title = self.NAME

    def play(self, player: Player | None, step: int | None = None) -> None:
        """Show another tape, all of it or up to a step."""
        self.player, self._common, self.step, self.changed = player, Highlight(), step, None
        self.top, self.follow, self._known = 0, True, 0
        self.scroll.line, self.scroll.on_fold = -1, False
        self.set_reactive(RowPane.cursor, -1)
        self.grown()

    @property
    def highlighted(self) -> Ranges:
        """Upstream bytes of the row that is selected in some pane."""
        return self._common.ranges

    def highlight(self, common: Highlight) -> None:
        """Mark what belongs to the row that is selected in some pane."""
        if common != self._common:
            self._common = common
            self.show()  # it is marked in the opened row, too

    @property
    def common(self) -> Highlight:
        """What the selected row has in common with others."""
        if self.player is None or not 0 <= self.cursor < self.count():
            return Highlight()
        line, row = self.scroll.line, self.cursor
        alignment = self.scroll.alignment
        here = alignment is not None and line >= 0 and alignment.cells[self.PANE][line] == row
        return highlight_of(self.player, self.item_on(line, row) if here else self.item(row))

    # -- lines

    @property
    def top(self) -> int:
        """The first line that is seen."""
        return self.scroll.top

    @top.setter
    def top(self, line: int) -> None:
        self.scroll.top = line

    def extent(self) -> int:
        return self.scroll.extent

    @property
    def selected_line(self) -> int:
        return self.scroll.place

    def is_selected(self, line: int) -> bool:
        return line == self.scroll.place and not self.scroll.hidden

    def go_to_line(self, line: int) -> None:
        self.scroll.select_entry(line)
        if self.extent():
            self.post_message(self.Moved(self, self.cursor))

    def show(self) -> None:
        self.scroll.changed()

    def place_lines(self, place: int, extra: int, height: int, count: int) -> None:
        self._place_lines(place, extra, height, count)

    @property
    def layout_of_lines(self) -> list[tuple[int, int]]:
        return self._layout_of

    def lay_lines(self, layout: list[tuple[int, int]], opened: list[Strip]) -> None:
        self._layout_of, self._open = layout, opened

    def render_line(self, y: int) -> Strip:
        self.scroll.arrange()
        return super().render_line(y)

    def line_at(self, y: int) -> int | None:
        """What was there when the button was pressed: then the focus moves, and more may be opened."""
        pressed, self._pressed = self._pressed, None
        if pressed is not None and pressed[0] == y:
            return pressed[1]
        self.scroll.arrange()
        return super().line_at(y)

    async def _on_mouse_down(self, event: events.MouseDown) -> None:
        offset = event.get_content_offset(self)
        self._pressed = (offset.y, super().line_at(offset.y)) if offset is not None else None

    def below(self, line: int) -> int:
        return max(len(self.scroll.opened_in(pane, line)) for pane in self.scroll.panes)

    # -- selecting

    def go(self, row: int, *, tell: bool = True) -> None:
        count = self.count()
        if not count:
            return
        row = max(0, min(row, count - 1))
        self._select(row, follow=row == count - 1)
        if tell:
            self.post_message(self.Moved(self, row))

    def _select(self, row: int, follow: bool) -> None:
        alignment, player = self.scroll.alignment, self.player
        if alignment is None or player is None:
            return
        if row >= 0:
            alignment.catch_up_to(player.rows(self.PANE).steps[row])
        line = self.line_of(alignment, row) if row >= 0 else -1
        if self.scroll.shared:  # new rows may be in other panes
            follow = follow and self.scroll.is_last(line)
        self.scroll.select(line, follow=follow)

    def stand_at(self, line: int, follow: bool) -> None:
        """A line is selected: the row on it is, or else the last one before it."""
        count = self.count()
        if self.follow and not follow:
            self.seen = count
        self.follow = follow
        row = self._row_by(line, count)
        if row != self.cursor and self.is_attached and self.text_selection is not None:
            self.screen.clear_selection()  # what was selected is not there any more
        self.set_reactive(RowPane.cursor, row)

    def _row_by(self, line: int, count: int) -> int:
        alignment = self.scroll.alignment
        if alignment is None or line < 0:
            return -1
        if self.scroll.on_fold:
            shown = self.scroll.shown
            assert shown is not None
            first, end = alignment.rows_in(self.PANE, *shown.entry(shown.number_of(line)))
            if first < min(end, count):
                return first
        return alignment.row_by(self.PANE, line, count)

    def grown(self) -> bool:
        self.show()
        count = self.count()
        follows = self.follow and count > self._known
        self._known = count
        if follows:
            self.scroll.select_entry(self.extent() - 1)
            self.follow = True
        return follows

    def go_along(self, row: int, follow: bool) -> None:
        """Select the row linked to the selected row of another pane; that pane decides whether to follow.

        This pane's last row may be linked to a row that is not the other's last: if it followed from there,
        the panes would drift apart.
        """
        if row < self.count():
            self._select(row, follow)

    def stand(self, step: int, row: int | None) -> None:
        """Show what was known at a step, with this row selected, or else the last one."""
        self.step = step
        count = self.count()
        chosen = count - 1 if row is None or row >= count else row
        self._known = count
        self._select(chosen, follow=True)  # in a replay no rows come that could be missed

    # -- moving

    def action_move(self, by: int) -> None:
        """To the next line on which this pane has something."""
        place, extent = self.selected_line, self.extent()
        last = extent - 1 if by > 0 else 0
        lines = range(place + by, last + by, by) if place != last else ()
        self.go_to_line(next((line for line in lines if self._has_row(line)), place))
        self.post_message(self.Stepped(self))

    def action_page(self, by: int) -> None:
        self.go_to_line(self.selected_line + by * max(1, self.size.height - 2))

    def action_first(self) -> None:
        self.go_to_line(next((line for line in range(self.extent()) if self._has_row(line)), 0))

    def action_last(self) -> None:
        self.go_to_line(self.extent() - 1)

    def _bar(self, y: int) -> str:
        """Panes that scroll as one have one bar, after the last of them."""
        return super()._bar(y) if self is self.scroll.panes[-1] else " "

    def _has_row(self, line: int) -> bool:
        alignment = self.scroll.alignment
        assert alignment is not None
        entry = self.scroll.entry(line)
        if not entry.folded:
            return 0 <= alignment.cells[self.PANE][entry.start] < self.count()
        first, end = alignment.rows_in(self.PANE, *entry)
        return first < end

    def scroll_rows(self, by: int) -> None:
        """Scrolling further at the end means: follow new rows."""
        top = self.top
        super().scroll_rows(by)
        if by > 0 and self.top == top and self.extent() > self.size.height:
            self.go_to_line(self.extent() - 1)

    def click_line(self, line: int) -> None:
        """A click on a fold opens it."""
        super().click_line(line)
        if self.scroll.on_fold:
            self.action_fold()

    # -- laid out in another way

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.scroll.on_fold if action == "unfold" else True

    def action_unfold(self) -> None:
        self.action_fold()

    def action_fold(self) -> None:
        self.post_message(self.Asked(self, "run"))

    def action_fold_all(self) -> None:
        self.post_message(self.Asked(self, "all"))

    def action_align(self) -> None:
        self.post_message(self.Asked(self, "align"))

    def action_filter(self) -> None:
        self.post_message(self.Asked(self, "filter"))

    def _on_resize(self, event: events.Resize) -> None:
        self.show()

    def _on_focus(self, event: events.Focus) -> None:
        self.show()  # the selected row shows more while its pane has the focus

    def _on_blur(self, event: events.Blur) -> None:
        self.show()

    # -- rows

    def count(self) -> int:
        if self.player is None:
            return 0
        rows = self.player.rows(self.PANE)
        return len(rows) if self.step is None else rows.known_at(self.step)

    def item(self, row: int) -> Item:
        assert self.player is not None
        return self.player.item(self.PANE, row)

    @property
    def difference(self) -> str:
        """What is different from the original, in a few words."""
        if self.changed is None:
            return ""
        gone = f", {self.changed.vanished} gone" if self.changed.vanished else ""
        return f"{self.changed.count} changed{gone}"

    def mark_changed(self, changed: ChangedRows) -> None:
        """This is a variant; these of its rows are not in the original."""
        self.changed = changed
        self.show()

    # -- drawing

    def draw_line(self, line: int, width: int) -> Strip:
        entry = self.scroll.entry(line)
        alignment = self.scroll.alignment
        assert alignment is not None
        if entry.folded:
            return self._draw_fold(alignment, line, entry, width)
        row = alignment.cells[self.PANE][entry.start]
        if not 0 <= row < self.count():
            return self.line([], width)
        item = self.item_on(entry.start, row)
        pieces = [*self.head_on(entry.start, item), *self.pieces_on(entry.start, item)]
        if self.changed is not None:
            pieces = [("±" if row in self.changed else " ", "warning"), *pieces]
        strip = self.line(pieces, width)
        chosen = self.is_selected(line) and self.has_focus
        lit = not chosen and self.is_highlighted_on(entry.start, item)
        return strip.apply_style(self.look("related")) if lit else strip

    def _draw_fold(self, alignment: Alignment, line: int, entry: Entry, width: int) -> Strip:
        first, end = alignment.rows_in(self.PANE, *entry)
        end = min(end, self.count())
        pieces = self.fold_pieces(entry, first, end)
        if self.changed is not None:
            new = self.changed.new.find(1, first, end) >= 0
            pieces = [("±" if new else " ", "warning"), *pieces]
        strip = self.line(pieces, width)
        chosen = self.is_selected(line) and self.has_focus
        if chosen or first >= end or not overlap(self.bytes_of_fold(alignment, entry), self.highlighted):
            return strip
        return strip.apply_style(self.look("related"))

    def bytes_of_fold(self, alignment: Alignment, entry: Entry) -> Ranges:
        """The bytes of upstream that a fold is about."""
        start, _ = alignment.range_of(entry.start)
        _, end = alignment.range_of(alignment.level_of(entry.end - 1)[0])
        return ((start, end),)

    def is_highlighted(self, item: Item) -> bool:
        assert self.player is not None
        return self._common.falls_on(self.player, item)

    def open_line(self, line: int, width: int, most: int) -> list[Strip]:
        entry = self.scroll.entry(line)
        alignment = self.scroll.alignment
        assert alignment is not None
        row = alignment.cells[self.PANE][entry.start]
        if entry.folded or not 0 <= row < self.count() or (self.scroll.hidden and line == self.scroll.place):
            return []
        return self._open_item(entry.start, self.item_on(entry.start, row), width, most)

    def _open_item(self, line: int, item: Item, width: int, most: int) -> list[Strip]:
        plain, room = self.look("plain"), width - _INDENT
        lines = sentence(self.remark(item), plain, room, most, plain) if self.remark(item) else []
        shown = [*self.head_on(line, item), *self.pieces_on(line, item)]
        pieces = self.details_on(line, item, self.is_cut(shown, width))
        if pieces and len(lines) < most:
            lines += self.lines(pieces, room, most - len(lines))
        return [Strip.join((self.line([], _INDENT), one)) for one in lines]

    def is_cut(self, pieces: Pieces, width: int) -> bool:
        """Whether a line is too short for a row."""
        return len(self.lines(pieces, max(2, width), 2)) > 1

    def get_content_height(self, *args: object) -> int:
        return max(1, self.count())

    def text(self, row: int) -> str:
        item = self.item(row)
        return joined_text([*self.head(item), *self.pieces(item)])

    def searched(self, row: int) -> str:
        """Without the columns of numbers; with the sentence that is shown when the row is selected."""
        item = self.item(row)
        return f"{joined_text(self.pieces(item))}\n{self.remark(item)}"

    @property
    def shows(self) -> object:
        return self.player

    def joined(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, int] | None]:
        player = self.player
        if player is None:
            return iter(())
        if self._channels is None or self._channels.player is not player:
            self._channels = Channels(player)
        return self._channels.matches(pattern, self.PANE)

    # -- for subclasses

    def head(self, item: Item) -> Pieces:
        """The columns before a row: which call it belongs to, its number, its time."""
        raise NotImplementedError

    def pieces(self, item: Item) -> Pieces:
        """A row as one line."""
        raise NotImplementedError

    def details(self, item: Item) -> Pieces:
        """All of a row, where one line is too short for it."""
        return []

    def remark(self, item: Item) -> str:
        """A sentence about the row."""
        return ""

    def fold_pieces(self, entry: Entry, first: int, end: int) -> Pieces:
        """Rows that are folded, as one line."""
        raise NotImplementedError

    # A read with several events has a line for each: then a part of the row is there.

    def line_of(self, alignment: Alignment, row: int) -> int:
        return alignment.line_of[self.PANE][row]

    def item_on(self, line: int, row: int) -> Item:
        return self.item(row)

    def is_highlighted_on(self, line: int, item: Item) -> bool:
        return self.is_highlighted(item)

    def head_on(self, line: int, item: Item) -> Pieces:
        return self.head(item)

    def pieces_on(self, line: int, item: Item) -> Pieces:
        return self.pieces(item)

    def details_on(self, line: int, item: Item, cut: bool) -> Pieces:
        return self.details(item) if cut else []

    # -- shared looks

    def call_bar(self, call: int | None) -> tuple[str, str]:
        """Which call a row belongs to: a colour, and its number, counted from 1, for users who cannot see
        it."""
        return ("   ", "plain") if call is None else (f"{call + 1:2}▌", f"call-{call % CALLS}")

    def clock(self, item: Item) -> tuple[str, str]:
        assert self.player is not None
        width = len(f"{self.player.now:.3f}")  # no wider than it has to be
        return f"{self.player.time(item):{width}.3f} ", "dim"


def joined_text(pieces: Pieces) -> str:
    return "".join(text for text, _ in pieces)
