"""Repair of a roo-xml call at the end of the answer: what is open is closed, where the schema leaves no doubt."""

from __future__ import annotations

import re

from transformer.parser.machine import Machine, guard
from transformer.parser.tagcall import TagCall, may_repair

_LINE_TAG = re.compile(r"(?m)^<([^\s<>/]+)>")
_Part = tuple[str, str, int, bool]  # name, value, where it starts, whether it was closed


def repair(m: Machine, text: str, name: str) -> None:
    call: TagCall = m.call
    plan = _repair(m)
    assert plan is not None
    parts, upto, closed = plan
    base, region = call.region_start, str(call.region)
    for position, (key, value, start, whole) in enumerate(parts):
        if not whole:
            end = base + start + len(value)
            m.found("repaired-parameter", base + start, end, parameter=key, closing=f"</{key}>")
        if position:
            call.also(m, key, value, base + start)
        else:
            call.commit(m, len(value))
    if not closed:
        m.found("repaired-call", call.start, m.pos, tool=call.name, closing=call.call_closer)
    call.deliver(m, base + upto)
    m.again(m.pos - len(region) + upto, region[upto:])


def _repair(m: Machine) -> tuple[list[_Part], int, bool] | None:
    """The parameters, up to where of the region the call goes, and whether it was closed; None if in doubt."""
    call: TagCall = m.call
    if not may_repair(m, call.key) or m.choice.was_cut:
        return None
    region, closing = str(call.region), call.call_closer
    if region.count(closing) > 1 or call.ahead:
        return None
    end = region.find(closing)
    parts = _parts(call, region if end < 0 else region[:end])
    required = set(call.tool.required if call.tool else ())
    if parts is None or not required <= call.given | {part[0] for part in parts}:
        return None
    if end < 0 and not parts[-1][3] and not (len(parts) == 1 and call.ends_itself(region)):
        return None
    return parts, len(region) if end < 0 else end + len(closing), end >= 0


def _parts(call: TagCall, text: str) -> list[_Part] | None:
    """The open parameter and those that begin in it."""
    names, starts, ends = [call.key], [0], []
    for match in _LINE_TAG.finditer(text):
        name = match.group(1)
        if call.tool is not None and call.tool.knows(name) and name not in call.given and name not in names:
            names.append(name)
            ends.append(match.start())
            starts.append(match.end())
    ends.append(len(text))
    parts = []
    for name, start, end in zip(names, starts, ends, strict=True):
        value, mark = text[start:end], f"</{name}>"
        closed = value.rstrip().endswith(mark)
        if value.count(mark) > closed:
            return None
        parts.append((name, value.rstrip().removesuffix(mark) if closed else value, start, closed))
    return parts


@guard("the policy repairs, and the schema leaves one reading")
def is_repairable(m: Machine, name: str) -> bool:
    return _repair(m) is not None
