"""kimi-k2: `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{json}<|tool_call_end|>`."""

from __future__ import annotations

import re
from enum import StrEnum, auto

from transformer.dialect import Dialect, Rule
from transformer.dialects.tables import Tokens, table
from transformer.jsoncall import JsonCall, fitting_tools
from transformer.lexer import Lexicon, beginnings, upto
from transformer.machine import Machine
from transformer.policy import Policy
from transformer.tags import ignore, prose


class State(StrEnum):
    TEXT = auto()
    SECTION = auto()  # inside a section, or behind a call that needed none
    HEADER = auto()  # behind <|tool_call_begin|>, before the id
    ID = auto()  # the id, which holds the name
    ID_END = auto()  # behind the id
    ARGUMENTS = auto()  # JSON, outside its strings
    STRING = auto()  # JSON, inside a string: a token here is data
    DONE = auto()


class Token(StrEnum):
    TEXT = auto()
    SPACE = auto()
    SECTION_BEGIN = auto()
    SECTION_END = auto()
    CALL_BEGIN = auto()
    ARGUMENT_BEGIN = auto()
    CALL_END = auto()
    QUOTE = auto()
    CUT = auto()  # the beginning of a token at the end of the answer
    END = auto()


_MARKERS = {
    "<|tool_calls_section_begin|>": Token.SECTION_BEGIN,
    "<|tool_call_section_begin|>": Token.SECTION_BEGIN,
    "<|tool_calls_section_end|>": Token.SECTION_END,
    "<|tool_call_section_end|>": Token.SECTION_END,
    "<|tool_call_begin|>": Token.CALL_BEGIN,
    "<|tool_call_argument_begin|>": Token.ARGUMENT_BEGIN,
    "<|tool_call_end|>": Token.CALL_END,
    '"': Token.QUOTE,
}
_SHOWN = 60  # characters of a header in a sentence
_WORDS = [word for word in _MARKERS if word != '"']
_ANY = "|".join(re.escape(word) for word in _WORDS)
_PARTIAL = re.compile(beginnings(*_WORDS) + r"\Z")
_OUTSIDE = Lexicon(upto("<"), re.compile(_ANY), _PARTIAL)
_JSON = Lexicon(upto('<"'), re.compile(f'{_ANY}|"'), _PARTIAL)
# Inside a string an escape is two characters like others: only the quote that ends it counts, and a
# backslash that is the last character so far.
# An id has no whitespace: what has some in the middle is prose that names the token.
_IN_HEADER = Lexicon(re.compile(r"[^<\s]*+[<\s]"), re.compile(rf"{_ANY}|\s+"), _PARTIAL)
_IN_STRING = Lexicon(re.compile(r'(?:[^"\\]++|\\.)*+["\\]', re.DOTALL), re.compile('"'), re.compile(r"\\\Z"))


def classify(m: Machine, text: str, match: re.Match[str]) -> tuple[StrEnum, str]:
    return _MARKERS.get(match.group(), Token.SPACE), ""


def undecided(m: Machine, text: str, start: int) -> bool:
    return True


def leftover(m: Machine, rest: str) -> StrEnum:
    return Token.CUT if rest.startswith("<|") else Token.TEXT


def begin_section(m: Machine, text: str, name: str) -> None:
    _tell_empty(m, None)
    m.settled += len(text)
    if m.prose.quiet:
        m.prose.call(m.pos)
    m.section = (m.pos - len(text), m.pos)


def end_section(m: Machine, text: str, name: str) -> None:
    """Section tokens always vanish, with whitespace that only parts them from a call."""
    _tell_empty(m, m.pos)
    m.settled += len(text)
    if m.prose.quiet:
        m.prose.call(m.pos)


def _tell_empty(m: Machine, end: int | None) -> None:
    if m.section is not None:
        start, behind = m.section
        m.found("empty-section", start, behind if end is None else end, token="<|tool_calls_section_begin|>")
        m.section = None


def drop_token(m: Machine, text: str, name: str) -> None:
    m.found("stray-token", m.pos - len(text), m.pos, token=text)
    m.settled += len(text)


def begin_call(m: Machine, text: str, name: str) -> None:
    m.call = JsonCall(m, text)


def header(m: Machine, text: str, name: str) -> None:
    m.call.header.append(text)
    m.call.add(text)


def not_a_call(m: Machine, text: str, name: str) -> None:
    m.call.release(m)
    m.say(text)


def begin_arguments(m: Machine, text: str, name: str) -> None:
    call: JsonCall = m.call
    call.identify(m)
    call.add(text)
    if call.rejected:
        m.say_at(call.start, str(call.raw))


def argument(m: Machine, text: str, name: str) -> None:
    call: JsonCall = m.call
    if call.rejected:
        call.size += len(text)
        m.say(text)
    else:
        call.argument(m, text)


