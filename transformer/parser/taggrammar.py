"""The grammar of wrapped calls: WRAPPER CALL PARAMETER value /PARAMETER … /CALL /WRAPPER, each of them a tag.

Qwen3-Coder, GLM, MiniMax and others write the same thing with other markers. A dialect of this grammar is a
`Spelling`; the states, the tokens and the table are these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Any

from transformer.parser.machine import (
    USUAL_STATES,
    USUAL_TOKENS,
    Lexicon,
    Machine,
    Rule,
    beginnings,
    guard,
    hold,
    ignore,
    prose,
    release,
    table,
    then,
)
from transformer.parser.tagcall import (
    NAME_LIMIT,
    TagCall,
    close_example,
    close_example_at_end,
    close_in_example,
    complete_call,
    data,
    give_up,
    has_pair,
    in_inner_example,
    is_streamed,
    leave_cut,
    may_repair,
    maybe_end,
    next_parameter,
    not_a_call,
    open_example,
    open_parameter,
    read_from_pair,
    remember_end,
)
from transformer.records import Effect

# -- how a dialect spells it


_GAP = r"\s{0,64}"  # whitespace between two markers; more of it is text


@dataclass(frozen=True, slots=True)
class Opening:
    """A tag with a name in it: what stands before the name, the name, and what stands after it.

    `before` and `after` are literal texts, of which there may be several. With `gap` whitespace may stand
    around the name; `tail` is a further marker that follows, after whitespace. A name that no marker ends goes
    up to the first character that cannot be in a name.
    """

    before: tuple[str, ...]
    after: tuple[str, ...] = ()
    name: str = rf"[^<>\n]{{1,{NAME_LIMIT}}}"
    gap: bool = False
    tail: str = ""

    @property
    def pattern(self) -> str:
        """A whole tag; its one group is the name."""
        gap = _GAP if self.gap else ""
        end = f"{gap}(?:{_any(self.after)})" if self.after else rf"(?!{self.name})(?!\Z)"
        tail = f"{_GAP}{re.escape(self.tail)}" if self.tail else ""
        return f"(?:{_any(self.before)}){gap}({self.name}){end}{tail}"

    @property
    def begun(self) -> str:
        """A beginning of one, to be matched up to the end of the text."""
        gap = _GAP if self.gap else ""
        head = f"(?:{_any(self.before)}){gap}"
        parts = [beginnings(*(f"{before}_" for before in self.before)), head, f"{head}{self.name}{gap}"]
        parts += [f"{head}{self.name}{gap}{beginnings(after)}" for after in self.after if len(after) > 1]
        if self.tail:
            parts.append(f"{head}{self.name}{gap}(?:{_any(self.after)}){_GAP}(?:{beginnings(self.tail)})?")
        return f"(?:{'|'.join(parts)})"


def _any(words: tuple[str, ...]) -> str:
    return "|".join(map(re.escape, words))


@dataclass(frozen=True, slots=True)
class Spelling:
    """The markers of a dialect of this grammar.

    `tag` shows a call's opening tag to people. With `bare` any call counts without its wrapper, else only that
    of an offered tool. `inline` is the pattern of a parameter whose value stands inside its tag, which is
    repaired, and that of its beginnings. With `verbatim`, strings keep the newlines beside their tags.
    """

    call: Opening
    parameter: Opening
    close_call: str
    close_parameter: str
    tag: str
    wrapper: str = ""
    close_wrapper: str = ""
    bare: bool = False
    inline: tuple[str, str] | None = None
    verbatim: bool = False

    @property
    def lexicon(self) -> Lexicon:
        fixed = tuple(filter(None, (self.wrapper, self.close_parameter, self.close_call, self.close_wrapper)))
        whole = f"{_any(fixed)}|{self.call.pattern}|{self.parameter.pattern}"
        begun = f"{beginnings(*fixed)}|{self.call.begun}|{self.parameter.begun}"
        if self.inline is not None:
            whole, begun = f"{whole}|{self.inline[0]}", f"{begun}|{self.inline[1]}"
        firsts = "".join({re.escape(word[0]) for word in (*fixed, *self.call.before, *self.parameter.before)})
        return Lexicon(
            re.compile(f"[^{firsts}]*+[{firsts}]"), re.compile(whole), re.compile(rf"(?:{begun})\Z")
        )

    def read(self, match: re.Match[str]) -> tuple[StrEnum, str]:
        """The token that a match of the lexicon is, and the name in it."""
        for group, token in ((1, T.CALL), (2, T.PARAMETER), (3, T.INLINE)):
            if match.re.groups >= group and match[group] is not None:
                name = match[group].strip()
                return (token if name else T.TEXT), name
        fixed: dict[str, StrEnum] = {
            self.wrapper: T.WRAPPER,
            self.close_parameter: T.CLOSE_PARAMETER,
            self.close_call: T.CLOSE_CALL,
            self.close_wrapper: T.CLOSE_WRAPPER,
        }
        return fixed[match[0]], ""

    def holds(self, m: Machine, text: str, start: int) -> bool:
        """Outside a call only what may begin one is held back, and after one the wrapper's end."""
        if m.call is not None:
            return True
        part = text[start:]
        if m.state is S.AFTER and self.close_wrapper.startswith(part):
            return True
        if self.wrapper.startswith(part) or any(before.startswith(part) for before in self.call.before):
            return True
        before = next((before for before in self.call.before if part.startswith(before)), None)
        if before is None:
            return False
        if m.wrapped or self.bare:
            return True
        named = part[len(before) :].lstrip() if self.call.gap else part[len(before) :]
        ends = self.call.after or ("",)
        return any(f"{known}{after}".startswith(named) for known in m.choice.tools for after in ends)

    def words(self) -> tuple[Mapping[Any, str], Mapping[Any, str], Mapping[Any, str]]:
        """What states and tokens are, and what a state waits for."""
        states = {
            **USUAL_STATES,
            S.WRAPPER: f"after {self.wrapper}, waiting for a call",
            S.CALL: f"after {self.tag}, before its first parameter",
            S.CLOSED: f"after {self.close_parameter}, which ends the value if a parameter or "
            f"{self.close_call} follows",
            S.UNCLOSED: f"after {self.close_call} with the parameter still open: the call's end, or data",
            S.EXAMPLE: "inside a value, in an example of a call",
            S.EXAMPLE_CLOSED: f"in such an example, after {self.close_parameter}",
        }
        tokens = {
            **USUAL_TOKENS,
            T.WRAPPER: "the wrapper's tag",
            T.CALL: "a call's tag",
            T.PARAMETER: "a parameter's tag",
            T.INLINE: "a parameter with its value inside the tag",
            T.CLOSE_PARAMETER: "a parameter's closing tag",
            T.CLOSE_CALL: "the call's closing tag",
            T.CLOSE_WRAPPER: "the wrapper's closing tag",
        }
        waits = {
            S.WRAPPER: self.tag,
            S.CALL: f"a parameter or {self.close_call}",
            S.VALUE: "the tag that closes the parameter",
            S.CLOSED: "what follows the closing tag: a parameter, or the call's end",
            S.UNCLOSED: f"what follows {self.close_call}",
            S.EXAMPLE: "the end of the example",
            S.EXAMPLE_CLOSED: "the end of the example",
        }
        return states, tokens, waits


