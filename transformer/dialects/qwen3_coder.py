"""qwen3-coder: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`."""

from __future__ import annotations

import re
from enum import StrEnum, auto

from transformer.dialect import Dialect, Rule
from transformer.dialects.tables import table
from transformer.lexer import Lexicon, beginnings, upto
from transformer.machine import Machine
from transformer.policy import Policy
from transformer.tagcall import TagCall, deliver, release
from transformer.tags import (
    all_required,
    close_example,
    close_example_at_pair,
    data,
    end_at_pair,
    ends_itself,
    give_up,
    hold,
    ignore,
    may_repair,
    not_a_call,
    open_example,
    open_parameter,
    prose,
    was_cut,
)


class State(StrEnum):
    TEXT = auto()
    WRAPPER = auto()  # behind <tool_call>, waiting for <function=
    FUNCTION = auto()  # behind <function=name>
    VALUE = auto()
    CLOSED = auto()  # behind </parameter>, which ends the value if structure follows
    UNCLOSED = auto()  # behind </function> in an open value: the end, or data
    EXAMPLE = auto()  # inside the value, in an example of a call
    EXAMPLE_CLOSED = auto()
    AFTER = auto()  # behind a call
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    TOOL_CALL = auto()  # <tool_call>
    FUNCTION = auto()  # <function=name> that can start a call here
    FOREIGN = auto()  # <function=name> of a tool nobody offered, without <tool_call>
    EXAMPLE = auto()  # <function=name> at the start of a line inside a call
    PARAMETER = auto()  # <parameter=key>
    NEW_PARAMETER = auto()  # <parameter=key> at the start of a line, in the schema, not given yet
    INLINE = auto()  # <parameter=key=value</parameter>, where repairs are wanted
    CLOSE_PARAMETER = auto()
    CLOSE_FUNCTION = auto()
    CLOSE_INNER = auto()  # </function> of an example inside an example
    CLOSE_TOOL_CALL = auto()
    END = auto()


_NAME = r"[^<>\n]{1,256}"
_CLOSERS = ("</parameter>", "</function>", "</tool_call>")
_TOKEN = re.compile(
    rf"</(?:parameter|function|tool_call)>|<tool_call>|<(function|parameter)=({_NAME})>"
    rf"|<parameter=([^<>\n=]{{1,256}})=([^<>\n]{{0,1024}})</parameter>"
)
_PARTIAL = re.compile(
    rf"(?:{beginnings('<tool_call>', '<function=_', '<parameter=_', *_CLOSERS)}"
    rf"|<(?:function|parameter)={_NAME}(?:{beginnings('</parameter>')})?)\Z"
)
_LEXICON = Lexicon(upto("<"), _TOKEN, _PARTIAL)

_FIXED = {
    "<tool_call>": Token.TOOL_CALL,
    "</parameter>": Token.CLOSE_PARAMETER,
    "</function>": Token.CLOSE_FUNCTION,
    "</tool_call>": Token.CLOSE_TOOL_CALL,
}


def classify(m: Machine, text: str, match: re.Match[str]) -> tuple[StrEnum, str]:
    call: TagCall | None = m.call
    kind, name = match.group(1), match.group(2)
    if kind == "function":
        return _function(m, name.strip(), m.line_start(text, match.start())), name.strip()
    if kind == "parameter":
        return _parameter(call, name.strip(), m.line_start(text, match.start())), name.strip()
    if match.group(3) is not None:
        return (Token.INLINE if _may_inline(m, match.group(3)) else Token.TEXT), match.group(3)
    token = _FIXED[match.group()]
    if token is Token.CLOSE_FUNCTION and call is not None and call.depth > 1:
        token = Token.CLOSE_INNER
    return token, ""


def _function(m: Machine, name: str, line: bool) -> Token:
    if not name:
        return Token.TEXT
    call = m.call
    if call is not None and call.key:
        return Token.EXAMPLE if line and m.examples and m.state is not State.UNCLOSED else _starter(m, name)
    return _starter(m, name)


def _starter(m: Machine, name: str) -> Token:
    wrapped = m.wrapped and m.choice.policy.unknown_tools != "text"
    return Token.FUNCTION if wrapped or m.tool(name) is not None else Token.FOREIGN


