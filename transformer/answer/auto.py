"""Recognising the dialect of an answer: by its first call, while the stream flows.

Until then the text is prose and leaves at once, but for what may be the beginning of a call: where one of
the dialects' openers stands, the dialects that have it read on from there, each on its own, and the first of
them that comes to a parameter or to arguments is the one. From there on the answer is read in that dialect;
it changes once. The name of the model only breaks ties: some models fall back to another dialect than their
own. Where tags are names, only the tag of an offered tool is an opener: any other tag may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from transformer.dialects import DIALECTS
from transformer.journal import Journal
from transformer.parser.machine import Dialect, Host, Machine, beginnings
from transformer.policy import Policy
from transformer.records import Effect, Transition
from transformer.values.schema import Tool

_COMMITS = Effect.OPENS_VALUE | Effect.ARGUMENT | Effect.COMPLETES
# So many characters are held back for a call that does not yet show whose it is; then the first one has it.
_LONGEST_TRIAL = 4096
_LONGEST_TAG = len("</thinking>")


def dialect_of_model(model: str) -> Dialect | None:
    """The dialect that a model of this name is known to speak."""
    name = model.lower().rpartition("/")[2]
    known = [(start, one) for one in DIALECTS.values() for start in one.models if name.startswith(start)]
    return max(known, key=lambda pair: len(pair[0]))[1] if known else None


def openers_of(dialect: Dialect, tools: Mapping[str, Tool]) -> tuple[str, ...]:
    """The literal texts with which a call of the dialect can begin."""
    if dialect.openers is not None:
        return dialect.openers(tools)
    marks = (mark for mark in dialect.leak_marks if mark.pattern.pattern.startswith(re.escape(mark.opener)))
    return tuple(dict.fromkeys(mark.opener for mark in marks))


class _Openers:
    """All openers of all dialects, for one set of tools."""

    def __init__(self, tools: Mapping[str, Tool], channel: str, everywhere: bool) -> None:
        self.dialects: dict[str, list[Dialect]] = {}
        parsed = "reasoning" if channel.startswith("reasoning") else channel
        for dialect in DIALECTS.values():
            here = everywhere or parsed in (dialect.policy.channels or ())
            if dialect.converts and not dialect.chooses and here:
                for opener in openers_of(dialect, tools):
                    self.dialects.setdefault(opener, []).append(dialect)
        words = sorted(self.dialects, key=len, reverse=True)
        self.any = re.compile("|".join(map(re.escape, words)) or "(?!)")
        longer = [word for word in words if len(word) > 1]
        self.begun = re.compile(rf"(?:{beginnings(*longer)})\Z" if longer else "(?!)")
        self.firsts = re.compile(
            "[" + "".join(re.escape(word[0]) for word in words) + "]" if words else "(?!)"
        )

    def at(self, text: str, start: int) -> list[Dialect]:
        """The dialects one of whose openers stands there."""
        found: dict[str, Dialect] = {}
        for opener, dialects in self.dialects.items():
            if text.startswith(opener, start):
                found |= {one.name: one for one in dialects}
        return list(found.values())


@lru_cache(maxsize=64)
def _openers(names: tuple[str, ...], channel: str, everywhere: bool) -> _Openers:
    return _Openers(dict.fromkeys(names, _NO_TOOL), channel, everywhere)


_NO_TOOL = Tool("")


class _Trial:
    """One dialect that reads on from an opener, for nobody but us."""

    def __init__(self, dialect: Dialect, machine: AutoMachine) -> None:
        choice = machine.choice
        wanted = Policy(calls="all", unknown_tools="text" if dialect.tags_are_names else None)
        self.dialect = dialect
        self.index = choice.index
        self.policy = wanted.over(replace(choice.policy, arguments="whole", max_call_bytes=1 << 30))
        self.wanted = choice.wanted
        self.tools = choice.tools
        self.tools_known = choice.tools_known
        self.journal = Journal("all")
        self.next_index = 0
        self._machine = Machine(dialect, self, machine.channel)
        self._machine.markdown = machine.markdown.clone()
        self._machine.prev = machine.prev
        self._known = 0

    was_cut = False

    def rejects(self, name: str) -> bool:
        return self.policy.unknown_tools == "text" and self.tools_known and name not in self.tools

    def refuses(self, name: str) -> bool:
        return False

    def adopt(self, dialect: Dialect) -> None:
        raise AssertionError("a trial has its dialect")

    def admit(self, m: Machine, name: str, id: str | None, start: int, end: int) -> tuple[int, str] | None:
        return 0, "trial"

    def feed(self, text: str) -> bool:
        """Read on; True as soon as it is a call."""
        self._machine.feed(text)
        self._machine.out.clear()
        records = self.journal.records.items
        new, self._known = records[self._known :], len(records)
        return any(isinstance(record, Transition) and record.effect & _COMMITS for record in new)

    @property
    def is_busy(self) -> bool:
        """It may still become a call: something is held back, or a section of calls is open."""
        return self._machine.is_busy or self._machine.state is not self.dialect.initial


class AutoMachine(Machine):
    """A machine that finds out its dialect on the way."""

    __slots__ = ("_held_back", "_known_openers", "_read", "_thought", "_trials")

    def __init__(self, dialect: Dialect, choice: Host, channel: str) -> None:
        super().__init__(dialect, choice, channel)
        said = choice.wanted.channels is not None  # the user wants this channel read, whatever the dialect
        self._known_openers = _openers(tuple(choice.tools), channel, said)
        self._thought = ""  # the end of the prose, while a thought may be open in it
        self._held_back = ""  # from an opener on, or from what may become one
        self._trials: list[_Trial] = []
        self._read = 0  # characters of it that the trials have read

    def feed(self, text: str) -> None:
        if not self.dialect.chooses:
            super().feed(text)
            return
        self.received += len(text)
        if not self._held_back and self._known_openers.firsts.search(text) is None:
            self._held_back = text
            self._say(len(text))
            return
        self._held_back += text
        self._look()

    def finish(self) -> None:
        if self.dialect.chooses and self._held_back:
            busy = next((trial for trial in self._trials if trial.is_busy), None)
            if busy is not None:
                self._choose(busy.dialect, "the answer ends inside of such a call")
            else:
                self._say(len(self._held_back))
        super().finish()

    def _look(self) -> None:
        while self._held_back and self.dialect.chooses:
            if not self._trials and not self._begin_trials():
                return
            if self._trials and not self._go_on():
                return

    def _begin_trials(self) -> bool:
        """Prose up to the next opener leaves; False where there is none yet."""
        openers, text = self._known_openers, self._held_back
        found = openers.any.search(text)
        if found is None:
            self._say(self._undecided(text))
            return False
        self._say(found.start())
        dialects = [
            one for one in openers.at(self._held_back, 0) if not (one.tags_are_names and self._thinks)
        ]
        own = dialect_of_model(getattr(self.choice, "model", ""))
        dialects.sort(key=lambda one: (one.tags_are_names, one is not own))
        self._trials = [_Trial(dialect, self) for dialect in dialects]
        self._read = 0
        if not dialects:
            self._say(1)
        return True

    def _undecided(self, text: str) -> int:
        """Where what may become an opener begins."""
        start = max(0, len(text) - 64)
        while (first := self._known_openers.firsts.search(text, start)) is not None:
            if self._known_openers.begun.match(text, first.start()):
                return first.start()
            start = first.start() + 1
        return len(text)

    def _go_on(self) -> bool:
        """The trials read on, character by character, so that it does not matter how the text was cut."""
        text = self._held_back
        while self._read < len(text):
            character = text[self._read]
            self._read += 1
            done = [trial for trial in self._trials if trial.feed(character)]
            special = [trial for trial in done if not trial.dialect.tags_are_names]
            busy = [trial for trial in self._trials if trial.is_busy]
            if special:
                self._choose(special[0].dialect, f"the answer has a call of it: {_excerpt(text)}")
                return True
            if done and not any(not trial.dialect.tags_are_names for trial in busy):
                self._choose(done[0].dialect, f"the answer has a call of it: {_excerpt(text)}")
                return True
            if not busy:
                self._trials = []
                self._say(self._read)
                return True
            if self._read >= _LONGEST_TRIAL:
                self._choose(
                    busy[0].dialect, f"the answer has the beginning of such a call: {_excerpt(text)}"
                )
                return True
        return False

    def _say(self, size: int) -> None:
        """So much of what was held back is prose."""
        text, self._held_back = self._held_back[:size], self._held_back[size:]
        if text:
            self._follow_thought(text)
            self._lex(text)

    def _follow_thought(self, text: str) -> None:
        """Where models write what they only think of, a tool's tag is not a call."""
        seen = self._thought + text
        last = max(seen.rfind("<think>"), seen.rfind("<thinking>"))
        ended = max(seen.rfind("</think>"), seen.rfind("</thinking>"))
        self._thought = "<think>" + seen[-_LONGEST_TAG:] if last > ended else seen[-_LONGEST_TAG:]

    @property
    def _thinks(self) -> bool:
        return self._thought.startswith("<think>")

    def _choose(self, dialect: Dialect, why: str) -> None:
        text, self._held_back, self._trials = self._held_back, "", []
        self.found("dialect-chosen", self.pos, self.pos, dialect=dialect.name, why=why)
        self.choice.adopt(dialect)
        self.become(dialect)
        self._lex(text)

    def clone(self, choice: Host) -> AutoMachine:
        twin = super().clone(choice)
        assert isinstance(twin, AutoMachine)
        twin._known_openers, twin._held_back = self._known_openers, self._held_back
        twin._thought = self._thought
        # The trials are read again from their beginning: they are short.
        twin._trials, twin._read = [], 0
        if self._trials:
            twin._trials = [_Trial(trial.dialect, twin) for trial in self._trials]
            for trial in twin._trials:
                for character in twin._held_back[: self._read]:
                    trial.feed(character)
            twin._read = self._read
        return twin


def _excerpt(text: str) -> str:
    return repr(text[:40])
