"""A row as plain text, to be searched or printed."""

from __future__ import annotations

from transformer import Delta, Finding, Transition
from workbench.player.player import Player
from workbench.player.runs import decoded, runs_of
from workbench.player.tracks import Item
from workbench.tape import Line


def row_text(player: Player, item: Item) -> str:
    """All that the screen shows of a row, but for its number and its time."""
    if isinstance(item, int):
        return read_text(player, item)
    if isinstance(item, Transition):
        way = item.state if item.state == item.to else f"{item.state} → {item.to}"
        return _joined(way, item.rule, item.token, item.text)
    if isinstance(item, Finding):
        return f"{item.code} {item.message}"
    if isinstance(item, Delta):
        return _joined(item.kind, item.name, item.id, item.text)
    return line_text(item) if isinstance(item, Line) else ""


def read_text(player: Player, read: int) -> str:
    """What a read says, its framing shortened; its bytes as they came, where it says nothing."""
    return "…".join(said_in(player, read)) or decoded(player.read(read)).strip()


def said_in(player: Player, read: int) -> list[str]:
    """The texts in a read, without their framing."""
    return [decoded(player.data[run.start : run.end]) for run in runs_of(player, read) if run.says]


def line_text(line: Line) -> str:
    """A line of the tape itself."""
    value = line.value
    if line.kind == "status":
        return f"HTTP {value.get('status')}"
    if line.kind == "finding":
        return f"{value.get('finding')} {value.get('message')}"
    if line.kind == "sent":
        return f"{sender(line)} {decoded(line.data)}"
    if line.kind == "end":
        error = value.get("error")
        said = error.get("message") if isinstance(error, dict) else error
        return f"end: {value.get('end')}{f', {said}' if said else ''}"
    return f"{line.kind} {dict(value)}"


def sender(line: Line) -> str:
    """Who sent a piece to the client; of what the transformer made only the bytes are shown."""
    return str(line.value.get("by") or "bytes")


def _joined(*words: str | None) -> str:
    return " ".join(word for word in words if word)
