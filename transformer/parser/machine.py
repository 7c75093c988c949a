"""The machine: runs a dialect's transition table over one channel of one choice.

How it works, in one page. A dialect is a finite state machine that is written down as data. Text arrives in
pieces that are cut anywhere; the dialect's `Lexicon` for the current state finds the next *token* in it: a
marker, a tag, a run of plain text or of whitespace, the end of the answer. The table has one entry for every
pair of state and token,

    S.CLOSED, T.OPEN:  [Rule(S.EXAMPLE, ..., when=is_own), Rule(S.VALUE, ..., when=is_new), Rule(...)]

and an entry is one rule, or several of which all but the last have a *guard*: the first rule whose guard
holds is the one that fires. A rule names the next state, its *effects* as data (so that they need not be
guessed from a name), the action that carries them out, and the reason in words. An action does what its rule
says; it cannot refuse the transition, so what is recorded is what happened.

What is the same in every state of every dialect is listed in `EVERYWHERE`, which the screen and the documents
show beside each table: a call that is too long, a thought, an answer that turns out to be written in another
dialect, and what the policy does not let through. Nothing else decides anything.

Three things make this fast and independent of how the text was cut:

* A token that has only begun at the end of a piece is held back if `Dialect.holds` says that it could still
  matter here; otherwise the text goes on. Held text is looked at again from its first character, and a token
  has a bounded length, so the work is linear.
* In a state that plain text does not leave (the inside of a value, prose), tokens for which the entry is the
  very rule of plain text are part of the run around them, and a piece without any token start takes a short
  cut that does nothing but run that one action.
* A call has a limit in bytes, and it ends at the very byte where it gets too long.

An action at the end of the answer may ask to read some text again from another state (`Machine.again`),
knowing now that nothing follows. Its rule leads to that state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

from transformer.journal import Journal
from transformer.parser.dialect import (
    AFTER_CALL,
    FIRST_ONLY,
    OTHER_DIALECT,
    REFUSED,
    THOUGHT,
    TOO_LONG,
    Action,
    Dialect,
    Everywhere,
    Memory,
    Notices,
    Rule,
    Rules,
)
from transformer.parser.output import Markdown, Op, Prose
from transformer.policy import Policy
from transformer.records import Effect, Span
from transformer.values.schema import Tool


class Host(Protocol):
    """What a machine needs to know of the choice it works for; the choice admits its calls."""

    index: int
    policy: Policy
    tools: Mapping[str, Tool]
    tools_known: bool
    journal: Journal
    next_index: int

    @property
    def was_cut(self) -> bool: ...
    def rejects(self, name: str) -> bool: ...
    def refuses(self, name: str) -> bool: ...
    def admit(
        self, m: Machine, name: str, id: str | None, start: int, end: int
    ) -> tuple[int, str] | None: ...


class Call(Protocol):
    """What a machine needs to know of the open call, which is of the dialect's own kind."""

    index: int
    name: str
    size: int  # bytes of its text
    begun: bool  # the client knows of it
    dropped: bool  # the policy keeps it from the client
    key: str  # the parameter whose value is being read, where they are read one by one

    def add(self, text: str) -> None: ...
    def release(self, m: Machine) -> None: ...
    def overflow(self, m: Machine) -> None: ...
    def clone(self) -> Call: ...


