"""roo-xml: `<tool><parameter>value</parameter></tool>` at the start of a line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum, auto

from transformer.dialect import Dialect, Rule
from transformer.dialects.html import HTML_ELEMENTS
from transformer.dialects.roo_repair import repair
from transformer.dialects.tables import table
from transformer.lexer import Lexicon, upto
from transformer.machine import Machine
from transformer.policy import Policy
from transformer.tagcall import TagCall, deliver, leave, release
from transformer.tags import (
    close_example,
    close_example_at_pair,
    data,
    end_at_pair,
    give_up,
    hold,
    ignore,
    not_a_call,
    open_example,
    open_parameter,
    prose,
    tell_unfinished,
)


class State(StrEnum):
    TEXT = auto()
    CALL = auto()  # behind the tag of an offered tool
    UNKNOWN = auto()  # behind a tag that may be a tool nobody offered
    VALUE = auto()
    CLOSED = auto()  # behind a closing tag that ends the value if structure follows
    EXAMPLE = auto()  # inside the value, in an example of this very call
    EXAMPLE_CLOSED = auto()
    BROKEN = auto()  # behind </tool> at the start of a line, the value still open
    AFTER = auto()  # behind a call
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    TOOL = auto()  # <name> at the start of a line: a tool that was offered
    MAYBE_TOOL = auto()  # <name> at the start of a line, outside a fence: a tool that was not
    PARAMETER = auto()  # <name> of a parameter this call may still have
    ELEMENT = auto()  # <name> the schema doesn't know
    CLOSE = auto()  # </name> of the open parameter, or of an element looked ahead into
    CLOSE_CALL = auto()  # </tool>
    CLOSE_LINE = auto()  # </tool> at the start of a line
    CLOSE_INNER = auto()  # </tool> of an example inside an example
    OWN = auto()  # <tool> of this call at the start of a line
    OWN_UNKNOWN = auto()  # the same, where the tool was not offered
    END = auto()


NAME_LIMIT = 256  # a longer "name" is text: nothing is held back for it without end
TAG = re.compile(rf"<(/?)([^\s<>/]{{1,{NAME_LIMIT}}})>")
_PARTIAL = re.compile(rf"</?[^\s<>/]{{0,{NAME_LIMIT}}}\Z")
_LEXICON = Lexicon(upto("<"), TAG, _PARTIAL)
_UNKNOWN_NAME = re.compile(r"[A-Za-z_][\w.:-]*\Z")
_NO_TOOL = HTML_ELEMENTS | {"think", "thinking"}


def classify(m: Machine, text: str, match: re.Match[str]) -> tuple[StrEnum, str]:
    """What a tag is depends on the open call and on where it stands."""
    closing, name = match.group(1), match.group(2)
    line = m.line_start(text, match.start())
    call: TagCall | None = m.call
    if call is None:
        return (Token.TEXT if closing or not line else _outside(m, name)), name
    if closing:
        return _closing(call, name, line), name
    if name == call.name and line and m.examples:
        return (Token.OWN if call.offered else Token.OWN_UNKNOWN), name
    return _inside(m, call, name, line), name


def _outside(m: Machine, name: str) -> Token:
    if m.tool(name) is not None:
        return Token.TOOL
    return Token.MAYBE_TOOL if _may_be_tool(m, name) and name.lower() not in _NO_TOOL else Token.TEXT


def _may_be_tool(m: Machine, name: str) -> bool:
    if m.choice.policy.unknown_tools == "text" or m.fences.open or m.pos < m.offered_until:
        return False
    return _UNKNOWN_NAME.match(name) is not None


def _closing(call: TagCall, name: str, line: bool) -> Token:
    if name == call.name:
        if call.depth > 1:
            return Token.CLOSE_INNER
        return Token.CLOSE_LINE if line else Token.CLOSE_CALL
    return Token.CLOSE if name == call.key or name in call.ahead else Token.TEXT


def _inside(m: Machine, call: TagCall, name: str, line: bool) -> Token:
    tool = call.tool
    if tool is not None and tool.knows(name):
        fresh = name not in call.given and name != call.key
        return Token.PARAMETER if fresh or tool.repeats(name) else Token.TEXT
    return Token.TOOL if line and m.tool(name) is not None else Token.ELEMENT


def undecided(m: Machine, text: str, start: int) -> bool:
    """Whether the beginning of a tag at the end of the text may still mean something here."""
    closing = text.startswith("</", start)
    name = text[start + 2 if closing else start + 1 :]
    call: TagCall | None = m.call
    line = m.line_start(text, start)
    if call is None:
        return line and not closing and (_may_be_tool(m, name or "_") or _begins(name, m.choice.tools))
    if m.state not in (State.VALUE, State.EXAMPLE):
        return True
    if not name and not closing:
        return True
    return _begins(name, (call.name, call.key, *call.ahead) if closing else (call.name,) if line else ())


def _begins(name: str, names: Iterable[str]) -> bool:
    return any(known.startswith(name) for known in names)


def begin_call(m: Machine, text: str, name: str) -> None:
    m.call = TagCall(m, name, m.pos - len(text))
    m.call.add(text)


def begin_unknown_call(m: Machine, text: str, name: str) -> None:
    """Nobody can know yet that it is a call, so nothing of it may leave before its end."""
    m.call = TagCall(m, name, m.pos - len(text), live=False)
    m.call.add(text)


def begin_call_anew(m: Machine, text: str, name: str) -> None:
    """The tag before it was only text, perhaps a wrapper around this call."""
    release(m)
    begin_call(m, text, name)


def begin_unknown_anew(m: Machine, text: str, name: str) -> None:
    release(m)
    begin_unknown_call(m, text, name)


def complete_empty_call(m: Machine, text: str, name: str) -> None:
    m.call.add(text)
    deliver(m, m.pos)


def maybe_end(m: Machine, text: str, name: str) -> None:
    """A closing tag: of an element looked ahead into it decides about an earlier end of the value."""
    call: TagCall = m.call
    call.end = call.ahead.pop(name, call.region.size)
    call.add(text)


def look_ahead(m: Machine, text: str, name: str) -> None:
    """An element the schema doesn't know: the value ended before it only if it is whole."""
    call: TagCall = m.call
    call.ahead[name] = min(call.end, call.ahead.get(name, call.end))
    call.add(text)


