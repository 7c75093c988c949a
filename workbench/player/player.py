"""A tape as far as it is known, with everything that its lines lead to."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from transformer import Delta, Event, Transition
from transformer.answer.chunks import dumps
from transformer.answer.conformance import Check, Conformance
from workbench.errors import UserError
from workbench.player.bodies import begins_object, object_in
from workbench.player.comparison import Comparison, Difference
from workbench.player.panes import Pane
from workbench.player.provenance import Provenance
from workbench.recipe import Recipe, Wishes, make_recipe
from workbench.tape import Line

# A streamed answer; one that came whole; nothing to convert (another endpoint, an error).
Mode: TypeAlias = Literal["stream", "message", "plain"]


class Player(Provenance):
    """Feed it a tape's lines; read rows from it.

    Among its records are `Check`s, which are on no tape and say how upstream's own events and calls suit
    clients.
    """

    def __init__(self, header: Mapping[str, Any], wishes: Wishes | None = None) -> None:
        super().__init__()
        self.header = header
        self.problem: str | None = None
        self.mode: Mode = "plain"
        self.status: dict[str, int] = {}  # by side
        self._recipe = self._make_recipe(wishes or Wishes())
        self._blank = True  # nothing has come that could tell what it is
        self._whole: dict[str, Any] | None = None  # what it made
        self.whole_at: int | None = None  # the step before which an answer in one piece was all there
        self._next_try = 0  # how much of a body that is not whole yet is to be read again
        self._conformance: Conformance | None = None
        self._taken = 0  # records of the transformer
        self._comparison = Comparison()

    # -- what is known

    @property
    def dialect(self) -> str:
        return str(self.header.get("dialect"))

    @property
    def completion(self) -> dict[str, Any] | None:
        """The answer so far, as a client would have put it together."""
        return self._stream.completion if self._stream is not None else self._whole

    @property
    def difference(self) -> Difference | None:
        """Where what the client got is not what today's code would send."""
        return self._comparison.difference

    # -- more of the tape

    def add(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.now = max(self.now, line.t)
            kind = line.kind
            if kind == "read":
                self._read(line.t, line.data)
            elif kind == "sent":
                self._was_sent(line)
            elif kind == "status":
                self._status(line)
            elif kind == "end":
                self._end(line)
            else:
                self._line(Pane.MACHINE if "finding" in line.value else Pane.UPSTREAM, line)

    def _status(self, line: Line) -> None:
        side, status = line.value.get("side"), line.value.get("status")
        if isinstance(side, str) and isinstance(status, int):
            self.status[side] = status
        if side == "client":
            self._read_whole()
        self._line(Pane.CLIENT if side == "client" else Pane.UPSTREAM, line)

    def _read(self, t: float, data: bytes) -> None:
        if self._blank:
            self._choose_mode(data)
        self._came(t, data)
        sent = len(self.panes[Pane.CLIENT])
        if (stream := self._stream) is not None:
            made = self._safely(lambda: stream.feed(data))
            if not self._collected:
                self._comparison.made(made, self.reads - 1)
            self._collect(self.steps - 1)
        elif len(self.data) >= self._next_try:
            # A whole answer is one read. One that came in several is not to be parsed with each of them.
            self._next_try = 2 * len(self.data)
            self._read_whole()
        self._note_held(moves=len(self.panes[Pane.CLIENT]) > sent)

    def _choose_mode(self, data: bytes) -> None:
        """What kind of answer this is; its first bytes tell where the header does not.

        A stream, as long as there is nothing but blanks: some servers send them to keep a connection open.
        """
        self._blank = not data.removeprefix(BOM_UTF8).strip()
        refused = not 200 <= self.status.get("upstream", 200) < 300
        if self._recipe is None or self.header.get("kind") == "relay" or refused:
            return
        if begins_object(data) and self.header.get("stream") is not True:
            self.mode, self._stream, self._message = "message", None, self._recipe.message("all")
            self._conformance = Conformance(self._message.setting, streamed=False)
        elif self._stream is None:
            self.mode, self._stream = "stream", self._recipe.stream("all")
            self._conformance = Conformance(self._stream.setting)

    @property
    def _collected(self) -> bool:
        """Upstream streamed to a client that had not asked for it: that one got a message."""
        asked = self.header.get("stream") is not False
        return self._stream is not None and not asked and not self._stream.setting.raw

    def _read_whole(self) -> None:
        """Converts an answer that came in one piece, as soon as it is whole."""
        message = self._message
        if message is None or self._whole is not None:
            return
        data = bytes(self.data)
        value = object_in(data)
        if value is None:
            return

        self.whole_at = self.steps

        def convert() -> bytes:
            self._whole = value  # if that fails, the client got it as it came
            self._whole = message.convert(value, data)
            return data if message.setting.raw else dumps(self._whole)

        self._comparison.made(self._safely(convert), self.reads - 1)
        self._collect(self.steps)

    def _safely(self, work: Callable[[], bytes]) -> bytes:
        """A failure of the transformer is something to show, never something to crash on."""
        try:
            return work()
        except Exception as error:
            self.problem = self.problem or f"the transformer failed: {type(error).__name__}: {error}"
            return b""

    def _collect(self, since: int) -> None:
        """New records become rows; `since` is the step with which what they come from was there."""
        source = self._stream or self._message
        assert source is not None and self._conformance is not None
        all_records = source.records
        for number in range(self._taken, len(all_records)):
            record = all_records[number]
            if isinstance(record, Event):
                self._saw_event(record, since)
                self._show_checks(self._conformance.event(record))
            elif isinstance(record, Delta):
                self._record(Pane.CLIENT, self._named(record) if record.kind == "native" else record)
            else:
                if record.call is not None and isinstance(record, Transition):
                    self._belongs(record, record.call)
                self._record(Pane.MACHINE, record)
        self._taken = len(all_records)
        self._note_work(self.unaccounted)

    def _show_checks(self, checks: Iterable[Check]) -> None:
        for check in checks:
            self._record(Pane.MACHINE, check)

    def _named(self, delta: Delta) -> Delta:
        """The transformer passes on a call of upstream's own unread; what it says is shown all the same."""
        assert self._conformance is not None
        native = self._conformance.natives.get(delta.choice)
        if native is None:
            return delta
        self._rails.add(delta.event, native.call, self.steps)
        return replace(delta, call=native.call, text=native.text)

    def _was_sent(self, line: Line) -> None:
        own = "by" not in line.value and self.mode != "plain"
        if own:
            self._read_whole()
            self._comparison.sent(line.data)
        if not own or self.mode == "message" or self._collected:
            self._line(Pane.CLIENT, line)

    def _end(self, line: Line) -> None:
        self.end = line
        how = line.value.get("end")
        if self.status.get("client", 200) < 300:
            if how != "cancelled":
                self._conclude(how == "error", line.value.get("error") or "no reason is on the tape")
            else:
                self._read_whole()  # what was all there, in however many reads
            if self._conformance is not None:
                self._show_checks(self._conformance.end(cut=how in ("cancelled", "error")))
        self._line(Pane.UPSTREAM, line)

    def _conclude(self, broke: bool, error: Any) -> None:
        """The last of what should have been sent, and whether anything is left over."""
        if (stream := self._stream) is not None:
            made = self._safely(lambda: stream.fail(error) if broke else stream.finish())
            whole = self._safely(lambda: dumps(stream.completion)) if self._collected else made
            self._comparison.made(whole, self.reads - 1)
            self._collect(self.steps)
        elif self._message is not None:
            self._read_whole()
        self._comparison.end()

    def _make_recipe(self, wishes: Wishes) -> Recipe | None:
        try:
            return make_recipe(self.header, wishes)
        except UserError as error:
            self.problem = error.message
            return None
