"""`workbench replay`: tapes, captures and texts, step by step; without a terminal as plain text."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from workbench.analysis.appraisal import appraise
from workbench.cli.columns import columns
from workbench.cli.printing import Painted, on_terminal, write, write_painted
from workbench.cli.transform import wishes_of
from workbench.errors import UserError
from workbench.replay.lines import LineSource
from workbench.replay.sources import STANDARD_INPUT, Appraisal, Compose, Replayable, replayables_of
from workbench.replay.timeline import Timeline
from workbench.tape.inputs import Chunking, Kind
from workbench.text import SIGNS, say, visible_line

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
    """Whether there is a terminal. If standard input was read, keys must come from the terminal again."""
    if not was_read:
        return on_terminal()
    if sys.stdout is None or not sys.stdout.isatty():
        return False
    take_terminal()
    return True


def take_terminal(descriptor: int = 0) -> None:
    """The screen reads its keys from standard input: make it the terminal again after a pipe was read."""
    try:
        terminal = os.open(_TERMINAL, os.O_RDWR)
    except OSError as error:
        raise UserError(
            f"standard input was a pipe, and there is no terminal to read keys from ({error.strerror});\n"
            "put the text into a file, or add `| cat` for plain columns"
        ) from None
    os.dup2(terminal, descriptor)
    os.close(terminal)


# -- without a terminal


def _print(replayables: Sequence[Replayable]) -> int:
    """The exit code: 2 when a file could not be opened, 1 when a named one has an error."""
    codes = [0]
    folder = ""
    width = max((len(replayable.title) for replayable in replayables if replayable.folder), default=0)
    for number, replayable in enumerate(replayables):
        if replayable.problem is not None:
            say(f"workbench: {replayable.problem}")
            codes.append(0 if replayable.folder else 2)
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
    """A list is not a test: errors in a folder's tapes are only shown."""
    if folder:
        write_painted([[Painted(visible_line(folder))]])
    _, judged = _played(replayable)
    said = visible_line(f"{replayable.title:{width}}  {replayable.about or judged.sentence}")
    write_painted([[Painted(f"  {SIGNS[judged.level]} {said}")]])


def _played(replayable: Replayable) -> tuple[LineSource, Appraisal]:
    source = replayable.open()
    source.advance(_FOREVER)
    return source, appraise(replayable, source)
