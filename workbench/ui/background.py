"""Work in a thread or in slices, while the screen goes on."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

from textual.widget import Widget

T = TypeVar("T")


def in_background(widget: Widget, work: Callable[[], T], done: Callable[[T], None]) -> None:
    """Call `done` with the result of `work`, in the screen's own thread, if the widget is still there.

    A daemon thread, not a worker of Textual: a template may loop for ever, and the program still has to end.
    """
    loop = asyncio.get_running_loop()

    def run() -> None:
        result = work()

        def finish() -> None:
            if widget.is_attached:
                done(result)

        # The program may be over by now.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(widget.call_later, finish)

    threading.Thread(target=run, daemon=True).start()


_SLICE = 0.02  # seconds


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """One after the other, with time for keys and frames between them."""
    until = time.perf_counter() + _SLICE
    for item in items:
        yield item
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + _SLICE