# -- states and tokens


class State(StrEnum):
    TEXT = auto()
    WRAPPER = auto()
    CALL = auto()
    VALUE = auto()
    CLOSED = auto()
    UNCLOSED = auto()
    EXAMPLE = auto()
    EXAMPLE_CLOSED = auto()
    AFTER = auto()
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    WRAPPER = auto()
    CALL = auto()
    PARAMETER = auto()
    INLINE = auto()
    CLOSE_PARAMETER = auto()
    CLOSE_CALL = auto()
    CLOSE_WRAPPER = auto()
    END = auto()


S, T, E = State, Token, Effect


def _spelling(m: Machine) -> Spelling:
    spelling = m.dialect.spelling
    assert isinstance(spelling, Spelling)
    return spelling


# -- guards


@guard("the tool was offered, or what stands before it shows that a call is meant")
def can_start(m: Machine, name: str) -> bool:
    if m.tool(name) is not None:
        return True
    return (m.wrapped or _spelling(m).bare) and m.choice.policy.unknown_tools != "text"


@guard("it stands at the start of a line")
def is_example(m: Machine, name: str) -> bool:
    return m.line and m.examples


@guard("it stands at the start of a line, and the schema has it, and it is not given yet")
def is_next_parameter(m: Machine, name: str) -> bool:
    call: TagCall = m.call
    known = call.tool is not None and call.tool.knows(name)
    return m.line and known and name != call.key and name not in call.given


