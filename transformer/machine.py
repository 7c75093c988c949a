"""The machine: runs one dialect's transition table over one channel of one choice."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from transformer.calls.fences import Fences
from transformer.calls.prose import Prose
from transformer.dialect import Dialect, Rule
from transformer.records import Span
from transformer.stream.outgoing import Op
from transformer.values.schema import Tool

if TYPE_CHECKING:
    from transformer.stream.choice import Choice


class Machine:
    """Feed it a channel's text in any pieces; it tells its `choice` what the client gets.

    Offsets count characters of the channel. `pos` is behind the token that is being worked on,
    `prev` the character before it (a newline at the start of the answer and behind a call, so
    that "at the start of a line" is one comparison).
    """

    __slots__ = (
        "_again", "_at", "_compiled", "_journal", "_lexicon", "_limit", "_loop", "_rest", "_rules", "_space",
        "_starts", "_text", "call", "channel", "choice", "dialect", "examples", "fences", "offered_until",
        "out", "pos", "prev", "prose", "received", "section", "settled", "state", "wrapped",
    )  # fmt: skip

    def __init__(self, dialect: Dialect, choice: Choice, channel: str) -> None:
        self.dialect = dialect
        self.choice = choice
        self.channel = channel
        self.out: list[Op] = []
        self.prose = Prose(self.out, choice.policy.after_call == "drop", self._dropped)
        self.fences = Fences()
        self._compiled = dialect.compiled
        self._text, self._space = dialect.text, dialect.space
        self._journal = choice.journal
        self._limit = choice.policy.max_call_bytes or 0
        self.call: Any = None  # the open call, of the dialect's own kind
        self.wrapped = False  # inside the dialect's wrapper around calls
        self.section: tuple[int, int] | None = None  # a section's first token, while it has no call
        self.examples = True  # nested examples are honoured
        self.offered_until = 0  # up to here only offered tools count
        self._again: tuple[StrEnum, int, str] | None = None
        self._rest = ""
        self._at = 0  # in the text that is being read: up to here it has been understood
        self.prev = "\n"
        self.pos = 0
        self.received = 0
        self.settled = 0
        self.state = dialect.initial
        self._enter(dialect.initial)

    # -- what the pipeline calls

    def feed(self, text: str) -> None:
        size = len(text)
        self.received += size
        loop, call = self._loop, self.call
        if (
            loop is None
            or self._rest
            or self._starts(text) is not None
            or (call is not None and call.size + 4 * size > self._limit)
        ):
            self._lex(text)
            return
        # Text without a token, in a state that it does not change: most deltas of most streams.
        self.pos += size
        self.prev = text[-1]
        loop(self, text, "")

    def finish(self) -> None:
        """The answer is over. An action may ask to look at some text again, knowing that."""
        self._end()
        while self._again is not None:
            state, self.pos, text = self._again
            self._again = None
            self._enter(state)
            self._lex(text)
            self._end()
        self.prose.end()

    def _end(self) -> None:
        dialect = self.dialect
        if self._rest:
            rest, self._rest = self._rest, ""
            token = dialect.leftover(self, rest) if dialect.leftover else dialect.text
            taken = self._take(token, rest, "")
            if taken < len(rest):
                self._step(dialect.text, rest[taken:], "")
        self._step(dialect.end, "", "")

    @property
    def held(self) -> int:
        """Characters that came and have no fate yet."""
        return self.received - self.settled - self.prose.settled

    # -- what the dialects' actions call

    def say(self, text: str) -> None:
        """The text that was just read is prose."""
        self.say_at(self.pos - len(text), text)

    def say_at(self, start: int, text: str) -> None:
        if self.dialect.fenced:
            self.fences.feed(text)
        self.prose.text(start, text)

    def again(self, state: StrEnum, start: int, text: str) -> None:
        """At the end of the answer: go back to `start` and read `text` once more from `state`."""
        self._again = (state, start, text)

    def span(self, start: int, end: int) -> Span:
        return Span(self.choice.index, self.channel, start, end, self._journal.event)

    def found(self, code: str, start: int, end: int, **values: object) -> None:
        index = None if self.call is None else self.call.index
        self._journal.found(code, self.span(start, end), index, **values)

    def tool(self, name: str) -> Tool | None:
        return self.choice.tools.get(name)

    def line_start(self, text: str, start: int) -> bool:
        """Whether `start`, in the text that is being read, is at the start of a line."""
        return (self.prev if start == self._at else text[start - 1]) in "\n\r"

    # -- the loop

    def _lex(self, text: str) -> None:
        if self._rest:
            text = self._rest + text
            self._rest = ""
        pos = 0
        while pos < len(text):
            start, end, token, name = self._next(text, pos)
            if start > pos:
                # Plain text first: it may lead to another state, where the token means something else.
                run = text[pos:start]
                pos += self._take(self._space if run.isspace() else self._text, run, "")
            elif token is None:
                self._rest = text[pos:]
                return
            else:
                pos += self._take(token, text[pos:end], name)

    def _next(self, text: str, pos: int) -> tuple[int, int, StrEnum | None, str]:
        """Where the next token starts and ends, and what it is; None if that is undecided."""
        dialect, lexicon = self.dialect, self._lexicon
        self._at = pos
        start = lexicon.find(text, pos)
        while start >= 0:
            if start > pos and dialect.fenced and self.call is None and text[start - 1] in "\n\r":
                return start, start, None, ""  # a fence may end in the text before it
            match = lexicon.token.match(text, start)
            if match:
                token, name = dialect.classify(self, text, match)
                if token is not dialect.text:
                    return start, match.end(), token, name
            elif lexicon.partial.match(text, start) and dialect.undecided(self, text, start):
                return start, start, None, ""
            start = lexicon.find(text, match.end() if match else start + 1)
        return len(text), len(text), None, ""

    def _take(self, token: StrEnum, text: str, name: str) -> int:
        """One step, unless it makes the open call too long; returns how many characters it took.

        A call ends at the very byte where it gets too long, so that this, too, is the same for
        every cut.
        """
        call = self.call
        size = len(text)
        if call is not None and call.size + 4 * size > self._limit:
            size = _fitting(text, self._limit - call.size)
        if size == len(text):
            self._step(token, text, name)
        elif size:
            self._take_part(token, text[:size])
        if self.call is not None and (size < len(text) or self.call.size > self._limit):
            self.call.overflow(self)
        return size

    def _take_part(self, token: StrEnum, text: str) -> None:
        """The part of a token that still belongs to a call that is too long."""
        if token in (self._text, self._space):
            self._step(self._space if text.isspace() else self._text, text, "")
            return
        start, state = self.pos, self.state
        self.pos += len(text)
        self.call.add(text)
        if self._journal.all:
            span, to = self.span(start, self.pos), self.dialect.initial
            self._journal.stepped(span, state, token, "too long", to, text, self.held, self.call.index)

    def _step(self, token: StrEnum, text: str, name: str) -> None:
        rule = self._rules[token]
        state = self.state
        self.pos += len(text)
        if text:
            self.prev = text[-1]
        if self._journal.all:
            self._traced(rule, token, text, name)
            return
        rule.action(self, text, name)
        if rule.to is not state:
            self._enter(rule.to)

    def _traced(self, rule: Rule, token: StrEnum, text: str, name: str) -> None:
        state, start = self.state, self.pos - len(text)
        call = self.call
        rule.action(self, text, name)
        if rule.to is not state:
            self._enter(rule.to)
        call = self.call or call
        self._journal.stepped(
            self.span(start, start + len(text)), state, token, rule.name, rule.to, text, self.held,
            None if call is None else call.index,
        )  # fmt: skip

    def _enter(self, state: StrEnum) -> None:
        self.state = state
        self._rules, self._lexicon = self._compiled[state]
        self._starts = self._lexicon.starts.match
        rule = self._rules[self._text]
        steady = rule.to is state and rule is self._rules[self._space] and not self._journal.all
        self._loop = rule.action if steady else None

    def restart(self) -> None:
        """Back to the first state, whatever the table says; the open call is settled."""
        self.call = None
        self._enter(self.dialect.initial)

    def _dropped(self, start: int, end: int) -> None:
        self.found("text-after-call", start, end, count=end - start)

    def clone(self, choice: Choice) -> Machine:
        twin = Machine.__new__(Machine)
        for slot in Machine.__slots__:
            setattr(twin, slot, getattr(self, slot))
        twin.choice = choice
        twin._journal = choice.journal
        twin.out = self.out.copy()
        twin.prose = self.prose.clone(twin.out, twin._dropped)
        twin.fences = self.fences.clone()
        twin.call = None if self.call is None else self.call.clone()
        return twin


def size_of(text: str) -> int:
    """Bytes of the text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _fitting(text: str, room: int) -> int:
    """How many characters of `text` fit into `room` bytes."""
    if text.isascii():
        return max(0, min(len(text), room))
    encoded = text.encode()
    if len(encoded) <= room:
        return len(text)
    return len(encoded[: max(0, room)].decode("utf-8", "ignore"))
