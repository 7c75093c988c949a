"""The backlog: what the event loop has said and the recorder's thread has not yet taken, bounded in bytes."""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

T = TypeVar("T")

# The thread waits this long for more before it takes what there is: a wake-up for every line would cost the
# relay more than the line itself.
GATHER = 0.02


class Backlog(Generic[T]):
    """Many put, one takes. Putting never waits for anything but another put."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self.closed = False
        self.overrun = False  # something found no room, and there is not much more of it by now
        self._hurry_at = limit // 4
        self._items: list[T] = []
        self._lock = threading.Lock()
        self._some = threading.Event()
        self._hurry = threading.Event()

    def put(self, item: T, size: int, *, always: bool = False) -> bool:
        """False when there is no room: nothing was put. `always` is for small things that count."""
        with self._lock:
            # What is larger than the limit by itself can only ever go alone.
            full = self.size and self.size + size > self.limit
            if self.closed:
                return False
            if full and not always:
                self.overrun = True
                return False
            first = not self._items
            self._items.append(item)
            self.size += size
            hurry = self.size > self._hurry_at
        if first:
            self._some.set()
        if hurry and not self._hurry.is_set():
            self._hurry.set()
        return True

    def take(self, timeout: float | None) -> list[T]:
        """All there is, gathered for a moment; nothing after `timeout` seconds without any.

        What is taken still counts until `done` is called: it is in memory as long as the disk is busy.
        """
        if not self._some.wait(timeout):
            return []
        self._hurry.wait(GATHER)
        with self._lock:
            items, self._items = self._items, []
            if not self.closed:
                self._some.clear()
                self._hurry.clear()
        return items

    def done(self, size: int) -> None:
        """So many bytes are off our hands."""
        with self._lock:
            self.size -= size
            if self.size < self.limit // 2:
                self.overrun = False

    def close(self) -> None:
        """Nothing more is put; whoever takes shall take the rest at once."""
        with self._lock:
            self.closed = True
        self._hurry.set()
        self._some.set()
