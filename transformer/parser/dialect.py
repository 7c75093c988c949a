"""A dialect as data: a table of rules with guards, patterns that find its tokens, and all that is said of it.

`transformer/parser/machine.py` runs it and explains how. Guards and actions take the machine; they may name a
kind of machine of their own, which says what call is open where their rule is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from transformer.parser.leakmarks import LeakMark
from transformer.parser.mending import Mender
from transformer.parser.writing import Writer
from transformer.policy import Policy
from transformer.records import Effect
from transformer.values.schema import Tool

# -- the table


class Guard(NamedTuple):
    """A condition of a rule: what it says, and whether it holds for the token with this name."""

    words: str
    holds: Callable[[Any, str], bool]


def guard(words: str) -> Callable[[Callable[[Any, str], bool]], Guard]:
    """Make a guard of a function; the words complete "if …"."""
    return lambda holds: Guard(words, holds)


# A guard or an action may name a kind of machine, which says what call is open where its rule stands.
Action: TypeAlias = Callable[[Any, str, str], None]


class Rule(NamedTuple):
    """What one token does in one state: where it leads, what that means, what is done, and why that is
    right.
    """

    to: StrEnum
    effect: Effect
    action: Action
    why: str
    when: Guard | None = None

    @property
    def name(self) -> str:
        return self.action.__name__.replace("_", " ")

    @property
    def condition(self) -> str:
        return "" if self.when is None else self.when.words


Rules: TypeAlias = tuple[Rule, ...]
Notices: TypeAlias = Callable[[str], object]  # gives something for a text that must be read, else None
Table: TypeAlias = Mapping[tuple[StrEnum, StrEnum], Rules]
Tokens: TypeAlias = StrEnum | tuple[StrEnum, ...]
Block: TypeAlias = Mapping[Tokens, Rule | Sequence[Rule]]


def table(tokens: Sequence[StrEnum], blocks: Mapping[StrEnum, tuple[Block, Rule | None]]) -> Table:
    """Spell out `state -> ({token or tokens: rule or rules}, rule for all others)` for every pair.

    Where the last of several rules has a guard, the rule for all others follows it. A block that decides a
    pair twice is a mistake and stops the import; so does one that leaves a pair undecided, in `Dialect`.
    """
    spelled: dict[tuple[StrEnum, StrEnum], Rules] = {}
    for state, (block, otherwise) in blocks.items():
        rest = () if otherwise is None else (otherwise,)
        decided: dict[StrEnum, Rules] = {}
        for group, entry in block.items():
            rules: Rules = (entry,) if isinstance(entry, Rule) else tuple(entry)
            for token in group if isinstance(group, tuple) else (group,):
                if token in decided:
                    raise ValueError(f"{state} decides {token} twice")
                decided[token] = rules if rules[-1].when is None else (*rules, *rest)
        for token in tokens:
            found = decided.get(token, rest)
            if found:
                spelled[state, token] = found
    return spelled


def _mistake(states: Sequence[StrEnum], found: Rules) -> str:
    """What is wrong with the entry of a pair; empty if it decides what happens."""
    if not found or found[-1].when is not None:
        return "does not decide {}"
    if any(rule.when is None for rule in found[:-1]):
        return "never comes to the last rule for {}"
    if len({rule.why for rule in found}) < len(found):
        return "gives the same reason for two rules of {}"
    return "" if all(rule.to in states for rule in found) else "leads to an unknown state by {}"


# -- what is the same in every state of every dialect


class Everywhere(NamedTuple):
    """What can happen in every state, in the words of a rule: `to` is "first" or "same", as seen from there.

    Without a name it is not a rule of its own: it changes the effect of the table's rule.
    """

    name: str
    to: str
    condition: str
    effect: Effect
    why: str


_E = Effect
TOO_LONG = Everywhere(
    "too long", "first", "the open call gets longer than max_call_bytes", _E.CUTS | _E.GIVES_UP,
    "the call is longer than max_call_bytes allows",
)  # fmt: skip
THOUGHT = Everywhere(
    "thought", "same", "the text is a thought and in_think is text", _E.PROSE,
    "nothing in a thought is read as a call",
)  # fmt: skip
OTHER_DIALECT = Everywhere(
    "other dialect", "first", "the text turns out to be written in another dialect", _E.NONE,
    "from here on the text is read as another dialect",
)  # fmt: skip
FIRST_ONLY = Everywhere(
    "", "same", "it is not the first call and calls is first", _E.DROPPED,
    "the policy takes the first call only",
)  # fmt: skip
REFUSED = Everywhere(
    "", "same", "the tool was not offered and unknown_tools is error", _E.DROPPED,
    "the policy refuses this tool",
)  # fmt: skip
AFTER_CALL = Everywhere(
    "", "same", "the text follows a call and after_call is drop", _E.DROPPED,
    "the policy drops text after a call",
)  # fmt: skip
EVERYWHERE = (TOO_LONG, THOUGHT, OTHER_DIALECT, FIRST_ONLY, REFUSED, AFTER_CALL)


# -- text -> tokens


class Lexicon:
    """What may occur in one kind of place.

    `starts` matches everything up to the first character a token can begin with, and that character.
    `token` matches a whole token there, `partial` a beginning of one that reaches the end of the
    text. Each is tried once at a place, and none is ever run over the same text again because a new
    delta has come: so the work is linear.

    Each is compiled when it is first used: all dialects together have hundreds, which took most of the time
    that the program needs to start.
    """

    __slots__ = ("_written", "partial", "starts", "token")
    starts: re.Pattern[str]
    token: re.Pattern[str]
    partial: re.Pattern[str]

    def __init__(
        self, starts: str | re.Pattern[str], token: str | re.Pattern[str], partial: str | re.Pattern[str]
    ) -> None:
        self._written = {"starts": starts, "token": token, "partial": partial}

    def __getattr__(self, name: str) -> re.Pattern[str]:
        """Called only while the slot of that name is empty."""
        if name not in ("starts", "token", "partial"):
            raise AttributeError(name)
        pattern = re.compile(self._written[name])
        setattr(self, name, pattern)
        return pattern

    def find(self, text: str, pos: int) -> int:
        """Where a token may begin, at `pos` or later; -1 if nowhere."""
        match = self.starts.match(text, pos)
        return match.end() - 1 if match else -1


def upto(chars: str) -> str:
    """A pattern for `starts`: one of these characters, written as in a set of a pattern."""
    return f"[^{chars}]*+[{chars}]"


def any_of(words: Sequence[str]) -> str:
    """A pattern of any of these words, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


