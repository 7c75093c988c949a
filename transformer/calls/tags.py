"""The actions that dialects with tags share: how values are read, ended, and given up."""

from __future__ import annotations

from enum import StrEnum

from transformer.arguments import convert
from transformer.calls.tagcall import TagCall, leave, release
from transformer.machine import Machine


def prose(m: Machine, text: str, name: str) -> None:
    m.say(text)


def hold(m: Machine, text: str, name: str) -> None:
    m.call.add(text)


def ignore(m: Machine, text: str, name: str) -> None:
    """The answer is over; nothing is left to do."""


def not_a_call(m: Machine, text: str, name: str) -> None:
    release(m)
    m.say(text)


def open_parameter(m: Machine, text: str, name: str) -> None:
    m.call.add(text)
    m.call.open(m, name)
    m.call.key_start = m.pos - len(text)


def data(m: Machine, text: str, name: str) -> None:
    call: TagCall = m.call
    call.end = -1
    # TagCall.add, spelled out: it runs for every delta of a long value.
    call.region.append(text)
    call.size += len(text) if text.isascii() else len(text.encode())
    if call.live:
        call.unsent.append(text)
        call.stream(m)


def open_example(m: Machine, text: str, name: str) -> None:
    call: TagCall = m.call
    call.end = -1
    call.depth += 1
    call.add(text)


def close_example(m: Machine, text: str, name: str) -> None:
    call: TagCall = m.call
    call.depth -= 1
    call.add(text)


def close_in_example(m: Machine, text: str, name: str) -> None:
    """Inside an example the closing tag of the open value is data, but it is remembered."""
    call: TagCall = m.call
    call.end = call.region.size if name in ("", call.key) else -1
    call.add(text)


def remember_end(m: Machine, text: str, name: str) -> None:
    """Structure behind it, still inside the example: the end after all, should no other come."""
    call: TagCall = m.call
    if call.pair is None and call.end >= 0:
        call.pair = call.end
    call.add(text)


def close_example_at_end(m: Machine, text: str, name: str) -> None:
    remember_end(m, text, name)
    m.call.depth -= 1


def end_at_pair(m: Machine, value: StrEnum) -> None:
    """The answer is over and the example never closed: the first end inside it was the end.

    From there the text is read again, and this time no example is honoured: it would only wait
    again for an end that cannot come.
    """
    call: TagCall = m.call
    assert call.pair is not None
    start = call.region_start + call.pair
    m.found("ambiguous-end", start, m.pos, parameter=call.key, tool=call.name)
    m.examples = False
    m.again(value, start, call.cut_back(call.pair))


def give_up(m: Machine, closing: str) -> None:
    """The answer is over inside the call: it becomes text, or stays as far as it was sent."""
    tell_unfinished(m, closing)
    if m.call.begun:
        leave(m, m.pos)
    else:
        release(m)


def tell_unfinished(m: Machine, closing: str) -> None:
    """Say where an unfinished call went wrong."""
    call: TagCall = m.call
    end = m.pos
    if call.begun:
        m.found("truncated-call", call.start, end, tool=call.name, fate="the client keeps what it has of it")
    elif call.key and closing in str(call.region):
        _tell_unclosed(m, closing)
    elif call.offered or not m.choice.tools_known:
        m.found("truncated-call", call.start, end, tool=call.name, fate="it went to the client as text")


def _tell_unclosed(m: Machine, closing: str) -> None:
    """The call ends, but its value does not: there is no closing tag, or no structure behind it."""
    call: TagCall = m.call
    if call.closing_tag not in str(call.region):
        m.found(
            "unclosed-parameter", call.key_start, m.pos, parameter=call.key, tool=call.name, closing=closing
        )
    elif call.offered:
        reason = f"behind {call.closing_tag} stands neither a parameter nor {closing}"
        m.found("malformed-call", call.key_start, m.pos, tool=call.name, reason=reason)


def may_repair(m: Machine, key: str) -> bool:
    """The policy wants repairs, and the schema knows the parameter that is to be repaired."""
    tool = m.call.tool
    return m.choice.policy.malformed == "repair" and tool is not None and tool.knows(key)


def all_required(call: TagCall) -> bool:
    return call.tool is not None and set(call.tool.required) <= call.given


def ends_itself(call: TagCall, raw: str) -> bool:
    """The open value is whole without a closing tag: a number, a list, not text that may go on."""
    tool = call.tool
    if tool is None or not tool.knows(call.key) or tool.is_text(call.key):
        return False
    value = convert(raw, tool.properties[call.key], tool.parameters)
    return value.fits and not value.json.startswith('"')