def string(m: Machine, text: str, name: str) -> None:
    """Inside a string whitespace counts, and nothing is held back."""
    call: JsonCall = m.call
    if call.rejected:
        argument(m, text, name)
    else:
        call.pass_on(m, text)


def drop_repeated(m: Machine, text: str, name: str) -> None:
    if m.call.rejected:
        argument(m, text, name)
        return
    m.found("stray-token", m.pos - len(text), m.pos, token=text)
    m.call.add(text)


def complete_call(m: Machine, text: str, name: str) -> None:
    call: JsonCall = m.call
    if call.rejected:
        m.call = None
        m.say(text)
        return
    call.add(text)
    if _named(m):
        call.deliver(m, m.pos, complete=True)


def complete_without_arguments(m: Machine, text: str, name: str) -> None:
    call: JsonCall = m.call
    call.identify(m)
    if call.rejected:
        m.say_at(call.start, str(call.raw))
    complete_call(m, text, name)


def _named(m: Machine) -> bool:
    """A call whose id names no tool takes the only one that its arguments fit; else it is text."""
    call: JsonCall = m.call
    if call.name:
        return True
    fitting = fitting_tools(str(call.args), m.choice.tools)
    if len(fitting) == 1:
        call.name = fitting[0]
        return True
    m.found("unnamed-call", call.start, m.pos, id=call.id, fitting=len(fitting) or "none")
    call.release(m)
    return False


def _complete_unended(m: Machine, text: str) -> None:
    """<|tool_call_end|> is missing, but a token that cannot be inside a call has come."""
    call: JsonCall = m.call
    if call.rejected:
        m.call = None
        return
    end = m.pos - len(text)
    m.found("repaired-call", call.start, end, tool=call.name or "?", closing="<|tool_call_end|>")
    if _named(m):
        call.deliver(m, end, complete=True)


def complete_then_call(m: Machine, text: str, name: str) -> None:
    _complete_unended(m, text)
    begin_call(m, text, name)
    m.call.closer = True


def complete_then_section(m: Machine, text: str, name: str) -> None:
    _complete_unended(m, text)
    begin_section(m, text, name)


def complete_then_end(m: Machine, text: str, name: str) -> None:
    _complete_unended(m, text)
    end_section(m, text, name)


def _no_call(m: Machine, end: int) -> None:
    """A header that leads to no arguments is text, unless its token only ended the call before it."""
    call: JsonCall = m.call
    if call.closer and not str(call.header).strip():
        m.found("stray-token", call.start, end, token="<|tool_call_begin|>")
        call.close(m, end)
        return
    m.found("malformed-call", call.start, end, tool=_named_so_far(call), reason="it has no arguments")
    call.release(m)


def _named_so_far(call: JsonCall) -> str:
    return str(call.header).strip()[:_SHOWN] or "no tool yet"


def no_call_then_call(m: Machine, text: str, name: str) -> None:
    _no_call(m, m.pos - len(text))
    begin_call(m, text, name)


def no_call_then_section(m: Machine, text: str, name: str) -> None:
    _no_call(m, m.pos - len(text))
    begin_section(m, text, name)


def no_call_then_end(m: Machine, text: str, name: str) -> None:
    _no_call(m, m.pos - len(text))
    end_section(m, text, name)


def end_in_section(m: Machine, text: str, name: str) -> None:
    _tell_empty(m, None)


def end_in_header(m: Machine, text: str, name: str) -> None:
    """The answer ended before the arguments began."""
    call: JsonCall = m.call
    if call.closer and not str(call.header).strip():
        _no_call(m, m.pos)
    else:
        fate = "it went to the client as text"
        m.found("truncated-call", call.start, m.pos, tool=_named_so_far(call), fate=fate)
        call.release(m)
    _tell_empty(m, None)


def end_in_arguments(m: Machine, text: str, name: str) -> None:
    """The answer ended inside the arguments: the call is closed as it is."""
    call: JsonCall = m.call
    if call.rejected:
        m.call = None
    elif call.text_from < 0:
        fate = "it went to the client as text"
        m.found("truncated-call", call.start, m.pos, tool=_named_so_far(call), fate=fate)
        call.release(m)
    elif not call.repair(m) and _named(m):
        fate = "it was closed as it is"
        m.found("truncated-call", call.start, m.pos, tool=call.name, fate=fate)
        call.deliver(m, m.pos, complete=False)
    _tell_empty(m, None)


S, T = State, Token
_PLAIN = (T.TEXT, T.SPACE, T.QUOTE)
_BEHIND_HEADER: dict[Tokens, Rule] = {
    T.ARGUMENT_BEGIN: Rule(S.ARGUMENTS, begin_arguments, "the id is complete"),
    T.CALL_END: Rule(S.SECTION, complete_without_arguments, "a call without arguments"),
    T.CALL_BEGIN: Rule(S.HEADER, no_call_then_call, "the one before it was no call"),
    T.SECTION_BEGIN: Rule(S.SECTION, no_call_then_section, "the one before it was no call"),
    T.SECTION_END: Rule(S.TEXT, no_call_then_end, "the one before it was no call"),
    T.END: Rule(S.DONE, end_in_header, "the answer ended before the arguments"),
}

