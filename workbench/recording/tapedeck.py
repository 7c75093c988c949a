"""The tape deck: all tapes that are being written, in the recorder's thread."""

from __future__ import annotations

import errno
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from workbench.library.folders import TAPES, make_folder, new_id, tape_path
from workbench.recording.owncredentials import own_credentials
from workbench.recording.recording import Item, Recording
from workbench.recording.redaction import Redaction
from workbench.recording.tapefile import TapeFile
from workbench.recording.tapewriter import TapeWriter

Lose: TypeAlias = Callable[[int, int], None]
# A tape's path in the library, its row, and whether the index should have it at once.
Publish: TypeAlias = Callable[[str, dict[str, Any], bool], None]

_LOOK_AGAIN = 1.0
_TURN = 0.02  # seconds for beginnings at a time
_UNFINISHED = 500  # how many tapes may wait for a disk that takes their last line
_REMEDIES = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some space there",
    errno.EROFS: "choose another folder with --library",
    errno.EACCES: "make it writable, or choose another folder with --library",
    errno.EPERM: "make it writable, or choose another folder with --library",
}


class TapeDeck:
    """Whatever goes wrong with one tape is counted as lost and told in `problem`; nothing is raised."""

    def __init__(
        self, library: Path, patterns: Sequence[re.Pattern[str]], lose: Lose, publish: Publish
    ) -> None:
        self.problem: str | None = None
        self._library = library
        self._patterns = patterns
        self._lose = lose
        self._publish = publish
        self._writers: dict[Recording, TapeWriter] = {}
        self._looked = 0.0
        self._later: deque[Item] = deque()  # tapes to be begun, and what happened to them since

    def play(self, items: Iterable[Item]) -> int:
        """What happened, onto the tapes; and what has waited long enough. Returns the size of what is done
        with: a tape's beginning, and so all of it, may have to wait for its turn."""
        now = time.monotonic()
        done, touched = self._record(self._without_beginning(items), now)
        more, begun = self._record(self._beginnings(), now)
        touched |= begun
        for recording, writer in self._due(now, touched):
            self._flush_safely(recording, writer, now)
        if self.problem and touched and not any(writer.error for writer in self._all(touched)):
            self.problem = None
        return done + more

    def _without_beginning(self, items: Iterable[Item]) -> Iterator[Item]:
        """What concerns tapes that have begun; a long conversation takes its time to be redacted, and those
        that run already shall not wait for it."""
        waiting = {item.recording for item in self._later}
        for item in items:
            if item.op == "begin":
                waiting.add(item.recording)
            if item.recording in waiting:
                self._later.append(item)
            else:
                yield item

    def _beginnings(self) -> Iterator[Item]:
        """At least one thing at a time: even while others are busy, all of them get their turn."""
        until = time.monotonic() + _TURN
        while self._later:
            yield self._later.popleft()
            if time.monotonic() >= until:
                break

    def _record(self, items: Iterable[Item], now: float) -> tuple[int, dict[Recording, TapeWriter]]:
        touched: dict[Recording, TapeWriter] = {}
        size = 0
        for item in items:
            try:
                taken = self._take(item, now)
            except Exception as error:  # a bug of ours costs a line, not the recording of everything else
                self._fail(_bug(error))
                self._end_barely(item, now)
                taken = False
            if not taken:
                self._lose(1, 0)
            if writer := self._writers.get(item.recording):
                touched[item.recording] = writer
            size += item.size
        for recording, writer in touched.items():
            self._flush_safely(recording, writer, now)
        return size, touched

    def _all(self, touched: dict[Recording, TapeWriter]) -> Iterator[TapeWriter]:
        yield from touched.values()
        yield from self._writers.values()

    def patience(self) -> float | None:
        """Seconds until something is due, even if nothing happens; None when nothing is."""
        if self._later:
            return 0.0
        now = time.monotonic()
        due = [writer.deadline for writer in self._writers.values() if writer.deadline is not None]
        if self.problem:
            due.append(self._looked + _LOOK_AGAIN)
        return max(0.0, min(due) - now) if due else None

    def look(self) -> None:
        """Try whether the library can be written, before anybody needs it."""
        self._looked = time.monotonic()
        probe = self._library / TAPES / f".probe-{os.getpid()}"
        try:
            make_folder(probe.parent)
            probe.touch(0o600)
            probe.unlink()
        except OSError as error:
            self._fail(self._sentence(error))
        else:
            self.problem = None

    def close(self) -> None:
        """Nothing more comes: write what was held back."""
        for recording, writer in list(self._writers.items()):
            self._flush_safely(recording, writer, float("inf"))
            writer.close()
        self._writers.clear()

    def _take(self, item: Item, now: float) -> bool:
        if item.op == "begin":
            header, secrets = item.what
            self._writers[item.recording] = self._begin(item.recording, header, secrets, now)
            return True
        writer = self._writers.get(item.recording)
        if writer is None:
            return False
        if item.missed[0]:
            writer.miss(now, item.t, *item.missed)
        writer.take(item.op, now, item.t, item.what)
        return True

    def _end_barely(self, item: Item, now: float) -> None:
        """An end whose details cannot be recorded is still an end: nothing more comes to close this tape."""
        if item.op == "end" and item.recording in self._writers:
            how, _ = item.what
            self._writers[item.recording].take("end", now, item.t, (how, {}))

    def _begin(
        self, recording: Recording, header: dict[str, Any], secrets: tuple[str, ...], now: float
    ) -> TapeWriter:
        redaction = Redaction(self._patterns, [*secrets, *own_credentials(header)])
        while True:
            named = dict(header) | {"id": recording.id, "pid": os.getpid()}
            writer = TapeWriter(TapeFile(recording.path), named, redaction, now)
            if not isinstance(writer.error, FileExistsError):
                return writer
            # The same name within the same second, by another process perhaps.
            recording.id = new_id()
            recording.path = self._library / tape_path(time.time(), recording.id)

    def _flush_safely(self, recording: Recording, writer: TapeWriter, now: float) -> None:
        try:
            self._flush(recording, writer, now)
        except Exception as error:
            self._fail(_bug(error))
            self._lose(1, 0)
            self._writers.pop(recording, None)
            writer.close()

    def _flush(self, recording: Recording, writer: TapeWriter, now: float) -> None:
        fresh = not writer.row["size"]
        writer.flush(now, self._lose)
        if writer.error is not None:
            self._fail(self._sentence(writer.error))
        if writer.ended or (writer.over and len(self._writers) > _UNFINISHED):
            del self._writers[recording]
            writer.close()
            if not writer.ended:
                self._lose(1, 0)
        if writer.file.size:
            path = recording.path.relative_to(self._library).as_posix()
            self._publish(path, writer.row | {"id": recording.id, "path": path}, fresh or writer.over)

    def _due(self, now: float, touched: dict[Recording, TapeWriter]) -> list[tuple[Recording, TapeWriter]]:
        again = bool(self.problem) and now - self._looked >= _LOOK_AGAIN
        if again:
            self.look()
        return [
            (recording, writer)
            for recording, writer in self._writers.items()
            if recording not in touched
            and ((again and writer.error) or (writer.deadline is not None and writer.deadline <= now))
        ]

    def _fail(self, problem: str) -> None:
        self.problem = problem
        self._looked = time.monotonic()

    def _sentence(self, error: OSError) -> str:
        remedy = _REMEDIES.get(error.errno or 0, "choose another folder with --library if this lasts")
        return f"tapes cannot be written to {self._library}: {error.strerror}; {remedy}"


def _bug(error: Exception) -> str:
    # Its name only: what it says may quote what must not be seen.
    return f"something could not be recorded because of a bug in workbench ({type(error).__name__})"