@guard("the policy repairs, and the schema has it")
def may_inline(m: Machine, name: str) -> bool:
    return may_repair(m, name)


@guard("the policy repairs, the open value is whole, and no required parameter is missing")
def is_repairable(m: Machine, name: str) -> bool:
    call: TagCall = m.call
    if not may_repair(m, call.key) or m.choice.was_cut:
        return False
    if m.state is not S.CLOSED and not call.ends_itself(str(call.region)):
        return False
    return call.tool is not None and set(call.tool.required) <= call.given | {call.key}


# -- actions


def begin_wrapper(m: Machine, text: str, name: str) -> None:
    m.wrapped = True
    m.call = TagCall(m, "", m.pos - len(text), call_closer=_spelling(m).close_call)
    m.call.add(text)


def begin_call(m: Machine, text: str, name: str) -> None:
    """The call takes in its wrapper, if there was one."""
    wrapper: TagCall | None = m.call
    start = m.pos - len(text) if wrapper is None else wrapper.start
    spelling = _spelling(m)
    m.call = TagCall(
        m,
        name,
        start,
        closer=spelling.close_parameter,
        call_closer=spelling.close_call,
        verbatim=spelling.verbatim,
    )
    if wrapper is not None:
        m.call.add(wrapper.raw())
    m.call.add(text)


def not_a_wrapper(m: Machine, text: str, name: str) -> None:
    m.wrapped = False
    not_a_call(m, text, name)


def not_a_parameter(m: Machine, text: str, name: str) -> None:
    """A call merely named in prose, or one whose parameter cannot be read."""
    call: TagCall = m.call
    for before in _spelling(m).parameter.before:
        if text.lstrip().startswith(before):
            end = m.pos - len(text.lstrip()) + len(before)
            reason = f"{before} is not followed by a name and {_spelling(m).parameter.after[0]}"
            m.found("malformed-call", call.start, end, tool=call.name, reason=reason, broken_tag=True)
            break
    not_a_wrapper(m, text, name)


def repair_parameter(m: Machine, text: str, name: str) -> None:
    """The parameter's closing tag is missing, but a line begins with the next parameter of this tool."""
    call: TagCall = m.call
    call.end = call.region.size
    _tell_repaired(m)
    next_parameter(m, text, name)


def inline_parameter(m: Machine, text: str, name: str) -> None:
    """`<parameter=key=value</parameter>`: the value stands where the tag should have ended."""
    call: TagCall = m.call
    closer = _spelling(m).close_parameter
    if call.key:
        call.commit(m, call.end)
    opened = text.index(name) + len(name) + 1
    m.found("repaired-parameter", m.pos - len(text), m.pos, parameter=name, closing="> and a newline")
    value = text[opened : -len(closer)]
    start = m.pos - len(text) + opened
    call.add(text[:opened])
    call.open(m, name)
    call.region_start = start
    call.add(value)
    call.end = len(value)
    call.add(closer)


def _tell_repaired(m: Machine) -> None:
    call: TagCall = m.call
    start = call.region_start
    m.found("repaired-parameter", start, start + call.end, parameter=call.key, closing=call.closing_tag)


def complete_at_wrapper(m: Machine, text: str, name: str) -> None:
    """The wrapper's closing tag where the call's should have been."""
    call: TagCall = m.call
    m.found("repaired-call", call.start, m.pos, tool=call.name, closing=call.call_closer)
    complete_call(m, text, name)
    m.wrapped = False


def complete_unclosed(m: Machine, text: str, name: str) -> None:
    """The parameter's closing tag is missing before the call's; what follows shows that the call was over."""
    call: TagCall = m.call
    _tell_repaired(m)
    rest = call.commit(m, call.end).removeprefix(call.call_closer)
    end = m.pos - len(text) - len(rest)
    call.deliver(m, end)
    m.say_at(end, rest)


def swallow(m: Machine, text: str, name: str) -> None:
    """The wrapper's closing tag, or one too many right after it."""
    m.wrapped = False
    m.settled += len(text)
    m.prose.call(m.pos)
    m.prev = "\n"


def text_after(m: Machine, text: str, name: str) -> None:
    m.wrapped = False
    m.say(text)


def repair(m: Machine, text: str, name: str) -> None:
    """Close what is open at the end of the answer."""
    call: TagCall = m.call
    call.given.add(call.key)
    if m.state is not S.CLOSED:
        call.end = call.region.size
        _tell_repaired(m)
    call.commit(m, call.end)
    m.found("repaired-call", call.start, m.pos, tool=call.name, closing=call.call_closer)
    call.deliver(m, m.pos)