def _parameter(call: TagCall | None, key: str, line: bool) -> Token:
    if call is None or not key:
        return Token.TEXT
    tool = call.tool
    fresh = key != call.key and key not in call.given
    known = tool is not None and tool.knows(key)
    return Token.NEW_PARAMETER if line and fresh and known else Token.PARAMETER


def _may_inline(m: Machine, key: str) -> bool:
    call: TagCall | None = m.call
    return call is not None and may_repair(m, key)


def undecided(m: Machine, text: str, start: int) -> bool:
    """Outside a call only what may begin one is held back; behind `=` only a name that was offered."""
    if m.call is not None:
        return True
    if text.startswith(("</", "<parameter"), start):
        return m.state is State.AFTER and "</tool_call>".startswith(text[start:])
    if text.startswith("<function=", start) and not m.wrapped:
        name = text[start + 10 :]
        return any(known.startswith(name) for known in m.choice.tools)
    return True


def begin_wrapper(m: Machine, text: str, name: str) -> None:
    m.wrapped = True
    m.call = TagCall(m, "", m.pos - len(text))
    m.call.add(text)


def begin_wrapper_anew(m: Machine, text: str, name: str) -> None:
    """The one before it led to no call, so it is text."""
    release(m)
    begin_wrapper(m, text, name)


def begin_function(m: Machine, text: str, name: str) -> None:
    """The call takes in its <tool_call>, if there was one."""
    wrapper: TagCall | None = m.call
    start = m.pos - len(text) if wrapper is None else wrapper.start
    m.call = TagCall(m, name, start, closer="</parameter>")
    if wrapper is not None:
        m.call.add(wrapper.raw())
    m.call.add(text)


def begin_function_anew(m: Machine, text: str, name: str) -> None:
    release(m)
    begin_function(m, text, name)


def not_a_wrapper(m: Machine, text: str, name: str) -> None:
    m.wrapped = False
    not_a_call(m, text, name)


def not_a_function(m: Machine, text: str, name: str) -> None:
    """A function merely named in prose, or one whose parameter cannot be read."""
    call: TagCall = m.call
    if text.lstrip().startswith("<parameter="):
        end = m.pos - len(text.lstrip()) + len("<parameter=")
        reason = "<parameter= is not followed by a name and >"
        m.found("malformed-call", call.start, end, tool=call.name, reason=reason)
    not_a_wrapper(m, text, name)


def maybe_end(m: Machine, text: str, name: str) -> None:
    m.call.end = m.call.region.size
    m.call.add(text)


def next_parameter(m: Machine, text: str, name: str) -> None:
    m.call.commit(m, m.call.end)
    open_parameter(m, text, name)


def repair_parameter(m: Machine, text: str, name: str) -> None:
    """</parameter> is missing, but a line begins with the next parameter of this tool."""
    call: TagCall = m.call
    call.end = call.region.size
    _tell_repaired(m)
    next_parameter(m, text, name)


def inline_parameter(m: Machine, text: str, name: str) -> None:
    """`<parameter=key=value</parameter>`: the value stands where the tag should have ended."""
    call: TagCall = m.call
    if call.key:
        call.commit(m, call.end)
    start = m.pos - len(text) + len(name) + 12
    m.found("repaired-parameter", m.pos - len(text), m.pos, parameter=name, closing="> and a newline")
    value = text[len(name) + 12 : -len("</parameter>")]
    call.add(text[: len(name) + 12])
    call.open(m, name)
    call.region_start = start
    call.add(value)
    call.end = len(value)
    call.add("</parameter>")


def _tell_repaired(m: Machine) -> None:
    call: TagCall = m.call
    start = call.region_start
    m.found("repaired-parameter", start, start + call.end, parameter=call.key, closing="</parameter>")


def complete_call(m: Machine, text: str, name: str) -> None:
    """</function>: whatever stands behind it, the call is complete."""
    call: TagCall = m.call
    if call.key:
        call.commit(m, call.end)
    call.add(text)
    deliver(m, m.pos)


def complete_at_wrapper(m: Machine, text: str, name: str) -> None:
    """</tool_call> where </function> should have been."""
    call: TagCall = m.call
    m.found("repaired-call", call.start, m.pos, tool=call.name, closing="</function>")
    complete_call(m, text, name)
    m.wrapped = False


def complete_unclosed(m: Machine, text: str, name: str) -> None:
    """</parameter> is missing before </function>, and what follows shows that the call was over."""
    call: TagCall = m.call
    _tell_repaired(m)
    call.commit(m, call.end)
    deliver(m, m.pos - len(text))


