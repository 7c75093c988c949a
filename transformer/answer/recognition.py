"""Recognising the dialect of an answer: by its model's name and by its first call, while the stream flows.

A model that is known by its name is read in its own dialect from the start; if the name is unknown, the text
is prose until the first call. Meanwhile calls of all other dialects are looked for, since some
models fall back to another dialect than their own: at an opener, the dialects that have it read on from
there, each on its own, and the first of them that finds a call is chosen. With the first
call the answer has its dialect, and keeps it. Only what may be the beginning of a call is held back.
Where tags are names, only the tag of an offered tool is an opener: any other tag may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Protocol

from transformer.dialects import DIALECTS
from transformer.journal import Journal
from transformer.parser.dialect import Dialect, Notices, beginnings
from transformer.parser.machine import Host, Machine
from transformer.policy import Policy
from transformer.records import Effect, Finding, Transition
from transformer.values.schema import Tool

# Limit on held-back characters while several dialects fit; then the first dialect is chosen.
_LONGEST_TRIAL = 4096
_LINE_ENDS = "\n\r"


def dialect_of_model(model: str) -> Dialect | None:
    """The dialect that a model of this name is known to speak."""
    starts = {start: one for one in DIALECTS.values() for start in one.models}
    known = longest_beginning(model, starts)
    return None if known is None else starts[known]


def longest_beginning(model: str, starts: Mapping[str, object]) -> str | None:
    """The longest of these beginnings that the model's name has, with or without the name of its maker."""
    whole = model.lower()
    names = (whole, whole.rpartition("/")[2])
    fitting = [start for start in starts if any(name.startswith(start.lower()) for name in names)]
    return max(fitting, key=len, default=None)


