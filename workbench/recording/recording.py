"""A recording: one exchange as the event loop tells it, and the bounded backlog from which the recorder's
thread takes it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from workbench.tape.format import End, Release, Side

T = TypeVar("T")

# The thread waits this long for more before it takes what there is: a wake-up for every line would cost the
# relay more than the line itself. This much is lost when the process is killed.
GATHER = 0.05


class Backlog(Generic[T]):
    """One thread puts, another takes. Putting never waits, as it takes no lock: each number is written by
    one of the two only, and a deque loses nothing between them."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.closed = False
        self.overrun = False  # an item was refused, and the backlog is still more than half full
        self._hurry_at = limit // 4
        self._items: deque[T] = deque()
        self._put = 0  # bytes that ever came
        self._done = 0  # bytes that were processed
        self._called = False  # the taker is awake; waking it up costs more than putting an item
        self._closing = threading.Lock()
        self._some = threading.Event()
        self._hurry = threading.Event()

    @property
    def size(self) -> int:
        """Bytes that are in memory."""
        return self._put - self._done

    def put(self, item: T, size: int, *, always: bool = False) -> bool:
        """False when there is no room: nothing was put. `always` is for small things that count."""
        before = self._put - self._done
        if self.closed:
            return False
        # An item larger than the whole limit fits only into an empty backlog.
        if before and before + size > self.limit and not always:
            self.overrun = True
            return False
        self._put += size
        self._items.append(item)
        if not self._called:  # after the item is there: it is looked for after this is false
            self._called = True
            self._some.set()
        if before + size > self._hurry_at and not self._hurry.is_set():
            self._hurry.set()
        return True

    def take(self, timeout: float | None) -> list[T]:
        """All items, gathered for a moment; none after `timeout` seconds without any.

        Taken items still count until `done` is called: they are in memory while the disk is busy.
        """
        if not self._called and not self._some.wait(timeout):
            return []
        self._hurry.wait(GATHER if timeout is None else min(GATHER, timeout))
        with self._closing:
            if not self.closed:
                self._hurry.clear()
                if not self._items:  # it has become quiet: the next put has to wake us
                    self._some.clear()
                    self._called = False
        items = self._items
        return [items.popleft() for _ in range(len(items))]

    def done(self, size: int) -> None:
        """This many bytes have been processed."""
        self._done += size
        if self.size < self.limit // 2:
            self.overrun = False

    def close(self) -> None:
        """Nothing more is put; the taker must take the rest at once."""
        with self._closing:
            self.closed = True
        self._hurry.set()
        self._some.set()


Op: TypeAlias = Literal["carried", "begin", "status", "read", "sent", "finding", "hold", "release", "end"]

_ITEM = 200  # memory of an item besides its bytes
_HEADER = 16 << 10  # memory of a header besides its messages
_NOTHING = (0, 0)


class Item(NamedTuple):
    """One thing that happened. `missed`: how many lines and bytes before it were refused."""

    recording: Recording
    op: Op
    t: float
    what: Any
    size: int
    missed: tuple[int, int] = _NOTHING


_made = tuple.__new__  # as its own `__new__`, which is a function of Python

Lose: TypeAlias = Callable[[int, int], None]  # lines and bytes that will not be on any tape


