"""Following: which exchange is shown while a person only watches.

One that runs is shown until it ends, however many others begin meanwhile; after its end it stays for a
moment, so that its end can be read, and a short one stays long enough to be seen at all. Then comes the next
one, in the order in which they began. If too many wait, the newest is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from workbench.library.summary import Row

SEEN = 1.5  # seconds that an exchange is shown at least
HURRIED = 0.8  # the same while others wait
ENDED = 0.7  # seconds that its end is shown at least
_WAIT = 4  # this many may wait to be shown one after the other


class Follow:
    """`session`: only its exchanges are followed; None: all of them. Times are those of one steady clock."""

    def __init__(self) -> None:
        self.on = True
        self.session: str | None = None
        self.others = 0  # exchanges that run beside the one that is shown
        self._path = ""  # of the one that is shown
        self._shown_at = 0.0
        self._ended_at: float | None = None

    def all(self) -> None:
        self.on, self.session = True, None

    def only(self, session: str) -> None:
        self.on, self.session = True, session

    def off(self) -> None:
        self.on = False

    def goes(self, rows: Sequence[Row], shown: str | None, now: float) -> str | None:
        """The exchange to go to, by its tape; None: stay. `rows` are those that are listed, the newest first,
        `shown` is the tape of the one that is shown."""
        rows = [row for row in rows if self.session in (None, row.session)] if self.session else rows
        here = next((row for row in rows if row.path == shown), None)
        self._note(here, shown or "", now)
        running = [row for row in rows if row.state == "running"]
        self.others = sum(row.path != shown for row in running)
        if not self.on or not rows:
            return None
        if here is None:
            return (running or rows)[0].path
        waiting = [*takewhile(lambda row: row.started > here.started, rows)]
        waiting += [row for row in running if row.started <= here.started and row is not here]
        if not waiting or not self._may_leave(here, len(waiting), now):
            return None
        if len(waiting) > _WAIT:
            return next((row for row in waiting if row.state == "running"), waiting[0]).path
        return min(waiting, key=lambda row: row.started).path

    def _note(self, here: Row | None, path: str, now: float) -> None:
        """Note since when it is shown, and since when it is over."""
        if path != self._path:
            # One that ended before it was shown need not be seen to end.
            over = here is not None and here.state != "running"
            self._path, self._shown_at, self._ended_at = path, now, 0.0 if over else None
        elif self._ended_at is None and here is not None and here.state != "running":
            self._ended_at = now

    def _may_leave(self, here: Row, waiting: int, now: float) -> bool:
        if here.state == "running" or self._ended_at is None:
            return False
        seen = HURRIED if waiting > 1 else SEEN
        return now - self._shown_at >= seen and now - self._ended_at >= ENDED
