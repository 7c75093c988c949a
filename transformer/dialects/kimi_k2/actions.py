"""What the rules of kimi-k2 do, beyond what all dialects share."""

from __future__ import annotations

import re

from transformer.calls.jsoncall import JsonCall, fitting_tools
from transformer.machine import Machine

_SHOWN = 60  # characters of a header in a sentence
_NO_ID = re.compile(r'[\s{}"]')


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
    """Prose that names the token, or an id with something behind it."""
    call: JsonCall = m.call
    if str(call.header).lstrip().startswith("functions."):
        _tell_malformed(m, m.pos - len(text), "something else follows its id")
    call.release(m)
    m.say(text)


def begin_arguments(m: Machine, text: str, name: str) -> None:
    """The header is complete. A tool whose calls shall be text leaves no call behind, only its state."""
    call: JsonCall = m.call
    call.add(text)
    call.identify(m)
    if m.choice.rejects(call.name):
        call.release(m)


def argument(m: Machine, text: str, name: str) -> None:
    if m.call is None:
        m.say(text)
    else:
        m.call.argument(m, text)


def string(m: Machine, text: str, name: str) -> None:
    """Inside a string whitespace counts, and nothing is held back."""
    if m.call is None:
        m.say(text)
    else:
        m.call.pass_on(m, text)


def drop_repeated(m: Machine, text: str, name: str) -> None:
    if m.call is None:
        m.say(text)
    else:
        m.found("stray-token", m.pos - len(text), m.pos, token=text)
        m.call.add(text)


def complete_call(m: Machine, text: str, name: str) -> None:
    call: JsonCall | None = m.call
    if call is None:
        m.say(text)
        return
    call.add(text)
    if _named(m):
        call.deliver(m, m.pos, complete=True)


def complete_without_arguments(m: Machine, text: str, name: str) -> None:
    call: JsonCall = m.call
    call.identify(m)
    if _NO_ID.search(call.id):
        _tell_malformed(m, m.pos, "its arguments do not follow <|tool_call_argument_begin|>")
        call.release(m)
    elif m.choice.rejects(call.name):
        call.release(m)
    complete_call(m, text, name)


def _tell_malformed(m: Machine, end: int, reason: str) -> None:
    call: JsonCall = m.call
    m.found("malformed-call", call.start, end, tool=_named_so_far(call), reason=reason)


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
    call: JsonCall | None = m.call
    if call is None:
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
    _tell_malformed(m, end, "it has no arguments")
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
    call: JsonCall | None = m.call
    if call is None:
        pass
    elif call.args_start < 0:
        fate = "it went to the client as text"
        m.found("truncated-call", call.start, m.pos, tool=_named_so_far(call), fate=fate)
        call.release(m)
    elif not call.repair(m) and _named(m):
        fate = "it was closed as it is"
        m.found("truncated-call", call.start, m.pos, tool=call.name, fate=fate)
        call.deliver(m, m.pos, complete=False)
    _tell_empty(m, None)