class Recording:
    """Its methods are for one thread, the event loop's: they never wait and never raise."""

    __slots__ = ("_backlog", "_header", "_lose", "_missed", "_over", "id", "path")

    def __init__(
        self,
        backlog: Backlog[Item],
        lose: Lose,
        id: str,
        path: Path,
        header: Mapping[str, Any],
        secrets: tuple[str, ...],
    ) -> None:
        self.id = id
        self.path = path
        self._backlog = backlog
        self._lose = lose
        self._missed = _NOTHING
        self._over = False
        # Kept until there is room for it: a tape with a late beginning is better than none.
        self._header: tuple[Mapping[str, Any], tuple[str, ...]] | None = (header, secrets)
        self._begin()

    def status(
        self,
        t: float,
        side: Side,
        status: int,
        headers: Iterable[tuple[str, str]],
        chat: Mapping[str, Any] | None = None,
    ) -> None:
        """One side's status and headers; `chat` is which turn of which chat upstream answers."""
        self._put("status", t, (side, status, [tuple(pair) for pair in headers], chat))

    def read(self, t: float, data: bytes) -> None:
        """A piece from upstream."""
        self._put("read", t, data, len(data))

    def sent(self, t: float, data: bytes, by: str | None = None) -> None:
        """A piece to the client; `by` says who made it when the transformer did not."""
        self._put("sent", t, (data, by), len(data))

    def carried(self, t: float, data: bytes, sent_at: float, out: bytes) -> None:
        """Both at once, as for most pieces: what came, and what the client got for it."""
        # As `_put`, spelled out for the usual case: it runs for every piece of every stream.
        payload = len(data) + len(out)
        size = payload + _ITEM
        item = _made(Item, (self, "carried", t, (data, sent_at, out), size, _NOTHING))
        usual = self._header is None and not self._over and not self._missed[0]
        if not usual or not self._backlog.put(item, size):
            self._put("carried", t, (data, sent_at, out), payload, lines=2)

    def finding(self, t: float, code: str, level: str, message: str, where: str) -> None:
        """Something a replay could not find again: about the request, or about the proxy's own work."""
        self._put("finding", t, (code, level, message, where), len(message))

    def hold(self, t: float, breakpoint: str, message: str) -> None:
        """From here on the client has to wait."""
        self._put("hold", t, (breakpoint, message), len(message))

    def release(
        self, t: float, how: Release, seconds: float, keep: int | None = None, reads: Sequence[str] = ()
    ) -> None:
        """The client waits no longer; `keep` and `reads` are what it gets instead of what upstream sent."""
        self._put("release", t, (how, seconds, keep, list(reads)), sum(map(len, reads)))

    def end(self, t: float, how: End, **summary: Any) -> None:
        """The last line; what comes after it is not recorded."""
        if not self._over:
            self._put("end", t, (how, summary), always=True)
            self._over = True

    def _begin(self) -> bool:
        if self._header is not None:
            size = _weight(self._header[0])
            if self._backlog.put(Item(self, "begin", 0.0, self._header, size), size):
                self._header = None
        return self._header is None

    def _put(
        self, op: Op, t: float, what: Any, payload: int = 0, always: bool = False, lines: int = 1
    ) -> None:
        size = payload + _ITEM
        item = Item(self, op, t, what, size, self._missed)
        ready = not self._over and (self._header is None or self._begin())
        if ready and self._backlog.put(item, size, always=always):
            self._missed = _NOTHING
            return
        self._missed = (self._missed[0] + lines, self._missed[1] + payload)
        self._lose(lines, payload)


def _weight(header: Mapping[str, Any]) -> int:
    """The approximate memory of a header: for the exact size it would have to be written as JSON, in the
    event loop."""
    size = _HEADER
    for key in ("request", "upstream_request"):
        body = header.get(key)
        messages = body.get("messages") if isinstance(body, Mapping) else None
        for message in messages if isinstance(messages, list) else ():
            content = message.get("content") if isinstance(message, Mapping) else None
            if isinstance(content, str):
                size += len(content)
    return size


class Unrecorded(Recording):
    """The same methods for an exchange that gets no tape."""

    def __init__(self) -> None:
        self.id = ""
        self.path = Path()

    def status(self, *args: Any, **more: Any) -> None: ...
    def read(self, *args: Any) -> None: ...
    def sent(self, *args: Any) -> None: ...
    def carried(self, *args: Any) -> None: ...
    def finding(self, *args: Any) -> None: ...
    def hold(self, *args: Any) -> None: ...
    def release(self, *args: Any) -> None: ...
    def end(self, *args: Any, **summary: Any) -> None: ...