# -- the table

_BEGIN = E.BEGINS | E.NAMES | E.HELD
_WRAP = E.BEGINS | E.HELD
_NEXT = E.ENDS_VALUE | E.OPENS_VALUE | E.HELD
_DONE = E.ENDS_VALUE | E.COMPLETES
_REPAIRED = E.REPAIRS | E.ENDS_VALUE | E.COMPLETES
_MISSING = "the parameter's closing tag was missing"

# fmt: off
_EXAMPLE = [Rule(S.EXAMPLE, E.ARGUMENT, open_example, "an example of a call inside the value", is_example)]
_INLINED = [Rule(S.CLOSED, E.REPAIRS | _NEXT, inline_parameter, "a parameter whose tag never ended", may_inline)]
_NOT_CLOSED = [
    Rule(S.VALUE, E.REPAIRS | _NEXT, repair_parameter, "the closing tag is missing before it", is_next_parameter),
]
_ANEW = Rule(S.WRAPPER, E.GIVES_UP | _WRAP, then(release, begin_wrapper), "the one before it was text")
_ENDS = [
    Rule(S.VALUE, E.REREADS, read_from_pair, "the example never closed: its first end was the end", has_pair),
    Rule(S.DONE, _REPAIRED, repair, "what is missing is clear", is_repairable),
    Rule(S.DONE, E.CUTS, leave_cut, "the client keeps what it has of it", is_streamed),
    Rule(S.DONE, E.GIVES_UP, give_up, "the answer ended inside the call, so it is text"),
]

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.WRAPPER: Rule(S.WRAPPER, _WRAP, begin_wrapper, "a call, if one follows"),
                T.CALL: [Rule(S.CALL, _BEGIN, begin_call, "a call begins", can_start)],
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, E.PROSE, prose, "text leaves at once"),
        ),
        S.WRAPPER: (
            {
                T.SPACE: Rule(S.WRAPPER, E.HELD, hold, "whitespace before the call"),
                T.CALL: [Rule(S.CALL, _BEGIN, begin_call, "a call begins", can_start)],
                T.WRAPPER: _ANEW,
                T.END: _ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_wrapper, "a wrapper without a call is text"),
        ),
        S.CALL: (
            {
                T.SPACE: Rule(S.CALL, E.HELD, hold, "whitespace before the first parameter"),
                T.PARAMETER: Rule(S.VALUE, E.OPENS_VALUE | E.HELD, open_parameter, "the first parameter"),
                T.INLINE: _INLINED,
                T.CLOSE_CALL: Rule(S.AFTER, E.COMPLETES, complete_call, "a call without parameters"),
                T.CLOSE_WRAPPER: Rule(S.AFTER, E.REPAIRS | E.COMPLETES, complete_at_wrapper,
                                      "the call's closing tag is missing"),
                T.WRAPPER: _ANEW,
                T.CALL: [Rule(S.CALL, E.GIVES_UP | _BEGIN, then(release, begin_call), "the one before it was text",
                              can_start)],
                T.END: _ENDS,
            },
            Rule(S.TEXT, E.GIVES_UP, not_a_parameter, "a tag merely named in prose, or a broken parameter"),
        ),
        S.VALUE: (
            {
                T.CLOSE_PARAMETER: Rule(S.CLOSED, E.HELD, maybe_end, "ends the value if structure follows"),
                T.CLOSE_CALL: Rule(S.UNCLOSED, E.HELD, maybe_end, "the end if the answer goes on as after a call"),
                T.PARAMETER: _NOT_CLOSED,
                T.CALL: _EXAMPLE,
                T.END: _ENDS,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "a value may contain anything"),
        ),
        S.CLOSED: (
            {
                T.SPACE: Rule(S.CLOSED, E.HELD, hold, "whitespace before what decides"),
                T.PARAMETER: Rule(S.VALUE, _NEXT, next_parameter, "the next parameter"),
                T.INLINE: _INLINED,
                T.CLOSE_CALL: Rule(S.AFTER, _DONE, complete_call, "the call is complete"),
                T.CLOSE_WRAPPER: Rule(S.AFTER, _REPAIRED, complete_at_wrapper, "the call's closing tag is missing"),
                T.CLOSE_PARAMETER: Rule(S.CLOSED, E.HELD, maybe_end, "the one before was data; this may be the end"),
                T.CALL: _EXAMPLE,
                T.END: _ENDS,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "no structure follows, so it was data"),
        ),
        S.UNCLOSED: (
            {
                T.SPACE: Rule(S.UNCLOSED, E.HELD, hold, "whitespace before what decides"),
                T.CLOSE_WRAPPER: Rule(S.AFTER, _REPAIRED | E.MARKUP, then(complete_unclosed, swallow), _MISSING),
                T.WRAPPER: Rule(S.WRAPPER, _REPAIRED | _WRAP, then(complete_unclosed, begin_wrapper), _MISSING),
                T.CALL: [
                    Rule(S.CALL, _REPAIRED | _BEGIN, then(complete_unclosed, begin_call), _MISSING, can_start),
                    Rule(S.TEXT, _REPAIRED | E.PROSE, then(complete_unclosed, prose), f"{_MISSING}; this is text"),
                ],
                T.END: Rule(S.DONE, _REPAIRED, complete_unclosed, _MISSING),
                T.CLOSE_PARAMETER: Rule(S.CLOSED, E.HELD, maybe_end, "ends the value if structure follows"),
                T.CLOSE_CALL: Rule(S.UNCLOSED, E.HELD, maybe_end, "the one before was data; this may be the end"),
                T.PARAMETER: _NOT_CLOSED,
            },
            Rule(S.VALUE, E.ARGUMENT, data, "the answer goes on inside the value, so it was data"),
        ),
        S.EXAMPLE: (
            {
                T.CLOSE_PARAMETER: Rule(S.EXAMPLE_CLOSED, E.ARGUMENT, close_in_example, "data, but remember it"),
                T.CLOSE_CALL: [
                    Rule(S.EXAMPLE, E.ARGUMENT, close_example, "an example inside it ends", in_inner_example),
                    Rule(S.VALUE, E.ARGUMENT, close_example, "the example ends"),
                ],
                T.CALL: _EXAMPLE,
                T.END: _ENDS,
            },
            Rule(S.EXAMPLE, E.ARGUMENT, data, "an example is data"),
        ),
        S.EXAMPLE_CLOSED: (
            {
                T.SPACE: Rule(S.EXAMPLE_CLOSED, E.ARGUMENT, hold, "whitespace inside a pair"),
                T.CLOSE_PARAMETER: Rule(S.EXAMPLE_CLOSED, E.ARGUMENT, close_in_example, "data, but remember it"),
                T.CLOSE_CALL: [
                    Rule(S.EXAMPLE, E.ARGUMENT, close_example_at_end, "the end, should no other come",
                         in_inner_example),
                    Rule(S.VALUE, E.ARGUMENT, close_example_at_end, "the end after all, should no other come"),
                ],
                T.CALL: _EXAMPLE,
                T.PARAMETER: Rule(S.EXAMPLE, E.ARGUMENT, remember_end, "the end of the value, should no other come"),
                T.END: _ENDS,
            },
            Rule(S.EXAMPLE, E.ARGUMENT, data, "an example is data"),
        ),
        S.AFTER: (
            {
                T.SPACE: Rule(S.AFTER, E.PROSE, prose, "dropped, unless text follows"),
                T.WRAPPER: Rule(S.WRAPPER, _WRAP, begin_wrapper, "a further call, if one follows"),
                T.CALL: [Rule(S.CALL, _BEGIN, begin_call, "a further call", can_start)],
                T.CLOSE_WRAPPER: Rule(S.AFTER, E.MARKUP, swallow, "belongs to the call before it"),
                T.END: Rule(S.DONE, E.NONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, E.PROSE, text_after, "text after a call"),
        ),
        S.DONE: ({}, Rule(S.DONE, E.NONE, ignore, "nothing comes after the end")),
    },
)
# fmt: on


def tag_grammar(spelling: Spelling) -> dict[str, Any]:
    """What a `Dialect` of this grammar is made of."""
    states, tokens, waits = spelling.words()
    return {
        "states": tuple(State),
        "tokens": tuple(Token),
        "transitions": TRANSITIONS,
        "lexicons": dict.fromkeys(State, spelling.lexicon),
        "read": spelling.read,
        "holds": spelling.holds,
        "states_in_words": states,
        "tokens_in_words": tokens,
        "waits_for": waits,
        "spelling": spelling,
    }
