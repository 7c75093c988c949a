"""Repair of an unclosed roo-xml call: only where the schema leaves no doubt."""

from __future__ import annotations

import re
from enum import StrEnum

from transformer.calls.tagcall import TagCall, deliver
from transformer.calls.tags import ends_itself, may_repair
from transformer.machine import Machine

_LINE_TAG = re.compile(r"(?m)^<([^\s<>/]+)>")


def repair(m: Machine, after: StrEnum) -> bool:
    """At the end of the answer: close what is open, if one reading is the only one."""
    call: TagCall = m.call
    if not may_repair(m, call.key) or m.choice.was_cut:
        return False
    region, closing = str(call.region), f"</{call.name}>"
    if region.count(closing) > 1 or call.ahead:
        return False
    end = region.find(closing)
    parts = _parts(call, region if end < 0 else region[:end])
    if parts is None or not set(call.tool.required if call.tool else ()) <= call.given | {
        p[0] for p in parts
    }:
        return False
    if end < 0 and not parts[-1][3] and not (len(parts) == 1 and ends_itself(call, region)):
        return False
    _close(m, parts, region if end < 0 else region[: end + len(closing)], end >= 0)
    rest = "" if end < 0 else region[end + len(closing) :]
    m.again(after, m.pos - len(rest), rest)
    return True


def _parts(call: TagCall, text: str) -> list[tuple[str, str, int, bool]] | None:
    """(name, value, start, whether it was closed) of the open parameter and those that begin in it."""
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


def _close(m: Machine, parts: list[tuple[str, str, int, bool]], text: str, closed: bool) -> None:
    call: TagCall = m.call
    base = call.region_start
    for position, (name, value, start, whole) in enumerate(parts):
        if not whole:
            m.found(
                "repaired-parameter",
                base + start,
                base + start + len(value),
                parameter=name,
                closing=f"</{name}>",
            )
        if position:
            call.also(m, name, value, base + start)
        else:
            call.commit(m, len(value))
    if not closed:
        m.found("repaired-call", call.start, m.pos, tool=call.name, closing=f"</{call.name}>")
    deliver(m, base + len(text))