TRANSITIONS = table(
    tuple(Token),
    {
        S.TEXT: (
            {
                T.SECTION_BEGIN: Rule(S.SECTION, begin_section, "a section of calls begins"),
                T.SECTION_END: Rule(S.TEXT, drop_token, "section tokens always vanish"),
                T.CALL_BEGIN: Rule(S.HEADER, begin_call, "the section token may be missing"),
                T.END: Rule(S.DONE, ignore, "the answer is over"),
            },
            Rule(S.TEXT, prose, "text leaves at once"),
        ),
        S.SECTION: (
            {
                T.SECTION_BEGIN: Rule(S.SECTION, begin_section, "section tokens always vanish"),
                T.SECTION_END: Rule(S.TEXT, end_section, "the section is over"),
                T.CALL_BEGIN: Rule(S.HEADER, begin_call, "a call begins"),
                (T.ARGUMENT_BEGIN, T.CALL_END, T.CUT): Rule(S.SECTION, drop_token, "no call is open"),
                _PLAIN: Rule(S.SECTION, prose, "text between the tokens stays text"),
                T.END: Rule(S.DONE, end_in_section, "the section's end may be missing"),
            },
            None,
        ),
        S.HEADER: (
            {
                T.SPACE: Rule(S.HEADER, header, "whitespace before the id"),
                (T.TEXT, T.QUOTE, T.CUT): Rule(S.ID, header, "the id of the call"),
                **_BEHIND_HEADER,
            },
            None,
        ),
        S.ID: (
            {
                T.SPACE: Rule(S.ID_END, header, "whitespace behind the id"),
                (T.TEXT, T.QUOTE, T.CUT): Rule(S.ID, header, "more of the id"),
                **_BEHIND_HEADER,
            },
            None,
        ),
        S.ID_END: (
            {
                (T.SPACE, T.CUT): Rule(S.ID_END, header, "more whitespace behind the id"),
                (T.TEXT, T.QUOTE): Rule(S.TEXT, not_a_call, "a token merely named in prose"),
                **_BEHIND_HEADER,
            },
            None,
        ),
        S.ARGUMENTS: (
            {
                (T.TEXT, T.SPACE): Rule(S.ARGUMENTS, argument, "passed on as written"),
                T.QUOTE: Rule(S.STRING, argument, "a string begins"),
                T.CALL_END: Rule(S.SECTION, complete_call, "the call is complete"),
                T.CALL_BEGIN: Rule(S.HEADER, complete_then_call, "closes the call that is open"),
                T.SECTION_BEGIN: Rule(S.SECTION, complete_then_section, "closes the call that is open"),
                T.SECTION_END: Rule(S.TEXT, complete_then_end, "closes the call that is open"),
                (T.ARGUMENT_BEGIN, T.CUT): Rule(S.ARGUMENTS, drop_repeated, "no part of JSON"),
                T.END: Rule(S.DONE, end_in_arguments, "the answer ended inside the arguments"),
            },
            None,
        ),
        S.STRING: (
            {
                T.QUOTE: Rule(S.ARGUMENTS, string, "the string ends"),
                T.END: Rule(S.DONE, end_in_arguments, "the answer ended inside a string"),
            },
            Rule(S.STRING, string, "inside a string everything is data"),
        ),
        S.DONE: ({}, Rule(S.DONE, ignore, "nothing comes behind the end")),
    },
)

KIMI_K2 = Dialect(
    name="kimi-k2",
    summary="<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{json}<|tool_call_end|>",
    policy=Policy(
        tools="template",
        calls="all",
        unknown_tools="call",
        malformed="text",
        arguments="stream",
        after_call="keep",
        finish_reason="rewrite",
        channels=("content", "reasoning"),
        text_channel="same",
        max_call_bytes=16 << 20,
    ),
    states=tuple(State),
    tokens=tuple(Token),
    transitions=TRANSITIONS,
    text=Token.TEXT,
    space=Token.SPACE,
    end=Token.END,
    lexicons={
        State.TEXT: _OUTSIDE,
        State.SECTION: _OUTSIDE,
        State.HEADER: _IN_HEADER,
        State.ID: _IN_HEADER,
        State.ID_END: _IN_HEADER,
        State.ARGUMENTS: _JSON,
        State.STRING: _IN_STRING,
        State.DONE: _OUTSIDE,
    },
    classify=classify,
    undecided=undecided,
    leftover=leftover,
    ids="upstream",
)
