"""The writer of one tape: what the event loop said about an exchange becomes redacted lines of its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.library.rows import columns_of_header, columns_of_summary, worst_level
from workbench.recording.linequeue import LineQueue, Weight
from workbench.recording.recording import Op
from workbench.recording.redaction import Redaction
from workbench.recording.tapefile import TapeFile
from workbench.recording.tapelines import line
from workbench.tape import End, Side, end_line, finding_line, lost_line, status_line

_TRY_AGAIN = 0.5
_NEW = {"state": "running", "chunks": 0, "bytes": 0, "size": 0}
_FOREVER = float("inf")


class TapeWriter:
    """Belongs to the recorder's thread. `row` is what the index should know, `error` what hinders writing."""

    def __init__(self, file: TapeFile, header: Mapping[str, Any], redaction: Redaction, now: float) -> None:
        self.file = file
        self.error: OSError | None = None
        self.ended = False
        clean = redaction.line(header)
        self.row: dict[str, Any] = columns_of_header(clean) | _NEW
        self._header = line(clean)
        self._redaction = redaction
        self._queue = LineQueue(redaction)
        self._lost = (0, 0)  # lines, bytes
        self._gap = (0, 0)  # the part of it that no line on the tape speaks of yet
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

    # -- what happened

    def take(self, op: Op, now: float, t: float, what: Any) -> None:
        """The next thing."""
        if op == "read":
            self._read(now, t, what)
        elif op == "sent":
            self._queue.data(now, "sent", t, *what)
        elif op == "status":
            self._status(now, t, *what)
        elif op == "finding":
            self._finding(now, t, *what)
        elif op == "update":
            self._update(what)
        elif op == "end":
            self._take_end(t, *what)

    def miss(self, now: float, t: float, lines: int, payload: int) -> None:
        """So much never came here: it stands on the tape where it belongs."""
        self._lose(lines, payload)
        self._queue.line(now, t, line(lost_line(t, lines, payload)), Weight(lines, payload, counted=True))

    def _read(self, now: float, t: float, data: bytes) -> None:
        row = self.row
        if not row["chunks"]:
            row["ttfb"] = t
        row["chunks"] += 1
        row["bytes"] += len(data)
        self._queue.data(now, "read", t, data, None)

    def _status(
        self, now: float, t: float, side: Side, status: int, headers: Iterable[Sequence[str]]
    ) -> None:
        if side == "client":
            self.row["status"] = status
        clean = [(name, value) for name, value in self._redaction.headers(headers)]
        self._queue.line(now, t, line(status_line(t, side, status, clean)))

    def _finding(self, now: float, t: float, code: str, level: str, message: str, where: str) -> None:
        self._noticed[code] = self._noticed.get(code, 0) + 1
        self._levels[code] = level
        self._count({})
        self._queue.line(now, t, line(finding_line(t, code, level, self._redaction.text(message), where)))

    def _update(self, columns: Mapping[str, Any]) -> None:
        columns = columns_of_summary(self._redaction.line(columns))
        self._count(columns.pop("findings", {}))
        self.row |= columns

    def _take_end(self, t: float, how: End, summary: Mapping[str, Any]) -> None:
        summary = self._redaction.line(summary)
        self._update({key: value for key, value in summary.items() if key != "lost"})
        self.row |= {"state": how, "duration": t}
        self._end = (t, how, dict(summary))

    def _count(self, findings: Mapping[str, int]) -> None:
        """What is told counts all findings of its codes; others are counted by the lines they stand on."""
        self._told |= findings
        found = self._noticed | self._told
        self.row |= {"findings": found, "level": worst_level(found, self._levels)}

    def _lose(self, lines: int, payload: int) -> None:
        self._lost = (self._lost[0] + lines, self._lost[1] + payload)
        self.row["lost"] = self._lost[0]

    # -- to the file

    def flush(self, now: float, lose: Callable[[int, int], None]) -> None:
        """Write what can be written. What cannot is lost, and said so as soon as writing works again."""
        if not self.file.exists and now - self._tried >= _TRY_AGAIN:
            self._create(now)
        self._write(_FOREVER if self.over else now, lose)
        if self.over and self.file.exists:
            self._write_end()
        self.row["size"] = self.file.size

    def close(self) -> None:
        self.file.close()

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
        gap = line(lost_line(ready.t, *self._gap)) if any(self._gap) else b""
        count = 0
        if self.file.exists:
            count, self.error = self.file.append(gap + ready.data)
        if gap and count:
            self._gap, count = (0, 0), count - 1
        for lines, payload, counted in ready.weights[count:]:
            self._gap = (self._gap[0] + lines, self._gap[1] + payload)
            if not counted:
                self._lose(lines, payload)
                lose(lines, payload)

    def _write_end(self) -> None:
        assert self._end is not None
        t, how, summary = self._end
        if any(self._lost):
            summary |= {"lost": {"lines": self._lost[0], "bytes": self._lost[1]}}
        gap = line(lost_line(t, *self._gap)) if any(self._gap) else b""
        written, self.error = self.file.append(gap + line(end_line(t, how, **summary)))
        if written:
            self._gap = (0, 0)
        self.ended = self.error is None