class Machine:
    """Feed it a channel's text in any pieces; what the client gets is in `out`.

    Offsets count characters of the channel. `pos` is after the token that is being worked on,
    `prev` the character before it (a newline at the start of the answer and after a call, so
    that "at the start of a line" is one comparison).
    """

    __slots__ = (
        "_again", "_at", "_compiled", "_journal", "_lexicon", "_limit", "_loop", "_memories", "_rest",
        "_rules", "_space", "_starts", "_steady", "_text", "call", "channel", "choice", "dialect", "examples",
        "in_thought", "line", "markdown", "memory", "out", "pos", "prev", "prose", "received", "settled",
        "state", "wrapped",
    )  # fmt: skip

    def __init__(self, dialect: Dialect, choice: Host, channel: str) -> None:
        self.dialect = dialect
        self.choice = choice
        self.channel = channel
        self.out: list[Op] = []
        self.prose = Prose(self.out, choice.policy.after_call == "drop", self._dropped)
        self.markdown = Markdown()
        self._compiled = dialect.compiled
        self._text, self._space = dialect.text, dialect.space
        self._journal = choice.journal
        self._limit = choice.policy.max_call_bytes or 0
        self.call: Call | None = None  # the open call
        self.wrapped = False  # inside the dialect's wrapper around calls
        self.examples = True  # nested examples are honoured
        self._memories: dict[Callable[[], Memory], Memory] = {}
        self.memory = self._remembered(dialect)
        self.in_thought = False  # what comes now is a thought, if thoughts are looked for
        self.line = True  # the token that is being decided is at the start of a line
        self._again: tuple[int, str] | None = None
        self._rest = ""
        self._at = 0  # in the text that is being read: processed up to here
        self.prev = "\n"
        self.pos = 0
        self.received = 0
        self.settled = 0
        self.state = dialect.initial
        self._enter(dialect.initial)

    # -- what a choice calls

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

    @property
    def notices(self) -> Notices | None:
        """While text passes straight through: the test for text that must be lexed. None: all text must
        be."""
        flows = self._loop is prose and not self._rest and self.call is None and self.prose.flows
        return self._starts if flows else None

    def passed_on(self, text: str) -> None:
        """Text without whitespace at its end was passed on without being lexed."""
        self.received += len(text)
        self.pos += len(text)
        self.prev = text[-1]
        if self.dialect.fenced:
            self.markdown.feed(text)
        self.prose.flowed(len(text))

    def arrived(self, text: str) -> None:
        """Text came that somebody looks at first: it is held until `feed_arrived` or `pass_by` brings it."""
        self.received += len(text)

    def feed_arrived(self, part: str) -> None:
        """A part of the text that arrived is to be read; `feed` counts it once more."""
        self.received -= len(part)
        self.feed(part)

    def pass_by(self, text: str) -> None:
        """A part of the text that arrived, in which nothing is to be read; no call is open."""
        self.pos += len(text)
        self.prev = text[-1]
        self.say(text)
        if self._journal.all:
            self._record(THOUGHT, self.state, self._text, text)

    def finish(self) -> None:
        """The answer is over. An action may ask to look at some text again, knowing that."""
        self._end()
        while self._again is not None:
            (self.pos, text), self._again = self._again, None
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
                self._take(dialect.text, rest[taken:], "")
        self._step(dialect.end, "", "")

    @property
    def held(self) -> int:
        """Characters that came and are undecided."""
        return self.received - self.settled - self.prose.settled

    # -- what the dialects' guards and actions call

    def say(self, text: str) -> None:
        """The text that was just read is prose."""
        self.say_at(self.pos - len(text), text)

    def say_at(self, start: int, text: str) -> None:
        if self.dialect.fenced:
            self.markdown.feed(text)
        self.prose.text(start, text)

    def think(self, text: str) -> None:
        """The text that was just read is a thought, which is not said to the user."""
        self.prose.text(self.pos - len(text), text, thought=True)

    def again(self, start: int, text: str) -> None:
        """At the end of the answer: go back to `start` and read `text` again, from the rule's next
        state.
        """
        self._again = (start, text)

    def span(self, start: int, end: int) -> Span:
        return Span(self.choice.index, self.channel, start, end, self._journal.event)

    def found(self, code: str, start: int, end: int, **values: object) -> None:
        index = None if self.call is None else self.call.index
        self._journal.found(code, self.span(start, end), index, **values)

    def tool(self, name: str) -> Tool | None:
        return self.choice.tools.get(name)

    def starts_line(self, text: str, start: int) -> bool:
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
        """Start, end and kind of the next token that matters; None if that is undecided."""
        dialect, lexicon = self.dialect, self._lexicon
        self._at = pos
        start = lexicon.find(text, pos)
        while start >= 0:
            match = lexicon.token.match(text, start)
            if start > pos and dialect.fenced and self.call is None and self._looks_back(text, start, match):
                return start, start, None, ""
            if match:
                if start > pos and self._steady is None:
                    return start, start, None, ""
                token, name = dialect.read(match)
                if not self._is_plain(token, name, self.starts_line(text, start)):
                    return start, match.end(), token, name
            elif lexicon.partial.match(text, start) and dialect.holds(self, text, start):
                return start, start, None, ""
            start = lexicon.find(text, match.end() if match else start + 1)
        return len(text), len(text), None, ""

    def _looks_back(self, text: str, start: int, match: re.Match[str] | None) -> bool:
        """The text before a token decides about it: a fence or code may begin or end there."""
        if text[start - 1] in "\n\r":
            return True
        return match is not None and self.dialect.read(match)[1] in self.choice.tools

    def _is_plain(self, token: StrEnum, name: str, line: bool) -> bool:
        """The token does nothing that the text around it does not do."""
        rules = self._rules[token]
        if len(rules) > 1:
            self.line = line
            return self._chosen(rules, name) is self._steady
        return rules[0] is self._steady

    def _chosen(self, rules: Rules, name: str) -> Rule:
        for rule in rules:
            if rule.when is None or rule.when.holds(self, name):
                return rule
        raise AssertionError("the last rule has no guard")

    def _take(self, token: StrEnum, text: str, name: str) -> int:
        """One step, unless it makes the open call too long; returns how many characters it took.

        A call ends at the very byte where it gets too long, so that this, too, does not depend on how the
        text is cut.
        """
        call = self.call
        size = len(text)
        if call is not None and call.size + 4 * size > self._limit:
            size = _fitting(text, self._limit - call.size)
        part = ""
        if size == len(text):
            self._step(token, text, name)
        elif token in (self._text, self._space):
            if size:
                self._step(self._space if text[:size].isspace() else self._text, text[:size], "")
        else:
            part = text[:size]
        if self.call is not None and (size < len(text) or self.call.size > self._limit):
            self._overflow(token, part)
        return size

    def _overflow(self, token: StrEnum, text: str) -> None:
        """The open call is too long: go back to the first state. `text` is its last text."""
        state, call = self.state, self.call
        assert call is not None
        if text:
            self.pos += len(text)
            call.add(text)
        effect = Effect.CUTS if call.begun else Effect.GIVES_UP
        call.overflow(self)
        if self._journal.all:
            self._record(TOO_LONG, state, token, text, effect, call.index, call.name)

    def _record(
        self, what: Everywhere, state: str, token: str, text: str, effect: Effect | None = None,
        call: int | None = None, tool: str = "",
    ) -> None:  # fmt: skip
        """A step that is in no table; its text has been read."""
        span = self.span(self.pos - len(text), self.pos)
        self._journal.stepped(
            span, state, token, what.name, self.state, text, self.held, call,
            what.effect if effect is None else effect, tool, what.why, what.condition, self.dialect.name,
        )  # fmt: skip

    def _step(self, token: StrEnum, text: str, name: str) -> None:
        rules = self._rules[token]
        rule = rules[0]
        if rule.when is not None:
            self.line = self.prev in "\n\r"
            rule = self._chosen(rules, name)
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
        before, drops = self.call, self.prose.drops
        rule.action(self, text, name)
        if rule.to is not state:
            self._enter(rule.to)
        call = before or self.call
        index, tool, parameter = (None, "", "") if call is None else (call.index, call.name, call.key)
        effect, policy = rule.effect, ""
        if call is not None and call.dropped and effect & _OF_A_CALL:
            effect = effect & ~_OF_A_CALL | Effect.DROPPED
            policy = (REFUSED if self.choice.refuses(tool) else FIRST_ONLY).why
        elif drops and effect & _AS_TEXT:
            effect, policy = effect & ~Effect.PROSE | Effect.DROPPED, AFTER_CALL.why
        after = self.call if before is not None and self.call is not before else None
        self._journal.stepped(
            self.span(start, start + len(text)), state, token, rule.name, rule.to, text, self.held, index,
            effect, tool, rule.why, rule.condition, self.dialect.name,
            parameter if effect & Effect.ARGUMENT else "", policy,
            None if after is None else after.index, "" if after is None else after.name,
        )  # fmt: skip

    def _enter(self, state: StrEnum) -> None:
        self.state = state
        self._rules, self._lexicon = self._compiled[state]
        self._starts = self._lexicon.starts.match
        rules = self._rules[self._text]
        rule = rules[0]
        self._steady = rule if rule.to is state and rule.when is None else None
        plain = rule is self._steady and rule is self._rules[self._space][0] and not self._journal.all
        self._loop = rule.action if plain else None

    @property
    def is_busy(self) -> bool:
        """A call is open, or the possible beginning of a token is held back."""
        return self.call is not None or bool(self._rest)

    @property
    def skips_thoughts(self) -> bool:
        """Recognised thoughts are not to be lexed."""
        return True

    def become(self, dialect: Dialect, state: StrEnum | None = None) -> None:
        """From here on the text is read as another dialect, from its first state or from this one."""
        before = self.state
        self.memory = self._remembered(dialect)
        self.dialect = dialect
        self._compiled = dialect.compiled
        self._text, self._space = dialect.text, dialect.space
        self._limit = self.choice.policy.max_call_bytes or 0
        self.prose.drop = self.choice.policy.after_call == "drop"
        self._enter(dialect.initial if state is None else state)
        if self._journal.all:
            self._record(OTHER_DIALECT, before, self._text, "")

    def _remembered(self, dialect: Dialect) -> Memory | None:
        """What it remembers is kept while another one reads: it may come back."""
        if dialect.memory is None:
            return None
        if dialect.memory not in self._memories:
            self._memories[dialect.memory] = dialect.memory()
        return self._memories[dialect.memory]

    def restart(self) -> None:
        """Back to the first state, whatever the table says; the open call is settled."""
        self.call = None
        self._enter(self.dialect.initial)

    def _dropped(self, start: int, end: int) -> None:
        self.found("text-after-call", start, end, count=end - start)

    def close(self) -> None:
        """Nothing more is fed: drop its prose, which refers back to it."""
        del self.prose

    def clone(self, choice: Host) -> Machine:
        twin = type(self).__new__(type(self))
        for slot in Machine.__slots__:
            setattr(twin, slot, getattr(self, slot))
        twin.choice = choice
        twin._journal = choice.journal
        twin.out = self.out.copy()
        twin.prose = self.prose.clone(twin.out, twin._dropped)
        twin.markdown = self.markdown.clone()
        twin._memories = {kind: memory.clone() for kind, memory in self._memories.items()}
        twin.memory = twin._remembered(twin.dialect)
        twin.call = None if self.call is None else self.call.clone()
        return twin