def next_parameter(m: Machine, text: str, name: str) -> None:
    _end_value(m)
    open_parameter(m, text, name)


def complete_call(m: Machine, text: str, name: str) -> None:
    _end_value(m)
    m.call.add(text)
    deliver(m, m.pos)


def _end_value(m: Machine) -> None:
    """The value ends where it could; whole elements behind it are parameters too."""
    call: TagCall = m.call
    start = call.region_start + call.end
    key, behind = call.key, call.commit(m, call.end)
    pos = len(key) + 3
    while opening := TAG.search(behind, pos):
        name = opening.group(2)
        end = behind.index(f"</{name}>", opening.end())
        call.also(m, name, behind[opening.end() : end], start + opening.end())
        pos = end + len(name) + 3


def break_off(m: Machine, text: str, name: str) -> None:
    """The call before it was malformed: it is text, and a new one begins."""
    call: TagCall = m.call
    start, end = call.key_start, m.pos - len(text)
    m.found("unclosed-parameter", start, end, parameter=call.key, tool=call.name)
    if call.begun:
        leave(m)
    else:
        release(m)
    begin_call(m, text, name)


def end_inside(m: Machine, text: str, name: str) -> None:
    """The answer ended inside a call."""
    call: TagCall = m.call
    if call.pair is not None:
        end_at_pair(m, State.AFTER)
    elif call.offered:
        if not repair(m, State.AFTER):
            give_up(m, f"</{call.name}>")
    else:
        _look_again(m)


def _look_again(m: Machine) -> None:
    """It was no call of an unknown tool, so a call of an offered one may stand in it."""
    call: TagCall = m.call
    tell_unfinished(m, f"</{call.name}>")
    m.call = None
    m.offered_until = m.pos
    m.prev = "\n"
    m.again(State.TEXT, call.start, call.raw())


