"""Searching the rows of a pane, in slices, so that a long tape does not hold up the screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

_SLICE = 0.02


async def first_match(rows: Iterable[int], text: Callable[[int], str], wanted: str) -> int | None:
    """The first of the rows whose text holds what is wanted, whatever its case."""
    needle = wanted.casefold()
    until = time.perf_counter() + _SLICE
    for row in rows:
        if needle in text(row).casefold():
            return row
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + _SLICE
    return None
