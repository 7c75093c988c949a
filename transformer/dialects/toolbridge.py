"""toolbridge: roo-xml's calls inside `<toolbridge_calls>`, as ToolBridge's prompt teaches them.

The wrapper's closing tag may end a call whose own is missing, but a value may contain it as well. So the
call ends there only if the answer is over without a later end: the last one counts, as in roo-xml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum, auto

from transformer.dialects import roo_xml
from transformer.dialects.roo_xml import (
    ROO_XML,
    begin_call,
    begin_unknown_call,
    has_attributes,
    is_tool,
    is_unknown_tool,
)
from transformer.dialects.roo_xml.roomending import MENDING, mender
from transformer.dialects.roo_xml.tags import TAG_NAME, NamingMachine, State, Token
from transformer.journal import Text
from transformer.parser.dialect import Action, Rule, Rules, guard
from transformer.parser.leakmarks import WORD, leak_mark
from transformer.parser.machine import hold, release, swallow
from transformer.parser.tagcall import TagCall, data, not_a_call
from transformer.parser.writing import packaged_template, tag_writer
from transformer.policy import USUAL, Policy
from transformer.records import Effect as E

_NAMES = ("toolbridge_calls", "toolbridge:calls")
_CALL_TAG = re.compile(rf"<(?!toolbridge[_:]calls>)({TAG_NAME})>")
_OPEN, _CLOSE = (f"{start}{_NAMES[0]}>" for start in ("<", "</"))


class Wrapping(StrEnum):
    """States and tokens of its own; all others are roo-xml's."""

    WRAPPER = auto()
    CLOSE_WRAPPER = auto()
    UNWRAPPED = auto()


S, T, W = State, Token, Wrapping


def read(match: re.Match[str]) -> tuple[StrEnum, str]:
    token, name = ROO_XML.read(match)
    if name in _NAMES and token in (T.OPEN, T.CLOSE):
        return (W.WRAPPER if token is T.OPEN else W.CLOSE_WRAPPER), ""
    return token, name


def holds(m: NamingMachine, text: str, start: int) -> bool:
    if m.state in (W.WRAPPER, S.CALL):
        return True  # here a tag with blanks in it may begin a call as well
    begun = text[start + 1 :]
    if m.call is None:
        begun = begun.removeprefix("/")  # in a value the closing one is like any other text
    return any(name.startswith(begun) for name in _NAMES) or ROO_XML.holds(m, text, start)


# -- guards


@guard("the text is read again, and there is no later end")
def is_last_end(m: NamingMachine, name: str) -> bool:
    return not m.examples


@guard("the wrapper's closing tag came where the call's should have been")
def has_unwrapped(m: NamingMachine, name: str) -> bool:
    call = m.call
    if call.pair is None:
        return False
    after = str(call.region)[call.pair :].partition(call.call_closer)[0]
    return any(f"</{name}>" in after for name in _NAMES)


# -- actions


def begin_wrapper(m: NamingMachine, text: str, name: str) -> None:
    m.call = TagCall(m, "", m.pos - len(text), live=False)
    m.call.add(text)


def _inside(begin: Action) -> Action:
    """The call includes its wrapper, so that both are markup or both are text."""

    def begin_inside(m: NamingMachine, text: str, name: str) -> None:
        wrapper = m.call
        begin(m, text, name)
        tag = m.call.raw()
        m.call.start, m.call.region, m.call.size = wrapper.start, Text(), 0
        m.call.add(wrapper.raw())
        m.call.add(tag)

    begin_inside.__name__ = begin.__name__
    return begin_inside


def maybe_unwrapped(m: NamingMachine, text: str, name: str) -> None:
    """The wrapper's closing tag where the call's should have been: the end, if no later one comes."""
    call = m.call
    call.pair = call.end
    call.add(text)


def complete_at_wrapper(m: NamingMachine, text: str, name: str) -> None:
    call = m.call
    blanks = len(call.raw()) - len(call.raw().rstrip()) if not text else 0
    m.found("repaired-call", call.start, m.pos - blanks, tool=call.name, closing=call.call_closer)
    roo_xml.complete_call(m, text, name)


def read_from_wrapper(m: NamingMachine, text: str, name: str) -> None:
    """The answer is over without a later end. From there the text is read again."""
    call = m.call
    assert call.pair is not None
    start = call.region_start + call.pair
    m.examples = False
    m.again(start, call.cut_back(call.pair))


def wrapper_in_value(m: NamingMachine, text: str, name: str) -> None:
    """Data; but a tag of this very call after it begins an example, as on a line of its own."""
    data(m, text, name)
    m.prev = "\n"


def tell_attributes(m: NamingMachine, text: str, name: str) -> None:
    m.call.release(m)
    roo_xml.tell_attributes(m, text, name)


# -- the table: roo-xml's, with the wrapper around it

