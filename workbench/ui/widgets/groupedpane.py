"""A list in groups, each below a line with its name."""

from __future__ import annotations

from itertools import chain

from workbench.ui.widgets.rowpane import RowPane


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
        ahead, behind = range(row, count), range(row, -1, -1)
        for at in chain(ahead, behind) if row >= self.cursor else chain(behind, ahead):
            if not self.is_heading(at):
                super().go(at, tell=tell)
                self.follow = False
                return