def beginnings(*words: str) -> str:
    """A pattern for every true beginning of the words: `ab(?:c(?:d)?)?` for `abcde`."""
    nested = []
    for word in words:
        pattern = ""
        for char in reversed(word[1:-1]):
            pattern = f"(?:{re.escape(char)}{pattern})?"
        nested.append(re.escape(word[0]) + pattern)
    return "(?:" + "|".join(nested) + ")"


# -- a dialect

# Words for what nearly every dialect has.
USUAL_STATES = {
    "text": "in the prose, outside of any call",
    "value": "inside the value of a parameter, where anything may stand",
    "after": "after a call",
    "done": "after the end of the answer",
}
USUAL_TOKENS = {"text": "text", "space": "whitespace", "end": "the end of the answer"}


def always(m: Any, text: str, start: int) -> bool:
    """Whatever begins like a token is held back."""
    return True


class Memory(Protocol):
    """What a dialect remembers of a channel beside the open call."""

    def clone(self) -> Memory: ...


@dataclass(frozen=True, eq=False)
class Dialect:
    """One way to write calls as text: its table, how its text becomes tokens, and all texts about it.

    `read` turns a match of the lexicon into a token and the name in it. It knows the text alone; what a token
    means in its context is for the guards to decide. `holds` says whether the beginning of a token, at
    `start` of the text and up to its end, may still matter. `states_in_words` completes "the machine is …",
    `tokens_in_words` "it met …", `waits_for` "it waits for …".
    """

    name: str
    summary: str
    policy: Policy
    states: tuple[StrEnum, ...]
    tokens: tuple[StrEnum, ...]
    transitions: Table
    lexicons: Mapping[StrEnum, Lexicon]  # per state
    read: Callable[[re.Match[str]], tuple[StrEnum, str]]
    states_in_words: Mapping[Any, str]
    tokens_in_words: Mapping[Any, str]
    waits_for: Mapping[Any, str] = field(default_factory=dict)
    holds: Callable[[Any, str, int], bool] = always
    leftover: Callable[[Any, str], StrEnum] | None = None  # a beginning of a token at the end
    memory: Callable[[], Memory] | None = None  # what its table needs to know of the text before
    converts: bool = True  # False: the answer's bytes go on as they come
    has_thoughts: bool = False  # its table knows <think> itself
    chooses: bool = False  # it only looks for the dialect that the answer really speaks
    # literal beginnings of a call; None: those of its leak marks
    openers: Callable[[Mapping[str, Tool]], tuple[str, ...]] | None = None
    # what shows that a text is a call of this dialect
    proof: Effect = Effect.OPENS_VALUE | Effect.ARGUMENT | Effect.COMPLETES
    fenced: bool = False  # where a call is in Markdown makes a difference
    spelling: Any = None  # the markers, where the table is a grammar's that several dialects share
    ids: Literal["generated", "upstream"] = "generated"
    own_json: bool = False  # arguments are JSON as the model wrote it
    # the way up
    writer: Writer | None = None
    template: str | None = None  # the prompt that explains the tools, for Jinja
    taught_by: tuple[str | Callable[[str], bool], ...] = ()  # what shows that a prompt explains this dialect
    tags_are_names: bool = False  # tools and parameters are tags, so their names can collide
    names_taken: Callable[[str], str] = lambda name: ""  # why a tool cannot be called so, in words
    # what helps a person
    leak_marks: tuple[LeakMark, ...] = ()
    mender: Mender | None = None
    models: tuple[str, ...] = ()  # beginnings of the names of models that speak it, in lower case

    def __post_init__(self) -> None:
        """A table with a hole is a mistake in the dialect and stops the import, however it was made."""
        for state in self.states:
            if state not in self.lexicons:
                raise ValueError(f"{self.name}: {state} has no lexicon")
            for token in self.tokens:
                mistake = _mistake(self.states, self.transitions.get((state, token), ()))
                if mistake:
                    raise ValueError(f"{self.name}: {state} {mistake.format(token)}")

    @property
    def initial(self) -> StrEnum:
        return self.states[0]

    @cached_property
    def text(self) -> StrEnum:
        """The token for characters that mean nothing."""
        return self._token("text")

    @cached_property
    def space(self) -> StrEnum:
        """The token for whitespace that means nothing; a dialect may make no difference."""
        return self._token("space") if "space" in self.tokens else self.text

    @cached_property
    def end(self) -> StrEnum:
        """The token for the end of the answer."""
        return self._token("end")

    def _token(self, word: str) -> StrEnum:
        return next(token for token in self.tokens if token == word)

    @cached_property
    def compiled(self) -> dict[StrEnum, tuple[dict[StrEnum, Rules], Lexicon]]:
        """The table by state, so that a step is one lookup."""
        return {
            state: ({token: self.transitions[state, token] for token in self.tokens}, self.lexicons[state])
            for state in self.states
        }