def complete_unclosed_call(m: Machine, text: str, name: str) -> None:
    complete_unclosed(m, text, name)
    swallow(m, text, name)


def complete_then_wrapper(m: Machine, text: str, name: str) -> None:
    complete_unclosed(m, text, name)
    begin_wrapper(m, text, name)


def complete_then_function(m: Machine, text: str, name: str) -> None:
    complete_unclosed(m, text, name)
    begin_function(m, text, name)


def complete_then_text(m: Machine, text: str, name: str) -> None:
    complete_unclosed(m, text, name)
    m.say(text)


def swallow(m: Machine, text: str, name: str) -> None:
    """The </tool_call> of a call, or one too many right behind it."""
    m.wrapped = False
    m.settled += len(text)
    m.prose.call(m.pos)
    m.prev = "\n"


def text_after(m: Machine, text: str, name: str) -> None:
    m.wrapped = False
    m.say(text)


def end_inside(m: Machine, text: str, name: str) -> None:
    call: TagCall = m.call
    if call.pair is not None:
        end_at_pair(m, State.AFTER)
    elif not _repair(m):
        give_up(m, "</function>")


def _repair(m: Machine) -> bool:
    call: TagCall = m.call
    if not may_repair(m, call.key) or was_cut(m):
        return False
    closed = m.state is State.CLOSED
    region = str(call.region)
    if not closed and not ends_itself(call, region):
        return False
    call.given.add(call.key)
    if not all_required(call):
        return False
    if not closed:
        call.end = len(region)
        _tell_repaired(m)
    call.commit(m, call.end)
    m.found("repaired-call", call.start, m.pos, tool=call.name, closing="</function>")
    deliver(m, m.pos)
    return True


