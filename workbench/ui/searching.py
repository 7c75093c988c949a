"""Going through the rows of a pane, in slices, so that a long tape does not hold up the screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable

from workbench.ui.widgets.rowpane import RowPane
from workbench.visible import visible_line

_SLICE = 0.02


async def first_match(pane: RowPane, rows: Iterable[int], wanted: str) -> int | None:
    """The first of the rows whose text holds what is wanted, whatever its case.

    What cannot be seen in a row is searched for as the row shows it: `\\x1b`.
    """
    needle = wanted.casefold()
    escaped = "\\" in needle
    async for row, text in texts_of(pane, rows):
        if needle in text.casefold() or (escaped and needle in visible_line(text).casefold()):
            return row
    return None


async def texts_of(pane: RowPane, rows: Iterable[int]) -> AsyncIterator[tuple[int, str]]:
    """Rows with their texts; those that are gone by then, because something else is shown, are left out."""
    until = time.perf_counter() + _SLICE
    for row in rows:
        if row < pane.count():
            yield row, pane.text(row)
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + _SLICE
