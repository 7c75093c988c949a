"""Everything about one row of a tape: facts in words, its JSON, and its bytes."""

from __future__ import annotations

from typing import Any

from transformer.answer.conformance import Check
from transformer.records import Delta, Event, Finding, Ranges, Span, Transition
from workbench.analysis.advice import advice
from workbench.analysis.explain.trace import cause_of
from workbench.replay.links import linked
from workbench.replay.player import Item, Pane, Player
from workbench.tape.format import Line
from workbench.text import counted, json_text
from workbench.ui.display import look_of, sign_of
from workbench.ui.widgets.document import Document, FactSheet, Prose, Stack
from workbench.ui.widgets.payload import HexDump, JsonText

_MOST_EVENTS = 50


def json_about(player: Player, item: Item) -> Document:
    """The row's JSON: for a delta what the client gets, for all others what came from upstream or the
    tape."""
    parts: list[tuple[str, Document]] = []
    if isinstance(item, Line):
        if item.raw is not None:
            return Prose(item.raw.decode("utf-8", "backslashreplace"))
        return JsonText(json_of(dict(item.value)))
    if isinstance(item, Delta):
        made = delta_object(item)
        if made is not None:
            parts.append(("what the client gets (id, model and created left out)", JsonText(json_of(made))))
    marks = () if isinstance(item, int) else player.bytes_of(item)
    for event in events_of(player, item):
        parts.append((_event_name(event), json_document(event.data, _inside(event, marks))))
    if not parts and isinstance(item, int):
        return json_document(player.read(item))
    return Stack(parts, from_top=isinstance(item, Delta))


def json_document(data: bytes, marks: Ranges = ()) -> Document:
    """`marks` are ranges of bytes."""
    text = data.decode("utf-8", "backslashreplace")
    if text.lstrip()[:1] not in ("{", "[") or text.strip() == "[DONE]":
        return Prose(text)
    if not text.isascii():
        marks = tuple((_characters(data, start), _characters(data, end)) for start, end in marks)
    return JsonText(text, marks)


def _characters(data: bytes, end: int) -> int:
    return len(data[:end].decode("utf-8", "backslashreplace"))


def _inside(event: Event, ranges: Ranges) -> Ranges:
    """The marks as places in the event's data. An event with several data lines is shown without marks."""
    if len(event.lines) != 1:
        return ()
    first, last = event.lines[0]
    return tuple((start - first, end - first) for start, end in ranges if first <= start < end <= last)


def _event_name(event: Event) -> str:
    kind = f" “{event.name}”" if event.name else ""
    return f"event {event.number + 1}{kind} from upstream, bytes {event.start:,} to {event.end - 1:,}"


def events_of(player: Player, item: Item) -> list[Event]:
    """The events that hold a row's bytes, the first few of many; else the event that the row came with."""
    if isinstance(item, int):
        return player.events_in(item)
    if isinstance(item, Line | Event):
        return [item] if isinstance(item, Event) else []
    found: dict[int, Event] = {}
    for start, end in player.bytes_of(item)[:_MOST_EVENTS]:
        for event in player.events_in(player.read_at(start)):
            if event.start < end and start < event.end:
                found[event.number] = event
    if not found and (own := player.event(item.event)) is not None:
        found[own.number] = own
    return list(found.values())


def json_of(value: Any) -> str:
    try:
        return json_text(value)
    except RecursionError:
        return '"(nested too deep to be written down)"'


def delta_object(item: Delta) -> dict[str, Any] | None:
    """A delta in the shape in which it leaves; None where upstream's own event is passed on."""
    delta: dict[str, Any] | None = None
    if item.kind == "content":
        delta = {"content": item.text}
    elif item.kind == "reasoning":
        delta = {"reasoning_content": item.text}
    elif item.kind == "call":
        call = {"index": item.call, "id": item.id, "type": "function"}
        delta = {"tool_calls": [call | {"function": {"name": item.name, "arguments": ""}}]}
    elif item.kind == "arguments":
        delta = {"tool_calls": [{"index": item.call, "function": {"arguments": item.text}}]}
    elif item.kind == "error":
        return {"error": {"message": item.text}}
    finish = item.text if item.kind == "finish" else None
    if delta is None and finish is None:
        return None
    return {"choices": [{"index": item.choice, "delta": delta or {}, "finish_reason": finish}]}


