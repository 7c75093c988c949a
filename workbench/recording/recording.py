"""A recording: one exchange as the event loop tells it, and the bounded backlog from which the recorder's
thread takes it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from workbench.tape.format import End, Release, Side

T = TypeVar("T")

# The thread waits this long for more before it takes what there is: a wake-up for every line would cost the
# relay more than the line itself. So much is lost when the process is killed.
GATHER = 0.05


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


Op: TypeAlias = Literal["begin", "status", "read", "sent", "finding", "hold", "release", "end"]

_ITEM = 200  # what an item weighs beside its bytes
_HEADER = 16 << 10  # what a header weighs beside its messages
_NOTHING = (0, 0)


class Item(NamedTuple):
    """One thing that happened. `missed`: how many lines and bytes before it found no room."""

    recording: Recording
    op: Op
    t: float
    what: Any
    size: int
    missed: tuple[int, int] = _NOTHING


class Sink(Protocol):
    """Where items go: the recorder."""

    def put(self, item: Item, *, always: bool = False) -> bool: ...

    def lose(self, lines: int, payload: int) -> None: ...


class Recording:
    """Its methods are for one thread, the event loop's: they never wait and never raise."""

    __slots__ = ("_header", "_missed", "_over", "_sink", "id", "path")

    def __init__(
        self, sink: Sink, id: str, path: Path, header: Mapping[str, Any], secrets: tuple[str, ...]
    ) -> None:
        self.id = id
        self.path = path
        self._sink = sink
        self._missed = _NOTHING
        self._over = False
        # Kept until there is room for it: a tape whose beginning was late is better than none.
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

    def finding(self, t: float, code: str, level: str, message: str, where: str) -> None:
        """Something a replay could not find again: about the request, or about the proxy's own work."""
        self._put("finding", t, (code, level, message, where), len(message))

    def hold(self, t: float, breakpoint: str, message: str) -> None:
        """From here on the client has to wait."""
        self._put("hold", t, (breakpoint, message), len(message))

    def release(
        self, t: float, how: Release, seconds: float, keep: int | None = None, reads: Sequence[str] = ()
    ) -> None:
        """It waits no longer; `keep` and `reads` are what it gets instead of what upstream sent."""
        self._put("release", t, (how, seconds, keep, list(reads)), sum(map(len, reads)))

    def end(self, t: float, how: End, **summary: Any) -> None:
        """The last line; what comes after it is not recorded."""
        if not self._over:
            self._put("end", t, (how, summary), always=True)
            self._over = True

    def _begin(self) -> bool:
        if self._header is not None and self._sink.put(
            Item(self, "begin", 0.0, self._header, _weight(self._header[0]))
        ):
            self._header = None
        return self._header is None

    def _put(self, op: Op, t: float, what: Any, payload: int = 0, always: bool = False) -> None:
        item = Item(self, op, t, what, payload + _ITEM, self._missed)
        if not self._over and (self._header is None or self._begin()) and self._sink.put(item, always=always):
            self._missed = _NOTHING
            return
        self._missed = (self._missed[0] + 1, self._missed[1] + payload)
        self._sink.lose(1, payload)


def _weight(header: Mapping[str, Any]) -> int:
    """About how much memory a header is: exact would mean to write it as JSON, here in the event loop."""
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
    """Takes what a recording takes, for an exchange that gets no tape."""

    def __init__(self) -> None:
        self.id = ""
        self.path = Path()

    def status(self, *args: Any, **more: Any) -> None: ...
    def read(self, *args: Any) -> None: ...
    def sent(self, *args: Any) -> None: ...
    def finding(self, *args: Any) -> None: ...
    def hold(self, *args: Any) -> None: ...
    def release(self, *args: Any) -> None: ...
    def end(self, *args: Any, **summary: Any) -> None: ...
