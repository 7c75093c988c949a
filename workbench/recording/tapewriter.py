"""Writing tapes, in the recorder's thread: what the event loop said about an exchange becomes redacted lines
of its file, in order, held back while a secret may be in them. `OpenTapes` does that for all exchanges.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from workbench.library.summary import columns_of_header, columns_of_summary, worst_level
from workbench.library.tapefiles import TAPES, TapeFile, make_folder, new_id, tape_path
from workbench.recording.answermask import AnswerMasker, Passed
from workbench.recording.recording import Item, Op, Recording
from workbench.recording.redaction import Piece, Redaction, own_credentials
from workbench.tape.format import (
    DataKind,
    End,
    Release,
    Side,
    carried_lines,
    data_line,
    encode_line,
    end_line,
    finding_line,
    hold_line,
    lost_line,
    release_line,
    status_line,
)

# How long a line waits for the rest of what may be a secret.
HOLD = 0.04


# What is lost if a line cannot be written: lines, bytes, and whether that is counted already, as for a `lost`
# line.
Weight: TypeAlias = tuple[int, int, bool]
_ONE: Weight = (1, 0, False)
# When a piece came, its bytes, when it went to the client, and the bytes sent.
Carried: TypeAlias = tuple[float, bytes, float, bytes]


class Ready:
    """Lines that can be written: joined at once, since thousands of small pieces of memory are expensive."""

    __slots__ = ("data", "t", "weights")

    def __init__(self) -> None:
        self.data = bytearray()
        self.weights: list[Weight] = []
        self.t = 0.0

    def add(self, t: float, line: bytes, weight: Weight) -> None:
        if not self.weights:
            self.t = t
        self.data += line
        self.weights.append(weight)


@dataclass(frozen=True, slots=True)
class _Held:
    """A line that waits: for its own piece to be decided, or for a line before it."""

    since: float
    t: float
    weight: Weight
    line: bytes = b""
    kind: DataKind = "read"
    by: str | None = None
    piece: Piece | None = None
    masker: AnswerMasker | None = None

    @property
    def decided(self) -> bool:
        return self.piece is None or self.masker is None or self.piece.end <= self.masker.decided

    def encoded(self) -> bytes:
        return self.line if self.piece is None else data_line(self.kind, self.t, self.piece.data, self.by)


class LineQueue:
    """The lines of one tape, in order; each direction has a masker of its own. While one line waits, those
    after it wait as well: the lines of a tape must be in order."""

    def __init__(self, redaction: Redaction) -> None:
        passed = Passed()
        self._read_masker = AnswerMasker(redaction.secrets, passed)
        self._sent_masker = AnswerMasker(redaction.secrets, passed)
        self._ready = Ready()
        self._held: deque[_Held] = deque()

    @property
    def deadline(self) -> float | None:
        """When the line that has waited longest must go."""
        return self._held[0].since + HOLD if self._held else None

    def data(self, now: float, kind: DataKind, t: float, data: bytes, by: str | None) -> None:
        """A `read` or `sent` line."""
        masker = self._read_masker if kind == "read" else self._sent_masker
        weight = (1, len(data), False)
        if not self._held and masker.passes(data):
            self._ready.add(t, data_line(kind, t, data, by), weight)
            return
        piece = masker.feed(data)
        if not self._held and piece.end <= masker.decided:
            self._ready.add(t, data_line(kind, t, piece.data, by), weight)
        else:
            self._held.append(_Held(now, t, weight, b"", kind, by, piece, masker))

    def carried(self, now: float, pieces: list[Carried]) -> None:
        """A `read` line and the `sent` line after it, for each: most lines of most tapes."""
        _, data, _, out = pieces[0]
        if len(pieces) > 1:
            data, out = b"".join(piece[1] for piece in pieces), b"".join(piece[3] for piece in pieces)
        if self._held or not self._read_masker.passes(data):
            for t, data, sent_at, out in pieces:
                self.data(now, "read", t, data, None)
                self.data(now, "sent", sent_at, out, None)
        elif not self._sent_masker.passes(out):
            for t, data, sent_at, out in pieces:
                self.line(now, t, data_line("read", t, data), (1, len(data), False))
                self.data(now, "sent", sent_at, out, None)
        else:
            ready = self._ready
            for t, data, sent_at, out in pieces:
                ready.add(t, carried_lines(t, data, sent_at, out), (1, len(data), False))
                ready.weights.append((1, len(out), False))

    def line(self, now: float, t: float, line: bytes, weight: Weight = _ONE) -> None:
        """Any other line; it is redacted already."""
        if self._held:
            self._held.append(_Held(now, t, weight, line))
        else:
            self._ready.add(t, line, weight)

    def take(self, now: float) -> Ready:
        """The lines that may be written by now."""
        while self._held:
            first = self._held[0]
            if not first.decided:
                if now < first.since + HOLD:
                    break
                assert first.masker is not None
                first.masker.decide()
            self._held.popleft()
            self._ready.add(first.t, first.encoded(), first.weight)
        ready, self._ready = self._ready, Ready()
        return ready


_TRY_AGAIN = 0.5
_NEW = {"state": "running", "chunks": 0, "bytes": 0, "size": 0}
_FOREVER = float("inf")
_NO_GAP = (0, 0)


class TapeWriter:
    """Writes one tape. `row` is what the index should know of it, `error` what prevents writing."""

    def __init__(self, file: TapeFile, header: Mapping[str, Any], redaction: Redaction, now: float) -> None:
        self.file = file
        self.error: OSError | None = None
        self.ended = False
        clean = redaction.line(header)
        self.row: dict[str, Any] = columns_of_header(clean) | _NEW
        self._header = encode_line(clean)
        self._redaction = redaction
        self._queue = LineQueue(redaction)
        self._lost = (0, 0)  # lines, bytes
        self._gap = _NO_GAP  # the part of it that is not yet noted on the tape
        self._end: tuple[float, End, dict[str, Any]] | None = None
        self._noticed: dict[str, int] = {}
        self._told: dict[str, int] = {}
        self._levels: dict[str, str] = {}
        self._tried = -_TRY_AGAIN
        self._create(now)

    @property
    def deadline(self) -> float | None:
        """When it must be flushed, even if nothing happens."""
        return self._queue.deadline

    @property
    def over(self) -> bool:
        """Its end is known; `ended` is when that is on the tape, too."""
        return self._end is not None

    # -- items -> lines

    def take(self, op: Op, now: float, t: float, what: Any) -> None:
        """The next item."""
        if op == "read":
            self._count_read(t, len(what))
            self._queue.data(now, "read", t, what, None)
        elif op == "sent":
            self._queue.data(now, "sent", t, *what)
        elif op == "status":
            self._status(now, t, *what)
        elif op == "finding":
            self._finding(now, t, *what)
        elif op == "hold":
            breakpoint, message = what
            line = hold_line(t, breakpoint, self._redaction.text(message))
            self._queue.line(now, t, encode_line(line))
        elif op == "release":
            self._release(now, t, *what)
        elif op == "end":
            self._take_end(t, *what)

    def take_pieces(self, now: float, pieces: list[Carried]) -> None:
        """Pieces that came and were passed on: most of a tape."""
        for t, data, _, _ in pieces:
            self._count_read(t, len(data))
        self._queue.carried(now, pieces)

    def miss(self, now: float, t: float, lines: int, payload: int) -> None:
        """This much was lost before it came here: a gap is noted on the tape where it belongs."""
        self._lose(lines, payload)
        self._queue.line(now, t, encode_line(lost_line(t, lines, payload)), (lines, payload, True))

    def _count_read(self, t: float, size: int) -> None:
        row = self.row
        if not row["chunks"]:
            row["ttfb"] = t
        row["chunks"] += 1
        row["bytes"] += size

    def _status(
        self,
        now: float,
        t: float,
        side: Side,
        status: int,
        headers: Iterable[Sequence[str]],
        chat: Mapping[str, Any] | None,
    ) -> None:
        if side == "client":
            self.row["status"] = status
        clean = [(name, value) for name, value in self._redaction.headers(headers)]
        self._queue.line(now, t, encode_line(status_line(t, side, status, clean, chat)))

    def _finding(self, now: float, t: float, code: str, level: str, message: str, where: str) -> None:
        self._noticed[code] = self._noticed.get(code, 0) + 1
        self._levels[code] = level
        self._count({})
        self._queue.line(
            now, t, encode_line(finding_line(t, code, level, self._redaction.text(message), where))
        )

    def _release(
        self, now: float, t: float, how: Release, seconds: float, keep: int | None, reads: Sequence[str]
    ) -> None:
        clean = [self._redaction.text(read) for read in reads]
        self._queue.line(now, t, encode_line(release_line(t, how, seconds, keep, clean)))

    def _take_end(self, t: float, how: End, summary: Mapping[str, Any]) -> None:
        summary = self._redaction.line(summary)
        columns = columns_of_summary({key: value for key, value in summary.items() if key != "lost"})
        self._count(columns.pop("findings", {}))
        self.row |= columns | {"state": how, "duration": t}
        self._end = (t, how, dict(summary))

    def _count(self, findings: Mapping[str, int]) -> None:
        """The end summary's counts replace the line counts for its codes."""
        self._told |= findings
        found = self._noticed | self._told
        self.row |= {"findings": found, "level": worst_level(found, self._levels)}

    def _lose(self, lines: int, payload: int) -> None:
        self._lost = (self._lost[0] + lines, self._lost[1] + payload)
        self.row["lost"] = self._lost[0]

    # -- lines -> file

    def flush(self, now: float, lose: Callable[[int, int], None]) -> None:
        """Write what can be written. The rest is lost, which is noted as soon as writing works again."""
        if self.error is not None or not self.file.exists:
            self._try_again(now, lose)
        over = self._end is not None
        self._write(_FOREVER if over else now, lose)
        if over and self.file.exists:
            self._write_end(lose)
        self.row["size"] = self.file.size

    def close(self) -> None:
        self.file.close()

    def _try_again(self, now: float, lose: Callable[[int, int], None]) -> None:
        """Something prevents writing, or did the last time."""
        if not self.file.exists and now - self._tried >= _TRY_AGAIN:
            self._create(now)
        if self.file.exists and self.error is not None:
            self.file.look()  # even if there is nothing to write: the disk may be full because of it
            self._miss_let_go(lose)

    def _create(self, now: float) -> None:
        self._tried = now
        try:
            self.file.create(self._header)
        except OSError as error:
            self.error = error
        else:
            self.error = None
            self._header = b""

    def _write(self, now: float, lose: Callable[[int, int], None]) -> None:
        ready = self._queue.take(now)
        if not ready.weights:
            return
        gap = encode_line(lost_line(ready.t, *self._gap)) if self._gap != _NO_GAP else b""
        count = 0
        if self.file.exists:
            count, self.error = self.file.append(gap + ready.data if gap else ready.data)
            if self.error is not None:
                self._miss_let_go(lose)
        if gap and count:
            self._gap, count = _NO_GAP, count - 1
        if count == len(ready.weights):
            return
        for lines, payload, counted in ready.weights[count:]:
            self._gap = (self._gap[0] + lines, self._gap[1] + payload)
            if not counted:
                self._lose(lines, payload)
                lose(lines, payload)

    def _miss_let_go(self, lose: Callable[[int, int], None]) -> None:
        """The content of an abandoned file is lost; it is created again, with its first line."""
        gone, self.file.let_go = self.file.let_go, None
        if gone is not None:
            self._header = gone.header
            self._gap = (self._gap[0] + gone.lines, self._gap[1] + gone.size)
            self._lose(gone.lines, gone.size)
            lose(gone.lines, gone.size)

    def _write_end(self, lose: Callable[[int, int], None]) -> None:
        assert self._end is not None
        t, how, summary = self._end
        if any(self._lost):
            summary |= {"lost": {"lines": self._lost[0], "bytes": self._lost[1]}}
        gap = encode_line(lost_line(t, *self._gap)) if any(self._gap) else b""
        written, self.error = self.file.append(gap + encode_line(end_line(t, how, **summary)))
        self._miss_let_go(lose)
        if written:
            self._gap = (0, 0)
        self.ended = self.error is None


