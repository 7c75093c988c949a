"""The journal: every record of one answer, in order, as far as somebody wants them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from transformer import findings
from transformer.growing import Growing
from transformer.records import Delta, DeltaKind, Event, Finding, Read, Record, Span, Transition
from transformer.sse import Frame

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

    def stepped(
        self, span: Span, state: str, token: str, rule: str, to: str, text: str, held: int, call: int | None
    ) -> None:
        self.records.append(
            Transition(self._next(), self.read, self.event, span, state, token, rule, to, text, held, call)
        )

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
        finding = Finding(self._next(), self.read, self.event, code, level, message, place, call)
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