_BEGIN = E.BEGINS | E.NAMES | E.HELD
_CALLED = Rule(S.CALL, _BEGIN, _inside(begin_call), "an offered tool's tag starts a call", is_tool)
_ANY = Rule(
    S.UNKNOWN, _BEGIN, _inside(begin_unknown_call), "a tool that was not offered, perhaps", is_unknown_tool
)
_TEXT = Rule(S.TEXT, E.GIVES_UP, not_a_call, "a wrapper without a call is text")
_HELD = {
    T.SPACE: (Rule(W.WRAPPER, E.HELD, hold, "whitespace before the call"),),
    W.WRAPPER: (Rule(W.WRAPPER, E.HELD, hold, "the same tag once more"),),
    T.OPEN: (_CALLED, _ANY, _TEXT),
    T.SPACED: (_CALLED, _TEXT),
    T.ATTRIBUTES: (
        Rule(
            S.TEXT,
            E.GIVES_UP,
            tell_attributes,
            "parameters are elements here, not attributes",
            has_attributes,
        ),
        _TEXT,
    ),
    T.END: (Rule(S.DONE, E.GIVES_UP, release, "the answer ended before a call, so it is text"),),
}
_WRAPS = Rule(W.WRAPPER, E.BEGINS | E.HELD, begin_wrapper, "a call, if one follows")
_AT_WRAPPER = E.REPAIRS | E.ENDS_VALUE | E.COMPLETES
_OWN: dict[tuple[StrEnum, StrEnum], Rules] = {
    (S.TEXT, W.WRAPPER): (_WRAPS,),
    (S.AFTER, W.WRAPPER): (_WRAPS,),
    (S.AFTER, W.CLOSE_WRAPPER): (Rule(S.AFTER, E.MARKUP, swallow, "belongs to the calls before it"),),
    (S.CLOSED, W.CLOSE_WRAPPER): (
        Rule(S.AFTER, _AT_WRAPPER, complete_at_wrapper, "the call's closing tag is missing", is_last_end),
        Rule(W.UNWRAPPED, E.HELD, maybe_unwrapped, "the end of the call, should no other come"),
    ),
}  # fmt: skip
_IN_VALUE = Rule(S.VALUE, E.ARGUMENT, wrapper_in_value, "a value may contain anything")
_IN_EXAMPLE = Rule(S.EXAMPLE, E.ARGUMENT, wrapper_in_value, "an example is data")
_OWN.update({(state, W.WRAPPER): (_IN_VALUE,) for state in (S.VALUE, S.CLOSED, S.BROKEN)})
_OWN.update({(state, W.WRAPPER): (_IN_EXAMPLE,) for state in (S.EXAMPLE, S.EXAMPLE_CLOSED)})
_UNWRAPPED: dict[StrEnum, Rules] = {
    T.SPACE: (Rule(W.UNWRAPPED, E.HELD, hold, "whitespace before what decides"),),
    T.CLOSE: ROO_XML.transitions[S.CLOSED, T.CLOSE],
    W.WRAPPER: (_IN_VALUE,),
    W.CLOSE_WRAPPER: (Rule(W.UNWRAPPED, E.HELD, hold, "the same tag once more"),),
    T.END: (Rule(S.DONE, _AT_WRAPPER, complete_at_wrapper, "the call's closing tag is missing"),),
}
_ENDED = Rule(
    S.VALUE, E.REREADS, read_from_wrapper, "no later end came: the wrapper's was the end", has_unwrapped
)
_OPEN_VALUE = (S.VALUE, S.CLOSED, S.BROKEN, S.EXAMPLE, S.EXAMPLE_CLOSED)
_TOKENS = (*ROO_XML.tokens[:-1], W.WRAPPER, W.CLOSE_WRAPPER, ROO_XML.tokens[-1])


def _transitions() -> Iterator[tuple[tuple[StrEnum, StrEnum], Rules]]:
    for state in ROO_XML.states:
        for token in _TOKENS:
            # Where the wrapper means nothing, it is treated like text.
            known = ROO_XML.transitions.get((state, token), ROO_XML.transitions[state, T.TEXT])
            ends = token is T.END and state in _OPEN_VALUE
            yield (state, token), _OWN.get((state, token), (_ENDED, *known) if ends else known)
    for token in _TOKENS:
        known = ROO_XML.transitions.get((S.VALUE, token), ROO_XML.transitions[S.VALUE, T.TEXT])
        yield (W.UNWRAPPED, token), _UNWRAPPED.get(token, known)
    yield from (((W.WRAPPER, token), _HELD.get(token, (_TEXT,))) for token in _TOKENS)


TOOLBRIDGE = replace(
    ROO_XML,
    name="toolbridge",
    summary="<toolbridge_calls><tool><parameter>value</parameter></tool></toolbridge_calls>",
    policy=Policy(tools="inject").over(USUAL),
    states=(*ROO_XML.states[:1], W.WRAPPER, *ROO_XML.states[1:-1], W.UNWRAPPED, *ROO_XML.states[-1:]),
    tokens=_TOKENS,
    transitions=dict(_transitions()),
    lexicons={**ROO_XML.lexicons, **dict.fromkeys((W.WRAPPER, W.UNWRAPPED), ROO_XML.lexicons[S.TEXT])},
    read=read,
    holds=holds,
    states_in_words={
        **ROO_XML.states_in_words,
        W.WRAPPER: f"after {_OPEN}, waiting for a call",
        W.UNWRAPPED: f"after {_CLOSE} where the call's closing tag should have been",
    },
    tokens_in_words={
        **ROO_XML.tokens_in_words,
        W.WRAPPER: "the wrapper's tag",
        W.CLOSE_WRAPPER: "the wrapper's closing tag",
    },
    waits_for={**ROO_XML.waits_for, W.WRAPPER: "the tag of a tool", W.UNWRAPPED: "a later end of the call"},
    writer=tag_writer(
        replace(roo_xml.SYNTAX, dialect="toolbridge", wrap=lambda calls: f"{_OPEN}\n{calls}\n{_CLOSE}"), "\n"
    ),
    template=packaged_template("toolbridge.jinja"),
    taught_by=(_OPEN,),
    openers=lambda tools: tuple(f"<{name}>" for name in _NAMES),
    tags_are_names=True,
    leak_marks=(leak_mark(_OPEN, rf"<toolbridge[_:]calls>\s*<(?P<name>{WORD})>"),),
    models=(),
    mender=mender(replace(MENDING, call=_CALL_TAG, wrapper_closer=_CLOSE)),
)
