"""What the rules of qwen3-coder do, beyond what all dialects share."""

from __future__ import annotations

from transformer.calls.tagcall import TagCall, deliver, release
from transformer.calls.tags import (
    all_required,
    end_at_pair,
    ends_itself,
    give_up,
    may_repair,
    not_a_call,
    open_parameter,
)
from transformer.dialects.qwen3_coder.tokens import State
from transformer.machine import Machine


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
    behind = call.commit(m, call.end).removeprefix("</function>")
    end = m.pos - len(text) - len(behind)
    deliver(m, end)
    m.say_at(end, behind)


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
        end_at_pair(m, State.VALUE)
    elif not _repair(m):
        give_up(m, "</function>")


def _repair(m: Machine) -> bool:
    call: TagCall = m.call
    if not may_repair(m, call.key) or m.choice.was_cut:
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
