"""A pane that shows a document: it moves in it, searches it, copies it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from rich.style import Style
from textual import events
from textual.strip import Strip
from textual.timer import Timer

from workbench.text import counted
from workbench.ui.display import content
from workbench.ui.widgets.document import Document, Prose
from workbench.ui.widgets.rowpane import RowPane
from workbench.ui.widgets.search import pattern_of

_SLICE = 0.01  # seconds of laying out between two looks at the keyboard
_PAUSE = 0.02


class TextPane(RowPane):
    """Rows come from the document; while it is still being laid out, more are added."""

    VARIANT = "-document"
    LOOKS = RowPane.LOOKS | {"heading", "key", "string", "value", "added", "removed", "current"}

    def __init__(self, title: str, *, id: str) -> None:
        super().__init__(id=id, classes="rowpane textpane")
        self.document: Document = Prose("")
        self.title = title
        self.border_title = content(title)
        self.found: list[int] = []
        self._timer: Timer | None = None
        self._seeking = False  # the row to begin with is not laid out yet
        self.set_reactive(RowPane.follow, False)

    # -- the document

    def show_document(self, document: Document) -> None:
        """Show another one, beginning with the row that it is about."""
        self.document = document
        self._lay_out()

    def _lay_out(self) -> None:
        self.top, self._seeking = 0, True
        self.set_reactive(RowPane.cursor, 0)
        if self.size.width > 1:
            self.document.fit(self.size.width - 1)
            self._advance()
        else:
            # Hidden now: the layout is out of date when it is shown again.
            self.show()

    def _advance(self) -> None:
        more = self.document.advance(_SLICE)
        goal = self.document.goal
        # Without the rows below it, it would be at the bottom.
        if self._seeking and goal is not None and (not more or self.count() > goal + self.size.height):
            self._seeking = False
            # The rows above it explain it.
            self.top = max(0, goal - self.size.height // self.document.ABOVE)
            self.set_reactive(RowPane.cursor, goal)
        if more and self._timer is None:
            self._timer = self.set_interval(_PAUSE, self._advance)
        elif not more:
            self._stop()
            self._search_again()
        self.show()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    @property
    def busy(self) -> bool:
        """It is still being laid out."""
        return self._timer is not None

    def _on_resize(self, event: events.Resize) -> None:
        """The cursor keeps its relative position among all rows."""
        share = self.cursor / max(1, self.count())
        if self.size.width > 1 and self.document.fit(self.size.width - 1):
            self._lay_out()
            if share and not self._seeking:
                self.go(round(share * self.count()), tell=False)
        self.show()

    # -- rows

    def count(self) -> int:
        return len(self.document)

    def draw(self, row: int, width: int) -> Strip:
        columns = self.document.columns(row, width)
        strips = [self.line(pieces, room) for pieces, room in columns]
        return strips[0] if len(strips) == 1 else Strip.join(strips)

    def render_line(self, y: int) -> Strip:
        # Segments have no background of their own, and a terminal's may be dark in a light theme.
        _, background = self.background_colors
        return super().render_line(y).apply_style(Style(bgcolor=background.rich_color))

    def opened(self, row: int, width: int, most: int) -> list[Strip]:
        pieces = self.document.opened(row)
        return self.lines(pieces, width, most) if pieces else []

    def text(self, row: int) -> str:
        return self.document.text(row)

    # -- searching

    def search(self, needle: str) -> bool:
        """Mark the matches, and go to the first one from here on; False if there is none."""
        self.pattern = pattern_of(needle) if needle else None
        self._search_again()
        self.refresh()
        if not self.found:
            return False
        at = bisect_left(self.found, max(0, self.cursor))
        self.go(self.found[at % len(self.found)])
        return True

    def _search_again(self) -> None:
        self.found = self.document.matches(self.pattern) if self.pattern is not None else []

    def search_on(self, way: int) -> bool:
        """To the next match, or the previous one; wraps around."""
        if not self.found:
            return False
        at = bisect_right(self.found, self.cursor) if way > 0 else bisect_left(self.found, self.cursor) - 1
        self.go(self.found[at % len(self.found)])
        return True

    @property
    def place(self) -> str:
        """The position among the matches."""
        if self.pattern is None:
            return ""
        if not self.found:
            return "not found"
        return f"{bisect_right(self.found, max(0, self.cursor))} of {counted(len(self.found), 'line')}"
