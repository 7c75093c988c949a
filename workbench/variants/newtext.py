"""New text: where a channel that has said nothing begins to speak."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from transformer.answer.events import REASONING, error_in
from transformer.provenance import Path, locate
from transformer.records import Event
from workbench.errors import UserError
from workbench.player.player import Player
from workbench.variants.edits import Edit
from workbench.variants.origins import index_of, literal, value_at, value_of

_META = ("id", "object", "created", "model")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BLANK = re.compile(rb"(?:\r\n\r\n|\n\n|\r\r)\Z")


def first_text(origin: Player, choice: int, channel: str, text: str) -> Edit:
    """The edit that puts a text into a channel that has none."""
    if channel == REASONING[1]:
        raise UserError(f"{channel} is a channel of its own only beside another {REASONING[0]}; change that")
    field = REASONING[1] if channel == REASONING[0] else channel
    put = _in_message if origin.mode == "message" else _in_stream
    return put(origin, choice, field, literal(text))


# -- a stream gets one more event


def _in_stream(origin: Player, choice: int, field: str, literal: bytes) -> Edit:
    newline = _newline(origin)
    new = _event(_meta(origin), choice, field, literal) + 2 * newline
    for event in _whole_events(origin):
        if _is_behind(event, choice, field):
            return Edit(event.start, event.start, new)
    size = len(origin.data)
    # The last event may lack its blank line, and the new one would become a part of it.
    ended = not size or _BLANK.search(origin.data, max(0, size - 4)) is not None
    return Edit(size, size, new if ended else 2 * newline + new)


def _whole_events(origin: Player) -> Iterator[Event]:
    """The events, but for those that are only a line of the one before."""
    number, end = 0, 0
    while (event := origin.event(number)) is not None:
        if event.start >= end:
            end = event.end
            yield event
        number += 1


def _is_behind(event: Event, choice: int, field: str) -> bool:
    """Text comes before the end of its choice, and reasoning before content."""
    value = value_of(event)
    if not isinstance(value, dict):
        return b"[DONE]" in event.data
    parts = value.get("choices")
    return error_in(value, event.name) is not None or any(
        _ends(part) or (field != "content" and _speaks(part))
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and (index_of(part) or 0) == choice
    )


def _delta(part: dict[str, Any]) -> dict[str, Any]:
    delta = part.get("delta") or part.get("message")
    return delta if isinstance(delta, dict) else {}


def _ends(part: dict[str, Any]) -> bool:
    delta = _delta(part)
    # Qwen's web chat has no finish_reason: its last phase is finished.
    over = delta.get("phase") == "answer" and delta.get("status") == "finished"
    return bool(part.get("finish_reason") or delta.get("finish_reason") or over)


def _speaks(part: dict[str, Any]) -> bool:
    delta = _delta(part)
    return bool(delta.get("content") or delta.get("tool_calls"))


def _newline(origin: Player) -> bytes:
    """How this upstream ends its lines."""
    first = origin.event(0)
    match = _LINE_END.match(origin.data, first.lines[0][1]) if first is not None else None
    return match[0] if match is not None else b"\n"


def _meta(origin: Player) -> dict[str, Any]:
    """What upstream says of the answer with each of its chunks."""
    values = map(value_of, _whole_events(origin))
    chunk = next((value for value in values if isinstance(value, dict) and "choices" in value), {})
    return {key: chunk[key] for key in _META if key in chunk}


def _event(meta: dict[str, Any], choice: int, field: str, literal: bytes) -> bytes:
    head = json.dumps(meta | {"choices": []}, separators=(",", ":")).removesuffix("]}").encode()
    part = b'{"index":%d,"delta":{"%s":"%s"},"finish_reason":null}' % (choice, field.encode(), literal)
    return b"data: " + head + part + b"]}"


# -- a message gets a value, or a member


def _in_message(origin: Player, choice: int, field: str, literal: bytes) -> Edit:
    event = origin.event(0)
    if event is None:
        raise UserError("the answer is not whole, so no text can be put into it")
    for edit in _tries(event.data, _path(event, choice, field), literal):
        return edit
    raise UserError(f"the {field} of this answer is no text and cannot become one")


def _path(event: Event, choice: int, field: str) -> Path:
    for at, part in enumerate(value_at(event, ("choices",)) or ()):
        index = index_of(part)
        if choice == (at if index is None else index):
            return ("choices", at, "message", field)
    raise UserError(f"there is no choice {choice} in this answer")


def _tries(data: bytes, path: Path, literal: bytes) -> Iterator[Edit]:
    """An empty string, a null, no such member: the first that is found in these bytes at this path."""
    if (empty := locate(data, path)) is not None:
        yield Edit(*empty, literal)
        return
    key = b'"%s"' % str(path[-1]).encode()
    for match in re.finditer(rb"%s\s*:\s*(null)" % key, data):
        yield from _proved(data, path, Edit(*match.span(1), b'"%s"' % literal))
    for match in re.finditer(rb'"message"\s*:\s*\{(?!\s*\})', data):
        yield from _proved(data, path, Edit(match.end(), match.end(), b'%s:"%s",' % (key, literal)))


def _proved(data: bytes, path: Path, edit: Edit) -> Iterator[Edit]:
    """A place was guessed; the text must be found there again."""
    changed = data[: edit.start] + edit.data + data[edit.end :]
    place = locate(changed, path)
    if place is not None and edit.start < place[0] <= place[1] < edit.start + len(edit.data):
        yield edit
