"""Lists and texts that only grow, and that a snapshot may share without copying them."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeAlias, TypeVar

from transformer import findings
from transformer.records import Delta, DeltaKind, Event, Finding, Read, Record, Span, Transition
from transformer.sse import Frame

T = TypeVar("T")

_TOGETHER = 512  # pieces of a text that become one


class Growing(Generic[T]):
    """Append in constant time, clone in constant time.

    A clone shares the list: one that appends to a list that has grown beyond its own part takes
    a copy first. So a snapshot costs nothing, however long the held value is.
    """

    __slots__ = ("_list", "_used")

    def __init__(self) -> None:
        self._list: list[T] = []
        self._used = 0

    def append(self, item: T) -> None:
        if len(self._list) != self._used:
            self._list = self._list[: self._used]
        self._list.append(item)
        self._used += 1

    @property
    def items(self) -> list[T]:
        """What there is so far; not to be changed by the caller."""
        return self._list if len(self._list) == self._used else self._list[: self._used]

    def __len__(self) -> int:
        return self._used

    def clone(self) -> Growing[T]:
        twin: Growing[T] = Growing()
        twin._list, twin._used = self._list, self._used
        return twin


class Text(Growing[str]):
    """A text kept in pieces and joined on demand; every few hundred small pieces are merged to save
    memory."""

    __slots__ = ("_joined", "_until", "size")

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.size = 0
        self._joined = 0  # this many items at the start are already merged
        self._until = _TOGETHER
        if text:
            self.append(text)

    def append(self, item: str) -> None:
        # As above, spelled out: it runs for every delta of a long value.
        if len(self._list) != self._used:
            self._list = self._list[: self._used]
        self._list.append(item)
        self._used += 1
        self.size += len(item)
        if self._used == self._until:
            self._join()

    def _join(self) -> None:
        # Into another list: a snapshot may share this one.
        first = self._joined
        self._list = [*self._list[:first], "".join(self._list[first:])]
        self._joined = self._used = first + 1
        self._until = self._used + _TOGETHER

    def __str__(self) -> str:
        return "".join(self.items)

    def clone(self) -> Text:
        twin = Text()
        twin._list, twin._used, twin.size = self._list, self._used, self.size
        twin._joined, twin._until = self._joined, self._until
        return twin


Keep: TypeAlias = Literal["all", "findings", "none"]


class Journal:
    """Numbers records and keeps them; knows the read and the event that are being worked on."""

    __slots__ = ("all", "event", "events", "findings", "keep", "read", "reads", "records", "seq")

    def __init__(self, keep: Keep) -> None:
        if keep not in ("all", "findings", "none"):
            raise ValueError(f'records is "all", "findings" or "none", not {keep!r}')
        self.keep = keep
        self.all = keep == "all"
        self.records: Growing[Record] = Growing()
        self.findings: Growing[Finding] = Growing()
        self.events: Growing[Event] = Growing()
        self.reads: Growing[Read] = Growing()
        self.seq = 0
        self.read = -1
        self.event = -1

    def saw(self, frame: Frame) -> None:
        """The event that is being worked on, for the record."""
        data, name, start, end, lines = frame
        event = Event(self._next(), self.event, self.read, start, end, name, data, lines)
        self.events.append(event)
        self.records.append(event)

    def stepped(self, span: Span, *step: Any) -> None:
        """A step of a machine; `step` are the fields of a `Transition` after its span."""
        self.records.append(Transition(self._next(), self.read, self.event, span, *step))

    def sent(
        self,
        kind: DeltaKind,
        choice: int,
        text: str = "",
        span: Span | None = None,
        call: int | None = None,
        name: str | None = None,
        id: str | None = None,
    ) -> None:
        if self.all:
            self.records.append(
                Delta(self._next(), self.read, self.event, kind, choice, text, span, call, name, id)
            )

    def found(self, code: str, span: Span | None = None, call: int | None = None, **values: object) -> None:
        """Something worth telling."""
        if self.keep == "none":
            return
        level, message = findings.sentence(code, values)
        place = Span(0, "", 0, 0, self.event) if span is None else span
        finding = Finding(self._next(), self.read, self.event, code, level, message, place, call, values)
        self.findings.append(finding)
        self.records.append(finding)

    def _next(self) -> int:
        self.seq += 1
        return self.seq

    def clone(self) -> Journal:
        twin = Journal(self.keep)
        twin.records = self.records.clone()
        twin.findings = self.findings.clone()
        twin.events, twin.reads = self.events.clone(), self.reads.clone()
        twin.seq, twin.read, twin.event = self.seq, self.read, self.event
        return twin