S, T = State, Token

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.TOOL: Rule(S.CALL, begin_call, "an offered tool's tag starts a call"),
                T.MAYBE_TOOL: Rule(S.UNKNOWN, begin_unknown_call, "a tool that was not offered, perhaps"),
                T.END: Rule(S.DONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, prose, "text leaves at once"),
        ),
        S.CALL: (
            {
                T.SPACE: Rule(S.CALL, hold, "whitespace before the first parameter"),
                (T.PARAMETER, T.ELEMENT): Rule(S.VALUE, open_parameter, "the first parameter"),
                (T.CLOSE_CALL, T.CLOSE_LINE): Rule(S.AFTER, complete_empty_call, "a call without parameters"),
                (T.TOOL, T.OWN): Rule(S.CALL, begin_call_anew, "the tag before it was only text"),
                T.END: Rule(S.DONE, end_inside, "the answer ended behind the tool's tag"),
            },
            Rule(S.TEXT, not_a_call, "a tag merely named in prose"),
        ),
        S.UNKNOWN: (
            {
                T.SPACE: Rule(S.UNKNOWN, hold, "whitespace before the first child"),
                (T.PARAMETER, T.ELEMENT): Rule(S.VALUE, open_parameter, "it has children, as a call does"),
                T.TOOL: Rule(S.CALL, begin_call_anew, "the tag before it was only text"),
                T.OWN_UNKNOWN: Rule(S.UNKNOWN, begin_unknown_anew, "the tag before it was only text"),
                T.END: Rule(S.DONE, end_inside, "the answer ended behind the tag"),
            },
            Rule(S.TEXT, not_a_call, "without a child it is no call"),
        ),
        S.VALUE: (
            {
                T.CLOSE: Rule(S.CLOSED, maybe_end, "ends the value if structure follows"),
                T.CLOSE_LINE: Rule(S.BROKEN, hold, "data, unless another tool's tag follows"),
                (T.OWN, T.OWN_UNKNOWN): Rule(
                    S.EXAMPLE, open_example, "an example of this call inside the value"
                ),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside a value"),
            },
            Rule(S.VALUE, data, "a value may contain anything"),
        ),
        S.CLOSED: (
            {
                T.SPACE: Rule(S.CLOSED, hold, "whitespace before what decides"),
                T.PARAMETER: Rule(S.VALUE, next_parameter, "a parameter that is not given yet"),
                (T.ELEMENT, T.TOOL): Rule(S.VALUE, look_ahead, "a parameter if the whole element stands"),
                (T.CLOSE_CALL, T.CLOSE_LINE): Rule(S.AFTER, complete_call, "the call is complete"),
                T.CLOSE: Rule(S.CLOSED, maybe_end, "the one before was data; this may be the end"),
                (T.OWN, T.OWN_UNKNOWN): Rule(
                    S.EXAMPLE, open_example, "an example of this call inside the value"
                ),
                T.END: Rule(S.DONE, end_inside, "the answer ended before </tool>"),
            },
            Rule(S.VALUE, data, "no structure follows, so it was data"),
        ),
        S.EXAMPLE: (
            {
                T.CLOSE: Rule(S.EXAMPLE_CLOSED, maybe_end, "data, but remember it"),
                (T.CLOSE_CALL, T.CLOSE_LINE): Rule(S.VALUE, close_example, "the example ends"),
                T.CLOSE_INNER: Rule(S.EXAMPLE, close_example, "an example inside it ends"),
                (T.OWN, T.OWN_UNKNOWN): Rule(S.EXAMPLE, open_example, "an example inside the example"),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside the example"),
            },
            Rule(S.EXAMPLE, data, "an example is data"),
        ),
        S.EXAMPLE_CLOSED: (
            {
                T.SPACE: Rule(S.EXAMPLE_CLOSED, hold, "whitespace inside a pair"),
                T.CLOSE: Rule(S.EXAMPLE_CLOSED, maybe_end, "data, but remember it"),
                (T.CLOSE_CALL, T.CLOSE_LINE): Rule(
                    S.VALUE, close_example_at_pair, "the end after all, should no other come"
                ),
                T.CLOSE_INNER: Rule(S.EXAMPLE, close_example_at_pair, "the end, should no other come"),
                (T.OWN, T.OWN_UNKNOWN): Rule(S.EXAMPLE, open_example, "an example inside the example"),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside the example"),
            },
            Rule(S.EXAMPLE, data, "an example is data"),
        ),
        S.BROKEN: (
            {
                T.SPACE: Rule(S.BROKEN, hold, "whitespace before what decides"),
                (T.TOOL, T.OWN): Rule(S.CALL, break_off, "the call before it was malformed"),
                T.OWN_UNKNOWN: Rule(S.EXAMPLE, open_example, "an example of this call inside the value"),
                T.CLOSE: Rule(S.CLOSED, maybe_end, "ends the value if structure follows"),
                T.CLOSE_LINE: Rule(S.BROKEN, hold, "data, unless another tool's tag follows"),
                T.END: Rule(S.DONE, end_inside, "the answer ended, the value was never closed"),
            },
            Rule(S.VALUE, data, "no tool's tag follows, so it was data"),
        ),
        S.AFTER: (
            {
                T.SPACE: Rule(S.AFTER, prose, "dropped, unless text follows"),
                T.TOOL: Rule(S.CALL, begin_call, "a further call"),
                T.MAYBE_TOOL: Rule(S.UNKNOWN, begin_unknown_call, "a further call, perhaps"),
                T.END: Rule(S.DONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, prose, "text behind a call"),
        ),
        S.DONE: ({}, Rule(S.DONE, ignore, "nothing comes behind the end")),
    },
)

ROO_XML = Dialect(
    name="roo-xml",
    summary="<tool><parameter>value</parameter></tool>, as RooCode, Cline and XML prompts have it",
    policy=Policy(
        tools="inject",
        calls="first",
        unknown_tools="call",
        malformed="text",
        arguments="whole",
        after_call="drop",
        finish_reason="rewrite",
        channels=("content",),
        text_channel="same",
        max_call_bytes=16 << 20,
    ),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    text=Token.TEXT,
    space=Token.SPACE,
    end=Token.END,
    lexicons=dict.fromkeys(State, _LEXICON),
    classify=classify,
    undecided=undecided,
    fenced=True,
)