# What the policy keeps from a client that may have no such call, and what it drops after a call.
_OF_A_CALL = Effect.ARGUMENT | Effect.COMPLETES | Effect.CUTS
_AS_TEXT = Effect.PROSE | Effect.GIVES_UP


class InCall(Machine):
    """A machine for a rule inside a call. Grammars have kinds of their own; none is ever made."""

    __slots__ = ()
    call: Call


def size_of(text: str) -> int:
    """Bytes of the text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _fitting(text: str, room: int) -> int:
    """How many characters of `text` fit into `room` bytes."""
    if text.isascii():
        return max(0, min(len(text), room))
    return len(text.encode()[: max(0, room)].decode("utf-8", "ignore"))


# -- actions that every dialect may use


def prose(m: Machine, text: str, name: str) -> None:
    m.say_at(m.pos - len(text), text)  # as `say`, spelled out: it runs for every delta of prose


def hold(m: InCall, text: str, name: str) -> None:
    m.call.add(text)


def release(m: InCall, text: str, name: str) -> None:
    """What looked like a call is text; the token itself is not part of it."""
    m.call.release(m)


def then(first: Action, second: Action) -> Action:
    """Both, for a token that ends one thing and begins another."""

    def both(m: Machine, text: str, name: str) -> None:
        first(m, text, name)
        second(m, text, name)

    both.__name__ = f"{first.__name__}_then_{second.__name__}"
    return both


def ignore(m: Machine, text: str, name: str) -> None:
    """The answer is over; nothing is left to do."""


# -- after a call


def swallow(m: Machine, text: str, name: str) -> None:
    """Markup between calls and after them, with the whitespace there."""
    m.settled += len(text)
    m.prose.call(m.pos)
    m.prev = "\n"


def close_marker(m: Machine, text: str, name: str) -> None:
    """The end of the markers around calls."""
    m.wrapped = False
    swallow(m, text, name)


def drop_token(m: Machine, text: str, name: str) -> None:
    """A misplaced special token: it is not text, and it is reported."""
    m.found("stray-token", m.pos - len(text), m.pos, token=text)
    m.settled += len(text)


def text_after(m: Machine, text: str, name: str) -> None:
    """The markers around calls were not closed."""
    m.wrapped = False
    m.say(text)
