"""The provenance of rows: the bytes, the events and the calls behind them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from typing import TypeAlias

from transformer import Delta, Event, Finding, MessageTransformer, Span, StreamTransformer, Transition
from transformer.provenance import SourceMap
from transformer.records import Ranges
from workbench.player.rails import Rails
from workbench.player.tracks import Item, Tracks
from workbench.tape import Line

Transformer: TypeAlias = StreamTransformer | MessageTransformer
_PLACES = 4096  # spans whose bytes are remembered: some screens full


class Provenance(Tracks):
    """What the transformer that made the rows can tell about them."""

    def __init__(self) -> None:
        super().__init__()
        self._stream: StreamTransformer | None = None
        self._message: MessageTransformer | None = None
        self._events = array("q")  # where each event ends in `data`, or a longer one before it
        self._events_known = array("q")  # the step with which each event was whole
        self._rails = Rails()
        self._places: dict[Span, Ranges] = {}

    @property
    def _source(self) -> Transformer | None:
        return self._stream or self._message

    @property
    def findings(self) -> list[Finding]:
        source = self._source
        return list(source.findings) if source is not None else []

    @property
    def unaccounted(self) -> int:
        source = self._source
        return source.unaccounted if source is not None else 0

    # -- bytes

    def bytes_of(self, item: Item) -> Ranges:
        """The upstream bytes behind a row."""
        if isinstance(item, int):
            return ((self.starts[item], self.read_end(item)),)
        if isinstance(item, Event):
            return ((item.start, item.end),)
        if isinstance(item, Delta) and item.kind in ("native", "other"):
            event = self.event(item.event)
            return () if event is None else ((event.start, event.end),)
        span = None if isinstance(item, Line) else item.span
        return self._resolved(span) if span is not None else ()

    def bytes_at(self, step: int) -> Ranges:
        """The upstream bytes behind the row that a step made."""
        return self.bytes_of(self.item(*self.place(step))) if step >= 0 else ()

    def _resolved(self, span: Span) -> Ranges:
        source = self._source
        if source is None:
            return ()
        if span.channel:
            return self._located(source, span)
        event = self.event(span.event)
        return () if event is None else ((event.start, event.end),)

    def _located(self, source: Transformer, span: Span) -> Ranges:
        """Finding bytes means reading the JSON of events again, and a screen asks for the same ones often."""
        found = self._places.get(span)
        if found is None:
            if len(self._places) >= _PLACES:
                self._places.clear()
            found = self._places[span] = source.bytes_of(span)
        return found

    # -- events and calls

    def event(self, number: int) -> Event | None:
        source = self._source
        events = source._journal.events.items if source is not None else []
        return events[number] if 0 <= number < len(events) else None

    @property
    def sources(self) -> Mapping[tuple[int, str], SourceMap]:
        """By choice and channel: in which string of which event each character of the text stands."""
        if self._stream is not None:
            return self._stream._answer.sources
        return self._message._sources if self._message is not None else {}

    def call_of(self, event: int, step: int | None = None) -> int | None:
        """The call that an event has text of, as far as that was known at a step; None means: now."""
        return self._rails.call_of(event, self.steps if step is None else step)

    def events_in(self, number: int, step: int | None = None) -> list[Event]:
        """The events that a read has a part of and that were whole at a step; None means: now."""
        source = self._source
        if source is None:
            return []
        events = source._journal.events.items
        start, end = self.starts[number], self.read_end(number)
        found = []
        for at in range(bisect_right(self._events, start), len(events)):
            if events[at].start >= end or (step is not None and self._events_known[at] > step):
                break
            if events[at].end > start:
                found.append(events[at])
        return found

    # -- more of it

    def _saw_event(self, event: Event, since: int) -> None:
        """One that is whole since a step. Lines that were taken apart are events inside the one before."""
        self._events.append(max(event.end, self._events[-1] if self._events else 0))
        self._events_known.append(since)

    def _belongs(self, step: Transition, call: int) -> None:
        """The events that a step's text came in; a marker may have begun some events before."""
        self._rails.add(step.event, call, self.steps)
        if self._rails.knows(step.event - 1):
            return
        for start, _ in self._resolved(step.span)[:1]:
            for number in range(bisect_right(self._events, start), step.event):
                self._rails.add(number, call, self.steps)
