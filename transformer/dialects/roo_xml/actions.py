"""What the rules of roo-xml do, beyond what all dialects share."""

from __future__ import annotations

from transformer.calls.tagcall import TagCall, deliver, leave, release
from transformer.calls.tags import end_at_pair, give_up, open_parameter, tell_unfinished
from transformer.dialects.roo_xml.repair import repair
from transformer.dialects.roo_xml.tokens import State
from transformer.machine import Machine


def begin_call(m: Machine, text: str, name: str) -> None:
    m.call = TagCall(m, name, m.pos - len(text))
    m.call.add(text)


def begin_unknown_call(m: Machine, text: str, name: str) -> None:
    """Nobody can know yet that it is a call, so nothing of it may leave before its end."""
    m.call = TagCall(m, name, m.pos - len(text), live=False)
    m.call.add(text)


def thought_of_call(m: Machine, text: str, name: str) -> None:
    """The model only thinks of a call. It stays text, like one in a reasoning channel, but is named."""
    m.found("call-in-thought", m.pos - len(text), m.pos, tool=name)
    m.say(text)


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
    here = call.region.size
    call.end, begin = call.ahead.pop(name, (here, -1))
    if begin >= 0:
        call.elements.append((name, begin, here))
    call.add(text)


def look_ahead(m: Machine, text: str, name: str) -> None:
    """An element the schema doesn't know: the value ended before it only if it is whole."""
    call: TagCall = m.call
    call.add(text)
    call.ahead.setdefault(name, (call.end, call.region.size))


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
    start, at = call.region_start, call.end
    behind = call.commit(m, at)
    for name, begin, end in sorted(call.elements, key=lambda element: element[1]):
        if begin > at:  # another one inside it is a part of its value
            call.also(m, name, behind[begin - call.end : end - call.end], start + begin)
            at = end


def break_off(m: Machine, text: str, name: str) -> None:
    """The call before it was malformed: it is text, and a new one begins."""
    call: TagCall = m.call
    start, end = call.key_start, m.pos - len(text)
    closing = f"</{call.name}>"
    m.found("unclosed-parameter", start, end, parameter=call.key, tool=call.name, closing=closing)
    if call.begun:
        leave(m, end)
    else:
        release(m)
    begin_call(m, text, name)


def end_inside(m: Machine, text: str, name: str) -> None:
    """The answer ended inside a call."""
    call: TagCall = m.call
    if call.pair is not None:
        end_at_pair(m, State.VALUE)
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