def openers_of(dialect: Dialect, tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """The literal texts with which a call of the dialect can begin; with a newline first, only where a line
    begins. Where the dialect does not say, they are the openers of its leak marks.
    """
    if dialect.openers is not None:
        return dialect.openers(tools)
    return tuple(dict.fromkeys(mark.opener for mark in dialect.leak_marks if mark.begins_with_opener))


def _reads(dialect: Dialect, channel: str, wanted: Policy) -> bool:
    """The dialect looks for calls in this channel, or the user wants every dialect to."""
    parsed = "reasoning" if channel.startswith("reasoning") else channel
    return parsed in (wanted.channels or dialect.policy.channels or ())


class _Openers:
    """All openers of all dialects, for one set of tools."""

    def __init__(self, tools: Mapping[str, Tool], channel: str, wanted: Policy) -> None:
        self._dialects: dict[str, list[Dialect]] = {}
        for dialect in DIALECTS.values():
            if dialect.converts and not dialect.chooses and _reads(dialect, channel, wanted):
                for opener in openers_of(dialect, tools):
                    self._dialects.setdefault(opener, []).append(dialect)
        words = sorted(self._dialects, key=len, reverse=True)
        anywhere = [word for word in words if word[0] != "\n"]
        on_line = [word[1:] for word in words if word[0] == "\n"]
        patterns = [*map(re.escape, anywhere), *(rf"(?<![^\n\r]){re.escape(word)}" for word in on_line)]
        self.any = re.compile("|".join(patterns) or "(?!)")
        longer = [word for word in (*anywhere, *on_line) if len(word) > 1]
        self.begun = re.compile(rf"(?:{beginnings(*longer)})\Z" if longer else "(?!)")
        firsts = {word[0] for word in (*anywhere, *on_line)}
        self.firsts = re.compile(f"[{''.join(map(re.escape, sorted(firsts)))}]" if firsts else "(?!)")

    def at_start(self, text: str, on_line: bool) -> list[Dialect]:
        """The dialects one of whose openers the text begins with; `on_line` says that a line begins there."""
        found: dict[str, Dialect] = {}
        for opener, dialects in self._dialects.items():
            if text.startswith(opener) or (on_line and opener[0] == "\n" and text.startswith(opener[1:])):
                found |= {one.name: one for one in dialects}
        return list(found.values())


@lru_cache(maxsize=64)
def _openers(names: tuple[str, ...], channel: str, wanted: Policy) -> _Openers:
    return _Openers(dict.fromkeys(names, _NO_TOOL), channel, wanted)


_NO_TOOL = Tool("")


class ChoosingHost(Host, Protocol):
    """What a machine that chooses needs to know of its choice, which all channels share."""

    wanted: Policy  # what the user said
    expected: Dialect | None  # the dialect that the model is known to speak
    decided: bool  # the answer has its dialect, and keeps it
    dialect: Dialect

    def expect(self, dialect: Dialect) -> None: ...
    def adopt(self, dialect: Dialect) -> None: ...


class _Trial:
    """One candidate dialect, parsed on trial; its output is discarded."""

    def __init__(self, dialect: Dialect, machine: AutoMachine) -> None:
        choice = machine.choice
        wanted = Policy(calls="all", unknown_tools="text" if dialect.tags_are_names else None)
        self.dialect = dialect
        self.index = choice.index
        self.policy = wanted.over(replace(choice.policy, arguments="whole", max_call_bytes=1 << 30))
        self.tools = choice.tools
        self.tools_known = choice.tools_known
        self.was_cut = choice.was_cut
        self.journal = Journal("all")
        self.next_index = 0
        self._machine = Machine(dialect, self, machine.channel)
        self._machine.markdown = machine.markdown.clone()
        self._machine.prev = machine.before
        self._seen = 0
        self._said = False  # it takes some of the text for prose

    def rejects(self, name: str) -> bool:
        return self.policy.unknown_tools == "text" and self.tools_known and name not in self.tools

    def refuses(self, name: str) -> bool:
        return False

    def admit(self, m: Machine, name: str, id: str | None, start: int, end: int) -> tuple[int, str] | None:
        return 0, "trial"

    def feed(self, text: str) -> bool:
        """Read on; True as soon as it is a call."""
        self._machine.feed(text)
        return self._shows_a_call()

    def ends_inside(self) -> bool:
        """The answer is over, and this dialect has something to say about what it was reading."""
        if not self.is_busy:
            return False
        self._machine.finish()
        return self._shows_a_call() or self.has_findings

    def _shows_a_call(self) -> bool:
        self._machine.out.clear()
        records = self.journal.records.items
        new, self._seen = records[self._seen :], len(records)
        steps = [record for record in new if isinstance(record, Transition)]
        words = (step for step in steps if step.to == self._machine.state and not step.text.isspace())
        self._said = self._said or any(step.effect & Effect.PROSE for step in words)
        return any(step.effect & self.dialect.proof and self._is_about_a_call(step) for step in steps)

    def _is_about_a_call(self, step: Transition) -> bool:
        """Arguments alone may be any JSON."""
        return bool(step.tool) or not step.effect & Effect.ARGUMENT

    def close(self) -> None:
        """It reads no more: drop the machine, which refers back to it."""
        self._machine.close()
        del self._machine

    @property
    def has_findings(self) -> bool:
        return any(isinstance(record, Finding) for record in self.journal.records.items)

    @property
    def is_all_text(self) -> bool:
        """It leaves every character as it is. Characters that it would drop may be text in another
        dialect."""
        steps = (record for record in self.journal.records.items if isinstance(record, Transition))
        return not any(step.effect & (Effect.MARKUP | Effect.DROPPED) for step in steps)

    @property
    def is_busy(self) -> bool:
        """It may still become a call: something is held back, or a section of calls is open."""
        machine = self._machine
        return machine.is_busy or (machine.state is not self.dialect.initial and not self._said)


class AutoMachine(Machine):
    """A machine that finds out its dialect on the way."""

    __slots__ = ("_held_back", "_known_openers", "_read", "_trials", "before")

    choice: ChoosingHost

    def __init__(self, dialect: Dialect, choice: ChoosingHost, channel: str) -> None:
        own = choice.expected
        if own is not None and _reads(own, channel, choice.wanted):
            choice.expect(own)
            dialect = own
        super().__init__(dialect, choice, channel)
        self._known_openers = _openers(tuple(choice.tools), channel, choice.wanted)
        self._held_back = ""  # from an opener on, or from what may become one
        self._trials: list[_Trial] = []
        self._read = 0  # characters of it that the trials have read
        self.before = "\n"  # the character before what is held back

    def feed(self, text: str) -> None:
        if self.choice.decided:
            self._follow()
            super().feed(text)
            return
        self.received += len(text)
        if not self._held_back and self._known_openers.firsts.search(text) is None:
            self._held_back = text
            self._say(len(text))
            return
        self._held_back += text
        self._look()

    @property
    def notices(self) -> Notices | None:
        own = super().notices
        if self.choice.decided:
            return own if self.dialect is self.choice.dialect and not self._held_back else None
        return None if own is None or self._held_back else self._notices(own)

    def _notices(self, own: Notices) -> Notices:
        """Text that may begin a call in any dialect must be read, too."""
        firsts = self._known_openers.firsts.search

        def notices(text: str) -> object:
            return firsts(text) or own(text)

        return notices

    def passed_on(self, text: str) -> None:
        self.before = text[-1]
        if not self.dialect.fenced and not self.choice.decided:
            self.markdown.feed(text)
        super().passed_on(text)

    def finish(self) -> None:
        if not self.choice.decided:
            if self._held_back and not self._trials:
                self._look(over=True)
            self._end_trials()
        self._follow()
        super().finish()

    def _end_trials(self) -> None:
        ended = next((trial for trial in self._trials if trial.ends_inside()), None)
        if ended is not None:
            self._choose(ended.dialect, "the answer ends inside of such a call")
        elif self._held_back:
            self._drop_trials()
            self._say(len(self._held_back))

    def _look(self, over: bool = False) -> None:
        while self._held_back and not self.choice.decided:
            if not self._trials and not self._begin_trials(over):
                return
            if self._trials and not self._go_on():
                return
        self._follow()

    def _begin_trials(self, over: bool) -> bool:
        """Prose up to the next opener leaves; False where there is none yet."""
        openers, text = self._known_openers, self._held_back
        found = openers.any.search(text, 0 if self.before in _LINE_ENDS else min(1, self._on_line_only(text)))
        if found is None:
            self._say(len(text) if over else self._undecided(text))
            return False
        self._say(found.start())
        if self.choice.decided:
            return True
        if self.call is not None:  # its own dialect has a call open, and this is part of it
            self._say(1)
            return True
        if not over and openers.begun.match(self._held_back):
            return False  # a longer one may begin here
        dialects = openers.at_start(self._held_back, self.before in _LINE_ENDS)
        own = self.choice.expected
        if own is self.dialect and own not in dialects:
            dialects.append(own)  # it may read as a call what begins like one of another dialect
        dialects = [one for one in dialects if not self._is_only_thought(one)]
        dialects.sort(key=lambda one: (one.tags_are_names, one is not own))
        self._trials = [_Trial(dialect, self) for dialect in dialects]
        self._read = 0
        if not dialects:
            self._say(1)
        return True

    def _on_line_only(self, text: str) -> bool:
        """What the text begins with could only be an opener if a line began there."""
        return not self._known_openers.at_start(text, False)

    def _is_only_thought(self, dialect: Dialect) -> bool:
        """Where models of this dialect write what they only think of, nothing is a call."""
        return self.in_thought and self.choice.wanted.over(dialect.policy).in_think == "text"

    def _undecided(self, text: str) -> int:
        """Start of a possible, still incomplete opener."""
        start = max(0, len(text) - 64)
        while (first := self._known_openers.firsts.search(text, start)) is not None:
            if self._known_openers.begun.match(text, first.start()):
                return first.start()
            start = first.start() + 1
        return len(text)

    def _go_on(self) -> bool:
        """The trials read on, character by character, so that it does not matter how the text was cut."""
        text = self._held_back
        busy = self._trials
        while self._read < len(text):
            character = text[self._read]
            self._read += 1
            before = busy
            done = [trial for trial in self._trials if trial.feed(character)]
            special = [trial for trial in done if not trial.dialect.tags_are_names]
            busy = [trial for trial in self._trials if trial.is_busy]
            if special or (done and all(trial.dialect.tags_are_names for trial in busy)):
                self._choose((special or done)[0].dialect, f"the answer has a call of it: {self._excerpt}")
                return True
            if not busy:
                self._give_up(before)
                return True
            if self._read >= _LONGEST_TRIAL:
                why = f"the answer has the beginning of such a call: {self._excerpt}"
                self._choose(busy[0].dialect, why)
                return True
        return False

    def _drop_trials(self) -> None:
        for trial in self._trials:
            trial.close()
        self._trials = []

    def close(self) -> None:
        self._drop_trials()
        super().close()

    @property
    def _excerpt(self) -> str:
        return repr(self._held_back[:40])

    def _give_up(self, last: list[_Trial]) -> None:
        """None of them has read a call. Reports what one of those that came furthest has found."""
        self._drop_trials()
        told = next(
            (trial.dialect for trial in last if trial.has_findings and trial.is_all_text), self.dialect
        )
        if told is self.dialect:
            self._say(self._read)
            return
        own, state = self.dialect, self.state
        self.become(told)
        self._say(self._read)
        self.become(own, state)

    def _say(self, size: int) -> None:
        """Passes this much of the held-back text to the dialect in which the answer is read so far."""
        text, self._held_back = self._held_back[:size], self._held_back[size:]
        if text:
            self.before = text[-1]
            self._lex(text)

    def say_at(self, start: int, text: str) -> None:
        if not self.dialect.fenced and not self.choice.decided:
            self.markdown.feed(text)  # other dialects may want to know
        super().say_at(start, text)

    @property
    def is_busy(self) -> bool:
        return bool(self._held_back) or super().is_busy

    @property
    def skips_thoughts(self) -> bool:
        one = self.dialect
        return not one.chooses and not one.has_thoughts and self.choice.policy.in_think == "text"

    def _choose(self, dialect: Dialect, why: str) -> None:
        at = self.pos + len(self._rest)
        own = self.choice.expected
        if own is not None and own is not dialect:
            why += f"; the model is known to speak {own.name}"
        self.found("dialect-chosen", at, at, dialect=dialect.name, why=why)
        self.choice.adopt(dialect)
        self._follow()

    def _follow(self) -> None:
        """The answer has its dialect, by this channel or by another: what was held back is read in it."""
        if not self.choice.decided:
            return
        if self.dialect is not self.choice.dialect and self.call is None:
            self.become(self.choice.dialect)
        text, self._held_back = self._held_back, ""
        if self._trials:
            self._drop_trials()
        if text:
            self._lex(text)

    def clone(self, choice: Host) -> AutoMachine:
        twin = super().clone(choice)
        assert isinstance(twin, AutoMachine)
        twin._known_openers, twin._held_back, twin.before = self._known_openers, self._held_back, self.before
        # The trials are read again from their beginning: they are short.
        twin._trials, twin._read = [], 0
        if self._trials:
            twin._trials = [_Trial(trial.dialect, twin) for trial in self._trials]
            for trial in twin._trials:
                for character in twin._held_back[: self._read]:
                    trial.feed(character)
            twin._read = self._read
        return twin