def bytes_about(player: Player, item: Item) -> HexDump:
    """The bytes of the events around a row, its own marked; of a line of the tape its bytes."""
    if isinstance(item, Line):
        return HexDump(item.raw if item.raw is not None else item.data)
    ranges = player.bytes_of(item)
    events = [] if isinstance(item, int) else events_of(player, item)
    starts = [start for start, _ in ranges] + [event.start for event in events]
    ends = [end for _, end in ranges] + [event.end for event in events]
    if not starts:
        return HexDump(b"")
    start, end = min(starts), max(ends)
    # All of a read is its own; brackets around everything would not help.
    return HexDump(bytes(player.data[start:end]), start, () if isinstance(item, int) else ranges)


_KINDS = {
    "role": "the answer begins",
    "content": "text for the reader",
    "reasoning": "thoughts of the model",
    "call": "a call begins",
    "arguments": "more of a call's arguments",
    "native": "a call as upstream wrote it, passed on",
    "other": "an event that is passed on unread",
    "finish": "why the answer is over",
    "usage": "what the answer cost",
    "error": "an error",
    "done": "the end of the stream",
}
_LINES = {
    "status": "status and headers", "sent": "bytes to the client", "end": "the end of the exchange",
    "hold": "the client has to wait from here on", "release": "the client waits no longer",
    "lost": "a gap: not everything was recorded", "damaged": "a line of the tape that cannot be read",
}  # fmt: skip


def name_of(player: Player, pane: Pane, item: Item) -> str:
    """A row in a few words."""
    if isinstance(item, int):
        return f"read {item + 1}"
    if isinstance(item, Transition):
        return f"{item.state} → {item.to}: {item.rule}"
    if isinstance(item, Delta):
        return f"delta: {item.kind}{f' {item.name}' if item.name else ''}"
    if isinstance(item, Finding):
        return f"{sign_of(item.level)} {item.code}"
    if isinstance(item, Event):
        return f"event {item.number + 1}"
    found = item.finding
    return f"{sign_of(item.level)} {found}" if found else _LINES.get(item.kind, "line")


def about(player: Player, pane: Pane, row: int) -> FactSheet:
    """The row in words, the rule that made it, and where it comes from."""
    item = player.item(pane, row)
    sheet = FactSheet()
    if isinstance(item, Transition):
        _say_transition(sheet, player, item)
    elif isinstance(item, Finding):
        _say_finding(sheet, item.level, item.code, item.message)
        cause = None if isinstance(item, Check) else cause_of(player, item, player.rows(pane).refs[row])
        if cause is not None:  # a check has no rule of the table
            _say_rule(sheet, player, cause, "The rule that led to it")
    elif isinstance(item, Delta):
        _say_delta(sheet, item)
        _say_cause(sheet, player, row)
    elif isinstance(item, Line):
        _say_line(sheet, item)
    elif isinstance(item, int):
        _say_read(sheet, player, item)
    _say_place(sheet, player, item)
    return sheet


def _say_transition(sheet: FactSheet, player: Player, item: Transition) -> None:
    moved = f"and went to {item.to}" if item.to != item.state else "and stayed there"
    sheet.heading("What happened")
    sheet.paragraph(f"In state {item.state} the machine met {item.token} {moved}.", "bright")
    sheet.fact("text", item.text)
    if item.held:
        sheet.fact("held back", f"{counted(item.held, 'character')}, not decided yet", "warning")
    _say_rule(sheet, player, item, "The rule of the table")


def _say_rule(sheet: FactSheet, player: Player, item: Transition, heading: str) -> None:
    sheet.heading(heading)
    sheet.fact("state", item.state, "strong")
    sheet.fact("token", item.token, "strong")
    sheet.fact("rule", item.rule, "info")
    sheet.fact("next state", item.to, "strong")
    if item.guard:
        sheet.fact("if", item.guard, "plain")
    sheet.fact("effect", ", ".join(item.effect.words) or "none", "plain")
    if item.policy:
        sheet.fact("policy", item.policy, "warning")
    if item.tool:
        sheet.fact("tool", item.tool, "plain")
    if item.next_tool:
        sheet.fact("next tool", item.next_tool, "plain")
    if item.parameter:
        sheet.fact("parameter", item.parameter, "plain")
    sheet.fact("why", item.why, "good")


