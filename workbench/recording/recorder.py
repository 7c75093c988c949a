"""The recorder: every exchange on a tape, without ever keeping the relay waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.library.folders import new_id, tape_path
from workbench.library.retention import Keep
from workbench.library.rows import started_of
from workbench.recording.backlog import Backlog
from workbench.recording.librarian import Librarian
from workbench.recording.recording import Item, Recording
from workbench.recording.redaction import check_patterns
from workbench.recording.tapedeck import TapeDeck

__all__ = ["Recorder", "Recording"]

_STALLED = 2.0
_SLICE = 1 << 20


class Recorder:
    """Takes what the event loop says at once, and writes it in a thread of its own.

    When the disk cannot keep up, or takes nothing at all, the exchanges go on: what is not recorded is
    counted here and on the tapes, and `problem` says why.
    """

    def __init__(
        self,
        library: Path,
        *,
        redact: Sequence[str] = (),
        queue_bytes: int = 64 << 20,
        keep_days: float = 30,
        keep_bytes: int = 2 << 30,
    ) -> None:
        self.library = library
        self.lost_lines = 0
        self.lost_bytes = 0
        self._lock = threading.Lock()
        self._backlog: Backlog[Item] = Backlog(queue_bytes)
        self._librarian = Librarian(library, Keep(keep_days, keep_bytes))
        self._deck = TapeDeck(library, check_patterns(redact), self.lose, self._librarian.put)
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._ready = threading.Event()
        self._busy_since: float | None = None

    def start(self) -> None:
        """Begin to write. Returns when it is known whether the library can be written, or soon after."""
        self._thread.start()
        self._librarian.start()
        self._ready.wait(0.2)

    def begin(self, header: Mapping[str, Any], secrets: Iterable[str] = ()) -> Recording:
        """A new tape. The header belongs to the recorder from now on; it is redacted before it is stored."""
        id = new_id()
        path = tape_path(started_of(header) or time.time(), id)
        return Recording(self, id, self.library / path, header, tuple(secrets))

    @property
    def problem(self) -> str | None:
        """Why recording does not work right now; None when it does."""
        if self._deck.problem:
            return self._deck.problem
        if self._ready.is_set() and not self._thread.is_alive() and not self._backlog.closed:
            return "the recorder has stopped, which is a bug in workbench; restart it"
        busy = self._busy_since
        stalled = 0.0 if busy is None else time.monotonic() - busy
        if self._backlog.overrun or stalled > _STALLED:
            return f"the disk of {self.library} is too slow: {self._backlog.size} bytes wait to be written"
        return None

    @property
    def index_problem(self) -> str | None:
        """Why the index is not up to date; the tapes are written all the same."""
        return self._librarian.problem

    def close(self, timeout: float = 5) -> bool:
        """Write what is left and close the tapes; False when the time ran out."""
        until = time.monotonic() + timeout
        self._backlog.close()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        told = self._librarian.close(max(0.0, until - time.monotonic()))
        return told and not self._thread.is_alive()

    def put(self, item: Item, *, always: bool = False) -> bool:
        """For a `Recording`: False when there is no room."""
        return self._backlog.put(item, item.size, always=always)

    def lose(self, lines: int, payload: int) -> None:
        """So much will be on no tape."""
        with self._lock:
            self.lost_lines += lines
            self.lost_bytes += payload

    def _run(self) -> None:
        self._deck.look()
        self._ready.set()
        while not (self._backlog.closed and not self._backlog.size):
            for items in _slices(self._backlog.take(self._deck.patience())):
                self._busy_since = time.monotonic()
                self._backlog.done(self._deck.play(items))
                self._busy_since = None
        self._deck.close()


def _slices(items: list[Item]) -> Iterator[list[Item]]:
    """In pieces of a bounded size: after a stall there is much to write, and its memory is to be free soon.
    Beginnings wait for their turn anyway. Also once without any item: something may be due."""
    start = size = 0
    for at, item in enumerate(items):
        size += 0 if item.op == "begin" else item.size
        if size > _SLICE:
            yield items[start : at + 1]
            start, size = at + 1, 0
    yield items[start:]
