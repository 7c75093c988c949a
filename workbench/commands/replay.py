"""`workbench replay`: tapes, captures and texts, step by step."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from workbench.chunks import Chunking
from workbench.columns import columns
from workbench.commands.transform import wishes_of
from workbench.commands.ui import on_terminal
from workbench.errors import UserError
from workbench.inputs import Kind
from workbench.output import Painted, say, write, write_painted
from workbench.player.cursor import Cursor
from workbench.player.reel import Source
from workbench.sources.appraisal import Appraisal, appraise
from workbench.sources.composing import Compose
from workbench.sources.opening import Opening
from workbench.sources.places import STANDARD_INPUT, openings_of
from workbench.verdicts.kinds import SIGNS
from workbench.visible import visible_line

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
    openings = openings_of(names, wishes, kind, chunking)
    for opening in openings:
        opening.start = step
    if not _for_screen(STANDARD_INPUT in names):
        return _print(openings)
    from workbench.ui.app import run_replay

    return run_replay(openings, pick=len(openings) > 1, compose=None)


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


def _print(openings: Sequence[Opening]) -> int:
    """The exit code: 2 when a file could not be opened, 1 when a named one has an error."""
    codes = [0]
    folder = ""
    width = max((len(opening.title) for opening in openings if opening.folder), default=0)
    for number, opening in enumerate(openings):
        if opening.problem is not None:
            say(f"workbench: {opening.problem}")
            codes.append(2)
        elif opening.folder:
            _print_row(opening, width, "" if opening.folder == folder else opening.folder)
            folder = opening.folder
        else:
            codes.append(_print_columns(opening, headed=len(openings) > 1, first=number == 0))
    return max(codes)


def _print_columns(opening: Opening, *, headed: bool, first: bool) -> int:
    source, judged = _played(opening)
    if source.player is None:
        say(f"workbench: {source.problem or judged.sentence}")
        return 2
    try:
        until = None if opening.start is None else Cursor(source.player).goto(opening.start).step
    except UserError as error:
        say(f"workbench: {opening.title}: {error.message}")
        return 2
    head = [f"{'' if first else chr(10)}── {visible_line(opening.title)}"] if headed else []
    lines = (*head, *columns(source.player, until=until))
    write("".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
    return int(judged.failed)


def _print_row(opening: Opening, width: int, folder: str) -> None:
    """A list is not a test: what is wrong in a tape of a folder is shown, and no more."""
    if folder:
        write_painted([[Painted(visible_line(folder))]])
    _, judged = _played(opening)
    said = visible_line(f"{opening.title:{width}}  {opening.about or judged.sentence}")
    write_painted([[Painted(f"  {SIGNS[judged.level]} {said}")]])


def _played(opening: Opening) -> tuple[Source, Appraisal]:
    source = opening.open()
    source.advance(_FOREVER)
    return source, appraise(opening, source)