Lose: TypeAlias = Callable[[int, int], None]
# A tape's row, which goes on changing, and whether the index should have it at once.
Publish: TypeAlias = Callable[[dict[str, Any], bool], None]

_PROBE_AGAIN = 1.0
_PROBE = 16 << 10
_TURN = 0.02  # seconds per batch of items put aside
_UNFINISHED = 500  # how many tapes may wait for a disk that accepts their last line
_REMEDIES = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some space there",
    errno.EROFS: "choose another folder with --library",
    errno.EACCES: "make it writable, or choose another folder with --library",
    errno.EPERM: "make it writable, or choose another folder with --library",
}


class OpenTapes:
    """The writers of all tapes that have not ended. Whatever goes wrong with one is counted as lost, and
    reported in `problem`; nothing is raised."""

    def __init__(
        self,
        library: Path,
        patterns: Sequence[re.Pattern[str]],
        lose: Lose,
        publish: Publish,
        on_end: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        self.problem: str | None = None
        self.ended_bytes = 0  # of answers whose tapes are complete
        self._library = library
        self._patterns = patterns
        self._lose = lose
        self._publish = publish
        self._on_end = on_end  # gets the row of an ended exchange, whether or not it could be written
        self._writers: dict[Recording, TapeWriter] = {}
        self._holding: dict[Recording, TapeWriter] = {}  # those with lines that wait
        self._probed = 0.0
        self._waiting: deque[Item] = deque()  # beginnings of tapes, and what happened since

    def write(self, items: Iterable[Item]) -> int:
        """Write these items, and some of those put aside; returns the bytes taken. New tapes may be
        deferred."""
        now = time.monotonic()
        done, touched = self._record(self._of_begun(items), now)
        if self._waiting:
            more, begun = self._record(self._of_waiting(), now)
            done, touched = done + more, touched | begun
        if self._holding or self.problem:
            for recording, writer in self._due(now, touched):
                self._flush_safely(recording, writer, now)
        if self.problem and touched and not any(writer.error for writer in self._all(touched)):
            self.problem = None
        return done

    def _of_begun(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items of tapes that have begun. The others are put aside: redacting the header of a long
        conversation takes a while, and running tapes must not wait for it."""
        waiting = {item.recording for item in self._waiting}
        for item in items:
            if item.op == "begin":
                waiting.add(item.recording)
            if item.recording in waiting:
                self._waiting.append(item)
            else:
                yield item

    def _of_waiting(self) -> Iterator[Item]:
        """Items that were put aside, for a moment; at least one, so that all of them get their turn."""
        until = time.monotonic() + _TURN
        while self._waiting:
            yield self._waiting.popleft()
            if time.monotonic() >= until:
                break

    def _record(self, items: Iterable[Item], now: float) -> tuple[int, dict[Recording, TapeWriter]]:
        """Grouped by tape: order matters only within a tape, and batches are cheaper."""
        by_tape: dict[Recording, list[Item]] = {}
        size = 0
        for item in items:
            by_tape.setdefault(item.recording, []).append(item)
            size += item.size
        touched: dict[Recording, TapeWriter] = {}
        for recording, its in by_tape.items():
            for run in _runs(its):
                self._take_safely(run, now)
            if (writer := self._writers.get(recording)) is not None:
                touched[recording] = writer
                self._flush_safely(recording, writer, now)
        return size, touched

    def _take_safely(self, run: list[Item], now: float) -> None:
        try:
            taken = self._take_pieces(run, now) if run[0].op == "carried" else self._take(run[0], now)
        except Exception as error:  # a bug of ours costs lines, not the recording of everything else
            self._fail(_bug(error))
            self._end_without_summary(run[0], now)
            taken = False
        if not taken:
            self._lose(2 * len(run) if run[0].op == "carried" else 1, 0)

    def _all(self, touched: dict[Recording, TapeWriter]) -> Iterator[TapeWriter]:
        yield from touched.values()
        yield from self._writers.values()

    def due_in(self) -> float | None:
        """Seconds until something is due, even if nothing happens; None when nothing is."""
        if self._waiting:
            return 0.0
        now = time.monotonic()
        due = [writer.deadline for writer in self._holding.values() if writer.deadline is not None]
        if self.problem:
            due.append(self._probed + _PROBE_AGAIN)
        return max(0.0, min(due) - now) if due else None

    def probe(self) -> None:
        """Test whether the library can be written, before it is needed."""
        self._probed = time.monotonic()
        probe = self._library / TAPES / f".probe-{os.getpid()}"
        try:
            make_folder(probe.parent)
            if probe.parent.is_symlink():  # tapes there are not listed, and never deleted
                raise OSError(errno.ELOOP, f"{probe.parent} is a link, and links are not followed")
            # With something in it: a full disk may still take an empty file.
            probe.write_bytes(bytes(_PROBE))
            probe.unlink()
        except OSError as error:
            self._fail(self._reason(error))
        else:
            self.problem = None

    def close(self) -> None:
        """Nothing more comes: write what was held back."""
        for recording, writer in list(self._writers.items()):
            self._flush_safely(recording, writer, float("inf"))
            writer.close()
        self._writers.clear()
        self._holding.clear()

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
        if item.op == "end" and self._on_end is not None:
            self._on_end(dict(writer.row))
        return True

    def _take_pieces(self, run: list[Item], now: float) -> bool:
        writer = self._writers.get(run[0].recording)
        if writer is None:
            return False
        if run[0].missed[0]:
            writer.miss(now, run[0].t, *run[0].missed)
        writer.take_pieces(now, [(item.t, *item.what) for item in run])
        return True

    def _end_without_summary(self, item: Item, now: float) -> None:
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
                path = recording.path.relative_to(self._library).as_posix()
                writer.row |= {"id": recording.id, "path": path}
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
            self._holding.pop(recording, None)
            writer.close()

    def _flush(self, recording: Recording, writer: TapeWriter, now: float) -> None:
        fresh = not writer.row["size"]
        writer.flush(now, self._lose)
        if writer.error is not None:
            self._fail(self._reason(writer.error))
        if writer.deadline is not None:
            self._holding[recording] = writer
        elif self._holding:
            self._holding.pop(recording, None)
        if writer.ended or (writer.over and len(self._writers) > _UNFINISHED):
            del self._writers[recording]
            self._holding.pop(recording, None)
            self.ended_bytes += writer.row["bytes"]
            writer.close()
            if not writer.ended:
                self._lose(1, 0)
        if writer.file.size:
            self._publish(writer.row, fresh or writer.over)

    def _due(self, now: float, touched: dict[Recording, TapeWriter]) -> list[tuple[Recording, TapeWriter]]:
        again = bool(self.problem) and now - self._probed >= _PROBE_AGAIN
        if again:
            self.probe()
        return [
            (recording, writer)
            for recording, writer in (self._writers if again else self._holding).items()
            if recording not in touched
            and ((again and writer.error) or (writer.deadline is not None and writer.deadline <= now))
        ]

    def _fail(self, problem: str) -> None:
        self.problem = problem
        self._probed = time.monotonic()

    def _reason(self, error: OSError) -> str:
        remedy = _REMEDIES.get(error.errno or 0, "choose another folder with --library if this lasts")
        return f"tapes cannot be written to {self._library}: {error.strerror}; {remedy}"


def _runs(items: list[Item]) -> Iterator[list[Item]]:
    """One at a time; consecutive pieces together."""
    run: list[Item] = []
    for item in items:
        if run and (item.op != "carried" or run[0].op != "carried" or item.missed[0]):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def _bug(error: Exception) -> str:
    # Its name only: its message may quote a secret.
    return f"something could not be recorded because of a bug in workbench ({type(error).__name__})"
