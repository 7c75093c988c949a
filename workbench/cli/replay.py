"""`workbench replay`: tapes, captures and texts, step by step; as three columns of plain text where there
is no terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from textwrap import wrap

from rich.cells import cell_len, set_cell_size

from transformer.records import Delta, Finding, Transition
from workbench.analysis.advice import advice
from workbench.analysis.appraisal import appraise
from workbench.analysis.verdicts import SIGNS, facts_of_player, proof, verdict
from workbench.cli.output import Painted, on_terminal, write, write_painted
from workbench.cli.transform import wishes_of
from workbench.errors import UserError
from workbench.replay.lines import LineSource
from workbench.replay.player import Item, Pane, Player
from workbench.replay.rowtext import decoded, line_text, said_in, sender
from workbench.replay.sources import STANDARD_INPUT, Appraisal, Compose, Replayable, replayables_of
from workbench.replay.timeline import Timeline
from workbench.tape.format import Line
from workbench.tape.inputs import Chunking, Kind
from workbench.text import say, visible_line

WIDTH = 120
_NARROWEST = 60
_BETWEEN = " │ "
_LONGEST = 2000  # characters of a text that are looked at: no line is that wide
_TITLES = ("Upstream", "Machine", "Client")


@dataclass(slots=True)
class _Block:
    """What happened because of one read: rows that stand side by side."""

    cells: tuple[list[str], list[str], list[str]] = field(default_factory=lambda: ([], [], []))
    proof: int | None = None  # the line that is to be marked


def screen_width() -> int:
    """What COLUMNS says, like other programs whose output goes to a file."""
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
    return f"{model}dialect {player.dialect}: {player.reads} reads, {len(player.data)} bytes"


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
        return f"{way}: {item.rule} {_quoted(item.text)}{held}"
    if isinstance(item, Finding):
        return f"{item.level}: {item.code}"
    if isinstance(item, Delta):
        return _delta(item)
    return _line(item) if isinstance(item, Line) else ""


def _said(player: Player, read: int) -> str:
    """What a read says; its bytes as they came, where that is nothing."""
    says = said_in(player, read)
    return _quoted("…".join(says)) if says else decoded(player.read(read)[:_LONGEST]).strip()


def _delta(delta: Delta) -> str:
    if delta.kind == "call":
        return f"call {delta.name}  {delta.id}"
    return f"{delta.kind} {_quoted(delta.text)}".rstrip()


def _line(line: Line) -> str:
    if line.kind == "finding":
        return f"{line.value.get('level')}: {line.value.get('finding')}"
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
    """Exactly so wide; what is cut off is shown to be."""
    text = visible_line(text)
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…"


_TERMINAL = "/dev/tty"
_FOREVER = 1e9


def replay(
    files: Sequence[str],
    new: bool,
    dialect: str | None,
    tools: str | None,
    switches: Sequence[str],
    kind: Kind | None,
    chunk: str | None,
    step: str | None = None,
) -> int:
    """With a terminal the screen; without one the three columns of each file, of a folder a table."""
    wishes = wishes_of(dialect, tools, switches)
    chunking = Chunking.parse(chunk) if chunk is not None else None
    if new:
        return _compose(Compose(wishes, kind, chunking), files)
    names = list(files) or _piped()
    replayables = replayables_of(names, wishes, kind, chunking)
    for replayable in replayables:
        replayable.start = step
    if not _for_screen(STANDARD_INPUT in names):
        return _print(replayables)
    from workbench.ui.app import run_replay

    return run_replay(replayables, pick=len(replayables) > 1, compose=None)


def _compose(compose: Compose, files: Sequence[str]) -> int:
    if files:
        raise UserError("--new begins with a text that you paste; leave it out to open files")
    if not on_terminal():
        raise UserError("--new needs a terminal to paste into; `workbench replay -` reads what is piped in")
    from workbench.ui.app import run_replay

    return run_replay([], pick=False, compose=compose)


def _piped() -> list[str]:
    if sys.stdin is not None and not sys.stdin.isatty():
        return [STANDARD_INPUT]
    raise UserError(
        "what is to be replayed? Name tapes, captures, texts or a folder of tapes;\n"
        "`workbench replay samples` has something to try, --new takes a text that you paste"
    )


def _for_screen(was_read: bool) -> bool:
    """Whether there is a terminal. Where standard input was read, keys are to come from it again."""
    if not was_read:
        return on_terminal()
    if sys.stdout is None or not sys.stdout.isatty():
        return False
    take_terminal()
    return True


def take_terminal(descriptor: int = 0) -> None:
    """The screen reads its keys from standard input: that becomes the terminal, now that a pipe is read."""
    try:
        terminal = os.open(_TERMINAL, os.O_RDWR)
    except OSError as error:
        raise UserError(
            f"standard input was a pipe, and there is no terminal to read keys from ({error.strerror});\n"
            "put the text into a file, or add `| cat` for plain columns"
        ) from None
    os.dup2(terminal, descriptor)
    os.close(terminal)


# Without a terminal


def _print(replayables: Sequence[Replayable]) -> int:
    """The exit code: 2 when a file could not be opened, 1 when a named one has an error."""
    codes = [0]
    folder = ""
    width = max((len(replayable.title) for replayable in replayables if replayable.folder), default=0)
    for number, replayable in enumerate(replayables):
        if replayable.problem is not None:
            say(f"workbench: {replayable.problem}")
            codes.append(2)
        elif replayable.folder:
            _print_row(replayable, width, "" if replayable.folder == folder else replayable.folder)
            folder = replayable.folder
        else:
            codes.append(_print_columns(replayable, headed=len(replayables) > 1, first=number == 0))
    return max(codes)


def _print_columns(replayable: Replayable, *, headed: bool, first: bool) -> int:
    source, judged = _played(replayable)
    if source.player is None:
        say(f"workbench: {source.problem or judged.sentence}")
        return 2
    try:
        until = None if replayable.start is None else Timeline(source.player).goto(replayable.start, -1).step
    except UserError as error:
        say(f"workbench: {replayable.title}: {error.message}")
        return 2
    head = [f"{'' if first else chr(10)}── {visible_line(replayable.title)}"] if headed else []
    lines = (*head, *columns(source.player, until=until))
    write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
    return int(judged.failed)


def _print_row(replayable: Replayable, width: int, folder: str) -> None:
    """A list is not a test: what is wrong in a tape of a folder is only shown."""
    if folder:
        write_painted([[Painted(visible_line(folder))]])
    _, judged = _played(replayable)
    said = visible_line(f"{replayable.title:{width}}  {replayable.about or judged.sentence}")
    write_painted([[Painted(f"  {SIGNS[judged.level]} {said}")]])


def _played(replayable: Replayable) -> tuple[LineSource, Appraisal]:
    source = replayable.open()
    source.advance(_FOREVER)
    return source, appraise(replayable, source)
