"""A list of rows that may be endless: it draws the visible rows and knows nothing of the rest; in groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.selection import Selection
from textual.strip import Strip

from workbench.ui.display import Pieces, content, marked, strip_of, wrapped
from workbench.ui.widgets.looks import LooksWidget

_BAR, _THUMB = "│", "┃"
_MARKED = 20_000  # characters of a text in which matches are marked: more than a screen shows of it
_BACKED = {"cursor", "cursor-idle", "related", "mark", "found"}  # looks with a background of their own


class RowPane(LooksWidget, can_focus=True):
    """One row is one line, except for the selected one, which may open below itself.

    It has neither a `virtual_size`, which lays out the whole screen again whenever it is set, nor children,
    which cost memory. So a hundred thousand rows are as cheap as ten.
    """

    PREFIX = "row"
    LOOKS = frozenset({
        "plain", "dim", "bright", "strong", "number", "cursor", "cursor-idle", "related", "mark", "found",
        "error", "warning", "info", "good", "bar", "ground",
        "call-0", "call-1", "call-2", "call-3", "call-4", "call-5",
    })  # fmt: skip
    DEFAULT_CLASSES = "rowpane"
    NAME: ClassVar[str] = ""  # in a list of the parts of a screen
    HEAD: ClassVar[int] = 0  # lines above the rows that do not scroll
    MARGIN: ClassVar[int] = 0  # lines that stay in sight below the selected row
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "Down", id="row.down", show=False, tooltip="The next row"),
        Binding("up,k", "move(-1)", "Up", id="row.up", show=False, tooltip="The previous row"),
        Binding(
            "pagedown,ctrl+d", "page(1)", "Page down", id="row.page-down", show=False, tooltip="A page on"
        ),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", id="row.page-up", show=False, tooltip="A page back"),
        Binding("home,g", "first", "First", id="row.first", show=False, tooltip="The first row"),
        Binding("end,G", "last", "Last", id="row.last", show=False, tooltip="The last row, and follow"),
    ]

    cursor: reactive[int] = reactive(-1, init=False)
    follow: reactive[bool] = reactive(True, init=False)

    @dataclass
    class Moved(Message):
        """The user chose another row."""

        pane: RowPane
        row: int

        @property
        def control(self) -> RowPane:
            return self.pane

    @dataclass
    class Stepped(Message):
        """The user went one row on, or back."""

        pane: RowPane

        @property
        def control(self) -> RowPane:
            return self.pane

    @dataclass
    class Opened(Message):
        """Enter, or a second click, on a row."""

        pane: RowPane
        row: int

        @property
        def control(self) -> RowPane:
            return self.pane

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.top = 0
        self.seen = 0  # rows there were when following stopped
        self.empty = ""  # shown if there are no rows
        self.pattern: re.Pattern[str] | None = None  # what is searched for: it stands out wherever it is seen
        self._below: tuple[str, ...] = ()  # what the lower border says, besides the place in a search
        self._found = ""
        self._known = 0  # number of rows at the last check
        self._layout_of: list[tuple[int, int]] = []  # for each line of the screen: row, and line within it
        self._open: list[Strip] = []  # the selected row, opened

    # -- for subclasses

    def count(self) -> int:
        """How many rows there are now."""
        raise NotImplementedError

    def draw(self, row: int, width: int) -> Strip:
        """One row as one line."""
        raise NotImplementedError

    # A pane may fold rows, or leave lines empty. Then its lines are not its rows.

    def extent(self) -> int:
        """How many lines there are now."""
        return self.count()

    @property
    def selected_line(self) -> int:
        """The line that is selected."""
        return min(self.cursor, self.count() - 1)

    def is_selected(self, line: int) -> bool:
        return line == self.selected_line

    def go_to_line(self, line: int) -> None:
        """Select what is on a line."""
        self.go(line)

    def draw_line(self, line: int, width: int) -> Strip:
        return self.draw(line, width)

    def open_line(self, line: int, width: int, most: int) -> list[Strip]:
        """The lines shown below a line while it is selected."""
        return self.opened(line, width, most)

    def opened(self, row: int, width: int, most: int) -> list[Strip]:
        """More lines for the selected row, below it; none where one line says it all."""
        return []

    def draw_head(self, y: int, width: int) -> Strip:
        """A line above the rows."""
        raise NotImplementedError

    def click_head(self, x: int) -> None:
        """A click on a line above the rows."""

    def lead(self, row: int) -> int:
        """How many rows above this one must be visible with it."""
        return 0

    def text(self, row: int) -> str:
        """A row as it is shown, and written to a file."""
        raise NotImplementedError

    def searched(self, row: int) -> str:
        """A row as it is searched."""
        return self.text(row)

    def copied(self, row: int) -> str:
        """A row as it is copied: text from elsewhere exactly as it came."""
        return self.text(row)

    def whole(self) -> bytes | None:
        """All of it, exactly, where it is more than rows; None: the texts of the rows are all there is."""
        return None

    @property
    def shows(self) -> object:
        """The object whose rows these are. While it is the same object, rows are only added."""
        return self

    def joined(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, int] | None]:
        """Matches in the texts that rows make together, as first and last row; None: a slice is over."""
        return iter(())

    # -- the lower border

    def say_below(self, *parts: str) -> None:
        """Empty parts are left out."""
        self._below = parts
        self.border_subtitle = content(" · ".join(part for part in (self._found, *parts) if part))

    def say_found(self, place: str) -> None:
        """The position among the matches of a search; empty when there is no search."""
        self._found = place
        self.say_below(*self._below)

    # -- styles

    def line(self, pieces: Pieces, width: int) -> Strip:
        """A row as one line: cut where it is full."""
        return strip_of(self._styled(pieces), width, self.look("plain"))

    def lines(self, pieces: Pieces, width: int, most: int) -> list[Strip]:
        """A row as several lines, up to a limit."""
        return wrapped(self._styled(pieces), width, most, self.look("plain"))

    def _styled(self, pieces: Pieces) -> list[tuple[str, Style]]:
        found = pieces if self.pattern is None else self._with_found(pieces, self.pattern)
        return [(text, self.look(look)) for text, look in found]

    def _with_found(self, pieces: Pieces, pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
        for text, look in pieces:
            yield from marked(text[:_MARKED], pattern, look, "found")
            yield text[_MARKED:], look

    def make_look(self, name: str) -> Style:
        """Only a few have a background of their own. The others are drawn on whatever the row has, but their
        colours are chosen for the widget's background, which differs from theme to theme.
        """
        if name == "ground":
            return Style(bgcolor=self.rich_style.bgcolor)
        style = super().make_look(name)
        return style if name in _BACKED else style.without_color + Style(color=style.color)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self._open:
            self.call_next(self.show)  # it was drawn in the colours of the previous theme

    # -- what is seen

    @property
    def fresh(self) -> int:
        """Rows that came since following stopped."""
        return 0 if self.follow else max(0, self.count() - self.seen)

    @property
    def room(self) -> int:
        """How many lines there are for rows."""
        return max(0, self.size.height - self.HEAD)

    def grown(self) -> bool:
        """There may be more rows than before; True when the cursor has followed them."""
        count = self.count()
        follows = self.follow and count > self._known
        self._known = count
        if follows:
            self.set_reactive(RowPane.cursor, count - 1)
        self.show()
        return follows

    def show(self) -> None:
        """Draw it again."""
        self._arrange()
        self.refresh()

    def _arrange(self) -> None:
        """Which row is on which line; the selected one stays in sight, opened as far as there is room."""
        height, width, count = self.room, self.size.width - 1, self.extent()
        if height <= 0 or width <= 0 or not count:
            self._layout_of, self._open = [], []
            return
        place = self.selected_line
        self._open = self.open_line(place, width, max(0, height // 2)) if place >= 0 else []
        self._place_lines(place, len(self._open), height, count)

    def _place_lines(self, place: int, extra: int, height: int, count: int) -> None:
        """`extra`: the number of lines shown below the selected one."""
        if place >= 0:
            lead = self.lead(place) if height > extra + 1 else 0
            if place - lead < self.top:
                self.top = place - lead
            elif (last := place + extra + self._margin(height, extra)) >= self.top + height:
                self.top = last - height + 1
        self.top = max(0, min(self.top, count + extra - height))
        lines: list[tuple[int, int]] = []
        at = self.top
        while len(lines) < height and at < count:
            lines.append((at, 0))
            if at == place:
                lines += [(at, line + 1) for line in range(extra)]
            at += 1
        self._layout_of = lines[:height]

    def _margin(self, height: int, extra: int) -> int:
        return max(0, min(self.MARGIN, (height - extra) // 4))

    def render_line(self, y: int) -> Strip:
        width = self.size.width - 1
        if y < self.HEAD:
            return Strip.join((self.draw_head(y, width), self.line([], 1))).apply_style(self.look("ground"))
        y -= self.HEAD
        if y >= len(self._layout_of):
            strip = self.line([(f" {self.empty if y == 0 else ''}", "dim")], width)
        else:
            at, below = self._layout_of[y]
            strip = self._opened_line(below, width) if below else self._drawn(at, width)
            strip = self._selected(strip, y).apply_offsets(0, y)
        return Strip([*strip, Segment(self._bar(y), self.look("bar"))], width + 1).apply_style(
            self.look("ground")
        )

    def _opened_line(self, below: int, width: int) -> Strip:
        """One of the lines below the selected one."""
        return self._open[below - 1] if below <= len(self._open) else self.line([], width)

    def _drawn(self, line: int, width: int) -> Strip:
        strip = self.draw_line(line, width)
        if not self.is_selected(line):
            return strip
        if self.has_focus:
            # All of it in one colour: the row's other colours were not chosen for this background.
            return Strip(Segment.apply_style(strip, post_style=self.look("cursor")), strip.cell_length)
        return strip.apply_style(self.look("cursor-idle"))

    def _bar(self, y: int) -> str:
        """Our own scroll bar: the position, and the total."""
        count, height = self.extent(), self.room
        if count <= height:
            return " "
        size = max(1, height * height // count)
        start = round(self.top * (height - size) / max(1, count - height))
        return _THUMB if start <= y < start + size else _BAR

    # -- selecting text with the mouse

    def _selected(self, strip: Strip, y: int) -> Strip:
        selection = self.text_selection
        span = None if selection is None else selection.get_span(y)
        if span is None:
            return strip
        start, end = span
        end = strip.cell_length if end == -1 else min(end, strip.cell_length)
        style = self.screen.get_component_rich_style("screen--selection")
        parts = (strip.crop(0, start), strip.crop(start, end).apply_style(style), strip.crop(end))
        return Strip.join(parts)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        width = self.size.width - 1
        lines = [
            (self._opened_line(below, width) if below else self.draw_line(at, width)).text
            for at, below in self._layout_of
        ]
        return selection.extract("\n".join(line.rstrip() for line in lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    # -- moving

    def go(self, row: int, *, tell: bool = True) -> None:
        """Select a row. The last one follows new rows, any other one stays."""
        count = self.count()
        if not count:
            return
        row = max(0, min(row, count - 1))
        self._select(row, follow=row == count - 1)
        if tell:
            self.post_message(self.Moved(self, row))

    def _select(self, row: int, follow: bool) -> None:
        if self.follow and not follow:
            self.seen = self.count()
        self.follow = follow
        if row != self.cursor and self.is_attached and self.text_selection is not None:
            self.screen.clear_selection()  # the selected text is not there any more
        self.set_reactive(RowPane.cursor, row)
        self.show()

    def circle(self, way: int) -> Iterator[int]:
        """All rows in the order in which a search meets them, the selected one last."""
        at, count = max(self.cursor, -1), self.count()
        yield from range(at + 1, count) if way > 0 else range(at - 1, -1, -1)
        yield from range(at + 1) if way > 0 else range(count - 1, max(at, 0) - 1, -1)

    def action_move(self, by: int) -> None:
        self.go(self.cursor + by)
        self.post_message(self.Stepped(self))

    def action_page(self, by: int) -> None:
        self.go(self.cursor + by * max(1, self.room - 2))

    def action_first(self) -> None:
        self.go(0)

    def action_last(self) -> None:
        self.go(self.count() - 1)

    def scroll_rows(self, by: int) -> None:
        """Scroll; the selected row moves only as far as it has to."""
        height = self.room
        lines = self.extent() + self.below(self.selected_line)
        top = max(0, min(self.top + by, lines - height))
        if top != self.top:
            self.top = top
            self.go_to_line(self._nearest_in_sight(top, height))

    def _nearest_in_sight(self, top: int, height: int) -> int:
        """The line nearest to the selected one that can be seen, opened, without scrolling."""
        line = max(top, min(self.selected_line, top + height - 1))
        while line > top and self._end_of(line, height) >= top + height:
            line -= 1
        return line

    def _end_of(self, line: int, height: int) -> int:
        """The last line that must be visible with a selected one."""
        below = self.below(line)
        return min(line + below + self._margin(height, below), self.extent() - 1 + below)

    def below(self, line: int) -> int:
        """How many lines are shown below one while it is selected."""
        return len(self.open_line(line, self.size.width - 1, max(0, self.room // 2))) if line >= 0 else 0

    def line_at(self, y: int) -> int | None:
        return self._layout_of[y][0] if 0 <= y < len(self._layout_of) else None

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(3)

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-3)

    async def _on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        y = offset.y - self.HEAD
        if y < 0:
            self.click_head(offset.x)
            return
        if offset.x >= self.size.width - 1:
            self.go_to_line(y * self.extent() // max(1, self.room))
            return
        line = self.line_at(y)
        if line is not None:
            self.click_line(line)
            if event.chain > 1:
                self.post_message(self.Opened(self, self.cursor))

    def click_line(self, line: int) -> None:
        """A line was clicked."""
        self.go_to_line(line)

    def _on_resize(self, event: events.Resize) -> None:
        self.show()

    def _on_focus(self, event: events.Focus) -> None:
        self.refresh()

    def _on_blur(self, event: events.Blur) -> None:
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, self.count())


class GroupedPane(RowPane):
    """The names are rows, too, but the cursor passes over them."""

    def is_heading(self, row: int) -> bool:
        raise NotImplementedError

    def lead(self, row: int) -> int:
        """The name of a group goes with its first row."""
        return int(row > 0 and self.is_heading(row - 1))

    def go(self, row: int, *, tell: bool = True) -> None:
        count = self.count()
        if not count:
            return
        row = max(0, min(row, count - 1))
        down, up = range(row, count), range(row, -1, -1)
        for at in chain(down, up) if row >= self.cursor else chain(up, down):
            if not self.is_heading(at):
                super().go(at, tell=tell)
                self.follow = False
                return
