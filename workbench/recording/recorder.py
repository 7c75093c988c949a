"""The recorder: every exchange on a tape, without ever keeping the relay waiting.

It has two threads: one writes the tapes, the other keeps the index up to date and the library within its
size: a locked database, or a thousand tapes to delete, must not hold up a tape.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from workbench.library.index import Index, put_aside, reconcile
from workbench.library.retention import Keep, expire
from workbench.library.summary import started_of, summarise
from workbench.library.tapefiles import TapeEntry, new_id, tape_path
from workbench.recording.recording import Backlog, Item, Recording
from workbench.recording.redaction import check_patterns
from workbench.recording.tapewriter import OpenTapes
from workbench.system import give_back_memory

_EVERY = 2.0  # seconds between two updates of a running exchange's row
_GATHER = 0.05  # seconds to wait for more rows, which go into one transaction
_BUSY = 0.25  # how long to wait for another writer; then the rows are tried again
_SOON, _LATER = 60.0, 3600.0  # seconds between two looks for old tapes: after an exchange, and without one
_AT_ONCE = 20  # tapes that are deleted before rows are written again
_CATCH_UP = 200  # tapes without a row that are read at the start; all of them if the index was lost later
_LOOK = 2.0  # seconds between two checks that the index is still there
_PROCESS_STARTED = time.time()


class IndexWriter:
    """A thread that keeps the index up to date, and deletes tapes that are too old or too many.

    `problem` says why the index is not up to date; the tapes are recorded anyway.
    """

    def __init__(self, library: Path, keep: Keep) -> None:
        self.problem: str | None = None
        self._library = library
        self._keep = keep
        self._rows: dict[str, dict[str, Any]] = {}
        self._urgent: set[str] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._index: Index | None = None
        self._written = 0.0
        self._ended = True  # an exchange, since the last look for old tapes
        self._expired = -_SOON
        self._expiring: Iterator[str] | None = None
        self._settled = False
        self._most: int | None = _CATCH_UP
        self._gone: list[str] = []  # deleted, but still in the index
        self._unknown: list[TapeEntry] = []  # not in the index, the newest last
        self._thread = threading.Thread(target=self._run, name="index writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, row: dict[str, Any], urgent: bool) -> None:
        """An update of a tape's row; urgent when it began or ended, others are written once a second. The row
        may change meanwhile: it is copied when it is written."""
        path = row["path"]
        if not urgent and path in self._rows:  # it is the same row: nothing to do
            return
        with self._lock:
            first = not self._rows  # without anything to write, the thread sleeps until its next task
            self._rows[path] = row
            if urgent:
                self._urgent.add(path)
        if urgent or first:
            self._wake.set()

    def close(self, timeout: float) -> bool:
        """Write the last updates; False when the time ran out."""
        self._closing.set()
        self._wake.set()
        if self._thread.ident is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._settled = self._settled or self._try(self._settle)
            self._wake.wait(min(self._due_in(), _LOOK) if self._settled else _EVERY)
            self._closing.wait(_GATHER)
            self._wake.clear()
            self._look()
            self._write(everything=time.monotonic() - self._written >= _EVERY)
            self._catch_up()
            self._tidy()
        self._write(everything=True)
        self._drop()

    def _look(self) -> None:
        """Whether the index is still where it was: with the library, it may have been deleted."""
        if self._index is not None and self._index.gone:
            self._drop()
            self._begin_anew()

    def _begin_anew(self) -> None:
        """The next index is empty: every tape is to be found again."""
        self._settled, self._most = False, None

    def _due_in(self) -> float:
        """Seconds until the next scheduled task."""
        if self._expiring is not None or self._unknown:
            return 0.0
        now = time.monotonic()
        expire_at = self._expired + (_SOON if self._ended else _LATER)
        return max(0.0, min(expire_at, self._written + _EVERY if self._rows else expire_at) - now)

    def _write(self, everything: bool) -> None:
        with self._lock:
            paths = list(self._rows if everything else self._urgent)
            taken = {path: self._rows.pop(path) for path in paths}
            urgent, self._urgent = self._urgent, set()
            rows = {path: dict(row) for path, row in taken.items()}  # as they are at this moment
        if everything:
            self._written = time.monotonic()
        if rows and not self._try(lambda index: _put(index, rows, urgent)):
            with self._lock:
                self._rows = taken | self._rows
                self._urgent |= urgent
        self._ended = self._ended or any(row["state"] != "running" for row in rows.values())

    def _tidy(self) -> None:
        """A few tapes at a time, so that updates need not wait for a thousand."""
        now = time.monotonic()
        if self._expiring is None:
            if now - self._expired < (_SOON if self._ended else _LATER):
                return
            self._expiring, self._expired, self._ended = expire(self._library, self._keep), now, False
        gone = list(islice(self._expiring, _AT_ONCE))
        self._gone += gone
        if self._gone and self._try(lambda index: index.remove(self._gone)):
            self._gone.clear()
        if len(gone) < _AT_ONCE:
            self._expiring = None

    def _catch_up(self) -> None:
        """One tape at a time: reading one takes a while, and the relay shares the interpreter."""
        if self._unknown:
            entry = self._unknown.pop()
            row = summarise(self._library, entry)
            if (self._library / entry.path).exists():  # it may have been too old
                self._try(lambda index: index.add([row]))

    def _settle(self, index: Index) -> None:
        """What happened while no writer was here: others were killed, tapes were deleted by a person."""
        index.settle(os.getpid(), _PROCESS_STARTED)
        self._unknown = reconcile(self._library, index)[: self._most][::-1]

    def _try(self, work: Callable[[Index], None]) -> bool:
        """Use the index, if it can be opened. Errors are in `problem`; it is tried again."""
        try:
            self._look()
            if self._index is None:
                self._index = Index(self._library, _BUSY)
            work(self._index)
        except Exception as error:  # also for a bug of ours: the next rows may work
            self.problem = f"the index of {self._library} is not up to date: {error}"
            if not isinstance(error, sqlite3.OperationalError):
                self._drop()
            if type(error) is sqlite3.DatabaseError:  # it is damaged; the tapes have all that was in it
                put_aside(self._library)
                self._begin_anew()
            return False
        self.problem = None
        return True

    def _drop(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index = None


def _put(index: Index, rows: Mapping[str, Mapping[str, Any]], urgent: set[str]) -> None:
    """Whole rows of those that began or ended; only the progress of the others, which costs a third."""
    known = [row for path, row in rows.items() if path not in urgent and row["state"] == "running"]
    if known and index.update(known):
        rows = {path: row for path, row in rows.items() if path in urgent or row["state"] != "running"}
    if rows:
        index.put(rows.values())


_STALLED = 2.0  # seconds
_SLICE = 1 << 20  # bytes
_MUCH = 2 << 20  # bytes of answers that have ended: then it is worth giving their memory back


class Recorder:
    """Accepts items from the event loop at once, and writes them in a thread of its own.

    When the disk cannot keep up, or is full, the exchanges go on: unrecorded lines are counted here and on
    the tapes, and `problem` says why.
    """

    def __init__(
        self,
        library: Path,
        *,
        redact: Sequence[str] = (),
        queue_bytes: int = 64 << 20,
        keep_days: float = 30,
        keep_bytes: int = 2 << 30,
        on_end: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        self.library = library
        self.lost_lines = 0
        self.lost_bytes = 0
        self._lock = threading.Lock()
        self._backlog: Backlog[Item] = Backlog(queue_bytes)
        self._index_writer = IndexWriter(library, Keep(keep_days, keep_bytes))
        # `on_end` gets the row of each exchange that has ended, in the thread of the tapes.
        self._tapes = OpenTapes(library, check_patterns(redact), self.lose, self._index_writer.put, on_end)
        self._thread = threading.Thread(target=self._run, name="tape writer", daemon=True)
        self._ready = threading.Event()
        self._busy_since: float | None = None

    def start(self) -> None:
        """Begin to write. Returns when it is known whether the library can be written, or soon after."""
        self._thread.start()
        self._index_writer.start()
        self._ready.wait(0.2)

    def begin(
        self, header: Mapping[str, Any], secrets: Iterable[str] = (), id: str | None = None
    ) -> Recording:
        """A new tape. The header belongs to the recorder from now on; it is redacted before it is stored."""
        id = id or new_id()
        path = tape_path(started_of(header) or time.time(), id)
        return Recording(self._backlog, self.lose, id, self.library / path, header, tuple(secrets))

    @property
    def problem(self) -> str | None:
        """Why recording does not work right now; None when it does."""
        if self._tapes.problem:
            return self._tapes.problem
        if self._ready.is_set() and not self._thread.is_alive() and not self._backlog.closed:
            return "the recorder has stopped, which is a bug in workbench; restart it"
        busy = self._busy_since
        stalled = 0.0 if busy is None else time.monotonic() - busy
        if self._backlog.overrun or stalled > _STALLED:
            return f"the disk of {self.library} is too slow: {self.waiting_bytes} bytes wait to be written"
        return None

    @property
    def waiting_bytes(self) -> int:
        """The approximate memory of unwritten items."""
        return self._backlog.size

    @property
    def index_problem(self) -> str | None:
        """Why the index is not up to date; the tapes are written anyway."""
        return self._index_writer.problem

    def close(self, timeout: float = 5) -> bool:
        """Write what is left and close the tapes; False when the time ran out."""
        until = time.monotonic() + timeout
        self._backlog.close()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        indexed = self._index_writer.close(max(0.0, until - time.monotonic()))
        return indexed and not self._thread.is_alive()

    def lose(self, lines: int, payload: int) -> None:
        """This much will not be on any tape."""
        with self._lock:
            self.lost_lines += lines
            self.lost_bytes += payload

    def _run(self) -> None:
        self._tapes.probe()
        self._ready.set()
        while not (self._backlog.closed and not self._backlog.size):
            self._write(self._backlog.take(self._tapes.due_in()))
        self._tapes.close()

    def _write(self, items: list[Item]) -> None:
        for part in _slices(items):
            self._busy_since = time.monotonic()
            self._backlog.done(self._tapes.write(part))
            self._busy_since = None
        if not items and self._tapes.ended_bytes > _MUCH:  # a quiet moment after long answers
            self._tapes.ended_bytes = 0
            give_back_memory()


def _slices(items: list[Item]) -> Iterator[list[Item]]:
    """In pieces of a bounded size: after a stall there is much to write, and its memory should be freed soon.
    New tapes wait for their turn anyway. Yields once even without items: something may be due."""
    start = size = 0
    for at, item in enumerate(items):
        size += 0 if item.op == "begin" else item.size
        if size > _SLICE:
            yield items[start : at + 1]
            start, size = at + 1, 0
    yield items[start:]