S, T = State, Token
_PARAMETERS = (T.PARAMETER, T.NEW_PARAMETER)

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.TOOL_CALL: Rule(S.WRAPPER, begin_wrapper, "a call, if <function= follows"),
                T.FUNCTION: Rule(S.FUNCTION, begin_function, "<tool_call> is optional for an offered tool"),
                T.END: Rule(S.DONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, prose, "text leaves at once"),
        ),
        S.WRAPPER: (
            {
                T.SPACE: Rule(S.WRAPPER, hold, "whitespace before <function="),
                T.FUNCTION: Rule(S.FUNCTION, begin_function, "a call begins"),
                T.TOOL_CALL: Rule(S.WRAPPER, begin_wrapper_anew, "the one before it was text"),
                T.END: Rule(S.DONE, end_inside, "the answer ended behind <tool_call>"),
            },
            Rule(S.TEXT, not_a_wrapper, "<tool_call> without <function= is text"),
        ),
        S.FUNCTION: (
            {
                T.SPACE: Rule(S.FUNCTION, hold, "whitespace before the first parameter"),
                _PARAMETERS: Rule(S.VALUE, open_parameter, "the first parameter"),
                T.INLINE: Rule(S.CLOSED, inline_parameter, "a parameter whose tag never ended"),
                T.CLOSE_FUNCTION: Rule(S.AFTER, complete_call, "a call without parameters"),
                T.CLOSE_TOOL_CALL: Rule(S.AFTER, complete_at_wrapper, "</function> is missing"),
                T.TOOL_CALL: Rule(S.WRAPPER, begin_wrapper_anew, "the one before it was text"),
                T.FUNCTION: Rule(S.FUNCTION, begin_function_anew, "the one before it was text"),
                T.END: Rule(S.DONE, end_inside, "the answer ended behind <function="),
            },
            Rule(S.TEXT, not_a_function, "a tag merely named in prose, or a broken <parameter="),
        ),
        S.VALUE: (
            {
                T.CLOSE_PARAMETER: Rule(S.CLOSED, maybe_end, "ends the value if structure follows"),
                T.CLOSE_FUNCTION: Rule(
                    S.UNCLOSED, maybe_end, "the end if the answer goes on as after a call"
                ),
                T.NEW_PARAMETER: Rule(S.VALUE, repair_parameter, "</parameter> is missing before it"),
                T.EXAMPLE: Rule(S.EXAMPLE, open_example, "an example of a call inside the value"),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside a value"),
            },
            Rule(S.VALUE, data, "a value may contain anything"),
        ),
        S.CLOSED: (
            {
                T.SPACE: Rule(S.CLOSED, hold, "whitespace before what decides"),
                _PARAMETERS: Rule(S.VALUE, next_parameter, "the next parameter"),
                T.INLINE: Rule(S.CLOSED, inline_parameter, "a parameter whose tag never ended"),
                T.CLOSE_FUNCTION: Rule(S.AFTER, complete_call, "the call is complete"),
                T.CLOSE_TOOL_CALL: Rule(S.AFTER, complete_at_wrapper, "</function> is missing"),
                T.CLOSE_PARAMETER: Rule(S.CLOSED, maybe_end, "the one before was data; this may be the end"),
                T.EXAMPLE: Rule(S.EXAMPLE, open_example, "an example of a call inside the value"),
                T.END: Rule(S.DONE, end_inside, "the answer ended before </function>"),
            },
            Rule(S.VALUE, data, "no structure follows, so it was data"),
        ),
        S.UNCLOSED: (
            {
                T.SPACE: Rule(S.UNCLOSED, hold, "whitespace before what decides"),
                T.CLOSE_TOOL_CALL: Rule(S.AFTER, complete_unclosed_call, "</parameter> was missing"),
                T.TOOL_CALL: Rule(S.WRAPPER, complete_then_wrapper, "</parameter> was missing"),
                T.FUNCTION: Rule(S.FUNCTION, complete_then_function, "</parameter> was missing"),
                T.FOREIGN: Rule(S.TEXT, complete_then_text, "</parameter> was missing"),
                T.END: Rule(S.DONE, complete_unclosed, "</parameter> was missing"),
                T.CLOSE_PARAMETER: Rule(S.CLOSED, maybe_end, "ends the value if structure follows"),
                T.CLOSE_FUNCTION: Rule(S.UNCLOSED, maybe_end, "the one before was data; this may be the end"),
                T.NEW_PARAMETER: Rule(S.VALUE, repair_parameter, "</parameter> is missing before it"),
            },
            Rule(S.VALUE, data, "the answer goes on inside the value, so it was data"),
        ),
        S.EXAMPLE: (
            {
                T.CLOSE_PARAMETER: Rule(S.EXAMPLE_CLOSED, maybe_end, "data, but remember it"),
                T.CLOSE_FUNCTION: Rule(S.VALUE, close_example, "the example ends"),
                T.CLOSE_INNER: Rule(S.EXAMPLE, close_example, "an example inside it ends"),
                T.EXAMPLE: Rule(S.EXAMPLE, open_example, "an example inside the example"),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside the example"),
            },
            Rule(S.EXAMPLE, data, "an example is data"),
        ),
        S.EXAMPLE_CLOSED: (
            {
                T.SPACE: Rule(S.EXAMPLE_CLOSED, hold, "whitespace inside a pair"),
                T.CLOSE_PARAMETER: Rule(S.EXAMPLE_CLOSED, maybe_end, "data, but remember it"),
                T.CLOSE_FUNCTION: Rule(S.VALUE, close_example_at_pair, "the end, should no other come"),
                T.CLOSE_INNER: Rule(S.EXAMPLE, close_example_at_pair, "the end, should no other come"),
                T.EXAMPLE: Rule(S.EXAMPLE, open_example, "an example inside the example"),
                T.END: Rule(S.DONE, end_inside, "the answer ended inside the example"),
            },
            Rule(S.EXAMPLE, data, "an example is data"),
        ),
        S.AFTER: (
            {
                T.SPACE: Rule(S.AFTER, prose, "dropped, unless text follows"),
                T.TOOL_CALL: Rule(S.WRAPPER, begin_wrapper, "a further call, if <function= follows"),
                T.FUNCTION: Rule(S.FUNCTION, begin_function, "a further call"),
                T.CLOSE_TOOL_CALL: Rule(S.AFTER, swallow, "belongs to the call before it"),
                T.END: Rule(S.DONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, text_after, "text behind a call"),
        ),
        S.DONE: ({}, Rule(S.DONE, ignore, "nothing comes behind the end")),
    },
)

QWEN3_CODER = Dialect(
    name="qwen3-coder",
    summary="<tool_call><function=name><parameter=key>value</parameter></function></tool_call>",
    policy=Policy(
        tools="template",
        calls="all",
        unknown_tools="call",
        malformed="text",
        arguments="whole",
        after_call="keep",
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
)
