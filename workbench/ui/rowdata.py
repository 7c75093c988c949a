"""What a row of a tape is made of: its JSON, and its bytes."""

from __future__ import annotations

from typing import Any

from transformer import Delta, Event
from transformer.records import Ranges
from workbench.player.player import Player
from workbench.player.tracks import Item
from workbench.tape import Line
from workbench.ui.widgets.document import Document, Prose
from workbench.ui.widgets.hexdump import HexDump
from workbench.ui.widgets.jsontext import JsonText
from workbench.ui.widgets.stack import Stack
from workbench.visible import json_text

_MOST_EVENTS = 50


def json_about(player: Player, item: Item) -> Document:
    """The row's JSON: of a delta what the client gets, of all others what came from upstream or the tape."""
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
    """As places in the event's data. An event with several data lines is shown without marks."""
    if len(event.lines) != 1:
        return ()
    first, last = event.lines[0]
    return tuple((start - first, end - first) for start, end in ranges if first <= start < end <= last)


def _event_name(event: Event) -> str:
    kind = f" “{event.name}”" if event.name else ""
    return f"event {event.number + 1}{kind} from upstream, bytes {event.start:,} to {event.end - 1:,}"


def events_of(player: Player, item: Item) -> list[Event]:
    """Those that hold a row's bytes, the first few of many; else the one with which it came."""
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
    # All of a read is its own; brackets around everything would only be in the way.
    return HexDump(bytes(player.data[start:end]), start, () if isinstance(item, int) else ranges)