def _say_cause(sheet: FactSheet, player: Player, row: int) -> None:
    """The move of the machine that a delta comes from."""
    at = linked(player, Pane.CLIENT, row, Pane.MACHINE)
    while at is not None and at >= 0:
        cause = player.item(Pane.MACHINE, at)
        if isinstance(cause, Transition):
            _say_rule(sheet, player, cause, "The rule that led to it")
            return
        at -= 1


def _say_finding(sheet: FactSheet, level: str, code: str, message: str) -> None:
    sheet.heading(f"{sign_of(level)} {level}: {code}", look_of(level))
    sheet.paragraph(message, "bright")
    said = advice(code)
    if said:
        sheet.heading("What to do")
        sheet.paragraph(said)


def _say_delta(sheet: FactSheet, item: Delta) -> None:
    sheet.heading("What the client got")
    sheet.fact(
        "delta", f"{item.kind}: {_KINDS.get(item.kind, '')}", "error" if item.kind == "error" else "bright"
    )
    sheet.fact("tool", item.name, "good")
    sheet.fact("id", item.id)
    sheet.fact("text", item.text or None)


def _say_line(sheet: FactSheet, item: Line) -> None:
    if item.finding is not None:
        _say_finding(sheet, item.level, item.finding, item.message)
        sheet.fact("told by", item.where or None)
        return
    sheet.heading(_LINES.get(item.kind, "a line of the tape"))
    if item.kind == "damaged":
        sheet.paragraph("It is kept as it is and shown as bytes.")
    for key, entry in item.value.items():
        if key == "headers" and isinstance(entry, list):
            for pair in entry:
                name, text = (pair[0], pair[1]) if isinstance(pair, list) and len(pair) == 2 else ("?", pair)
                sheet.fact(str(name), text)
        elif key not in ("t", "sent", "sent64"):
            sheet.fact(key, entry if isinstance(entry, str) else json_of(entry))


def _say_read(sheet: FactSheet, player: Player, number: int) -> None:
    events = player.events_in(number)
    sheet.heading("What came")
    sheet.fact("read", f"{number + 1} of {player.reads}")
    sheet.fact("size", counted(player.read_end(number) - player.starts[number], "byte"))
    if number:
        sheet.fact("after", f"{1000 * (player.times[number] - player.times[number - 1]):,.0f} ms of silence")
    if player.mode == "stream":
        sheet.fact("events", _numbers(events) if events else "none begins or ends here", "plain")
    if player.held[number]:
        text = f"{counted(player.held[number], 'character')} after it was processed"
        sheet.fact("held back", text, "warning")


def _numbers(events: list[Event]) -> str:
    first, last = events[0].number + 1, events[-1].number + 1
    return f"{first}" if first == last else f"{first} to {last}"


def _say_place(sheet: FactSheet, player: Player, item: Item) -> None:
    sheet.heading("Where and when")
    sheet.fact("time", f"{player.time(item):.3f} s after the request")
    if isinstance(item, int | Line):
        ranges = player.bytes_of(item)
        sheet.fact("bytes", _places(ranges) if ranges else None)
        return
    sheet.fact("read", f"{item.read + 1}" if item.read >= 0 else None)
    if not isinstance(item, Event):
        sheet.fact("event", f"{item.event + 1}" if item.event >= 0 else None)
        sheet.fact("call", f"{item.call + 1}" if item.call is not None else None)
        sheet.fact("span", _span(item.span) if item.span is not None else "upstream gave no text for this")
    ranges = player.bytes_of(item)
    sheet.fact("bytes", _places(ranges) if ranges else "none")


def _span(span: Span) -> str:
    choice = f" of choice {span.choice}" if span.choice else ""
    if not span.channel:
        return f"event {span.event + 1} as a whole"
    if not len(span):
        return f"{span.channel}{choice}, before character {span.start}"
    return f"{span.channel}{choice}, characters {span.start} to {span.end - 1}"


def _places(ranges: Ranges) -> str:
    shown = ", ".join(f"{start:,} to {end - 1:,}" for start, end in ranges[:4] if start < end)
    return f"{shown} and {len(ranges) - 4} more places" if len(ranges) > 4 else shown or "none"
