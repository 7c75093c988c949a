"""The three columns of an exchange as plain text: what upstream said, what the machine did with it, what the
client got; below the verdict.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from textwrap import wrap

from rich.cells import cell_len, set_cell_size

from transformer.records import Delta, Effect, Finding, Transition
from workbench.analysis.advice import advice
from workbench.analysis.verdicts import facts_of_player, proof, verdict
from workbench.replay.player import Item, Pane, Player
from workbench.replay.rowtext import decoded, line_text, said_in, sender
from workbench.tape.format import Line
from workbench.text import counted, visible_line

WIDTH = 120
_NARROWEST = 60
_BETWEEN = " │ "
_LONGEST = 2000  # characters of a text that are looked at: no line is that wide
_TITLES = ("Upstream", "Machine", "Client")


@dataclass(slots=True)
class _Block:
    """What happened because of one read: rows that are shown side by side."""

    cells: tuple[list[str], list[str], list[str]] = field(default_factory=lambda: ([], [], []))
    proof: int | None = None  # the line that is to be marked


def screen_width() -> int:
    """As COLUMNS says, like other programs whose output goes to a file."""
    text = os.environ.get("COLUMNS", "")
    return max(_NARROWEST, int(text)) if text.isdecimal() and text.isascii() and len(text) < 6 else WIDTH


def columns(player: Player, width: int | None = None, until: int | None = None) -> Iterator[str]:
    """The verdict, then a line for everything that became known, the one that proves it marked with `>`.

    `until` is the last step to be shown; None: all of them.
    """
    judged = verdict(facts_of_player(player))
    width = max(_NARROWEST, width or screen_width())
    yield from wrap(visible_line(f"{judged.level}: {judged.long}"), width)
    if judged.finding_code is not None and judged.level in ("error", "warning"):
        yield from wrap(advice(judged.finding_code), width)
    yield from ("", visible_line(_subject(player)), "")
    widths = _widths(width)
    yield "  " + _joined(_TITLES, widths)
    yield "  " + "─┼─".join("─" * size for size in widths)
    steps = player.steps if until is None else until + 1
    for block in _blocks(player, proof(player, judged), steps):
        for number, cells in enumerate(zip_longest(*block.cells, fillvalue="")):
            yield ("> " if number == block.proof else "  ") + _joined(cells, widths)


def _subject(player: Player) -> str:
    header = player.header
    model = f"{header.get('model')}, " if header.get("model") else ""
    size = counted(len(player.data), "byte")
    return f"{model}dialect {player.dialect}: {counted(player.reads, 'read')}, {size}"


def _blocks(player: Player, marked: int | None, steps: int) -> Iterator[_Block]:
    block = _Block()
    for step in range(steps):
        pane, row = player.place(step)
        if pane is Pane.UPSTREAM and any(block.cells):
            yield block
            block = _Block()
        cells = block.cells[pane]
        if step == marked:
            block.proof = len(cells)
        cells.append(_cell(player, player.item(pane, row)))
    yield block


def _cell(player: Player, item: Item) -> str:
    if isinstance(item, int):
        return f"{item + 1:4} {player.times[item]:7.3f} {_said(player, item)}"
    if isinstance(item, Transition):
        way = item.state if item.state == item.to else f"{item.state} → {item.to}"
        held = f" [{item.held} held]" if item.held else ""
        dropped = "dropped " if Effect.DROPPED in item.effect else ""
        return f"{way}: {item.rule} {dropped}{_quoted(item.text)}{held}"
    if isinstance(item, Finding):
        return f"{item.level}: {item.code}"
    if isinstance(item, Delta):
        return _delta(item)
    return _line(item) if isinstance(item, Line) else ""


def _said(player: Player, read: int) -> str:
    """What a read says; its bytes as they came if it says nothing."""
    says = said_in(player, read)
    return _quoted("…".join(says)) if says else decoded(player.read(read)[:_LONGEST]).strip()


def _delta(delta: Delta) -> str:
    if delta.kind == "call":
        return f"call {delta.name}  {delta.id}"
    return f"{delta.kind} {_quoted(delta.text)}".rstrip()


def _line(line: Line) -> str:
    if line.kind == "finding":
        return f"{line.level}: {line.finding}"
    if line.kind == "sent":
        return f"{sender(line)} {_quoted(decoded(line.data))}"
    timed = line.kind in ("status", "end")
    return f"{f'     {line.t:7.3f} ' if timed else ''}{line_text(line)}"


def _quoted(text: str) -> str:
    return f'"{text[:_LONGEST]}"' if text else ""


def _widths(width: int) -> tuple[int, int, int]:
    room = width - 2 - 2 * len(_BETWEEN)
    outer = room * 3 // 10  # what the machine did takes the most words
    return outer, room - 2 * outer, outer


def _joined(cells: tuple[str, ...], widths: tuple[int, int, int]) -> str:
    return _BETWEEN.join(_fitted(cell, size) for cell, size in zip(cells, widths, strict=True)).rstrip()


def _fitted(text: str, width: int) -> str:
    """Exactly this wide; a sign shows that something is cut off."""
    text = visible_line(text)
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…"
